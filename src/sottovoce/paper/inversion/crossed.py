"""S.MatProd with truncation: square matrices are cut and multiplied in one trip.

    evaluator                                                     key holder
    untruncated matrices S = U + Vᵀ, in two parts, both packed by rows
      ── MaskedMatrices ⟨⟨U + ρ⟩⟩, ⟨⟨V + ρ'⟩⟩, m, t ─────────▶     Z = (U + ρ) + (V + ρ')ᵀ mod 2^m
      ◀── MatrixProducts ⟨⟨Q⟩⟩, ⟨⟨Qᵀ⟩⟩, ⟨⟨Q_i·Q_j⟩⟩ by rows ──     Q = ⌊Z / 2^t⌋
    P = Q − R: P_i·P_j = Q_i·Q_j − R_i ⊗ ⟨⟨Q_j⟩⟩ − (R_jᵀ ⊗ ⟨⟨P_iᵀ⟩⟩)ᵀ, the next U and V

A plaintext matrix times packed rows costs a short exponent for each row and ciphertext; packed
rows times a plaintext matrix would cost an exponent as long as a plaintext. So the term from the
right is computed transposed, and kept in a separate part, "across". The key holder, who decrypts
both parts anyway, transposes it.

The parts are long, because they contain masks; their sum is short. ρ hides U and the upper bits of
ρ' hide V. Modulo 2^m the two add up to 2^ℓ + a mask that reaches κ bits beyond S, so the sum modulo
2^m is exactly S under that mask. R is the quotient of that mask. The evaluator learns nothing; the
key holder sees sizes, t, m and noise within 2^−κ. Both follow the protocol and do not pool what
they saw.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
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
from sottovoce.protocols.two_party.answers import agreed, agreed_count, agreed_elements
from sottovoce.protocols.two_party.masks import Masking, filled, grid
from sottovoce.wire import Value

Square = NDArray[np.object_]


class MatrixProducts(Message, frozen=True):
    """Every cut masked matrix by rows, then by columns, and the products that were asked for."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    rows: tuple[Ciphertext, ...]
    columns: tuple[Ciphertext, ...]
    products: tuple[Ciphertext, ...]


class MaskedMatrix(Value, frozen=True):
    """One or two masked parts by rows, the second lying across: summed modulo 2^reach, cut."""

    parts: tuple[ForKeyHolder, ...]
    reach: int
    bits: int


class Factors(Value, frozen=True):
    """The two matrices that are multiplied."""

    left: int
    right: int


