"""S.Mult with truncation: packed vectors are cut and multiplied in one trip.

    evaluator                                                   key holder
    untruncated packed vectors u₀, u₁, … of one length
      ── MaskedLines ⟨⟨u_j + 2^ℓ + ρ_j⟩⟩, t_j ─────────────▶     q_j = ⌊· / 2^t_j⌋
      ◀── LineProducts ⟨⟨q_j⟩⟩ spread, ⟨⟨q₀ ∘ q_j⟩⟩ packed ──
    r_j = ⌊(2^ℓ + ρ_j) / 2^t_j⌋, p_j = q_j − r_j: removes r₀ ⊗ ⟨⟨q_j⟩⟩, r_j ⊗ ⟨⟨q₀⟩⟩; adds r₀ ∘ r_j

The results are exactly p_j and p₀ ∘ p_j (value by value), packed again, for p_j = ⌊u_j / 2^t_j⌋ or
one more. "Spread" means that every value comes in a ciphertext of its own and in the slot where it
belongs. A short exponent on it then acts on one slot, and multiplying such powers packs them,
without shifts. That takes one encryption and one short exponent a value, where packing by Horner's
scheme would take as many squarings as a slot has bits.

Sums of slots that overflow into each other on the way cancel again modulo N, so the
slots need room for the masked vectors only, not for their products. The evaluator
learns nothing; the key holder sees sizes, t_j and noise within 2^−κ. Both follow the
protocol and do not pool what they saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    ForKeyHolder,
    Layout,
    PublicKey,
    SecretKey,
    Unsent,
    check_room,
    decrypt,
    encrypt_elements,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import (
    BY_KEY_HOLDER,
    FRESH_CIPHERTEXTS,
    MASKS_REACH_KAPPA_BITS_IN_SLOTS,
)
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed_count, agreed_elements
from sottovoce.protocols.two_party.truncation import Cut, TruncationMask, quotients
from sottovoce.wire import Value

T = TypeVar("T")


class LineProducts(Message, frozen=True):
    """⟨⟨q_j⟩⟩ spread and ⟨⟨q₀ ∘ q_j⟩⟩ packed, mod N, for every line."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    spread: tuple[Ciphertext, ...]
    products: tuple[Ciphertext, ...]


class MaskedLine(Value, frozen=True):
    """⟨⟨u + 2^ℓ + ρ⟩⟩, packed, to be cut by `bits`."""

    values: ForKeyHolder
    bits: int


