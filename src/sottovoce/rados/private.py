"""Differentially private rados for one Boolean feature (Nock and others, 2015).

A rado's sensitive coordinate π_j tells how often y·x_j was +1 among the chosen
documents. Rados with an extreme π_j are rejected: with β = 1/(1 + e^(ε/2)), m
documents and m₊ of them with y·x_j = +1, a signature is kept only if

    −(m − m₊) + β(m+1)  ≤  π_j  ≤  m₊ − β(m+1)

What this protects: over the draw of one rado, the released
number π_j has nearly the same distribution when the feature of *one* document
flips. It composes linearly: n rados spend n·ε and n·δ. It says nothing about the other features,
nor about π_j *together with* them: a party that knows all other documents may read from the other
coordinates which of them were added up.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.errors import InputError
from sottovoce.rados.observations import Part, rados
from sottovoce.rados.rows import Discreet, Floats
from sottovoce.rados.signatures import ChosenSignatures, RandomSignatures


@dataclass(frozen=True)
class Guarantee:
    """The privacy that one rado spends on the sensitive feature, and the share of kept draws.

    `spent` is the largest log-ratio of probabilities that a flip can cause (at
    most ε/2), `delta` the probability of a value that the neighbour cannot give.
    """

    epsilon: float
    spent: float
    delta: float
    acceptance: float

    def total(self, count: int) -> "Guarantee":
        """The privacy that `count` rados spend together: ε and δ compose linearly."""
        return Guarantee(
            count * self.epsilon, count * self.spent, count * self.delta, self.acceptance
        )


@dataclass(frozen=True)
class KeptWindow:
    """The kept values of K = π_j + (m − m₊), which is Binomial(m, ½) whatever the feature says."""

    documents: int
    lowest: int
    highest: int

    @classmethod
    def of(cls, documents: int, *, epsilon: float) -> "KeptWindow":
        """β(m+1) ≤ K ≤ m − β(m+1)."""
        if not (np.isfinite(epsilon) and epsilon > 0):
            raise InputError(f"private rados: expected epsilon above 0, found {epsilon:g}")
        margin = (documents + 1) / (1 + np.exp(epsilon / 2))
        window = cls(documents, int(np.ceil(margin)), int(np.floor(documents - margin)))
        if window.lowest > window.highest:
            raise InputError(
                f"private rados: with {documents} document(s) no rado satisfies "
                f"epsilon {epsilon:g}",
                hints=("use a larger epsilon or more documents",),
            )
        return window

    def guarantee(self, epsilon: float) -> Guarantee:
        """ε, δ and the acceptance rate, computed from the binomial distribution."""
        # Imported here, because the import takes half a second.
        from scipy.stats import binom

        low, high, m = self.lowest, self.highest, self.documents
        acceptance = float(binom.cdf(high, m, 0.5) - binom.cdf(low - 1, m, 0.5))
        # C(m, k) / C(m, k−1) = (m−k+1)/k is largest at the lowest k that has a kept neighbour.
        spent = float(np.log((m - low) / (low + 1))) if high > low else 0.0
        return Guarantee(epsilon, spent, float(binom.pmf(low, m, 0.5)) / acceptance, acceptance)


@dataclass(frozen=True, repr=False)
class PrivateRados(Discreet):
    """Rados as rows, what each spends, what all spend, and how many signatures were drawn."""

    vectors: Floats
    each: Guarantee
    drawn: int

    @property
    def total(self) -> Guarantee:
        """The privacy that all of them spend together."""
        return self.each.total(len(self.vectors))


def private_rados(
    part: Part, *, feature: int, count: int, epsilon: float, rng: np.random.Generator
) -> PrivateRados:
    """`count` rados whose coordinate `feature` (values −1 and +1) is private at ε each."""
    if count < 1:
        raise InputError(f"rados: expected at least 1 rado, found {count}")
    edges = part.labels * _boolean(part, feature)
    window = KeptWindow.of(len(edges), epsilon=epsilon)
    guarantee = window.guarantee(epsilon)
    offset = int((edges < 0).sum())
    vectors: list[Floats] = []
    kept = drawn = 0
    while kept < count:
        # Distinct within a draw as they must be; a draw never asks for more than there are.
        wanted = int((count - kept) / guarantee.acceptance * 1.1) + 8
        batch = RandomSignatures.draw(min(wanted, 2 ** min(len(edges), 20)), len(edges), rng=rng)
        places = _coordinate(edges, part.labels, batch) + offset
        chosen = np.flatnonzero((places >= window.lowest) & (places <= window.highest))
        chosen = chosen[: count - kept]
        drawn += int(chosen[-1]) + 1 if len(chosen) == count - kept else batch.count
        kept += len(chosen)
        if len(chosen):
            vectors.append(rados(part, ChosenSignatures(batch, chosen)))
    return PrivateRados(np.concatenate(vectors), guarantee, drawn)


def _boolean(part: Part, feature: int) -> Floats:
    if not 0 <= feature < part.rows.shape[1]:
        raise InputError(
            f"private rados: expected a feature from 0 to {part.rows.shape[1] - 1}, found {feature}"
        )
    column: Any = part.rows[:, [feature]]
    values = (column if isinstance(column, np.ndarray) else column.toarray()).ravel()
    if not np.isin(values, (-1.0, 1.0)).all():
        raise InputError(
            f"private rados: expected feature {feature} to be -1 or 1 everywhere",
            hints=("write a Boolean feature as 2 * x - 1",),
        )
    return values


def _coordinate(edges: Floats, labels: Floats, signatures: RandomSignatures) -> Floats:
    """π_j for every signature, one block of documents at a time."""
    total = np.zeros(signatures.count)
    for block, signs in signatures.blocks():
        total += (signs == labels[block]) @ edges[block]
    return total
