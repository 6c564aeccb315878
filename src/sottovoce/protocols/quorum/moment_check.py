"""The check before moments are added: no peer's moments weigh more than its claimed rows.

    dealers (t + 1)       member i                                opener (C)
      │                      │ rows with its moments − rows before ──▶│   CheckShare: exactly 0
      │ a number each ──────▶│ share of their sum ───────────────────▶│   CoinShare: directions s
      │                      │   comparison.py: for every peer the signs of
      │                      │   tr A, T·m − tr A, and B·m ± s·b for every s
      │                      │   and of the published rows − all claimed rows
      │                      │ share of every sign ──────────────────▶│   WeightBit: 1, or who it is

m is the weight of the rows that a peer claimed when totals were added, before anybody knew the
scales. The peer shares these numbers once more beside its moments, in all residue fields, and both
must be the same. That many rows of a known length have a trace of at most T·m, and a b of length at
most β = √K·|row|·m. Squaring b would take a product for every column of every peer. Instead b is
projected onto a few directions s of random signs, drawn after all moments were shared. An honest b
has |s·b| ≤ 11 β, except with probability 2^-86 a direction. A b with one large column, which an
attack on a chosen word needs, is detected along every direction. A b of more than 22 β spread over
many columns is detected along each direction with a probability of 3/16 or more, and along at least
one of eight with .81.

The check does not see how the weight is spread inside A, nor a b of up to 11 β. Comparing |b_k|
with A_kk would not help: for rare words |b_k| may honestly be a hundred times A_kk, and a peer
writes both.

The signs are opened in three residue fields: a number so far out of range that its sign wraps
around to 1 does not fit the masks, and the opener notices. Who learns what: everybody learns that
an honest peer's numbers pass the check, and nothing else about them. Of a peer that deviates
everybody learns by how much. Assuming that at most t members pool, with or without the opener; an
opener that pools with a peer can choose the directions.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Expansion
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.disclosures import BY_OPENER_THEN_MEMBERS, THRESHOLD_HOLDS
from sottovoce.protocols.identities import digest
from sottovoce.protocols.messages import Disclosure
from sottovoce.protocols.quorum.comparison import SharedComparison, at_least_zero
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums, opened
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare
from sottovoce.protocols.quorum.plan import hiding_for
from sottovoce.protocols.quorum.truncation import shifted_by
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.triangle import Triangle

_BASE = Base()
_SIGN_BASE = Base(3)
DIRECTIONS = 8
_SIGNS = 2 + 2 * DIRECTIONS
# Where classes are weighted, rounded totals let all rows together count up to four times.
_HEAVIER = 4
# An honest b is longer than this along a direction with a probability of 2·exp(−11²/2) < 2^-86.
_FURTHEST = 11
# The weight of a row of each class, in parts of 1.
_WEIGHT_BITS = 10
_PURPOSE = "moments"


class CheckShare(OpeningShare, frozen=True):
    """A share of a difference that must be 0: a peer's rows now, less its rows claimed before."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="whether a peer's moments come with the rows that it claimed: exactly 0 if so",
        assuming=THRESHOLD_HOLDS,
    )


class CoinShare(OpeningShare, frozen=True):
    """A share of a random number from which the directions for the right-hand sides are derived."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="a random number that the dealing members made up together",
        assuming=THRESHOLD_HOLDS,
    )


class WeightBit(OpeningShare, frozen=True):
    """A share of signs: whether each peer's moments weigh no more than its rows can."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="whether a peer's moments weigh no more than its rows: true unless it made them up",
        assuming=THRESHOLD_HOLDS,
    )


