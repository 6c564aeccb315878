"""Words mod 2^64 against python integers; every twin of the products under the same tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.entropy import SeededEntropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers import ring
from sottovoce.numbers.fixed import Scale


@dataclass(frozen=True)
class AlwaysLimbs:
    """The limb product whatever the size, in blocks so small that all their edges are met."""

    def matvec(self, matrix: ring.Words, vector: ring.Words) -> ring.Words:
        columns = vector if vector.ndim == 2 else vector[:, None]
        product = self.matmul(matrix, columns)
        return product if vector.ndim == 2 else product[:, 0]

    def matmul(self, left: ring.Words, right: ring.Words) -> ring.Words:
        return ring._limb_product(left, right, ring._Blocks(rows=3, columns=2, depth=4))


TWINS = [ring.NUMPY, ring.LIMBS, ring.LimbProducts(threads=3), AlwaysLimbs()]
EDGES = [0, 1, 2**21 - 1, 2**21, 2**22, 2**44, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
WORDS = st.sampled_from(EDGES) | st.integers(0, 2**64 - 1)


def words(*shape: int, seed: int = 0) -> ring.Words:
    return SeededEntropy(seed).words(*shape)


def ideal(left: ring.Words, right: ring.Words) -> list[list[int]]:
    product = left.astype(object) @ right.astype(object)
    return (product % 2**64).tolist()


@pytest.mark.parametrize("twin", TWINS)
@given(data=st.data(), rows=st.integers(1, 7), depth=st.integers(1, 9), columns=st.integers(1, 5))
def test_products_equal_those_of_python_integers(
    twin: Any, data: st.DataObject, rows: int, depth: int, columns: int
) -> None:
    left = data.draw(hnp.arrays(np.uint64, (rows, depth), elements=WORDS))
    right = data.draw(hnp.arrays(np.uint64, (depth, columns), elements=WORDS))
    wanted = ideal(left, right)
    assert twin.matmul(left, right).tolist() == wanted
    assert twin.matvec(left, right).tolist() == wanted
    assert twin.matvec(left, right[:, 0]).tolist() == [row[0] for row in wanted]
    assert twin.matmul(right.T, left.T).tolist() == np.array(wanted, dtype=object).T.tolist()


@pytest.mark.parametrize("shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0)])
@pytest.mark.parametrize("twin", TWINS[:3])
def test_empty_products_are_empty_or_zero(twin: Any, shape: tuple[int, int, int]) -> None:
    rows, depth, columns = shape
    product = twin.matmul(words(rows, depth), words(depth, columns))
    assert product.dtype == np.uint64
    assert np.array_equal(product, np.zeros((rows, columns)))


@pytest.mark.parametrize(
    ("rows", "depth", "columns"),
    [(300, 1025, 90), (257, 2050, 130), (129, 1024, 1030), (1100, 1000, 1), (1100, 1000, 7)],
)
def test_large_products_equal_the_reference_across_block_edges(
    rows: int, depth: int, columns: int
) -> None:
    left, right = words(rows, depth, seed=1), words(depth, columns, seed=2)
    wanted = ring.NUMPY.matmul(left, right)
    assert np.array_equal(ring.matmul(left, right), wanted)
    assert np.array_equal(ring.matvec(left, right, threads=3), wanted)


# The words whose centred limbs are as large as they can be, with every sign.
EXTREME = [
    sum(limb << 22 * i for i, limb in enumerate(limbs))
    for limbs in [(0, 0, 0), (2**22 - 1, 2**22 - 1, 2**20 - 1), (0, 2**22 - 1, 0)]
]


@pytest.mark.parametrize("a", EXTREME)
@pytest.mark.parametrize("b", EXTREME)
def test_limbs_add_up_exactly_at_full_depth_and_full_magnitude(a: int, b: int) -> None:
    left = np.full((64, 2 * ring._DEPTH), a, dtype=np.uint64)
    right = np.full((2 * ring._DEPTH, 64), b, dtype=np.uint64)
    left[0, ::2] ^= np.uint64(1)
    right[1::2, 0] ^= np.uint64(1)
    product = ring._limb_product(left, right)
    assert np.array_equal(product, np.einsum("ij,jk->ik", left, right))
    assert int(product[1, 1]) == 2 * ring._DEPTH * a * b % 2**64


def test_the_depth_is_the_largest_at_which_floats_are_exact() -> None:
    low, middle, high = ring._CENTRES
    assert 2 * ring._DEPTH * low * middle <= 2**53
    assert ring._DEPTH * (middle * middle + 2 * low * high) <= 2**53
    assert ring._CENTRE < 2**64


@pytest.mark.parametrize("twin", TWINS[:3])
def test_operands_that_do_not_multiply_are_refused(twin: Any) -> None:
    for left, right in [((2, 3), (2, 3)), ((2,), (2, 3)), ((2, 3, 1), (3, 1)), ((2, 3), ())]:
        with pytest.raises(MismatchError, match=r"matvec: shapes .* do not multiply"):
            twin.matvec(words(*left), words(*right))
        with pytest.raises(MismatchError, match=r"matmul: shapes .* do not multiply"):
            twin.matmul(words(*left), words(*right))
    for bad in (np.zeros((2, 2)), np.zeros((2, 2), dtype=np.int64), [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match="matmul: expected an array of uint64 words, found"):
            twin.matmul(words(2, 2), bad)  # type: ignore[arg-type]


def test_no_thread_is_too_few() -> None:
    with pytest.raises(InputError, match="products: expected at least 1 thread, found 0"):
        ring.matvec(words(2, 2), words(2), threads=0)


@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=0, min_side=0)))
def test_signed_integers_come_back(values: np.ndarray) -> None:
    there = ring.to_ring(values)
    assert there.dtype == np.uint64
    assert [int(word) for word in there.ravel()] == [int(v) % 2**64 for v in values.ravel()]
    back = ring.from_ring(there)
    assert back.dtype == np.int64
    assert np.array_equal(back, values)


def test_from_ring_and_to_ring_never_share_memory_with_their_input() -> None:
    values = np.array([1, -1])
    there = ring.to_ring(values)
    back = ring.from_ring(there)
    there[0] = 7
    assert values.tolist() == back.tolist() == [1, -1]


def test_integers_that_are_no_signed_words_are_refused() -> None:
    assert ring.to_ring(np.array([-(2**63), 2**63 - 1], dtype=object)).tolist() == [
        2**63,
        2**63 - 1,
    ]
    for over in (2**63, -(2**63) - 1, 2**70):
        with pytest.raises(BoundError, match=f"to_ring: expected magnitudes .*found {over}"):
            ring.to_ring(np.array([0, over], dtype=object))
    for bad in (np.array([1.0]), np.array([1], dtype=np.uint64), np.array([True])):
        with pytest.raises(InputError, match="to_ring: expected signed integers, found dtype"):
            ring.to_ring(bad)
    with pytest.raises(InputError, match="from_ring: expected an array of uint64 words, found int"):
        ring.from_ring(np.array([1]))  # type: ignore[arg-type]


@given(
    hnp.arrays(np.uint64, hnp.array_shapes(min_dims=0, max_dims=3), elements=WORDS),
    st.integers(0, 9),
)
def test_shares_add_up_to_the_values(values: ring.Words, seed: int) -> None:
    entropy = SeededEntropy(seed)
    a, b = ring.share(values, entropy=entropy)
    assert entropy.drawn == 8 * values.size
    assert np.array_equal(ring.reveal(a, b), values)
    # The first share is the entropy itself, the second differs from it by the values alone.
    assert np.array_equal(a, SeededEntropy(seed).words(*values.shape))


def test_each_share_alone_is_uniform_whatever_the_values() -> None:
    for constant in (0, 2**64 - 1):
        for part in ring.share(np.full(20_000, constant, dtype=np.uint64), SeededEntropy(5)):
            ones = np.unpackbits(part.view(np.uint8)).reshape(-1, 64).mean(axis=0)
            # 64 bit places, 20,000 draws each: six standard deviations.
            assert np.all(np.abs(ones - 0.5) < 6 * 0.5 / 20_000**0.5)


def test_shares_of_different_shape_are_not_revealed() -> None:
    with pytest.raises(MismatchError, match=r"reveal: shares of shape \(2,\) and \(3,\)"):
        ring.reveal(words(2), words(3))
    with pytest.raises(InputError, match="share: expected an array of uint64 words, found float64"):
        ring.share(np.zeros(3), SeededEntropy())  # type: ignore[arg-type]


@given(st.lists(st.floats(-4, 4), max_size=6), st.integers(0, 59))
def test_real_numbers_survive_sharing(values: list[float], f: int) -> None:
    scale = Scale.covering(4.0, fraction_bits=f)
    a, b = ring.share(ring.encode(values, scale), SeededEntropy())
    back = ring.decode(ring.reveal(a, b), scale)
    assert np.all(np.abs(back - np.array(values)) <= 2.0 ** -(f + 1))


def test_a_scale_that_truncation_could_not_bear_is_refused() -> None:
    assert ring.encode([1.0], Scale(0, 2**62 - 1)).tolist() == [1]
    with pytest.raises(BoundError, match="ring encode: needs magnitudes up to 4611686018427387904"):
        ring.encode([1.0], Scale(0, 2**62))
    with pytest.raises(BoundError, match="ring decode: needs magnitudes"):
        ring.decode(words(1), Scale(0, 2**62))
    with pytest.raises(BoundError, match="decode: expected magnitudes up to 5"):
        ring.decode(np.array([2**64 - 6], dtype=np.uint64), Scale(0, 5))


def test_a_wrong_share_is_over_the_bound() -> None:
    scale = Scale.covering(1.0, fraction_bits=20)
    a, b = ring.share(ring.encode([0.5] * 8, scale), SeededEntropy())
    with pytest.raises(BoundError, match="decode: expected magnitudes up to 1048576"):
        ring.decode(ring.reveal(a, b[::-1].copy()), scale)
