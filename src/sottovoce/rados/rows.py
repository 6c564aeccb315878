"""The checked input of every learner: finite rows, and one column of ±1 per class."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.errors import InputError, MismatchError

Floats: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Floats | sparse.csr_array[Any, tuple[int, int]]


def _size(value: Any) -> str:
    return "×".join(map(str, value.shape)) if hasattr(value, "shape") else repr(value)


class Discreet:
    """A dataclass with numbers from which documents could be read; its repr shows only sizes."""

    def __repr__(self) -> str:
        """The name of each field with its shape, or its value where it is a plain number."""
        shown = [f"{name}={_size(value)}" for name, value in vars(self).items()]
        return f"{type(self).__name__}({', '.join(shown)})"


def _floats(values: Any, *, what: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: expected numbers, found something else ({error})") from error


def as_rows(X: Any, *, what: str = "rows") -> Rows:
    """`X` as float64 rows, dense or CSR with sorted columns; refuses what is not finite."""
    rows: Any = X
    if sparse.issparse(X):
        rows = sparse.csr_array(rows.astype(np.float64, copy=False))
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        figures = rows.data
    else:
        rows = figures = _floats(X, what=what)
    if rows.ndim != 2:
        raise InputError(f"{what}: expected a matrix, found {rows.ndim} dimension(s)")
    if not np.isfinite(figures).all():
        raise InputError(
            f"{what}: expected finite numbers, found NaN or infinity",
            hints=("fill missing values first, e.g. with sklearn.impute.SimpleImputer",),
        )
    checked: Rows = rows
    return checked


def as_targets(targets: Any, *, rows: int) -> Floats:
    """Targets as one float64 column per class, as long as the rows."""
    columns = _floats(targets, what="targets")
    columns = columns[:, np.newaxis] if columns.ndim == 1 else columns
    if columns.ndim != 2 or columns.shape[0] != rows:
        raise MismatchError(f"targets: expected {rows} rows, found shape {columns.shape}")
    if not np.isfinite(columns).all():
        raise InputError("targets: expected finite numbers, found NaN or infinity")
    return columns


def as_weights(weights: Any, *, rows: int) -> Floats:
    """Weights of documents as a vector of numbers of at least 0, as long as the rows."""
    heavy = _floats(weights, what="weights")
    if heavy.shape != (rows,):
        raise MismatchError(f"weights: expected shape ({rows},), found {heavy.shape}")
    if not (np.isfinite(heavy).all() and (heavy >= 0).all()):
        raise InputError("weights: expected finite numbers of at least 0")
    return heavy


def as_labels(y: Any, *, rows: int) -> Floats:
    """Labels of one two-class problem as a vector of −1 and +1."""
    labels = _floats(y, what="labels")
    if labels.shape != (rows,):
        raise MismatchError(f"labels: expected shape ({rows},), found {labels.shape}")
    if not np.isin(labels, (-1.0, 1.0)).all():
        others = sorted({float(label) for label in labels} - {-1.0, 1.0})
        raise InputError(
            f"labels: expected -1 and 1, found {others[0]:g}",
            hints=("the estimators in sottovoce.estimators map any two classes to -1 and 1",),
        )
    return labels


def require_some(rows: Rows, *, what: str = "rows") -> None:
    """Refuse an empty matrix, naming the side that is empty."""
    if rows.shape[0] == 0:
        raise InputError(f"{what}: expected at least 1 row, found 0")
    if rows.shape[1] == 0:
        raise InputError(f"{what}: expected at least 1 feature, found 0")


def dense_rados(rados: Any) -> Floats:
    """Return rados as a dense matrix with at least one row; they are few and not sparse."""
    rows = as_rows(rados, what="rados")
    require_some(rows, what="rados")
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())


def weighted(rows: Rows, weights: Floats) -> Rows:
    """Every row times its weight, without a dense copy of sparse rows."""
    if isinstance(rows, np.ndarray):
        return rows * weights[:, np.newaxis]
    lengths = np.diff(rows.indptr)
    return sparse.csr_array(
        (rows.data * np.repeat(weights, lengths), rows.indices, rows.indptr), shape=rows.shape
    )


def with_bias(rows: Rows, bias: float) -> Rows:
    """The rows with one more column, last, that holds `bias` everywhere."""
    column = np.full((rows.shape[0], 1), bias)
    if isinstance(rows, np.ndarray):
        return np.hstack([rows, column])
    return sparse.csr_array(sparse.hstack([rows, sparse.csr_array(column)], format="csr"))
