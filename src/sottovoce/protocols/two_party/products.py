"""S.Mult, S.InnerProd, S.OuterProd: products of two encrypted operands.

    evaluator                                    key holder
    draws r, s
      ── MaskedFactors ⟨⟨x + r⟩⟩, ⟨⟨y + s⟩⟩ ──▶   decrypts, multiplies
      ◀── Products ⟨⟨(x + r)(y + s)⟩⟩ ─────────   encrypts
    removes s ⊗ ⟨⟨x⟩⟩, r ⊗ ⟨⟨y⟩⟩ and r·s

The evaluator learns nothing (ciphertexts only). The key holder learns shapes and
scales, which are public, and numbers within 2^−κ of noise. Both follow the
protocol and do not pool what they saw. Nothing is truncated here: a masked
product cannot be truncated in its own trip (see `truncation`).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

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
    outer,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import FRESH_CIPHERTEXTS, MASKED_OPERANDS
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Message, Question
from sottovoce.protocols.two_party.answers import agreed
from sottovoce.protocols.two_party.masks import Masking


class Products(Message, frozen=True):
    """⟨⟨(x + r)(y + s)⟩⟩, value by value."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    values: Ciphertext


class MaskedFactors(Question[Products], frozen=True):
    """⟨⟨x + r⟩⟩ and ⟨⟨y + s⟩⟩, to be multiplied value by value."""

    discloses: ClassVar = MASKED_OPERANDS
    left: ForKeyHolder
    right: ForKeyHolder


class InnerProduct(Message, frozen=True):
    """⟨⟨Σ (x + r)(y + s)⟩⟩."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    value: Ciphertext


class MaskedVectors(Question[InnerProduct], frozen=True):
    """⟨⟨x + r⟩⟩ and ⟨⟨y + s⟩⟩, whose inner product is asked for."""

    discloses: ClassVar = MASKED_OPERANDS
    left: ForKeyHolder
    right: ForKeyHolder


class OuterProduct(Message, frozen=True):
    """⟨⟨(x + r)(y + s)ᵀ⟩⟩."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    matrix: Ciphertext


class MaskedColumnAndRow(Question[OuterProduct], frozen=True):
    """⟨⟨x + r⟩⟩ and ⟨⟨y + s⟩⟩, whose outer product is asked for."""

    discloses: ClassVar = MASKED_OPERANDS
    left: ForKeyHolder
    right: ForKeyHolder


