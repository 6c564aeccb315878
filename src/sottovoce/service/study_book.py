"""What the coordinator remembers of a study's course: decisions and reports, kept on its disk."""

import msgspec

from sottovoce.service.control import Begin, Seating, Stopped
from sottovoce.service.journal import Journal
from sottovoce.wire import Codec, Value

_NOTE = "study/book"
# The kind of a report that a program returned, too late to be in the result.
LATE = "late"


class Report(Value, frozen=True):
    """What a seat said about a session: an empty kind says that its program returned."""

    session: bytes
    seat: str
    kind: str
    party: str


class StudyBook(Value, frozen=True):
    """The roster's last proposal, every attempt under it, what seats reported, and the end.

    `phase` is "enrolment", "training", "finished", "trained" once the journal was deleted,
    "stopped" or "closed".
    """

    phase: str = "enrolment"
    seating: tuple[Seating, ...] = ()
    begins: tuple[Begin, ...] = ()
    reports: tuple[Report, ...] = ()
    gone: tuple[str, ...] = ()
    stopped: tuple[Stopped, ...] = ()

    @classmethod
    def read(cls, journal: Journal) -> "StudyBook":
        """The book of a journal; a new one if there is none yet."""
        data = journal.note(_NOTE)
        return cls() if data is None else Codec().decode(data, cls)

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        return {_NOTE: Codec().encode(self)}

    def but(self, **changes: object) -> "StudyBook":
        """The book with some things changed."""
        return msgspec.structs.replace(self, **changes)

    def of(self, session: bytes) -> dict[str, Report]:
        """What was reported last about a session, by seat."""
        return {one.seat: one for one in self.reports if one.session == session}
