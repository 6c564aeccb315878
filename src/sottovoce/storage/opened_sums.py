"""A seat's record of what it opened: which sums, over which peers, and labels of how many rows.

The record of a sum goes to disk in one transaction with the step that agrees to open it, before
anything of it is sent. It outlives the sessions, so a seat always knows over which peers it opened
a sum. So it is with the rows of every query that it helped with.
"""

from sottovoce.protocols.blind_sum import OpenedSum, RoundBook
from sottovoce.storage.journal import Journal
from sottovoce.study.queries.label_count import HelpedRows, HelpedRun
from sottovoce.wire import Codec, Value

_NOTE, _LABELS, _EVALUATIONS = "sums/opened", "labels/helped", "labels/evaluated"


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


class QueryRows(Value, frozen=True):
    """One run of a query: who asked, in which attempt, the run's number, and how many rows."""

    asker: str
    attempt: int
    run: int
    rows: int


class HelpedQueries(Value, frozen=True):
    """All queries that a seat helped with, as its journal keeps them."""

    queries: tuple[QueryRows, ...] = ()


class OpenedSumsBook:
    """The opened sums of one seat and its count of labels, shared by all its programs."""

    def __init__(
        self,
        records: SumRecords | None = None,
        helped: HelpedQueries | None = None,
        evaluated: HelpedQueries | None = None,
    ) -> None:
        known = records or SumRecords()
        self.labels = HelpedRows(_runs(helped), set(_runs(evaluated)))
        self.book = RoundBook.written(
            {
                (record.study, record.name): OpenedSum(record.attempt, record.peers, record.series)
                for record in known.sums
            }
        )

    @classmethod
    def read(cls, journal: Journal) -> "OpenedSumsBook":
        """Read the opened sums from a seat's journal."""
        sums = journal.note(_NOTE)
        helped, evaluated = (
            None if note is None else Codec().decode(note, HelpedQueries)
            for note in map(journal.note, (_LABELS, _EVALUATIONS))
        )
        return cls(None if sums is None else Codec().decode(sums, SumRecords), helped, evaluated)

    def __len__(self) -> int:
        return len(self.book.spent) + len(self.labels.rows) + len(self.labels.evaluations)

    def notes(self) -> dict[str, bytes]:
        """As the journal keeps it."""
        records = (
            SumRecord(study, name, record.series, record.attempt, record.peers)
            for (study, name), record in self.book.spent.items()
        )
        rows = self.labels.rows
        helped, evaluated = (
            HelpedQueries(tuple(QueryRows(*run, rows.get(run, 0)) for run in runs))
            for runs in (rows, sorted(self.labels.evaluations))
        )
        return {
            _NOTE: Codec().encode(SumRecords(tuple(records))),
            _LABELS: Codec().encode(helped),
            _EVALUATIONS: Codec().encode(evaluated),
        }


def _runs(helped: HelpedQueries | None) -> dict[HelpedRun, int]:
    queries = () if helped is None else helped.queries
    return {(query.asker, query.attempt, query.run): query.rows for query in queries}
