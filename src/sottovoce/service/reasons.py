"""What everybody hears about why a study stops: kinds, stages, names and public numbers alone.

An error's own message may quote what was in a letter or a file, so no word of it comes in here.
"""

from collections.abc import Collection, Sequence

from sottovoce import errors
from sottovoce.errors import SottovoceError, TheirError
from sottovoce.roles.attempts import Attempt
from sottovoce.roles.plan import StudyPlan
from sottovoce.roles.preparation import TOO_FEW_WORDS
from sottovoce.roles.roster import Role
from sottovoce.roles.study import Study
from sottovoce.service.api import SeatDescribed
from sottovoce.service.chairs import Waits
from sottovoce.service.complaints import ABSENCE, Verdict
from sottovoce.service.control import COORDINATOR
from sottovoce.service.study_book import LATE, StudyBook
from sottovoce.wire.values import kebab

DECLINED = errors.WithdrawnError.__name__
_UNKNOWN = SottovoceError.__name__
_WORDS = {
    ABSENCE: "does not answer",
    DECLINED: "declined by its owner",
    "InputError": "its documents or settings cannot be used",
}


class StopSignal(Exception):  # noqa: N818 - a decision, not a mistake
    """The study stops: why, for everybody to hear."""

    def __init__(self, kind: str, party: str, reason: str, *, here: str = "") -> None:
        """Keep the kind of failure, whose it was, and a sentence without content.

        What is said `here` besides stays at the coordinator.
        """
        super().__init__(reason)
        self.kind, self.party, self.reason, self.here = kind, party, reason, here


def known_kind(kind: str) -> str:
    """The kind of an error as a seat reports it, if there is such a kind."""
    found = getattr(errors, kind, None) if kind.isidentifier() else None
    known = isinstance(found, type) and issubclass(found, SottovoceError)
    return kind if known else _UNKNOWN


def kind_of_leaving(book: StudyBook, seat: str) -> str:
    """Why a seat is not there any longer, by its own last word."""
    said = [one.kind for one in book.reports if one.seat == seat]
    return next((one for one in reversed(said) if one not in {"", LATE, ABSENCE}), ABSENCE)


def _each(book: StudyBook, names: Collection[str]) -> str:
    words = (f"{one} ({_words(kind_of_leaving(book, one))})" for one in names)
    return ", ".join(words)


def _words(kind: str) -> str:
    return _WORDS.get(kind, f"ended with {an_error(kind)}")


def an_error(kind: str) -> str:
    """An error by its kind, as people and scripts read it."""
    return f"an error ({kebab(kind).removesuffix('-error')})"


def no_table(
    book: StudyBook, plan: StudyPlan, seats: Sequence[SeatDescribed], here: Collection[str]
) -> StopSignal:
    """Those who came cannot be seated."""
    missing = [one for one in seats if one.name not in here]
    told = ", ".join(f"{one.name} ({_words(kind_of_leaving(book, one.name))})" for one in missing)
    party = missing[0].name if missing else ""
    kind = kind_of_leaving(book, party) if missing else _UNKNOWN
    for one in missing:
        if one.role is not Role.PEER:
            kind = kind_of_leaving(book, one.name)
            reason = f"the study cannot begin without its {one.role}; missing {told}"
            return StopSignal(kind, one.name, reason)
    came = sum(one.role is Role.PEER and one.name in here for one in seats)
    expected = f"expected at least {plan.min_peers} peers, found {came}"
    return StopSignal(kind, party, f"{expected}; missing {told or 'nobody'}")


def no_attempt(
    book: StudyBook, study: Study, attempt: Attempt, *, missing: Collection[str], opened: bool
) -> StopSignal:
    """A stage cannot be tried without those that are missing."""
    roster, stage = study.roster, attempt.stage
    helpers = [one for one in missing if one in {roster.evaluator, roster.dealer}]
    left = [one for one in roster.peers if one in missing or one not in attempt.peers]
    others = [one for one in missing if one not in {*helpers, *left}]
    now = [*helpers, *others, *(one for one in left if one in missing)]
    named = list(dict.fromkeys([*now, *left]))
    party = named[0] if named else ""
    told = f"missing {_each(book, named) or 'nobody'}"
    if helpers:
        role = next(one.role for one in roster.participants if one.name == helpers[0])
        reason = f"the {stage} cannot go on without the {role}; {told}"
    elif opened:
        peers = ", ".join(attempt.peers)
        reason = (
            f"the {stage} cannot be repeated: a sum over {peers} was agreed on already, and is "
            f"never opened over others; {told}"
        )
    else:
        helped = {one for one in attempt.peers if roster.intermediary(one) in missing}
        found = len(roster.peers) - len({*left, *helped})
        reason = (
            f"too few peers are left for the {stage}: expected at least {study.fewest_peers}, "
            f"found {found}; {told}"
        )
    return StopSignal(kind_of_leaving(book, party), party, reason)


def waited(waits: Waits) -> str:
    """How long a stage waits, for who reads that somebody did not answer."""
    return f"a stage waits {waits.gather:g} s for many, {waits.receive:g} s for one"


def refused(kind: str, *, seat: str, party: str) -> StopSignal:
    """A seat reports that something broke the rules; perhaps it was its own letter.

    What one seat sent to another nobody else can read: either may be at fault, and both are named.
    """
    if party == seat:
        return StopSignal(kind, seat, f"{seat} sent what cannot be followed")
    if not party:
        return StopSignal(kind, seat, f"{seat} refused what it was sent")
    return StopSignal(kind, f"{party} or {seat}", f"{seat} refused what {party} sent")


def helper_left(kind: str, *, seat: str) -> StopSignal:
    """A seat that nobody else can stand in for cannot or will not go on."""
    return StopSignal(kind, seat, f"the study cannot go on without {seat}, {_words(kind)}")


def ended(error: SottovoceError) -> StopSignal:
    """The coordinator's own program failed, because of itself or of another's letter."""
    kind = type(error).__name__
    party = error.party if isinstance(error, TheirError) else ""
    if party:
        return StopSignal(kind, party, f"the coordinator refused what {party} sent")
    if error.message.startswith(TOO_FEW_WORDS):
        reason = "fewer words than the plan's features stand in enough documents"
        # Numbers alone, which the coordinator's people need and nobody else is told.
        return StopSignal(kind, COORDINATOR, reason, here=f" ({error.message})")
    return StopSignal(kind, COORDINATOR, f"the coordinator ended with {an_error(kind)}")


def disputed(verdict: Verdict) -> StopSignal:
    """One of two is at fault, and one of them cannot be done without."""
    accused = verdict.missing[-1]
    return StopSignal(
        ABSENCE,
        " or ".join(verdict.missing),
        f"{verdict.accuser} says that it waits for {accused}, which was there",
    )
