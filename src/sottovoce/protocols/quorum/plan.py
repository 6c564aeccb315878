"""The public numbers of a solve among members: its steps, the size of its numbers, and its masks.

The course is that of engine `shares` (`shares/plan.py`): the same steps, constants, doublings and
scales. Only the size of numbers differs: here every value is proven to be below 2^63, every mask is
larger than that by as many bits as the number of openings requires, and all of it must fit the
residues.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from sottovoce.numbers.residues import Base
from sottovoce.protocols.quorum.comparison import SharedComparison
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.truncation import FusedTruncation, check_range
from sottovoce.protocols.shares.plan import ShareSolvePlan

# The course keeps a dividend below 2^62 if a rounding error is half a unit. With k dealers it is a
# little more: √(k/12) units, 0.65 for five dealers.
DIVIDEND_BITS = 63
# Bits of the last residual's squared length.
_SQUARE_BITS = 62
# The largest statistical distance of a study from one in which nothing is opened at all.
STUDY_DISTANCE = 2.0**-40
# Members keep what was opened until they check it: 56 bytes a value.
CHECKED_VALUES = 2**21
# One solve, or all labels of a study, may use up this much; a study has room for sixteen.
_PART_DISTANCE_BITS = 44


PART_DISTANCE = 2.0**-_PART_DISTANCE_BITS


def hiding_for(openings: int) -> int:
    """Return κ for this number of opened values: together they are within 2^-44 of uniform."""
    return _PART_DISTANCE_BITS + 1 + max(0, math.ceil(math.log2(max(1, openings))))


@dataclass(frozen=True)
class QuorumPlan:
    """The public numbers of one solve in a quorum, and the number of attempts allowed."""

    solve: ShareSolvePlan
    quorum: Quorum
    attempts: int = 1

    def __post_init__(self) -> None:
        for limit in (self.truncation.limit, self.comparison.limit(self.quorum)):
            check_range(limit, Base(), what="solve")

    @property
    def opened_values(self) -> int:
        """The number of masked values that are opened.

        For each number of θ one value is opened in every step, one for the check and two to scale
        the model down. The check opens some of its own. Every attempt needs all of them again.
        """
        features, classes = self.solve.shape
        return self.attempts * (features * classes * (len(self.solve.steps) + 3) + 1)

    @cached_property
    def checked_after(self) -> tuple[int, ...]:
        """The numbers of steps after which members check what they were told, beside the end."""
        features, classes = self.solve.shape
        between, steps = max(1, CHECKED_VALUES // (features * classes)), len(self.solve.steps)
        return tuple(range(between, steps, between))

    @property
    def hiding(self) -> int:
        """κ, from how many values are opened."""
        return hiding_for(self.opened_values)

    @property
    def distance(self) -> float:
        """The statistical distance of all openings from noise, at most."""
        return self.opened_values * 2.0 ** (1 - self.hiding)

    @cached_property
    def truncation(self) -> FusedTruncation:
        """The division of every step."""
        return self.divided_by(self.solve.shift)

    def divided_by(self, shift: int) -> FusedTruncation:
        """A division of numbers of this solve."""
        bits, hiding = DIVIDEND_BITS, self.hiding
        return FusedTruncation.of(self.quorum, bits=bits, shift=shift, hiding=hiding)

    @cached_property
    def comparison(self) -> SharedComparison:
        """The last check."""
        return SharedComparison(_SQUARE_BITS, self.hiding, Base())

    def digest(self) -> bytes:
        """A digest that all members compare before anything is opened."""
        return blake2b(repr(self).encode(), digest_size=32, person=b"sottovoce/quorum").digest()
