"""Chains of products modulo N² on two halves give what whole numbers give."""

from dataclasses import replace
from math import prod

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numbers.halves import FEWEST_BITS, halves
from sottovoce.numbers.multiexp import (
    BaseTables,
    FixedBase,
    ModularRing,
    _by_planes,
    combine_sparse,
    join_shifted,
)

# A square of a large number, and one that is too small for halves unless it is told.
LARGE = gmpy2.mpz(2**1279 - 1)
SMALL = gmpy2.mpz(2**61 - 1)
NUMBERS = st.integers(0, int(SMALL) ** 2 - 1).map(gmpy2.mpz)


def ring_of(root: int) -> ModularRing:
    return replace(ModularRing.modulo(root * root), root=root)


def bases_of(ring: ModularRing, count: int) -> list[int]:
    return [gmpy2.powmod(7, 3**400 + 5 * k, ring.modulus) for k in range(count)]


def naive(bases: list[int], exponents: list[int], ring: ModularRing) -> int:
    powers = (gmpy2.powmod(b, e, ring.modulus) for b, e in zip(bases, exponents, strict=True))
    return prod(powers) % ring.modulus


@given(NUMBERS, NUMBERS)
def test_products_and_squares_are_those_of_whole_numbers(left: int, right: int) -> None:
    chain, modulus = halves(SMALL), SMALL * SMALL
    assert chain.leave(chain.enter(left)) == left
    assert chain.leave(chain.times(chain.enter(left), chain.enter(right))) == left * right % modulus
    low, high = chain.square(chain.enter(left))
    assert chain.leave((low, high)) == left * left % modulus
    assert 0 <= low < SMALL
    assert 0 <= high < SMALL


@pytest.mark.parametrize("number", [0, 1, SMALL - 1, SMALL, SMALL + 1, SMALL * SMALL - 1])
def test_the_extremes(number: int) -> None:
    chain = halves(SMALL)
    entered = chain.enter(gmpy2.mpz(number))
    assert chain.leave(chain.square(entered)) == number * number % (SMALL * SMALL)
    assert chain.leave(chain.times(entered, entered)) == number * number % (SMALL * SMALL)


def test_squares_of_large_numbers_alone_are_split() -> None:
    assert ModularRing.modulo(LARGE * LARGE).root == LARGE
    assert ModularRing.modulo(LARGE * LARGE + 2).root is None
    assert ModularRing.modulo(SMALL * SMALL).root is None
    smallest = gmpy2.mpz(2) ** (FEWEST_BITS - 1) + 1
    assert ModularRing.modulo(smallest * smallest).root == smallest


@given(st.lists(st.integers(0, 2**40 - 1), max_size=6))
def test_powers_of_one_base(exponents: list[int]) -> None:
    ring = ring_of(SMALL)
    (base,) = bases_of(ring, 1)
    result = FixedBase(base, ring, exponent_bits=40)(exponents)
    assert result == [gmpy2.powmod(base, exponent, ring.modulus) for exponent in exponents]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=7))
def test_sparse_rows_of_either_sign(terms: list[tuple[int, int]]) -> None:
    ring = ring_of(SMALL)
    bases = bases_of(ring, 5)
    indices, exponents = [i for i, _ in terms], [e for _, e in terms]
    (combined,) = combine_sparse(bases, [(indices, exponents)], ring)
    assert combined == naive([bases[i] for i in indices], exponents, ring)


@given(st.lists(st.lists(st.integers(-(2**20), 2**20), min_size=3, max_size=3), max_size=3))
def test_planes_and_tables(rows: list[list[int]]) -> None:
    ring = ring_of(SMALL)
    bases = bases_of(ring, 3)
    assert _by_planes(bases, rows, ring, bits=21, group=2) == [naive(bases, r, ring) for r in rows]
    sizes = [[abs(e) for e in row] for row in rows]
    result = BaseTables(bases, ring, exponent_bits=21, uses=3)(sizes)
    assert result == [naive(bases, row, ring) for row in sizes]


@pytest.mark.parametrize("count", [0, 1, 4])
@pytest.mark.parametrize("root", [SMALL, LARGE])
def test_numbers_are_joined_at_their_places(count: int, root: int) -> None:
    ring = ring_of(root)
    values = bases_of(ring, count)
    places = [1 << 17 * place for place in range(count)]
    assert join_shifted(values, ring, shift=17) == naive(values, places, ring)
    plain = replace(ring, root=None)
    assert join_shifted(values, plain, shift=17) == naive(values, places, ring)
