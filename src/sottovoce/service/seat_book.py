"""What a seat remembers of the control letters that it heard: public facts, kept on its disk."""

import msgspec

from sottovoce.service.control import (
    Begin,
    OpenedEvaluation,
    OpenedQuery,
    Rejoining,
    Reseated,
    Seating,
    Stopped,
)
from sottovoce.service.journal import Journal
from sottovoce.wire import Codec, Value

_NOTE = "seat/book"


class Helped(Value, frozen=True):
    """A query for which this seat deals, or (without an asker) an evaluation that it signs."""

    asker: str
    number: int
    attempt: int
    peers: tuple[str, ...]


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
    helping: tuple[Helped, ...] = ()
    reseated: tuple[Reseated, ...] = ()
    rejoining: tuple[Rejoining, ...] = ()

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

    def with_help(self, message: OpenedQuery | OpenedEvaluation) -> "SeatBook":
        """The book with one more query or evaluation in which this seat helps.

        A peer asks one query after another, and evaluations are held so, too: an earlier one, or
        an earlier attempt, is over. However many somebody asks for, one is under way.
        """
        if isinstance(message, OpenedQuery):
            wanted = Helped(message.asker, message.number, 1, ())
        else:
            wanted = Helped("", message.number, message.attempt, message.peers)
        if wanted in self.helping:
            return self
        others = tuple(one for one in self.helping if one.asker != wanted.asker)
        return self.but(helping=(*others, wanted))

    def with_rejoining(self, message: Rejoining) -> "SeatBook":
        """The book with the new keys of a seat; those that it had before are void."""
        name = message.consent.name
        others = tuple(one for one in self.rejoining if one.consent.name != name)
        return self.but(rejoining=(*others, message))

    @property
    def over(self) -> bool:
        """Whether nothing more comes of the training."""
        return bool(self.phase)
