"""S.MatProd with truncation, where the key holder computes on encrypted masks it cannot read.

    evaluator, with a key pair of its own                  key holder
    masks B once: ── OwnFactor ⟨⟨B + S⟩⟩, [[S]] ──────▶     keeps B + S, and [[S]] as it is
    every product: the untruncated vector u, packed
      ── OwnDirection ⟨⟨u + 2^ℓ + ρ⟩⟩, t ─────────────▶     q = ⌊· / 2^t⌋, draws s
      ◀── OwnStep ⟨⟨q⟩⟩ packed, ⟨⟨q(B + S) + s⟩⟩, [[qS + s]]
    opens qS + s; r = ⌊(2^ℓ + ρ) / 2^t⌋, p = q − r: removes it and r ⊗ ⟨⟨B⟩⟩

⟨⟨·⟩⟩ is encrypted under the key holder's key and [[·]] under the evaluator's own. The product is
that of directions.py, exactly p·B. There the evaluator raises every ⟨⟨p⟩⟩ to a mask that fills a
plaintext. Here the key holder raises [[S]] to q, which is as short as a masked direction, and the
bases never change, so tables of their powers are computed once. That takes a fifth of the time.

Who learns what: the key holder sees [[S]], which it cannot open, sizes, t, and noise within
2^−κ, as before. The evaluator sees ciphertexts that it cannot open, and qS + s: s reaches κ
bits beyond qS, and the ciphertext is re-randomised, so the evaluator learns nothing about q. Both
follow the protocol and do not pool what they saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, TheirError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import FixedBases
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    ForKeyHolder,
    Layout,
    Plain,
    SecretKey,
    Unsent,
    check_key_proof,
    check_room,
    decrypt,
    encrypt,
    encrypt_elements,
    prove_key,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import BY_KEY_HOLDER
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed, agreed_elements
from sottovoce.protocols.two_party.masks import Masking, grid
from sottovoce.protocols.two_party.matrices import Fixed, FixedFactor, FixedFactors
from sottovoce.protocols.two_party.truncation import Cut, quotients


class OwnFactor(Question[Fixed], frozen=True):
    """⟨⟨B + S⟩⟩, and [[S]] under the evaluator's own key."""

    discloses: ClassVar = Disclosure(
        seen_by="the key holder, who decrypts the first and cannot open the second",
        reveals="the shape and the slots; every slot holds noise",
        assuming="masks reach κ bits beyond the values, and Paillier hides under either key",
    )
    matrix: ForKeyHolder
    public: bytes
    key_proof: bytes
    masks: bytes


class OwnStep(Message, frozen=True):
    """The cut masked direction, its masked product, and the product's mask under [[·]]."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who opens the last and cannot open the others",
        reveals="nothing: a product of masks under a mask of its own, κ bits longer",
        assuming="Paillier hides, and the key holder draws its masks anew for every step",
    )
    packed: Ciphertext
    product: Ciphertext
    hidden: bytes


class OwnDirection(Question[OwnStep], frozen=True):
    """⟨⟨u + 2^ℓ + ρ⟩⟩, packed: cut by `bits`, then multiplied with the matrix that is kept."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="the size, and one step of a public number; what it multiplies is noise as well",
        assuming="masks of a direction reach κ bits beyond it, and serve this direction only",
    )
    direction: ForKeyHolder
    bits: int


@dataclass(frozen=True)
class OwnOperand:
    """The evaluator's side of an operand: ⟨⟨B⟩⟩ with tables, and its own key for the masks."""

    matrix: Encrypted
    own: SecretKey = field(repr=False)
    masks: Scale
    masking: Masking
    columns: Sequence[FixedBases] = field(repr=False)

    def hidden_scale(self, q: Scale) -> Scale:
        """QS + s."""
        product = q.dot(self.masks, self.matrix.shape[0])
        return product.plus(self.masking.scale(product))


