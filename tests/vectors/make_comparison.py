"""Writes comparison.json: comparison keys and their values, by a slow twin of one secret at a time.

    .venv/bin/python tests/vectors/make_comparison.py

The twin follows figure 1 of Boyle, Chandran, Gilboa, Gupta, Ishai, Kumar and Rathee
(EUROCRYPT 2021) bit by bit on Python integers, with this project's hash of seeds.
"""

import json
import random
from hashlib import blake2b
from pathlib import Path

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB

BITS = 63
WORD = 2**64
CONTEXT = b"vectors"
KEY = blake2b(CONTEXT, digest_size=16, person=b"sottovoce/fss/v2").digest()
SEED = (2**128 - 1) ^ 3


def hashed(block: int) -> int:
    aes = Cipher(AES128(KEY), ECB()).encryptor()  # noqa: S305 - a public permutation of blocks
    return int.from_bytes(aes.update(block.to_bytes(16, "little")), "little") ^ block


def expand(seed: int) -> list[tuple[int, int, int]]:
    """Left and right: (seed, flag, value)."""
    values = hashed(seed | 2)
    children = [hashed(seed), hashed(seed | 1)]
    return [
        (child & SEED, child & 1, (values >> 64 * side) % WORD)
        for side, child in enumerate(children)
    ]


def generate(
    threshold: int, payload: int, roots: tuple[int, int]
) -> list[tuple[int, int, int, int]]:
    """The corrections (seed, left flag, right flag, value) of every level, then the last word."""
    seeds, flags, total, levels = list(roots), [0, 1], 0, []
    for level in range(BITS):
        bit = threshold >> (BITS - 1 - level) & 1
        nodes = [expand(seed) for seed in seeds]
        keep, lose = bit, 1 - bit
        sign = -1 if flags[1] else 1
        seed_cw = nodes[0][lose][0] ^ nodes[1][lose][0]
        value_cw = sign * (nodes[1][lose][2] - nodes[0][lose][2] - total)
        if lose == 0:
            value_cw += sign * payload
        total = total - nodes[1][keep][2] + nodes[0][keep][2] + sign * value_cw
        flag_cw = [
            nodes[0][0][1] ^ nodes[1][0][1] ^ bit ^ 1,
            nodes[0][1][1] ^ nodes[1][1][1] ^ bit,
        ]
        for party in (0, 1):
            seed, flag, _ = nodes[party][keep]
            seeds[party] = seed ^ (flags[party] * seed_cw)
            flags[party] = flag ^ (flags[party] & flag_cw[keep])
        levels.append((seed_cw, *flag_cw, value_cw % WORD))
    sign = -1 if flags[1] else 1
    last = sign * ((seeds[1] >> 64) - (seeds[0] >> 64) - total)
    return [*levels, (0, 0, 0, last % WORD)]


def evaluate(party: int, root: int, key: list[tuple[int, int, int, int]], point: int) -> int:
    seed, flag, total = root, party, 0
    for level, (seed_cw, left, right, value_cw) in enumerate(key[:-1]):
        side = point >> (BITS - 1 - level) & 1
        child, below, value = expand(seed)[side]
        total += value + flag * value_cw
        seed, flag = child ^ (flag * seed_cw), below ^ (flag & (left, right)[side])
    total += (seed >> 64) + flag * key[-1][3]
    return (-total if party else total) % WORD


def main() -> None:
    rng = random.Random(2021)
    thresholds = [0, 1, 2**62, 2**63 - 1, *(rng.getrandbits(63) for _ in range(4))]
    points = [0, 0, 2**62, 2**63 - 2, *(rng.getrandbits(63) for _ in range(3)), thresholds[-1]]
    payloads = [1, WORD - 1, *(rng.getrandbits(64) for _ in range(6))]
    roots = [[rng.getrandbits(128) & SEED for _ in thresholds] for _ in range(2)]
    keys = [
        generate(*secret)
        for secret in zip(thresholds, payloads, zip(*roots, strict=True), strict=True)
    ]
    shares = [
        [evaluate(party, *job) for job in zip(roots[party], keys, points, strict=True)]
        for party in (0, 1)
    ]
    for threshold, payload, point, first, second in zip(
        thresholds, payloads, points, *shares, strict=True
    ):
        assert (first + second) % WORD == payload * (point < threshold)
    stored = {
        "provenance": "make_comparison.py: figure 1 of Boyle et al., EUROCRYPT 2021, one at a time",
        "bits": BITS,
        "context": CONTEXT.decode(),
        "thresholds": [f"{word:x}" for word in thresholds],
        "payloads": [f"{word:x}" for word in payloads],
        "points": [f"{word:x}" for word in points],
        "first_roots": [[f"{root % WORD:x}", f"{root >> 64:x}"] for root in roots[0]],
        "second_roots": [[f"{root % WORD:x}", f"{root >> 64:x}"] for root in roots[1]],
        "last": [f"{key[-1][3]:x}" for key in keys],
        "first": [f"{word:x}" for word in shares[0]],
        "second": [f"{word:x}" for word in shares[1]],
    }
    path = Path(__file__).with_name("comparison.json")
    path.write_text(json.dumps(stored, indent=1) + "\n")


if __name__ == "__main__":
    main()
