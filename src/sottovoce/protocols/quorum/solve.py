"""The sealed solve in a quorum: (A + Γ)θ = b, and no t members learn anything of A, b or θ.

    dealers (t + 1)         member i                                 opener (C)
      │                        │  the plan's hash ──────────────────────▶│   all the same?
      │  masks of some steps ─▶│                                         │
      │                        │  every step: a·d + b·r under a mask ───▶│
      │                        │◀──────────────────────── its quotient ──│   (truncation.py)
      │                        │  r ← r − A d: its own shares, no word said
      │                        │  last: [‖b − Aθ‖ ≤ tolerance] ─────────▶│   (comparison.py)
      │                        │  now and then, and after that bit:      │
      │                        │  was this what was opened? ────────────▶│   (told_check.py)

The direction d has degree t, and A has degree t, so r = b − Aθ has degree 2t and stays so: r is
only added up, never multiplied, until a fresh mask of degree 2t covers it. So one opening a step is
enough. Who learns what: everybody learns that the last bit is 1 in an honest run, and sees numbers
under masks. The opener, who sees all shares of what is masked, sees polynomials as fresh as the
mask's. Assuming that at most t members pool, with or without the opener.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.numbers import fixed
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.residues import DEPTH, Base, Centred, PackedSymmetric, Planes, centred
from sottovoce.protocols.conversation import Party, Send, ahead, gather
from sottovoce.protocols.disclosures import (
    BY_OPENER,
    BY_OPENER_THEN_MEMBERS,
    PLAN_IS_PUBLIC,
    SPECTRUM_BOUND_IS_TRUE,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.comparison import BIT_BASE, at_least_zero
from sottovoce.protocols.quorum.dealing import QuorumMember, dealt_sums, opened
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare
from sottovoce.protocols.quorum.plan import QuorumPlan
from sottovoce.protocols.quorum.told_check import check_told, keeping_told, tell_who_is_there
from sottovoce.protocols.quorum.truncation import shifted_by, truncated
from sottovoce.protocols.shares.course import IterationConstants
from sottovoce.protocols.shares.triangle import Triangle

_BASE = Base()
# The number of values for which masks are dealt at a time: about 20 MB a message.
_DEALT_VALUES = 2**19
# From this number of right-hand sides on, the product of a triangle is cheaper than of whole rows.
_FEW = 2


class QuorumPlanHash(Message, frozen=True):
    """The hash of the plan that a member is about to follow."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER,
        reveals="the hash of the quorum's plan, which is made of public numbers",
        assuming=PLAN_IS_PUBLIC,
    )
    digest: bytes


class SolvedBit(OpeningShare, frozen=True):
    """A share of the bit that says whether the solve has reached its tolerance."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="whether the members' solve succeeded: true unless the agreed spectrum was wrong",
        assuming=SPECTRUM_BOUND_IS_TRUE,
    )


@dataclass(frozen=True, repr=False)
class SystemPart:
    """One member's shares of A (a triangle, without Γ) and b, and the public penalty.

    Γ is a diagonal; where there is a `tilt` g, the penalty is Γ + g gᵀ. `border` is to be added
    to this member's share of the last column of A.
    """

    matrix: Planes
    vectors: Planes
    penalties: NDArray[np.float64]
    tilt: NDArray[np.float64] | None = None
    border: Planes | None = None

    def check(self, plan: QuorumPlan) -> None:
        """Raise unless the shapes and the penalties are those of the plan."""
        features, classes = plan.solve.shape
        size = Triangle(features).size
        if self.matrix.shape != (_BASE.count, size):
            raise MismatchError(
                f"solve: expected {_BASE.count} × {size} residues of A, found {self.matrix.shape}"
            )
        if self.vectors.shape != (_BASE.count, features, classes):
            raise MismatchError(
                f"solve: expected b of shape {(features, classes)}, found {self.vectors.shape[1:]}"
            )
        if self.penalties.shape != (features,):
            raise MismatchError(
                f"solve: expected {features} penalties, found shape {self.penalties.shape}"
            )
        certain = self.penalties if self.tilt is None else self.penalties[:-1]
        if not (certain >= plan.solve.system.penalty).all():
            raise InputError(
                f"solve: expected penalties of at least the plan's {plan.solve.system.penalty:g}, "
                f"found {self.penalties.min():g}"
            )

    def multiplier(self, plan: QuorumPlan) -> Centred | PackedSymmetric:
        """Return this member's share of A + Γ, ready for products, built one plane at a time."""
        features, classes = plan.solve.shape
        triangle = Triangle(features)
        if classes <= _FEW and features <= DEPTH:
            packed = np.empty((_BASE.count, triangle.size))
            for index in range(_BASE.count):
                packed[index] = self._centred_plane(plan, index)
            return PackedSymmetric(packed, features)
        planes = np.empty((_BASE.count, features, features), np.float32)
        for index in range(_BASE.count):
            _unpack(self._centred_plane(plan, index), triangle, planes[index])
        return Centred(planes)

    def _centred_plane(self, plan: QuorumPlan, index: int) -> NDArray[np.float32]:
        """One plane of this member's share of A + Γ, a triangle of centred residues."""
        triangle, prime = Triangle(plan.solve.system.features), _BASE.primes[index]
        scale = Scale.covering(plan.solve.system.ceiling, fraction_bits=plan.solve.matrix_bits)
        diagonal = fixed.encode(self.penalties, scale) % prime
        packed = self.matrix[index].copy()
        places = triangle.diagonal()
        packed[places] = (packed[places] + diagonal.astype(np.uint32)) % np.uint32(prime)
        if self.border is not None:
            column = triangle.last_column()
            packed[column] = (packed[column] + self.border[index]) % np.uint32(prime)
        if self.tilt is not None:
            _add_tilt(packed, triangle, self.tilt, plan.solve.matrix_bits, prime)
        return np.asarray(centred(packed, prime), np.float32)


