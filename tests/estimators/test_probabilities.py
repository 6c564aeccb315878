"""Probabilities of a whole study: where scores are released, and of sealed ones by their bins."""

import numpy as np
import pytest

from sottovoce.datasets import clinical_notes
from sottovoce.errors import MisuseError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.estimators.probabilities import calibrations, from_labels, from_scores
from sottovoce.study import InsecureToyPlan
from sottovoce.study.policy import Policy
from sottovoce.study.queries.figures import Evaluation
from sottovoce.study.release import Release
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
    evaluation = model.evaluate()
    predicted = model.predict_proba(TEXTS, peer="north")
    scores = model.decision_function(TEXTS)[:, np.newaxis]
    means = calibrations(evaluation)
    assert np.array_equal(predicted, from_scores(scores, means, exclusive=True))
    assert np.allclose(predicted.sum(axis=1), 1)


def test_sealed_scores_of_two_classes_give_a_bin_and_are_charged() -> None:
    model = toy().fit(federation())
    evaluation = model.evaluate()
    (mean,) = calibrations(evaluation)
    before = model.operating_point_
    predicted = model.predict_proba(TEXTS, peer="harbour")
    assert set(predicted[:, 1].tolist()) <= set(mean.shares)
    assert model.operating_point_ == before
    assert model.predict_proba(TEXTS[:1]).shape == (1, 2)


def test_labels_of_many_sealed_classes_mean_what_the_joint_table_counted() -> None:
    model = toy(rare="leave out").fit(federation("diagnosis"))
    evaluation = model.evaluate()
    found, said = model.predict_proba(TEXTS), model.predict(TEXTS)
    assert found.shape == (3, len(evaluation.labels.names)) > (3, 2)
    assert np.allclose(found.sum(axis=1), 1)
    names = evaluation.labels.names
    place = names.index(said[0])
    column = evaluation.filled[:, place]
    assert abs(found[0, place] - column[place] / column.sum()) < 1 / column.sum()
    assert model.predict_proba([]).shape == (0, len(names))


def test_a_label_that_was_never_given_is_likelier_than_its_share() -> None:
    labels = Labels(("a", "b", "c"))
    counts = np.array([[30, 0, 0], [10, 0, 0], [0, 0, 40]])
    table = Evaluation(labels, counts, counts < 0, 5, PEERS)
    result = from_labels([("a",), ("b",), ("c",)], table)
    assert np.allclose(result.sum(axis=1), 1)
    assert np.allclose(result[0], [(30 + 0.5 + 0.1875) / 41, (10 + 0.0625) / 41, 0.25 / 41])
    assert result[1, 1] == result[1].max() > 0.5
