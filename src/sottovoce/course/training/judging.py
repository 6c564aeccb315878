"""Judges an attempt by the seats' reports: who leaves, who is missing, whether to stop."""

from collections.abc import Collection, Sequence

from sottovoce.course.control import COORDINATOR
from sottovoce.course.reasons import StopReason, ended, helper_left, refused
from sottovoce.course.terms import Failing
from sottovoce.course.training.complaints import ABSENCE
from sottovoce.course.training.inputs import Failure, ProgramEnded
from sottovoce.course.training.training_record import LATE, TrainingRecord
from sottovoce.study.attempts import Attempt
from sottovoce.study.study import Study

_FAULTS = ("ViolationError", "MalformedError")


def leavers(
    record: TrainingRecord, study: Study, session: bytes, failing: Failing
) -> tuple[str, ...] | StopReason:
    """Organisations that cannot or will not continue, by report; a violation stops the study."""
    seats: list[str] = []
    for report in record.reports:
        elsewhere = report.session not in {b"", session}
        if elsewhere or report.seat in record.gone or report.kind in {"", LATE, ABSENCE}:
            continue
        if report.kind in _FAULTS:
            return refused(report.kind, seat=report.seat, party=report.party)
        if not study.may_leave((report.seat,)) or failing is Failing.STOPS:
            return helper_left(report.kind, seat=report.seat)
        seats.append(report.seat)
    return study.whole_organisations(seats)


def unreported(
    record: TrainingRecord, study: Study, attempt: Attempt, result: ProgramEnded
) -> tuple[str, ...]:
    """The seats of the result and its helpers that have not reported their end yet."""
    left_out = set(attempt.peers) - set(result.peers or attempt.peers)
    # A seat that only complained has not ended.
    reports = record.of(result.session).values()
    reported = {report.seat for report in reports if report.kind != ABSENCE}
    heard = {COORDINATOR, *reported, *record.gone, *left_out}
    return tuple(name for name in attempt.parties(study) if name not in heard)


def missing_after(
    failure: Failure, parties: Sequence[str], *, away: Collection[str]
) -> tuple[str, ...] | StopReason:
    """Return the seats missing after our program failed; other failures stop the study."""
    if not failure.absent:
        return ended(failure)
    missing = tuple(name for name in parties if name in away)
    return missing or tuple(name for name in parties if name == failure.party)
