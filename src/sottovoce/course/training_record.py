"""What the coordinator remembers of a training: decisions and reports, one record on its disk."""

import msgspec

from sottovoce.course.control import Begin, Seating, Stopped
from sottovoce.course.phases import Phase
from sottovoce.study.attempts import Attempt
from sottovoce.wire import Value

# The kind of a report that a program returned, too late to be in the result.
LATE = "late"


class Report(Value, frozen=True):
    """What a seat said about a session: an empty kind says that its program returned."""

    session: bytes
    seat: str
    kind: str
    party: str


class TrainingRecord(Value, frozen=True):
    """The roster's last proposal, every attempt under it, what seats reported, and the end.

    `until` is the end of enrolment in seconds since 1970. `cleaned` says that what had to be
    deleted at the end is deleted.
    """

    phase_name: str = str(Phase.ENROLMENT)
    until: int = 0
    seating: tuple[Seating, ...] = ()
    begins: tuple[Begin, ...] = ()
    reports: tuple[Report, ...] = ()
    gone: tuple[str, ...] = ()
    stopped: tuple[Stopped, ...] = ()
    cleaned: bool = False

    @property
    def phase(self) -> Phase:
        """How far the study is."""
        return Phase(self.phase_name)

    def but(self, *, phase: Phase | None = None, **changes: object) -> "TrainingRecord":
        """The record with some things changed."""
        if phase is not None:
            changes["phase_name"] = str(phase)
        return msgspec.structs.replace(self, **changes)

    def of(self, session: bytes) -> dict[str, Report]:
        """What was reported last about a session, by seat."""
        return {report.seat: report for report in self.reports if report.session == session}

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt under the roster."""
        return tuple(begin.attempt() for begin in self.begins)
