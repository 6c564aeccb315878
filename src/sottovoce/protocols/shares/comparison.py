"""A dealer's two keys, with which two holders turn a public x into shares of β·[x < α].

A distributed comparison function (Boyle, Chandran, Gilboa, Gupta, Ishai, Kumar and
Rathee, EUROCRYPT 2021, figure 1), over many secrets at once: each level of the tree is
one call of AES for all of them.

    dealer: α, β (secret) ──> one key each ──> first, second: V_1(x) + V_2(x) = β·[x < α] mod 2^64

Who learns what: a key alone says nothing about α or β (both are hidden by its own
uniform root), and evaluating it is local. The dealer knows α, so it must never see x.
Assuming that AES under a public key, x ↦ AES(x) ⊕ x (Matyas–Meyer–Oseas), behaves as a
correlation-robust hash of uniform seeds: seeds have 126 uniform bits and two zero bits, which tell
the three uses of a seed apart (left child, right child, values of both). The public key depends on
study, round and attempt, so work against one of them does not help against another.
"""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES128
from cryptography.hazmat.primitives.ciphers.modes import ECB

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.ring import Words

HASH_KEY_BYTES = 16
_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
_SEED_BITS = np.uint64(2**64 - 4)
_BLOCK_BYTES = 16
# The number of secrets at a time: their data fits into the second-level cache.
_CHUNK = 2048


@dataclass(frozen=True, slots=True, repr=False)
class Corrections:
    """The common part of both keys: for each level a seed with two bits below it, and a value.

    Shapes, for `count` secrets of `bits` bits: (bits, count, 2), (bits, count), (count,).
    `hash_key` is the public key of the hash that they were made with.
    """

    seeds: Words
    values: Words
    last: Words
    hash_key: bytes

    def __post_init__(self) -> None:
        shape = self.values.shape
        if len(shape) != 2 or self.seeds.shape != (*shape, 2) or self.last.shape != shape[1:]:
            raise MismatchError(
                f"comparison keys: shapes {self.seeds.shape}, {self.values.shape} and "
                f"{self.last.shape} do not belong together"
            )

    def part(self, which: slice) -> "Corrections":
        """The corrections of some of the secrets."""
        return Corrections(
            self.seeds[:, which], self.values[:, which], self.last[which], self.hash_key
        )


def hash_key(context: bytes) -> bytes:
    """Return the public key of the hash in one study, round and attempt; nobody can choose it."""
    return blake2b(context, digest_size=HASH_KEY_BYTES, person=b"sottovoce/fss/v2").digest()


def draw_roots(entropy: Entropy, count: int) -> Words:
    """One holder's uniform roots, which are the secret part of its keys."""
    roots = entropy.words(count, 2)
    roots[:, 0] &= _SEED_BITS
    return roots


def deal_comparisons(
    thresholds: Words,
    payloads: Words,
    roots: tuple[Words, Words],
    *,
    bits: int,
    key: bytes,
) -> Corrections:
    """The corrections for secrets α of `bits` bits with outputs β, given both holders' roots.

    `key` is the public one of the hash.
    """
    count = len(thresholds)
    dealt = Corrections(
        np.empty((bits, count, 2), np.uint64),
        np.empty((bits, count), np.uint64),
        np.empty(count, np.uint64),
        key,
    )
    for start in range(0, count, _CHUNK):
        part = slice(start, start + _CHUNK)
        both = np.stack([root[part] for root in roots])
        _deal(thresholds[part], payloads[part], both, dealt.part(part))
    return dealt


def evaluate(roots: Words, corrections: Corrections, points: Words, *, first: bool) -> Words:
    """A holder's shares of β·[x < α] for public points x, one point per secret."""
    if not len(roots) == len(points) == len(corrections.last):
        raise MismatchError(
            f"comparison: {len(corrections.last)} keys, {len(roots)} roots, {len(points)} points"
        )
    shares = np.empty(len(points), np.uint64)
    for start in range(0, len(points), _CHUNK):
        part = slice(start, start + _CHUNK)
        value = _evaluate(roots[part], corrections.part(part), points[part], first=first)
        shares[part] = value if first else _ZERO - value
    return shares


