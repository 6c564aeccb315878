"""What centring took away, given back: shares of the intercept (T − Sᵀθ)/m, one a class.

    dealer        first (C)                                second (E)
      |   truncation.py: θ at the scale in which scores are computed
      |   products.py:   Sᵀθ/√m
      |   truncation.py: to θ's scale; times the public 1/√m; to θ's scale again

Who learns what: each holder sees uniform words and ends with shares; the dealer receives
nothing. Assuming that it pools with neither of them.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from sottovoce.errors import BoundError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, matmul
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.shares.centring import CentringPlan
from sottovoce.protocols.shares.holders import Dealer, Holder
from sottovoce.protocols.shares.products import Product, deal_product, multiplied
from sottovoce.protocols.shares.truncation import Truncation, deal_truncation, truncated

# Finer than this a model is not needed: its scores are compared with each other and with 0.
_FINEST = 24
_FACTOR_BITS = 20


@dataclass(frozen=True)
class InterceptPlan:
    """From the solution's scale to the model's: coarser, and with room for Sᵀθ."""

    centring: CentringPlan
    solution: Scale
    model: Scale

    @classmethod
    def fit(cls, centring: CentringPlan, solution: Scale) -> Self:
        """The finest scale in which |Sᵀθ|/√m ≤ √m·|x̄|·‖θ‖ fits into a word."""
        norm = solution.bound / 2**solution.fraction_bits
        largest = centring.totals.bound / 2**centring.totals.fraction_bits * (1 + norm)
        room = 60 - math.frexp(largest)[1]
        bits = min(_FINEST, solution.fraction_bits - 1, room - centring.totals.fraction_bits)
        if bits + _FACTOR_BITS > room:
            bits = room - _FACTOR_BITS
        if bits < 8:
            raise BoundError(
                f"intercept: values up to {largest:g} leave {bits} fraction bits, "
                "expected at least 8",
                hints=("raise the penalty",),
            )
        return cls(centring, solution, Scale.covering(2 * norm + 2, fraction_bits=bits))

    @property
    def model_truncation(self) -> Truncation:
        """From the solution's scale to the model's."""
        return Truncation(self.solution.fraction_bits - self.model.fraction_bits)

    @property
    def totals_truncation(self) -> Truncation:
        """Takes the totals' fraction bits away again."""
        return Truncation(self.centring.totals.fraction_bits)

    @property
    def factor_bits(self) -> int:
        """1/√m takes _FACTOR_BITS bits at these fraction bits."""
        return _FACTOR_BITS - math.frexp(1 / math.sqrt(self.centring.weight))[1]

    @property
    def factor(self) -> int:
        """1/√m."""
        return round(math.ldexp(1 / math.sqrt(self.centring.weight), self.factor_bits))

    @property
    def product(self) -> Product:
        """Sᵀθ, a row."""
        features, classes = self.centring.features, self.centring.classes
        return Product(matmul, (1, features), (features, classes))


def with_intercept(
    holder: Holder, plan: InterceptPlan, *, theta: Words, totals: Words
) -> Party[tuple[Words, Words]]:
    """A holder's shares of the model (features, classes) and of its intercepts (classes,)."""
    features, classes = plan.centring.features, plan.centring.classes
    if theta.shape != (features, classes) or totals.shape != (features + classes,):
        raise MismatchError(
            f"intercept: expected a model of shape {(features, classes)} and "
            f"{features + classes} totals, found {theta.shape} and {totals.shape}"
        )
    model = yield from truncated(holder, theta, plan.model_truncation, purpose="model")
    row = totals[None, :features]
    scores = yield from multiplied(holder, row, model, plan.product, purpose="mean score")
    targets = totals[features:] << np.uint64(plan.model.fraction_bits)
    apart = targets - scores[0]
    apart = yield from truncated(holder, apart, plan.totals_truncation, purpose="mean score")
    scaled = apart * np.uint64(plan.factor)
    intercept = yield from truncated(
        holder, scaled, Truncation(plan.factor_bits), purpose="intercept"
    )
    return model, intercept


def deal_with_intercept(dealer: Dealer, plan: InterceptPlan) -> Party[None]:
    """The dealer's part of `with_intercept`."""
    features, classes = plan.centring.features, plan.centring.classes
    yield from deal_truncation(dealer, plan.model_truncation, (features, classes), purpose="model")
    yield from deal_product(dealer, plan.product, purpose="mean score")
    yield from deal_truncation(dealer, plan.totals_truncation, (classes,), purpose="mean score")
    yield from deal_truncation(
        dealer, Truncation(plan.factor_bits), (classes,), purpose="intercept"
    )
