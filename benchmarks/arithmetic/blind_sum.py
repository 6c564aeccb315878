"""Blind sums beside sums that hide nothing: what the masks cost a peer, and a round everybody."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError
from sottovoce.protocols.blind_sum import Plan, Round, SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.dealing import BOX_BYTES, Dealing, deal
from sottovoce.protocols.blind_sum.graphs import degree
from sottovoce.protocols.blind_sum.keys import Keyring, OwnKeys, members_of
from sottovoce.protocols.blind_sum.masks import Masker
from sottovoce.protocols.blind_sum.messages import (
    BoxFrom,
    KeyBook,
    ShareBook,
    SignedKeys,
    SignedShares,
)
from sottovoce.protocols.conversation import EVALUATOR
from sottovoce.wire import Codec

# numpy adds masks of its own (not cryptographic, nothing agreed, no recovery): a lower bound.
_PARTNER = "numpy's PCG64"


def measure(*, peers: int, words: int, rounds: int) -> list[Row]:
    """CPU seconds for one peer's masks, and for a whole round of all parties in one process."""
    if peers < 3 or words < 1 or rounds < 1:
        raise InputError(
            "bench blind-sum: expected at least 3 peers, 1 word and 1 round, "
            f"found {peers}, {words} and {rounds}"
        )
    entropy = SystemEntropy()
    names = tuple(f"peer {index:03}" for index in range(peers))
    part = SummedVector(EVALUATOR, "bench", WordSpace((words,)))
    plan = Plan(Round("bench", "blind-sum", names), (part,))
    vectors = {name: entropy.words(words) for name in names}
    masker = _masker(plan, names[0], entropy)
    neighbours = len(masker.dealing.neighbours(names[0]))
    return [
        _row(
            "one peer's masks",
            _PARTNER,
            interleaved(
                {
                    "ours": lambda: masker.mask(part),
                    "theirs": lambda: _plain_masks(words, neighbours + 1),
                },
                rounds=rounds,
            ),
        ),
        _row(
            "a whole round",
            "plain addition",
            interleaved(
                {
                    "ours": lambda: _whole(plan, vectors, entropy),
                    "theirs": lambda: part.space.ideal(list(vectors.values())),
                },
                rounds=rounds,
            ),
        ),
    ]


def whole_round(*, peers: int, words: int) -> None:
    """One round of all parties in this process, compared with the plain sum."""
    entropy = SystemEntropy()
    names = tuple(f"peer {index:04}" for index in range(peers))
    part = SummedVector(EVALUATOR, "bench", WordSpace((words,)))
    plan = Plan(Round("bench", "blind-sum", names), (part,))
    _whole(plan, {name: entropy.words(words) for name in names}, entropy)


def book_bytes(peers: int) -> int:
    """Bytes of the books of keys and shares that one peer of many is sent, from their sizes."""
    names = [f"peer {index:04}" for index in range(peers)]
    neighbours = degree(peers)
    secret, signed = bytes(32), bytes(64)
    path = (secret,) * neighbours.bit_length()
    keys = KeyBook(tuple(SignedKeys(name, secret, secret, secret, signed) for name in names))
    shares = ShareBook(
        tuple(SignedShares(name, secret, secret, signed) for name in names),
        tuple(BoxFrom(name, bytes(BOX_BYTES), signed, path) for name in names[:neighbours]),
    )
    codec = Codec()
    return len(codec.encode(keys)) + len(codec.encode(shares))


def _row(operation: str, partner: str, seconds: dict[str, float]) -> Row:
    return {
        "operation": operation,
        "partner": partner,
        "ours": seconds["ours"],
        "theirs": seconds["theirs"],
        "ratio": seconds["ours"] / seconds["theirs"],
    }


def _whole(plan: Plan, vectors: dict[str, NDArray[np.uint64]], entropy: Entropy) -> object:
    values = {name: (vector,) for name, vector in vectors.items()}
    space = plan.parts[0].space
    summed = pairwise.run(plan, values, entropy=entropy).results[EVALUATOR].sums[0]
    if not np.array_equal(summed, space.ideal(list(vectors.values()))):
        raise AssertionError("blind sum: not the plain sum")
    return summed


def _plain_masks(words: int, count: int) -> NDArray[np.uint64]:
    total = np.zeros(words, np.uint64)
    for seed in range(count):
        total += np.random.Generator(np.random.PCG64(seed)).integers(
            0, 2**64, words, dtype=np.uint64
        )
    return total


def _masker(plan: Plan, me: str, entropy: Entropy) -> Masker:
    """One peer after the set was agreed: real keys, real shares, no conversation."""
    members = members_of(plan.this, entropy)
    own = {name: OwnKeys.draw(entropy) for name in plan.this.peers}
    keyring = Keyring(
        plan.this,
        {name: keys.signed(plan.this, members[name].identity) for name, keys in own.items()},
    )
    shares = {
        name: deal(keyring, members[name], own[name], entropy=entropy)[0].shares for name in own
    }
    graph = keyring.graph
    return Masker(Dealing(keyring, graph, shares), me, own[me])
