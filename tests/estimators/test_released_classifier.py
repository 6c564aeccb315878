"""A released model from a file: the same labels without the study, and no other file."""

from pathlib import Path

import numpy as np
import pytest

from harness.consent import ANYTHING
from sottovoce import LocalFederation, ReleasedClassifier
from sottovoce.errors import DamagedFileError, KeyFileError, MismatchError, MisuseError
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.keyfiles import released_models
from sottovoce.keyfiles.released_models import ReleasedModel, write_released
from sottovoce.study import InsecureToyPlan
from sottovoce.text.columns import ROW, Numeric
from sottovoce.text.dictionary.dictionaries import GivenDictionary
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labels import Labels


class ToyTextClassifier(TextClassifier):
    _plan_type = InsecureToyPlan


TEXTS = [f"{word} seen {letter}" for word in ("heart", "bone") for letter in "abcdefghijkl"]
LABELS = [1] * 12 + [0] * 12
PARTS = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))


def fitted(**settings: object) -> ToyTextClassifier:
    toy = {"release": "peers", "key_bits": 768, "held_out": 0.0, "features": 32, **settings}
    return ToyTextClassifier(**toy).fit(LocalFederation(PARTS, policy=ANYTHING))


@pytest.fixture(scope="module")
def model() -> ToyTextClassifier:
    return fitted(tail=64, kernel=32, operating_point=0.1)


@pytest.fixture
def path(model: ToyTextClassifier, tmp_path: Path) -> Path:
    model.export(tmp_path / "model.json", peer="bob")
    return tmp_path / "model.json"


def test_a_file_gives_the_labels_that_the_study_gives(model: ToyTextClassifier, path: Path) -> None:
    alone = ReleasedClassifier.load(path)
    asked = [*TEXTS, "heart and bone", "", "somebody's heart"]
    assert alone.predict(asked).tolist() == model.predict(asked).tolist()
    assert np.array_equal(alone.decision_function(asked), model.decision_function(asked))
    assert alone.classes_.tolist() == [0, 1]
    assert alone.score(TEXTS, LABELS) == 1.0
    assert path.stat().st_mode & 0o077 == 0
    with pytest.raises(MisuseError, match="not fitted again"):
        alone.fit(TEXTS, LABELS)


def test_sentences_and_several_labels(tmp_path: Path) -> None:
    model = fitted(level="sentence")
    model.export(tmp_path / "model")
    asked = ["heart seen. bone seen.", ""]
    assert ReleasedClassifier.load(tmp_path / "model").predict(asked) == model.predict(asked)


def test_a_model_of_a_table_labels_tables(tmp_path: Path) -> None:
    values = np.random.default_rng(1).integers(-4, 5, (60, 2)) / 4
    labels = np.where(values[:, 0] > values[:, 1], "up", "down")
    space = FeatureSpace(
        GivenDictionary((ROW,)), columns=(Numeric("x1", -1.0, 1.0), Numeric("x2", -1.0, 1.0))
    )
    weights = np.array([[0.0], [1.0], [-1.0], [0.0]])
    names = Labels(("down", "up"))
    model = ReleasedModel("a table", names, names.names, space, PUBLIC, weights)
    write_released(tmp_path / "model.json", model)
    alone = ReleasedClassifier.load(tmp_path / "model.json")
    apart = values[:, 0] != values[:, 1]
    assert alone.predict(values[apart]).tolist() == labels[apart].tolist()
    with pytest.raises(MismatchError, match="expected 2 columns, found 3"):
        alone.predict(np.zeros((2, 3)))


def test_sealed_weights_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="export: nobody knows the weights"):
        fitted(release="sealed").export(tmp_path / "model")


def test_other_files_are_refused_by_name(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = path.read_bytes()
    for content, error, says in (
        (b"text,label\n", KeyFileError, "found another file"),
        (data.replace(b"version 1", b"version 9", 1), KeyFileError, "found another version"),
        (data[:-3], DamagedFileError, "its SHA-256 is another"),
        (data.replace(b'"exclusive":true', b'"exclusive":True'), DamagedFileError, "SHA-256"),
    ):
        path.write_bytes(content)
        with pytest.raises(error, match=says):
            ReleasedClassifier.load(path)
    path.write_bytes(data)
    path.chmod(0o644)
    with pytest.raises(KeyFileError):
        ReleasedClassifier.load(path)
    path.chmod(0o600)
    monkeypatch.setattr(released_models.FeatureSpace, "fingerprint", "other", raising=True)
    with pytest.raises(MismatchError, match="text is read in another way here"):
        ReleasedClassifier.load(path)
