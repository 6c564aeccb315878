"""Every attack succeeds on exposed rados, moments and blocks of notes: nobody may see these."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.examples.exposed_notes import Victim, victim
from sottovoce.attacks.blocks import attack_blocks
from sottovoce.attacks.exposure import ExposedBlocks, ExposedMoments, ExposedRados
from sottovoce.attacks.known_signatures import attack_known_signatures
from sottovoce.attacks.recovered import score
from sottovoce.attacks.second_moments import attack_moments
from sottovoce.attacks.unknown_signatures import attack_unknown_signatures
from sottovoce.datasets import load_ionosphere
from sottovoce.errors import InputError, MismatchError
from sottovoce.rados import (
    BlockSums,
    Moments,
    Part,
    RadoMoments,
    RandomSignatures,
    deal,
    rados,
    random_rados,
    united_rados,
)


@pytest.fixture(scope="module")
def notes() -> Victim:
    return victim(200)


def test_known_signatures_and_one_rado_more_than_documents_give_everything(notes: Victim) -> None:
    signatures = RandomSignatures.draw(201, 200, rng=np.random.default_rng(0))
    seen = rados(Part.of(notes.counts, notes.labels), signatures)
    recovered = attack_known_signatures(ExposedRados.of(seen, signatures.whole()))
    result = score(recovered, notes.counts, notes.labels)
    assert result.word_for_word == 200
    assert result.labels_right == 200
    assert result.precision == result.recall == 1


@pytest.mark.soak
def test_known_signatures_give_dense_tables_too() -> None:
    table = load_ionosphere()
    signatures = RandomSignatures.draw(400, len(table), rng=np.random.default_rng(1))
    seen = rados(Part.of(table.X, table.y), signatures)
    recovered = attack_known_signatures(ExposedRados.of(seen, signatures.whole()))
    result = score(recovered, table.X, table.y)
    # A few rows of the table are nearly empty or occur twice, and are not told.
    assert result.word_for_word >= 340
    # With 34 numbers for 351 rows the labels are not determined.
    assert all(document.label is None for document in recovered)


def test_too_few_known_signatures_give_nothing(notes: Victim) -> None:
    signatures = RandomSignatures.draw(200, 200, rng=np.random.default_rng(0))
    seen = rados(Part.of(notes.counts, notes.labels), signatures)
    assert attack_known_signatures(ExposedRados.of(seen, signatures.whole())) == ()
    assert attack_known_signatures(ExposedRados.of(seen)) == ()


@pytest.mark.parametrize("kind", ["counts", "unit_rows"])
def test_unknown_signatures_do_not_protect_sparse_text(notes: Victim, kind: str) -> None:
    rows = getattr(notes, kind)
    rng = np.random.default_rng(2)
    seen = random_rados(Part.of(rows, notes.labels), count=250, rng=rng)
    result = score(attack_unknown_signatures(ExposedRados.of(seen)), rows, notes.labels)
    assert result.matched >= 195
    assert result.word_for_word >= 190
    assert result.labels_right == result.matched
    assert result.precision > 0.99
    assert result.recall > 0.97


def test_rados_of_several_peers_are_no_better(notes: Victim) -> None:
    rng = np.random.default_rng(3)
    parts = deal(notes.unit_rows, notes.labels, peers=4, rng=rng)
    seen = united_rados(parts, count=300, rng=rng)
    result = score(attack_unknown_signatures(ExposedRados.of(seen)), notes.unit_rows, notes.labels)
    assert result.word_for_word >= 190


def test_fewer_rados_than_documents_still_give_the_rare_words(notes: Victim) -> None:
    seen = random_rados(
        Part.of(notes.counts, notes.labels), count=100, rng=np.random.default_rng(4)
    )
    result = score(attack_unknown_signatures(ExposedRados.of(seen)), notes.counts, notes.labels)
    assert result.matched >= 180
    assert result.precision > 0.99
    assert 0.25 < result.recall < 0.6


def test_the_scale_of_rados_does_not_matter(notes: Victim) -> None:
    seen = random_rados(
        Part.of(notes.counts, notes.labels), count=250, rng=np.random.default_rng(5)
    )
    fixed_point = np.round(seen / 200 * 2**20)
    result = score(
        attack_unknown_signatures(ExposedRados.of(fixed_point)), notes.counts, notes.labels
    )
    assert result.matched >= 150


@pytest.mark.parametrize("kind", ["counts", "unit_rows"])
def test_a_second_moment_comes_apart_into_its_documents(notes: Victim, kind: str) -> None:
    rows = getattr(notes, kind)
    moments = RadoMoments.exact(Moments.of(rows, notes.labels))
    recovered = attack_moments(ExposedMoments.of(moments.covariance, moments.mean))
    result = score(recovered, rows, notes.labels)
    assert result.word_for_word >= 195
    assert result.labels_right >= 195
    assert result.precision > 0.99


def test_a_known_penalty_and_a_missing_mean_change_nothing_but_labels(notes: Victim) -> None:
    second = Moments.of(notes.counts, notes.labels).second + 30 * np.eye(notes.counts.shape[1])
    recovered = attack_moments(ExposedMoments.of(second, penalty=30))
    result = score(recovered, notes.counts, notes.labels)
    assert result.word_for_word >= 195
    assert result.labels_right == 0


@pytest.mark.soak
def test_pruning_rare_words_does_not_save_a_second_moment() -> None:
    pruned = victim(150, least=3)
    rows = pruned.unit_rows
    moments = RadoMoments.exact(Moments.of(rows, pruned.labels))
    recovered = attack_moments(ExposedMoments.of(moments.covariance, moments.mean))
    result = score(recovered, rows, pruned.labels)
    assert result.matched >= 135
    assert result.labels_right >= 125
    assert result.precision > 0.9
    assert result.recall > 0.8


def test_a_block_of_one_row_is_that_row_and_a_minimum_size_saves_it(notes: Victim) -> None:
    rng = np.random.default_rng(6)
    shared = rng.integers(0, 10, size=(200, 2)).astype(float)
    blocks = BlockSums.of(shared, notes.counts, notes.labels, minimum=1)
    alone = int((blocks.counts == 1).sum())
    assert alone > 50
    recovered = attack_blocks(ExposedBlocks.of(blocks.sums, blocks.counts))
    result = score(recovered, notes.counts, notes.labels)
    assert result.word_for_word == result.labels_right == alone
    assert result.precision == 1
    guessed = score(attack_blocks(ExposedBlocks.of(blocks.sums)), notes.counts, notes.labels)
    assert guessed.word_for_word >= alone
    kept = BlockSums.of(shared, notes.counts, notes.labels, minimum=3)
    assert attack_blocks(ExposedBlocks.of(kept.sums, kept.counts)) == ()


@given(st.integers(0, 2**32), st.sampled_from(["uniform", "signs", "bits", "normal"]))
def test_noise_gives_nothing(seed: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    rows = {
        "uniform": lambda: rng.integers(0, 2**64, size=(60, 80), dtype=np.uint64).astype(float),
        "signs": lambda: rng.choice([-1.0, 1.0], size=(60, 80)),
        "bits": lambda: rng.integers(0, 2, size=(60, 80)).astype(float),
        "normal": lambda: rng.normal(size=(60, 80)),
    }[kind]()
    signs = rng.choice([-1.0, 1.0], size=(60, 20))
    assert attack_unknown_signatures(ExposedRados.of(rows)) == ()
    assert attack_known_signatures(ExposedRados.of(rows, signs)) == ()
    square = rows @ rows.T if kind == "normal" else rows[:, :60]
    assert attack_moments(ExposedMoments.of(square)) == ()
    assert attack_blocks(ExposedBlocks.of(rows)) == ()


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(MismatchError, match="expected one for each of 3 rados, found 2"):
        ExposedRados.of(np.ones((3, 4)), np.ones((2, 5)))
    with pytest.raises(MismatchError, match=r"a square matrix, found \(3, 4\)"):
        ExposedMoments.of(np.ones((3, 4)))
    with pytest.raises(MismatchError, match="mean: expected 3 numbers, found 4"):
        ExposedMoments.of(np.eye(3), np.ones(4))
    with pytest.raises(MismatchError, match="one for each of 3 blocks"):
        ExposedBlocks.of(np.ones((3, 4)), np.ones(2))
    with pytest.raises(InputError, match="rados: expected finite numbers"):
        ExposedRados.of(np.full((3, 4), np.nan))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1), (20, 1), (1, 20)])
def test_empty_and_tiny_matrices_give_nothing(shape: tuple[int, int]) -> None:
    rows = np.zeros(shape)
    assert attack_unknown_signatures(ExposedRados.of(rows)) == ()
    assert attack_blocks(ExposedBlocks.of(rows)) == ()
    side = min(shape)
    assert attack_moments(ExposedMoments.of(np.zeros((side, side)))) == ()
