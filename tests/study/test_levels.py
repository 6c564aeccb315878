"""Sentences and tokens through a whole study: every row equals the plaintext learner's."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.studies import Case, notes
from sottovoce.errors import InputError
from sottovoce.paillier import SecretKey
from sottovoce.study import InsecureToyPlan
from sottovoce.study.evaluations.figures import Evaluation, confusion
from sottovoce.text.documents import Document, Fragment, Span
from sottovoce.text.features import FeatureReader
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.reading import Level, Reading

DRUGS = ("oral aspirin", "calcium heparin", "sodium warfarin")
ILLS = ("chest pain", "atrial flutter", "deep thrombosis")


def marked(number: int) -> Document:
    """Two sentences with an entity each; the second sentence speaks of a disease."""
    drug, ill = DRUGS[number % 3], ILLS[number // 3 % 3]
    first = f"Started {drug} on day {number}."
    text = f"{first} Seen for {ill} before, now well."
    at = len(first) + len(" Seen for ")
    spans = (
        Span("Drug", (Fragment(8, 8 + len(drug)),)),
        Span("Disease", (Fragment(at, at + len(ill)),)),
    )
    return Document(text, group=str(number), spans=spans)


@cache
def documents() -> dict[str, list[Document]]:
    names = ("north", "harbour", "valley")
    return {name: [marked(n) for n in range(place, 150, 3)] for place, name in enumerate(names)}


def study(key: SecretKey, scheme: Scheme, level: Level, **settings: Any) -> Case:
    labelling = Labelling.by_entity(scheme, ("Drug", "Disease"))
    chosen = {"features": 20, "key_bits": 768, "bucket_bits": 12, "query_budget": 4000}
    plan = InsecureToyPlan(
        "levels",
        labelling.labels,
        labelling=labelling,
        reading=Reading(level=level),
        **(chosen | settings),
    )
    return Case(documents(), plan, key)


def truth(case: Case, test: list[Document]) -> list[Classes]:
    model = case.outcome.models["north"]
    places = FeatureReader(model.space, model.key).read(test).places
    pairs = zip(test, places, strict=True)
    return [class_ for each in pairs for class_ in case.plan.labelled.classes(*each)]


@pytest.mark.parametrize(
    ("scheme", "level", "settings"),
    [
        (Scheme.TYPES, Level.SENTENCE, {}),
        (Scheme.TYPES, Level.TOKEN, {}),
        (Scheme.INSIDE, Level.TOKEN, {}),
        (Scheme.SINGLE, Level.TOKEN, {"class_weight": "balanced"}),
        (Scheme.BIO, Level.TOKEN, {}),
        pytest.param(
            Scheme.INSIDE,
            Level.TOKEN,
            {"engine": "paillier", "features": 8, "alpha": 5.0},
            marks=pytest.mark.soak,
        ),
    ],
)
def test_every_row_of_a_level_is_the_plain_learner_s(
    scheme: Scheme, level: Level, settings: dict[str, Any], toy_key: SecretKey
) -> None:
    case = study(toy_key, scheme, level, **settings)
    test = case.held_out()[:12]
    labels = case.outcome.classify("valley", test).classes
    assert labels == case.plan.labels.decide(case.scores(test))
    true = truth(case, test)
    assert len(labels) == len(true) >= (2 if level is Level.SENTENCE else 8) * len(test)
    right = np.mean([label == other for label, other in zip(labels, true, strict=True)])
    commonest = max(true.count(label) for label in set(true)) / len(true)
    assert right > commonest or settings.get("engine") == "paillier"


def test_a_joint_table_counts_rows_and_asks_for_documents(toy_key: SecretKey) -> None:
    case = study(toy_key, Scheme.TYPES, Level.SENTENCE)
    table = case.outcome.evaluate(case.documents)
    test = case.held_out()
    true, decided = truth(case, test), case.plan.labels.decide(case.scores(test))
    whole = confusion(case.plan.labels, true, decided)
    assert np.array_equal(table.counts, Evaluation.of(case.plan.labels, whole, (), fewest=3).counts)
    # Four documents a site have many tokens, and are too few documents all the same.
    few = study(toy_key, Scheme.INSIDE, Level.TOKEN)
    small = {name: [] for name in few.documents}
    for name, mine in few.documents.items():
        small[name] = [document for document in mine if document in few.held_out(name)][:4]
    assert len(truth(few, [document for mine in small.values() for document in mine])) > 90
    with pytest.raises(InputError, match="at least 20 held-out documents over all peers, found"):
        few.outcome.evaluate(small)


def test_sentences_take_the_label_of_their_document(toy_key: SecretKey) -> None:
    labels = Labels(("routine", "urgent"))
    plan = InsecureToyPlan(
        "levels",
        labels,
        features=32,
        key_bits=768,
        bucket_bits=12,
        query_budget=4000,
        reading=Reading(level=Level.SENTENCE),
    )
    case = Case(notes(200), plan, toy_key)
    test = case.held_out()[:20]
    result = case.outcome.classify("north", test).classes
    assert len(result) > 2 * len(test)
    assert result == labels.decide(case.scores(test))


def test_labels_of_documents_and_of_sentences_in_one_model(toy_key: SecretKey) -> None:
    """One dictionary and one second moment; every class of either level has its own targets."""
    labelling = Labelling.by_levels(("Drug", "Disease"), ("calm", "flutter"))
    parts = {
        name: [
            replace(document, label="flutter" if "atrial flutter" in document.text else "calm")
            for document in mine
        ]
        for name, mine in documents().items()
    }
    plan = InsecureToyPlan(
        "levels",
        labelling.labels,
        labelling=labelling,
        reading=Reading(level=Level.SENTENCE),
        features=20,
        key_bits=768,
        bucket_bits=12,
        query_budget=4000,
    )
    case = Case(parts, plan, toy_key)
    labels = case.outcome.classify("north", parts["north"][:9]).classes
    for place, document in enumerate(parts["north"][:9]):
        first, second = labels[2 * place : 2 * place + 2]
        assert "Drug" in first
        assert "Disease" not in first
        assert "Disease" in second
        assert ("flutter" in second) == (document.label == "flutter")
