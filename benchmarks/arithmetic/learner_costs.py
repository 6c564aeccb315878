"""What the learners cost, from public sizes alone: what peers seal, what is asked, what goes out.

Built from the costs of the blocks in the order in which the learners run them. What their
blind sums exchange beside ciphertexts (keys, shares, signatures) is not in here. A test
runs every learner on counting arithmetic and compares.
"""

from dataclasses import dataclass
from math import ceil, floor, log2, sqrt

from benchmarks.arithmetic import costs
from benchmarks.arithmetic.costs import Cost
from sottovoce.numbers.packing import Slots
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import CentralTerms, RoundedTotals
from sottovoce.paper.inversion.hyperpower import InvPlan
from sottovoce.paper.inversion.inverse import PROBE_BITS
from sottovoce.paper.rado_solver import SolverPlan
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.sealed_theta import division_plan
from sottovoce.protocols.two_party.comparison import SignPlan
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.residual import SPARE_BITS, residual_tolerance


@dataclass(frozen=True, slots=True)
class LearnerCost:
    """What all parties of a learner do together.

    `sealed` ciphertexts are encrypted by the peers, `freshened` ones re-randomised on
    their way outside of questions: contributions under blind masks, and models.
    """

    sealed: int
    freshened: int
    questions: Cost

    @property
    def randomisers(self) -> int:
        """Powers of the key's base, made without the secret key by peers and evaluator."""
        return self.sealed + self.freshened

    @property
    def uniform_randomisers(self) -> int:
        """Uniform N-th powers, for what goes to the key holder."""
        return self.questions.rerandomisations


def central(terms: CentralTerms, totals: RoundedTotals, *, plaintext_bits: int) -> LearnerCost:
    """The central learner, the short way."""
    plan, peers = terms.solve_plan(totals), len(terms.cast.peers)
    slots = plan.slots(plaintext_bits)
    blocks = slots.plaintexts_for(plan.size)
    sealed = peers * (plan.size + 1) * blocks
    check = length_check(
        plan.size,
        slots,
        fraction_bits=plan.residual_scale.fraction_bits,
        limit=residual_tolerance(plan) / 2.0**plan.shift,
        masking=plan.masking,
        plaintext_bits=plaintext_bits,
    )
    return LearnerCost(sealed, sealed + peers * blocks, costs.solve(plan, slots) + check)


def sealed_descent(plan: DescentPlan, peers: int, *, plaintext_bits: int) -> LearnerCost:
    """RadoLearn with rados and θ encrypted."""
    features, rados = plan.feature_slots(plaintext_bits), plan.rado_slots(plaintext_bits)
    wide = features.plaintexts_for(plan.features)
    division = division_plan(plan)
    numbers = division.slots(plaintext_bits)
    step = (
        costs.cut_times_fixed(plan.features, features, plan.rados, rados)
        + _weigh(plan, features, rados)
        + costs.divide(1, division, numbers)
        + costs.truncate(1, numbers)
        + costs.cut_and_multiply(2, plan.features, features)
        # The inverse is repeated; θ takes shares of the pull, of the point ahead, and of itself.
        + Cost(powers=4 * wide, shifted=1)
    )
    later = plan.schedule.steps - 1
    momentums = sum(plan.momentum(step) > 0 for step in range(1, later))
    questions = (
        costs.fix(plan.rados, plan.features, features)
        + costs.fix(plan.features, plan.rados, rados)
        + step * later
        + Cost(powers=(2 + momentums) * wide)
    )
    return LearnerCost(_sealed_rados(plan, peers, features, rados), peers * wide, questions)


