"""Keys have the structure of their profile, refuse what is weak, and show no secret."""

import copy
import pickle
from math import gcd

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import InputError, MisuseError
from sottovoce.numbers.modular import GMP, INT
from sottovoce.paillier import (
    InsecureToyPublicKey,
    InsecureToySecretKey,
    Profile,
    PublicKey,
    SecretKey,
    generate,
    generate_insecure_for_tests,
)
from sottovoce.paillier import (
    secret as secret_keys,
)
from sottovoce.paillier.profiles import STRENGTHS, strength

PROFILES = pytest.mark.parametrize("profile", list(Profile))


@PROFILES
@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_generated_keys_have_the_structure_of_their_profile(profile: Profile, seed: int) -> None:
    key = generate_insecure_for_tests(256, profile, entropy=SeededEntropy(seed))
    p, q, modulus = key.p, key.q, key.public.modulus
    assert p < q
    assert p * q == modulus
    assert modulus.bit_length() == 256
    assert INT.is_prime(p)
    assert INT.is_prime(q)
    assert p % 4 == q % 4 == 3
    assert gcd(p - 1, q - 1) == 2
    assert gcd(modulus, (p - 1) * (q - 1)) == 1
    assert key.public.profile is profile


@given(st.integers(0, 2**32))
@settings(max_examples=10)
def test_short_keys_hide_primes_of_twice_the_strength(seed: int) -> None:
    key = generate_insecure_for_tests(256, "short", entropy=SeededEntropy(seed))
    for prime, hidden in ((key.p, key.hidden_p), (key.q, key.hidden_q)):
        assert INT.is_prime(hidden)
        assert hidden.bit_length() >= 2 * strength(256)
        assert (prime - 1) % (2 * hidden) == 0
        assert INT.is_prime((prime - 1) // (2 * hidden))
        # The base generates the subgroup of order 2·hidden: neither power is 1.
        base = key.public.base % prime
        assert pow(base, 2 * hidden, prime) == 1
        assert pow(base, 2, prime) != 1
        assert pow(base, hidden, prime) != 1
    assert key.hidden_p != key.hidden_q


def test_a_real_short_key_hides_primes_of_256_bits(real_key: SecretKey) -> None:
    assert real_key.bits == 3072
    assert real_key.public.profile is Profile.SHORT
    assert min(real_key.hidden_p.bit_length(), real_key.hidden_q.bit_length()) >= 2 * 128
    assert real_key.public.profile.exponent_bits(3072) == 512


def test_djn_bases_are_minus_squares() -> None:
    key = toy_key("djn")
    for prime in (key.p, key.q):
        assert pow(-key.public.base, (prime - 1) // 2, prime) == 1
        assert pow(key.public.base, (prime - 1) // 2, prime) == prime - 1


@pytest.mark.parametrize("bits", STRENGTHS)
def test_exponents_are_as_long_as_published_and_never_below_twice_the_strength(bits: int) -> None:
    assert Profile.SHORT.exponent_bits(bits) == 4 * STRENGTHS[bits]
    assert Profile.DJN.exponent_bits(bits) == bits // 2
    assert Profile.TEXTBOOK.exponent_bits(bits) == 0
    for profile in (Profile.SHORT, Profile.DJN):
        assert profile.exponent_bits(bits) >= 2 * STRENGTHS[bits]


@PROFILES
def test_every_profile_says_what_it_assumes(profile: Profile) -> None:
    assert "decisional composite" in profile.assumption
    assert Profile.of(profile.value) is profile


@pytest.mark.parametrize("bits", [0, 512, 1024, 2047, 3000, 8192])
def test_weak_and_odd_sizes_are_refused(bits: int) -> None:
    with pytest.raises(InputError, match=f"2048, 3072 or 4096 bits, found {bits}"):
        generate(bits, entropy=SeededEntropy(1))


def test_the_door_for_toys_makes_no_real_keys() -> None:
    with pytest.raises(InputError, match="toy key"):
        generate_insecure_for_tests(2048, entropy=SeededEntropy(1))


def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(InputError, match="one of `short`, `djn`, `textbook`, found 'fast'"):
        generate(profile="fast", entropy=SeededEntropy(1))


def test_a_toy_is_no_key_anywhere_else() -> None:
    toy = toy_key()
    with pytest.raises(InputError, match="2048, 3072 or 4096 bits, found 512"):
        PublicKey(toy.public.profile, toy.public.modulus, toy.public.base)
    with pytest.raises(InputError, match="expected a PublicKey, found a InsecureToyPublicKey"):
        SecretKey(toy.public, toy.p, toy.q, toy.hidden_p, toy.hidden_q)


def test_a_real_key_is_no_toy(real_key: SecretKey) -> None:
    with pytest.raises(InputError, match="256, 384, 512, 768 or 1024"):
        InsecureToyPublicKey(Profile.SHORT, real_key.public.modulus, real_key.public.base)


def made(**changes: int) -> InsecureToySecretKey:
    """The toy key with other parts."""
    toy = toy_key()
    parts = {"p": toy.p, "q": toy.q, "hidden_p": toy.hidden_p, "hidden_q": toy.hidden_q, **changes}
    modulus = changes.get("modulus", parts["p"] * parts["q"])
    base = changes.get("base", toy.public.base)
    parts = {name: parts[name] for name in ("p", "q", "hidden_p", "hidden_q")}
    return InsecureToySecretKey(InsecureToyPublicKey(Profile.SHORT, modulus, base), **parts)


def test_primes_of_another_modulus_are_refused() -> None:
    with pytest.raises(InputError, match="not those of the modulus"):
        made(modulus=toy_key(seed=1).public.modulus)


def test_primes_in_the_other_order_are_refused() -> None:
    toy = toy_key()
    with pytest.raises(InputError, match="the smaller one first"):
        made(p=toy.q, q=toy.p)


def test_hidden_primes_of_another_key_are_refused() -> None:
    with pytest.raises(InputError, match="hidden prime is not the one of its prime"):
        made(hidden_p=toy_key(seed=1).hidden_p)


def test_short_hidden_primes_are_refused() -> None:
    with pytest.raises(InputError, match="at least 64 bits, found 3"):
        made(hidden_q=7)


def test_a_base_of_another_order_is_refused() -> None:
    with pytest.raises(InputError, match="another order"):
        made(base=4)


def test_a_djn_base_that_is_a_square_is_refused() -> None:
    toy = toy_key("djn")
    public = InsecureToyPublicKey(Profile.DJN, toy.public.modulus, 4)
    with pytest.raises(InputError, match="not minus a square"):
        InsecureToySecretKey(public, toy.p, toy.q)


def test_hidden_primes_belong_to_short_keys_alone() -> None:
    toy = toy_key("djn")
    with pytest.raises(InputError, match="hides no primes"):
        InsecureToySecretKey(toy.public, toy.p, toy.q, 7, 11)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda n: (n - 1, 2), "small factor"),
        (lambda n: (n - n % 3 if (n - n % 3) % 2 else n - n % 3 - 3, 2), "small factor"),
        (lambda _: (2**521 - 1 >> 9, 2), "small factor|prime"),
        (lambda n: (n, 0), "profile `short` with base False"),
        (lambda n: (n, 1), "base of the randomisers is out of range"),
        (lambda n: (n, n - 1), "base of the randomisers is out of range"),
        (lambda n: (n, n + 2), "base of the randomisers is out of range"),
        (lambda n: (n, toy_key().p), "base of the randomisers is out of range"),
    ],
)
def test_public_keys_that_cannot_be_right_are_refused(change: object, match: str) -> None:
    modulus, base = change(toy_key().public.modulus)  # type: ignore[operator]
    with pytest.raises(InputError, match=match):
        InsecureToyPublicKey(Profile.SHORT, modulus, base)


