"""Primes with the structure that keys need, from the door that was passed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.numbers.modular import INT
from sottovoce.numbers.primes import blum_prime, hidden_order_prime, random_prime

SEEDS = st.integers(0, 2**32)


@given(SEEDS, st.integers(8, 160))
def test_blum_primes(seed: int, bits: int) -> None:
    prime = blum_prime(bits, entropy=SeededEntropy(seed))
    assert INT.is_prime(prime)
    assert prime % 4 == 3
    assert prime.bit_length() == bits
    assert (prime * prime).bit_length() == 2 * bits


@given(SEEDS, st.integers(24, 64), st.integers(10, 100))
def test_hidden_order_primes(seed: int, hidden_bits: int, more: int) -> None:
    bits = hidden_bits + more + 8
    made = hidden_order_prime(bits, hidden_bits=hidden_bits, entropy=SeededEntropy(seed))
    assert made.prime == 2 * made.hidden * made.cofactor + 1
    assert INT.is_prime(made.prime)
    assert INT.is_prime(made.hidden)
    assert INT.is_prime(made.cofactor)
    assert made.hidden.bit_length() in {hidden_bits, hidden_bits + 1}
    assert made.prime.bit_length() == bits
    assert (made.prime * made.prime).bit_length() == 2 * bits
    assert made.prime % 4 == 3
    assert str(made.hidden) not in repr(made)


@given(SEEDS)
def test_a_prime_lies_in_its_range(seed: int) -> None:
    prime = random_prime(2**40, 2**40 + 2**20, entropy=SeededEntropy(seed))
    assert 2**40 <= prime <= 2**40 + 2**20
    assert INT.is_prime(prime)


def test_every_prime_of_a_small_range_is_found() -> None:
    entropy = SeededEntropy(1)
    results = {random_prime(2, 60, entropy=entropy) for _ in range(400)}
    assert results == {n for n in range(2, 61) if all(n % k for k in range(2, n))}


def test_two_primes_from_one_door_differ_and_one_seed_repeats() -> None:
    entropy = SeededEntropy(5)
    first, second = (blum_prime(128, entropy=entropy) for _ in range(2))
    assert first != second
    assert blum_prime(128, entropy=SeededEntropy(5)) == first


def test_a_prime_draws_at_least_its_own_bits() -> None:
    entropy = SeededEntropy(6)
    hidden_order_prime(256, hidden_bits=64, entropy=entropy)
    assert entropy.drawn * 8 >= 191 + 64


@pytest.mark.parametrize(("bits", "hidden"), [(64, 60), (64, 4)])
def test_a_prime_too_small_to_hide_one_is_refused(bits: int, hidden: int) -> None:
    with pytest.raises(ValueError, match=f"{bits} bits cannot hide one of {hidden}"):
        hidden_order_prime(bits, hidden_bits=hidden, entropy=SeededEntropy(1))
