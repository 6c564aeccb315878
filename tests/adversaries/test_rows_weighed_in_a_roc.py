"""A coordinator that weighs single rows in the sums of a joint ROC does not learn whose they are.

It adds a number of its own to its share of every comparison, another for each row, before the
comparisons are multiplied with the classes that the asker alone knows. The totals, which it opens,
then hold the class of every row that it weighed, and nobody sees that.
"""

from typing import Any

import numpy as np
import pytest

from harness.entities import toy, wards
from harness.studies import BINARY, Case, Documents, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, SecretKey
from sottovoce.protocols.shares.labels import tally, undealt_tally
from sottovoce.study import InsecureToyPlan
from sottovoce.study.evaluations import evaluation
from sottovoce.study.evaluations.figures import truth_of
from sottovoce.study.queries.score_shares import RowOrder

# Totals of so few rows leave these places of a count free.
FIRST, EACH = 7, 4
# Without a dealer, where numbers are added or taken away, one row at a threshold.
WEIGHT = 8


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
    case = Case(notes(240), plan_of(48, labels_on=labels_on), key)
    outcome = case.run()
    weighing = Weighing(monkeypatch)
    outcome.evaluate(case.documents)
    return weighing, marks_of(outcome, case.documents)


def plan_of(features: int, **settings: Any) -> InsecureToyPlan:
    return InsecureToyPlan(
        "roc", BINARY, features=features, key_bits=768, dictionary="hashed", **settings
    )


def marks_of(outcome: StudyOutcome, documents: Documents) -> list[int]:
    """The true marks of the first peer's held-out rows, in the order of its file."""
    labels, first = outcome.study.plan.labels, outcome.study.roster.peers[0]
    mine = outcome.held_out(first, documents[first])
    true = truth_of(labels, [(document.label,) for document in mine])
    return true[:, 0].astype(int).tolist()


def in_the_order_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RowOrder, "drawn", classmethod(lambda cls, size, _: cls.given(size)))


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
    in_the_order_of_the_file(monkeypatch)
    weighing, true = evaluated(toy_key, monkeypatch, "shares")
    assert weighing.read()[: len(true)] == true


class WeighingAlone:
    """Without a dealer: the coordinator encrypts more than its half of a comparison.

    The asker takes a number of the coordinator's as it is, or from 1, as its own half of the
    comparison says: so the sign of what is added to a total tells the comparison, too.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.totals: list[np.ndarray] = []
        self.rows = 0
        honest, added, bit = undealt_tally.encrypt, evaluation._added, undealt_tally._BIT

        def plain(values: Any, scale: Scale) -> Plain:
            if scale is not bit or self.rows:
                return Plain(values, scale)
            self.rows = len(values)
            return Plain(values + self.weights(values.shape), Scale(0, 2 << WEIGHT))

        def encrypting(*given: Any, **named: Any) -> Any:
            sent = honest(*given, **named)
            return sent._like(sent.residues, sent.layout, bit)

        def adding(*given: Any) -> Any:
            self.totals.append(added(*given))
            return self.totals[-1]

        monkeypatch.setattr(undealt_tally, "Plain", plain)
        monkeypatch.setattr(undealt_tally, "encrypt", encrypting)
        monkeypatch.setattr(evaluation, "_added", adding)

    def weights(self, shape: tuple[int, ...]) -> np.ndarray:
        """One row at every threshold."""
        weights = np.zeros(shape, np.int64)
        for row in range(min(shape)):
            weights[row, row] = 1 << WEIGHT
        return weights

    def read(self) -> list[int]:
        """The mark of every row that was weighed."""
        (totals,) = self.totals
        weighed = range(min(self.rows, totals.shape[2]))
        return [int(totals[0, 0, row]) >> WEIGHT & 1 for row in weighed]


def evaluated_alone(
    key: SecretKey, monkeypatch: pytest.MonkeyPatch, labels_on: str
) -> tuple[list[int], list[int]]:
    """What the coordinator reads without a dealer, and the true marks."""
    case = Case(notes(150), plan_of(16, labels_on=labels_on, verdict="dgk"), key)
    outcome = case.run()
    weighing = WeighingAlone(monkeypatch)
    outcome.evaluate(case.documents)
    return weighing.read(), marks_of(outcome, case.documents)


@pytest.mark.parametrize("labels_on", ["shares", "paillier"])
def test_without_a_dealer_it_does_not_know_whose_rows_it_weighs(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch, labels_on: str
) -> None:
    read, true = evaluated_alone(toy_key, monkeypatch, labels_on)
    assert any(read)
    assert read[: len(true)] != true


def test_without_a_dealer_it_would_read_every_class_in_the_order_of_the_file(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_order_of_the_file(monkeypatch)
    read, true = evaluated_alone(toy_key, monkeypatch, "shares")
    assert read[: len(true)] == true


def evaluated_by_features(
    monkeypatch: pytest.MonkeyPatch, remote: str
) -> tuple[list[int], list[int]]:
    """What the coordinator reads where others hold columns of the same rows, and the true marks."""
    entities = wards(100)
    federation = entities.federation()
    model = toy(categories=entities.categories, remote=remote, held_out=0.25).fit(federation)
    weighing = Weighing(monkeypatch)
    model.evaluate()
    return weighing.read(), marks_of(model.study_, federation.documents)


@pytest.mark.parametrize("remote", ["full", "normalised"])
def test_where_others_look_rows_up_it_does_not_know_whose_rows_it_weighs(
    monkeypatch: pytest.MonkeyPatch, remote: str
) -> None:
    read, true = evaluated_by_features(monkeypatch, remote)
    assert any(read)
    assert read[: len(true)] != true


def test_where_others_look_rows_up_it_would_read_every_class_in_the_order_of_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_the_order_of_the_file(monkeypatch)
    read, true = evaluated_by_features(monkeypatch, "full")
    assert read[: len(true)] == true