@dataclass(frozen=True)
class WeightBounds:
    """The largest moments that the rows claimed by a peer can have, from public numbers alone."""

    shape: tuple[int, int]
    factors: tuple[int, ...]
    """The weight that each claimed number adds to its peer, in parts."""
    trace: int
    product: int
    """T and 11·B for one row."""
    joint: int
    """The largest weight of all peers' claimed rows, in parts, by the published totals."""
    bits: int
    """No honest sign is of a number of more bits."""
    hiding: int

    @classmethod
    def of(
        cls,
        scales: MomentScales,
        shape: tuple[int, int],
        weights: Sequence[float],
        *,
        rows: int,
        checks: int,
        heavier: tuple[float, float] = (1.0, 1.0),
    ) -> "WeightBounds":
        """Return the bounds for moments at these scales, of `rows` rows in all, in `checks` checks.

        `heavier` holds the factors by which trace and b may exceed those of rows (row_limits.py).
        """
        factors = tuple(math.ceil(weight * (1 << _WEIGHT_BITS)) for weight in weights)
        trace = math.ceil(-(-scales.matrix.bound // rows) * heavier[0])
        longest = math.ceil(-(-scales.vectors.bound // rows) * heavier[1])
        longest *= math.isqrt(shape[1] - 1) + 1
        most = _HEAVIER * rows << _WEIGHT_BITS
        rounding = math.prod(shape) << _WEIGHT_BITS
        bits = (2 * most * max(trace, _FURTHEST * longest) + rounding).bit_length()
        hiding = hiding_for(checks * (_SIGNS + 1))
        joint = rows << _WEIGHT_BITS if weights[0] else most
        return cls(shape, factors, trace, _FURTHEST * longest, joint, bits, hiding)

    @property
    def comparison(self) -> SharedComparison:
        """The plan by which signs are found."""
        return SharedComparison(self.bits, self.hiding, _BASE, _SIGN_BASE)


@dataclass(frozen=True)
class CheckedPart:
    """A member's shares of one peer's contribution, kept until they are checked."""

    trace: Planes = field(repr=False)
    vectors: Planes = field(repr=False)
    rows: Planes = field(repr=False)
    before: Planes = field(repr=False)
    """The rows that the peer claimed with the totals, in fewer residue fields."""

    @classmethod
    def of(cls, bounds: WeightBounds, share: Planes, before: Planes) -> "CheckedPart":
        """Split a share of triangle, right-hand sides and rows into its parts."""
        triangle = Triangle(bounds.shape[0])
        end = share.shape[1] - len(bounds.factors)
        trace = _BASE.total(share[:, triangle.diagonal()], axis=0)
        return cls(trace, share[:, triangle.size : end].copy(), share[:, end:].copy(), before)


def check_weights(
    member: QuorumMember, bounds: WeightBounds, parts: Mapping[str, CheckedPart]
) -> Party[None]:
    """At a member: raise unless every peer's moments are possible for its rows."""
    quorum, peers = member.quorum, tuple(parts)
    before = np.stack([part.before for part in parts.values()], axis=1)
    fields = Base(len(before))
    now = np.stack([part.rows[: fields.count] for part in parts.values()], axis=1)
    opening = _claims(quorum, fields, now.shape[1:])
    _check_claims((yield from opened(member, opening, fields.subtract(now, before))), peers)
    (coin,) = yield from dealt_sums(
        member,
        [Item(quorum.threshold, _BASE, (1,))],
        lambda entropy: [_BASE.draw(entropy, 1)],
        purpose=f"{_PURPOSE}/coin",
    )
    opened_coin = yield from opened(member, _coin(quorum), coin)
    signs = _directions(opened_coin, math.prod(bounds.shape))
    values = [_values(bounds, part, signs) for part in parts.values()]
    values.append(_room(bounds, [part.rows for part in parts.values()]))
    within = yield from at_least_zero(
        member, bounds.comparison, np.concatenate(values, axis=1), purpose=_PURPOSE
    )
    answer = yield from opened(member, _bits(quorum, len(peers)), within)
    _check_signs(answer, bounds, peers, teller=quorum.opener)


def open_weights(
    opener: Opener, bounds: WeightBounds, peers: Sequence[str], *, fields: Base
) -> Party[None]:
    """The opener's part of `check_weights`."""
    quorum = opener.quorum
    claims = _claims(quorum, fields, (len(peers), len(bounds.factors)))
    _check_claims((yield from opener.open(claims)), peers)
    for opening in _masked(quorum, bounds, len(peers)):
        yield from opener.open(opening)
    bits = yield from opener.open(_bits(quorum, len(peers)))
    _check_signs(bits, bounds, peers, teller=quorum.opener)


def _masked(quorum: Quorum, bounds: WeightBounds, peers: int) -> Iterator[Opening]:
    yield _coin(quorum)
    yield from bounds.comparison.openings(quorum, (peers * _SIGNS + 1,))


def _claims(quorum: Quorum, fields: Base, shape: tuple[int, ...]) -> Opening:
    return Opening(CheckShare, quorum.threshold, fields, shape)


def _coin(quorum: Quorum) -> Opening:
    return Opening(CoinShare, quorum.threshold, _BASE, (1,))


def _bits(quorum: Quorum, peers: int) -> Opening:
    return Opening(WeightBit, quorum.threshold, _SIGN_BASE, (peers * _SIGNS + 1,))


def _directions(coin: Planes, length: int) -> NDArray[np.float64]:
    """Return signs, a column for each direction; sums of residues with these signs are exact."""
    seed = digest("quorum/coin/v1", coin.astype("<u4").tobytes())
    stream = Expansion(seed, "quorum/directions/v1")
    coins = np.unpackbits(np.frombuffer(stream.read(length * DIRECTIONS // 8), np.uint8))
    return 1 - 2 * coins.reshape(length, DIRECTIONS).astype(np.float64)


def _values(bounds: WeightBounds, part: CheckedPart, signs: NDArray[np.float64]) -> Planes:
    """Return shares of one peer's values that must not be negative."""
    weight = _BASE.combine(list(np.moveaxis(part.rows, 1, 0)), bounds.factors)
    along = np.stack(
        [
            np.mod(plane.astype(np.float64) @ signs, prime).astype(np.uint32)
            for plane, prime in zip(part.vectors, _BASE.primes, strict=True)
        ]
    )
    parts, width = 1 << _WEIGHT_BITS, bounds.shape[0]
    heavy = _BASE.combine([weight, part.trace], [bounds.trace, -parts])
    longest = weight[:, np.newaxis]
    return np.concatenate(
        [
            shifted_by(_BASE, part.trace, width)[:, np.newaxis],
            shifted_by(_BASE, heavy, width * parts)[:, np.newaxis],
            *(
                shifted_by(
                    _BASE,
                    _BASE.combine([longest, along], [bounds.product, sign * parts]),
                    math.prod(bounds.shape) * parts,
                )
                for sign in (1, -1)
            ),
        ],
        axis=1,
    )


def _room(bounds: WeightBounds, rows: Sequence[Planes]) -> Planes:
    """Return shares of what is left of the published rows without those that peers claimed."""
    claimed = [_BASE.combine(list(np.moveaxis(part, 1, 0)), bounds.factors) for part in rows]
    left = shifted_by(_BASE, _BASE.combine(claimed, [-1] * len(claimed)), bounds.joint)
    return left[:, np.newaxis]


def _check_claims(value: Planes, peers: Sequence[str]) -> None:
    for index, peer in enumerate(peers):
        if value[:, index].any():
            raise ViolationError(
                "contribution: the numbers of rows are not those that went into the totals",
                party=peer,
            )


def _check_signs(bits: Planes, bounds: WeightBounds, peers: Sequence[str], *, teller: str) -> None:
    signs = [int(bit) for bit in _SIGN_BASE.signed(bits)]
    # For a number out of range the "sign" says how often the range fits into it; wrong shares of
    # members give numbers of any size.
    if any(abs(bit) >= 1 << bounds.hiding + 2 for bit in signs):
        raise ViolationError("WeightBit: this is no bit: a share of an earlier opening was wrong")
    for place, peer in enumerate(peers):
        if any(bit != 1 for bit in signs[place * _SIGNS : (place + 1) * _SIGNS]):
            raise ViolationError(
                "contribution: its moments are larger than its claimed rows can give: "
                "its numbers are not those of its documents",
                party=peer,
            )
    if signs[-1] != 1:
        raise ViolationError(
            "published totals: they are fewer rows than those of all peers: masks would be too "
            "small for their moments",
            party=teller,
        )
