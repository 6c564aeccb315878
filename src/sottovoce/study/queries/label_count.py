"""A helper's own count of the labels of every peer; it does not trust the coordinator's.

The coordinator keeps the budget (budget.py). It could let a peer that it pools with ask on and on:
so whoever holds a share of the model counts, too, and ends what is far beyond the budget. A query
counts here from its first rows on, also one that broke off and that the coordinator gave back; so
the helpers' limit is twice the budget. The coordinator numbers queries and attempts, and could give
two the same number: so a helper counts runs of its own program, by a number that it draws. A run
that continues after a crash draws the same one.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

from sottovoce.errors import ViolationError

TIMES_THE_BUDGET = 2

HelpedRun: TypeAlias = tuple[str, int, int]
"""The asker of a query, the attempt that it belongs to, and the number that this helper drew."""
RUN_BITS = 56


@dataclass
class HelpedRows:
    """The rows of every query that one helper worked on; whoever runs it writes them down."""

    rows: dict[HelpedRun, int] = field(default_factory=dict, repr=False)
    evaluations: set[HelpedRun] = field(default_factory=set, repr=False)

    def add(self, run: HelpedRun, rows: int, *, budget: int, coordinator: str) -> None:
        """Count a run before it works; a run that continues after a crash counts once."""
        asker = run[0]
        before = sum(
            count for other, count in self.rows.items() if other[0] == asker and other != run
        )
        most = TIMES_THE_BUDGET * budget
        if before + rows > most:
            raise ViolationError(
                f"query of {asker}: expected at most {most} rows in all, twice the budget, "
                f"found {before + rows}: the coordinator let it ask for more",
                party=coordinator,
            )
        self.rows[run] = rows

    def add_evaluation(self, run: HelpedRun, *, evaluations: int, coordinator: str) -> None:
        """Count a run whose rows are compared with many thresholds: each tells more than labels."""
        before = sum(other[0] == run[0] for other in self.evaluations - {run})
        most = TIMES_THE_BUDGET * evaluations
        if before >= most:
            raise ViolationError(
                f"query of {run[0]}: expected at most {most} evaluations, twice the budget, "
                f"found {before + 1}: the coordinator let it ask for more",
                party=coordinator,
            )
        self.evaluations.add(run)
