"""The scores of a site's own model: who scores which document, and how long they may be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.text.blocks import GRID_BITS, Blocks
from sottovoce.text.dictionary.dictionaries import GivenDictionary
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader, FeatureSpace
from sottovoce.text.own_scores import FOLDS, OwnScores, folds_of

DOCUMENTS = [Document(f"severe pain note{number}") for number in range(40)]
WORDS = GivenDictionary(("pain", "severe"))
BESIDE = Blocks(own_weight=0.5).of_scores(3)


def scores(seed: int = 1, size: float = 1.0) -> OwnScores:
    columns = FeatureSpace(WORDS, blocks=BESIDE).wide.width
    return OwnScores.of(np.random.default_rng(seed).normal(size=(FOLDS, columns, 3)) * size)


def space(own: OwnScores | None) -> FeatureSpace:
    return FeatureSpace(WORDS, blocks=BESIDE, own=own)


def test_copies_and_documents_of_a_group_are_in_one_fold() -> None:
    folds = folds_of(DOCUMENTS)
    assert set(folds.tolist()) == set(range(FOLDS))
    assert folds_of([Document(f"  {each.text}\n") for each in DOCUMENTS]).tolist() == folds.tolist()
    grouped = folds_of([Document(each.text, group="patient 7") for each in DOCUMENTS])
    assert len(set(grouped.tolist())) == 1


@given(seed=st.integers(0, 1000), size=st.sampled_from((0.01, 0.5, 1.0, 30.0)))
def test_a_row_is_never_longer_than_its_bound(seed: int, size: float) -> None:
    rows = FeatureReader(space(scores(seed, size))).read(DOCUMENTS)
    units = rows.further
    assert (np.linalg.norm(units, axis=1) <= 1 << GRID_BITS).all()
    assert (np.abs(units).sum(axis=1) <= BESIDE.reach).all()
    assert ((rows.unit().toarray()[:, 2:-1] ** 2).sum(axis=1) <= BESIDE.square).all()


def test_rows_to_train_with_and_to_score_with_have_the_same_scores() -> None:
    mine = space(scores())
    rows = FeatureReader(mine).read(DOCUMENTS)
    assert rows.further.any()
    folded = rows.integers().toarray() * mine.factors / (rows.rounded_norms[:, np.newaxis] / 16)
    np.testing.assert_allclose(folded[:, 2:-1], rows.unit().toarray()[:, 2:-1], atol=1e-12)


def test_a_document_is_scored_by_the_model_of_its_fold_alone() -> None:
    weights, fold = scores().weights.copy(), folds_of(DOCUMENTS)
    before = FeatureReader(space(OwnScores(weights))).read(DOCUMENTS).further
    other = weights.copy()
    other[2] = 0
    after = FeatureReader(space(OwnScores(other))).read(DOCUMENTS).further
    assert not after[fold == 2].any()
    assert after[fold != 2].tolist() == before[fold != 2].tolist()


def test_without_a_model_the_columns_are_zero() -> None:
    assert not FeatureReader(space(None)).read(DOCUMENTS).further.any()
    assert FeatureReader(space(None)).read(DOCUMENTS).further.shape == (40, 3)


def test_weights_are_exact_as_numbers_of_16_bits() -> None:
    weights = scores().weights
    assert weights.astype(np.float16).astype(np.float32).tobytes() == weights.tobytes()
    assert scores().digest == OwnScores(weights).digest != scores(2).digest
    assert space(scores()).name != space(None).name
    assert space(scores()).fingerprint == space(None).fingerprint


@pytest.mark.parametrize("weight", [0.3, 8.0, -1.0])
def test_a_weight_that_is_no_power_of_two_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"expected own_weight of 4, 2, 1, 0.5"):
        Blocks(own_weight=weight)
