"""Reconstruction from a second moment G = XᵀX alone, by splitting it into outer products.

The row of a word that is in only one document is that document, times the word's own weight: v =
G_k / √G_kk. G − vvᵀ must have no negative entry (weights of words are not negative), and for a word
of several documents it has one. So single documents are recognised without prior knowledge. Each is
subtracted, which makes more words single.

Where rare words were pruned, three words that meet in one document only give their
weights in it, x_k² = G_kl G_kp / G_lp, and min(G_k/x_k, G_l/x_l, G_p/x_p) bounds its words.
"""

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from sottovoce.attacks.exposure import ExposedMoments
from sottovoce.attacks.known_signatures import labels_from
from sottovoce.attacks.recovered import Recovered, worth_telling
from sottovoce.rados.rows import Floats

_ROUNDING = 1e-7
_EQUAL = 1e-6
# Text is sparse: a document has at most this share of all features (but some, in small ones).
_SPARSE = 0.25
_SPARSE_LEAST = 24
# The words that must agree on their weights before three of them are believed.
_LEAST_AGREEING = 8
_AGREEING_SHARE = 0.6
_COMPANIONS = 12


@dataclass(slots=True, repr=False)
class _Remainder:
    """The remainder of G, and the documents that were taken out of it."""

    left: Floats
    most: int
    tiny: float = _ROUNDING
    documents: list[tuple[NDArray[np.intp], Floats]] = field(default_factory=list)

    def rarest(self) -> NDArray[np.intp]:
        """Words by how many others they meet, those in nothing or in too much left out."""
        met = np.count_nonzero(self.left > self.tiny, axis=1)
        order = np.argsort(met, kind="stable")
        return np.asarray(order[(met[order] > 1) & (met[order] <= self.most)])

    def take(self, words: NDArray[np.intp], weights: Floats) -> bool:
        """Take a document out, if nothing negative is left of any pair of its words."""
        place = np.ix_(words, words)
        rest = self.left[place] - np.outer(weights, weights)
        if (rest < -self.tiny).any():
            return False
        self.left[place] = np.where(rest > self.tiny, rest, 0)
        self.documents.append((words, weights))
        return True


def attack_moments(exposed: ExposedMoments) -> tuple[Recovered, ...]:
    """The documents that come apart, with labels where the mean was seen too."""
    largest = float(np.abs(exposed.second).max(initial=0.0))
    second = exposed.second / largest if largest > 0 else exposed.second
    if not _is_second_moment(second):
        return ()
    most = max(int(_SPARSE * len(second)), min(_SPARSE_LEAST, len(second) // 2))
    remainder = _Remainder(second.copy(), most)
    while _take_single_words(remainder) or _take_triples(remainder):
        pass
    return _labelled(remainder, exposed)


def _is_second_moment(second: Floats) -> bool:
    """Return whether a matrix is symmetric, not negative, and no pair exceeds its words."""
    diagonal = np.diag(second)
    if not diagonal.any() or (second < -_ROUNDING).any():
        return False
    if not np.allclose(second, second.T, rtol=0, atol=_ROUNDING):
        return False
    return bool((second**2 <= np.outer(diagonal, diagonal) + _EQUAL).all())


def _take_single_words(remainder: _Remainder) -> int:
    taken, before = 0, -1
    while taken > before:
        before = taken
        for word in remainder.rarest():
            row = remainder.left[word]
            if row[word] > remainder.tiny:
                words = np.flatnonzero(row > remainder.tiny)
                taken += remainder.take(words, row[words] / np.sqrt(row[word]))
    return taken


def _take_triples(remainder: _Remainder) -> int:
    taken = 0
    met = np.count_nonzero(remainder.left > remainder.tiny, axis=1)
    for word in remainder.rarest():
        others = np.flatnonzero(remainder.left[word] > remainder.tiny)
        others = others[others != word]
        rare = others[np.argsort(met[others], kind="stable")][:_COMPANIONS]
        for pair in combinations(rare, 2):
            document = _common_document(remainder, np.array([word, *pair]))
            if document is not None and remainder.take(*document):
                taken += 1
                break
    return taken


def _common_document(
    remainder: _Remainder, three: NDArray[np.intp]
) -> tuple[NDArray[np.intp], Floats] | None:
    """The one document in which three words meet, if enough other words agree on it."""
    left, tiny = remainder.left, remainder.tiny
    k, l, p = three
    if min(left[k, l], left[k, p], left[l, p]) <= tiny:
        return None
    own = np.sqrt(left[k, l] * left[k, p] / left[l, p])
    weights = np.array([own, left[k, l] / own, left[k, p] / own])
    if (weights**2 > left[three, three] + tiny).any():
        return None
    bounds = _bounds(left, three, weights)
    least = bounds.min(axis=0)
    core = np.flatnonzero((bounds.max(axis=0) <= least * (1 + _EQUAL)) & (least > tiny))
    if len(core) < _LEAST_AGREEING:
        return None
    expected = np.outer(least[core], least[core])
    agree = np.abs(left[np.ix_(core, core)] - expected) <= _EQUAL * expected
    np.fill_diagonal(agree, val=True)
    core = core[agree.mean(axis=1) >= _AGREEING_SHARE]
    if len(core) < _LEAST_AGREEING:
        return None
    bound = _bounds(left, core, least[core]).min(axis=0)
    words = np.flatnonzero(bound > tiny)
    return (words, bound[words]) if len(words) <= remainder.most else None


def _bounds(left: Floats, words: NDArray[np.intp], weights: Floats) -> Floats:
    """Return the largest weight that each of these words of a document allows every word."""
    bounds = left[words] / weights[:, np.newaxis]
    bounds[np.arange(len(words)), words] = weights
    return bounds


def _labelled(remainder: _Remainder, exposed: ExposedMoments) -> tuple[Recovered, ...]:
    documents = remainder.documents
    labels: list[int | None] = [None] * len(documents)
    if exposed.mean is not None and documents:
        rows = np.zeros((len(documents), len(exposed.second)))
        for row, (words, weights) in zip(rows, documents, strict=True):
            row[words] = weights
        labels = labels_from(rows, exposed.mean)
    return worth_telling(
        Recovered(words, weights, label)
        for (words, weights), label in zip(documents, labels, strict=True)
    )
