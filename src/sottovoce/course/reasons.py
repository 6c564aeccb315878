"""The public reasons why a study stops: kinds, stages, names and public numbers only.

An error's own message may quote a letter or a file, so no reason contains it.
"""

from collections.abc import Collection
from dataclasses import dataclass

from sottovoce import errors
from sottovoce.course.control import COORDINATOR, Stopped
from sottovoce.course.phases import Phase
from sottovoce.course.terms import Terms, WaitingLimits
from sottovoce.course.training.complaints import ABSENCE, Judgement
from sottovoce.course.training.inputs import Failure
from sottovoce.course.training.training_record import LATE, TrainingRecord
from sottovoce.errors import OurError, SottovoceError, StoppedError, WithdrawnError
from sottovoce.study.attempts import Attempt, Stage, Stop
from sottovoce.study.roster import Role, peer_of
from sottovoce.study.study import Study
from sottovoce.wire.tags import kebab

DECLINED = errors.WithdrawnError.__name__
_UNKNOWN = SottovoceError.__name__
_WORDS = {
    ABSENCE: "does not answer",
    DECLINED: "declined by its owner",
    "InputError": "its documents or settings cannot be used",
}
_TOO_RARE = errors.RareClassError.__name__
_OTHER_ENTITIES = errors.OtherEntitiesError.__name__
_OUT_OF_RANGE = errors.DescentRangeError.__name__


@dataclass(frozen=True)
class StopReason:
    """Why a study stops: the kind of failure, who caused it, and a sentence for everybody."""

    kind: str
    party: str
    reason: str


def known_kind(kind: str) -> str:
    """The kind of an error as a seat reports it, if there is such a kind."""
    error_type = getattr(errors, kind, None) if kind.isidentifier() else None
    known = isinstance(error_type, type) and issubclass(error_type, SottovoceError)
    return kind if known else _UNKNOWN


def kind_of_leaving(record: TrainingRecord, seat: str) -> str:
    """Why a seat left, by its own last report."""
    said = [report.kind for report in record.reports if report.seat == seat]
    return next((kind for kind in reversed(said) if kind not in {"", LATE, ABSENCE}), ABSENCE)


def _each(record: TrainingRecord, names: Collection[str]) -> str:
    words = (f"{name} ({_words(kind_of_leaving(record, name))})" for name in names)
    return ", ".join(words)


def _words(kind: str) -> str:
    return _WORDS.get(kind, f"ended with {an_error(kind)}")


def an_error(kind: str) -> str:
    """An error by its kind, as people and scripts read it."""
    return f"an error ({kebab(kind).removesuffix('-error')})"


def no_table(record: TrainingRecord, terms: Terms, here: Collection[str]) -> StopReason:
    """The reason why a study cannot begin with those who joined."""
    seats, plan = terms.seats, terms.plan
    missing = [seat for seat in seats if seat.name not in here]
    names_and_reasons = ", ".join(
        f"{seat.name} ({_words(kind_of_leaving(record, seat.name))})" for seat in missing
    )
    party = missing[0].name if missing else ""
    kind = kind_of_leaving(record, party) if missing else _UNKNOWN
    for seat in missing:
        if seat.role is not Role.PEER and peer_of(seat.name) == seat.name:
            kind = kind_of_leaving(record, seat.name)
            reason = f"the study cannot begin without its {seat.role}; missing {names_and_reasons}"
            return StopReason(kind, seat.name, reason)
    came = sum(seat.role is Role.PEER and seat.name in here for seat in seats)
    expected = f"expected at least {plan.min_peers} peers, found {came}"
    return StopReason(kind, party, f"{expected}; missing {names_and_reasons or 'nobody'}")


