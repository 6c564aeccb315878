"""A threshold for every class works on sealed scores as on plain ones, whatever the verdict."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.studies import Case, notes
from sottovoce.datasets.notes import DIAGNOSES
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan
from sottovoce.study.queries.score_shares import decided
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

LABELS = {
    "binary": Labels(("routine", "urgent")),
    "three": Labels(DIAGNOSES[:3]),
    "overlapping": Labels(("pain", "fever"), exclusive=False),
}
POINTS = {"binary": (-0.25,), "three": (-0.4, 0.3, 0.0), "overlapping": (0.3, -0.3)}


@cache
def documents(kind: str) -> dict[str, list[Document]]:
    if kind == "binary":
        return notes(300)
    if kind == "overlapping":
        return {
            name: [
                Document(
                    document.text, tuple(w for w in ("pain", "fever") if w in document.text.lower())
                )
                for document in mine
            ]
            for name, mine in notes(300).items()
        }
    return {
        name: [document for document in mine if document.label in DIAGNOSES[:3]]
        for name, mine in notes(500, label="diagnosis").items()
    }


@cache
def study(kind: str, key: SecretKey, **settings: Any) -> Case:
    """A study that tests only ask and evaluate: it is trained once."""
    chosen = {"features": 24, "key_bits": 768, "bucket_bits": 12, "query_budget": 4000}
    plan = InsecureToyPlan("points", LABELS[kind], min_documents=2, **(chosen | settings))
    return Case(documents(kind), plan, key)


@pytest.mark.parametrize("kind", POINTS)
@pytest.mark.parametrize(
    ("settings", "count"),
    [({}, 120), ({"verdict": "dgk"}, 8), ({"release": "margin"}, 120), ({"release": "peers"}, 120)],
    ids=["fss", "dgk", "margin", "peers"],
)
def test_every_verdict_at_an_operating_point_is_the_plain_one(
    kind: str, settings: dict[str, str], count: int, toy_key: SecretKey
) -> None:
    case = study(kind, toy_key, operating_point=POINTS[kind], **settings)
    test = case.held_out()[:count]
    scores = case.scores(test)
    assert case.outcome.models["north"].operating_point == POINTS[kind]
    labels = case.outcome.classify("north", test).classes
    assert labels == decided(case.plan.labels, scores, POINTS[kind])
    # The point matters: at 0 some of these documents are something else.
    if count > 8:
        assert labels != case.plan.labels.decide(scores)


QUORUM = {"with_evaluator": False, "with_dealer": False}


# Labels that overlap have an operating point of every row above.
@pytest.mark.parametrize(
    "kind", ["binary", "three", pytest.param("overlapping", marks=pytest.mark.soak)]
)
@pytest.mark.parametrize(
    ("settings", "count", "seats"),
    [
        ({}, 60, {}),
        ({"verdict": "dgk"}, 8, {}),
        ({"release": "margin"}, 60, {}),
        ({"release": "peers"}, 60, {}),
        ({"engine": "quorum"}, 60, QUORUM),
        ({"engine": "quorum", "release": "margin"}, 60, QUORUM),
    ],
    ids=["fss", "dgk", "margin", "peers", "quorum", "quorum margin"],
)
def test_an_asker_has_thresholds_of_its_own_for_every_row(
    kind: str,
    settings: dict[str, str],
    count: int,
    seats: dict[str, bool],
    toy_key: SecretKey,
) -> None:
    """Beside the operating point; together they stay between -1 and 1."""
    case = study(kind, toy_key, operating_point=POINTS[kind], **settings)
    if seats:
        case = replace(case, seats=seats)
    test = case.held_out()[:count]
    scores = case.scores(test)
    own = np.random.default_rng(5).choice([-1.5, -0.5, -0.125, 0.25, 0.5], scores.shape)
    labels = case.outcome.classify("north", test, own=own).classes
    expected = scores - np.clip(np.array(POINTS[kind]) + own, -1, 1)
    assert labels == case.plan.labels.decide(expected)
    for_all = case.outcome.classify("north", test, own=own[0]).classes
    assert for_all == decided(case.plan.labels, scores, POINTS[kind], own[0])
    assert labels != for_all


def test_engine_paillier_has_operating_points_too(encrypted: Case) -> None:
    case = encrypted.changed(features=6, operating_point=(-0.2,))
    test = case.held_out()
    labels = case.outcome.classify("north", test).classes
    assert labels == decided(case.plan.labels, case.scores(test), (-0.2,))


def test_a_joint_table_is_that_of_the_operating_point(toy_key: SecretKey) -> None:
    """The strictest: nobody is urgent, or too few to be shown."""
    case = study("binary", toy_key, operating_point=(1.0,))
    table = case.outcome.evaluate(case.documents)
    assert table.counts[:, 1].sum() == 0
    assert len(case.held_out()) - table.fewest < table.counts.sum() <= len(case.held_out())


def test_an_asker_may_move_its_point_afterwards(toy_key: SecretKey) -> None:
    case = study("binary", toy_key)
    test = case.held_out()
    evaluation = case.outcome.evaluate(case.documents)
    point = evaluation.operating_point(0.9)
    case.outcome.models = {
        name: replace(model, operating_point=point) for name, model in case.outcome.models.items()
    }
    labels = case.outcome.classify("valley", test).classes
    assert labels == decided(case.plan.labels, case.scores(test), point)
    urgent = [document.label == "urgent" for document in test]
    hits = sum(said == ("urgent",) for said, true in zip(labels, urgent, strict=True) if true)
    assert hits >= 0.9 * sum(urgent)
