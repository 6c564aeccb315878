"""Uniform N-th powers: the first are r^N, the others products that nobody can tell from them."""

from collections import Counter
from math import log2, prod
from types import SimpleNamespace

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import INT
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paillier.profiles import STRENGTHS, TOY_BITS
from sottovoce.paillier.uniform_powers import FACTORS, UniformPowers

KEY = toy_key(bits=256)


def exponents_meet(order: int, bits: int) -> float:
    """How probably two uniform exponents of so many bits are the same modulo `order`."""
    every, rest = divmod(1 << bits, order)
    return (rest * (every + 1) ** 2 + (order - rest) * every**2) / 4**bits


def mean_weight(order: int, bits: int) -> float:
    """How much a character of this order weighs on average, of one power with such exponents.

    Its values on a uniform power are the roots of unity of this order, each as often.
    """
    roots = np.exp(2j * np.pi * np.outer(np.arange(order), np.arange(order)) / order)
    every, rest = divmod(1 << bits, order)
    draws = np.where(np.arange(order) < rest, every + 1, every) / 2**bits
    return float(np.abs(roots @ draws).mean())


@pytest.mark.parametrize("bits", [*STRENGTHS, *TOY_BITS])
def test_products_are_within_two_to_the_minus_65_of_uniform(bits: int) -> None:
    powers = UniformPowers(SimpleNamespace(bits=bits))
    b, k, few = powers.exponent_bits, powers.count, min(1 << powers.exponent_bits, 4096)
    assert mean_weight(2, b) == pytest.approx(1 / 2)
    # Orders 2 and 3 as they are, all others by their squares.
    lowest = sum(2 ** (FACTORS * log2(o) + k * log2(mean_weight(o, b))) for o in (2, 3))
    small = sum(
        2 ** (FACTORS * log2(order) + k * log2(exponents_meet(order, b)))
        for order in range(4, few + 1)
    )
    # Two exponents meet modulo o ≤ 2^b with probability at most 1.25/o.
    assert all(exponents_meet(order, b) <= 1.25 / order for order in range(2, few + 1))
    larger = 2 ** (k * log2(1.25) - (k - FACTORS - 1) * log2(few))
    assert b * k >= bits + 130
    # Half of what all characters but the trivial one add.
    assert (lowest + (small + larger + 2.0 ** (bits - b * k)) ** 0.5) / 2 < 2.0**-65


def test_the_first_are_direct_and_the_others_products_of_them() -> None:
    powers = UniformPowers(KEY.public)
    k, b, square = powers.count, powers.exponent_bits, int(KEY.public.square.modulus)
    first = powers.draw(k, entropy=SeededEntropy(1))
    assert first == KEY.public.direct_powers(k, entropy=SeededEntropy(1))
    drawn = SeededEntropy(2).bits(b * k)
    exponents = [drawn >> b * place & (1 << b) - 1 for place in range(k)]
    (mixed,) = powers.draw(1, entropy=SeededEntropy(2))
    expected = prod(pow(int(g), x, square) for g, x in zip(first, exponents, strict=True)) % square
    assert mixed == expected


def test_every_draw_is_another_one_and_carries_no_message() -> None:
    entropy, count = SeededEntropy(3), 400
    drawn = KEY.public.uniform_randomisers(count, entropy=entropy)
    assert len(set(drawn)) == count > UniformPowers(KEY.public).count
    assert KEY.residues(drawn, uniform=True) == [0] * count
    plain = Plain.of([3.0] * count, Scale.covering(4.0, fraction_bits=2))
    sent = encrypt(KEY, plain, entropy=entropy).for_key_holder(entropy=entropy)
    assert decrypt(KEY, sent).floats().tolist() == [3.0] * count


def test_products_are_spread_over_the_cosets_of_squares() -> None:
    """Whatever the key's maker can tell of a randomiser, signs modulo its primes first."""
    powers, entropy = UniformPowers(KEY.public), SeededEntropy(4)
    powers.draw(powers.count, entropy=entropy)
    mixed = powers.draw(2000, entropy=entropy)
    signs = Counter(
        tuple(pow(int(x), (prime - 1) // 2, prime) == 1 for prime in (KEY.p, KEY.q)) for x in mixed
    )
    assert len(signs) == 4
    # Four classes of 500: a standard deviation is 19.
    assert all(abs(seen - 500) < 5 * 19 for seen in signs.values())


def test_a_program_that_runs_again_draws_the_same() -> None:
    """Whatever others drew under the key meanwhile, as after a restart."""
    first, other, again = SeededEntropy(5), SeededEntropy(6), SeededEntropy(5)
    drawn = [KEY.public.uniform_randomisers(90, entropy=first) for _ in range(3)]
    KEY.public.uniform_randomisers(50, entropy=other)
    assert [KEY.public.uniform_randomisers(90, entropy=again) for _ in range(3)] == drawn
    assert first.drawn == again.drawn


def test_both_twins_draw_the_same() -> None:
    slow = KEY.public.with_arithmetic(INT)
    count = UniformPowers(slow).count + 3
    fast = KEY.public.uniform_randomisers(count, entropy=SeededEntropy(7))
    assert slow.uniform_randomisers(count, entropy=SeededEntropy(7)) == fast


def test_another_twin_does_not_answer_from_the_tables_of_the_first() -> None:
    entropy, slow = SeededEntropy(8), KEY.public.with_arithmetic(INT)
    count = UniformPowers(slow).count
    KEY.public.uniform_randomisers(count, entropy=entropy)
    begun = slow.uniform_randomisers(count, entropy=entropy)
    assert len(set(begun)) == count
    assert all(type(power) is int for power in begun)
