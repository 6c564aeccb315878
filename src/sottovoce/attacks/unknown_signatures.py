"""Reconstruction from rados of sparse text alone, without any signature.

A word that is in only one document has a column with two values, 0 and ±c: it shows in which rados
that document was added up, and its label. Two words of one document have proportional columns, so
columns fall into documents. Once the additions of enough documents are known, every other column is
their combination: by least squares where there are more rados than documents, else by looking for a
sparse one.

A document without a word of its own hides behind its neighbours. What least squares leaves
of the columns that it alone disturbs is the same for all of them, up to a factor; and what
it takes from them differs only in the few documents that really share the word. So the
median over these columns uncovers the hidden document's additions, exactly. Where features
are counts, so does rounding what least squares took to whole numbers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from sottovoce.attacks.exposure import ExposedRados
from sottovoce.attacks.pursuit import Pursuit
from sottovoce.attacks.recovered import Recovered, worth_telling
from sottovoce.rados.rows import Floats

Bools = NDArray[np.bool_]

_ROUNDING = 1e-6
# With fewer rados than this, patterns occur by chance.
_LEAST_RADOS = 16
# The fewest rados that contain a document, and the fewest that do not.
_LEAST_SIDE = 4
# Least squares proves an explanation by the equations that it did not need.
_SPARE_EQUATIONS = 8
# Columns that one hidden document disturbs: a median needs three.
_LEAST_DISTURBED, _MOST_DISTURBED = 3, 9
_PARALLEL = 1 - 1e-9
# Columns compared with each other at once, to bound memory.
_COMPARED = 4096


@dataclass(slots=True, repr=False)
class _Additions:
    """The rados in which each isolated document was added up (rows of 0 and 1)."""

    patterns: dict[bytes, Floats] = field(default_factory=dict)

    def learn(self, columns: Floats) -> bool:
        """Take up the patterns of these columns; whether any of them was new."""
        before = len(self.patterns)
        for column in columns:
            pattern = np.abs(column) > _ROUNDING * np.abs(column).max()
            self.patterns.setdefault(pattern.tobytes(), pattern.astype(np.float64))
        return len(self.patterns) > before

    def matrix(self) -> Floats:
        """Documents × rados."""
        return np.array(list(self.patterns.values()))


def attack_unknown_signatures(exposed: ExposedRados) -> tuple[Recovered, ...]:
    """The documents that can be isolated, with as many of their words as can be explained."""
    largest = np.abs(exposed.rados).max(initial=0.0)
    if len(exposed.rados) < _LEAST_RADOS or largest == 0:
        return ()
    columns = np.ascontiguousarray(exposed.rados.T / largest)
    additions = _Additions()
    additions.learn(columns[two_valued(columns)])
    if not additions.patterns:
        return ()
    while additions.learn(_hidden(columns, additions.matrix())):
        pass
    edges = _edges(columns, additions.matrix())
    return worth_telling(Recovered.from_edge(edge, least=_ROUNDING) for edge in edges)


def two_valued(columns: Floats) -> Bools:
    """Find the rows of `columns` that hold only 0 and one other value, both often enough."""
    largest = np.abs(columns).max(axis=1, initial=0.0, keepdims=True)
    present = np.abs(columns) > _ROUNDING * largest
    first = np.take_along_axis(columns, present.argmax(axis=1)[:, np.newaxis], axis=1)
    same = np.abs(columns - first) <= _ROUNDING * largest
    count = present.sum(axis=1)
    both = (count >= _LEAST_SIDE) & (columns.shape[1] - count >= _LEAST_SIDE)
    return np.asarray(both & (~present | same).all(axis=1))


@dataclass(frozen=True, slots=True, repr=False)
class _Fit:
    """Columns as combinations of known documents, and the remainder of each."""

    weights: Floats
    left: Floats
    exact: Bools

    @classmethod
    def of(cls, columns: Floats, added: Floats) -> "_Fit":
        basis, triangle = np.linalg.qr(added.T)
        if np.abs(np.diag(triangle)).min() > _ROUNDING:
            weights = solve_triangular(triangle, basis.T @ columns.T).T
        else:
            weights = np.linalg.lstsq(added.T, columns.T, rcond=None)[0].T
        left = columns - weights @ added
        largest = np.abs(columns).max(axis=1, initial=0.0)
        return cls(weights, left, np.abs(left).max(axis=1, initial=0.0) <= _ROUNDING * largest)

    def of_some(self, chosen: NDArray[np.intp]) -> "_Fit":
        """The same for some of the columns."""
        return _Fit(self.weights[chosen], self.left[chosen], self.exact[chosen])


def _enough(added: Floats) -> bool:
    return bool(added.shape[1] >= len(added) + _SPARE_EQUATIONS)


def _hidden(columns: Floats, added: Floats) -> Floats:
    """Columns as documents without a word of their own would have them, where they show."""
    if not _enough(added):
        return np.empty((0, columns.shape[1]))
    fit = _Fit.of(columns, added)
    disturbed = np.flatnonzero(~fit.exact)
    uncovered = [
        _uncovered(columns[disturbed[members]], fit.of_some(disturbed[members]), added)
        for members in _parallel(fit.left[disturbed])
    ]
    unit = _unit(columns)
    if unit is not None:
        some = columns[disturbed]
        rest = some - _whole(some, added, unit=unit) @ added
        uncovered += list(np.where(np.abs(rest) > _ROUNDING * unit, rest, 0))
    candidates = np.array(uncovered).reshape(-1, columns.shape[1])
    return candidates[two_valued(candidates)]


def _uncovered(columns: Floats, fit: _Fit, added: Floats) -> Floats:
    """The additions of the one hidden document that disturbs all of these columns."""
    shadow = fit.left[0]
    shares = fit.left @ shadow / (shadow @ shadow)
    # Rare words share few documents, so that a median over them is not led astray.
    rarest = np.argsort(columns.var(axis=1) / shares**2)[:_MOST_DISTURBED]
    taken = np.median(fit.weights[rarest] / shares[rarest, np.newaxis], axis=0)
    return np.asarray(shadow + taken @ added)


def _unit(columns: Floats) -> float | None:
    """Find the number of which all are whole multiples, if features are counts; else None."""
    present = np.abs(columns[np.abs(columns) > _ROUNDING * np.abs(columns).max()])
    unit = float(present.min())
    multiples = present / unit
    whole = np.abs(multiples - np.round(multiples)) <= _ROUNDING * np.maximum(multiples, 1)
    return unit if bool(whole.all()) else None


def _whole(columns: Floats, added: Floats, *, unit: float) -> Floats:
    """Whole weights of the known documents in columns that unknown ones disturb: a best guess."""
    centred = added - added.mean(axis=1, keepdims=True)
    fit = _Fit.of(columns - columns.mean(axis=1, keepdims=True), centred)
    return np.asarray(np.round(fit.weights / unit) * unit)


def _parallel(vectors: Floats) -> Iterator[NDArray[np.intp]]:
    """Groups of rows that are multiples of each other."""
    sizes = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions = vectors[:_COMPARED] / np.maximum(sizes[:_COMPARED], 1e-300)
    alike = np.abs(directions @ directions.T) >= _PARALLEL
    seen = np.zeros(len(alike), dtype=bool)
    for first, row in enumerate(alike):
        if not seen[first]:
            seen |= row
            if np.count_nonzero(row) >= _LEAST_DISTURBED:
                yield np.flatnonzero(row)


def _edges(columns: Floats, added: Floats) -> Floats:
    """Edge vectors (documents × features) of the documents whose additions are known."""
    edges = np.zeros((len(added), len(columns)))
    if _enough(added):
        fit, unit = _Fit.of(columns, added), _unit(columns)
        edges[:, fit.exact] = fit.weights[fit.exact].T
        if unit is not None:
            guess = _whole(columns[~fit.exact], added, unit=unit).T
            # All words of a document have the sign of its label.
            signs = np.sign(edges.sum(axis=1, keepdims=True))
            edges[:, ~fit.exact] = np.where(np.sign(guess) == signs, guess, 0)
        return edges
    used = np.flatnonzero(np.abs(columns).max(axis=1, initial=0.0))
    pursuit = Pursuit.over(added)
    for word in used:
        combination = pursuit.explain(columns[word], rounding=_ROUNDING)
        edges[:, word] = 0 if combination is None else combination
    return edges
