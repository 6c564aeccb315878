"""The Secure Rado Solver (the paper's Protocol 4): θ* = (BBᵀ + nΓ)⁻¹ B·1 on encrypted rados.

    evaluator, who holds ⟨⟨B⟩⟩                              key holder
    ⟨⟨T⟩⟩ = ⟨⟨BBᵀ⟩⟩ ◀── S.MatProd: two trips ──▶
    ⟨⟨T⟩⟩ ← ⟨⟨T⟩⟩ ⊕ n ⊗ Γ: no trip
    ⟨⟨V⟩⟩ = ⟨⟨T⁻¹⟩⟩ ◀── S.Inv, and its check ──▶
    ⟨⟨V·B⟩⟩, summed along its rows ◀── S.MatProd: two trips ──▶

B holds n rados as columns; here they are rows, as everywhere. The paper returns the
"first row" of V·B; that is one entry of n solutions. What equation (θ*) asks for is
V·B·1, the sum along the rows, and since V·B·1 = V·(B·1), the rados are added up first:
one vector is multiplied instead of n.

The evaluator learns that the inverse is one (else it stops), and nothing else: it holds
ciphertexts. The key holder sees sizes, the number of steps and noise within 2^−κ.
Assumption: both follow the protocol and do not pool what they saw.
"""

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Plain, SecretKey, Unsent
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import check_inverse, invert
from sottovoce.paper.inversion.inverse import checked_stages as inverse_stages
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import FixedFactors, matrix_product
from sottovoce.rados import solve_rados


@dataclass(frozen=True)
class SolverPlan:
    """Everything public: how many rados on which scale, Γ, and a ceiling of BBᵀ's spectrum.

    No eigenvalue of BBᵀ is larger than its trace, so n·d·(largest entry)² always
    is a ceiling; a smaller one that holds saves trips.
    """

    rados: int
    penalties: tuple[float, ...]
    rado_scale: Scale
    ceiling: float
    order: int = 2
    tolerance: float = 2.0**-14
    fraction_bits: int = 40
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        if self.rados < 1 or not self.penalties or not 0 < self.ceiling < inf:
            raise InputError(
                "rado solver: expected at least 1 rado, 1 feature and a ceiling above 0, found "
                f"{self.rados}, {len(self.penalties)} and {self.ceiling:g}"
            )
        if not all(0 < value < inf for value in self.penalties):
            raise InputError(
                "rado solver: expected a penalty above 0 on every feature, "
                f"found {min(self.penalties):g}",
                hints=("without a penalty BBᵀ need not be positive definite",),
            )

    @property
    def features(self) -> int:
        """The number of features of a rado."""
        return len(self.penalties)

    @property
    def inversion(self) -> InvPlan:
        """The inversion of BBᵀ + nΓ."""
        return InvPlan(
            self.features,
            lower=self.rados * min(self.penalties),
            upper=self.ceiling + self.rados * max(self.penalties),
            order=self.order,
            tolerance=self.tolerance,
            fraction_bits=self.fraction_bits,
            matrix_bits=2 * self.rado_scale.fraction_bits,
            masking=self.masking,
        )

    def penalty(self) -> Plain:
        """n·Γ on the grid of BBᵀ."""
        diagonal = self.rados * np.diag(self.penalties)
        return Plain.of(diagonal, self.inversion.matrix_scale(float(diagonal.max())))


def ideal(rados: Plain, plan: SolverPlan) -> NDArray[np.float64]:
    """Compute the result in plain, as the oracle."""
    return solve_rados(rados.floats(), penalty=np.array(plan.penalties))


def solve_encrypted(rados: Encrypted, plan: SolverPlan, *, entropy: Entropy) -> Party[Unsent]:
    """At the evaluator: ⟨⟨θ*⟩⟩, packed, from a row of ciphertexts for every rado."""
    if rados.shape != (plan.rados, plan.features) or rados.slots is not None:
        raise MismatchError(
            f"rado solver: expected {plan.rados} × {plan.features}, one value a ciphertext, "
            f"found {rados.layout}"
        )
    if rados.scale != plan.rado_scale:
        raise MismatchError(
            f"rado solver: expected rados on {plan.rado_scale}, found {rados.scale}"
        )
    inversion, masking = plan.inversion, plan.masking
    rows = rados.packed(inversion.slots(rados.key.plaintext_bits))
    T = yield from matrix_product(rados.T, rows, entropy=entropy, masking=masking)
    T = T.within(inversion.matrix_scale(plan.ceiling)) + plan.penalty()
    V = yield from invert(T, inversion, entropy=entropy)
    yield from check_inverse(T, V, inversion, entropy=entropy)
    # V is symmetric, so V·(B·1) is the row (B·1)ᵀ·V.
    return (yield from matrix_product(rados.sum(axis=0), V, entropy=entropy, masking=masking))


def stages(key: SecretKey, plan: SolverPlan, *, entropy: Entropy) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages: the product, the inversion with its check, the last product."""
    return [
        *FixedFactors(key).stages(budget=1, entropy=entropy),
        *inverse_stages(key, plan.inversion, entropy=entropy),
        *FixedFactors(key).stages(budget=1, entropy=entropy),
    ]
