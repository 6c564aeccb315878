"""Views of a study's course for people: its phase, and who is waited for until when.

A view is immutable and holds only names, stages, counts and times. Commands and pages that show a
study read views, and nothing else of the course.
"""

from dataclasses import dataclass, field
from functools import lru_cache

from sottovoce.course.control import COORDINATOR, Seating
from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.training.judging import unreported
from sottovoce.course.training.training_record import LATE
from sottovoce.course.training.training_state import Training
from sottovoce.study.plan import StudyPlan
from sottovoce.study.roster import Role
from sottovoce.study.study import Study


@dataclass(frozen=True)
class Wait:
    """An awaited message, its sender, and the deadline (seconds since 1970)."""

    what: str
    whom: tuple[str, ...]
    until: float


@dataclass(frozen=True)
class SeatView:
    """One seat as the coordinator sees it.

    `seen` is the time of its last request, None without one. `reported` is its last report about
    the current attempt: "done", "late", the kind of its error, or nothing yet.
    """

    name: str
    organisation: str
    role: Role
    enrolled: bool
    seen: float | None
    reported: str
    gone: bool
    waited_for: bool


@dataclass(frozen=True)
class CourseView:
    """A study's phase, current attempt, seats, and the current wait."""

    study: str
    name: str
    phase: Phase
    attempt: int
    peers: tuple[str, ...]
    seats: tuple[SeatView, ...]
    wait: Wait | None
    reason: str
    party: str
    fingerprint: bytes = field(default=b"", repr=False)
    """The digest of plan and people, once everybody is known."""


def view_of(state: Training) -> CourseView:
    """The view of a study at its coordinator."""
    record, terms = state.record, state.terms
    attempt = record.attempts[-1] if record.begins else None
    stopped = record.stopped[0] if record.stopped else None
    wait = _wait(state)
    return CourseView(
        terms.study,
        terms.plan.name,
        shown_phase(state),
        attempt.number if attempt else 0,
        attempt.peers if attempt else (),
        tuple(
            SeatView(
                seat.name,
                seat.organisation,
                seat.role,
                seat.name in state.publics,
                state.seen.get(seat.name),
                _reported(state, seat.name),
                seat.name in record.gone,
                wait is not None and seat.name in wait.whom,
            )
            for seat in terms.seats
            if seat.name != COORDINATOR
        ),
        wait,
        stopped.reason if stopped else "",
        stopped.party if stopped else "",
        _digest(terms.plan, record.seating[0]) if record.seating else b"",
    )


@lru_cache(maxsize=64)
def _digest(plan: StudyPlan, seating: Seating) -> bytes:
    """The digest that consent signs; cached, because views are made often."""
    return Study(plan, seating.roster()).digest


def shown_phase(state: Training) -> Phase:
    """The phase; a study counts as closed once its key is deleted."""
    closing = state.phase is Phase.CLOSED and not state.record.cleaned
    return Phase.FINISHED if closing else state.phase


def _wait(state: Training) -> Wait | None:
    if state.phase is Phase.ENROLMENT and state.missing:
        return Wait("enrolment", state.missing, float(state.record.until))
    if state.phase not in STAGES:
        return None
    if state.ended is not None:
        late = unreported(state.record, state.study, state.attempt, state.ended)
        return Wait("their reports", late, state.reports_until) if late else None
    if state.waits is not None:
        return Wait(state.waits.what, state.waits.whom, state.waits.until)
    return None


def _reported(state: Training, seat: str) -> str:
    if state.phase not in STAGES:
        return ""
    report = state.record.of(state.session).get(seat)
    if report is None:
        return ""
    return {"": "done", LATE: "late"}.get(report.kind, report.kind)
