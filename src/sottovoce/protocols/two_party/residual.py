"""The last check of S.Solve: one bit tells the evaluator whether ‖b − A·θ‖ is small.

    evaluator                                              key holder
      ── MaskedTruncation: the residual, packed ───────▶
      ◀── Truncated: cut, one value a ciphertext ───────
      ── MaskedVectors: it and itself ─────────────────▶
      ◀── InnerProduct ⟨⟨‖residual‖²⟩⟩ ─────────────────
      ── MaskedNumbers, BlindedTests: S.Sign of tolerance² − ‖residual‖² ──▶
      ◀── NumberBits, Verdicts ─────────────────────────

If the interval does not hold the spectrum of A (its upper end is too low, or A is not positive
definite), Chebyshev's iteration diverges instead of converging to A⁻¹b. The residual that comes
with θ is exact, so it shows that; a θ that fails here must not be used. Whatever the slots of a
diverged residual hold, the check counts it as large, because its numbers have room for everything
that a slot can hold.

The evaluator learns the one bit. The key holder sees noise and a fair coin. Both follow the
protocol and do not pool what they saw. When an iteration leaves its bounds, masks no longer cover
what the key holder sees. So it must be proven beforehand that the interval holds (by a blind sum of
the peers' own largest eigenvalues). This check only reports a failure; it does not prevent it.
"""

from math import ceil, floor, log2, sqrt
from typing import Any

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Plain, SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.comparison import sign_rules, signs
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.products import (
    MaskedVectors,
    answer_vectors,
    inner_product,
)
from sottovoce.protocols.two_party.solve import Solved, SolvePlan, solve, solve_stages
from sottovoce.protocols.two_party.truncation import truncate, truncation_rule

# The number of bits of the residual that are kept below the tolerance of one of its entries.
SPARE_BITS = 6


def residual_tolerance(plan: SolvePlan) -> float:
    """Return twice the part of b that Chebyshev's iteration leaves, for every b of the plan."""
    return 2 * plan.tolerance * plan.upper * plan.reach * sqrt(plan.size)


def is_small(whole: Encrypted, limit: float, *, masking: Masking, entropy: Entropy) -> Party[bool]:
    """Return whether the length of a packed vector, with room for masks, is at most the limit."""
    if not 0 < limit < float("inf"):
        raise InputError(f"residual: expected a tolerance above 0, found {limit:g}")
    slots = whole.slots
    assert slots is not None
    kept = max(1, ceil(log2(sqrt(len(whole)) / limit)) + SPARE_BITS)
    bits = whole.scale.fraction_bits - kept
    room = Scale(whole.scale.fraction_bits, (1 << slots.width - masking.kappa - 2) - 1)
    cut = yield from truncate(whole.within(room), bits, entropy=entropy, masking=masking)
    # A value read from a slot has no more bits than the slot.
    cut = cut.within(Scale(kept, 1 << slots.width - bits))
    norm = yield from inner_product(cut, cut, entropy=entropy, masking=masking)
    squared = floor(limit**2 * 4.0**kept)
    spare = Plain(np.array(squared, dtype=object), Scale(2 * kept, squared)) - norm
    (small,) = yield from signs(spare.reshaped(1), entropy=entropy, masking=masking)
    return small


def residual_is_small(
    solved: Solved, plan: SolvePlan, *, entropy: Entropy, tolerance: float | None = None
) -> Party[bool]:
    """Return whether ‖b − A·θ‖ is at most the tolerance, by default the plan's."""
    aim = residual_tolerance(plan) if tolerance is None else tolerance
    limit = aim / 2.0**plan.shift  # the solve reads A and b as smaller by this factor
    return (yield from is_small(solved.residual, limit, masking=plan.masking, entropy=entropy))


def check_residual(
    solved: Solved, plan: SolvePlan, *, entropy: Entropy, tolerance: float | None = None
) -> Party[Solved]:
    """Return the solution if its residual is small; else raise `BoundError`."""
    small = yield from residual_is_small(solved, plan, entropy=entropy, tolerance=tolerance)
    if not small:
        raise BoundError(
            f"S.Solve: the interval from {plan.lower:g} to {plan.upper:g} does not hold the "
            "spectrum, expected a residual within its tolerance, found a larger one",
            hints=(
                "the upper end must be at least the largest eigenvalue of A",
                "the lower end must be above 0 and at most the smallest, so add a penalty",
            ),
        )
    return solved


def solve_checked(
    A: Encrypted,
    b: Encrypted,
    plan: SolvePlan,
    *,
    entropy: Entropy,
    own: SecretKey | None = None,
) -> Party[Solved]:
    """Run S.Solve and its check."""
    solved = yield from solve(A, b, plan, entropy=entropy, own=own)
    return (yield from check_residual(solved, plan, entropy=entropy))


def check_stage(key: SecretKey, *, entropy: Entropy) -> list[AnswerRule[Any]]:
    """The key holder's stage of one check."""
    return [
        truncation_rule(key, budget=1, entropy=entropy),
        AnswerRule(MaskedVectors, lambda q: answer_vectors(key, q, entropy=entropy), 1),
        *sign_rules(key, budget=1, numbers=1, entropy=entropy),
    ]


def checked_stages(
    key: SecretKey, plan: SolvePlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """The key holder's stages of one solve and its check."""
    return [*solve_stages(key, plan, entropy=entropy), check_stage(key, entropy=entropy)]
