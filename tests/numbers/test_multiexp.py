"""The fast ways to multiply powers: right at the extremes, and with as few products as they say."""

from dataclasses import replace
from math import prod

import gmpy2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.numbers.multiexp import (
    BaseTables,
    FixedBase,
    ModularRing,
    _by_buckets,
    _by_planes,
    combine,
    combine_sparse,
    join_shifted,
    join_with_power,
)

MODULUS = 2**521 - 1
BASES = [gmpy2.mpz(pow(7, 3 * k + 1, MODULUS)) for k in range(300)]


def counted() -> tuple[ModularRing, list[int]]:
    ring, calls = ModularRing.modulo(MODULUS), [0]

    def times(left: int, right: int) -> int:
        calls[0] += 1
        return left * right % MODULUS

    return replace(ring, times=times), calls


def naive(bases: list[int], row: list[int]) -> int:
    return prod(pow(int(b), e, MODULUS) for b, e in zip(bases, row, strict=True)) % MODULUS


ROWS = st.integers(1, 9).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(-(2**33), 2**33), min_size=width, max_size=width), max_size=4
    )
)


@given(ROWS, st.integers(1, 9))
def test_planes_for_every_group_size(rows: list[list[int]], group: int) -> None:
    bases = BASES[: len(rows[0])] if rows else BASES[:1]
    result = _by_planes(bases, rows, ModularRing.modulo(MODULUS), bits=34, group=group)
    assert result == [naive(bases, row) for row in rows]


@given(ROWS, st.integers(1, 9))
def test_buckets_for_every_window(rows: list[list[int]], window: int) -> None:
    for row in rows:
        bases = BASES[: len(row)]
        result = _by_buckets(bases, row, ModularRing.modulo(MODULUS), bits=34, window=window)
        assert result == naive(bases, row)


@pytest.mark.parametrize(("count", "height"), [(300, 1), (300, 2), (40, 40), (1, 30), (2, 1)])
@pytest.mark.parametrize("bits", [1, 20, 64, 520])
def test_every_shape_equals_the_schoolbook(count: int, height: int, bits: int) -> None:
    bases = BASES[:count]
    rows = [
        [(-1) ** (i + j) * (pow(5, 37 * (i + 1) * (j + 3), 2**bits)) for i in range(count)]
        for j in range(height)
    ]
    assert combine(bases, rows, ModularRing.modulo(MODULUS)) == [naive(bases, row) for row in rows]


def test_a_matrix_of_256_by_256_needs_a_fifth_of_the_single_powers() -> None:
    ring, calls = counted()
    rows = [[pow(3, i * 257 + j, 2**20) for j in range(64)] for i in range(64)]
    combine(BASES[:64], rows, ring)
    single = 64 * 64 * (20 + 10)  # a squaring for each bit and a product for every other
    assert calls[0] < single / 5


def test_one_long_row_needs_a_fifth_of_the_single_powers() -> None:
    ring, calls = counted()
    combine(BASES, [[pow(3, j, 2**64) for j in range(300)]], ring)
    assert calls[0] < 300 * (64 + 32) / 5


def test_rows_of_words_are_products_only() -> None:
    ring, calls = counted()
    combine_sparse(BASES, [(list(range(100)), [1] * 100)], ring)
    assert calls[0] <= 100


def test_small_counts_share_their_squarings() -> None:
    ring, calls = counted()
    combine_sparse(BASES, [(list(range(100)), [1, 2, 3, 1] * 25)], ring)
    assert calls[0] <= 100 + 25 + 1


@given(st.lists(st.lists(st.integers(0, 2**34 - 1), min_size=5, max_size=5), max_size=4))
def test_bases_with_tables_give_the_same_products(rows: list[list[int]]) -> None:
    bases = BASES[:5]
    expected = combine(bases, rows, ModularRing.modulo(MODULUS))
    for uses in (1, 1000):
        tables = BaseTables(bases, ModularRing.modulo(MODULUS), exponent_bits=34, uses=uses)
        assert tables(rows) == expected
    with pytest.raises(ValueError, match="fixed bases: expected up to 34 bits"):
        tables([[2**34] * 5])
    with pytest.raises(ValueError, match="fixed bases: expected up to 34 bits"):
        tables([[-1] * 5])


def test_a_table_grows_with_its_use() -> None:
    ring, calls = counted()
    powers = FixedBase(BASES[0], ring, exponent_bits=512)
    powers([1])
    small = powers.window
    assert calls[0] < 2000
    powers([2**511] * 1000)
    assert powers.window > small
    window = powers.window
    powers.prepare(3)
    assert powers.window == window


@pytest.mark.parametrize("bits", [8, 448, 512, 1536, 2048])
def test_a_table_stays_bounded(bits: int) -> None:
    powers = FixedBase(BASES[0], ModularRing.modulo(MODULUS), exponent_bits=bits)
    window = powers._best_window(10**12)
    assert -(-bits // window) << window <= 2**16


@given(
    st.integers(0, 5),
    st.integers(1, 40),
    st.one_of(st.integers(0, 300), st.integers(0, 2**521)),
)
def test_a_power_joins_a_chain(count: int, shift: int, exponent: int) -> None:
    ring, values = ModularRing.modulo(MODULUS), BASES[1 : count + 1]
    alone = join_shifted(values, ring, shift=shift)
    assert alone == naive(values, [1 << shift * place for place in range(count)])
    power = {"base": BASES[0], "exponent": gmpy2.mpz(exponent)}
    expected = alone * pow(BASES[0], exponent, MODULUS) % MODULUS
    assert join_with_power(values, ring, shift=shift, **power) == expected


def test_a_power_shares_the_squarings_of_its_chain() -> None:
    """A power of 520 bits alone takes 520 squarings, and so does joining 11 values at 52 bits."""
    ring, calls = counted()
    power = {"base": BASES[0], "exponent": gmpy2.mpz(3**328)}
    join_with_power(BASES[:11], ring, shift=52, **power)
    together = calls[0]
    assert together < 520 + 11 + 520 // 5
    join_shifted(BASES[:11], ring, shift=52)
    assert calls[0] - together >= 520
