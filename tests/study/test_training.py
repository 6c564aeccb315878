"""Sealed training gives what the plaintext learner gives on pooled text."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.meddling import Crashing
from harness.studies import BINARY, Case, accuracy, notes
from sottovoce.datasets.notes import DIAGNOSES
from sottovoce.errors import InputError, MisuseError
from sottovoce.paillier import SecretKey
from sottovoce.study import StudyPlan
from sottovoce.study.choices import Verdict
from sottovoce.study.stages.training import held_back_side
from sottovoce.text.documents import Document
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.reading import Level, Reading


def test_sealed_equals_plain_on_held_out_documents(binary: Case) -> None:
    test = binary.held_out()
    sealed = binary.outcome.classify("north", test).classes
    plain = binary.plain(test)
    assert len(test) >= 100
    assert np.mean([label == other for label, other in zip(sealed, plain, strict=True)]) >= 0.999
    assert abs(accuracy(test, sealed) - accuracy(test, plain)) <= 0.001


def test_every_peer_gets_the_same_answers(binary: Case) -> None:
    test = binary.held_out()[:10]
    answers = [binary.outcome.classify(name, test).classes for name in binary.study.roster.peers]
    assert answers[0] == answers[1] == answers[2]


def test_joint_is_better_than_every_local(binary: Case) -> None:
    test = binary.held_out()
    joint = accuracy(test, binary.plain(test))
    for name in binary.study.roster.peers:
        assert accuracy(test, binary.plain(test, name)) < joint


def test_joint_evaluation_is_the_sum_of_what_every_peer_has(binary: Case) -> None:
    outcome = binary.run()
    figures = outcome.evaluate(binary.documents)
    test = binary.held_out()
    assert figures.accuracy == round(accuracy(test, binary.plain(test)), 3)
    assert figures.counts.sum() == len(test)
    assert set(figures.f1) == {"routine", "urgent"}
    with pytest.raises(MisuseError, match="the query budget of 1 evaluations is spent"):
        outcome.evaluate(binary.documents)


def equal(first: list[Classes], other: list[Classes]) -> float:
    return float(np.mean([a == b for a, b in zip(first, other, strict=True)]))


@pytest.fixture(scope="module")
def eight(binary: Case) -> Case:
    labels = Labels(DIAGNOSES)
    plan = replace(binary.plan, labels=labels, min_documents=2, features=128)
    return Case(notes(800, label="diagnosis"), plan, binary.key)


def test_eight_classes_by_tournament_equal_the_plain_winner(eight: Case) -> None:
    test = eight.held_out()
    assert equal(eight.outcome.classify("north", test).classes, eight.plain(test)) >= 0.999


@pytest.mark.parametrize(
    "settings",
    [
        {"class_weight": "balanced"},
        {"class_weight": "root"},
        {"distrusted": tuple(range(0, 96, 3)), "epsilon": 0.25, "alpha": 3.0},
        {"dictionary": "hashed", "features": 64},
        {"dictionary": "given", "words": ("fever", "pain", "stable", "severe"), "features": 4},
        {"reading": Reading(level=Level.SENTENCE)},
        {"release": "margin"},
        {"release": "peers"},
        {"alpha": 0.1},
    ],
    ids=lambda settings: "-".join(map(str, settings.values()))[:24],
)
def test_other_plans_equal_their_plain_learner_too(binary: Case, settings: Any) -> None:
    case = binary.changed(**settings)
    test = case.held_out()[:90]
    answer = case.outcome.classify("harbour", test)
    plain = case.plain(test)
    assert equal(answer.classes, plain) >= 0.999
    assert (answer.scores is None) == ("release" not in settings)


def test_balanced_classes_are_weighted_by_published_totals(binary: Case) -> None:
    few = {
        name: [
            document for i, document in enumerate(mine) if document.label == "routine" or i % 5 == 0
        ]
        for name, mine in binary.documents.items()
    }
    plain, balanced = (
        Case(few, replace(binary.plan, class_weight=weight), binary.key)
        for weight in (None, "balanced")
    )
    test = binary.held_out()
    urgent = [
        sum(class_ == ("urgent",) for class_ in case.outcome.classify("north", test).classes)
        for case in (plain, balanced)
    ]
    assert urgent[1] > urgent[0]


def test_labels_that_overlap_have_a_verdict_each(binary: Case) -> None:
    documents = {
        name: [
            Document(
                document.text, tuple(w for w in ("pain", "fever") if w in document.text.lower())
            )
            for document in mine
        ]
        for name, mine in binary.documents.items()
    }
    plan = replace(binary.plan, labels=Labels(("pain", "fever"), exclusive=False))
    case = Case(documents, plan, binary.key)
    test = case.held_out()
    labels = case.outcome.classify("valley", test).classes
    assert equal(labels, case.plain(test)) >= 0.99
    assert len(set(labels)) > 2


def test_engine_paillier_equals_plain_without_a_dealer(encrypted: Case) -> None:
    test = encrypted.held_out()
    labels = encrypted.outcome.classify("north", test).classes
    assert encrypted.study.roster.dealer is None
    assert equal(labels, encrypted.plain(test)) >= 0.999


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"release": "peers"}, marks=pytest.mark.soak),
        {"distrusted": (0, 5, 7), "epsilon": 0.5, "class_weight": "balanced"},
    ],
    ids=["released", "gamma"],
)
def test_engine_paillier_runs_the_same_plans(encrypted: Case, settings: Any) -> None:
    case = encrypted.changed(**{"features": 12} | settings)
    test = case.held_out()
    assert equal(case.outcome.classify("valley", test).classes, case.plain(test)) >= 0.999


def test_auto_takes_shares_where_somebody_deals(binary: Case, encrypted: Case) -> None:
    assert binary.study.engine == "shares"
    assert encrypted.changed(engine="auto").study.engine == "paillier"


@pytest.mark.parametrize(
    "seats",
    [{}, pytest.param({"dealer_at": "north"}, marks=pytest.mark.soak)],
    ids=["independent", "peer deals"],
)
def test_a_penalty_is_chosen_by_joint_totals_on_sealed_models(
    binary: Case, seats: dict[str, str]
) -> None:
    alphas = (0.3, 3.0, 3000.0)
    case = Case(binary.documents, replace(binary.plan, alpha=alphas), binary.key, seats)
    back = [
        document
        for name, mine in case.documents.items()
        for document in held_back_side(case.outcome.parties[name], mine)
    ]
    right = [accuracy(back, case.plain(back, alpha=alpha)) for alpha in alphas]
    best = max(range(3), key=lambda index: (right[index], alphas[index]))
    assert case.outcome.trained.candidate.alpha == alphas[best]
    assert {model.candidate.alpha for model in case.outcome.models.values()} == {alphas[best]}
    test = case.held_out()
    plain = case.plain(test, alpha=alphas[best])
    assert equal(case.outcome.classify("valley", test).classes, plain) >= 0.999
    used = {document.text for document in back}
    assert len(back) >= 20
    assert not used & {document.text for document in test}


def test_engine_paillier_chooses_a_penalty_too_and_releases_that_one(encrypted: Case) -> None:
    case = encrypted.changed(features=6, alpha=(2.0, 20.0), release="peers")
    test = case.held_out()
    alpha = case.outcome.trained.candidate.alpha
    answer = case.outcome.classify("north", test)
    assert answer.scores is not None
    assert equal(answer.classes, case.plain(test, alpha=alpha)) >= 0.999


# By default card/test_leaving.py, while it is chosen.
@pytest.mark.soak
def test_a_penalty_is_chosen_by_who_is_left(encrypted: Case) -> None:
    plan = replace(encrypted.plan, features=4, alpha=(2.0, 20.0))
    case = Case(notes(280, sites=4), plan, encrypted.key)
    outcome = case.run(meddler=Crashing({"lakeside": 4}))
    assert case.study.roster.dealer == "dealer"
    assert set(outcome.models) == {"north", "harbour", "valley"}
    assert outcome.trained.candidate.alpha in {2.0, 20.0}


def test_a_list_of_penalties_without_documents_to_choose_with_is_refused(binary: Case) -> None:
    with pytest.raises(InputError, match="choosing one of several models needs held_back"):
        binary.changed(alpha=(1.0, 2.0), held_back=0.0)


def test_verdicts_without_a_dealer_equal_the_plain_label(binary: Case) -> None:
    case = binary.changed(verdict="dgk", features=24)
    test = case.held_out()[:24]
    assert case.outcome.classify("north", test).classes == case.plain(test)
    assert "DealRequest" not in {
        type(item.message).__name__ for item in case.outcome.views["dealer"].received
    }


def test_winners_without_a_dealer_equal_the_plain_winner(eight: Case) -> None:
    documents = {
        name: [document for document in mine if document.label in DIAGNOSES[:4]]
        for name, mine in eight.documents.items()
    }
    plan = replace(eight.plan, labels=Labels(DIAGNOSES[:4]), verdict="dgk", features=24)
    case = Case(documents, plan, eight.key)
    test = case.held_out()[:12]
    labels = case.outcome.classify("harbour", test).classes
    assert labels == case.plain(test)
    assert len(set(labels)) > 1


def test_engine_paillier_without_a_dealer_when_a_peer_evaluates(encrypted: Case) -> None:
    seats = {"with_dealer": False, "evaluator_at": "north"}
    dealt = replace(encrypted.plan, verdict="fss")
    with pytest.raises(InputError, match="expected a dealer for the queries of 'north'"):
        _ = Case(encrypted.documents, dealt, encrypted.key, seats).study
    plan = replace(encrypted.plan, verdict="auto", features=6)
    case = Case(encrypted.documents, plan, encrypted.key, seats)
    test = case.held_out()[:8]
    for name, verdict in (("north", Verdict.DGK), ("harbour", Verdict.FSS)):
        answer = case.outcome.classify(name, test)
        assert (answer.classes, answer.verdict) == (case.plain(test), verdict)


def test_a_plan_that_is_no_toy_draws_its_own_key(binary: Case) -> None:
    plan = StudyPlan("real", BINARY, features=24, key_bits=2048, bucket_bits=12, query_budget=1000)
    case = Case(binary.documents, plan, binary.key)
    outcome = case.run(key=None)
    test = binary.held_out()[:20]
    assert outcome.trained.key.bits == 2048
    assert type(outcome.trained.key) is SecretKey
    case.__dict__["outcome"] = outcome
    assert outcome.classify("north", test).classes == case.plain(test)
    assert outcome.trained.scores.batch > 30
