"""The token level of `bench accuracy`: which tokens are part of an entity of some types.

Ours is the closed form over moments kept apart by class, so that the class
weight can be chosen on validation documents without a second pass; the partner
is `LogisticRegression(C=10)` on the very same rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.accuracy.accuracy import (
    KEY,
    AccuracyComparison,
    AccuracySetting,
    SplitPair,
    joint_space,
    simulated_peers,
    split_pair,
)
from sottovoce.rados import Moments, joined, solve
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureSpace
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.passes import examples
from sottovoce.text.reading import Level, Reading
from sottovoce.text.splits import Split

WEIGHTS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""The public list from which the weight of a token inside an entity is chosen."""


@dataclass(frozen=True, eq=False)
class TokenRows:
    """Tokens as rows, and ±1 for inside and outside."""

    matrix: sparse.csr_array
    targets: NDArray[np.int8]

    def moments(self, sign: int) -> Moments:
        """The moments of the tokens inside (1) or outside (-1)."""
        mine = self.targets == sign
        return Moments(self.matrix.shape[1]).add(self.matrix[mine], self.targets[mine])


def compare_tokens(
    name: str,
    pairs: Sequence[SplitPair],
    types: Sequence[str],
    setting: AccuracySetting,
    *,
    allowed: float,
) -> list[AccuracyComparison]:
    """F1 of both on each split: beside the partner as it is, and with a weight chosen alike."""
    labelling = Labelling.by_entity(Scheme.INSIDE, types)
    scores = np.array([_scores(pair, labelling, setting) for pair in pairs]).T
    ours, plain, weighted, features = (tuple(row.tolist()) for row in scores)
    sizes = (len(pairs[-1].train), len(pairs[-1].test), int(features[-1]))
    return [
        AccuracyComparison(name, "F1", ours, plain, allowed, sizes),
        AccuracyComparison(f"{name} weighted", "F1", ours, weighted, allowed, sizes),
    ]


def _scores(
    pair: SplitPair, labelling: Labelling, setting: AccuracySetting
) -> tuple[float, float, float, float]:
    """Our F1, the partner's, the weighted partner's, and how many features they had."""
    peers = simulated_peers(pair.train, setting.peers)
    space = joint_space(peers, Reading(Level.TOKEN), labelling, setting)
    inner = [split_pair(peer, Split(0.2, "class weight")) for peer in peers]
    learnt = [_rows(fold.train, space, labelling) for fold in inner]
    held = [_rows(fold.test, space, labelling) for fold in inner]
    judge, everything = _stacked(held), _stacked(learnt + held)
    test = _rows(pair.test, space, labelling)
    fit = _stacked(learnt)
    weight = max(WEIGHTS, key=lambda w: _f1(judge, _logistic(fit, judge, w)))
    return (
        _f1(test, test.matrix @ _joint_theta(learnt, held, setting)),
        _f1(test, _logistic(everything, test, 1.0)),
        _f1(test, _logistic(everything, test, weight)),
        space.width - 1,
    )


def _joint_theta(
    learnt: Sequence[TokenRows], held: Sequence[TokenRows], setting: AccuracySetting
) -> NDArray[np.float64]:
    """Learnt from all training documents, with the weight that the held ones prefer."""
    judge = _stacked(held)
    sums = _ByClass.of(learnt)
    weight = max(WEIGHTS, key=lambda w: _f1(judge, judge.matrix @ sums.theta(w, setting)))
    return (sums + _ByClass.of(held)).theta(weight, setting)


@dataclass(frozen=True)
class _ByClass:
    """The peers' moments added up, of tokens inside and outside apart."""

    inside: Moments
    outside: Moments

    @classmethod
    def of(cls, peers: Sequence[TokenRows]) -> "_ByClass":
        inside = joined(rows.moments(1) for rows in peers)
        return cls(inside, joined(rows.moments(-1) for rows in peers))

    def __add__(self, other: "_ByClass") -> "_ByClass":
        return _ByClass(self.inside + other.inside, self.outside + other.outside)

    def theta(self, weight: float, setting: AccuracySetting) -> NDArray[np.float64]:
        second = self.outside.second + weight * self.inside.second
        products = self.outside.products + weight * self.inside.products
        return np.asarray(solve(second, products, penalty=setting.alpha)[:, 0])


def _rows(documents: Sequence[Document], space: FeatureSpace, labelling: Labelling) -> TokenRows:
    blocks = examples(documents, space, labelling, key=KEY)
    return _stacked([TokenRows(block.rows, block.targets[:, 0]) for block in blocks], space.width)


def _stacked(parts: Sequence[TokenRows], width: int = 0) -> TokenRows:
    if not parts:
        return TokenRows(sparse.csr_array((0, width)), np.zeros(0, np.int8))
    matrix = sparse.csr_array(sparse.vstack([part.matrix for part in parts], format="csr"))
    return TokenRows(matrix, np.concatenate([part.targets for part in parts]))


def _logistic(train: TokenRows, test: TokenRows, weight: float) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10, max_iter=2000, class_weight={1: weight, -1: 1.0})
    return np.asarray(model.fit(train.matrix, train.targets).decision_function(test.matrix))


def _f1(rows: TokenRows, scores: NDArray[np.float64]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(rows.targets > 0, scores > 0, zero_division=0.0))