def test_a_prime_is_no_modulus() -> None:
    prime = 2**512 - 569
    assert GMP.is_prime(prime)
    with pytest.raises(InputError, match="the modulus is a prime"):
        InsecureToyPublicKey(Profile.SHORT, prime, 2)


def test_a_textbook_key_has_no_base() -> None:
    with pytest.raises(InputError, match="profile `textbook` with base True"):
        InsecureToyPublicKey(Profile.TEXTBOOK, toy_key().public.modulus, 2)


@PROFILES
def test_nothing_secret_is_shown(profile: Profile) -> None:
    key = toy_key(profile)
    secrets = [key.p, key.q, key.hidden_p, key.hidden_q]
    list(key.halves)
    key.prepare(4)
    for shown in (repr(key), str(key), repr(key.halves), repr(vars(key)["public"])):
        for secret in filter(None, secrets):
            assert str(secret) not in shown
            assert f"{secret:x}" not in shown


@PROFILES
def test_keys_are_never_pickled_and_are_their_own_copies(profile: Profile) -> None:
    key = toy_key(profile)
    for part in (key, key.public, key.halves[0]):
        with pytest.raises(MisuseError, match="never pickled"):
            pickle.dumps(part)
        assert copy.copy(part) is part
        assert copy.deepcopy(part) is part


def test_keys_are_frozen() -> None:
    with pytest.raises(AttributeError):
        toy_key().p = 3  # type: ignore[misc]
    with pytest.raises(AttributeError):
        toy_key().public.modulus = 3  # type: ignore[misc]


def test_fingerprints_tell_keys_and_profiles_apart() -> None:
    keys = [toy_key(profile, seed=seed).public for profile in Profile for seed in range(2)]
    other = InsecureToyPublicKey(Profile.DJN, keys[0].modulus, keys[0].base)
    assert len({key.fingerprint for key in [*keys, other]}) == 7
    assert len({key.identity for key in [*keys, other]}) == 7
    parts = keys[0].fingerprint.split("-")
    assert [len(part) for part in parts] == [4] * 8
    assert keys[0].fingerprint[:14] in str(keys[0])


def test_a_key_on_another_twin_is_the_same_key() -> None:
    key = toy_key()
    assert key.with_arithmetic(INT) == key
    assert key.with_arithmetic(INT).arithmetic is INT
    assert hash(key.with_arithmetic(INT).public) == hash(key.public)


def test_a_process_tests_the_primes_of_a_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    key, tested = toy_key(), []
    is_prime = type(GMP).is_prime

    def noted(self: object, number: int) -> bool:
        tested.append(number)
        return is_prime(GMP, number)

    monkeypatch.setattr(type(GMP), "is_prime", noted)
    monkeypatch.setattr(secret_keys, "_SOUND", set())
    for _ in range(3):
        made()
        assert sorted(tested.count(prime) for prime in (key.p, key.q, key.hidden_p)) == [1, 1, 1]
    # Other numbers are another key.
    with pytest.raises(InputError, match="hidden prime"):
        made(hidden_p=key.hidden_p + 2)
