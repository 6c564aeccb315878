"""Encrypted scalars, vectors and matrices: ciphertexts that may be sent, and results that not yet.

    encrypt ──▶ Ciphertext ──arithmetic──▶ Unsent ──fresh(entropy=…)──▶ Ciphertext ──▶ bytes
                                              └──for_key_holder(entropy=…)──▶ ForKeyHolder ──▶ bytes

An arithmetic result reveals how it was computed to a party that knows the operands, so an `Unsent`
has no encoder; `fresh` multiplies a new randomiser into every number. Randomisers of `fresh` are
powers of the key's base h, which is enough against everybody without the secret key. The key's
maker can choose h, and mark its own ciphertexts with numbers outside the group of h, which would
show what was computed with them. So ciphertexts for a key holder have a type of their own, made
with uniform N-th powers only. Every tensor has its key, layout and scale; operands that do not
agree, and results that could overflow, raise before anything is computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self, TypeVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import cipherbytes, products
from sottovoce.paillier.keys import NeverPickled, PublicKey
from sottovoce.paillier.layout import Layout, check_room
from sottovoce.paillier.plain import Plain, SparseRows
from sottovoce.paillier.pool import Pool, rerandomisers_for

C = TypeVar("C", bound="Ciphertext")


def _refused(other: object, action: str) -> Any:
    """Refuse bare numbers, which have no scale, and say how to give them one."""
    if isinstance(other, np.ndarray | np.generic | Real | list | tuple):
        raise TypeError(
            f"{action}: expected encrypted values or a Plain, found a bare "
            f"{type(other).__name__}: Plain.of(values, scale) says how it is written"
        )
    return NotImplemented


@dataclass(frozen=True)
class Encrypted(NeverPickled):
    """A tensor of encrypted numbers, and the arithmetic that needs no key."""

    key: PublicKey
    residues: tuple[Residue, ...] = field(repr=False)
    layout: Layout
    scale: Scale

    # numpy must not take the operands apart element by element.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "residues", tuple(self.residues))
        if len(self.residues) != self.layout.ciphertexts:
            raise MismatchError(
                f"tensor: {self.layout} fills {self.layout.ciphertexts} ciphertexts, "
                f"found {len(self.residues)}"
            )
        check_room(self.key, self.layout, self.scale, "tensor")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.layout.shape

    @property
    def slots(self) -> Slots | None:
        """The slots in which values share ciphertexts, if they do."""
        return self.layout.slots

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.layout}; {self.scale}; {self.key})"

    # Sums.

    def __add__(self, other: "Encrypted | Plain") -> "Unsent":
        if isinstance(other, Encrypted):
            scale = self._beside(other, "add")
            return self._unsent(self.key.square.multiplied(self.residues, other.residues), scale)
        if isinstance(other, Plain):
            return self._plus_plain(other, "add")
        return _refused(other, "add")  # type: ignore[unreachable]  # unless types are unchecked

    __radd__ = __add__

    def __sub__(self, other: "Encrypted | Plain") -> "Unsent":
        if isinstance(other, Encrypted):
            scale = self._beside(other, "subtract")
            inverses = self.key.square.inverses(other.residues)
            return self._unsent(self.key.square.multiplied(self.residues, inverses), scale)
        if isinstance(other, Plain):
            return self._plus_plain(-other, "subtract")
        return _refused(other, "subtract")  # type: ignore[unreachable]  # unless types are unchecked

    def __rsub__(self, other: Plain) -> "Unsent":
        return -self + other

    def __neg__(self) -> "Unsent":
        return self._unsent(self.key.square.inverses(self.residues), self.scale.negated())

    def sum(self, axis: int | None = None) -> "Unsent":
        """The sum of all values, or along an axis; packed values add up along rows only."""
        groups, layout, count = products.sum_groups(self.layout, axis)
        scale = self._fitting(self.scale.sum_of(count), "sum", layout)
        square = self.key.square
        sums = [square.product([self.residues[i] for i in group]) for group in groups]
        return Unsent(self.key, tuple(sums), layout, scale)

    # Products with plaintext.

    def __mul__(self, other: "int | Plain") -> "Unsent":
        """Times one plaintext number, or (unpacked) times a plaintext of the same shape."""
        if isinstance(other, Plain):
            return self._times_plain(other)
        if isinstance(other, int | np.integer):
            return self._powered(int(other), self.scale.times_integer(abs(int(other))))
        return _refused(other, "multiply")  # type: ignore[unreachable]  # unless types are unchecked

    __rmul__ = __mul__

    def dot(self, other: Plain) -> "Unsent":
        """The inner product of this vector and a plaintext vector."""
        return self.__rmatmul__(other)

    def __rmatmul__(self, other: Plain | SparseRows) -> "Unsent":
        """A plaintext vector, matrix or sparse rows times this vector or matrix."""
        if isinstance(other, SparseRows):
            self._check_uncovered("product")
            blocks, layout = products.left_blocks(self.layout, (len(other.rows), other.width))
            scale = self._fitting(other.times(self.scale), "product", layout)
            columns = [
                self.key.square.combined_sparse([self.residues[i] for i in block], other.rows)
                for block in blocks
            ]
        elif isinstance(other, Plain):
            self._check_uncovered("product")
            blocks, layout = products.left_blocks(self.layout, other.shape)
            scale = self.scale.dot(other.scale, other.shape[-1])
            scale, rows = self._fitting(scale, "product", layout), other.rows()
            columns = [
                self.key.square.combined([self.residues[i] for i in block], rows)
                for block in blocks
            ]
        else:
            return _refused(other, "product")  # type: ignore[unreachable]  # unless types are unchecked
        # found[block][row] → row-major order.
        return Unsent(
            self.key, tuple(r for row in zip(*columns, strict=True) for r in row), layout, scale
        )

    def __matmul__(self, other: Plain) -> "Unsent":
        """This (unpacked) vector or matrix times a plaintext vector or matrix."""
        if not isinstance(other, Plain):
            return _refused(other, "product")  # type: ignore[unreachable]  # unless types are unchecked
        self._check_uncovered("product")
        lines, layout = products.right_lines(self.layout, other.shape)
        scale = self._fitting(self.scale.dot(other.scale, other.shape[0]), "product", layout)
        rows = Plain(other.integers.T, other.scale).rows()
        combined = self.key.square.combined
        columns = [combined([self.residues[i] for i in line], rows) for line in lines]
        return Unsent(self.key, tuple(r for line in columns for r in line), layout, scale)

    def halved(self) -> "Unsent":
        """Return exactly half of values that are all even: times 2⁻¹ mod N.

        An odd value would become a number near N/2. To read the same integers as halves, use
        `divided`, which costs nothing.
        """
        return self._powered(self.key.half, Scale(self.scale.fraction_bits, self.scale.bound // 2))

    def divided(self, bits: int) -> Self:
        """The same integers, read as 2^bits times smaller: only the scale changes."""
        scale = Scale(self.scale.fraction_bits + bits, self.scale.bound)
        return self._like(self.residues, self.layout, scale)

    def within(self, scale: Scale) -> "Unsent":
        """Return the same integers under a tighter bound, for which the caller is responsible.

        Bounds only grow. After masks were removed, or if a tighter bound can be proven, the
        protocol states it here.
        """
        self._check_uncovered("within")
        self.scale.check_same_fraction(scale, "within")
        return Unsent(self.key, self.residues, self.layout, scale)

    # Packing and arranging.

    def packed(self, slots: Slots) -> "Unsent":
        """The values of a vector, or of each row of a matrix, side by side in slots (Horner)."""
        self._check_unpacked("pack")
        layout = Layout(self.shape, slots)
        scale = self._fitting(self.scale, "pack", layout)
        length, joined = self.layout.line_values, self.key.square.joined
        residues = [
            joined(
                self.residues[start : min(start + slots.count, line + length)], shift=slots.width
            )
            for line in range(0, len(self.residues), length or 1)
            for start in range(line, line + length, slots.count)
        ]
        return Unsent(self.key, tuple(residues), layout, scale)

    def joined_for_key_holder(
        self, slots: Slots, masks: Sequence[int], *, entropy: Entropy
    ) -> "ForKeyHolder":
        """The rows of a packed matrix side by side in fewer ciphertexts, each under a mask.

        A row has one ciphertext, such as scores of a document for a few classes; a single value
        may go into narrower slots. Joining takes as many squarings as the r^N that makes a
        ciphertext uniform (`for_key_holder`), so that one chain of them does for both. Every r is
        drawn for its ciphertext alone.
        """
        groups, shift, layout = self._joining(slots)
        if len(masks) != len(groups):
            raise MismatchError(f"join: {len(groups)} ciphertexts, {len(masks)} masks")
        covered = Unsent(self.key, self._uniform(groups, shift, entropy), layout, self.scale)
        return _for_key_holder(covered.cover(masks))

    def packed_for_key_holder(
        self, slots: Slots, plain: Plain, *, entropy: Entropy
    ) -> "ForKeyHolder":
        """The values of a vector side by side in slots, plus numbers, uniform to the key holder.

        As in `joined_for_key_holder` one chain of squarings packs and makes uniform.
        """
        self._check_unpacked("pack")
        if len(self.shape) != 1:
            raise MismatchError(f"pack: expected a vector, found {self.layout}")
        layout = Layout(self.shape, slots)
        scale = self._fitting(self.scale, "pack", layout)
        groups = [
            self.residues[start : start + slots.count]
            for start in range(0, len(self.residues), slots.count)
        ]
        packed = Unsent(self.key, self._uniform(groups, slots.width, entropy), layout, scale)
        return _for_key_holder(packed + plain)

    def _uniform(
        self, groups: Sequence[Sequence[Residue]], shift: int, entropy: Entropy
    ) -> tuple[Residue, ...]:
        """Return every group joined, times the N-th power of a unit drawn for it."""
        key = self.key
        units = key.units(len(groups), entropy=entropy)
        return tuple(
            key.square.joined_with_power(group, shift=shift, base=unit, exponent=key.plaintexts)
            for group, unit in zip(groups, units, strict=True)
        )

    def _joining(self, slots: Slots) -> tuple[list[tuple[Residue, ...]], int, Layout]:
        """Return the ciphertexts that are joined with one another, how far apart, and the layout.

        The result is the vector of all values, row by row.
        """
        width = self.shape[-1] if len(self.shape) == 2 and not self.layout.symmetric else 0
        own = self.layout.slots
        if own is None or not width or self.layout.line_ciphertexts != 1:
            raise MismatchError(
                f"join: expected packed rows of one ciphertext, found {self.layout}"
            )
        if (width > 1 and own.width != slots.width) or slots.count % width:
            raise MismatchError(
                f"join: expected slots of {own.width} bits, a multiple of {width} of them, "
                f"found {slots.count} of {slots.width} bits"
            )
        self._check_uncovered("join")
        layout = Layout((self.shape[0] * width,), slots)
        self._fitting(self.scale, "join", layout)
        step = slots.count // width
        groups = [
            self.residues[start : start + step] for start in range(0, len(self.residues), step)
        ]
        return groups, slots.width * width, layout

    def __getitem__(self, place: Any) -> Self:
        """Values by index or slice; of a packed matrix, rows."""
        picked, layout = products.picked(self.layout, place)
        return self._like([self.residues[i] for i in picked], layout, self.scale)

    def __iter__(self) -> Iterator[Self]:
        """The values of a vector, or the rows of a matrix, one by one."""
        return (self[place] for place in range(len(self)))

    @property
    def T(self) -> Self:
        """The transposed matrix; of an unpacked one, or of a symmetric one."""
        if self.layout.symmetric:
            return self
        self._check_unpacked("transpose")
        order = np.arange(len(self.residues)).reshape(self.shape).T.ravel().tolist()
        return self._like([self.residues[i] for i in order], Layout(self.shape[::-1]), self.scale)

    def reshaped(self, *shape: int) -> Self:
        """The same values, unpacked, in another shape."""
        self._check_unpacked("reshape")
        return self._like(self.residues, Layout(shape), self.scale)

    # Masks over whole ciphertexts.

    def cover(self, masks: Sequence[int]) -> "Unsent":
        """One element of Z_N added to each ciphertext; uniform ones hide everything in it."""
        if len(masks) != len(self.residues):
            raise MismatchError(f"cover: {len(self.residues)} ciphertexts, {len(masks)} masks")
        residues = self.key.square.multiplied(self.residues, self.key.embedded(masks))
        return self._covered(residues)

    def uncover(self, masks: Sequence[int] = (), *, scale: Scale) -> "Unsent":
        """Remove the masks (those given, or none if they cancelled); values are of `scale`.

        The caller is responsible for the scale: a mask that is left cannot be noticed here.
        """
        if not self.layout.covered:
            raise MisuseError("uncover: this tensor carries no masks")
        residues = self.residues
        if masks:
            residues = self.cover([-mask for mask in masks]).residues
        layout = self.layout.cover(covered=False)
        return Unsent(self.key, residues, layout, check_room(self.key, layout, scale, "uncover"))

    def for_key_holder(self, *, entropy: Entropy) -> "ForKeyHolder":
        """Return the values under uniform N-th powers: even the key's maker sees only the values.

        Given gcd(N, φ(N)) = 1, which comes with a key as a proof (proof.py), every number mod N²
        is (1 + N)^m · r^N for one m and one r, and r is made uniform here (within 2^−65:
        uniform_powers.py).
        """
        randomisers = self.key.uniform_randomisers(len(self.residues), entropy=entropy)
        residues = self.key.square.multiplied(self.residues, randomisers)
        return _minted(ForKeyHolder, self.key, residues, self.layout, self.scale)

    # What the methods above share.

    def _beside(self, other: "Encrypted", what: str) -> Scale:
        """The scale of a sum with another tensor, if the two agree."""
        if self.key is not other.key and self.key != other.key:
            raise MismatchError(f"{what}: keys differ, {self.key} beside {other.key}")
        self.layout.check_same(other.layout, what)
        if self.layout.covered:
            self.scale.check_same_fraction(other.scale, what)
            return self.scale
        return self._fitting(self.scale.plus(other.scale), what, self.layout)

    def _plus_plain(self, other: Plain, what: str) -> "Unsent":
        self._check_uncovered(what)
        if other.shape != self.shape:
            raise MismatchError(f"{what}: shapes differ, {self.shape} beside {other.shape}")
        scale = self._fitting(self.scale.plus(other.scale), what, self.layout)
        embedded = self.key.embedded(self.layout.pack(other.integers))
        return self._unsent(self.key.square.multiplied(self.residues, embedded), scale)

    def _times_plain(self, other: Plain) -> "Unsent":
        scale = self.scale.times(other.scale)
        if not other.shape:
            return self._powered(other.flat()[0], scale)
        self._check_unpacked("multiply")
        if other.shape != self.shape:
            raise MismatchError(f"multiply: shapes differ, {self.shape} beside {other.shape}")
        self._fitting(scale, "multiply", self.layout)
        return self._unsent(self.key.square.powers(self.residues, other.flat()), scale)

    def _powered(self, exponent: int, scale: Scale) -> "Unsent":
        if not self.layout.covered:
            self._fitting(scale, "multiply", self.layout)
        return self._unsent(self.key.square.powers_of_all(self.residues, exponent), scale)

    def _fitting(self, scale: Scale, what: str, layout: Layout) -> Scale:
        return check_room(self.key, layout, scale, what)

    def _check_unpacked(self, what: str) -> None:
        if self.layout.slots is not None:
            raise MismatchError(f"{what}: expected one value a ciphertext, found {self.layout}")
        self._check_uncovered(what)

    def _check_uncovered(self, what: str) -> None:
        if self.layout.covered:
            raise MisuseError(f"{what}: this tensor carries masks, uncover it first")

    def _covered(self, residues: Sequence[Residue]) -> "Unsent":
        scale = Scale(self.scale.fraction_bits, self.key.plaintext_bound)
        return Unsent(self.key, tuple(residues), self.layout.cover(), scale)

    def _unsent(self, residues: Sequence[Residue], scale: Scale) -> "Unsent":
        if self.layout.covered:
            return self._covered(residues)
        return Unsent(self.key, tuple(residues), self.layout, scale)

    def _like(self, residues: Sequence[Residue], layout: Layout, scale: Scale) -> Self:
        """Return the same kind of tensor: parts of a fresh tensor are fresh, others are not."""
        return type(self)(self.key, tuple(residues), layout, scale)


class Unsent(Encrypted):
    """A result of arithmetic, which has no encoder; re-randomise it to send it."""

    def fresh(self, *, entropy: Entropy | Pool) -> "Ciphertext":
        """Return the values under new randomisers, which hide how they were computed.

        It hides them from everybody without the secret key; for its owner use `for_key_holder`.
        """
        randomisers = rerandomisers_for(self.key, len(self.residues), entropy=entropy)
        return mint_unchecked(
            self.key,
            self.key.square.multiplied(self.residues, randomisers),
            self.layout,
            self.scale,
        )


class Ciphertext(Encrypted):
    """Fresh encrypted numbers, which may be sent; arithmetic with them gives `Unsent`."""

    def __init__(self, *_: object, **__: object) -> None:
        """Refuse: ciphertexts come from `encrypt`, `fresh` and `from_bytes` alone."""
        raise MisuseError("ciphertext: made by encrypt, fresh or from_bytes alone")

    def _like(self, residues: Sequence[Residue], layout: Layout, scale: Scale) -> Self:
        return _minted(type(self), self.key, residues, layout, scale)

    def fresh(self, *, entropy: Entropy | Pool) -> "Ciphertext":
        """The same values under new randomisers."""
        return Unsent(self.key, self.residues, self.layout, self.scale).fresh(entropy=entropy)

    def expected(self, layout: Layout, scale: Scale) -> Self:
        """Return this ciphertext if its form is agreed, because senders state their own bounds."""
        for name, mine, agreed in (("layout", self.layout, layout), ("scale", self.scale, scale)):
            if mine != agreed:
                raise ViolationError(f"ciphertext: expected {name} {agreed}, found {mine}")
        return self

    def to_bytes(self) -> bytes:
        """The one encoding: head (key, layout, scale), then every number in fixed width."""
        return cipherbytes.encode(self.key, self.residues, self.layout, self.scale)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: PublicKey) -> Self:
        """The ciphertext of these bytes under `key`; anything else raises MalformedError."""
        return _minted(cls, key, *cipherbytes.decode(key, data))


class ForKeyHolder(Ciphertext):
    """A ciphertext that may go to the key holder: `for_key_holder` makes it."""


def _for_key_holder(tensor: Unsent) -> ForKeyHolder:
    """Return a tensor, whose numbers were made uniform, as one for the key holder."""
    return _minted(ForKeyHolder, tensor.key, tensor.residues, tensor.layout, tensor.scale)


def mint_unchecked(
    key: PublicKey, residues: Sequence[Residue], layout: Layout, scale: Scale
) -> Ciphertext:
    """A ciphertext from numbers that the caller has just randomised, or decoded and checked.

    This cannot be checked here, so only `encrypt`, `fresh` and the decoder may call it.
    """
    return _minted(Ciphertext, key, residues, layout, scale)


def _minted(
    kind: type[C], key: PublicKey, residues: Sequence[Residue], layout: Layout, scale: Scale
) -> C:
    ciphertext = object.__new__(kind)
    Encrypted.__init__(ciphertext, key, tuple(residues), layout, scale)
    return ciphertext
