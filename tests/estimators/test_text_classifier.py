"""`TextClassifier`: a whole sealed study behind scikit-learn's contract."""

import copy
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from harness.consent import ANYTHING
from sottovoce.datasets import clinical_notes
from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.estimators.plain_text import PlainText, accuracy, on_side
from sottovoce.study import InsecureToyPlan
from sottovoce.text.splits import Side


class ToyTextClassifier(TextClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan


SITES = ("north", "harbour", "stanmore")


@cache
def documents(task="urgency", count=450):
    notes = clinical_notes(count, sites=SITES, random_state=4)
    return {site: [note.document(task) for note in notes if note.site == site] for site in SITES}


def federation(task="urgency", **seats):
    parts = {
        site: (
            [document.text for document in part],
            [document.label for document in part],
            [document.group for document in part],
        )
        for site, part in documents(task).items()
    }
    return LocalFederation(parts, policy=ANYTHING, **seats)


@cache
def fitted(task="urgency", **settings):
    chosen = {"features": 64, "key_bits": 768, "query_budget": 5000} | settings
    return ToyTextClassifier(**chosen).fit(federation(task))


def held_out(model):
    plan = model.study_.study.plan
    return [
        document
        for part in documents_of(model)
        for document in on_side(plan, part, Side.VALIDATION)
    ]


def documents_of(model):
    return model.federation_.documents.values()


@pytest.mark.parametrize("task", ["urgency", "diagnosis"])
def test_sealed_equals_plain_and_beats_every_site_alone(task) -> None:
    # With so few columns, words alone: stretches of characters would crowd them out.
    model = fitted(task, ngrams=(1, 1), characters=None, held_out=0.2)
    plan, test = model.study_.study.plan, held_out(model)
    key = model.study_.models["north"].key
    sealed = model.study_.classify("north", test).classes
    twin = PlainText.learn(plan, list(documents_of(model)), key=key)
    for document, label, other in zip(test, sealed, twin.predict(test), strict=True):
        # The key is new in every run: now and then a document ends up between two classes.
        assert label == other or twin.margin(document) < 0.01
    joint = accuracy(plan, test, sealed)
    assert all(PlainText.learn(plan, [part]).accuracy(test) < joint for part in documents_of(model))


def test_predict_gives_labels_as_they_were_given() -> None:
    texts = [
        "Patient collapsed, blue light transfer, resuscitation.",
        "Routine review, doing well.",
    ]
    parts = {
        name: ([f"{text} {number}" for number in range(12) for text in texts], [1, 0] * 12)
        for name in ("a", "b", "c")
    }
    model = ToyTextClassifier(features=8, key_bits=768, query_budget=500).fit(
        LocalFederation(parts)
    )
    predicted = model.predict(texts, peer="b")
    assert predicted.dtype.kind == "i"
    assert predicted.tolist() == [1, 0]
    assert model.classes_.tolist() == [0, 1]
    assert model.score(texts, [1, 1]) == 0.5
    assert model.predict([]).tolist() == []


def test_evaluate_counts_jointly() -> None:
    evaluation = fitted().evaluate()
    assert 0.6 < evaluation.accuracy <= 1
    assert set(evaluation.peers) == set(SITES)


def test_a_sealed_study_gives_no_scores_and_a_margin_study_does() -> None:
    with pytest.raises(MisuseError, match="gives labels only") as refused:
        fitted().decision_function(["chest pain"])
    assert 'release="margin"' in refused.value.hints[0]
    model = fitted(release="margin")
    scores = model.decision_function(["chest pain", "routine review"])
    assert scores.shape == (2,)
    labels = model.predict(["chest pain", "routine review"])
    assert [model.classes_[int(score > 0)] for score in scores] == labels.tolist()


def test_sentences_get_labels_with_their_places() -> None:
    text = "Chest pain at rest. Transfer now."
    model = fitted(level="sentence")
    (sentences,) = model.predict([text])
    assert [text[start:end] for start, end, _ in sentences] == [
        "Chest pain at rest.",
        "Transfer now.",
    ]
    assert {label for *_, label in sentences} <= set(model.classes_)


def test_a_peer_may_evaluate_and_another_deal() -> None:
    seats = federation(evaluator_at="north", dealer_at="harbour")
    model = ToyTextClassifier(features=32, key_bits=768).fit(seats)
    # The dealer's own organisation is dealt for by the evaluator, and the other way round.
    for peer in SITES:
        assert model.predict(["chest pain"], peer=peer)[0] in {"routine", "urgent"}


def test_the_estimator_contract() -> None:
    model = TextClassifier(features=100, alpha=2.0)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(features=7).features == 7
    assert "features=7" in repr(model)
    with pytest.raises(NotFittedError, match="fit"):
        model.predict(["text"])


def test_a_fitted_study_is_never_pickled_or_copied() -> None:
    for take in (pickle.dumps, copy.deepcopy):
        with pytest.raises(MisuseError, match="never pickled"):
            take(fitted())


def test_stages_are_timed() -> None:
    assert {"keys", "dictionary", "contributions", "solve"} <= set(fitted().seconds_)
    assert all(seconds >= 0 for seconds in fitted().seconds_.values())


PART = (["one two", "two three"], ["a", "b"])


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"alice": (["one"], ["a", "b"])}, "alice: expected 1 labels, one a text, found 2"),
        ({"alice": "nosuch.csv"}, "nosuch.csv: there is no such file or folder"),
        ({"alice": Path("nosuch.csv")}, "nosuch.csv: there is no such file or folder"),
        ({"alice": None}, "documents of 'alice', found nothing"),
        ({"alice": 5}, "documents of 'alice', found an int"),
        ({}, "federation: it has no peers"),
        ([1], "federation: expected every peer's part by its name, found a list"),
        ({1: (["one"], ["a"])}, "federation: expected names of peers, found 1"),
        ({"alice": []}, "documents of 'alice', found nothing"),
        ({"alice": ([1], ["a"])}, "alice row 1: expected a text, found an int"),
        ({"alice": ("one text", ["a"])}, "expected a list of texts, found one text"),
    ],
)
def test_a_part_that_is_none_is_named(parts, words) -> None:
    with pytest.raises(InputError, match=words):
        LocalFederation(parts)


