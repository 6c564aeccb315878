"""A fitted study as scikit-learn's tools want a classifier, and studies in folds."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import ConfusionMatrixDisplay, RocCurveDisplay, accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from harness.consent import ANYTHING
from sottovoce import LocalFederation, cross_validate, search_plans
from sottovoce.errors import InputError, MisuseError
from sottovoce.estimators.federation import SpellingWarning
from sottovoce.estimators.own_model import own_thresholds
from sottovoce.estimators.peer_parts import LeftOutWarning
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.estimators.validation import PlanSearch
from sottovoce.sources import open_source
from sottovoce.study import InsecureToyPlan, StudyPlan
from sottovoce.text.blocks import Blocks
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels


class ToyTextClassifier(TextClassifier):
    _plan_type = InsecureToyPlan


HEART = [f"heart pain number {letter} today" for letter in "abcdefghijkl"]
BONE = [f"bone break number {letter} today" for letter in "abcdefghijkl"]
TEXTS, LABELS = [*HEART, *BONE], ["heart"] * 12 + ["bone"] * 12


def toy(**settings: object) -> ToyTextClassifier:
    return ToyTextClassifier(features=16, key_bits=768, query_budget=5000, **settings)


@pytest.fixture(scope="module")
def model() -> ToyTextClassifier:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    return toy(release="margin", held_out=0.0).fit(LocalFederation(parts, policy=ANYTHING))


def test_a_peer_s_view_is_a_classifier_for_scikit_learn_s_tools(model: ToyTextClassifier) -> None:
    alice = model.at("alice")
    assert is_classifier(alice)
    check_is_fitted(alice)
    assert alice.classes_.tolist() == ["bone", "heart"]
    assert accuracy_score(LABELS, alice.predict(TEXTS)) == 1.0
    assert alice.score(np.array(TEXTS), LABELS) == 1.0
    assert (alice.decision_function(TEXTS) > 0).tolist() == [label == "heart" for label in LABELS]
    lowered = make_pipeline(FunctionTransformer(lambda X: [text.lower() for text in X]), alice)
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
        assert [(document.text, document.label, document.group) for document in read] == [
            (document.text, document.label, document.group) for document in listed
        ]
    renamed = frame.rename(columns={"text": "note"})
    with pytest.raises(InputError, match="expected columns text and label in the frame of 'a'"):
        LocalFederation({"a": renamed})


@pytest.mark.parametrize("library", [pd, pl, pa])
def test_every_obvious_form_of_a_part_is_the_same_part(library: Any, tmp_path: Path) -> None:
    columns = {"text": TEXTS, "label": LABELS}
    frame = (library.table if library is pa else library.DataFrame)(columns)
    named = (library.table if library is pa else library.DataFrame)({"n": TEXTS, "d": LABELS})
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["text,label", *map(",".join, zip(TEXTS, LABELS, strict=True))]))
    parts = {
        "lists": (TEXTS, LABELS),
        "arrays": (np.array(TEXTS), np.array(LABELS)),
        "columns of a frame": (frame["text"], frame["label"]),
        "frame": frame,
        "frame and names": (named, "n", "d"),
        "lists by name": columns,
        "pairs": list(zip(TEXTS, LABELS, strict=True)),
        "rows by name": [{"text": t, "label": l} for t, l in zip(TEXTS, LABELS, strict=True)],
        "documents": [Document(t, l) for t, l in zip(TEXTS, LABELS, strict=True)],
        "path": path,
        "path as text": str(path),
        "source": open_source(path),
    }
    if library is pl:
        parts |= {"not computed yet": frame.lazy(), "and names": (named.lazy(), "n", "d")}
    for documents in LocalFederation(parts).documents.values():
        assert [(document.text, document.label) for document in documents] == parts["pairs"]


def test_one_frame_for_all_peers_and_rows_that_are_dealt() -> None:
    frame = pd.DataFrame({"note": TEXTS, "dx": LABELS, "site": ["b", "a"] * 12, "p": range(24)})
    federation = LocalFederation.of_frame(frame, peer="site", text="note", label="dx", group="p")
    assert federation.peers == ("b", "a")
    assert [document.text for document in federation.documents["a"]] == TEXTS[1::2]
    assert federation.documents["a"][0].group == "1"
    with pytest.raises(InputError, match="expected a data frame with the column 'hospital'"):
        LocalFederation.of_frame(frame, peer="hospital", text="note", label="dx")
    dealt = LocalFederation.dealt(TEXTS, LABELS, evaluator_at="alice")
    assert sorted(
        document.text for mine in dealt.documents.values() for document in mine
    ) == sorted(TEXTS)
    assert dealt.peers == ("alice", "bob", "carol")
    assert repr(dealt) == repr(LocalFederation.dealt(TEXTS, LABELS, evaluator_at="alice"))


def test_parts_that_are_odd_are_refused_or_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="federation: a item 2: expected a label in 'label'"):
        LocalFederation({"a": [{"text": "x", "label": 1}, {"text": "y"}]})
    with pytest.raises(InputError, match="expected columns text and label in the frame of 'a'"):
        LocalFederation({"a": {"text": TEXTS}})
    with pytest.raises(InputError, match="documents of 'a', found 4 things"):
        LocalFederation({"a": (TEXTS, LABELS, LABELS, LABELS)})
    path = tmp_path / "notes.csv"
    path.write_text("text,label\na,x\nb,\n,y\n", encoding="utf-8")
    with pytest.warns(LeftOutWarning, match=r"a: .*notes.csv: 2 rows are left out"):
        LocalFederation({"a": path})


def test_what_is_no_label_and_no_peer_is_refused_with_a_hint() -> None:
    for part in ((["x", None], ["a", "b"]), (["x", "y"], ["a", float("nan")])):
        with pytest.raises(InputError, match=r"a row 2: expected a (text|label)") as refused:
            LocalFederation({"a": part})
        assert "dropna" in refused.value.hints[0]
    with pytest.raises(InputError, match="expected the names of peers, found 3"):
        LocalFederation.dealt(TEXTS, LABELS, peers=3)
    with pytest.raises(InputError, match="roster: expected at least 2 peers, found 1"):
        toy().fit(LocalFederation({"a": (TEXTS, LABELS)}))


def test_a_class_that_is_left_out_is_told() -> None:
    parts = {"a": ([*TEXTS, "sore"], [*LABELS, "skin"]), "b": (TEXTS, LABELS), "c": (TEXTS, LABELS)}
    warned = r"a: class 'skin' is left out here: 1 of its documents .* and the minimum is 3"
    with pytest.warns(LeftOutWarning, match=warned):
        toy(held_out=0.0).fit(LocalFederation(parts))
    parts["a"] = ([*parts["a"][0], "stiff"], [*parts["a"][1], "joint"])
    with pytest.warns(
        LeftOutWarning, match=r"a: class 'joint' is left out here: .*; and 1 more class"
    ):
        toy(held_out=0.0).fit(LocalFederation(parts))


def test_what_to_write_stands_under_a_refused_release() -> None:
    with pytest.raises(InputError, match="release: expected sealed, found margin") as refused:
        toy(release="margin").fit(LocalFederation(dict.fromkeys("abc", (TEXTS, LABELS))))
    assert "policy=Policy(releases={'margin'})" in refused.value.hints[0]


def test_labels_that_differ_only_in_case_or_space_are_told() -> None:
    parts = {"alice": (["a", "b"], ["Heart", "bone"]), "bob": (["c", "d"], ["heart ", "bone"])}
    with pytest.warns(SpellingWarning, match=r"labels '[hH]eart ?' and '[hH]eart ?' differ only"):
        LocalFederation(parts)


def test_a_frozen_view_is_scored_in_folds_and_drawn(model: ToyTextClassifier) -> None:
    alice = FrozenEstimator(model.at("alice"))
    assert cross_val_score(alice, TEXTS, LABELS, cv=2).tolist() == [1.0, 1.0]
    assert clone(model.at("alice")).model is model
    pytest.importorskip("matplotlib")
    curve = RocCurveDisplay.from_estimator(model.at("bob"), TEXTS, LABELS)
    assert curve.roc_auc == 1.0


def test_a_peer_is_never_worse_off_than_alone() -> None:
    contrary = ["bone" if label == "heart" else "heart" for label in LABELS]
    given = {"alice": LABELS, "bob": LABELS, "carol": contrary}
    parts = {name: ([f"{text} {name}" for text in TEXTS], labels) for name, labels in given.items()}
    joint = toy(held_out=0.5, characters=None).fit(LocalFederation(parts, policy=ANYTHING))
    with pytest.raises(MisuseError, match="no evaluation yet to compare a peer's own model"):
        joint.at("carol", own=True)
    joint.evaluate()
    alice, carol = joint.at("alice", own=True), joint.at("carol", own=True)
    assert (alice.own.is_preferred, carol.own.is_preferred) == (False, True)
    assert (carol.own.alone, carol.own.joint) == (1.0, 0.0)
    assert alice.predict(TEXTS).tolist() == LABELS
    spent = joint.study_.queries.left("carol")
    assert carol.predict(TEXTS).tolist() == contrary
    assert (carol.decision_function(TEXTS) > 0).tolist() == [label == "heart" for label in contrary]
    assert joint.study_.queries.left("carol") == spent


def test_a_peer_says_what_is_frequent_at_its_site_more_readily() -> None:
    parts = {
        "alice": (TEXTS, LABELS),
        "bob": ([f"{text} bob" for text in TEXTS], LABELS),
        "carol": ([f"bone {word} break" for word in "abcdefghijklmnopqrst"] + HEART[:4],
                  ["bone"] * 20 + ["heart"] * 4),
    }  # fmt: skip
    joint = toy(held_out=0.5, characters=None, release="margin")
    joint.fit(LocalFederation(parts, policy=ANYTHING)).evaluate()
    alice, carol = joint.at("alice", own=True), joint.at("carol", own=True)
    assert carol.own.thresholds > 0.03 > alice.own.thresholds
    plain = joint.decision_function(TEXTS, peer="carol")
    assert np.allclose(carol.decision_function(TEXTS), plain - carol.own.thresholds)
    assert carol.predict(TEXTS).tolist() == [
        "heart" if score > carol.own.thresholds else "bone" for score in plain
    ]


def test_thresholds_follow_the_frequencies() -> None:
    labels, at = StudyPlan("three", Labels(("a", "b", "c"))), partial(own_thresholds, accuracy=0.5)
    joint, own = np.array([50.0, 50.0, 0.0]), np.array([90.0, 10.0, 0.0])
    first, second, third = at(labels, joint, own)
    assert first == pytest.approx(-0.5 * np.log(97.5 / 115 / 0.5))
    assert second == pytest.approx(-0.5 * np.log(17.5 / 115 / 0.5))
    assert third == 0.0
    two = StudyPlan("two", Labels(("a", "b")))
    (moved,) = at(two, joint[:2], own[:2])
    assert moved == pytest.approx(-0.5 * np.log(15 / 95))
    assert not at(labels, joint, joint).any()
    assert not at(labels, joint, np.zeros(3)).any()
    overlapping = StudyPlan("several", Labels(("a", "b"), exclusive=False))
    assert not at(overlapping, joint[:2], own[:2]).any()
    # Scores of the site's own model know its frequencies.
    assert not at(replace(labels, beside=Blocks(own_weight=0.5)), joint, own).any()
    assert at(two, np.array([1e6, 1.0]), np.array([0.0, 1e6])) == -1.0
    # A better model leaves less to frequencies.
    accurate = own_thresholds(two, joint[:2], own[:2], accuracy=0.98)
    assert 0.1 < accurate / moved < 0.25


def test_a_threshold_is_where_normal_scores_are_of_either_class_as_often() -> None:
    """Made-up scores as ridge regression gives them, and a site with other frequencies."""
    draw, two = np.random.default_rng(3), StudyPlan("two", Labels(("a", "b")))
    for distance, accuracy in ((1.0, 0.691), (2.0, 0.841), (3.0, 0.933)):
        between = 2 * distance**2 / (4 + distance**2)
        classes = draw.random(200_000) < 0.2
        scores = between * ((classes - 0.5) + draw.standard_normal(len(classes)) / distance)
        joint, own = np.array([1e6, 1e6]), np.array([8e5, 2e5])
        at = own_thresholds(two, joint, own, accuracy=accuracy)[0]
        tried = [np.mean((scores > at + moved) == classes) for moved in (-0.15, 0.0, 0.15)]
        assert tried[1] == max(tried)


@pytest.mark.soak
def test_a_grid_of_plans_is_tried_in_whole_studies() -> None:
    parts = {
        name: ([f"{text} {name}" for text in TEXTS], LABELS) for name in ("alice", "bob", "carol")
    }
    grid = {"ngrams": [(1, 1), (2, 2)], "characters": [None]}
    match = search_plans(toy(held_out=0.0), grid, LocalFederation(parts), folds=3)
    assert len(match.tried) == 2
    assert match.best_score_ == max(score for _, score in match.tried) > 0.9
    assert toy().set_params(**match.best_params_).characters is None
    with pytest.raises(InputError, match="settings of ToyTextClassifier, found 'alhpa'") as caught:
        search_plans(toy(), {"alhpa": [1]}, LocalFederation(parts))
    assert caught.value.hints == ("alpha",)


def test_a_search_shows_every_plan_the_best_first() -> None:
    tried = (({"alpha": 3.0}, 0.9), ({"alpha": 1.0}, 0.75))
    assert repr(PlanSearch(tried)) == "90.0%: {'alpha': 3.0}\n75.0%: {'alpha': 1.0}"


def test_every_fold_is_a_study_judged_on_what_it_left_out() -> None:
    parts = {
        name: ([f"{text} {name}" for text in TEXTS], LABELS) for name in ("alice", "bob", "carol")
    }
    result = cross_validate(toy(held_out=0.0), LocalFederation(parts), folds=3)
    assert result["test_score"].shape == result["fit_time"].shape == (3,)
    assert result["test_score"].min() > 0.9
    with pytest.raises(InputError, match="2 to 100 folds, found 1"):
        cross_validate(toy(), LocalFederation(parts), folds=1)
