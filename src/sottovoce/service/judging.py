"""What became of an attempt, from what seats reported: who goes, who is missing, when to stop."""

from collections.abc import Collection, Sequence

from sottovoce.errors import AbsenceError, JournalError, ReplayError, SottovoceError, TheirError
from sottovoce.roles.attempts import Attempt, Stage
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import Trained
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.study import Study
from sottovoce.service.chairs import Running
from sottovoce.service.complaints import ABSENCE
from sottovoce.service.control import COORDINATOR
from sottovoce.service.study_book import StudyBook

DECLINED, LATE = "declined", "late"
_FAULTS = ("ViolationError", "MalformedError")


class StopSignal(Exception):  # noqa: N818 - a decision, not a mistake
    """The study stops: why, for everybody to hear."""

    def __init__(self, kind: str, party: str, reason: str) -> None:
        """Keep the kind of failure, whose it was, and a sentence without content."""
        super().__init__(reason)
        self.kind, self.party, self.reason = kind, party, reason


def leavers(book: StudyBook, study: Study, session: bytes) -> list[str]:
    """Peers that said that they cannot or will not go on; a violation stops the study."""
    found: list[str] = []
    for one in book.reports:
        elsewhere = one.session not in {b"", session}
        if elsewhere or one.seat in book.gone or one.kind in {"", LATE, ABSENCE}:
            continue
        if one.kind in _FAULTS:
            own = one.party == one.seat
            reason = "sent what cannot be followed" if own else "refused what it was sent"
            raise StopSignal(one.kind, one.party or one.seat, f"{one.seat} {reason}")
        if one.seat not in study.roster.peers:
            raise StopSignal(one.kind, one.seat, f"{one.seat} cannot go on")
        found.append(one.seat)
    return found


def has_opened(desk: Desk, stage: Stage) -> bool:
    """Whether a sum of this stage was agreed on: we sign every set before all others do."""
    spent = {name for digest, name in desk.book.spent if digest == desk.study.digest.hex()}
    return bool(spent & stage.opened_sums)


def unreported(book: StudyBook, study: Study, attempt: Attempt, running: Running) -> list[str]:
    """Who is in the result, or helped to it, and has not said yet that it finished."""
    match running.seat.result:
        case Prepared(totals):
            peers = totals.peers
        case Trained(peers=found):
            peers = found
        case _:
            peers = attempt.peers
    left_out = set(attempt.peers) - set(peers)
    # Who only complained is not at its end.
    reports = book.of(running.sitting.session).values()
    ended = {one.seat for one in reports if one.kind != ABSENCE}
    heard = {COORDINATOR, *ended, *book.gone, *left_out}
    return [one for one in attempt.parties(study) if one not in heard]


def missing_after(
    error: SottovoceError, parties: Sequence[str], *, away: Collection[str]
) -> set[str]:
    """Who is missing after a failure; other failures than absence stop the study."""
    if isinstance(error, JournalError | ReplayError):
        raise error
    if not isinstance(error, AbsenceError):
        party = error.party if isinstance(error, TheirError) else COORDINATOR
        raise StopSignal(type(error).__name__, party, error.message)
    missing = set(parties) & set(away)
    return missing or ({error.party} & set(parties))
