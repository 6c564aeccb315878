"""S.MatProd: products of encrypted matrices, packed by rows, with a fixed operand masked once.

    evaluator                                       key holder
    draws S uniform in Z_N, one for each ciphertext of B (or κ bits longer than each value)
      ── FixedFactor ⟨⟨B + S⟩⟩ ─────────────────▶    decrypts, keeps B + S
      ◀── Fixed ────────────────────────────────
    for every product: draws R
      ── MaskedRows ⟨⟨A + R⟩⟩ ──────────────────▶    (A + R)(B + S) mod N, on packed rows
      ◀── RowProducts ⟨⟨(A + R)(B + S)⟩⟩ ────────
    removes R ⊗ ⟨⟨B⟩⟩, ⟨⟨A⟩⟩ ⊗ S and R·S

A packed row times a number is one product mod N, whatever its slots hold, so the key holder need
not see a slot, and masks S uniform in Z_N hide perfectly; shorter ones are within 2^−κ of noise and
make shorter exponents. B + S may be used in many products: each shows the key holder A + R under
fresh masks, and nothing about S. The evaluator learns nothing; the key holder learns shapes and
numbers within 2^−κ of noise. Both follow the protocol and do not pool what they saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

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
    check_room,
    decrypt,
    decrypt_residues,
    encrypt_elements,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import FRESH_CIPHERTEXTS, MASKED_OPERANDS
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed_elements
from sottovoce.protocols.two_party.masks import Masking, elements, grid
from sottovoce.protocols.two_party.products import check_unpacked

Elements = Sequence[Sequence[int]]


class Fixed(Message, frozen=True):
    """The key holder has the masked operand."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, as a receipt",
        reveals="that the masked operand arrived",
        assuming="the key holder says so only when it has it",
    )


class FixedFactor(Question[Fixed], frozen=True):
    """⟨⟨B + S⟩⟩, an operand of products to come."""

    discloses: ClassVar = Disclosure(
        seen_by="the key holder, who decrypts it and keeps it for later products",
        reveals="the shape and the slots; every ciphertext holds noise",
        assuming="masks are uniform in Z_N, or reach κ bits beyond the values in every slot",
    )
    matrix: ForKeyHolder
    place: int = 0


