"""A helper's own count of every peer's labels, which does not rely on the coordinator's count.

The coordinator keeps the budget (budget.py). It could let a peer with which it pools ask without
end. So every holder of a share of the model counts, too, and refuses queries far beyond the budget.
A query counts here from its first rows on, also if it broke off and the coordinator gave it back;
so the helpers' limit is twice the budget. The coordinator numbers queries and attempts, and could
give two of them the same number. So a helper counts runs of its own program, by a number that it
draws. A run that continues after a crash draws the same number.
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
    """The rows of every query with which one helper helped; its caller stores them."""

    rows: dict[HelpedRun, int] = field(default_factory=dict, repr=False)
    evaluations: set[HelpedRun] = field(default_factory=set, repr=False)

    def add(self, run: HelpedRun, rows: int, *, budget: int, coordinator: str) -> None:
        """Count a run before it helps; a run that continues after a crash counts once."""
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
        """Count a run that compares rows with many thresholds, which reveals more than labels."""
        before = sum(other[0] == run[0] for other in self.evaluations - {run})
        most = TIMES_THE_BUDGET * evaluations
        if before >= most:
            raise ViolationError(
                f"query of {run[0]}: expected at most {most} evaluations, twice the budget, "
                f"found {before + 1}: the coordinator let it ask for more",
                party=coordinator,
            )
        self.evaluations.add(run)
