"""Moments: the sums that the closed form needs from any number of documents.

`Moments` adds up chunks of rows with their targets: XᵀX, XᵀY and the column
totals. Documents of text, rados (rows whose target is 1) and block rados (rows
weighted by 1/count) all go through the one `Moments.add`. Moments of disjoint
documents add: that is how peers are joined.

`RadoMoments` holds the mean b and the covariance C of rados, exactly over all
2^m signatures (b = ½XᵀY, C = ¼XᵀX) or over a sample of rados.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from sottovoce.errors import InputError, MismatchError, MisuseError
from sottovoce.rados.rows import (
    Discreet,
    Floats,
    Rows,
    as_rows,
    as_targets,
    as_weights,
    dense_rados,
    require_some,
    weighted,
)

# Sparse rows are processed in blocks: large enough that the d×d result of a block costs little
# compared with its products, small enough to fit into the cache.
BLOCK_ROWS = 16_384
DENSE_ROWS = 2_048
# The upper triangle is built in this many bands of features. Bands are disjoint,
# so any number of workers adds the same numbers in the same order.
BANDS = 8
# The number of features mirrored at a time: a block of them fits into the cache.
MIRROR = 256
# Above this share of non-zeros dense linear algebra is faster than sparse.
DENSE_SHARE = 0.08


class Moments:
    """Sums over rows x with targets y and weights w; grows with `add`, joins with `+`.

    Memory is d² numbers, however many rows pass through.
    """

    def __init__(self, features: int, classes: int = 1) -> None:
        """No rows yet, of `features` columns and `classes` targets each."""
        if features < 1 or classes < 1:
            raise InputError(
                f"moments: expected at least 1 feature and 1 class, found {features} and {classes}"
            )
        self.count = 0
        self.weight = 0.0
        self.totals = np.zeros(features)
        self.target_totals = np.zeros(classes)
        self.products = np.zeros((features, classes))
        self._upper = np.zeros((features, features))

    @classmethod
    def of(cls, rows: Any, targets: Any, *, weights: Any = None, workers: int = 1) -> Self:
        """The moments of one matrix of rows and its targets (a vector, or a column per class)."""
        checked = as_rows(rows)
        require_some(checked)
        columns = as_targets(targets, rows=checked.shape[0])
        sums = cls(checked.shape[1], columns.shape[1])
        return sums.add(checked, columns, weights=weights, workers=workers)

    @classmethod
    def given(cls, second: Floats, products: Floats, *, count: int, weight: float) -> Self:
        """Return moments that were computed elsewhere; they cannot be centred."""
        sums = cls(*products.shape)
        sums.count, sums.weight, sums.products, sums._upper = count, weight, products, second
        return sums

    @property
    def features(self) -> int:
        """The number of columns of a row."""
        return self.products.shape[0]

    @property
    def classes(self) -> int:
        """The number of targets of a row."""
        return self.products.shape[1]

    @property
    def second(self) -> Floats:
        """Σ w x xᵀ, whole and symmetric."""
        whole = self._upper.copy()
        # Mirrored block by block: a whole triangle at a time would miss the cache at every entry.
        for start in range(0, self.features, MIRROR):
            stop = start + MIRROR
            corner = np.triu(whole[start:stop, start:stop])
            whole[start:stop, start:stop] = corner + np.triu(corner, 1).T
            whole[stop:, start:stop] = whole[start:stop, stop:].T
        return whole

    @property
    def upper(self) -> Floats:
        """The sums; only the upper triangle of Σ w x xᵀ counts."""
        return self._upper

    def move(self, point: Floats) -> None:
        """Measure every row from `point`: the sums become those of x − point, in place."""
        if point.shape != (self.features,):
            raise MismatchError(
                f"moments: expected a point of {self.features} features, found {point.shape}"
            )
        # Σ w (x − p)(x − p)ᵀ = Σ w x xᵀ − h pᵀ − p hᵀ with h = Σ w x − p Σ w / 2.
        half = self.totals - point * (self.weight / 2)
        for start in range(0, self.features, MIRROR):
            rows = slice(start, start + MIRROR)
            self._upper[rows, start:] -= np.outer(half[rows], point[start:])
            self._upper[rows, start:] -= np.outer(point[rows], half[start:])
        self.products -= np.outer(point, self.target_totals)
        self.totals = self.totals - point * self.weight

    def scale(self, factor: float) -> None:
        """Multiply the weight of every row, in place."""
        if factor == 1:
            return
        self.weight *= factor
        for sums in (self.totals, self.target_totals, self.products, self._upper):
            np.multiply(sums, factor, out=sums)

    def add(self, rows: Any, targets: Any, *, weights: Any = None, workers: int = 1) -> Self:
        """Add a chunk of rows, dense or sparse; the number of workers never changes a bit."""
        chunk = as_rows(rows)
        if chunk.shape[1] != self.features:
            raise MismatchError(
                f"moments: expected rows of {self.features} features, found {chunk.shape[1]}"
            )
        columns = as_targets(targets, rows=chunk.shape[0])
        if columns.shape[1] != self.classes:
            raise MismatchError(
                f"moments: expected {self.classes} targets a row, found {columns.shape[1]}"
            )
        heavy = None if weights is None else as_weights(weights, rows=chunk.shape[0])
        left = chunk if heavy is None else weighted(chunk, heavy)
        self.count += chunk.shape[0]
        self.weight += float(chunk.shape[0] if heavy is None else heavy.sum())
        self.totals += np.asarray(left.sum(axis=0)).ravel()
        self.target_totals += columns.sum(axis=0) if heavy is None else heavy @ columns
        self.products += left.T @ columns
        self._add_second(left, chunk, workers=workers)
        return self

    def centred(self) -> "Moments":
        """The same documents with the column means of rows and targets taken away."""
        if self.weight == 0:
            raise MisuseError("moments: nothing to centre, no row was added yet")
        result = Moments(self.features, self.classes)
        mean = self.totals / self.weight
        result.count, result.weight = self.count, self.weight
        result.products = self.products - np.outer(mean, self.target_totals)
        result._upper = self._upper - np.outer(mean, self.totals)
        return result

    def __add__(self, other: "Moments") -> "Moments":
        if (self.features, self.classes) != (other.features, other.classes):
            raise MismatchError(
                f"moments: expected {self.features} features and {self.classes} classes, "
                f"found {other.features} and {other.classes}"
            )
        result = Moments(self.features, self.classes)
        result.count = self.count + other.count
        result.weight = self.weight + other.weight
        result.totals = self.totals + other.totals
        result.target_totals = self.target_totals + other.target_totals
        result.products = self.products + other.products
        result._upper = self._upper + other._upper
        return result

    def __repr__(self) -> str:
        return f"Moments(features={self.features}, classes={self.classes}, count={self.count})"

    def _add_second(self, left: Rows, right: Rows, *, workers: int) -> None:
        if isinstance(left, np.ndarray):
            # numpy gives A.T @ A to BLAS's symmetric product when both are one array.
            self._upper += left.T @ right
            return
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, left.shape[0], BLOCK_ROWS):
                block: Any = right[start : start + BLOCK_ROWS]
                if block.nnz > DENSE_SHARE * block.shape[0] * block.shape[1]:
                    self._add_dense(left[start : start + BLOCK_ROWS], block)
                else:
                    self._add_sparse(left[start : start + BLOCK_ROWS], block, pool)

    def _add_dense(self, left: Any, right: Any) -> None:
        for start in range(0, left.shape[0], DENSE_ROWS):
            part = slice(start, start + DENSE_ROWS)
            self._upper += left[part].toarray().T @ right[part].toarray()

    def _add_sparse(self, left: Any, right: Any, pool: ThreadPoolExecutor) -> None:
        columns = left.T.tocsr()
        # Bands hold equal shares of the non-zeros, so that frequent words are no bottleneck.
        shares = np.linspace(0, left.nnz, BANDS + 1)[1:-1]
        cuts = np.searchsorted(columns.indptr, shares)
        edges = np.unique([0, *cuts, self.features])

        def band(start: int, stop: int) -> None:
            self._upper[start:stop, start:] += (columns[start:stop] @ right[:, start:]).toarray()

        list(pool.map(band, edges[:-1], edges[1:]))


@dataclass(frozen=True, repr=False)
class RadoMoments(Discreet):
    """Mean b (a column per class) and covariance C of rados; independent peers' moments add."""

    mean: Floats
    covariance: Floats

    @classmethod
    def exact(cls, documents: Moments) -> Self:
        """Over all 2^m signatures of these documents at once: b = ½XᵀY, C = ¼XᵀX."""
        return cls(documents.products / 2, documents.second / 4)

    @classmethod
    def sampled(cls, rados: Any) -> Self:
        """Over a sample of one peer's rados (rows), centred by that peer's own mean."""
        rows = dense_rados(rados)
        mean = rows.mean(axis=0)
        # Centred before the product, so that a mean far from zero costs no digits.
        sums = Moments.of(rows - mean, np.ones(len(rows)))
        return cls(mean[:, np.newaxis], sums.second / sums.count)

    @property
    def products(self) -> Floats:
        """XᵀY, or its estimate from the sample: the right side of ridge regression."""
        return 2 * self.mean

    @property
    def second(self) -> Floats:
        """XᵀX, or its estimate from the sample: the matrix of ridge regression."""
        return 4 * self.covariance

    def as_documents(self, count: int, *, weight: float) -> Moments:
        """The moments of the documents behind these rados, for the closed form."""
        return Moments.given(self.second, self.products, count=count, weight=weight)

    def __add__(self, other: "RadoMoments") -> "RadoMoments":
        if self.mean.shape != other.mean.shape:
            raise MismatchError(
                f"rado moments: expected means of shape {self.mean.shape}, found {other.mean.shape}"
            )
        return RadoMoments(self.mean + other.mean, self.covariance + other.covariance)


def joined(parts: Iterable[Moments]) -> Moments:
    """The moments of the union of several peers' documents."""
    return reduce(add, parts)
