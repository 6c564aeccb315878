"""The sealed solve: (A + Γ)θ = b on shares, for thousands of features and several classes.

    dealer            first (C)                                   second (E)
      |  seeds --------->|------------------------------------------>|   (holders.py)
      |  the plan's hash |                                           |
      |----------------->|------------------------------------------>|
      |                  |   the plan's hash                         |
      |                  |<----------------------------------------->|
      |                  |   Δ = A − U                               |
      |                  |<----------------------------------------->|   (multiplier.py)
      |  of every step: Uv, ⌊r/2^f⌋, msb(r), less the second's halves|
      |----------------->|                                           |
      |                  |   every step: a·d + b·r, and e = d − v    |
      |                  |<----------------------------------------->|   (iteration.py)
      |                  |   at the end: [‖b − Aθ‖ < tolerance]      |
      |                  |<----------------------------------------->|   (residual.py)

Who learns what: each holder sees Δ, every masked dividend and every e: uniform and independent,
whatever A and b are; and at the end one bit, which is true unless the agreed upper end of the
spectrum was wrong. The dealer receives nothing. The number of steps depends on public numbers only
(plan.py). Assuming that no two of the three pool what they saw: any two could rebuild A, and with
it text of the union of all peers.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, encode
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_BOTH_HOLDERS, PLAN_IS_PUBLIC
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares import holders
from sottovoce.protocols.shares.holders import Dealer, Holder, HolderPrograms, Trio
from sottovoce.protocols.shares.iteration import deal_steps, iterated
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.multiplier import prepared
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.residual import check_residual, deal_residual_check
from sottovoce.protocols.shares.triangle import Triangle


class AgreedPlan(Message, frozen=True):
    """The hash of the plan that a party is going to follow."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_BOTH_HOLDERS,
        reveals="the hash of a plan that was made of public numbers",
        assuming=PLAN_IS_PUBLIC,
    )
    digest: bytes


@dataclass(frozen=True, repr=False)
class SystemShare:
    """One holder's shares of A (a triangle, without Γ) and of b, and the public diagonal of Γ.

    With a `tilt` g the penalty is Γ + g gᵀ, and the last diagonal entry of Γ may be 0: the maker of
    the plan made sure that its lower end still holds. `border` is added to this holder's share of
    the last column of A.
    """

    matrix: Words
    vectors: Words
    penalties: NDArray[np.float64]
    tilt: NDArray[np.float64] | None = None
    border: Words | None = None

    def check(self, plan: ShareSolvePlan) -> None:
        """Raise unless the shapes and the penalties are those of the plan."""
        features = plan.system.features
        Triangle(features).check(self.matrix)
        if self.vectors.shape != plan.shape:
            raise MismatchError(
                f"solve: expected b of shape {plan.shape}, found {self.vectors.shape}"
            )
        if self.penalties.shape != (features,):
            raise MismatchError(
                f"solve: expected {features} penalties, one a feature, "
                f"found shape {self.penalties.shape}"
            )
        for name, part in (("tilt", self.tilt), ("border", self.border)):
            if part is not None and part.shape != (features,):
                raise MismatchError(
                    f"solve: expected a {name} of {features} numbers, found shape {part.shape}"
                )
        certain = self.penalties if self.tilt is None else self.penalties[:-1]
        if not (certain >= plan.system.penalty).all():
            raise InputError(
                f"solve: expected penalties of at least the plan's {plan.system.penalty:g}, "
                f"found {self.penalties.min():g}"
            )

    def amend(self, share: Words, plan: ShareSolvePlan, *, first: bool) -> None:
        """Add penalties, tilt and border to a share of A, in place, masked or not."""
        triangle = Triangle(plan.system.features)
        if self.border is not None:
            share[triangle.last_column()] += self.border
        if not first:
            return
        scale = Scale.covering(plan.system.ceiling, fraction_bits=plan.matrix_bits)
        share[triangle.diagonal()] += encode(self.penalties, scale)
        if self.tilt is None:
            return
        for row, factor in enumerate(np.ldexp(self.tilt, plan.matrix_bits).tolist()):
            entries = np.rint(factor * self.tilt[row:]).astype(np.int64).view(np.uint64)
            share[triangle.start(row) : triangle.start(row + 1)] += entries


def solve(holder: Holder, plan: ShareSolvePlan, system: SystemShare) -> Party[Words]:
    """A holder's share of θ, one column per class, at the scale `plan.solution`."""
    system.check(plan)
    yield from _agree(holder, plan)
    amend = partial(system.amend, plan=plan, first=holder.first)
    multiplier = yield from prepared(
        holder, system.matrix, shape=plan.shape, steps=len(plan.steps), amend=amend
    )
    lifted = system.vectors << np.uint64(plan.lift)
    theta, residual = yield from iterated(holder, plan, multiplier, lifted)
    yield from check_residual(holder, plan, residual)
    return theta


def deal_solve(dealer: Dealer, plan: ShareSolvePlan) -> Party[None]:
    """The dealer's part of `solve`: it sends, and receives nothing."""
    for name in (dealer.trio.first, dealer.trio.second):
        yield Send(name, AgreedPlan(plan.digest()))
    yield from deal_steps(dealer, plan)
    yield from deal_residual_check(dealer, plan)


def _agree(holder: Holder, plan: ShareSolvePlan) -> Party[None]:
    """Check that both holders and the dealer follow the same plan, before anything is opened."""
    digest = plan.digest()
    yield Send(holder.other, AgreedPlan(digest))
    for name in (holder.trio.dealer, holder.other):
        theirs = yield from receive(name, AgreedPlan)
        if theirs.digest != digest:
            raise ViolationError("the plan for the solve is not ours", party=name)


def run(
    plan: ShareSolvePlan,
    systems: tuple[SystemShare, SystemShare],
    trio: Trio,
    context: Context,
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the solve in memory; return both holders' shares of θ, and all views."""
    programs = HolderPrograms(
        lambda holder: solve(holder, plan, systems[0]),
        lambda holder: solve(holder, plan, systems[1]),
        lambda dealer: deal_solve(dealer, plan),
    )
    return holders.run(programs, trio, context, entropy=entropy, meddler=meddler)
