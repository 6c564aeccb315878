"""Combines encrypted tensors: sums, stacks, outer products."""

from collections.abc import Sequence

from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier.layout import Layout, check_room
from sottovoce.paillier.plain import Plain
from sottovoce.paillier.tensors import Encrypted, Unsent


def total(tensors: Sequence[Encrypted]) -> Unsent:
    """The sum of tensors of one layout, as of the contributions of all peers."""
    first, *rest = _agreeing(tensors, "total")
    for other in rest:
        first.layout.check_same(other.layout, "total")
    scale = first.scale
    if not first.layout.covered:
        for other in rest:
            scale = scale.plus(other.scale)
        check_room(first.key, first.layout, scale, "total")
    columns = zip(*(tensor.residues for tensor in tensors), strict=True)
    residues = tuple(first.key.square.product(column) for column in columns)
    return Unsent(first.key, residues, first.layout, scale)


def stack(tensors: Sequence[Encrypted]) -> Unsent:
    """Scalars as a vector, or vectors (packed alike or not) as the rows of a matrix."""
    first, *rest = _agreeing(tensors, "stack")
    for other in rest:
        first.layout.check_same(other.layout, "stack")
    if len(first.shape) > 1 or first.layout.covered:
        raise MismatchError(f"stack: expected scalars or vectors, found {first.layout}")
    layout = Layout((len(tensors), *first.shape), first.slots)
    scale = Scale(first.scale.fraction_bits, max(tensor.scale.bound for tensor in tensors))
    residues = tuple(residue for tensor in tensors for residue in tensor.residues)
    return Unsent(first.key, residues, layout, scale)


def outer(column: Encrypted, row: Plain) -> Unsent:
    """The matrix of an encrypted column times a plaintext row: one table of powers a value."""
    if len(column.shape) != 1 or len(row.shape) != 1 or column.slots is not None:
        raise MismatchError(f"outer: expected vectors, found {column.layout} and {row.shape}")
    if column.layout.covered:
        raise MisuseError("outer: this tensor carries masks, uncover it first")
    layout = Layout((*column.shape, *row.shape))
    scale = check_room(column.key, layout, column.scale.times(row.scale), "outer")
    factors = [[factor] for factor in row.flat()]
    combined = column.key.square.combined
    residues = tuple(r for value in column.residues for r in combined([value], factors))
    return Unsent(column.key, residues, layout, scale)


def _agreeing(tensors: Sequence[Encrypted], what: str) -> Sequence[Encrypted]:
    if not tensors:
        raise InputError(f"{what}: expected at least one tensor")
    for other in tensors[1:]:
        if other.key != tensors[0].key:
            raise MismatchError(f"{what}: keys differ, {tensors[0].key} beside {other.key}")
        tensors[0].scale.check_same_fraction(other.scale, what)
    return tensors
