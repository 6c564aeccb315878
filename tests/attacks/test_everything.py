"""`attack_everything` finds what a view exposes, however it was sent, and nothing in noise."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from harness.entropy import SeededEntropy
from harness.examples.exposed_notes import Victim, victim
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.readings import readings
from sottovoce.attacks.recovered import score
from sottovoce.numbers.residues import Base
from sottovoce.rados import Moments, Part, RandomSignatures, rados, random_rados
from sottovoce.wire import Residues
from sottovoce.wire.values import Integers, Words

MODULUS = (1 << 521) - 1


class Envelope(msgspec.Struct, frozen=True):
    number: int
    content: Words | Integers


@pytest.fixture(scope="module")
def notes() -> Victim:
    return victim(40)


@pytest.fixture(scope="module")
def seen(notes: Victim) -> NDArray[np.int64]:
    part = Part.of(notes.counts, notes.labels)
    return random_rados(part, count=64, rng=np.random.default_rng(0)).astype(np.int64)


@pytest.fixture(scope="module")
def second(notes: Victim) -> NDArray[np.int64]:
    return Moments.of(notes.counts, notes.labels).second.astype(np.int64)


def uniform(*shape: int, seed: int = 0) -> NDArray[np.uint64]:
    return SeededEntropy(seed).words(*shape)


def plaintexts(count: int, *, seed: int) -> list[int]:
    entropy = SeededEntropy(seed)
    return [entropy.below(MODULUS) for _ in range(count)]


def big(array: NDArray[np.int64], modulus: int) -> NDArray[Any]:
    return np.array([int(v) % modulus for v in array.ravel()], dtype=object).reshape(array.shape)


WAYS: dict[str, Callable[[NDArray[np.int64]], list[Any]]] = {
    "as integers": lambda m: [m],
    "as floats": lambda m: [m / 64],
    "transposed": lambda m: [m.T],
    "as nested lists": lambda m: [m.tolist()],
    "one row at a time": list,
    "one row at a time, as columns": lambda m: [row[:, np.newaxis] for row in m],
    "mod 2^64": lambda m: [m.astype(np.uint64)],
    "in fixed point mod 2^64": lambda m: [(m * 2**20).astype(np.uint64)],
    "mod N": lambda m: [big(m, MODULUS)],
    "as two shares": lambda m: [m.astype(np.uint64) - uniform(*m.shape), uniform(*m.shape)],
    "as mask and masked value": lambda m: [
        uniform(*m.shape),
        m.astype(np.uint64) + uniform(*m.shape),
    ],
    "as a stack": lambda m: [m.reshape(8, 8, -1)],
    "as a message of words": lambda m: [Envelope(1, Words.of(m.astype(np.uint64)))],
    "as messages of residues": lambda m: [
        Envelope(number, Integers.of([int(v) % MODULUS for v in row], modulus=MODULUS))
        for number, row in enumerate(m)
    ],
    "as a sparse matrix": lambda m: [sparse.csr_array(m)],
    "within a ragged message": lambda m: [{"round": [3, [m, "text", None]]}],
}


@pytest.mark.parametrize("way", WAYS)
def test_rados_are_found_however_they_were_sent(
    notes: Victim, seen: NDArray[np.int64], way: str
) -> None:
    report = attack_everything(WAYS[way](seen), modulus=MODULUS)
    result = score(report.documents, notes.counts, notes.labels)
    assert result.matched >= 37
    assert result.recall > 0.9


MOMENT_WAYS: dict[str, Callable[[NDArray[np.int64]], list[Any]]] = {
    "whole": lambda m: [m],
    "flat": lambda m: [m.ravel()],
    "upper triangle": lambda m: [m[np.triu_indices(len(m))]],
    "lower triangle": lambda m: [m[np.tril_indices(len(m))]],
    "upper triangle mod N": lambda m: [big(m[np.triu_indices(len(m))], MODULUS)],
    "two shares": lambda m: [m.astype(np.uint64) - uniform(*m.shape), uniform(*m.shape)],
}
LONG_WAYS = {"upper triangle mod N", "two shares"}


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, marks=pytest.mark.soak if way in LONG_WAYS else ()) for way in MOMENT_WAYS],
)
def test_moments_are_found_however_they_were_sent(
    notes: Victim, second: NDArray[np.int64], way: str
) -> None:
    products = Moments.of(notes.counts, notes.labels).products
    report = attack_everything([*MOMENT_WAYS[way](second), products], modulus=MODULUS)
    result = score(report.documents, notes.counts, notes.labels)
    assert result.word_for_word >= 38
    assert result.labels_right >= 38
    assert "second moment" in {attempt.attack for attempt in report.attempts if attempt.documents}


def test_what_was_seen_is_not_changed(seen: NDArray[np.int64], second: NDArray[np.int64]) -> None:
    view = [seen.astype(np.float64), np.asfortranarray(seen.astype(np.float64)), second / 4]
    before = [array.copy() for array in view]
    for array in view:
        array.setflags(write=False)
    assert attack_everything(view).documents
    for array, copy in zip(view, before, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_documents_in_the_clear_and_known_signatures_are_found(notes: Victim) -> None:
    result = score(
        attack_everything([notes.counts.toarray()]).documents, notes.counts, notes.labels
    )
    assert result.word_for_word == 40
    signatures = RandomSignatures.draw(44, 40, rng=np.random.default_rng(1))
    part = Part.of(notes.counts, notes.labels)
    view = [signatures.whole(), rados(part, signatures)]
    results = {attempt.attack for attempt in attack_everything(view).attempts if attempt.documents}
    assert "known signatures" in results


NOISE: dict[str, Callable[[int], Any]] = {
    "words": lambda seed: uniform(90, 700, seed=seed),
    "square words": lambda seed: uniform(120, 120, seed=seed),
    "plaintexts": lambda seed: plaintexts(300, seed=seed),
    "floats": lambda seed: np.random.default_rng(seed).normal(size=(100, 200)),
    "bits": lambda seed: uniform(90, 200, seed=seed) & np.uint64(1),
    "signs": lambda seed: np.where(uniform(90, 60, seed=seed) & np.uint64(1), 1, -1),
    "symmetric": lambda seed: uniform(90, 90, seed=seed) + uniform(90, 90, seed=seed).T,
    "a triangle": lambda seed: uniform(100 * 101 // 2, seed=seed),
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_gives_nothing(notes: Victim, kind: str) -> None:
    report = attack_everything([NOISE[kind](seed) for seed in range(3)], modulus=MODULUS)
    assert len(report.attempts) > 0
    assert report.documents == ()
    assert report.left_out == ()


def test_one_share_and_one_masked_value_give_nothing(
    seen: NDArray[np.int64], second: NDArray[np.int64]
) -> None:
    view = [
        seen.astype(np.uint64) - uniform(*seen.shape, seed=1),
        second.astype(np.uint64) - uniform(*second.shape, seed=2),
        [
            (int(value) + mask) % MODULUS
            for value, mask in zip(seen[0], plaintexts(len(seen[0]), seed=3), strict=True)
        ],
    ]
    assert attack_everything(view, modulus=MODULUS).documents == ()


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**200, max_value=2**5000)
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=2), inner),
    max_leaves=60,
)


@given(st.lists(ODD, max_size=6))
def test_it_never_raises_on_what_a_view_may_hold(view: list[Any]) -> None:
    attack_everything(view, modulus=MODULUS)


@pytest.mark.parametrize(
    "item",
    [
        np.zeros((0, 5)),
        np.zeros((5, 0)),
        np.zeros((40, 40)),
        np.ones((40, 40)),
        np.eye(40),
        np.array(5),
        np.full((20, 20), np.nan),
        np.full((20, 20), np.inf),
        np.full(6, 1e308),
        np.array([["a", "b"]]),
        np.array([2**4000, -(2**4000)], dtype=object),
        [[1, 2], [3]],
        object(),
    ],
    ids=lambda item: type(item).__name__,
)
def test_it_never_raises_on_odd_arrays(item: Any) -> None:
    assert attack_everything([item, item], modulus=MODULUS).documents == ()


def test_arrays_too_large_to_try_are_named() -> None:
    huge = np.broadcast_to(np.float64(1.0), (2**14, 2**13))
    report = attack_everything([huge])
    assert report.left_out == ("as numbers, shape (16384, 8192)",)


def test_residues_are_read_as_the_integers_that_they_stand_for() -> None:
    values = np.array([[3, -5], [2**40, 0]])
    (reading,) = readings(Residues.of(Base().of(values)))
    assert np.array_equal(reading.values, values)
