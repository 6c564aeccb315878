"""Products from factors of half the length are those of the numbers themselves."""

from dataclasses import replace
from math import prod

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numbers.modular import GMP, INT
from sottovoce.numbers.multiexp import ModularRing, SparseRow, combine_sparse
from sottovoce.numbers.short_factors import FEWEST_TERMS, combine_short, pays

SMALL = gmpy2.mpz(2**61 - 1)
# The square of a number that is long enough for halves.
LARGE = gmpy2.mpz(2**1279 - 1)
TERMS = st.tuples(st.integers(0, 4), st.one_of(st.integers(-9, 9), st.integers(-(2**40), 2**40)))
SPARSE = st.lists(st.lists(TERMS, max_size=9), max_size=5)


def ring_of(root: int) -> ModularRing:
    return replace(ModularRing.modulo(root * root), root=root)


def bases_of(ring: ModularRing, count: int) -> list[int]:
    return [gmpy2.powmod(7, 3**400 + 5 * k, ring.modulus) for k in range(count)]


def words(rows: int, *, width: int) -> list[SparseRow]:
    """Rows of ones, half of all columns each."""
    return [
        ([i for i in range(width) if (i * 7 + row * 5) % 4 < 2], [1] * (width // 2))
        for row in range(rows)
    ]


@pytest.mark.parametrize("root", [SMALL, LARGE])
@given(SPARSE)
def test_sparse_rows_of_either_sign(root: int, rows: list[list[tuple[int, int]]]) -> None:
    ring = ring_of(root)
    bases = bases_of(ring, 5)
    expected = [prod(gmpy2.powmod(bases[i], e, ring.modulus) for i, e in row) for row in rows]
    sparse = [([i for i, _ in row], [e for _, e in row]) for row in rows]
    assert combine_short(bases, sparse, ring) == [product % ring.modulus for product in expected]


@pytest.mark.parametrize("base", [1, -1, 1 - SMALL, 1 + SMALL, SMALL * SMALL - 1])
def test_the_extremes(base: int) -> None:
    ring = ring_of(SMALL)
    bases = [gmpy2.mpz(base) % ring.modulus, gmpy2.mpz(3)]
    (product,) = combine_short(bases, [([0, 1, 0], [1, 2, 7])], ring)
    assert product == 9 * base**8 % ring.modulus


def test_a_base_that_has_no_inverse_is_refused() -> None:
    root = SMALL * 3
    with pytest.raises(ZeroDivisionError):
        combine_short([gmpy2.mpz(6)], [([0], [1])], ring_of(root))


def test_half_as_many_products_as_words() -> None:
    rows, calls = words(8, width=60), [0]
    ring = ring_of(LARGE)

    def times(left: int, right: int) -> int:
        calls[0] += 1
        return left * right % ring.modulus

    bases = bases_of(ring, 60)
    assert combine_short(bases, rows, replace(ring, times=times)) == combine_sparse(
        bases, rows, ring
    )
    assert calls[0] <= 8 * (30 // 2 + 1)


def test_bases_are_split_where_many_rows_name_them() -> None:
    few, many = words(2 * FEWEST_TERMS - 2, width=8), words(2 * FEWEST_TERMS, width=8)
    assert pays(ring_of(LARGE), many)
    assert not pays(ring_of(LARGE), few)
    assert not pays(ring_of(LARGE), [])
    assert not pays(ModularRing.modulo(LARGE * LARGE + 2), many)


def test_both_twins_multiply_many_rows_alike() -> None:
    rows, root = words(40, width=12), int(LARGE)
    rows.append(([3, 5, 5], [-2, 321, 1]))
    bases = [int(base) for base in bases_of(ring_of(LARGE), 12)]
    slow, fast = INT.modulo(root * root), GMP.modulo(root * root)
    assert fast.combined_sparse(fast.reduced(bases), rows) == slow.combined_sparse(bases, rows)
