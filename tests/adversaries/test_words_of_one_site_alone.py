"""With `feature_min_peers` of 2, nobody tells the coordinator which words are one site's alone."""

from dataclasses import replace

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.studies import BINARY, Case, notes
from sottovoce import wire
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.ring import from_ring
from sottovoce.paillier import SecretKey
from sottovoce.protocols.blind_sum import Summed, pairwise
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import kept_buckets, preparation
from sottovoce.study.stages.kept_buckets import BucketFilter, KeptCounts
from sottovoce.study.stages.preparation import counts_layout
from sottovoce.study.stages.training import training_side


def a_case(toy_key: SecretKey) -> Case:
    plan = InsecureToyPlan(
        "notes", BINARY, features=24, key_bits=768, bucket_bits=12, feature_min_peers=2
    )
    documents = notes(300)
    # Words that one site alone has, in enough of its documents.
    site = next(iter(documents))
    documents[site] = [
        replace(document, text=f"{document.text} alone{number % 20}")
        for number, document in enumerate(documents[site])
    ]
    return Case(documents, plan, toy_key)


class Spy:
    """What the coordinator holds of the dictionary's sum, and what it makes of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sums: list[np.ndarray] = []
        self.opened: list = []
        honest, chosen = pairwise.coordinator, preparation._chosen

        def summing(plan, **settings):
            summed: Summed = yield from honest(plan, **settings)
            if plan.this.name == "preparation":
                self.sums.append(summed.sums[0])
            return summed

        def choosing(study, counts):
            self.opened.append(counts)
            return chosen(study, counts)

        monkeypatch.setattr(pairwise, "coordinator", summing)
        monkeypatch.setattr(preparation, "_chosen", choosing)


def own_counts(case: Case, outcome) -> list[np.ndarray]:
    """Every peer's true vector of rounded counts, as it would be summed."""
    key = next(iter(outcome.models.values())).key
    return [
        preparation._vector(case.study, name, training_side(outcome.parties[name], own), key)
        for name, own in case.documents.items()
    ]


def test_the_coordinator_cannot_tell_one_site_from_none(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, spy = a_case(toy_key), Spy(monkeypatch)
    outcome = case.run()
    vectors = own_counts(case, outcome)
    filtered = BucketFilter.of(case.study, counts_layout(case.study))
    assert filtered is not None
    tables = [vector[filtered.head :].reshape(filtered.rows, -1) for vector in vectors]
    having = sum((table > 0).any(axis=0).astype(int) for table in tables)
    alone, shared = np.flatnonzero(having == 1), np.flatnonzero(having >= 2)
    assert len(alone) >= 20
    (sums,), (counts,) = spy.sums, spy.opened
    # What it added up is uniform, where one site has the word and where none has it.
    table = sums[filtered.head :].reshape(filtered.rows, -1)
    for buckets in (alone, np.flatnonzero(having == 0)):
        assert_looks_uniform(table[:, buckets].reshape(-1))
    # What it opened is what enough sites have, exactly, and nothing else.
    true = sum(tables)
    assert np.array_equal(counts.by_class[:, shared], true[:, shared])
    others = np.setdiff1d(np.arange(true.shape[1]), shared)
    assert not counts.by_class[:, others].any()
    (message,) = outcome.views["coordinator"].of(KeptCounts)
    assert message.buckets.array().tolist() == shared.tolist()
    # The model is learnt from shared words alone.
    chosen = outcome.models[next(iter(case.documents))].space.dictionary.buckets
    assert set(chosen) <= set(shared.tolist())


def test_a_filter_without_halves_would_show_them(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proof that the test above could fail: a peer that forgets its half."""
    case, spy = a_case(toy_key), Spy(monkeypatch)

    def nothing(self, party, seed):
        return np.zeros((self.rows, self.layout.buckets), np.uint64)

    monkeypatch.setattr(BucketFilter, "share", nothing)
    case.run()
    (sums,) = spy.sums
    assert_shows_structure(sums[3:])
    assert from_ring(sums).min() >= 0


@pytest.mark.parametrize(
    ("buckets", "shape"), [([3, 3], (2, 2)), ([9, 4], (2, 2)), ([4096], (2, 1)), ([5], (2, 2))]
)
def test_an_evaluator_that_tells_other_buckets_is_named(
    toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch, buckets: list[int], shape: tuple[int, ...]
) -> None:
    case = a_case(toy_key)

    def wrong(party, filtered, seeds, peers):
        message = KeptCounts(
            wire.Words.of(np.array(buckets, np.uint64)), wire.Words.of(np.zeros(shape, np.uint64))
        )
        yield kept_buckets.Send("coordinator", message)

    monkeypatch.setattr(preparation, "send_kept", wrong)
    with pytest.raises(Exception, match="evaluator") as caught:
        case.run()
    causes = [caught.value, caught.value.__cause__]
    assert any(isinstance(cause, ViolationError) and cause.party == "evaluator" for cause in causes)


def test_a_quorum_refuses_what_nobody_would_filter() -> None:
    roster, _ = draw_roster(
        ("a", "b", "c"), entropy=SeededEntropy(1), with_evaluator=False, with_dealer=False
    )
    plan = InsecureToyPlan("q", BINARY, features=24, key_bits=768, feature_min_peers=2)
    with pytest.raises(InputError, match="no evaluator that would leave out"):
        Study(plan, roster)