def _evaluate(roots: Words, corrections: Corrections, points: Words, *, first: bool) -> Words:
    """Walk from the root to the leaf of every point; the result lacks the holder's sign."""
    bits, count = corrections.values.shape
    hashed = _Hash(2, (count,), corrections.hash_key)
    seed = roots
    flag = np.full(count, 0 if first else 1, np.uint64)
    total = np.zeros(count, np.uint64)
    for level in range(bits):
        side = (points >> np.uint64(bits - 1 - level)) & _ONE
        child, values = hashed(seed, side, _TWO)
        total += np.where(side, values[:, 1], values[:, 0])
        total += corrections.values[level] & (_ZERO - flag)
        seed, flag = _descend(child, corrections.seeds[level], side, flag)
    return total + seed[:, 1] + (corrections.last & (_ZERO - flag))


def _deal(thresholds: Words, payloads: Words, roots: Words, dealt: Corrections) -> None:
    """Fill in `dealt`, level by level: the two holders' seeds differ on the path of α alone.

    Arrays of both holders have them in front: seeds (2, count, 2), flags (2, count).
    """
    bits, count = dealt.values.shape
    hashed = _Hash(3, (2, count), dealt.hash_key)
    seeds = roots
    flags = np.zeros((2, count), np.uint64)
    flags[1] = _ONE
    total = np.zeros(count, np.uint64)
    for level in range(bits):
        bit = (thresholds >> np.uint64(bits - 1 - level)) & _ONE
        left, right, values = hashed(seeds, _ZERO, _ONE, _TWO)
        apart = left ^ right
        kept = left ^ (apart & (_ZERO - bit)[:, None])
        correction = dealt.seeds[level]
        _correct_seeds(correction, kept ^ apart, (left, right), bit)
        lost_value, kept_value = _by_side(values[1] - values[0], bit)
        outside = lost_value + bit * payloads
        dealt.values[level] = _negated(outside - total, where=flags[1])
        total = outside - kept_value
        seeds, flags = _descend(kept, correction, bit, flags)
    dealt.last[:] = _negated(seeds[1, :, 1] - seeds[0, :, 1] - total, where=flags[1])


def _correct_seeds(out: Words, lost: Words, children: tuple[Words, Words], bit: Words) -> None:
    """Make both holders' seeds equal off the path of α; the low two bits control their flags."""
    left, right = ((child[0, :, 0] ^ child[1, :, 0]) & _ONE for child in children)
    np.bitwise_xor(lost[0], lost[1], out=out)
    out[:, 0] &= _SEED_BITS
    out[:, 0] |= left ^ bit ^ _ONE
    out[:, 0] |= (right ^ bit) << _ONE


def _by_side(values: Words, bit: Words) -> tuple[Words, Words]:
    """Return the entries on the side that α does not take, and those on the side that it takes."""
    lost = np.where(bit, values[:, 0], values[:, 1])
    return lost, values[:, 0] + values[:, 1] - lost


def _descend(child: Words, correction: Words, side: Words, flag: Words) -> tuple[Words, Words]:
    """The corrected seeds and flags one level down, at one holder or at both."""
    below = (child[..., 0] ^ (flag & (correction[:, 0] >> side))) & _ONE
    seed = child ^ (correction & (_ZERO - flag)[..., None])
    seed[..., 0] &= _SEED_BITS
    return seed, below


def _negated(words: Words, *, where: Words) -> Words:
    """−words where the flag is set: (w ⊕ −1) + 1."""
    return (words ^ (_ZERO - where)) + where


class _Hash:
    """x ↦ AES(x) ⊕ x of several tweaks of many seeds, in one call of AES."""

    def __init__(self, tweaks: int, shape: tuple[int, ...], key: bytes) -> None:
        self._input = np.empty((tweaks, *shape, 2), "<u8")
        self._output = np.empty(self._input.nbytes + _BLOCK_BYTES - 1, np.uint8)
        # One block at a time under a public key is a permutation of blocks: nothing is encrypted.
        self._aes = Cipher(AES128(key), ECB()).encryptor()  # noqa: S305 - as above

    def __call__(self, seeds: Words, *tweaks: Words | np.uint64) -> Words:
        """One row per tweak; the next call overwrites it."""
        for row, tweak in zip(self._input, tweaks, strict=True):
            row[:] = seeds
            row[..., 0] |= tweak
        blocks = self._input.reshape(-1).view(np.uint8)
        size = self._aes.update_into(blocks.data, self._output.data)
        hashes = self._output[:size].view("<u8").reshape(self._input.shape)
        hashes ^= self._input
        return hashes
