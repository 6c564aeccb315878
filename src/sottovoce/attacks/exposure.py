"""What an observer could see if the paper's protocols showed rados, moments or block sums."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sottovoce.errors import MismatchError
from sottovoce.rados.rows import Floats, as_rows


def _matrix(values: Any, what: str) -> Floats:
    rows = as_rows(values, what=what)
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


@dataclass(frozen=True, eq=False, repr=False)
class ExposedRados:
    """Rados as rows; `signatures` (−1 and +1, a row a rado) where the observer drew them."""

    rados: Floats
    signatures: Floats | None = None

    @classmethod
    def of(cls, rados: Any, signatures: Any = None) -> Self:
        """Check the rados, and that each has its signature where these are known."""
        rows = _matrix(rados, "rados")
        if signatures is None:
            return cls(rows)
        signs = _matrix(signatures, "signatures")
        if len(signs) != len(rows):
            raise MismatchError(
                f"signatures: expected one for each of {len(rows)} rados, found {len(signs)}"
            )
        return cls(rows, signs)


@dataclass(frozen=True, eq=False, repr=False)
class ExposedMoments:
    """A second moment, any multiple of XᵀX, and the mean, any positive multiple of XᵀY."""

    second: Floats
    mean: Floats | None = None

    @classmethod
    def of(cls, second: Any, mean: Any = None, *, penalty: float = 0.0) -> Self:
        """Check the moments; subtract a known `penalty` (the card names it) from the diagonal."""
        square = _matrix(second, "second moment")
        if square.shape[0] != square.shape[1]:
            raise MismatchError(f"second moment: expected a square matrix, found {square.shape}")
        if penalty:
            square = square - penalty * np.eye(len(square))
        if mean is None:
            return cls(square)
        vector = np.asarray(mean, dtype=np.float64).ravel()
        if vector.shape != (len(square),):
            raise MismatchError(f"mean: expected {len(square)} numbers, found {len(vector)}")
        return cls(square, vector)


@dataclass(frozen=True, eq=False, repr=False)
class ExposedBlocks:
    """Sums of edge vectors per block as rows, with each block's number of rows if it was seen."""

    sums: Floats
    counts: Floats | None = None

    @classmethod
    def of(cls, sums: Any, counts: Any = None) -> Self:
        """Check the sums, and that each has its count where these were seen."""
        rows = _matrix(sums, "block sums")
        if counts is None:
            return cls(rows)
        numbers = np.asarray(counts, dtype=np.float64)
        if numbers.shape != (len(rows),):
            raise MismatchError(
                f"counts: expected one for each of {len(rows)} blocks, found {numbers.shape}"
            )
        return cls(rows, numbers)
