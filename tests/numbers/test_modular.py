"""Both twins of modular arithmetic, under the same tests."""

from math import gcd, prod

import gmpy2
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sottovoce.numbers.modular import GMP, INT, Arithmetic

TWINS = pytest.mark.parametrize("twin", [INT, GMP], ids=repr)
MODULI = st.integers(2, 2**130)
VALUES = st.lists(st.integers(0, 2**140), max_size=9)
EXPONENTS = st.integers(-(2**70), 2**70)


def unit(value: int, modulus: int) -> int:
    """The next value that has an inverse."""
    while gcd(value, modulus) != 1:
        value += 1
    return value


@TWINS
@given(MODULI, st.lists(st.integers(-(2**140), 2**140)))
def test_reducing_gives_the_one_element_of_each_class(
    twin: Arithmetic, modulus: int, values: list[int]
) -> None:
    assert twin.modulo(modulus).reduced(values) == [value % modulus for value in values]


@TWINS
@given(MODULI, VALUES)
def test_products_one_by_one_and_of_all(twin: Arithmetic, modulus: int, values: list[int]) -> None:
    ring = twin.modulo(modulus)
    left, right = ring.reduced(values), ring.reduced(values[::-1])
    assert ring.multiplied(left, right) == [
        a * b % modulus for a, b in zip(values, values[::-1], strict=True)
    ]
    assert ring.product(left) % modulus == prod(values) % modulus


@TWINS
def test_unequal_lists_are_refused(twin: Arithmetic) -> None:
    with pytest.raises(ValueError, match=r"argument 2|beside 1"):
        twin.modulo(7).multiplied([1, 2], [3])


@TWINS
@given(MODULI, VALUES, st.data())
def test_powers_with_either_sign(
    twin: Arithmetic, modulus: int, values: list[int], data: st.DataObject
) -> None:
    ring = twin.modulo(modulus)
    bases = ring.reduced([unit(value, modulus) for value in values])
    exponents = [data.draw(EXPONENTS) for _ in bases]
    expected = [pow(int(b), e, modulus) for b, e in zip(bases, exponents, strict=True)]
    assert ring.powers(bases, exponents) == expected
    same = data.draw(EXPONENTS)
    assert ring.powers_of_all(bases, same) == [pow(int(b), same, modulus) for b in bases]


@TWINS
@given(MODULI, VALUES)
def test_inverses_are_inverses(twin: Arithmetic, modulus: int, values: list[int]) -> None:
    ring = twin.modulo(modulus)
    bases = ring.reduced([unit(value, modulus) for value in values])
    assert ring.multiplied(bases, ring.inverses(bases)) == [1 % modulus for _ in bases]
    assert ring.invertible(bases)


@TWINS
def test_a_value_without_an_inverse_is_found_among_many(twin: Arithmetic) -> None:
    ring = twin.modulo(15)
    values = ring.reduced([1, 2, 5, 7])
    assert not ring.invertible(values)
    with pytest.raises(ZeroDivisionError):
        ring.inverses(values)


@TWINS
@given(MODULI, st.integers(0, 2**130), st.integers(1, 90), st.data())
def test_powers_of_a_fixed_base(
    twin: Arithmetic, modulus: int, base: int, bits: int, data: st.DataObject
) -> None:
    ring = twin.modulo(modulus)
    powers = ring.fixed_base(ring.reduced([base])[0], exponent_bits=bits)
    for count in (1, 7, 60):  # the table grows on the way
        exponents = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=count, max_size=count))
        assert [x % modulus for x in powers(exponents)] == [
            pow(base, e, modulus) for e in exponents
        ]
    powers.prepare(10)
    assert powers([]) == []


@TWINS
@pytest.mark.parametrize("exponent", [-1, 256])
def test_a_fixed_base_refuses_longer_exponents(twin: Arithmetic, exponent: int) -> None:
    with pytest.raises(ValueError, match="up to 8 bits"):
        twin.modulo(101).fixed_base(twin.modulo(101).reduced([3])[0], exponent_bits=8)([exponent])


