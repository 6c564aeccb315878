"""Words that carried a label: found with the places of a query that are charged anyway."""

import pytest

from harness.consent import ANYTHING
from sottovoce import LocalFederation
from sottovoce.errors import InputError
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.study import InsecureToyPlan


class ToyTextClassifier(TextClassifier):
    _plan_type = InsecureToyPlan


LETTERS = "abcdefghijklmnopqrst"
# More of one than of the other: without a word the label is clear, and no rounding decides.
TEXTS = [f"heart seen {letter}" for letter in LETTERS] + [
    f"bone seen {letter}" for letter in LETTERS[:8]
]
LABELS = ["cardiac"] * 20 + ["orthopaedic"] * 8
PARTS = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))


def fitted(**settings: object) -> ToyTextClassifier:
    toy = {"features": 8, "ngrams": (1, 1), "characters": None, "tail": 0, "kernel": 0}
    model = ToyTextClassifier(**toy, key_bits=768, held_out=0.0, query_budget=5000, **settings)
    return model.fit(LocalFederation(PARTS, policy=ANYTHING))


@pytest.fixture(scope="module")
def sealed() -> ToyTextClassifier:
    return fitted()


def left(model: ToyTextClassifier) -> int:
    return model.study_.queries.left("alice")


def test_an_explanation_costs_what_the_label_costs(sealed: ToyTextClassifier) -> None:
    before = left(sealed)
    sealed.predict(["heart seen today"], peer="alice")
    between = left(sealed)
    sealed.explain(["heart seen today"], peer="alice")
    assert before - between == between - left(sealed) > 0


def test_a_word_is_named_with_the_label_that_stands_without_it(sealed: ToyTextClassifier) -> None:
    texts = ["heart today", "bone today", "Bone, bone; seen!", "today"]
    for text, explanation in zip(texts, sealed.explain(texts, peer="alice"), strict=True):
        assert explanation is not None
        (label,) = sealed.predict([text], peer="alice")
        for word in explanation:
            assert word.fall is None
            bare = text.lower().replace(word.word, "")
            assert sealed.predict([bare], peer="alice")[0] == word.without[0] != label
    named = [
        [word.word for word in words or ()] for words in sealed.explain(texts[:2], peer="alice")
    ]
    assert named == [[], ["bone"]]


def test_what_there_is_no_room_for_is_not_explained(sealed: ToyTextClassifier) -> None:
    batch = sealed.study_.models["alice"].scores.batch
    full = sealed.explain(["heart today"] * batch, peer="alice")
    assert full == [None] * batch
    nearly = sealed.explain(["heart today"] * (batch - 1), peer="alice")
    assert [answer is not None for answer in nearly] == [True] + [False] * (batch - 2)


@pytest.mark.parametrize("release", ["margin", "peers"])
def test_where_scores_are_released_words_are_weighed(release: str) -> None:
    model = fitted(release=release)
    (explained,) = model.explain(["heart seen today"], peer="alice")
    assert explained is not None
    assert explained[0].word == "heart"
    assert explained[0].fall is not None
    assert explained[0].fall > 0
    whole, bare = model.decision_function(["heart seen today", "  seen today"], peer="alice")
    assert explained[0].fall == pytest.approx(bare - whole, abs=1e-9)


def test_sentences_are_not_explained(sealed: ToyTextClassifier) -> None:
    rows = {name: (texts, labels) for name, (texts, labels) in PARTS.items()}
    model = ToyTextClassifier(features=8, key_bits=768, level="sentence", query_budget=5000)
    with pytest.raises(InputError, match="explain: expected level document, found sentence"):
        model.fit(LocalFederation(rows)).explain(["heart today"])
