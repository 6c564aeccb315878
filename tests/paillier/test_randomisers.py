"""Randomisers hide: fresh encryptions of 0, alike from owner and others, each used once."""

import copy
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import isqrt
from pathlib import Path

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import MismatchError, MisuseError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import GMP, INT
from sottovoce.paillier import (
    Layout,
    Plain,
    Pool,
    Profile,
    SecretKey,
    Unsent,
    decrypt,
    decrypt_residues,
    encrypt,
    encrypt_elements,
)

PROFILES = pytest.mark.parametrize("profile", list(Profile))


@PROFILES
@pytest.mark.parametrize("twin", [INT, GMP], ids=repr)
def test_randomisers_are_encryptions_of_nothing(profile: Profile, twin: object) -> None:
    key = toy_key(profile, arithmetic=twin)  # type: ignore[arg-type]
    square = key.public.modulus**2
    order = (key.p - 1) * (key.q - 1)
    for source in (key, key.public):
        result = source.randomisers(6, entropy=SeededEntropy(2))
        assert key.residues(result) == [0] * 6
        assert len(set(result)) == 6
        # N-th powers: their order divides that of Z_N*.
        assert all(pow(int(r), order, square) == 1 for r in result)


@pytest.mark.parametrize("profile", ["short", "djn"])
def test_the_owner_makes_the_very_randomisers_that_the_public_key_makes(profile: str) -> None:
    key = toy_key(profile)
    ours = key.randomisers(20, entropy=SeededEntropy(9))
    theirs = key.public.randomisers(20, entropy=SeededEntropy(9))
    assert ours == theirs
    assert theirs == key.with_arithmetic(INT).public.randomisers(20, entropy=SeededEntropy(9))


