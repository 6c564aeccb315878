"""The check before an encrypted solve: one bit says whether moments outweigh their rows.

    evaluator                                              key holder
      ── MaskedMoments: diagonals, right-hand sides ───▶     q = ⌊· / 2^t⌋ of the latter
      ◀── MomentSizes ⟨⟨Σ diagonal⟩⟩, ⟨⟨q⟩⟩, ⟨⟨Σ q²⟩⟩ ──
    removes its masks: ⟨⟨tr A⟩⟩, ⟨⟨|b|²⟩⟩
      ── MaskedNumbers, SealedTests: S.Sign of tr A, bound − tr A, bound − |b|² ──▶
      ◀── NumberBits, Zeros ────────────────────────────     they stay encrypted
      ── MaskedNumbers, BlindedTests: S.Sign of how many are ≥ 0, less 3 ──▶
      ◀── NumberBits, Verdicts ─────────────────────────

Rows of a known length, as many as were published, have a trace and a right-hand side that are no
larger than the bounds; shares/moment_check.py says which attacks that stops. Diagonal entries stand
in slots: rows whose diagonal entry stands in the same slot are added first, so the key holder gets
one ciphertext for every slot. Entries that the solve's interval allows cannot overflow a slot in
such a sum, and with other entries the solve fails its residual check.

The evaluator learns the one bit, which is true in every honest run. The key holder sees noise
within 2^−κ and a fair coin. Both follow the protocol and do not pool what they saw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    ForKeyHolder,
    Layout,
    Plain,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
    stack,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import (
    BY_KEY_HOLDER,
    FRESH_CIPHERTEXTS,
    MASKS_REACH_KAPPA_BITS_IN_SLOTS,
)
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed
from sottovoce.protocols.two_party.comparison import sealed_signs, sign_rules, signs
from sottovoce.protocols.two_party.masks import Masking, filled, grid
from sottovoce.protocols.two_party.truncation import TruncationMask, quotients

# The number of bits of b that are kept below the bound of one of its entries.
_SPARE_BITS = 6
_TESTS = 3


class MomentSizes(Message, frozen=True):
    """The sum of masked diagonals, masked and cut right-hand sides, and the sum of squares."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    trace: Ciphertext
    vectors: Ciphertext
    square: Ciphertext


class MaskedMoments(Question[MomentSizes], frozen=True):
    """⟨⟨sums of diagonals + r⟩⟩ and ⟨⟨b + 2^ℓ + ρ⟩⟩; `bits` bits are cut off the latter."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="the size of the moments; every number is noise",
        assuming=MASKS_REACH_KAPPA_BITS_IN_SLOTS,
    )
    diagonals: ForKeyHolder
    vectors: ForKeyHolder
    bits: int


@dataclass(frozen=True)
class EncryptedMomentBounds:
    """Upper bounds on the joint moments from public numbers: tr A, and |b| over all classes."""

    trace: float
    length: float
    peers: int
    """The number of peers, each of which rounded every number once."""


def moments_are_plausible(
    A: Encrypted,
    vectors: Sequence[Encrypted],
    bounds: EncryptedMomentBounds,
    *,
    masking: Masking,
    entropy: Entropy,
) -> Party[bool]:
    """Return whether packed moments (A by rows, b of every class) are possible for their rows."""
    trace, square, kept = yield from _sizes(
        A, stack(vectors), bounds, masking=masking, entropy=entropy
    )
    most = math.ceil(bounds.trace * 2.0**A.scale.fraction_bits) + len(A) * (bounds.peers + 1)
    entries = len(A) * len(vectors)
    longest = math.ceil(bounds.length * 2.0**kept) + math.isqrt(entries) + 1 + bounds.peers
    spare = [
        trace,
        _constant(most, trace.scale.fraction_bits) - trace,
        _constant(longest**2, square.scale.fraction_bits) - square,
    ]
    together = stack(_on_one_grid(spare))
    good = yield from sealed_signs(together, entropy=entropy, masking=masking)
    missing = good.sum().reshaped(1) - Plain(np.array([_TESTS]), Scale(0, _TESTS))
    (plausible,) = yield from signs(missing, entropy=entropy, masking=masking)
    return plausible


def _sizes(
    A: Encrypted,
    vectors: Encrypted,
    bounds: EncryptedMomentBounds,
    *,
    masking: Masking,
    entropy: Entropy,
) -> Party[tuple[Unsent, Unsent, int]]:
    """Return ⟨⟨tr A⟩⟩, ⟨⟨|b|²⟩⟩, and half of the latter's fraction bits."""
    slots = A.slots
    if slots is None or vectors.slots != slots or A.shape != (vectors.shape[1],) * 2:
        raise MismatchError(
            f"moments: expected a packed matrix and vectors, found {A.layout} and {vectors.layout}"
        )
    # There is room for every value that a slot can hold, so none wraps around to a small one.
    room = (1 << slots.width - masking.kappa - 2) - 1
    diagonals = _diagonals(A).within(Scale(A.scale.fraction_bits, room))
    over = masking.over(diagonals, entropy=entropy)
    whole = vectors.within(Scale(vectors.scale.fraction_bits, room))
    entries = math.prod(vectors.shape)
    kept = max(0, math.ceil(math.log2(math.sqrt(entries) / bounds.length)) + _SPARE_BITS)
    bits = whole.scale.fraction_bits - kept
    cut = TruncationMask.draw(whole.scale, whole.shape, bits=bits, masking=masking, entropy=entropy)
    masked = diagonals + over, whole + cut.over
    left, right = (number.for_key_holder(entropy=entropy) for number in masked)
    answer = yield from ask(KEY_HOLDER, MaskedMoments(left, right, bits))
    summed, quotient, squared = _agreed(answer, masked, bits)
    known = Plain(filled([sum(over.integers.diagonal().tolist())], ()), summed.scale)
    trace = (summed - known).within(
        Scale(summed.scale.fraction_bits, len(diagonals) << slots.width)
    )
    masks = Plain(cut.left.integers.reshape(entries), cut.left.scale)
    # Σ (q − r)² = Σ q² − 2 Σ r q + Σ r².
    crossed = quotient.reshaped(entries).dot(masks) * 2
    square = squared - crossed + masks.dot(masks)
    widest = 1 << slots.width - bits + 1
    return trace, square.within(Scale(2 * kept, entries * widest**2)), kept