def _add_tilt(
    packed: Planes, triangle: Triangle, tilt: NDArray[np.float64], bits: int, prime: int
) -> None:
    """Add the public g gᵀ, row by row."""
    for row, factor in enumerate(np.ldexp(tilt, bits).tolist()):
        entries = np.rint(factor * tilt[row:]).astype(np.int64) % prime
        part = slice(triangle.start(row), triangle.start(row + 1))
        packed[part] = (packed[part] + entries.astype(np.uint32)) % np.uint32(prime)


def _unpack(values: NDArray[np.float32], triangle: Triangle, out: NDArray[np.float32]) -> None:
    """The whole symmetric matrix of one plane."""
    for row in range(triangle.side):
        out[row, row:] = values[triangle.start(row) : triangle.start(row + 1)]
    # Block by block: copying a whole column at a time would miss the cache at every entry.
    for start in range(0, triangle.side, 512):
        rows = slice(start, start + 512)
        block = out[rows, rows]
        out[rows, rows] = np.triu(block) + np.triu(block, 1).T
        out[start + 512 :, rows] = out[rows, start + 512 :].T


def solve(member: QuorumMember, plan: QuorumPlan, system: SystemPart) -> Party[Planes]:
    """A member's share of θ, of degree t, one column per class, at the scale of the plan."""
    system.check(plan)
    member = keeping_told(member)
    yield Send(member.quorum.opener, QuorumPlanHash(plan.digest()))
    multiplier = system.multiplier(plan)
    lifted = _BASE.scale(system.vectors, 1 << plan.solve.lift)
    theta, residual = yield from _iterate(member, plan, multiplier, lifted)
    yield from _check_residual(member, plan, residual)
    return theta


def open_solve(opener: Opener, plan: QuorumPlan) -> Party[None]:
    """The opener's part: it sees masked values and one bit."""
    digest = plan.digest()
    hashes = yield from gather(QuorumPlanHash, opener.present)
    for name, message in hashes.items():
        if message.digest != digest:
            raise ViolationError("the plan for the solve is not ours", party=name)
    opener.present = list(opener.quorum.among(hashes).members)
    openings = tuple(solve_openings(plan))
    for place, opening in enumerate(openings):
        if place in plan.checked_after:
            yield from tell_who_is_there(opener.quorum, opener.present)
        value = yield from ahead(len(openings) - 1 - place, opener.open(opening))
    yield from tell_who_is_there(opener.quorum, opener.present)
    _check_bit(plan, value)


def solve_openings(plan: QuorumPlan) -> Iterator[Opening]:
    """Yield every opening of the solve, in order."""
    quorum, shape = plan.quorum, plan.solve.shape
    for _ in plan.solve.steps:
        yield plan.truncation.opening(quorum, shape)
    yield plan.divided_by(plan.solve.residual_shift).opening(quorum, shape)
    yield from plan.comparison.openings(quorum, (1,))
    yield _solved_bit(plan)


