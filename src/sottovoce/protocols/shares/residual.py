"""The last check of a sealed solve: one opened bit, [‖b − Aθ‖ < tolerance].

    dealer        first (C)                                second (E)
      |   truncation.py: the exact residual, brought down to about 20 bits
      |   products.py:   the sum of its squares
      |   signs.py:      [sum − tolerance² < 0] and [sum < 0]
      |   products.py:   the one and not the other
      |             |   share of the bit                     |
      |             |<-------------------------------------->|

If the agreed upper end of the spectrum is too low, or the matrix is not positive definite, the
iteration grows instead of shrinking. Then the bit is false, and the solve stops with an error
instead of giving a wrong model. Numbers that grew beyond the ring wrap around to noise of either
sign, so the sum of squares must be below the tolerance *and* not negative; noise passes both with a
probability below 2^-30.

Who learns what: both holders learn the bit, which is true in every honest run; all else
that they see is uniform. The dealer receives nothing. Assuming that it pools with neither.
"""

from typing import ClassVar

import numpy as np

from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_BOTH_HOLDERS, SPECTRUM_BOUND_IS_TRUE
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.shares.holders import Dealer, Holder, MaskedShare, opened
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.products import Product, deal_product, inner, multiplied, times
from sottovoce.protocols.shares.signs import deal_signs, negative
from sottovoce.protocols.shares.truncation import RingTruncation, deal_truncation, truncated

_BOTH = Product(times, (1,), (1,))


class ResidualBit(MaskedShare, frozen=True):
    """A share of the bit that says whether the solve has reached its tolerance."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_BOTH_HOLDERS,
        reveals="whether the solve succeeded: true unless the agreed spectrum was wrong",
        assuming=SPECTRUM_BOUND_IS_TRUE,
    )


def check_residual(holder: Holder, plan: ShareSolvePlan, residual: Words) -> Party[None]:
    """Raise at both holders unless the residual is below the plan's tolerance."""
    small = yield from truncated(
        holder, residual, RingTruncation(plan.residual_shift), purpose="residual"
    )
    squares = yield from multiplied(holder, small, None, _squares(plan), purpose="residual")
    bound = np.array([plan.residual_bound**2, 0], np.uint64)
    below, wrapped = yield from _bits(holder, squares - holder.constant(bound))
    sane = holder.constant(np.ones(1, np.uint64)) - wrapped
    success = yield from multiplied(holder, below, sane, _BOTH, purpose="residual bits")
    bit = yield from opened(holder, ResidualBit, success)
    match int(bit[0]):
        case 1:
            return
        case 0:
            raise MismatchError(
                f"solve: after {len(plan.steps)} iterations the residual is above its tolerance, "
                f"so the spectrum does not end at {plan.system.ceiling:g}",
                hints=(
                    "add the largest eigenvalues of all peers' own moments, rounded up",
                    "check that every second moment is positive semidefinite",
                ),
            )
    raise ViolationError(
        "ResidualBit: the shares make no bit",
        party=holder.other,
    )


def deal_residual_check(dealer: Dealer, plan: ShareSolvePlan) -> Party[None]:
    """The dealer's part of `check_residual`."""
    truncation = RingTruncation(plan.residual_shift)
    yield from deal_truncation(dealer, truncation, plan.shape, purpose="residual")
    yield from deal_product(dealer, _squares(plan), purpose="residual")
    yield from deal_signs(dealer, 2, purpose="residual")
    yield from deal_product(dealer, _BOTH, purpose="residual bits")


def _bits(holder: Holder, values: Words) -> Party[tuple[Words, Words]]:
    """Return shares of [x < 0] of two values."""
    bits = yield from negative(holder, values, purpose="residual")
    return bits[:1], bits[1:]


def _squares(plan: ShareSolvePlan) -> Product:
    return Product(inner, plan.shape)
