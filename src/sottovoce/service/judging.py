"""What became of an attempt, from what seats reported: who goes, who is missing, when to stop."""

from collections.abc import Collection, Sequence

from sottovoce.errors import AbsenceError, JournalError, ReplayError, SottovoceError
from sottovoce.roles.attempts import Attempt, Stage
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import Trained
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.study import Study
from sottovoce.service.chairs import Running
from sottovoce.service.complaints import ABSENCE
from sottovoce.service.control import COORDINATOR
from sottovoce.service.reasons import ended, helper_left, refused
from sottovoce.service.study_book import LATE, StudyBook

_FAULTS = ("ViolationError", "MalformedError")


def leavers(book: StudyBook, study: Study, session: bytes) -> list[str]:
    """Peers that said that they cannot or will not go on; a violation stops the study."""
    found: list[str] = []
    for one in book.reports:
        elsewhere = one.session not in {b"", session}
        if elsewhere or one.seat in book.gone or one.kind in {"", LATE, ABSENCE}:
            continue
        if one.kind in _FAULTS:
            raise refused(one.kind, seat=one.seat, party=one.party)
        if one.seat not in study.roster.peers:
            raise helper_left(one.kind, seat=one.seat)
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
        raise ended(error) from error
    missing = set(parties) & set(away)
    return missing or ({error.party} & set(parties))
