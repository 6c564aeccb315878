"""S.MatProd with truncation: a vector is cut and multiplied with a matrix in one trip.

    evaluator                                              key holder
    masks B once: ── FixedFactor ⟨⟨B + S⟩⟩ ───────────▶     keeps B + S
    every product: the untruncated vector u, packed
      ── MaskedDirection ⟨⟨u + 2^ℓ + ρ⟩⟩, t ──────────▶     q = ⌊· / 2^t⌋
      ◀── Step ⟨⟨q⟩⟩, ⟨⟨q⟩⟩ packed, ⟨⟨q(B + S)⟩⟩ ──────
    r = ⌊(2^ℓ + ρ) / 2^t⌋, p = q − r: removes ⟨⟨p⟩⟩ ⊗ S, r ⊗ ⟨⟨B⟩⟩, r·S

The result is exactly p·B, for p = ⌊u / 2^t⌋ or one more. The evaluator learns
nothing; the key holder sees sizes, t and noise within 2^−κ. Both follow the
protocol and do not pool what they saw.
"""

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Encrypted, ForKeyHolder, Layout, Unsent, decrypt, encrypt
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import (
    BY_KEY_HOLDER,
    FRESH_CIPHERTEXTS,
    MASKS_REACH_KAPPA_BITS_IN_SLOTS,
)
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed, agreed_elements
from sottovoce.protocols.two_party.matrices import FixedFactors, FixedOperand
from sottovoce.protocols.two_party.truncation import Cut, quotients


class Step(Message, frozen=True):
    """The cut masked direction, unpacked and packed, and its product with a fixed matrix."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    direction: Ciphertext
    packed: Ciphertext
    product: Ciphertext


class MaskedDirection(Question[Step], frozen=True):
    """⟨⟨u + 2^ℓ + ρ⟩⟩, packed: cut by `bits`, then multiplied with the matrix in `place`."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="the size, and one step of a public number; every slot is noise",
        assuming=MASKS_REACH_KAPPA_BITS_IN_SLOTS,
    )
    direction: ForKeyHolder
    bits: int
    place: int = 0


@dataclass(frozen=True)
class CutProduct:
    """⟨⟨p⟩⟩ in the slots of u, and ⟨⟨p·B⟩⟩ in those of B.

    `values` is ⟨⟨p⟩⟩ with one value in each ciphertext, for a caller that needs their sum.
    """

    direction: Unsent
    product: Unsent
    values: Unsent


def cut_times_fixed(
    u: Encrypted,
    operand: FixedOperand,
    cut: Cut,
    *,
    entropy: Entropy,
    product: Scale | None = None,
) -> Party[CutProduct]:
    """Return ⟨⟨p⟩⟩ and ⟨⟨p·B⟩⟩ at the evaluator; u is packed, and p is ⌊u / 2^t⌋ or one more.

    `product` is a tighter scale of p·B, where one can be proven.
    """
    matrix = operand.matrix
    if len(u.shape) != 1 or u.slots is None or len(u) != matrix.shape[0]:
        raise MismatchError(
            f"S.MatProd: expected a packed vector of {matrix.shape[0]}, found {u.layout}"
        )
    bound = product or cut.scale.dot(matrix.scale, len(u))
    mask = cut.mask(u, entropy=entropy)
    masked = u + mask.over
    question = MaskedDirection(masked.for_key_holder(entropy=entropy), cut.bits, operand.place)
    answer = yield from ask(KEY_HOLDER, question)
    scale = masked.scale.truncated(cut.bits)
    unpacked = agreed(answer.direction, Layout(u.shape), scale)
    packed = agreed(answer.packed, u.layout, scale)
    covered = agreed_elements(
        answer.product,
        operand.layout_of(u.shape),
        fraction_bits=scale.fraction_bits + matrix.scale.fraction_bits,
    )
    p = (unpacked - mask.left).within(cut.scale)
    return CutProduct(
        (packed - mask.left).within(cut.scale),
        operand.freed(covered, p, mask.left.rows(), bound),
        p,
    )


def answer_direction(held: FixedFactors, question: MaskedDirection, *, entropy: Entropy) -> Step:
    """Cut and multiply at the key holder."""
    key, layout = held.key, question.direction.layout
    if len(layout.shape) != 1 or layout.slots is None or layout.covered:
        raise MismatchError(f"S.MatProd: expected a packed vector, found {layout}")
    q = quotients(decrypt(key, question.direction), question.bits)
    return Step(
        encrypt(key, q, entropy=entropy),
        encrypt(key, q, slots=layout.slots, entropy=entropy),
        held.encrypted(q, place=question.place, entropy=entropy),
    )


def direction_rule(held: FixedFactors, *, budget: int, entropy: Entropy) -> AnswerRule[Step]:
    """The rule for a key holder: `budget` products with the operands that it holds."""
    return AnswerRule(MaskedDirection, lambda q: answer_direction(held, q, entropy=entropy), budget)