def multiply(
    x: Encrypted, y: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """S.Mult at the evaluator: ⟨⟨x·y⟩⟩ value by value, for scalars, vectors or matrices."""
    check_unpacked("S.Mult", x, y)
    check_shapes("S.Mult", x.shape, y.shape)
    pair = _masked(x, y, terms=1, entropy=entropy, masking=masking or Masking())
    answer = yield from ask(KEY_HOLDER, MaskedFactors(pair.left, pair.right))
    product = agreed(answer.values, Layout(x.shape), pair.scale)
    known = Plain(_wide(pair.r) * _wide(pair.s), pair.r.scale.times(pair.s.scale))
    return (product - x * pair.s - y * pair.r - known).within(x.scale.times(y.scale))


def inner_product(
    x: Encrypted, y: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """S.InnerProd at the evaluator: ⟨⟨xᵀy⟩⟩ of two vectors."""
    check_unpacked("S.InnerProd", x, y)
    check_vectors("S.InnerProd", x, y)
    check_shapes("S.InnerProd", x.shape, y.shape)
    pair = _masked(x, y, terms=len(x), entropy=entropy, masking=masking or Masking())
    answer = yield from ask(KEY_HOLDER, MaskedVectors(pair.left, pair.right))
    product = agreed(answer.value, Layout(()), pair.scale)
    known = pair.r @ pair.s
    return (product - x.dot(pair.s) - y.dot(pair.r) - known).within(x.scale.dot(y.scale, len(x)))


def outer_product(
    x: Encrypted, y: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """S.OuterProd at the evaluator: ⟨⟨x yᵀ⟩⟩ of two vectors."""
    check_unpacked("S.OuterProd", x, y)
    check_vectors("S.OuterProd", x, y)
    pair = _masked(x, y, terms=1, entropy=entropy, masking=masking or Masking())
    answer = yield from ask(KEY_HOLDER, MaskedColumnAndRow(pair.left, pair.right))
    shape = (len(x), len(y))
    product = agreed(answer.matrix, Layout(shape), pair.scale)
    by_rows, by_columns = outer(x, pair.s), outer(y, pair.r).T
    known = Plain(np.multiply.outer(_wide(pair.r), _wide(pair.s)), pair.r.scale.times(pair.s.scale))
    return (product - by_rows - by_columns - known).within(x.scale.times(y.scale))


def answer_factors(key: SecretKey, question: MaskedFactors, *, entropy: Entropy) -> Products:
    """S.Mult at the key holder."""
    left, right = _opened(key, question.left, question.right)
    check_shapes("S.Mult", left.shape, right.shape)
    product = Plain(_wide(left) * _wide(right), left.scale.times(right.scale))
    return Products(encrypt(key, product, entropy=entropy))


def answer_vectors(key: SecretKey, question: MaskedVectors, *, entropy: Entropy) -> InnerProduct:
    """S.InnerProd at the key holder."""
    check_vectors("S.InnerProd", question.left, question.right)
    left, right = _opened(key, question.left, question.right)
    return InnerProduct(encrypt(key, left @ right, entropy=entropy))


def answer_column_and_row(
    key: SecretKey, question: MaskedColumnAndRow, *, entropy: Entropy
) -> OuterProduct:
    """S.OuterProd at the key holder."""
    check_vectors("S.OuterProd", question.left, question.right)
    left, right = _opened(key, question.left, question.right)
    matrix = Plain(np.multiply.outer(_wide(left), _wide(right)), left.scale.times(right.scale))
    return OuterProduct(encrypt(key, matrix, entropy=entropy))


def product_rules(key: SecretKey, *, budget: int, entropy: Entropy) -> list[AnswerRule[Any]]:
    """The rules for a key holder: `budget` questions of each kind."""
    return [
        AnswerRule(MaskedFactors, lambda q: answer_factors(key, q, entropy=entropy), budget),
        AnswerRule(MaskedVectors, lambda q: answer_vectors(key, q, entropy=entropy), budget),
        AnswerRule(
            MaskedColumnAndRow, lambda q: answer_column_and_row(key, q, entropy=entropy), budget
        ),
    ]


def check_unpacked(what: str, *operands: Encrypted) -> None:
    """Raise unless every operand has one value a ciphertext, all under one key."""
    for operand in operands:
        if operand.slots is not None or operand.layout.covered:
            raise MismatchError(f"{what}: expected one value a ciphertext, found {operand.layout}")
        if operand.key != operands[0].key:
            raise MismatchError(f"{what}: keys differ, {operands[0].key} beside {operand.key}")


def check_vectors(what: str, *operands: Encrypted) -> None:
    """Raise unless every operand is a vector."""
    for operand in operands:
        if len(operand.shape) != 1:
            raise MismatchError(f"{what}: expected vectors, found shape {operand.shape}")


def check_shapes(what: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    """Raise unless the shapes are the same."""
    if left != right:
        raise MismatchError(f"{what}: shapes differ, {left} beside {right}")


@dataclass(frozen=True)
class _Masked:
    """Both operands as they travel, the masks on them, and the scale of the masked product."""

    left: ForKeyHolder
    right: ForKeyHolder
    r: Plain
    s: Plain
    scale: Scale


def _masked(
    x: Encrypted, y: Encrypted, *, terms: int, entropy: Entropy, masking: Masking
) -> _Masked:
    """Mask both operands, after checking that all later results have room."""
    r, s = masking.over(x, entropy=entropy), masking.over(y, entropy=entropy)
    left, right = x.scale.plus(r.scale), y.scale.plus(s.scale)
    product = left.dot(right, terms)
    removed = [
        x.scale.dot(s.scale, terms),
        y.scale.dot(r.scale, terms),
        r.scale.dot(s.scale, terms),
    ]
    room = product
    for part in removed:
        room = room.plus(part)
    room.check_fits(x.key.plaintext_bound, "masked product")
    return _Masked(
        (x + r).for_key_holder(entropy=entropy),
        (y + s).for_key_holder(entropy=entropy),
        r,
        s,
        product,
    )


def _opened(key: SecretKey, *masked: Ciphertext) -> list[Plain]:
    """Decrypt masked integers; refuse operands that are packed or under masks mod N."""
    check_unpacked("question", *masked)
    return [decrypt(key, operand) for operand in masked]


def _wide(plain: Plain) -> NDArray[Any]:
    return plain.integers.astype(object)