@pytest.mark.parametrize(
    ("settings", "parts", "words"),
    [
        ({}, {"alice": PART, "bob": PART}, "at least 3 peers, found 2"),
        ({"alpha": 0.0}, dict.fromkeys("abc", PART), "alpha above 0, found 0"),
        ({"level": "page"}, dict.fromkeys("abc", PART), "level: expected one of"),
        ({"engine": "magic"}, dict.fromkeys("abc", PART), "expected engine to be one of"),
        ({"release": "all"}, dict.fromkeys("abc", PART), "expected release to be one of"),
        ({"key_bits": 512}, dict.fromkeys("abc", PART), "expected key_bits"),
        ({}, dict.fromkeys("abc", (["one", "two"], ["a", "a"])), "at least 2 different labels"),
        ({}, dict.fromkeys("abc", (["one", "two"], ["a", 1])), "labels of one kind"),
    ],
)
def test_studies_that_cannot_be_are_refused_by_name(settings, parts, words) -> None:
    with pytest.raises(InputError, match=words):
        TextClassifier(**settings).fit(LocalFederation(parts))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"features": "x"}, "features: expected a whole number, found 'x'"),
        ({"features": 2.5}, "features: expected a whole number, found 2.5"),
        ({"features": True}, "features: expected a whole number, found True"),
        ({"alpha": "1"}, "alpha: expected a number, found '1'"),
        ({"alpha": None}, "alpha: expected a number, found None"),
        ({"alpha": (1.0, "2")}, "alpha: expected a number, found '2'"),
        ({"ngrams": 2}, "ngrams: expected the shortest and the longest, found 2"),
        ({"ngrams": (1,)}, "ngrams: expected the shortest and the longest"),
        ({"ngrams": (1, 2.5)}, "ngrams: expected a whole number, found 2.5"),
        ({"labelling": "types", "entities": "Drug"}, "entities: expected names of types"),
        ({"key_bits": "3072"}, "key_bits: expected a whole number, found '3072'"),
        ({"min_documents": "3"}, "min_documents: expected a whole number, found '3'"),
        ({"min_peers": None}, "min_peers: expected a whole number, found None"),
        ({"min_peers": 2.5}, "min_peers: expected a whole number, found 2.5"),
        ({"query_budget": "x"}, "query_budget: expected a whole number, found 'x'"),
        ({"held_out": "a"}, "held_out: expected a number, found 'a'"),
        ({"held_out": None}, "held_out: expected a number, found None"),
        ({"class_weight": 5}, "expected class_weight None, 'root' or 'balanced', found 5"),
        ({"rados": "x"}, "rados: expected a whole number, found 'x'"),
        ({"verdict": 3}, "expected verdict to be one of auto, fss, dgk, found 3"),
    ],
)
def test_settings_of_a_wrong_kind_are_named(settings, words) -> None:
    with pytest.raises(InputError, match=words):
        TextClassifier(**settings).fit(LocalFederation(dict.fromkeys("abc", PART)))


def test_numbers_of_numpy_are_the_same_study() -> None:
    """A setting is hashed as it is written: numbers must be written in one way."""
    plans = [
        TextClassifier(features=first(9), alpha=two(2))._plan(
            LocalFederation(dict.fromkeys("abc", PART))
        )
        for first, two in ((int, float), (np.int64, np.float32), (np.int32, int))
    ]
    assert plans[0].settings() == plans[1].settings() == plans[2].settings()


