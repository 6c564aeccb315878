"""A peer's moments from n sampled rados, instead of all 2^m of them.

Every rado adds up the edge vectors of a random half of the peer's documents. Their mean and
covariance, centred by the peer's own mean, estimate the exact moments: the covariance has a
relative error of about √(2/n) in every entry and a rank below n. Nobody sees the rados in either
case, so a sample hides nothing more. It is the paper's method, and it costs accuracy.

With exact moments b = XᵀY belongs to A = XᵀX, so that ‖θ‖ ≤ √(m/λ)/2. A sample's b need not:
only ‖θ‖ ≤ ‖b‖/λ holds, and every peer ensures that ‖b‖² ≤ m·c for the agreed c.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.entropy import Expansion
from sottovoce.rados import GivenSignatures, Moments, RadoFamily
from sottovoce.rados.blas_threads import one_blas_thread
from sottovoce.study.choices import Contribution
from sottovoce.study.plan import StudyPlan
from sottovoce.text.passes import Examples


def signatures(count: int, documents: int, *, seed: bytes) -> GivenSignatures:
    """Return independent uniform signs, from a seed that the peer drew."""
    words = Expansion(seed, "roles/rados/v1", b"").words(count, -(-documents // 64))
    bits = np.unpackbits(words.view(np.uint8), axis=1, count=documents)
    return GivenSignatures.of(2 * bits.astype(np.int8) - np.int8(1))


def sampled_moments(
    blocks: Sequence[Examples],
    weights: Sequence[NDArray[np.float64] | None],
    *,
    rados: int,
    seed: bytes,
) -> Moments:
    """Return moments of sampled rados of all rows of these blocks."""
    rows = sparse.csr_array(sparse.vstack([block.rows for block in blocks]))
    targets = np.concatenate([block.targets for block in blocks])
    heavy = (
        None
        if weights[0] is None
        else np.concatenate([weight for weight in weights if weight is not None])
    )
    drawn = signatures(rados, rows.shape[0], seed=seed)
    family = RadoFamily.of(rows, targets, drawn, weights=heavy)
    weight = float(rows.shape[0] if heavy is None else heavy.sum())
    return family.moments().as_documents(rows.shape[0], weight=weight)


def upper_end_of_sample(moments: Moments) -> float:
    """Return a bound of all eigenvalues of the second moment, and of ‖b‖²/m of every class.

    A sample has entries of either sign, for which bounds from absolute values are far too high.
    """
    with one_blas_thread():
        largest = float(np.linalg.eigvalsh(moments.second)[-1]) * (1 + 1e-9)
    lengths = (moments.products**2).sum(axis=0).max() / max(moments.weight, 1.0)
    return max(largest, float(lengths))


def solution_weight(plan: StudyPlan, weight: float, *, penalty: float, ceiling: float) -> float:
    """Return Σ w y² of a ridge regression whose θ could be as long as this plan's."""
    if plan.contribution is Contribution.EXACT:
        return weight
    return 4 * weight * max(ceiling, penalty) / penalty


def reach(plan: StudyPlan, rows: int, *, penalty: float, ceiling: float) -> float:
    """Return the largest length of θ."""
    weight = solution_weight(plan, rows, penalty=penalty, ceiling=ceiling)
    return math.sqrt(weight / penalty) / 2
