"""A key comes with a proof that gcd(N, φ(N)) = 1: what proves it, and every way to fail."""

import json
from math import gcd
from pathlib import Path

import gmpy2
import pytest

from harness.keys import toy_key
from sottovoce.errors import MalformedError
from sottovoce.paillier import InsecureToyPublicKey, Profile, PublicKey, check_key_proof, prove_key
from sottovoce.paillier.proof import FACTOR_BITS, ROOTS, _challenges

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors" / "key_proofs.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("profile", Profile)
def test_an_honest_key_proves_itself(profile: Profile) -> None:
    key = toy_key(profile=profile)
    proof = prove_key(key)
    check_key_proof(key.public, proof)
    assert len(proof) == ROOTS * key.bits // 8
    assert proof == prove_key(key)


def test_ten_roots_and_no_small_factor_give_128_bits() -> None:
    assert ROOTS * FACTOR_BITS >= 128


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
    for guess in (bytes(ROOTS * 64), b"\x01" * (ROOTS * 64), (b"\0" * 63 + b"\1") * ROOTS):
        with pytest.raises(MalformedError, match="key proof"):
            check_key_proof(key, guess)


def test_a_small_common_factor_is_refused_before_any_root() -> None:
    """Between the factors that every key is checked for and 2^13 a root may exist by chance."""
    small = 8191
    p = gmpy2.next_prime((1 << 255) // small)
    assert (p * small).bit_length() == 256
    key = InsecureToyPublicKey(Profile.TEXTBOOK, int(p * small))
    with pytest.raises(MalformedError, match=r"a factor below 2\^13"):
        check_key_proof(key, bytes(ROOTS * 32))


@pytest.mark.parametrize("change", ["shorter", "longer", "zero", "modulus", "bit", "order"])
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
    }[change]
    with pytest.raises(MalformedError, match="key proof: "):
        check_key_proof(key.public, changed)


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