class MaskedLines(Question[LineProducts], frozen=True):
    """Masked vectors to be cut; the first is then multiplied with every one, itself included."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="how many vectors of which length, and bits to cut off; every slot is noise",
        assuming=MASKS_REACH_KAPPA_BITS_IN_SLOTS,
    )
    lines: tuple[MaskedLine, ...]


@dataclass(frozen=True)
class CutLines:
    """⟨⟨p_j⟩⟩ and ⟨⟨p₀ ∘ p_j⟩⟩, packed as the vectors were."""

    values: tuple[Unsent, ...]
    products: tuple[Unsent, ...]


def cut_and_multiply(
    lines: Sequence[Encrypted], cuts: Sequence[Cut], *, entropy: Entropy
) -> Party[CutLines]:
    """Return ⟨⟨p_j⟩⟩ and ⟨⟨p₀ ∘ p_j⟩⟩ at the evaluator; every vector has its own cut.

    The bounds of the products follow from the cuts' scales, and must fit the slots.
    """
    layout = _common([line.layout for line in lines])
    scales = [cuts[0].scale.times(cut.scale) for cut in cuts]
    for scale in scales:
        check_room(lines[0].key, layout, scale, "S.Mult")
    masks = [cut.mask(line, entropy=entropy) for line, cut in zip(lines, cuts, strict=True)]
    masked = [line + mask.over for line, mask in zip(lines, masks, strict=True)]
    question = MaskedLines(
        tuple(
            MaskedLine(line.for_key_holder(entropy=entropy), cut.bits)
            for line, cut in zip(masked, cuts, strict=True)
        )
    )
    answer = yield from ask(KEY_HOLDER, question)
    parts = _Parts.of(answer, lines[0].key, layout, masks)
    return CutLines(
        tuple(parts.value(j, cut.scale) for j, cut in enumerate(cuts)), parts.products(scales)
    )


@dataclass(frozen=True)
class _Parts:
    """The parts of an answer at the evaluator, with the masks that are still on them."""

    key: PublicKey
    layout: Layout
    spread: Sequence[Sequence[Residue]] = field(repr=False)
    multiplied: Sequence[Sequence[Residue]] = field(repr=False)
    left: Sequence[Sequence[int]] = field(repr=False)

    @classmethod
    def of(
        cls,
        answer: LineProducts,
        key: PublicKey,
        layout: Layout,
        masks: Sequence[TruncationMask],
    ) -> "_Parts":
        """Return the parts, after checking that they are what was asked for."""
        bits = [mask.left.scale.fraction_bits for mask in masks]
        for parts in (answer.spread, answer.products):
            agreed_count(parts, len(masks), "line products")
        for spread, product, own in zip(answer.spread, answer.products, bits, strict=True):
            agreed_elements(spread, Layout(layout.shape), fraction_bits=own)
            agreed_elements(product, layout, fraction_bits=bits[0] + own)
        return cls(
            key,
            layout,
            [part.residues for part in answer.spread],
            [part.residues for part in answer.products],
            [mask.left.flat() for mask in masks],
        )

    def value(self, line: int, scale: Scale) -> Unsent:
        """Return ⟨⟨p_j⟩⟩: multiply the spread values of each ciphertext and remove their masks."""
        square, slots = self.key.square, _slots(self.layout)
        joined = [square.product(block) for block in _blocks(self.spread[line], slots)]
        known = [-_joined(block, slots) for block in _blocks(self.left[line], slots)]
        residues = square.multiplied(joined, self.key.embedded(known))
        return Unsent(self.key, tuple(residues), self.layout, scale)

    def products(self, scales: Sequence[Scale]) -> tuple[Unsent, ...]:
        """⟨⟨p₀ ∘ p_j⟩⟩ = ⟨⟨q₀ ∘ q_j⟩⟩ − r₀ ⊗ ⟨⟨q_j⟩⟩ − r_j ⊗ ⟨⟨q₀⟩⟩ + r₀ ∘ r_j."""
        square, slots = self.key.square, _slots(self.layout)
        answers = []
        for j, scale in enumerate(scales):
            bases, exponents = list(self.spread[j]), list(self.left[0])
            if j == 0:
                exponents = [2 * r for r in exponents]
            blocks = zip(_blocks(bases, slots), _blocks(exponents, slots), strict=True)
            foreign = [square.combined(base, [row])[0] for base, row in blocks]
            if j > 0:
                others = zip(
                    _blocks(self.spread[0], slots), _blocks(self.left[j], slots), strict=True
                )
                more = [square.combined(base, [row])[0] for base, row in others]
                foreign = square.multiplied(foreign, more)
            squares = [r * s for r, s in zip(self.left[0], self.left[j], strict=True)]
            known = self.key.embedded([_joined(block, slots) for block in _blocks(squares, slots)])
            removed = square.multiplied(square.inverses(foreign), known)
            residues = square.multiplied(self.multiplied[j], removed)
            answers.append(Unsent(self.key, tuple(residues), self.layout, scale))
        return tuple(answers)


def answer_lines(key: SecretKey, question: MaskedLines, *, entropy: Entropy) -> LineProducts:
    """Cut and multiply at the key holder."""
    layout = _common([line.values.layout for line in question.lines])
    slots = _slots(layout)
    cut = [quotients(decrypt(key, line.values), line.bits) for line in question.lines]
    values = [line.flat() for line in cut]
    spread, products = [], []
    for line, own in zip(cut, values, strict=True):
        bits = line.scale.fraction_bits
        placed = [v << slots.width * (i % slots.count) for i, v in enumerate(own)]
        spread.append(
            encrypt_elements(key, placed, Layout(layout.shape), fraction_bits=bits, entropy=entropy)
        )
        product = [a * b for a, b in zip(values[0], own, strict=True)]
        elements = [_joined(block, slots) for block in _blocks(product, slots)]
        bits += cut[0].scale.fraction_bits
        products.append(
            encrypt_elements(key, elements, layout, fraction_bits=bits, entropy=entropy)
        )
    return LineProducts(tuple(spread), tuple(products))


def line_rule(key: SecretKey, *, budget: int, entropy: Entropy) -> AnswerRule[LineProducts]:
    """The rule for a key holder: `budget` trips."""
    return AnswerRule(MaskedLines, lambda q: answer_lines(key, q, entropy=entropy), budget)


def _common(layouts: Sequence[Layout]) -> Layout:
    """Return the layout that all lines share: a packed vector."""
    if not layouts:
        raise MismatchError("S.Mult: there is no line to multiply")
    for layout in layouts:
        layouts[0].check_same(layout, "S.Mult")
    if len(layouts[0].shape) != 1 or layouts[0].slots is None or layouts[0].covered:
        raise MismatchError(f"S.Mult: expected packed vectors, found {layouts[0]}")
    return layouts[0]


def _slots(layout: Layout) -> Slots:
    assert layout.slots is not None
    return layout.slots


def _blocks(values: Sequence[T], slots: Slots) -> list[Sequence[T]]:
    """Return the values of each ciphertext."""
    return [values[i : i + slots.count] for i in range(0, len(values), slots.count)]


def _joined(values: Sequence[int], slots: Slots) -> int:
    """Return Σ value · 2^(width · slot), whether or not a value fits its slot."""
    return sum(value << slots.width * i for i, value in enumerate(values))
