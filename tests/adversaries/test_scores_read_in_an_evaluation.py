"""Coordinator and asker weigh the asker's own rows in the counts of a ROC, to read their scores.

Labels on shares: each of them holds one share of how many of the asker's rows lie above each
threshold. An asker whose marks are powers of two, instead of bits, gets every comparison of every
row in a place of its own, as long as there are places.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.errors import ViolationError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.shares.material import Ledger
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries import classification, shared_queries
from sottovoce.study.queries.score_shares import RowOrder
from sottovoce.study.queries.scoring import counting_ring
from sottovoce.study.queries.shared_queries import CountShare, ScoreRequest, share_scores

ROWS = 32


@pytest.fixture
def case(toy_key: SecretKey) -> Case:
    plan = InsecureToyPlan("roc", BINARY, features=24, key_bits=768, bucket_bits=12, held_out=0.4)
    return Case(notes(300), plan, toy_key)


class Pooled:
    """Coordinator and asker of one evaluation, who put their shares of its counts together."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.values: list[Any] = []
        self.share: Any = None
        honest = shared_queries.tally

        def tally(holder: Any, plan: Any, values: Any, groups: Any) -> Any:
            self.values.append(values)
            counted = yield from honest(holder, plan, values, groups)
            self.share = counted if holder.first else self.share
            return counted

        def powers(truth: Any, padded: int) -> Any:
            groups = np.zeros((padded, truth.shape[1], 2), np.uint64)
            groups[:ROWS, 0, 0] = np.uint64(1) << np.arange(ROWS, dtype=np.uint64)
            return groups

        monkeypatch.setattr(shared_queries, "tally", tally)
        monkeypatch.setattr(classification, "groups_of", powers)
        monkeypatch.setattr(RowOrder, "drawn", lambda size, _: RowOrder.given(size))

    def ask(self, case: Case) -> tuple[Any, Any]:
        """Which rows lie above which threshold: as they read it, and in truth."""
        outcome = case.run()
        ring = outcome.trained.scores.ring
        outcome.tested("north", case.documents["north"])
        message = outcome.views["north"].of(CountShare)[-1].words.array()
        read = (self.share + message)[0, 0]
        places = np.arange(ROWS, dtype=np.uint64)[:, np.newaxis]
        first, second = self.values[-2:]
        true = ring.signed(ring.reduce(first + second))[:ROWS, 0] >= 0
        return read >> places & np.uint64(1), true


def test_of_rows_that_an_asker_weighs_no_more_than_a_joint_count_has_is_read(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, true = Pooled(monkeypatch).ask(case)
    places = counting_ring(case.plan, case.outcome.trained.scores.ring, peers=3).bits
    assert places < ROWS // 2
    assert (read[:places] == true[:places]).all()
    # Behind these places stands noise: it agrees with the truth by chance.
    assert 0.3 < (read[places:] == true[places:]).mean() < 0.7


def test_in_whole_words_more_rows_would_be_read(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_queries, "counting_ring", lambda _, ring, **__: ring)
    read, true = Pooled(monkeypatch).ask(case)
    places = case.outcome.trained.scores.ring.bits
    assert places > ROWS // 2
    assert (read[:places] == true[:places]).all()


def helped(outcome: StudyOutcome, *, seed: int) -> None:
    """The evaluator begins to count rows above thresholds, as the coordinator asks it."""
    evaluator, batch = outcome.study.roster.evaluator, outcome.trained.scores.batch
    party = replace(outcome.parties[evaluator], ledger=Ledger(), entropy=SeededEntropy(seed))
    assert outcome.held is not None
    program = share_scores(party, (outcome.held,))
    next(program)
    thresholds = len(outcome.study.plan.thresholds)
    program.send(ScoreRequest("north", 0, batch, thresholds, dealt=True))
    program.close()


def test_a_coordinator_that_evaluates_on_and_on_is_stopped_by_the_evaluator(case: Case) -> None:
    outcome = case.run()
    for seed in (1, 1, 2):
        # A run that goes on after a crash counts once.
        helped(outcome, seed=seed)
    with pytest.raises(ViolationError, match="at most 2 evaluations, twice the budget") as caught:
        helped(outcome, seed=3)
    assert caught.value.party == "coordinator"
