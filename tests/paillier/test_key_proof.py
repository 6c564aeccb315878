"""A key comes with a proof that it is fit: what proves it, and every way to fail."""

import json
from math import gcd, prod
from pathlib import Path

import gmpy2
import pytest

from harness.keys import toy_key
from sottovoce.errors import MalformedError
from sottovoce.paillier import InsecureToyPublicKey, Profile, PublicKey, check_key_proof, prove_key
from sottovoce.paillier.proof import FACTOR_BITS, ROOTS, _challenges, _square_challenges
from sottovoce.paillier.uniform_powers import FACTORS

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "key_proofs.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("profile", Profile)
def test_an_honest_key_proves_itself(profile: Profile) -> None:
    key = toy_key(profile=profile)
    proof = prove_key(key)
    check_key_proof(key.public, proof)
    assert len(proof) == 2 * ROOTS * key.bits // 8
    assert proof == prove_key(key)


def test_ten_roots_and_no_small_factor_give_128_bits() -> None:
    assert ROOTS * FACTOR_BITS >= 128


def test_ten_square_roots_leave_no_room_for_more_factors() -> None:
    """With one factor more than FACTORS all ten roots exist with probability 2^-130."""
    assert ROOTS * (FACTORS + 1 - 2) >= 128


def test_the_square_roots_shown_are_always_the_same_squares() -> None:
    """Two different square roots of one number would factor N."""
    key = toy_key()
    roots = key.square_roots(_square_challenges(key.public))
    for root, challenge in zip(roots, _square_challenges(key.public), strict=True):
        assert pow(root, 2, key.public.modulus) in {challenge, key.public.modulus - challenge}
        for prime in (key.p, key.q):
            assert pow(root, (prime - 1) // 2, prime) == 1


def test_a_modulus_of_many_primes_finds_no_proof() -> None:
    """Square-free and coprime to its order: only the square roots tell it from an honest one."""
    primes = [gmpy2.next_prime(start) for start in range(31 << 11, 1 << 16, 1 << 7)]
    modulus = int(prod(primes[:16]))
    order = int(prod(prime - 1 for prime in primes[:16]))
    assert gcd(modulus, order) == 1
    assert modulus.bit_length() == 256
    key = InsecureToyPublicKey(Profile.TEXTBOOK, modulus)
    exponent = pow(modulus, -1, order)
    nth = [pow(challenge, exponent, modulus) for challenge in _challenges(key)]
    assert [pow(root, modulus, modulus) for root in nth] == _challenges(key)
    rooted = [
        any(all(gmpy2.jacobi(sign * y, prime) == 1 for prime in primes[:16]) for sign in (1, -1))
        for y in _square_challenges(key)
    ]
    assert not any(rooted)
    proof = b"".join(root.to_bytes(32) for root in [*nth, *nth])
    with pytest.raises(MalformedError, match="square roots"):
        check_key_proof(key, proof)


def unfit(bits: int) -> tuple[InsecureToyPublicKey, int, int]:
    """A modulus P·Q where P divides Q − 1, and its two primes."""
    for start in range(1, 200):
        p = gmpy2.next_prime((1 << bits // 2 - 5) + (start << 32))
        for k in range(1, 400):
            q = 2 * k * p + 1
            if (p * q).bit_length() == bits and gmpy2.is_prime(q):
                return InsecureToyPublicKey(Profile.TEXTBOOK, int(p * q)), int(p), int(q)
    raise AssertionError("no such modulus")


def test_a_modulus_that_divides_its_order_finds_no_proof() -> None:
    """P divides Q − 1: one number in P has an N-th root, and a maker of such a key has none."""
    key, p, q = unfit(512)
    assert gcd(key.modulus, (p - 1) * (q - 1)) == p
    challenges = _challenges(key)
    rooted = [pow(challenge, (q - 1) // p, q) == 1 for challenge in challenges]
    assert not any(rooted)
    for guess in (bytes(ROOTS * 128), b"\x01" * (ROOTS * 128), (b"\0" * 63 + b"\1") * 2 * ROOTS):
        with pytest.raises(MalformedError, match="key proof"):
            check_key_proof(key, guess)


def test_a_small_common_factor_is_refused_before_any_root() -> None:
    """Between the factors that every key is checked for and 2^13 a root may exist by chance."""
    small = 8191
    p = gmpy2.next_prime((1 << 255) // small)
    assert (p * small).bit_length() == 256
    key = InsecureToyPublicKey(Profile.TEXTBOOK, int(p * small))
    with pytest.raises(MalformedError, match=r"a factor below 2\^13"):
        check_key_proof(key, bytes(ROOTS * 64))


@pytest.mark.parametrize(
    "change", ["shorter", "longer", "zero", "modulus", "bit", "order", "minus"]
)
def test_any_other_proof_is_refused(change: str) -> None:
    key = toy_key()
    proof, width = prove_key(key), key.bits // 8
    changed = {
        "shorter": proof[:-1],
        "longer": proof + b"\0",
        "zero": bytes(width) + proof[width:],
        "modulus": key.public.modulus.to_bytes(width) + proof[width:],
        "bit": proof[:-1] + bytes([proof[-1] ^ 1]),
        "order": proof[width:] + proof[:width],
        "minus": _negated_first(proof, key.public.modulus),
    }[change]
    with pytest.raises(MalformedError, match="key proof: "):
        check_key_proof(key.public, changed)


def _negated_first(proof: bytes, modulus: int) -> bytes:
    width = len(proof) // (2 * ROOTS)
    return (modulus - int.from_bytes(proof[:width])).to_bytes(width) + proof[width:]


def test_a_proof_belongs_to_one_key() -> None:
    """Also to its profile and its h: whoever exchanges h needs another proof."""
    key, other = toy_key(), toy_key(seed=5)
    base = pow(key.public.base, 3, key.public.modulus)
    again = InsecureToyPublicKey(key.public.profile, key.public.modulus, base)
    for public in (other.public, again):
        with pytest.raises(MalformedError, match="key proof"):
            check_key_proof(public, prove_key(key))


@pytest.mark.parametrize("case", VECTORS["good"], ids=lambda case: case["name"])
def test_good_vectors(case: dict[str, str]) -> None:
    check_key_proof(public_of(case), bytes.fromhex(case["proof"]))


@pytest.mark.parametrize("case", VECTORS["bad"], ids=lambda case: case["name"])
def test_bad_vectors(case: dict[str, str]) -> None:
    with pytest.raises(MalformedError, match=case["error"]):
        check_key_proof(public_of(case), bytes.fromhex(case["proof"]))


def public_of(case: dict[str, str]) -> PublicKey:
    kind = PublicKey if case["name"].startswith("2048") else InsecureToyPublicKey
    return kind.from_bytes(bytes.fromhex(case["key"]))
