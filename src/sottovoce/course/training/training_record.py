"""The coordinator's record of a training on its disk: decisions and reports."""

import msgspec

from sottovoce.course.control import Begin, Seating, Stopped
from sottovoce.course.phases import Phase
from sottovoce.study.attempts import Attempt
from sottovoce.wire import Value

# The kind of a report: the program returned too late for the result.
LATE = "late"


class Report(Value, frozen=True):
    """A seat's report about a session; an empty kind means that its program returned."""

    session: bytes
    seat: str
    kind: str
    party: str


class TrainingRecord(Value, frozen=True):
    """The roster's last proposal, every attempt under it, what seats reported, and the end.

    `until` is the end of enrolment in seconds since 1970. `cleaned` says that the deletions at the
    end are done.
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
        """The study's phase."""
        return Phase(self.phase_name)

    def but(self, *, phase: Phase | None = None, **changes: object) -> "TrainingRecord":
        """The record with some fields changed."""
        if phase is not None:
            changes["phase_name"] = str(phase)
        return msgspec.structs.replace(self, **changes)

    def of(self, session: bytes) -> dict[str, Report]:
        """The last reports about a session, by seat."""
        return {report.seat: report for report in self.reports if report.session == session}

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Every attempt under the roster."""
        return tuple(begin.attempt() for begin in self.begins)
