"""Make tests/vectors/paillier.json: keys and ciphertexts in strict bytes, whole and wrong.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_paillier.py
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness.entropy import SeededEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Plain,
    PublicKey,
    SecretKey,
    encrypt,
    generate,
    generate_insecure_for_tests,
)

SEED = 20260602
SIZES = (("short", 3072), ("short", 2048), ("djn", 2048), ("textbook", 2048))


def main() -> None:
    """Write the vectors beside this file."""
    keys = {
        f"{profile} {bits}": generate(bits, profile, entropy=SeededEntropy(SEED + code))
        for code, (profile, bits) in enumerate(SIZES)
    }
    vectors = {
        "provenance": "made by tests/vectors/make_paillier.py from a seed that everybody knows: "
        "these keys protect nothing",
        "seed": SEED,
        "keys": {name: key_vector(key) for name, key in keys.items()},
        "ciphertexts": [c for name, key in keys.items() for c in good(name, key)],
        "bad public keys": list(bad_public(keys["short 2048"].public)),
        "bad secret keys": list(bad_secret(keys["short 2048"])),
        "bad ciphertexts": list(bad_ciphertexts(keys["short 2048"], keys["djn 2048"])),
    }
    text = json.dumps(vectors, indent=1, ensure_ascii=False) + "\n"
    Path(__file__).with_name("paillier.json").write_text(text, encoding="utf-8")


def key_vector(key: SecretKey) -> dict[str, str]:
    """A key, its bytes and what people compare."""
    return {
        "public": key.public.to_bytes().hex(),
        "secret": key.to_bytes().hex(),
        "fingerprint": key.public.fingerprint,
        "identity": key.public.identity.hex(),
    }


def good(name: str, key: SecretKey) -> Iterator[dict[str, Any]]:
    """One ciphertext of every layout, with what it decrypts to."""
    entropy = SeededEntropy(SEED + 100)
    vector = Plain(np.array([0, 1, -1, 2**40, -(2**40)]), Scale(16, 2**40))
    cases = {
        "scalar": encrypt(key, Plain(np.array(-7), Scale(0, 7)), entropy=entropy),
        "vector": encrypt(key.public, vector, entropy=entropy),
        "packed vector": encrypt(key.public, vector, entropy=entropy, slots=Slots(64, 30)),
        "symmetric matrix": encrypt(
            key.public,
            Plain(np.array([[1, -2], [-2, 3]]), Scale(2, 3)),
            entropy=entropy,
            slots=Slots(8, 3),
            symmetric=True,
        ),
    }
    values = {
        "scalar": -7,
        "vector": vector.integers.tolist(),
        "packed vector": vector.integers.tolist(),
        "symmetric matrix": [[1, -2], [-2, 3]],
    }
    for kind, ciphertext in cases.items():
        yield {
            "key": name,
            "kind": kind,
            "bytes": ciphertext.to_bytes().hex(),
            "integers": values[kind],
            "fraction_bits": ciphertext.scale.fraction_bits,
        }


def bad(name: str, data: bytes, match: str) -> dict[str, str]:
    """Bytes that must be refused, and a part of the reason."""
    return {"name": name, "bytes": data.hex(), "match": match}


def bad_public(key: PublicKey) -> Iterator[dict[str, str]]:
    """Public keys that are none."""
    data, width = key.to_bytes(), key.bits // 8
    head, modulus, base = data[:3], data[3 : 3 + width], data[3 + width :]
    toy = generate_insecure_for_tests(1024, entropy=SeededEntropy(SEED)).public
    yield bad("empty", b"", "a head of 3 bytes, found 0")
    yield bad("truncated", data[:-1], "512 bytes after the head, found 511")
    yield bad("over-long", data + b"\0", "512 bytes after the head, found 513")
    yield bad("no such profile", b"\0" + data[1:], "no profile has the code 0")
    yield bad("a profile of the future", b"\x04" + data[1:], "no profile has the code 4")
    yield bad("textbook with a base", b"\x03" + data[1:], "256 bytes after the head, found 512")
    yield bad("1024 bits", toy.to_bytes(), "2048, 3072 or 4096 bits, found 1024")
    yield bad("another size in the head", head[:1] + b"\x0c\x00" + data[3:], "768 bytes after")
    yield bad("a smaller modulus", head + bytes(1) + modulus[1:] + base, "bits, found 20")
    yield bad("an even modulus", head + modulus[:-1] + b"\xf0" + base, "small factor")
    three = key.modulus + 2 * (key.modulus % 3)  # odd, and a multiple of 3
    assert three % 6 == 3
    yield bad("a modulus with a small factor", head + three.to_bytes(width) + base, "small factor")
    yield bad("a base of 0", head + modulus + bytes(width), "profile `short` with base False")
    yield bad("a base of 1", head + modulus + (1).to_bytes(width), "out of range")
    minus = (key.modulus - 1).to_bytes(width)
    yield bad("a base of −1", head + modulus + minus, "out of range")
    yield bad("a base of N or more", head + modulus + b"\xff" * width, "out of range")


def bad_secret(key: SecretKey) -> Iterator[dict[str, str]]:
    """Secret keys that are none."""
    data, half = key.to_bytes(), key.bits // 16
    hidden = (2 * 112) // 8 + 1
    head, p, q = data[:3], data[3 : 3 + half], data[3 + half : 3 + 2 * half]
    rest = data[3 + 2 * half :]
    toy = generate_insecure_for_tests(1024, entropy=SeededEntropy(SEED))
    yield bad("empty", b"", "a head of 3 bytes")
    yield bad("truncated", data[:-1], "bytes after the head")
    yield bad("over-long", data + b"\0", "bytes after the head")
    yield bad("1024 bits", toy.to_bytes(), "found 1024")
    swapped = head + q + p + rest[hidden : 2 * hidden] + rest[:hidden] + rest[2 * hidden :]
    yield bad("a second encoding: the larger prime first", swapped, "the smaller one first")
    yield bad(
        "hidden primes swapped",
        head + p + q + rest[hidden : 2 * hidden] + rest[:hidden] + rest[2 * hidden :],
        "hidden prime is not the one",
    )
    one_off = (key.p - 4).to_bytes(half)
    yield bad("a factor that is not prime", head + one_off + q + rest, "secret key|modulus|share")
    short = (7).to_bytes(hidden)
    yield bad("a short hidden prime", head + p + q + short + rest[hidden:], "at least 224 bits")
    yield bad(
        "a base of another order",
        head + p + q + rest[: 2 * hidden] + (4).to_bytes(2 * half),
        "another order",
    )


def bad_ciphertexts(key: SecretKey, other: SecretKey) -> Iterator[dict[str, str]]:
    """Ciphertexts that are none, under the first key."""
    entropy, square = SeededEntropy(SEED + 200), key.public.modulus**2
    width = key.bits // 4
    whole = encrypt(key, Plain(np.array([5, 6]), Scale(3, 9)), entropy=entropy)
    data = whole.to_bytes()
    head = data[: -2 * width]
    first = data[-2 * width : -width]

    def second(number: int) -> bytes:
        return head + first + number.to_bytes(width)

    yield bad("empty", b"", "ends inside its head, after 0 bytes")
    yield bad("only a head", head, f"expected {len(data)} bytes, found {len(head)}")
    yield bad("truncated", data[:-1], f"expected {len(data)} bytes, found {len(data) - 1}")
    yield bad("over-long", data + b"\0", f"expected {len(data)} bytes, found {len(data) + 1}")
    yield bad("half a head", data[:20], "ends inside its head")
    yield bad("0", second(0), "number 1 is 0")
    yield bad("N²", second(square), "number 1 is N² or more")
    yield bad("the largest bytes", second((1 << 8 * width) - 1), "number 1 is N² or more")
    again = int.from_bytes(data[-width:]) + square
    if again < 1 << 8 * width:
        yield bad("a second encoding of the number", second(again), "number 1 is N² or more")
    yield bad("a factor of N", second(key.p), "shares a factor with N")
    yield bad("N itself", second(key.public.modulus), "shares a factor with N")
    yield bad("a multiple of a factor", second(key.q * 12345), "shares a factor with N")
    yield bad("version 2", b"\x02" + data[1:], "expected version 1, found 2")
    yield bad("unknown flags", data[:1] + b"\x08" + data[2:], "no such flags")
    yield bad("three dimensions", data[:2] + b"\x03" + data[3:], "no such flags or dimensions")
    foreign = encrypt(other, Plain(np.array([5, 6]), Scale(3, 9)), entropy=entropy)
    yield bad("the key of another study", foreign.to_bytes(), "made for another key")
    padded = head[:-3] + b"\x00\x02\x00\x09"
    yield bad("a second encoding of the bound", padded + data[-2 * width :], "not the one encoding")
    yield bad("more numbers than shape", head + first * 3, f"expected {len(data)} bytes")
    shape = head[:35] + (2**32 - 1).to_bytes(4) + head[39:]
    yield bad("a shape beyond all bytes", shape + data[-2 * width :], "expected 2199023255")
    huge = head[:-3] + (257).to_bytes(2) + b"\xff" * 257
    yield bad("a bound over the plaintext", huge + data[-2 * width :], "needs magnitudes up to")
    yield from _bad_slots(key, entropy)


def _bad_slots(key: SecretKey, entropy: SeededEntropy) -> Iterator[dict[str, str]]:
    packed = encrypt(key, Plain(np.array([5, 6]), Scale(3, 9)), entropy=entropy, slots=Slots(8, 4))
    data = packed.to_bytes()
    at = 3 + 32 + 4

    def slots(width: int, count: int) -> bytes:
        return data[:at] + width.to_bytes(2) + count.to_bytes(2) + data[at + 4 :]

    yield bad("slots of no width", slots(0, 4), "expected a width of at least 2")
    yield bad("no slots", slots(8, 0), "at least 1 slot")
    yield bad("slots beyond the plaintext", slots(512, 4), "4 slots of 512 bits do not fit")
    yield bad("an over-full slot", slots(4, 4), "over-full slot")
    yield bad("a symmetric vector", data[:1] + b"\x03" + data[2:], "packed square matrix")


if __name__ == "__main__":
    main()