def test_the_plan_goes_by_how_long_the_texts_are() -> None:
    tails = {}
    for words in (99, 100):
        part = (["word " * words, "another " * words], ["yes", "no"])
        plan = TextClassifier()._plan(LocalFederation(dict.fromkeys("abc", part)))
        tails[words] = plan.beside.tail_of
    assert tails == {99: "all", 100: "words"}


def test_a_federation_shows_who_takes_part_with_how_many_documents() -> None:
    assert repr(LocalFederation(dict.fromkeys("abc", PART))) == (
        "LocalFederation(documents of a: 2, b: 2, c: 2)"
    )
    shown = repr(LocalFederation(dict.fromkeys("abc", PART), evaluator_at="b"))
    assert shown == "LocalFederation(documents of a: 2, b: 2, c: 2, evaluator_at='b')"


def test_an_evaluator_elsewhere_is_named() -> None:
    with pytest.raises(InputError, match="the evaluator at one of a, b, c, found 'd'"):
        LocalFederation(dict.fromkeys("abc", PART), evaluator_at="d")


def test_fit_wants_a_federation() -> None:
    with pytest.raises(InputError, match="expected a LocalFederation alone, found a list"):
        TextClassifier().fit(["text"])


def test_texts_and_labels_of_unequal_length_are_named() -> None:
    with pytest.raises(MismatchError, match="expected 1 labels, found 2"):
        fitted().score(["chest pain"], ["urgent", "routine"])


def test_one_text_is_not_a_list_of_texts() -> None:
    with pytest.raises(InputError, match="expected a list of texts, found one text"):
        fitted().predict("chest pain")


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (None, "predict: expected a list of texts, found nothing"),
        (3, "predict: expected a list of texts, found an int"),
        ({"a": "b"}, "predict: expected a list of texts, found a dict"),
        ({"a"}, "predict: expected a list of texts, found a set"),
        (pd.DataFrame({"text": ["a"]}), "predict: expected a list of texts, found a table"),
        (["a", None], "predict row 2: expected a text, found nothing"),
        (pd.Series(["a", float("nan")]), "predict row 2: expected a text, found nothing"),
        ([b"a"], "predict row 1: expected a text, found a bytes"),
    ],
)
def test_what_is_no_list_of_texts_is_named(texts, words) -> None:
    with pytest.raises(InputError, match=words):
        fitted().predict(texts)


def test_a_row_without_a_label_is_named_once() -> None:
    parts = {name: (["one", "two"] * 20, ["a", "b"] * 20) for name in ("x", "y", "z")}
    parts["z"] = (["one", "two"] * 20, [None] * 40)
    with pytest.raises(InputError, match=r"^z row \d+: expected one label, found none"):
        TextClassifier(features=2).fit(LocalFederation(parts))


def test_a_stranger_cannot_ask() -> None:
    with pytest.raises(InputError, match="found 'mallory'"):
        fitted().predict(["chest pain"], peer="mallory")


def test_an_operating_point_is_chosen_from_the_joint_roc_by_a_rule() -> None:
    model = ToyTextClassifier(features=64, key_bits=768, query_budget=5000).fit(federation())
    with pytest.raises(MisuseError, match="there is no evaluation yet"):
        model.operate_at("youden")
    own = model.evaluate(peer="harbour")
    assert own.peers == ("harbour",)
    joint = model.evaluate()
    assert joint.counts.sum() > own.counts.sum()
    assert model.operating_point_ == {"urgent": 0.0}
    assert model.operate_at("youden").operating_point_ == {"urgent": joint.roc["urgent"].youden()}
    texts = [document.text for document in model.federation_.documents["harbour"][:40]]
    strict, loose = (
        (model.operate_at(point).predict(texts) == "urgent").sum() for point in (1, -1)
    )
    assert strict < loose
    model.operate_at(sensitivity=0.5)
    assert model.operating_point_["urgent"] == joint.roc["urgent"].reaching(0.5)
    with pytest.raises(InputError, match="operate_at: expected an operating point of thresholds"):
        model.operate_at({"urgent": 3})
    with pytest.raises(InputError, match="found 'mallory'"):
        model.evaluate(peer="mallory")
    assert model.operate_at(None).operating_point_ == {"urgent": 0.0}


@pytest.mark.parametrize(
    ("point", "words"),
    [
        ("high", "operating_point: expected a threshold for urgent, found 'high'"),
        (True, "operating_point: expected a threshold for urgent, found True"),
        ({"routine": 0.1}, "operating_point: expected thresholds for urgent, found 'routine'"),
        ({"urgent": "0.1"}, "operating_point: expected a threshold for urgent"),
        (2.0, "an operating point of thresholds from -1 to 1"),
    ],
)
def test_operating_points_that_are_none_are_refused(point, words) -> None:
    with pytest.raises(InputError, match=words):
        ToyTextClassifier(features=8, key_bits=768, operating_point=point).fit(federation())


def test_rados_may_be_sampled() -> None:
    model = fitted(contribution="rados", rados=300)
    assert model.study_.study.plan.rados == 300
    assert model.evaluate().accuracy > 0.6