@dataclass(frozen=True)
class OwnProduct:
    """⟨⟨p⟩⟩ in the slots of u, and ⟨⟨p·B⟩⟩ in those of B."""

    direction: Unsent
    product: Unsent


def fix_own(
    matrix: Encrypted, own: SecretKey, cut: Cut, whole: Scale, *, uses: int, entropy: Entropy
) -> Party[OwnOperand]:
    """Mask an operand once, for about `uses` products with vectors of the scale `whole`."""
    slots, masking = matrix.slots, cut.masking
    if len(matrix.shape) != 2 or slots is None or matrix.layout.symmetric:
        raise MismatchError(f"S.MatProd: expected a matrix by packed rows, found {matrix.layout}")
    masks = masking.over(matrix, entropy=entropy)
    check_room(matrix.key, matrix.layout, matrix.scale.plus(masks.scale), "fixed factor")
    integers = Plain(masks.integers, Scale(0, masks.scale.bound))
    q = _masked_scale(whole, masking).truncated(cut.bits)
    product = q.dot(integers.scale, matrix.shape[0])
    room = Slots.fit(
        product.bound, plaintext_bits=own.public.plaintext_bits, mask_bits=masking.kappa + 1
    )
    sealed = encrypt(own, integers, slots=room, entropy=entropy)
    masked = matrix.cover(matrix.layout.pack(masks.integers)).for_key_holder(entropy=entropy)
    yield from ask(
        KEY_HOLDER, OwnFactor(masked, own.public.to_bytes(), prove_key(own), sealed.to_bytes())
    )
    bits = q.bits
    tables = [
        matrix.key.square.fixed_bases(column, exponent_bits=bits, uses=uses)
        for column in map(list, zip(*grid(matrix), strict=True))
    ]
    return OwnOperand(matrix, own, integers.scale, masking, tables)


def cut_times_own(
    u: Encrypted, operand: OwnOperand, cut: Cut, *, product: Scale, entropy: Entropy
) -> Party[OwnProduct]:
    """Return ⟨⟨p⟩⟩ and ⟨⟨p·B⟩⟩ at the evaluator; u is packed, and p is ⌊u / 2^t⌋ or one more."""
    matrix, key, own = operand.matrix, operand.matrix.key, operand.own
    mask = cut.mask(u, entropy=entropy)
    masked = u + mask.over
    question = OwnDirection(masked.for_key_holder(entropy=entropy), cut.bits)
    answer = yield from ask(KEY_HOLDER, question)
    scale = masked.scale.truncated(cut.bits)
    packed = agreed(answer.packed, u.layout, scale)
    layout = Layout((matrix.shape[1],), matrix.slots)
    fraction = scale.fraction_bits + matrix.scale.fraction_bits
    covered = agreed_elements(answer.product, layout, fraction_bits=fraction)
    hidden = _opened(answer.hidden, own, layout.shape, operand.hidden_scale(scale))
    known = [-spread % key.modulus for spread in _spread(hidden, matrix.slots)]
    (row,) = mask.left.rows()
    foreign = [table([row])[0] for table in operand.columns]
    square = key.square
    removed = square.multiplied(square.inverses(foreign), key.embedded(known))
    residues = square.multiplied(covered.residues, removed)
    return OwnProduct(
        (packed - mask.left).within(cut.scale),
        Unsent(key, tuple(residues), covered.layout, covered.scale).uncover(scale=product),
    )


