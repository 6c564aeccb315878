"""A fitted study as scikit-learn's tools want a classifier, and studies in folds."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.metrics import ConfusionMatrixDisplay, accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from sottovoce import LocalFederation, cross_validate
from sottovoce.errors import InputError, MisuseError
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.study import InsecureToyPlan


class ToyTextClassifier(TextClassifier):
    _plan_type = InsecureToyPlan


HEART = [f"heart pain number {one} today" for one in "abcdefghijkl"]
BONE = [f"bone break number {one} today" for one in "abcdefghijkl"]
TEXTS, LABELS = [*HEART, *BONE], ["heart"] * 12 + ["bone"] * 12


def toy(**settings: object) -> ToyTextClassifier:
    return ToyTextClassifier(features=16, key_bits=768, query_budget=5000, **settings)


@pytest.fixture(scope="module")
def model() -> ToyTextClassifier:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    return toy(release="margin", held_out=0.0).fit(LocalFederation(parts))


def test_a_peer_s_view_is_a_classifier_for_scikit_learn_s_tools(model: ToyTextClassifier) -> None:
    alice = model.at("alice")
    assert is_classifier(alice)
    check_is_fitted(alice)
    assert alice.classes_.tolist() == ["bone", "heart"]
    assert accuracy_score(LABELS, alice.predict(TEXTS)) == 1.0
    assert alice.score(np.array(TEXTS), LABELS) == 1.0
    assert (alice.decision_function(TEXTS) > 0).tolist() == [one == "heart" for one in LABELS]
    lowered = make_pipeline(FunctionTransformer(lambda X: [one.lower() for one in X]), alice)
    assert lowered.predict(["HEART PAIN today"]).tolist() == ["heart"]
    with pytest.raises(MisuseError, match="fitted by all peers together"):
        alice.fit(TEXTS, LABELS)
    with pytest.raises(InputError, match="found 'mallory'"):
        model.at("mallory")


def test_a_confusion_table_is_drawn_from_a_peer_s_view(model: ToyTextClassifier) -> None:
    pytest.importorskip("matplotlib")
    shown = ConfusionMatrixDisplay.from_estimator(model.at("bob"), TEXTS, LABELS)
    assert shown.confusion_matrix.tolist() == [[12, 0], [0, 12]]


def test_frames_series_and_lists_are_the_same_federation() -> None:
    frame = pd.DataFrame({"text": TEXTS, "label": LABELS, "group": range(24)})
    listed = LocalFederation({"a": (TEXTS, LABELS, list(range(24)))}).documents["a"]
    for part in (frame, (frame["text"], frame["label"], frame["group"])):
        read = LocalFederation({"a": part}).documents["a"]
        assert [(one.text, one.label, one.group) for one in read] == [
            (one.text, one.label, one.group) for one in listed
        ]
    renamed = frame.rename(columns={"text": "note"})
    with pytest.raises(InputError, match="expected columns text and label in the frame of 'a'"):
        LocalFederation({"a": renamed})


def test_every_fold_is_a_study_judged_on_what_it_left_out() -> None:
    parts = {
        name: ([f"{one} {name}" for one in TEXTS], LABELS) for name in ("alice", "bob", "carol")
    }
    found = cross_validate(toy(held_out=0.0), LocalFederation(parts), folds=4)
    assert found["test_score"].shape == found["fit_time"].shape == (4,)
    assert found["test_score"].min() > 0.9
    with pytest.raises(InputError, match="2 to 100 folds, found 1"):
        cross_validate(toy(), LocalFederation(parts), folds=1)
