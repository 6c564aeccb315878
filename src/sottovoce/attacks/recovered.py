"""Recovered documents and their score; only the score uses the truth, attacks do not."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.rados.rows import Floats, as_labels, as_rows

# A document of fewer words could be found by chance.
LEAST_FEATURES = 3
# A recovered document must agree with a true one in at least half of its words' information.
LEAST_AGREEMENT = 0.5
# Common words must give more bits than picking one document takes, which chance does, too.
LEAST_INFORMATION = 2.0
# Values count as proportional up to what fixed point leaves of them.
CLOSE = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Recovered:
    """One document as an attack believes it to be: its features, their weights, its label."""

    features: NDArray[np.intp]
    values: Floats
    label: int | None = None

    @classmethod
    def from_row(cls, row: Floats, label: int | None = None, *, least: float = 1e-9) -> "Recovered":
        """The document of a dense row: whatever is larger than `least` of its largest weight."""
        features = np.flatnonzero(np.abs(row) > least * np.abs(row).max(initial=0.0))
        return cls(features, row[features], label)

    @classmethod
    def from_edge(cls, edge: Floats, *, least: float = 1e-9) -> "Recovered":
        """The document of an edge vector y·x of words, whose weights x are not negative."""
        label = 1 if edge.sum() >= 0 else -1
        return cls.from_row(label * edge, label, least=least)

    def key(self) -> bytes:
        """The same for the same features in the same proportions."""
        shares = np.round(self.values / np.abs(self.values).max(initial=1e-300), 6)
        return bytes(self.features.tobytes() + shares.tobytes())


def worth_telling(documents: Iterable[Recovered]) -> tuple[Recovered, ...]:
    """The documents of at least three features, each once."""
    by_key = {item.key(): item for item in documents if len(item.features) >= LEAST_FEATURES}
    return tuple(by_key.values())


@dataclass(frozen=True)
class Score:
    """The part of the truth that came back.

    A word says log2(m / the number of documents that have it) bits. A recovered document is
    `matched` with a true one (each once, the best first) if at least half of what its words
    say stands there, and the common words together say twice the log2(m) bits that it takes
    to point at one document; or if it is the same in every word and weight. `precision` is
    the share of recovered words that stand in the matched document, `recall` the share of all
    true words that came back so.
    """

    documents: int
    recovered: int
    matched: int
    word_for_word: int
    labels_right: int
    precision: float
    recall: float


def score(recovered: Iterable[Recovered], rows: Any, labels: Any) -> Score:
    """Compare what an attack recovered with the documents (rows) and labels that it was after."""
    truth = sparse.csr_array(as_rows(rows), copy=True)
    signs = as_labels(labels, rows=truth.shape[0])
    truth.eliminate_zeros()
    documents = [item for item in recovered if len(item.features)]
    pairs = _matches(documents, truth)
    common = sum(agreement for _, _, agreement in pairs)
    written = sum(len(item.features) for item in documents)
    return Score(
        documents=int(truth.shape[0]),
        recovered=len(documents),
        matched=len(pairs),
        word_for_word=sum(_same_weights(documents[i], truth, j) for i, j, _ in pairs),
        labels_right=sum(documents[i].label == int(signs[j]) for i, j, _ in pairs),
        precision=common / written if written else 0.0,
        recall=common / truth.nnz if truth.nnz else 0.0,
    )


def _matches(recovered: list[Recovered], truth: Any) -> list[tuple[int, int, int]]:
    """Pairs (recovered, true, words in common), the most alike first, each at most once."""
    documents, features = truth.shape
    present = sparse.csr_array((np.ones(truth.nnz), truth.indices, truth.indptr), truth.shape)
    having = np.asarray(present.sum(axis=0)).ravel()
    bits = np.log2(documents / np.maximum(having, 1))
    needed = LEAST_INFORMATION * np.log2(documents)
    candidates: list[tuple[float, int, int, int]] = []
    for number, item in enumerate(recovered):
        if item.features[-1] >= features:
            # Read out of other columns than features: nothing in common with documents.
            continue
        row = np.zeros(features)
        row[item.features] = 1
        common, said = present @ row, present @ (row * bits)
        alike = (said >= LEAST_AGREEMENT * (row @ bits)) & (said >= needed)
        same = (common == len(item.features)) & (np.diff(truth.indptr) == common)
        same[same] = [_same_weights(item, truth, other) for other in _places(same)]
        for other in _places(alike | same):
            rank = -float(said[other]) - float(same[other])
            candidates.append((rank, number, other, int(common[other])))
    pairs: list[tuple[int, int, int]] = []
    taken_found: set[int] = set()
    taken_true: set[int] = set()
    for _, number, other, common_words in sorted(candidates):
        if number not in taken_found and other not in taken_true:
            taken_found.add(number)
            taken_true.add(other)
            pairs.append((number, other, common_words))
    return pairs


def _places(chosen: NDArray[np.bool_]) -> list[int]:
    return [int(place) for place in np.flatnonzero(chosen)]


def _same_weights(item: Recovered, truth: Any, other: int) -> bool:
    """Whether the recovered document is the true one in every word and, to scale, weight."""
    start, end = truth.indptr[other : other + 2]
    words, values = truth.indices[start:end], truth.data[start:end]
    if not np.array_equal(item.features, words):
        return False
    largest, true = np.abs(item.values).max(), np.abs(values).max()
    return np.allclose(item.values / largest, values / true, atol=CLOSE)
