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

from sottovoce.bench.accuracy import (
    KEY,
    Comparison,
    Pair,
    Setting,
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
class Rows:
    """Tokens as rows, and ±1 for inside and outside."""

    matrix: sparse.csr_array
    targets: NDArray[np.int8]

    def moments(self, sign: int) -> Moments:
        """The moments of the tokens inside (1) or outside (-1)."""
        mine = self.targets == sign
        return Moments(self.matrix.shape[1]).add(self.matrix[mine], self.targets[mine])


def compare_tokens(
    name: str, pairs: Sequence[Pair], types: Sequence[str], setting: Setting, *, allowed: float
) -> Comparison:
    """F1 of both on each split."""
    labelling = Labelling.by_entity(Scheme.INSIDE, types)
    ours, partner, features = [], [], 0
    for pair in pairs:
        peers = simulated_peers(pair.train, setting.peers)
        space = joint_space(peers, Reading(Level.TOKEN), labelling, setting)
        test = _rows(pair.test, space, labelling)
        inner = [split_pair(peer, Split(0.2, "class weight")) for peer in peers]
        learnt = [_rows(one.train, space, labelling) for one in inner]
        held = [_rows(one.test, space, labelling) for one in inner]
        ours.append(_f1(test, test.matrix @ _joint_theta(learnt, held, setting)))
        partner.append(_f1(test, _logistic_scores(_stacked(learnt + held), test)))
        features = space.width - 1
    sizes = (len(pairs[-1].train), len(pairs[-1].test), features)
    return Comparison(name, "F1", tuple(ours), tuple(partner), allowed, sizes)


def _joint_theta(
    learnt: Sequence[Rows], held: Sequence[Rows], setting: Setting
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
    def of(cls, peers: Sequence[Rows]) -> "_ByClass":
        inside = joined(rows.moments(1) for rows in peers)
        return cls(inside, joined(rows.moments(-1) for rows in peers))

    def __add__(self, other: "_ByClass") -> "_ByClass":
        return _ByClass(self.inside + other.inside, self.outside + other.outside)

    def theta(self, weight: float, setting: Setting) -> NDArray[np.float64]:
        second = self.outside.second + weight * self.inside.second
        products = self.outside.products + weight * self.inside.products
        return np.asarray(solve(second, products, penalty=setting.alpha)[:, 0])


def _rows(documents: Sequence[Document], space: FeatureSpace, labelling: Labelling) -> Rows:
    blocks = examples(documents, space, labelling, key=KEY)
    return _stacked([Rows(block.rows, block.targets[:, 0]) for block in blocks], space.width)


def _stacked(parts: Sequence[Rows], width: int = 0) -> Rows:
    if not parts:
        return Rows(sparse.csr_array((0, width)), np.zeros(0, np.int8))
    matrix = sparse.csr_array(sparse.vstack([part.matrix for part in parts], format="csr"))
    return Rows(matrix, np.concatenate([part.targets for part in parts]))


def _logistic_scores(train: Rows, test: Rows) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=10, max_iter=2000).fit(train.matrix, train.targets)
    return np.asarray(model.decision_function(test.matrix))


def _f1(rows: Rows, scores: NDArray[np.float64]) -> float:
    from sklearn.metrics import f1_score

    return float(f1_score(rows.targets > 0, scores > 0, zero_division=0.0))