def _diagonals(A: Encrypted) -> Unsent:
    """Return for every slot the sum of the rows whose diagonal entry stands in it, packed."""
    slots = A.slots
    assert slots is not None
    rows, side = grid(A), min(slots.count, len(A))
    sums = [
        A.key.square.product([rows[row][row // side] for row in range(place, len(A), side)])
        for place in range(side)
    ]
    scale = A.scale.sum_of(-(-len(A) // side))
    return Unsent(A.key, tuple(sums), Layout((side, side), slots), scale)


def _agreed(
    answer: MomentSizes, masked: tuple[Unsent, Unsent], bits: int
) -> tuple[Ciphertext, Ciphertext, Ciphertext]:
    diagonals, vectors = masked
    cut = vectors.scale.truncated(bits)
    return (
        agreed(answer.trace, Layout(()), diagonals.scale.sum_of(len(diagonals))),
        agreed(answer.vectors, Layout(vectors.shape), cut),
        agreed(answer.square, Layout(()), cut.dot(cut, math.prod(vectors.shape))),
    )


def _constant(value: int, fraction_bits: int) -> Plain:
    return Plain(filled([value], ()), Scale(fraction_bits, value))


def _on_one_grid(numbers: Sequence[Unsent]) -> list[Unsent]:
    """Return the same integers under one scale, because only their signs are used."""
    finest = max(number.scale.fraction_bits for number in numbers)
    largest = Scale(finest, max(number.scale.bound for number in numbers))
    return [
        number.divided(finest - number.scale.fraction_bits).within(largest) for number in numbers
    ]


def answer_moments(key: SecretKey, question: MaskedMoments, *, entropy: Entropy) -> MomentSizes:
    """Answer the first trip at the key holder."""
    sides, vectors = question.diagonals.shape, question.vectors.shape
    if len(sides) != 2 or sides[0] != sides[1] or len(vectors) != 2:
        raise MismatchError(f"moments: expected two matrices, found {sides} and {vectors}")
    diagonals = decrypt(key, question.diagonals)
    trace = sum(diagonals.integers.astype(object).diagonal().tolist())
    cut = quotients(decrypt(key, question.vectors), question.bits)
    flat = Plain(filled(cut.flat(), (math.prod(vectors),)), cut.scale)
    summed = Plain(filled([trace], ()), diagonals.scale.sum_of(sides[0]))
    return MomentSizes(
        encrypt(key, summed, entropy=entropy),
        encrypt(key, cut, entropy=entropy),
        encrypt(key, flat.dot(flat), entropy=entropy),
    )


def moment_check_stage(key: SecretKey, *, entropy: Entropy) -> list[AnswerRule[Any]]:
    """The key holder's stage of one check, in which one bit is opened."""
    return [
        AnswerRule(MaskedMoments, lambda q: answer_moments(key, q, entropy=entropy), 1),
        *sign_rules(key, budget=1, numbers=1, sealed=_TESTS, entropy=entropy),
    ]