class OwnFactors:
    """The key holder's side: one masked operand, and its masks under the evaluator's key."""

    def __init__(self, key: SecretKey, masking: Masking, *, uses: int) -> None:
        """Answer with `key` for about `uses` products."""
        self._key = key
        self._masking = masking
        self._uses = uses
        self._fixed = FixedFactors(key)
        self._sealed: Ciphertext | None = None
        self._tables: list[FixedBases] = []

    def keep(self, question: OwnFactor) -> Fixed:
        """Decrypt and keep a masked operand, and keep its sealed masks."""
        own = type(self._key.public).from_bytes(question.public)
        check_key_proof(own, question.key_proof)
        sealed = Ciphertext.from_bytes(question.masks, key=own)
        shape = question.matrix.shape
        if own == self._key.public or sealed.shape != shape or sealed.slots is None:
            raise MismatchError(
                f"fixed factor: expected masks of shape {shape}, packed, under the asker's own key"
            )
        done = self._fixed.keep(FixedFactor(question.matrix))
        self._sealed, self._tables = sealed, []
        return done

    def answer(self, question: OwnDirection, *, entropy: Entropy) -> OwnStep:
        """S.MatProd at the key holder."""
        layout, sealed = question.direction.layout, self._sealed
        if sealed is None:
            raise MismatchError("S.MatProd: the operand must come first")
        if len(layout.shape) != 1 or layout.slots is None or layout.covered:
            raise MismatchError(f"S.MatProd: expected a packed vector, found {layout}")
        q = quotients(decrypt(self._key, question.direction), question.bits)
        hidden = self._product(q, sealed)
        mask = self._masking.draw(hidden.scale, hidden.shape, entropy=entropy)
        elements, form = self._fixed.multiply(q.rows(), q.shape, place=0)
        spread = _spread([int(element) for element in mask.integers.tolist()], form.layout.slots)
        modulus = self._key.public.modulus
        product = encrypt_elements(
            self._key,
            [(element + s) % modulus for element, s in zip(elements, spread, strict=True)],
            form.layout,
            fraction_bits=q.scale.fraction_bits + form.fraction_bits,
            entropy=entropy,
        )
        return OwnStep(
            encrypt(self._key, q, slots=layout.slots, entropy=entropy),
            product,
            (hidden + mask).for_key_holder(entropy=entropy).to_bytes(),
        )

    def _product(self, q: Plain, sealed: Ciphertext) -> Unsent:
        """Return [[qS]], with tables for bases that stay the same."""
        if q.shape != sealed.shape[:1]:
            raise MismatchError(f"S.MatProd: shapes do not meet, {q.shape} beside {sealed.shape}")
        if not self._tables:
            bits = q.scale.bits
            self._tables = [
                sealed.key.square.fixed_bases(column, exponent_bits=bits, uses=self._uses)
                for column in map(list, zip(*grid(sealed), strict=True))
            ]
        residues = tuple(table(q.rows())[0] for table in self._tables)
        scale = q.scale.dot(sealed.scale, len(q.rows()[0]))
        return Unsent(sealed.key, residues, Layout(sealed.shape[1:], sealed.slots), scale)

    def stages(self, *, budget: int, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
        """The key holder's stages: the operand once, then `budget` products."""
        return [
            [AnswerRule(OwnFactor, self.keep, 1)],
            [AnswerRule(OwnDirection, lambda q: self.answer(q, entropy=entropy), budget)],
        ]


def _masked_scale(whole: Scale, masking: Masking) -> Scale:
    """U + 2^ℓ + ρ, as truncation.py draws it."""
    lift = 1 << whole.bits
    return whole.plus(Scale(whole.fraction_bits, lift + (1 << whole.bits + masking.kappa) - 1))


def _spread(values: Sequence[int], slots: Slots | None) -> list[int]:
    """Return values at the places of slots, even if one exceeds its slot."""
    assert slots is not None
    return [
        sum(value << slots.width * place for place, value in enumerate(values[start:stop]))
        for start, stop in (
            (start, start + slots.count) for start in range(0, len(values), slots.count)
        )
    ]


def _opened(data: bytes, own: SecretKey, shape: tuple[int, ...], scale: Scale) -> list[int]:
    """QS + s, if it is as agreed."""
    try:
        ciphertext = Ciphertext.from_bytes(data, key=own.public)
    except TheirError as error:
        raise error.by(KEY_HOLDER) from None
    assert ciphertext.slots is not None
    opened = decrypt(own, agreed(ciphertext, Layout(shape, ciphertext.slots), scale))
    return [int(element) for element in opened.integers.tolist()]