def _solved_bit(plan: QuorumPlan) -> Opening:
    return Opening(SolvedBit, plan.quorum.threshold, BIT_BASE, (1,))


def _iterate(
    member: QuorumMember, plan: QuorumPlan, multiplier: Centred | PackedSymmetric, vectors: Planes
) -> Party[tuple[Planes, Planes]]:
    """The steps of the plan: shares of θ (degree t) and of the exact residual (degree 2t)."""
    truncation, quorum = plan.truncation, member.quorum
    opening = truncation.opening(quorum, plan.solve.shape)
    theta, direction, residual = np.zeros_like(vectors), np.zeros_like(vectors), vectors
    masks: Iterator[tuple[Planes, Planes]] = iter(())
    for index, step in enumerate(plan.solve.steps):
        if index % _steps_dealt(plan) == 0:
            masks = yield from _next_masks(member, plan, index)
        mask, quotient = next(masks)
        dividend = _dividend(plan, step, direction, residual)
        left = len(plan.solve.steps) - index
        masked = truncation.masked(dividend, mask)
        z = yield from ahead(left, opened(member, opening, masked))
        direction = truncation.finish(z, quotient)
        residual = _BASE.subtract(residual, multiplier.matvec(direction))
        theta = _BASE.add(theta, direction)
        if step.doublings:
            theta, direction, residual = (
                _BASE.scale(planes, 1 << step.doublings) for planes in (theta, direction, residual)
            )
        if index + 1 in plan.checked_after:
            yield from check_told(member, purpose=f"steps/{index}")
    return theta, residual


def _dividend(
    plan: QuorumPlan, step: IterationConstants, direction: Planes, residual: Planes
) -> Planes:
    """Return a·2^(F+e)·d + b·r, whose quotient is the next direction."""
    factors = [step.momentum << plan.solve.scale_bits, step.gain]
    return _BASE.combine([direction, residual], factors)


def _steps_dealt(plan: QuorumPlan) -> int:
    """Return for how many steps masks are dealt at a time."""
    features, classes = plan.solve.shape
    return max(1, _DEALT_VALUES // (features * classes))


def _next_masks(
    member: QuorumMember, plan: QuorumPlan, start: int
) -> Party[Iterator[tuple[Planes, Planes]]]:
    """The masks of the steps from `start` on, and their quotients."""
    count = min(_steps_dealt(plan), len(plan.solve.steps) - start)
    shape = (count, *plan.solve.shape)
    numbers, quotients = yield from dealt_sums(
        member,
        plan.truncation.items(member.quorum, shape),
        lambda entropy: plan.truncation.secrets(entropy, *shape),
        purpose=f"step/{start}",
    )
    return iter([(numbers[:, step], quotients[:, step]) for step in range(count)])


def _check_residual(member: QuorumMember, plan: QuorumPlan, residual: Planes) -> Party[None]:
    """Raise at every member unless the residual is below the plan's tolerance."""
    shift = plan.divided_by(plan.solve.residual_shift)
    small = yield from truncated(member, shift, residual, purpose="residual")
    flat = small.reshape(_BASE.count, 1, -1)
    squares = Centred.of(flat).matvec(np.swapaxes(flat, 1, 2).copy()).reshape(_BASE.count, 1)
    room = shifted_by(_BASE, _BASE.scale(squares, -1), plan.solve.residual_bound**2)
    bit = yield from at_least_zero(member, plan.comparison, room, purpose="residual")
    answer = yield from opened(member, _solved_bit(plan), bit)
    yield from check_told(member, purpose="solved")
    _check_bit(plan, answer)


def _check_bit(plan: QuorumPlan, bit: Planes) -> None:
    match int(bit[0, 0]):
        case 1:
            return
        case 0:
            raise MismatchError(
                f"solve: after {len(plan.solve.steps)} iterations the residual is above its "
                f"tolerance, so the spectrum does not end at {plan.solve.system.ceiling:g}",
                hints=(
                    "add the largest eigenvalues of all peers' own moments, rounded up",
                    "check that every second moment is positive semidefinite",
                ),
            )
    raise ViolationError("SolvedBit: this is no bit: a share of an earlier opening was wrong")