def plain_descent(plan: DescentPlan, peers: int, *, plaintext_bits: int) -> LearnerCost:
    """RadoLearn with rados encrypted and θ in plain, for the paper's table."""
    features, rados = plan.feature_slots(plaintext_bits), plan.rado_slots(plaintext_bits)
    wide, long = features.plaintexts_for(plan.features), rados.plaintexts_for(plan.rados)
    step = Cost(powers=plan.features * long) + _weigh(plan, features, rados) + _opening(wide + 1)
    questions = (
        costs.fix(plan.rados, plan.features, features)
        + _opening(wide)
        + step * (plan.schedule.steps - 1)
    )
    return LearnerCost(_sealed_rados(plan, peers, features, rados), 0, questions)


def rado_solver(plan: SolverPlan, *, plaintext_bits: int) -> Cost:
    """The Secure Rado Solver."""
    d, n, inversion = plan.features, plan.rados, plan.inversion
    slots = inversion.slots(plaintext_bits)
    squares = costs.fix(n, d, slots) + costs.times_fixed(d, n, d, slots)
    return Cost(shifted=n * d) + squares + _inverse_times_vector(inversion, plaintext_bits)


def printed(terms: PrintedTerms, *, plaintext_bits: int) -> LearnerCost:
    """The central learner as the paper prints it."""
    d, n, peers, plan = terms.features, terms.rados, len(terms.cast.peers), terms.inversion
    blocks = plan.slots(plaintext_bits).plaintexts_for(d)
    questions = (
        (Cost(powers=d) + costs.outer_product(d, d)) * n
        + Cost(shifted=d * d)
        + _inverse_times_vector(plan, plaintext_bits)
        + Cost(powers=blocks)
    )
    # Each peer's sum of rados, the mean that comes back, its sum of products, and θ.
    freshened = peers * (d + d + d * d + blocks)
    return LearnerCost(n * d, freshened, questions)


def length_check(
    size: int,
    slots: Slots,
    *,
    fraction_bits: int,
    limit: float,
    masking: Masking,
    plaintext_bits: int,
) -> Cost:
    """Whether a packed vector is short: S.Trunc, S.InnerProd, S.Sign of one number."""
    kept = max(1, ceil(log2(sqrt(size) / limit)) + SPARE_BITS)
    cut = slots.width - (fraction_bits - kept)
    largest = size * (1 << cut) ** 2 + floor(limit**2 * 4.0**kept)
    sign = SignPlan(largest.bit_length(), masking)
    return (
        costs.truncate(size, slots)
        + costs.inner_product(size)
        + costs.signs(1, sign, plaintext_bits)
    )


def _weigh(plan: DescentPlan, features: Slots, rados: Slots) -> Cost:
    """Weights by S.Exp, and their products with the rados."""
    return costs.exponential(plan.rados, plan.exponentials, rados) + costs.cut_times_fixed(
        plan.rados, rados, plan.features, features
    )


def _opening(ciphertexts: int) -> Cost:
    """Sums that the key holder opens for the evaluator."""
    return Cost(1, ciphertexts)


def _sealed_rados(plan: DescentPlan, peers: int, features: Slots, rados: Slots) -> int:
    by_rado = plan.rados * features.plaintexts_for(plan.features)
    return by_rado + peers * plan.features * rados.plaintexts_for(plan.rados)


def _inverse_times_vector(plan: InvPlan, plaintext_bits: int) -> Cost:
    """S.Inv, its check with a random vector, and S.MatProd with a vector."""
    d, slots = plan.size, plan.slots(plaintext_bits)
    gap = 2 * plan.upper * (plan.error_bound() + 2.0**-plan.fraction_bits)
    check = length_check(
        d,
        slots,
        fraction_bits=plan.fraction_bits + plan.matrix_bits,
        limit=gap * (1 << PROBE_BITS) * sqrt(d),
        masking=plan.masking,
        plaintext_bits=plaintext_bits,
    )
    return (
        costs.invert(plan, slots)
        + Cost(powers=d * slots.plaintexts_for(d))
        + costs.fix(d, d, slots)
        + costs.cut_times_fixed(d, slots, d, slots)
        + check
        + costs.fix(d, d, slots)
        + costs.times_fixed(1, d, d, slots)
    )
