"""Residues against python integers; both twins of the products under the same tests."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers import limbs, residues
from sottovoce.numbers.residues import PRIMES, Base

BASES = st.integers(1, len(PRIMES)).map(Base)
INTEGERS = st.integers(-(2**62), 2**62)


def planes(base: Base, *shape: int, seed: int = 0) -> residues.Planes:
    return base.draw(SeededEntropy(seed), *shape)


def test_the_primes_are_the_seven_largest_of_21_bits() -> None:
    def is_prime(number: int) -> bool:
        return all(number % other for other in range(3, math.isqrt(number) + 1, 2))

    odd = range(2**21 - 1, PRIMES[-1] - 1, -2)
    assert tuple(number for number in odd if is_prime(number)) == PRIMES
    assert 2**146 < Base().modulus < 2**147


@given(base=BASES, values=st.lists(INTEGERS, max_size=9))
def test_integers_come_back_from_their_residues(base: Base, values: list[int]) -> None:
    wanted = [value % base.modulus for value in values]
    narrow = base.of(np.array(values, np.int64))
    wide = base.of(np.array(values, object))
    assert (narrow == wide).all()
    assert base.integers(narrow).tolist() == wanted
    half = base.modulus // 2
    assert base.signed(narrow).tolist() == [
        value - base.modulus if value > half else value for value in wanted
    ]


@given(base=BASES, a=st.lists(INTEGERS, min_size=3, max_size=3), factor=INTEGERS, data=st.data())
def test_sums_and_products_are_those_of_the_integers(
    base: Base, a: list[int], factor: int, data: st.DataObject
) -> None:
    b = data.draw(st.lists(INTEGERS, min_size=3, max_size=3))
    left, right = base.of(np.array(a)), base.of(np.array(b))
    pairs = list(zip(a, b, strict=True))
    m = base.modulus
    assert base.integers(base.add(left, right)).tolist() == [(x + y) % m for x, y in pairs]
    assert base.integers(base.subtract(left, right)).tolist() == [(x - y) % m for x, y in pairs]
    assert base.integers(base.times(left, right)).tolist() == [x * y % m for x, y in pairs]
    assert base.integers(base.scale(left, factor)).tolist() == [x * factor % m for x in a]
    combined = base.combine([left, right], [factor, -3])
    assert base.integers(combined).tolist() == [(factor * x - 3 * y) % m for x, y in pairs]
    assert base.integers(base.total(left, axis=0)) == sum(a) % m


@pytest.mark.parametrize("twin", [residues.PLAIN, residues.FAST])
@given(base=BASES, rows=st.integers(1, 280), depth=st.integers(1, 9), columns=st.integers(1, 4))
def test_matrix_products_equal_those_of_python_integers(
    twin: Any, base: Base, rows: int, depth: int, columns: int
) -> None:
    left = planes(base, rows, depth)
    right = planes(base, depth, columns, seed=1)
    exact = base.integers(left) @ base.integers(right) % base.modulus
    assert (base.integers(twin.matvec(left, right)) == exact).all()
    assert (residues.Centred.of(left).matvec(right) == twin.matvec(left, right)).all()


@given(base=BASES, side=st.integers(1, 40), columns=st.integers(1, 3))
def test_products_from_a_triangle_equal_those_of_the_whole_matrix(
    base: Base, side: int, columns: int
) -> None:
    whole = planes(base, side, side)
    whole = np.triu(whole) + np.triu(whole, 1).transpose(0, 2, 1)
    right = planes(base, side, columns, seed=1)
    places = np.triu_indices(side)
    packed = np.array(
        [
            residues.centred(plane, prime)[places]
            for plane, prime in zip(whole, PRIMES, strict=False)
        ],
        np.float64,
    )
    product = residues.PackedSymmetric(packed, side).matvec(right)
    assert (product == residues.PLAIN.matvec(whole, right)).all()


@pytest.mark.parametrize("above", [0, 1])
def test_the_largest_residues_of_a_triangle_do_not_round(above: int) -> None:
    side, prime = 8192, PRIMES[0]
    largest = prime // 2 + above
    value = float(residues.centred(np.array([largest], np.uint32), prime)[0])
    packed = np.full((1, side * (side + 1) // 2), value)
    right = np.full((1, side, 1), largest, np.uint32)
    product = residues.PackedSymmetric(packed, side).matvec(right)
    assert (product == side * largest**2 % prime).all()


def test_a_triangle_that_does_not_fit_its_side_is_refused() -> None:
    with pytest.raises(MismatchError, match=r"a side of at most 8192, found \(1, 4\) for 3"):
        residues.PackedSymmetric(np.zeros((1, 4)), 3)


@pytest.mark.parametrize("depth", [8192, 8193, 16385])
@pytest.mark.parametrize("above", [0, 1])
def test_the_largest_residues_do_not_round(depth: int, above: int) -> None:
    largest = np.array([prime // 2 + above for prime in PRIMES], np.uint32)
    left = np.broadcast_to(largest[:, None, None], (len(PRIMES), 2, depth)).copy()
    right = np.broadcast_to(largest[:, None, None], (len(PRIMES), depth, 1)).copy()
    for product in (residues.FAST.matvec(left, right), residues.Centred.of(left).matvec(right)):
        for index, prime in enumerate(PRIMES):
            assert (product[index] == depth * int(largest[index]) ** 2 % prime).all()


def test_draws_reject_what_is_not_below_the_prime() -> None:
    class Scripted(SeededEntropy):
        def __init__(self, words: list[int]) -> None:
            self.words_left = words

        def read(self, count: int) -> bytes:
            now, self.words_left = self.words_left[: count // 4], self.words_left[count // 4 :]
            return np.array(now, "<u4").tobytes()

    prime = PRIMES[0]
    source = Scripted([5, prime, 7, 2**21 - 1, prime + 1, 2**21 + 9, 11])
    assert residues.drawn(source, 4, prime).tolist() == [5, 11, 7, 9]


def test_two_holders_of_a_stream_draw_the_same() -> None:
    base = Base()
    assert (planes(base, 1000, 3) == planes(base, 1000, 3)).all()
    base.check(planes(base, 1000, 3))


@pytest.mark.parametrize("count", [0, 8])
def test_a_base_of_no_or_too_many_primes_is_refused(count: int) -> None:
    with pytest.raises(InputError, match="expected from 1 to 7 primes"):
        Base(count)


def test_what_is_not_an_integer_is_refused() -> None:
    with pytest.raises(InputError, match="expected integers"):
        Base().of(np.array([0.5]))


def test_a_residue_out_of_range_is_refused() -> None:
    bad = planes(Base(2), 4)
    bad[1, 2] = PRIMES[1]
    with pytest.raises(MismatchError, match=f"expected residues below {PRIMES[1]}"):
        Base(2).check(bad)
    with pytest.raises(MismatchError, match="expected 3 planes"):
        Base(3).check(bad)


def test_shapes_that_do_not_multiply_are_refused() -> None:
    with pytest.raises(MismatchError, match="do not multiply"):
        residues.FAST.matvec(planes(Base(2), 3, 4), planes(Base(2), 3, 1))


@given(base=BASES, data=st.data(), shift=st.integers(0, 150))
def test_limbs_are_the_integers_of_the_residues(
    base: Base, data: st.DataObject, shift: int
) -> None:
    edges = st.sampled_from([0, 1, base.modulus - 1, base.modulus // 2])
    values = data.draw(st.lists(edges | st.integers(0, base.modulus - 1), min_size=1, max_size=5))
    result = limbs.from_residues(base.of(np.array(values, object)), base)
    whole = [
        sum(int(limb[i]) << 32 * k for k, limb in enumerate(result)) for i in range(len(values))
    ]
    assert whole == values
    shifted = limbs.shifted_right(result, shift)
    again = limbs.to_residues(shifted, base)
    assert base.integers(again).tolist() == [(value >> shift) % base.modulus for value in values]
    width = min(shift, 32 * len(result))
    bits = limbs.low_bits(result, width)
    assert [sum(int(bits[j, i]) << j for j in range(width)) for i in range(len(values))] == [
        value % 2**width for value in values
    ]
    bound = data.draw(st.sampled_from(values) | st.integers(0, 2 * base.modulus))
    assert limbs.below(result, bound).tolist() == [value < bound for value in values]


@given(bits=st.integers(1, 200))
def test_drawn_integers_fill_their_bits(bits: int) -> None:
    drawn = limbs.drawn_below(SeededEntropy(3), bits, (400,))
    whole = [sum(int(limb[i]) << 32 * k for k, limb in enumerate(drawn)) for i in range(400)]
    assert max(whole) < 2**bits
    assert max(whole).bit_length() == bits


def test_too_many_limbs_are_refused() -> None:
    with pytest.raises(BoundError, match="at most 8"):
        limbs.to_residues(np.zeros((9, 1), np.uint64), Base())
