"""S.Trunc: dividing encrypted numbers by a power of two, so that scales stop growing.

    evaluator                                          key holder
    draws ρ below 2^(ℓ + κ) for every value, |x| < 2^ℓ
      ── MaskedTruncation ⟨⟨x + 2^ℓ + ρ⟩⟩, t ───▶       q = ⌊· / 2^t⌋
      ◀── Truncated ⟨⟨q⟩⟩ ──────────────────────
    subtracts ⌊(2^ℓ + ρ) / 2^t⌋

The result is ⌊x / 2^t⌋ or one more, because both floors lose less than one unit. Two shortcuts
would be wrong: a masked product truncated in its own trip has the mask as an error, and masks that
are multiples of 2^t show the low bits of x.

The evaluator learns nothing. The key holder sees noise within 2^−κ. Both follow
the protocol and do not pool what they saw.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, MismatchError
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
from sottovoce.protocols.two_party.masks import Masking, filled, size


class Truncated(Message, frozen=True):
    """⟨⟨⌊(x + 2^ℓ + ρ) / 2^t⌋⟩⟩, one value a ciphertext."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    values: Ciphertext


class MaskedTruncation(Question[Truncated], frozen=True):
    """⟨⟨x + 2^ℓ + ρ⟩⟩, packed or not, to be divided by 2^bits."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="the shape and how many bits are cut off; every value is noise",
        assuming=MASKS_REACH_KAPPA_BITS_IN_SLOTS,
    )
    values: ForKeyHolder
    bits: int


@dataclass(frozen=True)
class TruncationMask:
    """The masks of values that are to be truncated, and the part left after truncation."""

    over: Plain = field(repr=False)
    left: Plain = field(repr=False)

    @classmethod
    def draw(
        cls, hidden: Scale, shape: tuple[int, ...], *, bits: int, masking: Masking, entropy: Entropy
    ) -> "TruncationMask":
        """Draw 2^ℓ + ρ for every value of the scale `hidden`, which will be cut by `bits`."""
        if not 0 < bits <= hidden.fraction_bits:
            raise BoundError(
                f"S.Trunc: expected 1 to {hidden.fraction_bits} bits to cut, found {bits}"
            )
        lift = 1 << hidden.bits
        reach = hidden.bits + masking.kappa
        sums = [lift + entropy.bits(reach) for _ in range(size(shape))]
        scale = Scale(hidden.fraction_bits, lift + (1 << reach) - 1)
        return cls(
            Plain(filled(sums, shape), scale),
            Plain(filled([s >> bits for s in sums], shape), scale.truncated(bits)),
        )


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut of the lowest bits of values: their number, the scale of the rest, and the masking.

    The bound in `scale`, that of the rest, may be tighter than the values' own bound, where that
    can be proven.
    """

    bits: int
    scale: Scale
    masking: Masking

    @classmethod
    def of(cls, whole: Scale, bits: int, masking: Masking | None = None) -> "Cut":
        """Return the cut of values of the scale `whole`, with the bound that follows from it."""
        return cls(bits, whole.truncated(bits), masking or Masking())

    def mask(self, whole: Encrypted, *, entropy: Entropy) -> TruncationMask:
        """Draw masks for values that will be cut this way."""
        return TruncationMask.draw(
            whole.scale, whole.shape, bits=self.bits, masking=self.masking, entropy=entropy
        )


def truncate(
    x: Encrypted, bits: int, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """S.Trunc at the evaluator: return ⟨⟨⌊x / 2^bits⌋⟩⟩ (or one more), one value a ciphertext.

    A packed tensor is truncated slot by slot; its slots must have room for the
    masks (`Slots.fit(…, mask_bits=κ)`).
    """
    mask = TruncationMask.draw(
        x.scale, x.shape, bits=bits, masking=masking or Masking(), entropy=entropy
    )
    masked = x + mask.over
    question = MaskedTruncation(masked.for_key_holder(entropy=entropy), bits)
    answer = yield from ask(KEY_HOLDER, question)
    quotient = agreed(answer.values, Layout(x.shape), masked.scale.truncated(bits))
    return (quotient - mask.left).within(x.scale.truncated(bits))


def quotients(masked: Plain, bits: int) -> Plain:
    """Divide masked values at the key holder: ⌊· / 2^bits⌋."""
    if not 0 < bits <= masked.scale.fraction_bits:
        raise MismatchError(
            f"S.Trunc: expected 1 to {masked.scale.fraction_bits} bits to cut, found {bits}"
        )
    floors = masked.integers.astype(object) >> bits
    return Plain(floors, masked.scale.truncated(bits))


def answer_truncation(key: SecretKey, question: MaskedTruncation, *, entropy: Entropy) -> Truncated:
    """S.Trunc at the key holder."""
    quotient = quotients(decrypt(key, question.values), question.bits)
    return Truncated(encrypt(key, quotient, entropy=entropy))


def truncation_rule(key: SecretKey, *, budget: int, entropy: Entropy) -> AnswerRule[Truncated]:
    """The rule for a key holder: `budget` truncations."""
    return AnswerRule(
        MaskedTruncation, lambda q: answer_truncation(key, q, entropy=entropy), budget
    )
