"""Make tests/vectors/quorum.json: residues, shares, the fused truncation, and a conversation.

Residues, shares and quotients are worked out here with Python's integers alone. The conversation
is recorded, and every packet of it is made wrong.
Run from the repository: PYTHONPATH=tests python tests/vectors/make_quorum.py
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from harness.conversations.replay import CHANGES, record, refusal
from harness.entropy import SeededEntropy
from harness.quorums import here, quorum_of, shared
from sottovoce.entropy import Expansion
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.dealing import seated
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.truncation import FusedTruncation, truncated
from sottovoce.protocols.shares.material import Ledger

HERE = Path(__file__).parent
# The seven largest primes below 2^21.
PRIMES = (2097143, 2097133, 2097131, 2097097, 2097091, 2097083, 2097047)
SMALL = {"bits": 3, "shift": 2, "hiding": 1}
QUORUM = quorum_of(3, 1)
SESSION = here(QUORUM).encode()


def residues(value: int) -> list[int]:
    """A number modulo every prime."""
    return [value % prime for prime in PRIMES]


def arithmetic() -> list[dict[str, Any]]:
    """Pairs of numbers with their residues, and those of sum, difference and product."""
    random = Random(1)
    numbers = [0, 1, -1, 2**62, -(2**62), *(random.randint(-(2**70), 2**70) for _ in range(5))]
    return [
        {
            "left": str(left),
            "right": str(right),
            "left_residues": residues(left),
            "right_residues": residues(right),
            "sum": residues(left + right),
            "difference": residues(left - right),
            "product": residues(left * right),
        }
        for left, right in zip(numbers, reversed(numbers), strict=True)
    ]


def sharings() -> list[dict[str, Any]]:
    """Polynomials in every field, their values at the members' points, and one wrong share."""
    random = Random(2)
    made = []
    for members, degree in ((3, 1), (3, 2), (5, 1), (5, 2), (5, 4), (9, 4)):
        secret = random.randint(-(2**80), 2**80)
        slopes = [[random.randrange(prime) for _ in range(degree)] for prime in PRIMES]
        shares = [
            [
                (secret + sum(c * point ** (i + 1) for i, c in enumerate(slope))) % prime
                for prime, slope in zip(PRIMES, slopes, strict=True)
            ]
            for point in range(1, members + 1)
        ]
        spare = members - degree - 1
        made.append(
            {
                "members": members,
                "degree": degree,
                "secret": str(secret),
                "shares": shares,
                # Of the second member's share a residue is one too large.
                "wrong_is_seen": spare >= 1,
                "wrong_is_named": spare >= 2,
            }
        )
    return made


def truncations() -> list[dict[str, Any]]:
    """Every value below 2^3 under every mask of one and of two dealers, and its quotient."""
    made = []
    for dealers in (1, 2):
        bits, shift, hiding = SMALL.values()
        centre = (dealers << shift) - (dealers - 1 << shift - 1)
        offset = (1 << max(bits, shift)) + centre
        taken = (1 << max(bits, shift) - shift) + dealers
        rows = []
        for value in range(-(2**bits) + 1, 2**bits):
            for masks in product(range(2 ** (bits + hiding)), repeat=dealers):
                opened = value + offset + sum(masks) >> shift
                quotient = opened - sum(mask >> shift for mask in masks) - taken
                rows.append([value, *masks, quotient])
        made.append({"dealers": dealers, **SMALL, "rows": rows})
    return made


def programs() -> Mapping[str, Party[Any]]:
    """Three members bring two numbers down to a sixteenth, and an opener opens."""
    truncation = FusedTruncation.of(QUORUM, bits=40, shift=4, hiding=60)
    shares = shared(QUORUM, np.array([1000, -77]))

    def member(name: str, seed: int) -> Party[Any]:
        own = Expansion(SeededEntropy(seed).seed(), f"vectors/{name}/v1")
        seat = yield from seated(QUORUM, name, here(QUORUM), entropy=own, ledger=Ledger())
        return (yield from truncated(seat, truncation, shares[name], purpose="vectors"))

    def opener() -> Party[None]:
        yield from Opener(QUORUM).open(truncation.opening(QUORUM, (2,)))

    made: dict[str, Party[Any]] = {
        name: member(name, seed) for seed, name in enumerate(QUORUM.members)
    }
    return {**made, QUORUM.opener: opener()}


def conversation() -> dict[str, Any]:
    """Every packet, and what each way to make it wrong is refused with."""
    packets = record(programs, session=SESSION)
    bad = []
    for index in range(len(packets)):
        for change in CHANGES:
            result = refusal(programs, packets, index, change)
            bad.append({"packet": index, "change": change, "refusal": result and asdict(result)})
    return {
        "session": SESSION.hex(),
        "packets": [
            {"from": p.sender, "to": p.recipient, "number": p.number, "body": p.body.hex()}
            for p in packets
        ],
        "bad": bad,
    }


def vectors() -> dict[str, Any]:
    """All of it."""
    return {
        "provenance": "made by tests/vectors/make_quorum.py with Python's integers; the "
        "conversation from seeded entropy",
        "primes": list(PRIMES),
        "arithmetic": arithmetic(),
        "sharings": sharings(),
        "truncations": truncations(),
        "conversation": conversation(),
    }


def main() -> None:
    """Write the file."""
    text = json.dumps(vectors(), ensure_ascii=False, separators=(",", ":"))
    (HERE / "quorum.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