def no_attempt(
    record: TrainingRecord,
    study: Study,
    attempt: Attempt,
    *,
    missing: Collection[str],
    opened: bool,
) -> StopReason:
    """The reason why a stage cannot be repeated without the missing seats."""
    roster, stage = study.roster, attempt.stage
    helpers = [
        name
        for name in missing
        if name in (roster.evaluator if roster.helped else None, roster.dealer)
    ]
    left = [peer for peer in roster.peers if peer in missing or peer not in attempt.peers]
    members = {roster.member(name) for name in left}
    others = [name for name in missing if name not in {*helpers, *left, *members}]
    now = [*helpers, *others, *(name for name in left if name in missing)]
    named = list(dict.fromkeys([*now, *left]))
    party = named[0] if named else ""
    who_is_missing = f"missing {_each(record, named) or 'nobody'}"
    if helpers:
        role = next(
            participant.role
            for participant in roster.participants
            if participant.name == helpers[0]
        )
        reason = f"the {stage} cannot go on without the {role}; {who_is_missing}"
    elif opened:
        peers = ", ".join(attempt.peers)
        reason = (
            f"the {stage} cannot be repeated: a sum over {peers} was agreed on already, and is "
            f"never opened over others; {who_is_missing}"
        )
    else:
        helped = {peer for peer in attempt.peers if roster.intermediary(peer) in missing}
        left_over, who, fewest = (
            len(roster.peers) - len({*left, *helped}),
            "peers",
            study.fewest_peers,
        )
        if roster.members and left_over >= fewest:
            who, fewest = "members", study.quorum.needed
            left_over = len([member for member in roster.members if member not in members])
        reason = (
            f"too few {who} are left for the {stage}: expected at least {fewest}, "
            f"found {left_over}; {who_is_missing}"
        )
    return StopReason(kind_of_leaving(record, party), party, reason)


def waited(waits: WaitingLimits) -> str:
    """Say how long a stage waits, as a part of a reason."""
    return f"a stage waits {waits.gather:g} s for many, {waits.receive:g} s for one"


def refused(kind: str, *, seat: str, party: str) -> StopReason:
    """The reason after a seat reported a violation; perhaps it broke the rules itself.

    Nobody else can read what one seat sent to another: either may be at fault, so both are named.
    """
    if party == seat:
        return StopReason(kind, seat, f"{seat} sent what cannot be followed")
    if not party:
        return StopReason(kind, seat, f"{seat} refused what it was sent")
    return StopReason(kind, f"{party} or {seat}", f"{seat} refused what {party} sent")


def helper_left(kind: str, *, seat: str) -> StopReason:
    """The reason after a helper without a substitute left."""
    if kind == _OUT_OF_RANGE:
        # One bit, which the plan lets the evaluator learn; nobody is at fault.
        easy = "the documents are too easy to tell apart for learner rado-descent"
        return StopReason(kind, "", f"{easy}: raise alpha, or take learner closed-form")
    return StopReason(kind, seat, f"the study cannot go on without {seat}, {_words(kind)}")


def ended(failure: Failure) -> StopReason:
    """The reason after the coordinator's own program failed, by its own or another's fault."""
    kind, party = failure.kind, failure.party
    if kind == _OTHER_ENTITIES:
        others = "the same entities with the same labels: leave out what not every peer has"
        return StopReason(kind, party, f"expected at all peers {others}; found others at {party}")
    if party:
        return StopReason(kind, party, f"the coordinator refused what {party} sent")
    if kind == _TOO_RARE:
        # The plan's own labels and minimum; which class it is, each site sees in its own documents.
        too_few = "all sites together have too few documents of a class (min_documents a peer)"
        return StopReason(kind, COORDINATOR, too_few)
    return StopReason(kind, COORDINATOR, f"the coordinator ended with {an_error(kind)}")


def disputed(verdict: Judgement) -> StopReason:
    """The reason after a dispute in which one side is a helper without a substitute."""
    accused = verdict.missing[-1]
    return StopReason(
        ABSENCE,
        " or ".join(verdict.missing),
        f"{verdict.accuser} says that it waits for {accused}, which was there",
    )


_TELLING = (ABSENCE, "InputError", DECLINED, _TOO_RARE, _OTHER_ENTITIES, _OUT_OF_RANGE)
"""Kinds of failure whose reason is complete; for others the error comes first."""


def stopped_error(stopped: Stopped) -> SottovoceError:
    """The error of a seat that was told that the study stopped."""
    error = Stop(Stage(stopped.stage), stopped.attempt, stopped.kind, stopped.party).error()
    if stopped.kind == StoppedError.__name__:
        error.message = f"stopped the study: {stopped.reason}"
    elif stopped.kind in _TELLING and stopped.reason:
        error.message = f"the study was stopped in its {stopped.stage}: {stopped.reason}"
    elif stopped.reason:
        error.message = f"{error.message} ({stopped.reason})"
    return error


def left_error(seat: str, phase: Phase) -> SottovoceError:
    """The error of a seat for which the study is already over."""
    if phase is Phase.WITHDRAWN:
        return WithdrawnError(f"{seat}: this site takes no part in the study")
    if phase is Phase.LEFT:
        return OurError(f"{seat}: this site left the study, and cannot go on")
    return StoppedError("closed the study: queries are over", party=COORDINATOR)
