"""Probabilities of a whole study: where scores are released, and of sealed ones by their bins."""

from collections.abc import Sequence

import numpy as np
import pytest
from sklearn.metrics import RocCurveDisplay

from sottovoce.datasets import clinical_notes
from sottovoce.errors import MisuseError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.estimators.plain_text import PlainText
from sottovoce.estimators.probabilities import (
    calibrations,
    from_labels,
    from_margins,
    from_scores,
)
from sottovoce.study import InsecureToyPlan
from sottovoce.study.evaluations.calibration import MARGINS, Calibration
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.policy import Policy
from sottovoce.study.release import Release
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

PEERS = ("north", "harbour", "stanmore")
CONSENTED = Policy(releases=frozenset({Release.SEALED, Release.MARGIN}))


class ToyTextClassifier(TextClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan


def federation(label: str = "urgency") -> LocalFederation:
    notes = clinical_notes(240, sites=PEERS, random_state=4)
    parts = {site: [note.document(label) for note in notes if note.site == site] for site in PEERS}
    return LocalFederation(parts, policy=CONSENTED)


def toy(**settings: object) -> ToyTextClassifier:
    return ToyTextClassifier(24, key_bits=768, query_budget=3000, held_out=0.4, **settings)


TEXTS = ["severe chest pain since this morning", "routine letter, stable", ""]


def test_released_scores_become_probabilities() -> None:
    model = toy(release="margin").fit(federation())
    with pytest.raises(MisuseError, match="no joint evaluation yet to calibrate with"):
        model.predict_proba(TEXTS)
    # Pictures take the scores until there is an evaluation.
    assert not hasattr(model.at("north"), "predict_proba")
    evaluation = model.evaluate()
    predicted = model.predict_proba(TEXTS, peer="north")
    scores = model.decision_function(TEXTS)[:, np.newaxis]
    means = calibrations(evaluation)
    assert np.array_equal(predicted, from_scores(scores, means, exclusive=True))
    assert np.array_equal(model.at("north").predict_proba(TEXTS), predicted)
    assert np.allclose(predicted.sum(axis=1), 1)
    assert np.array_equal(model.at("north").predict_proba(TEXTS), predicted)


def test_a_peer_s_view_has_probabilities_once_there_was_an_evaluation() -> None:
    model = toy().fit(federation())
    north = model.at("north")
    assert not hasattr(north, "predict_proba")
    model.evaluate()
    notes = [note for part in federation().documents.values() for note in part][:40]
    texts, labels = [note.text for note in notes], [note.label for note in notes]
    shown = RocCurveDisplay.from_estimator(north, texts, labels, pos_label="urgent")
    assert shown.roc_auc > 0.6
    assert north.predict_proba(texts).sum(axis=1) == pytest.approx(1)
    assert not hasattr(model.at("north", own=True), "predict_proba")


def test_sealed_scores_of_two_classes_give_a_bin_and_are_charged() -> None:
    model = toy().fit(federation())
    evaluation = model.evaluate()
    (mean,) = calibrations(evaluation)
    before = model.operating_point_
    predicted = model.predict_proba(TEXTS, peer="harbour")
    assert set(predicted[:, 1].tolist()) <= set(mean.shares)
    assert model.operating_point_ == before
    shown = RocCurveDisplay.from_estimator(model.at("harbour"), TEXTS[:2], ["urgent", "routine"])
    assert shown.roc_auc is not None
    assert model.predict_proba(TEXTS[:1]).shape == (1, 2)


@pytest.mark.filterwarnings("ignore:.* is left out:UserWarning")
def test_many_sealed_classes_give_a_label_and_the_bin_of_its_margin() -> None:
    model = toy(rare="leave out", engine="shares").fit(federation("diagnosis"))
    evaluation, outcome = model.evaluate(), model.study_
    held_out = outcome.held_out("north", model.federation_.documents["north"])
    left = outcome.queries.left("north")
    chances, said = model.predict_proba(TEXTS), model.predict(TEXTS)
    assert left - outcome.queries.left("north") >= 4 * (len(held_out) + len(TEXTS)) + len(TEXTS)
    names = evaluation.labels.names
    assert chances.shape == (3, len(names)) > (3, 2)
    assert np.allclose(chances.sum(axis=1), 1)
    own = model._calibrated["north"]
    assert own == calibrated_in_plain(model, held_out)
    likely = [row[names.index(label)] for row, label in zip(chances, said, strict=True)]
    assert set(likely) <= set(own.shares)
    assert model.predict_proba([]).shape == (0, len(names))


def calibrated_in_plain(model: ToyTextClassifier, documents: Sequence[Document]) -> Calibration:
    """The same from the plaintext twin's scores."""
    plan, key = model.study_.study.plan, model.study_.models["north"].key
    plain = PlainText.learn(plan, list(model.federation_.documents.values()), key=key)
    scores = np.sort(plain.scores(documents), axis=1)
    numbers = np.searchsorted(MARGINS, scores[:, -1] - scores[:, -2], "right")
    assert len(set(numbers.tolist())) > 1
    pairs = zip(documents, plain.predict(documents), strict=True)
    right = np.array([plan.labels.classes(document) == classes for document, classes in pairs])
    return Calibration.of_margins(numbers, right, accuracy=model.evaluation_.accuracy)


def test_a_wider_margin_is_never_less_likely() -> None:
    numbers = np.array([0, 0, 0, 3, 3, 7, 7, 7, 7, 5])
    right = np.array([0, 0, 1, 1, 1, 1, 1, 1, 1, 0], np.bool_)
    calibration = Calibration.of_margins(numbers, right, accuracy=0.7)
    assert list(calibration.shares) == sorted(calibration.shares)
    assert calibration.shares[0] < 0.5
    assert calibration.shares[-1] > 0.8


def test_the_rest_of_a_margin_goes_where_the_joint_table_says() -> None:
    counts = np.array([[30, 0, 0], [10, 20, 0], [0, 0, 40]])
    table = Evaluation(Labels(("a", "b", "c")), counts, counts < 0, 5, PEERS)
    calibration = Calibration.of_margins(np.array([0, 7]), np.array([False, True]), accuracy=0.8)
    low, high = from_margins([("a",), ("a",)], np.array([0, 7]), calibration, table)
    assert np.allclose([low.sum(), high.sum()], 1)
    assert low[0] == calibration.shares[0] < high[0] == calibration.shares[-1]
    assert low[1] > 10 * low[2] > 0


def test_a_label_that_was_never_given_is_likelier_than_its_share() -> None:
    labels = Labels(("a", "b", "c"))
    counts = np.array([[30, 0, 0], [10, 0, 0], [0, 0, 40]])
    table = Evaluation(labels, counts, counts < 0, 5, PEERS)
    result = from_labels([("a",), ("b",), ("c",)], table)
    assert np.allclose(result.sum(axis=1), 1)
    assert np.allclose(result[0], [(30 + 0.5 + 0.1875) / 41, (10 + 0.0625) / 41, 0.25 / 41])
    assert result[1, 1] == result[1].max() > 0.5
