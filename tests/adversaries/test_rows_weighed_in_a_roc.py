"""A coordinator that weighs single rows in the sums of a joint ROC does not learn whose they are.

It adds a number of its own to its share of every comparison, another for each row, before the
comparisons are multiplied with the classes that the asker alone knows. The totals, which it opens,
then hold the class of every row that it weighed, and nobody sees that.
"""

from typing import Any

import numpy as np
import pytest

from harness.studies import BINARY, Case, notes
from sottovoce.paillier import SecretKey
from sottovoce.protocols.shares import tally
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries import evaluation
from sottovoce.study.queries.figures import truth_of
from sottovoce.study.queries.score_shares import RowOrder

# Totals of so few rows leave these places of a count free.
FIRST, EACH = 7, 4


class Weighing:
    """The coordinator weighs the rows of the first peer that asks, and reads the totals."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.totals: list[np.ndarray] = []
        self.opened: list[np.ndarray] = []
        self.rows = 0
        honest, added = tally.multiplied, evaluation._added

        def multiplied(holder: Any, mine: Any, bits: Any, *more: Any, **named: Any) -> Any:
            if holder.first and not self.rows:
                self.rows = len(bits)
                bits = bits + self.weights(bits.shape)
            return (yield from honest(holder, mine, bits, *more, **named))

        def adding(study: Any, scores: Any, summed: Any, mine: Any) -> Any:
            self.opened.append(sum(mine, start=summed))
            self.totals.append(added(study, scores, summed, mine))
            return self.totals[-1]

        monkeypatch.setattr(tally, "multiplied", multiplied)
        monkeypatch.setattr(evaluation, "_added", adding)

    def weights(self, shape: tuple[int, ...]) -> np.ndarray:
        """Some rows at every threshold, each at a place of its own."""
        weights = np.zeros(shape, np.uint64)
        for row in range(min(shape[0], EACH * shape[2])):
            weights[row, 0, row // EACH] = 1 << FIRST + row % EACH
        return weights

    def read(self) -> list[int]:
        """The mark of every row, by its place in the query."""
        (totals,) = self.totals
        rows = range(min(self.rows, EACH * totals.shape[2]))
        return [int(totals[0, 0, row // EACH]) >> FIRST + row % EACH & 1 for row in rows]


def evaluated(
    key: SecretKey, monkeypatch: pytest.MonkeyPatch, labels_on: str
) -> tuple[Weighing, list[int]]:
    """What the coordinator reads, and the true marks in the order of the peer's file."""
    plan = InsecureToyPlan(
        "roc", BINARY, features=48, key_bits=768, dictionary="hashed", labels_on=labels_on
    )
    case = Case(notes(240), plan, key)
    outcome = case.run()
    weighing = Weighing(monkeypatch)
    outcome.evaluate(case.documents)
    first = case.study.roster.peers[0]
    mine = outcome.held_out(first, case.documents[first])
    true = truth_of(BINARY, [(document.label,) for document in mine])
    return weighing, true[:, 0].astype(int).tolist()


@pytest.mark.parametrize("labels_on", ["shares", "paillier"])
def test_which_documents_a_coordinator_weighs_it_does_not_know(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch, labels_on: str
) -> None:
    weighing, true = evaluated(toy_key, monkeypatch, labels_on)
    read = weighing.read()
    assert len(true) >= 12
    # The rows of its classes, in an order that tells nothing, padding among them.
    assert sum(read) == sum(true)
    # In longer words it could weigh many rows at once: above a joint count there is but noise.
    above = weighing.opened[0] >> np.uint64(2 * FIRST)
    assert len(np.unique(above)) == above.size
    assert read[: len(true)] != true
    assert any(read[len(true) :])


def test_in_the_order_of_the_file_it_would_read_every_class(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RowOrder, "drawn", classmethod(lambda cls, size, _: cls.given(size)))
    weighing, true = evaluated(toy_key, monkeypatch, "shares")
    assert weighing.read()[: len(true)] == true
