"""Contributions of sampled rados: sealed equals plain from one seed, and more rados are better."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.studies import Case, accuracy, notes
from sottovoce.datasets.notes import DIAGNOSES
from sottovoce.errors import InputError
from sottovoce.rados import RadoFamily, joined, solve
from sottovoce.study.stages import contributions
from sottovoce.study.stages.contributions import local_moments, penalties_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.row_limits import RowLimits
from sottovoce.study.stages.sampling import signatures, upper_end_of_sample
from sottovoce.study.stages.training import training_side
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Classes, Labels


class Seeds:
    """Remembers the seed with which every peer drew its signatures."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seeds_used: dict[int, bytes] = {}
        whole = local_moments

        def remembering(study: Any, prepared: Any, training: Any, *, seed: bytes = b"") -> Any:
            self.seeds_used[id(training[0])] = seed
            return whole(study, prepared, training, seed=seed)

        monkeypatch.setattr(contributions, "local_moments", remembering)


def twin(case: Case, seeds: Seeds, documents: list[Any]) -> list[Classes]:
    """The plaintext learner on the moments of the very same rados."""
    outcome, model = case.outcome, case.outcome.models["north"]
    known = (outcome.trained.totals, model.space.dictionary.idf_halves, model.space, model.key)
    sides = [training_side(outcome.parties[name], mine) for name, mine in case.documents.items()]
    moments = joined(
        local_moments(case.study, Prepared(*known), side, seed=seeds.seeds_used[id(side[0])])
        for side in sides
    )
    penalties = penalties_of(case.plan, moments.features, case.plan.candidates[0])
    theta = solve(moments.second, moments.products, penalty=penalties)
    rows = FeatureReader(model.space, model.key).read(documents).unit()
    return case.plan.labels.decide(rows @ theta)


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("binary", {"features": 64, "rados": 400}),
        ("binary", {"features": 64, "rados": 20, "alpha": 10.0}),
        ("binary", {"features": 32, "rados": 200, "class_weight": "balanced"}),
        ("encrypted", {"features": 8, "rados": 40, "alpha": 5.0}),
    ],
    ids=["many", "fewer than features", "balanced", "paillier"],
)
def test_a_sealed_study_of_rados_equals_its_plain_twin(
    engine: str,
    settings: dict[str, Any],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seeds = Seeds(monkeypatch)
    case: Case = request.getfixturevalue(engine).changed(contribution="rados", **settings)
    test = case.held_out()
    labels = case.outcome.classify("north", test).classes
    plain = twin(case, seeds, test)
    assert len(set(seeds.seeds_used.values())) == 3
    assert np.mean([label == other for label, other in zip(labels, plain, strict=True)]) >= 0.99
    assert accuracy(test, labels) > 0.6


def test_several_classes_share_one_set_of_rados(
    binary: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = Seeds(monkeypatch)
    labels = Labels(DIAGNOSES[:3])
    documents = {
        name: [document for document in mine if document.label in labels.names]
        for name, mine in notes(500, label="diagnosis").items()
    }
    plan = replace(
        binary.plan, labels=labels, min_documents=2, features=32, contribution="rados", rados=300
    )
    case = Case(documents, plan, binary.key)
    test = case.held_out()
    result = case.outcome.classify("valley", test).classes
    assert result == twin(case, seeds, test)


def test_more_rados_come_nearer_to_exact_moments(binary: Case) -> None:
    known = binary.outcome.models["north"]
    prepared = Prepared(
        binary.outcome.trained.totals, known.space.dictionary.idf_halves, known.space, known.key
    )
    training = training_side(binary.outcome.parties["north"], binary.documents["north"])
    exact = local_moments(binary.study, prepared, training)
    errors = []
    for rados in (50, 5000):
        sampled = binary.changed(contribution="rados", rados=rados).study
        moments = local_moments(sampled, prepared, training, seed=bytes(32))
        errors.append(np.linalg.norm(moments.second - exact.second) / np.linalg.norm(exact.second))
        assert moments.weight == exact.weight
        assert upper_end_of_sample(moments) >= np.linalg.eigvalsh(moments.second)[-1]
        lengths = (moments.products**2).sum(axis=0)
        assert upper_end_of_sample(moments) * moments.weight >= lengths.max()
    assert errors[1] < 0.25 * errors[0]


def test_signatures_are_a_seed_s_own_and_fair() -> None:
    first, same, other = (signatures(40, 100, seed=bytes([n]) * 32) for n in (1, 1, 2))
    assert np.array_equal(first.whole(), same.whole())
    assert not np.array_equal(first.whole(), other.whole())
    assert abs(int(first.whole().sum())) < 300
    rows = np.eye(100)
    family = RadoFamily.of(rows, np.ones((100, 1)), first)
    assert set(np.unique(family.rados(0))) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"contribution": "rados"}, "a contribution of rados needs at least 2 of them, found 0"),
        ({"rados": 5}, "rados are for contribution 'rados', found 5 with an exact one"),
        ({"contribution": "sampled"}, "contribution to be one of exact, rados, found 'sampled'"),
    ],
)
def test_plans_of_rados_that_cannot_be_are_refused(
    binary: Case, settings: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        binary.changed(**settings)


@pytest.mark.parametrize("rados", [2, 20, 400])
@pytest.mark.parametrize("documents", [1, 30])
def test_honest_rados_are_no_heavier_than_they_may_be(
    binary: Case, rados: int, documents: int
) -> None:
    """Rows that are all alike are the worst case: every sum of signs shows whole."""
    limits = RowLimits.of(replace(binary.plan, contribution="rados", rados=rados))
    rows, ones = np.full((documents, 4), 0.5), np.ones((documents, 1))
    for number in range(40):
        drawn = signatures(rados, documents, seed=number.to_bytes(32))
        moments = RadoFamily.of(rows, ones, drawn).moments()
        assert np.trace(moments.second) <= limits.trace * documents
        assert np.linalg.norm(moments.products) <= limits.length * documents
    # The bound says something: it is no more than some times what rados mostly have.
    assert limits.trace <= (1 + 20 / rados**0.5) ** 2
    assert RowLimits.of(binary.plan) == RowLimits(1.0, 1.0)
