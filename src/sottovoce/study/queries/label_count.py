"""A helper's own count of the labels of every peer; it does not trust the coordinator's.

The coordinator keeps the budget (budget.py). It could let a peer that it pools with ask on and on:
so whoever holds a share of the model counts, too, and ends what is far beyond the budget. A query
counts here from its first rows on, also one that broke off and that the coordinator gave back; so
the helpers' limit is twice the budget.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from sottovoce.errors import ViolationError

TIMES_THE_BUDGET = 2

LabelQuery: TypeAlias = tuple[str, int, int]
"""The asker of a query, the attempt that it belongs to, and its number."""


@dataclass
class HelpedRows:
    """The rows of every query that one helper worked on; whoever runs it writes them down."""

    rows: dict[LabelQuery, int] = field(default_factory=dict, repr=False)

    def add(self, query: LabelQuery, rows: int, *, budget: int, coordinator: str) -> None:
        """Count a query before it is worked on; once, also where its program is run again."""
        asker, attempt, _ = query
        before = sum(
            count
            for (other, at, number), count in self.rows.items()
            if (other, at) == (asker, attempt) and (other, at, number) != query
        )
        most = TIMES_THE_BUDGET * budget
        if before + rows > most:
            raise ViolationError(
                f"query of {asker}: expected at most {most} rows in all, twice the budget, "
                f"found {before + rows}: the coordinator let it ask for more",
                party=coordinator,
            )
        self.rows[query] = rows
