"""A seat's record of opened sums: which sums it opened, over which peers.

The record of a sum goes to disk in one transaction with the step that agrees to open it, before
anything of it is sent. It outlives the sessions, so a seat always knows over which peers it opened
a sum.
"""

from sottovoce.protocols.blind_sum import OpenedSum, RoundBook
from sottovoce.storage.journal import Journal
from sottovoce.wire import Codec, Value

_NOTE = "sums/opened"


class SumRecord(Value, frozen=True):
    """One sum: of which study, its name and series, in which attempt, over which peers."""

    study: str
    name: str
    series: str
    attempt: int
    peers: tuple[str, ...]


class SumRecords(Value, frozen=True):
    """All sums that a seat opened, as its journal keeps them."""

    sums: tuple[SumRecord, ...] = ()


class OpenedSumsBook:
    """The opened sums of one seat, shared by all its programs."""

    def __init__(self, records: SumRecords | None = None) -> None:
        """Continue from these records."""
        known = records or SumRecords()
        self.book = RoundBook.written(
            {
                (record.study, record.name): OpenedSum(record.attempt, record.peers, record.series)
                for record in known.sums
            }
        )

    @classmethod
    def read(cls, journal: Journal) -> "OpenedSumsBook":
        """Read the opened sums from a seat's journal."""
        data = journal.note(_NOTE)
        return cls() if data is None else cls(Codec().decode(data, SumRecords))

    def __len__(self) -> int:
        return len(self.book.spent)

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        records = (
            SumRecord(study, name, record.series, record.attempt, record.peers)
            for (study, name), record in self.book.spent.items()
        )
        return {_NOTE: Codec().encode(SumRecords(tuple(records)))}