class MaskedMatrices(Question[MatrixProducts], frozen=True):
    """Masked square matrices that are cut and multiplied."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="how many matrices of which size, and which are multiplied; every slot is noise",
        assuming=MASKS_REACH_KAPPA_BITS_IN_SLOTS,
    )
    matrices: tuple[MaskedMatrix, ...]
    products: tuple[Factors, ...]


@dataclass(frozen=True)
class Crossed:
    """An encrypted square matrix in one or two parts: upright + acrossᵀ, whose sum has a scale."""

    upright: Encrypted
    across: Encrypted | None
    scale: Scale

    @classmethod
    def of(cls, matrix: Encrypted) -> "Crossed":
        """A matrix in one part."""
        return cls(matrix, None, matrix.scale)

    def within(self, scale: Scale) -> "Crossed":
        """The same matrix under a tighter bound, which the caller vouches for."""
        return Crossed(self.upright, self.across, scale)

    def times(self, factor: int, bits: int, scale: Scale) -> "Crossed":
        """Every value times factor / 2^bits, which leaves it in `scale`."""
        parts = [None if p is None else (p * factor).divided(bits) for p in self.parts]
        return Crossed(_some(parts[0]), parts[1], scale)

    def plus(self, other: "Crossed", scale: Scale) -> "Crossed":
        """The sum, which keeps to `scale`."""
        across = self.across
        if other.across is not None:
            across = other.across if across is None else across + other.across
        return Crossed(self.upright + other.upright, across, scale)

    def plus_plain(self, other: Plain, scale: Scale) -> "Crossed":
        """The sum with a public matrix, which keeps to `scale`."""
        return Crossed(self.upright + other, self.across, scale)

    def negated(self) -> "Crossed":
        """Every value with the other sign."""
        return Crossed(-self.upright, None if self.across is None else -self.across, self.scale)

    @property
    def parts(self) -> tuple[Encrypted, Encrypted | None]:
        """Both parts."""
        return self.upright, self.across


def _some(part: Encrypted | None) -> Encrypted:
    assert part is not None
    return part


@dataclass(frozen=True, slots=True)
class MatrixCut:
    """A matrix to be cut by `bits`, and what is known of what is left."""

    matrix: Crossed
    bits: int
    scale: Scale


@dataclass(frozen=True)
class CutMatrices:
    """⟨⟨P⟩⟩ of every matrix, in one part, and the products that were asked for."""

    values: tuple[Crossed, ...]
    products: tuple[Crossed, ...]


@dataclass(frozen=True)
class _MaskedMatrix:
    """A matrix as it travels, and what of its masks is left in what comes back."""

    parts: tuple[ForKeyHolder, ...]
    reach: int
    cut: MatrixCut
    left: Square = field(repr=False)
    layout: Layout

    @property
    def seen_scale(self) -> Scale:
        """The scale of what the key holder makes of it."""
        whole = Scale(self.cut.matrix.scale.fraction_bits, (1 << self.reach) - 1)
        return whole.truncated(self.cut.bits)

    @property
    def left_bound(self) -> int:
        """No mask that is left is larger."""
        return 1 << self.reach - self.cut.bits


def cut_and_multiply_matrices(
    cuts: Sequence[MatrixCut],
    products: Sequence[Factors],
    *,
    masking: Masking,
    entropy: Entropy,
) -> Party[CutMatrices]:
    """⟨⟨P⟩⟩ of every matrix and ⟨⟨P_i·P_j⟩⟩ of every pair, at the evaluator, in one trip."""
    masked = [_masked(cut, masking, entropy=entropy) for cut in cuts]
    question = MaskedMatrices(
        tuple(MaskedMatrix(m.parts, m.reach, m.cut.bits) for m in masked), tuple(products)
    )
    answer = yield from ask(KEY_HOLDER, question)
    _check(answer, masked, products)
    values = tuple(
        Crossed.of((rows - Plain(m.left, m.seen_scale)).within(m.cut.scale))
        for rows, m in zip(answer.rows, masked, strict=True)
    )
    answers = []
    for factors, product in zip(products, answer.products, strict=True):
        left, right = masked[factors.left], masked[factors.right]
        rows, columns = answer.rows[factors.right], answer.columns[factors.left]
        answers.append(_product(product, left, right, rows, columns))
    return CutMatrices(values, tuple(answers))


def _masked(cut: MatrixCut, masking: Masking, *, entropy: Entropy) -> _MaskedMatrix:
    """Masks on both parts that add up, below 2^m, to 2^ℓ and one that reaches κ beyond S."""
    matrix, kappa = cut.matrix, masking.kappa
    shape, bits = matrix.upright.shape, matrix.scale.bits
    lift, reach = 1 << bits, bits + kappa + 1
    count = shape[0] * shape[1]
    sums = filled([lift + entropy.bits(bits + kappa) for _ in range(count)], shape)
    if matrix.across is None:
        over = [_plus(matrix.upright, sums, 1 << reach)]
    else:
        first = matrix.upright.scale.bits + kappa
        above = max(0, matrix.across.scale.bits + kappa - reach)
        own = filled([entropy.bits(first) for _ in range(count)], shape)
        high = filled([entropy.bits(above) << reach for _ in range(count)], shape)
        other = (sums - own).T % (1 << reach) + high
        over = [
            _plus(matrix.upright, own, 1 << first),
            _plus(matrix.across, other, 1 << max(reach, reach + above)),
        ]
    parts = tuple(part.for_key_holder(entropy=entropy) for part in over)
    return _MaskedMatrix(parts, reach, cut, sums >> cut.bits, matrix.upright.layout)


def _plus(part: Encrypted, masks: Square, bound: int) -> Unsent:
    return part + Plain(masks, Scale(part.scale.fraction_bits, bound))


def _check(
    answer: MatrixProducts, masked: Sequence[_MaskedMatrix], products: Sequence[Factors]
) -> None:
    agreed_count(answer.products, len(products), "matrix products")
    for parts in (answer.rows, answer.columns):
        agreed_count(parts, len(masked), "matrix products")
        for part, m in zip(parts, masked, strict=True):
            agreed(part, m.layout, m.seen_scale)
    for product, factors in zip(answer.products, products, strict=True):
        left, right = masked[factors.left].seen_scale, masked[factors.right].seen_scale
        bits = left.fraction_bits + right.fraction_bits
        agreed_elements(product, masked[0].layout, fraction_bits=bits)


def _product(
    product: Ciphertext,
    left: _MaskedMatrix,
    right: _MaskedMatrix,
    rows: Ciphertext,
    columns: Ciphertext,
) -> Crossed:
    """⟨⟨P_i·P_j⟩⟩: upright P_i·Q_j = Q_i·Q_j − R_i·Q_j, and across −R_jᵀ·P_iᵀ."""
    key, size = product.key, product.shape[0]
    p, bits = left.cut.scale, left.cut.scale.fraction_bits + right.cut.scale.fraction_bits
    removed = _times_rows(left.left, rows)
    upright = key.square.multiplied(product.residues, key.square.inverses(removed))
    turned = key.square.inverses(_times_rows(right.left.T, columns))
    known = [_joined(row, left.layout) for row in (right.left.T @ left.left.T).tolist()]
    across = key.square.multiplied(turned, key.embedded([k for row in known for k in row]))
    seen = size * p.bound * right.seen_scale.bound
    long = size * p.bound * right.left_bound
    layout = left.layout
    return Crossed(
        Unsent(key, tuple(upright), layout, Scale(bits, seen)),
        Unsent(key, tuple(across), layout, Scale(bits, long)),
        Scale(bits, size * p.bound * right.cut.scale.bound),
    )


def _times_rows(left: Square, rows: Ciphertext) -> list[Residue]:
    """A plaintext matrix times packed rows, line by line."""
    square = rows.key.square
    exponents = [[int(v) for v in line] for line in left.tolist()]
    columns = [list(column) for column in zip(*grid(rows), strict=True)]
    products = [square.combined(column, exponents) for column in columns]
    return [residue for line in zip(*products, strict=True) for residue in line]


def _joined(row: Sequence[int], layout: Layout) -> list[int]:
    """A row of integers, packed whether or not they fit their slots."""
    slots = layout.slots
    assert slots is not None
    return [
        sum(
            int(value) << slots.width * i
            for i, value in enumerate(row[start : start + slots.count])
        )
        for start in range(0, len(row), slots.count)
    ]


def answer_matrices(
    key: SecretKey, question: MaskedMatrices, *, entropy: Entropy
) -> MatrixProducts:
    """Cut and multiply at the key holder."""
    layout = _common(question)
    cut = [_cut(key, matrix) for matrix in question.matrices]
    products = []
    for factors in question.products:
        if not (0 <= factors.left < len(cut) and 0 <= factors.right < len(cut)):
            raise MismatchError(f"S.MatProd: expected factors among {len(cut)} matrices")
        left, right = cut[factors.left], cut[factors.right]
        rows = (left.integers.astype(object) @ right.integers.astype(object)).tolist()
        elements = [element for row in rows for element in _joined(row, layout)]
        bits = left.scale.fraction_bits + right.scale.fraction_bits
        products.append(
            encrypt_elements(key, elements, layout, fraction_bits=bits, entropy=entropy)
        )
    return MatrixProducts(
        tuple(encrypt(key, q, slots=layout.slots, entropy=entropy) for q in cut),
        tuple(
            encrypt(key, Plain(q.integers.T, q.scale), slots=layout.slots, entropy=entropy)
            for q in cut
        ),
        tuple(products),
    )


def _common(question: MaskedMatrices) -> Layout:
    """The one layout of all parts: a packed square matrix by rows."""
    parts = [part.layout for matrix in question.matrices for part in matrix.parts]
    if not parts or not all(1 <= len(matrix.parts) <= 2 for matrix in question.matrices):
        raise MismatchError("S.MatProd: expected matrices in one or two parts")
    for layout in parts:
        parts[0].check_same(layout, "S.MatProd")
    shape = parts[0].shape
    square = len(shape) == 2 and shape[0] == shape[1]
    if not square or parts[0].slots is None or parts[0].symmetric or parts[0].covered:
        raise MismatchError(f"S.MatProd: expected packed square matrices, found {parts[0]}")
    return parts[0]


def _cut(key: SecretKey, matrix: MaskedMatrix) -> Plain:
    """⌊(upright + acrossᵀ mod 2^reach) / 2^bits⌋."""
    whole = matrix.parts[0].scale
    if not 0 < matrix.bits <= min(whole.fraction_bits, matrix.reach):
        raise MismatchError(
            f"S.MatProd: expected 1 to {whole.fraction_bits} bits to cut, found {matrix.bits}"
        )
    first, *rest = (decrypt(key, part).integers.astype(object) for part in matrix.parts)
    for across in rest:
        first = first + across.T
    scale = Scale(whole.fraction_bits, (1 << matrix.reach) - 1)
    return Plain(first % (1 << matrix.reach) >> matrix.bits, scale.truncated(matrix.bits))


def matrix_rule(key: SecretKey, *, budget: int, entropy: Entropy) -> AnswerRule[Any]:
    """The rule for a key holder: `budget` trips."""
    return AnswerRule(MaskedMatrices, lambda q: answer_matrices(key, q, entropy=entropy), budget)
