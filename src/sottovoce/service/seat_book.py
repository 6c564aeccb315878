"""What a seat remembers of the control letters that it heard: public facts, kept on its disk."""

import msgspec

from sottovoce.service.control import Begin, Seating, Stopped
from sottovoce.service.journal import Journal
from sottovoce.wire import Codec, Value

_NOTE = "seat/book"


class Dealt(Value, frozen=True):
    """A query for which this seat deals."""

    asker: str
    number: int


class SeatBook(Value, frozen=True):
    """The last proposal of a roster, every attempt that began under it, and how it ended.

    `phase` is empty while the training is under way; then "finished", "trained" once the
    journal was deleted, "stopped", "closed", "left" or "withdrawn".
    """

    seating: tuple[Seating, ...] = ()
    begins: tuple[Begin, ...] = ()
    phase: str = ""
    stopped: tuple[Stopped, ...] = ()
    peers: tuple[str, ...] = ()
    sums: tuple[str, ...] = ()
    dealing: tuple[Dealt, ...] = ()

    @classmethod
    def read(cls, journal: Journal) -> "SeatBook":
        """The book of a journal; empty if there is none yet."""
        data = journal.note(_NOTE)
        return cls() if data is None else Codec().decode(data, cls)

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        return {_NOTE: Codec().encode(self)}

    def but(self, **changes: object) -> "SeatBook":
        """The book with some things changed."""
        return msgspec.structs.replace(self, **changes)

    @property
    def over(self) -> bool:
        """Whether nothing more comes of the training."""
        return bool(self.phase)