@pytest.mark.parametrize("prime", [7, 11, 23])
def test_the_owners_shortcut_for_textbook_reaches_every_power_evenly(prime: int) -> None:
    other = 1019  # shares no factor with prime − 1
    square = prime * prime
    shortcut = sorted(pow(r, prime, square) for r in range(1, prime))
    units = [r for r in range(1, prime * other) if r % prime and r % other]
    long_way = sorted(pow(r, prime * other, square) for r in units)
    assert long_way == sorted(shortcut * (len(units) // (prime - 1)))


@pytest.mark.parametrize(("profile", "bits"), [("short", 128), ("djn", 256)])
def test_an_exponent_draws_all_its_bits(profile: str, bits: int) -> None:
    key, entropy = toy_key(profile), SeededEntropy(1)
    assert key.public.profile.exponent_bits(512) == bits
    key.public.randomisers(10, entropy=entropy)
    assert entropy.drawn == 10 * bits // 8


def test_a_real_exponent_draws_512_bits(real_key: SecretKey) -> None:
    entropy = SeededEntropy(1)
    real_key.public.randomisers(2, entropy=entropy)
    real_key.randomisers(2, entropy=entropy)
    assert entropy.drawn == 4 * 64


def test_randomisers_of_a_short_key_stay_in_the_subgroup() -> None:
    key = toy_key("short")
    for r in key.public.randomisers(5, entropy=SeededEntropy(1)):
        assert pow(int(r), 2 * key.hidden_p * key.hidden_q, key.public.modulus**2) == 1


@cache
def baby_steps(base: int, step: int, modulus: int) -> dict[int, int]:
    steps, power = {}, 1
    for x in range(step):
        steps.setdefault(power, x)
        power = power * base % modulus
    return steps


def logarithm(value: int, base: int, order: int, modulus: int) -> int:
    """x below `order` with base^x = value: baby steps and giant steps, for toy keys."""
    step = isqrt(order) + 1
    baby = baby_steps(base, step, modulus)
    giant, power = pow(base, -step, modulus), value
    for x in range(step):
        if power in baby:
            return (x * step + baby[power]) % order
        power = power * giant % modulus
    raise AssertionError("no power of the base")


def exponent(key: SecretKey, randomiser: int) -> int:
    """The x of (h^N)^x mod N², for a toy key whose subgroup is small enough to search."""
    orders = (2 * key.hidden_p, key.hidden_q)
    primes, n = (key.p, key.q), key.public.modulus
    x, y = (
        logarithm(pow(randomiser, turn, p), pow(key.public.base, n * turn, p), order, p)
        for turn, order, p in zip((1, 2), orders, primes, strict=True)
    )
    return (x + orders[0] * ((y - x) * pow(orders[0], -1, orders[1]) % orders[1])) % (
        orders[0] * orders[1]
    )


def test_re_randomising_is_uniform_to_the_owner_who_could_take_logarithms() -> None:
    """Else the owner, who sent ⟨⟨x⟩⟩ and receives a function of it, could see which one."""
    key = toy_key("short", bits=256)
    order = 2 * key.hidden_p * key.hidden_q
    short = 1 << Profile.SHORT.exponent_bits(256)
    assert order > 1.9 * short
    bare = Unsent(key.public, tuple(key.public.embedded([0] * 24)), Layout((24,)), Scale(0, 1))
    results = [exponent(key, int(r)) for r in bare.fresh(entropy=SeededEntropy(4)).residues]
    beyond = sum(x >= short for x in results) / len(results)
    assert abs(beyond - (1 - short / order)) < 0.25
    direct = key.public.randomisers(40, entropy=SeededEntropy(4))
    assert all(exponent(key, int(r)) < short for r in direct[:5])


@pytest.mark.parametrize("profile", ["short", "djn"])
def test_exponents_that_re_randomise_reach_64_bits_beyond_the_order(profile: str) -> None:
    key, entropy = toy_key(profile), SeededEntropy(1)
    order = 2 * key.hidden_p * key.hidden_q or (key.p - 1) * (key.q - 1) // 2
    bits = key.public.profile.full_exponent_bits(512)
    assert order << 64 <= 1 << bits
    ours = key.rerandomisers(5, entropy=entropy)
    assert entropy.drawn == 5 * (-(-bits // 8))
    assert ours == key.public.rerandomisers(5, entropy=SeededEntropy(1))


def test_a_ciphertext_from_outside_the_subgroup_decrypts_all_the_same() -> None:
    key = toy_key("short")
    modulus, square = key.public.modulus, key.public.modulus**2
    stranger = (1 + 42 * modulus) * pow(123456789, modulus, square) % square
    assert pow(stranger, 2 * key.hidden_p * key.hidden_q, modulus) != 1
    assert key.residues(key.public.square.reduced([stranger])) == [42]


@PROFILES
def test_two_encryptions_of_one_value_differ(profile: Profile) -> None:
    key, entropy = toy_key(profile), SeededEntropy(1)
    same = Plain(np.zeros(10, dtype=np.int64), Scale(0, 1))
    first, second = (encrypt(key.public, same, entropy=entropy) for _ in range(2))
    assert len({*first.residues, *second.residues}) == 20


@PROFILES
def test_elements_are_encrypted_under_randomisers_of_their_own(profile: Profile) -> None:
    key, entropy = toy_key(profile), SeededEntropy(1)
    sealed = encrypt_elements(key, [7] * 10, Layout((10,)), fraction_bits=0, entropy=entropy)
    bare = key.public.embedded([7])[0]
    assert len({*sealed.residues, bare}) == 11
    assert decrypt_residues(key, sealed) == [7] * 10


def test_a_pool_gives_each_randomiser_once() -> None:
    pool = Pool(toy_key(), entropy=SeededEntropy(1), size=5)
    assert len(pool) == 5
    assert len(set(pool.take(3) + pool.take(4))) == 7
    assert len(pool) == 0
    pool.fill(2)
    pool.fill(1)
    assert len(pool) == 2


def test_threads_share_a_pool_without_sharing_a_randomiser() -> None:
    pool = Pool(toy_key().public, entropy=SeededEntropy(1), size=300)
    with ThreadPoolExecutor(8) as threads:
        taken = [r for part in threads.map(lambda _: pool.take(5), range(80)) for r in part]
    assert len(set(taken)) == 400


def test_encrypting_and_freshening_from_a_pool() -> None:
    key = toy_key()
    pool = Pool(key, entropy=SeededEntropy(1), size=8)
    sealed = encrypt(key.public, Plain(np.array([5, -6]), Scale(0, 9)), entropy=pool)
    fresh = (sealed + sealed).fresh(entropy=pool)
    assert decrypt(key, fresh).integers.tolist() == [10, -12]
    assert len(pool) == 4


def test_a_pool_is_never_copied_or_pickled() -> None:
    pool = Pool(toy_key(), entropy=SeededEntropy(1), size=1)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(MisuseError, match="never copied or pickled"):
            act(pool)


FORKED = """
import os
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import MisuseError
from sottovoce.paillier import Pool

pool = Pool(toy_key(), entropy=SeededEntropy(1), size=3)
child = os.fork()
refused = 0
for act in (lambda: pool.take(1), lambda: pool.fill(9)):
    try:
        act()
    except MisuseError:
        refused += 1
if child == 0:
    os._exit(refused)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), refused)
"""


def test_a_pool_serves_one_process_alone() -> None:
    run = subprocess.run(
        [sys.executable, "-c", FORKED],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["2", "0"]  # refused in the child, served in its parent


def test_a_pool_of_another_key_is_refused() -> None:
    pool = Pool(toy_key(seed=1), entropy=SeededEntropy(1), size=1)
    with pytest.raises(MismatchError, match="pool: keys differ"):
        encrypt(toy_key().public, Plain(np.array(1), Scale(0, 1)), entropy=pool)
    assert len(pool) == 1


def test_a_pool_shows_no_randomiser() -> None:
    pool = Pool(toy_key(), entropy=SeededEntropy(1), size=1)
    shown = repr(pool)
    assert "1 ready" in shown
    assert str(pool.take(1)[0]) not in shown