class RowProducts(Message, frozen=True):
    """⟨⟨(A + R)(B + S)⟩⟩ mod N, packed as B is."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    rows: Ciphertext


class MaskedRows(Question[RowProducts], frozen=True):
    """⟨⟨A + R⟩⟩, whose rows (or single vector) are multiplied with the fixed operand."""

    discloses: ClassVar = MASKED_OPERANDS
    rows: ForKeyHolder
    place: int = 0


@dataclass(frozen=True)
class FixedOperand:
    """The evaluator's side of a fixed operand: ⟨⟨B⟩⟩, and the masks S on what was sent of it.

    `place` says which of several operands at the key holder it is.
    """

    matrix: Encrypted
    masks: Elements = field(repr=False)
    place: int = 0

    def layout_of(self, left: tuple[int, ...]) -> Layout:
        """Return the layout of the product with an operand of this shape."""
        return Layout((*left[:-1], self.matrix.shape[1]), self.matrix.slots)

    def freed(self, product: Ciphertext, left: Encrypted, masks: Elements, scale: Scale) -> Unsent:
        """Return ⟨⟨A·B⟩⟩ from ⟨⟨(A + R)(B + S)⟩⟩; `left` is A, and `masks` is R, row by row."""
        key = self.matrix.key
        square, modulus = key.square, key.modulus
        rows = grid(self.matrix)
        columns = [list(column) for column in zip(*rows, strict=True)]
        by_block = [square.combined(column, masks) for column in columns]
        own = [list(column) for column in zip(*self.masks, strict=True)]
        lines = grid(left)
        by_line = [square.combined(line, own) for line in lines]
        foreign: list[int] = []
        known: list[int] = []
        for line, row in enumerate(masks):
            for block, column in enumerate(own):
                foreign.append(by_block[block][line] * by_line[line][block])
                known.append(-sum(r * s for r, s in zip(row, column, strict=True)) % modulus)
        removed = square.multiplied(square.inverses(square.reduced(foreign)), key.embedded(known))
        residues = square.multiplied(product.residues, removed)
        return Unsent(key, tuple(residues), product.layout, product.scale).uncover(scale=scale)


def fix(
    matrix: Encrypted, *, entropy: Entropy, place: int = 0, masking: Masking | None = None
) -> Party[FixedOperand]:
    """Mask an operand once, at the evaluator, for all products to come.

    Masks are uniform in Z_N, which hides perfectly. With `masking` each value gets a mask that is κ
    bits longer, if the slots have room: products then take about half of the time. Another operand
    in the same `place` replaces it.
    """
    if len(matrix.shape) != 2 or matrix.layout.symmetric or matrix.layout.covered:
        raise MismatchError(f"S.MatProd: expected a matrix by rows, found {matrix.layout}")
    if masking is None:
        masks = elements(matrix.key.modulus, matrix.layout.ciphertexts, entropy=entropy)
    else:
        by_value = masking.over(matrix, entropy=entropy)
        scale = matrix.scale.plus(by_value.scale)
        check_room(matrix.key, matrix.layout, scale, "fixed factor")
        masks = matrix.layout.pack(by_value.integers)
    yield from ask(
        KEY_HOLDER, FixedFactor(matrix.cover(masks).for_key_holder(entropy=entropy), place)
    )
    step = matrix.layout.line_ciphertexts
    return FixedOperand(matrix, [masks[i : i + step] for i in range(0, len(masks), step)], place)


def times_fixed(
    left: Encrypted, right: FixedOperand, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """Return ⟨⟨A·B⟩⟩ for an unpacked matrix or vector A and a fixed operand B."""
    check_unpacked("S.MatProd", left)
    if not left.shape or left.shape[-1] != right.matrix.shape[0]:
        raise MismatchError(
            f"S.MatProd: shapes do not meet, {left.shape} beside {right.matrix.shape}"
        )
    layout = right.layout_of(left.shape)
    scale = left.scale.dot(right.matrix.scale, left.shape[-1])
    check_room(left.key, layout, scale, "S.MatProd")
    masks = (masking or Masking()).over(left, entropy=entropy)
    question = MaskedRows((left + masks).for_key_holder(entropy=entropy), right.place)
    answer = yield from ask(KEY_HOLDER, question)
    product = agreed_elements(answer.rows, layout, fraction_bits=scale.fraction_bits)
    return right.freed(product, left, masks.rows(), scale)


def matrix_product(
    left: Encrypted, right: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """S.MatProd at the evaluator: return ⟨⟨A·B⟩⟩ for A unpacked and B by rows, packed or not."""
    operand = yield from fix(right, entropy=entropy)
    return (yield from times_fixed(left, operand, entropy=entropy, masking=masking))


@dataclass(frozen=True)
class DecryptedOperand:
    """A masked operand as the key holder decrypted it: packed rows, as elements of Z_N."""

    rows: Elements = field(repr=False)
    layout: Layout
    fraction_bits: int


class FixedFactors:
    """The key holder's side: for each place the masked operand that came last."""

    def __init__(self, key: SecretKey, *, places: int = 1) -> None:
        """Answer with `key`; keep up to `places` operands."""
        self.key = key
        self._held: list[DecryptedOperand | None] = [None] * places

    def keep(self, question: FixedFactor) -> Fixed:
        """Decrypt and keep a masked operand."""
        layout = question.matrix.layout
        if len(layout.shape) != 2 or layout.symmetric or not layout.covered:
            raise MismatchError(f"fixed factor: expected a covered matrix by rows, found {layout}")
        self._check_place(question.place)
        residues = decrypt_residues(self.key, question.matrix)
        step = layout.line_ciphertexts
        rows = [residues[i : i + step] for i in range(0, len(residues), step)]
        self._held[question.place] = DecryptedOperand(
            rows, layout, question.matrix.scale.fraction_bits
        )
        return Fixed()

    def multiply(
        self, left: Elements, shape: tuple[int, ...], *, place: int
    ) -> tuple[list[int], DecryptedOperand]:
        """Return rows of integers times an operand, mod N, and the operand with its packing."""
        self._check_place(place)
        held = self._held[place]
        if held is None:
            raise MismatchError("S.MatProd: the fixed operand must come first")
        height, width = held.layout.shape
        if not shape or shape[-1] != height:
            raise MismatchError(f"S.MatProd: shapes do not meet, {shape} beside {(height, width)}")
        modulus = self.key.public.modulus
        columns = [list(column) for column in zip(*held.rows, strict=True)]
        product = [
            sum(a * b for a, b in zip(row, column, strict=True)) % modulus
            for row in left
            for column in columns
        ]
        return product, DecryptedOperand(
            (), Layout((*shape[:-1], width), held.layout.slots), held.fraction_bits
        )

    def encrypted(self, left: Plain, *, place: int, entropy: Entropy) -> Ciphertext:
        """Return ⟨⟨left · operand⟩⟩ mod N, packed like the operand."""
        product, form = self.multiply(left.rows(), left.shape, place=place)
        bits = left.scale.fraction_bits + form.fraction_bits
        return encrypt_elements(self.key, product, form.layout, fraction_bits=bits, entropy=entropy)

    def answer(self, question: MaskedRows, *, entropy: Entropy) -> RowProducts:
        """S.MatProd at the key holder."""
        check_unpacked("S.MatProd", question.rows)
        left = decrypt(self.key, question.rows)
        return RowProducts(self.encrypted(left, place=question.place, entropy=entropy))

    def rules(self, *, budget: int, entropy: Entropy) -> list[AnswerRule[Any]]:
        """The rules for a key holder: `budget` operands and `budget` products."""
        return [
            AnswerRule(FixedFactor, self.keep, budget),
            AnswerRule(MaskedRows, lambda q: self.answer(q, entropy=entropy), budget),
        ]

    def stages(self, *, budget: int, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
        """Return the stages of one operand: it comes first and once, then `budget` products."""
        return [
            [AnswerRule(FixedFactor, self.keep, 1)],
            [AnswerRule(MaskedRows, lambda q: self.answer(q, entropy=entropy), budget)],
        ]

    def _check_place(self, place: int) -> None:
        if not 0 <= place < len(self._held):
            raise MismatchError(
                f"fixed factor: expected a place below {len(self._held)}, found {place}"
            )