@TWINS
@given(
    MODULI,
    st.integers(0, 12),
    st.integers(0, 6),
    st.sampled_from([0, 1, 8, 20, 64, 150]),
    st.randoms(use_true_random=False),
)
def test_rows_of_exponents(
    twin: Arithmetic, modulus: int, count: int, height: int, bits: int, random: object
) -> None:
    ring = twin.modulo(modulus)
    draw = random.randint  # type: ignore[attr-defined]
    bases = [unit(draw(1, modulus), modulus) for _ in range(count)]
    extremes = [0, 2**bits - 1, 1 - 2**bits, -(2**bits) >> 1]
    rows = [
        [random.choice([*extremes, draw(-(2**bits), 2**bits)]) for _ in bases]  # type: ignore[attr-defined]
        for _ in range(height)
    ]
    expected = [
        prod(pow(b, e, modulus) for b, e in zip(bases, row, strict=True)) % modulus for row in rows
    ]
    residues = ring.reduced(bases)
    assert [x % modulus for x in ring.combined(residues, rows)] == expected
    sparse = [([i for i, e in enumerate(row) if e], [e for e in row if e]) for row in rows]
    assert [x % modulus for x in ring.combined_sparse(residues, sparse)] == expected


@TWINS
@given(MODULI, VALUES, st.integers(1, 40))
def test_joining_weighs_values_by_their_place(
    twin: Arithmetic, modulus: int, values: list[int], shift: int
) -> None:
    ring = twin.modulo(modulus)
    expected = prod(pow(v, 2 ** (shift * i), modulus) for i, v in enumerate(values)) % modulus
    assert ring.joined(ring.reduced(values), shift=shift) % modulus == expected


@TWINS
@given(st.integers(0, 2**80), st.integers(0, 2**80))
def test_greatest_common_divisors(twin: Arithmetic, left: int, right: int) -> None:
    assert twin.gcd(left, right) == gcd(left, right)


@TWINS
def test_jacobi_symbols_multiply_those_of_the_primes(twin: Arithmetic) -> None:
    def legendre(number: int, prime: int) -> int:
        return (pow(number, (prime - 1) // 2, prime) + 1) % prime - 1

    for number in range(-20, 200):
        symbols = [legendre(number, prime) for prime in (3, 7, 7, 13)]
        assert twin.jacobi(number, 3 * 7 * 7 * 13) == prod(symbols)
        assert twin.jacobi(number, 1) == 1


@given(st.integers(0, 2**64))
def test_the_twins_agree_on_primes(number: int) -> None:
    assert INT.is_prime(number) == GMP.is_prime(number)


@TWINS
def test_every_small_number_is_judged_rightly(twin: Arithmetic) -> None:
    matches = [n for n in range(2000) if twin.is_prime(n)]
    assert matches == [n for n in range(2, 2000) if all(n % k for k in range(2, n))]


@TWINS
@pytest.mark.parametrize(
    "composite",
    [
        561,  # Carmichael
        3215031751,  # a strong pseudoprime to the bases 2, 3, 5 and 7
        3825123056546413051,  # … and to every prime base up to 23
        318665857834031151167461,  # … up to 37
        (2**127 - 1) * (2**89 - 1),
        (2**61 - 1) ** 2,
    ],
)
def test_composites_that_fool_weaker_tests(twin: Arithmetic, composite: int) -> None:
    assert not twin.is_prime(composite)


@TWINS
@pytest.mark.parametrize("modulus", [1, 0, -7])
def test_there_is_nothing_modulo_one(twin: Arithmetic, modulus: int) -> None:
    with pytest.raises(ValueError, match="at least 2"):
        twin.modulo(modulus)


def test_threads_do_not_change_the_order() -> None:
    modulus = 2**2203 - 1
    bases = [pow(3, k, modulus) for k in range(64)]
    exponent = 2**700 + 12345
    ring = GMP.modulo(modulus)
    assert ring.powers_of_all(ring.reduced(bases), exponent) == [
        gmpy2.powmod(base, exponent, modulus) for base in bases
    ]


@given(MODULI, st.integers(0, 2**140))
def test_the_fast_twin_reduces_completely(modulus: int, value: int) -> None:
    assume(modulus > 2)
    ring = GMP.modulo(modulus)
    largest = ring.reduced([modulus - 1, value])
    assert all(0 <= x < modulus for x in ring.multiplied(largest, largest))
