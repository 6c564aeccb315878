"""The groups of a tensor's ciphertexts that belong together in a sum, a product or a slice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.paillier.layout import Layout

Indices = list[list[int]]


def _grid(layout: Layout) -> NDArray[np.int64]:
    """The number of each ciphertext, line by line."""
    return np.arange(layout.ciphertexts).reshape(layout.lines, layout.line_ciphertexts)


def sum_groups(layout: Layout, axis: int | None) -> tuple[Indices, Layout, int]:
    """Return the groups of ciphertexts to add, the layout of the sums, and the values in each."""
    if layout.covered:
        raise MisuseError("sum: this tensor carries masks, uncover it first")
    along_rows = axis == 0 and len(layout.shape) == 2 and not layout.symmetric
    if along_rows:
        return _grid(layout).T.tolist(), Layout(layout.shape[1:], layout.slots), layout.shape[0]
    if layout.slots is not None:
        raise MismatchError(f"sum: packed values add up along the rows alone, found {layout}")
    if axis == 1 and len(layout.shape) == 2:
        return _grid(layout).tolist(), Layout(layout.shape[:1]), layout.shape[1]
    if axis is None or (axis == 0 and len(layout.shape) == 1):
        return [list(range(layout.ciphertexts))], Layout(()), max(layout.ciphertexts, 1)
    raise InputError(f"sum: no axis {axis} in shape {layout.shape}")


def left_blocks(layout: Layout, shape: tuple[int, ...]) -> tuple[Indices, Layout]:
    """For plaintext of `shape` times a tensor: the ciphertexts that meet, and the result's layout.

    A block is a column of ciphertexts: one for a vector, one for each ciphertext
    of a row for a matrix, packed or not.
    """
    vector = len(layout.shape) == 1
    if not layout.shape or layout.symmetric or (vector and layout.slots is not None):
        raise MismatchError(f"product: expected a vector, or a matrix by rows, found {layout}")
    if not shape or shape[-1] != layout.shape[0]:
        raise MismatchError(f"product: shapes differ, {shape} beside {layout.shape}")
    result = Layout((*shape[:-1], *layout.shape[1:]), layout.slots)
    if vector:
        return [list(range(layout.shape[0]))], result
    return _grid(layout).T.tolist(), result


def right_lines(layout: Layout, shape: tuple[int, ...]) -> tuple[Indices, Layout]:
    """For a tensor times plaintext of `shape`: its lines of ciphertexts, the result's layout."""
    if not layout.shape or layout.slots is not None:
        raise MismatchError(f"product: expected one value a ciphertext, found {layout}")
    if not shape or shape[0] != layout.shape[-1]:
        raise MismatchError(f"product: shapes differ, {layout.shape} beside {shape}")
    return _grid(layout).tolist(), Layout((*layout.shape[:-1], *shape[1:]))


def picked(layout: Layout, place: Any) -> tuple[list[int], Layout]:
    """The ciphertexts at an index or slice, and their layout; of packed matrices, whole rows."""
    by_rows = layout.slots is not None
    if not layout.shape or layout.symmetric or (by_rows and len(layout.shape) == 1):
        raise MismatchError(f"index: expected one value a ciphertext, found {layout}")
    if by_rows and isinstance(place, tuple):
        raise MismatchError(f"index: expected a row or a slice of rows of {layout}")
    grid = _grid(layout) if by_rows else np.arange(layout.ciphertexts).reshape(layout.shape)
    try:
        cells = np.asarray(grid[place])
    except IndexError as error:
        raise InputError(f"index: {error}") from None
    shape = (*cells.shape[:-1], layout.shape[1]) if by_rows else cells.shape
    return cells.ravel().tolist(), Layout(shape, layout.slots, covered=layout.covered)
