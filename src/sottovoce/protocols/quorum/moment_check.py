"""The check before moments are added: no peer's moments weigh more than the rows that it claimed.

    dealers (t + 1)       member i                                opener (C)
      │                      │ rows with its moments − rows before ──▶│   CheckShare: exactly 0
      │ a number each ──────▶│ share of their sum ───────────────────▶│   CoinShare: directions s
      │                      │   comparison.py: for every peer the signs of
      │                      │   tr A, T·m − tr A, and B·m ± s·b for every s
      │                      │ share of every sign ──────────────────▶│   WeightBit: 1, or who it is

m is the weight of the rows that a peer claimed when totals were added, before anybody knew the
scales; it shares them once more beside its moments, in all residue fields, and both must be the
same. Rows of a known length, as many as that, have a trace of at most T·m, and a b of length at
most β = √K·|row|·m. b is not squared, which would take a product for every column of every peer:
it is looked at along a few directions s of random signs, drawn after all moments were shared.
Honest ones have |s·b| ≤ 11 β but for 2^-86 a direction. A b with one large column, which is what
it takes to make a chosen word speak, shows along every direction; a b of more than 22 β spread over
many columns shows along each with a probability of 3/16 or more, along one of eight with .81.

What it does not see: how the weight is spread inside A, and a b of up to 11 β. |b_k| against A_kk
would not either: for rare words |b_k| may honestly be a hundred times A_kk, and a peer writes both.

The signs are opened in three residue fields: what is so far out of range that its sign wraps around
to 1 does not fit the masks, which the opener notices. Who learns what: everybody learns that an
honest peer's numbers are honest, and nothing else of them; of one that deviates, by how much.
Assuming that at most t members pool, with or without the opener; an opener that pools with a
peer can choose the directions.
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
from sottovoce.protocols.quorum.dealing import Item, QuorumMember, dealt_sums
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare, opened
from sottovoce.protocols.quorum.plan import hiding_for
from sottovoce.protocols.quorum.truncation import shifted_by
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.triangle import Triangle

_BASE = Base()
_SIGN_BASE = Base(3)
DIRECTIONS = 8
_SIGNS = 2 + 2 * DIRECTIONS
# 2·exp(−11²/2) < 2^-86: so rarely an honest b is longer than this along a direction.
_FURTHEST = 11
# What a row of each class counts, in parts of 1.
_WEIGHT_BITS = 10
_PURPOSE = "moments"


class CheckShare(OpeningShare, frozen=True):
    """A share of what must be 0 of every contribution: the rows of now less those of before."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OPENER_THEN_MEMBERS,
        reveals="whether a peer's moments come with the rows that it claimed: exactly 0 if so",
        assuming=THRESHOLD_HOLDS,
    )


class CoinShare(OpeningShare, frozen=True):
    """A share of a random number, from which the directions for the right-hand sides follow."""

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
    """The largest moments for the rows that a peer claimed, from public numbers alone."""

    shape: tuple[int, int]
    factors: tuple[int, ...]
    """The weight that each claimed number adds to its peer, in parts."""
    trace: int
    product: int
    """T and 11·B for one row."""
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
        """For moments written like this, all together of so many rows; so many peers checked.

        `heavier` says by which factors trace and b may exceed those of rows (row_limits.py).
        """
        factors = tuple(math.ceil(weight * (1 << _WEIGHT_BITS)) for weight in weights)
        trace = math.ceil(-(-scales.matrix.bound // rows) * heavier[0])
        longest = math.ceil(-(-scales.vectors.bound // rows) * heavier[1])
        longest *= math.isqrt(shape[1] - 1) + 1
        # Class weights are those of rounded totals: all rows together count up to four times.
        most = 4 * rows << _WEIGHT_BITS
        rounding = math.prod(shape) << _WEIGHT_BITS
        bits = (2 * most * max(trace, _FURTHEST * longest) + rounding).bit_length()
        hiding = hiding_for(checks * _SIGNS)
        return cls(shape, factors, trace, _FURTHEST * longest, bits, hiding)

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
    """Of the rows as the peer claimed them with the totals, in fewer residue fields."""

    @classmethod
    def of(cls, bounds: WeightBounds, share: Planes, before: Planes) -> "CheckedPart":
        """From a share of triangle, right-hand sides and rows."""
        triangle = Triangle(bounds.shape[0])
        end = share.shape[1] - len(bounds.factors)
        trace = _BASE.total(share[:, triangle.diagonal()], axis=0)
        return cls(trace, share[:, triangle.size : end].copy(), share[:, end:].copy(), before)


def check_weights(
    member: QuorumMember, bounds: WeightBounds, parts: Mapping[str, CheckedPart]
) -> Party[None]:
    """At a member: raise unless every peer's moments can be those of its rows."""
    quorum, peers = member.quorum, tuple(parts)
    before = np.stack([part.before for part in parts.values()], axis=1)
    fields = Base(len(before))
    now = np.stack([part.rows[: fields.count] for part in parts.values()], axis=1)
    opening = _claims(quorum, fields, now.shape[1:])
    _check_claims((yield from opened(quorum, opening, fields.subtract(now, before))), peers)
    (coin,) = yield from dealt_sums(
        member,
        [Item(quorum.threshold, _BASE, (1,))],
        lambda entropy: [_BASE.draw(entropy, 1)],
        purpose=f"{_PURPOSE}/coin",
    )
    opened_coin = yield from opened(quorum, _coin(quorum), coin)
    signs = _directions(opened_coin, math.prod(bounds.shape))
    values = np.stack([_values(bounds, part, signs) for part in parts.values()], axis=1)
    within = yield from at_least_zero(member, bounds.comparison, values, purpose=_PURPOSE)
    _check_signs((yield from opened(quorum, _bits(quorum, len(peers)), within)), bounds, peers)


def open_weights(
    opener: Opener, bounds: WeightBounds, peers: Sequence[str], *, fields: Base
) -> Party[None]:
    """The opener's part of `check_weights`."""
    quorum = opener.quorum
    claims = _claims(quorum, fields, (len(peers), len(bounds.factors)))
    _check_claims((yield from opener.open(claims)), peers)
    for opening in _masked(quorum, bounds, len(peers)):
        yield from opener.open(opening)
    _check_signs((yield from opener.open(_bits(quorum, len(peers)))), bounds, peers)


def _masked(quorum: Quorum, bounds: WeightBounds, peers: int) -> Iterator[Opening]:
    yield _coin(quorum)
    yield from bounds.comparison.openings(quorum, (peers, _SIGNS))


def _claims(quorum: Quorum, fields: Base, shape: tuple[int, ...]) -> Opening:
    return Opening(CheckShare, quorum.threshold, fields, shape)


def _coin(quorum: Quorum) -> Opening:
    return Opening(CoinShare, quorum.threshold, _BASE, (1,))


def _bits(quorum: Quorum, peers: int) -> Opening:
    return Opening(WeightBit, quorum.threshold, _SIGN_BASE, (peers, _SIGNS))


def _directions(coin: Planes, length: int) -> NDArray[np.float64]:
    """Signs, a column for each direction; sums of residues with them are exact."""
    seed = digest("quorum/coin/v1", coin.astype("<u4").tobytes())
    stream = Expansion(seed, "quorum/directions/v1")
    coins = np.unpackbits(np.frombuffer(stream.read(length * DIRECTIONS // 8), np.uint8))
    return 1 - 2 * coins.reshape(length, DIRECTIONS).astype(np.float64)


def _values(bounds: WeightBounds, part: CheckedPart, signs: NDArray[np.float64]) -> Planes:
    """Shares of the values of one peer that must not be negative."""
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


def _check_claims(value: Planes, peers: Sequence[str]) -> None:
    for index, peer in enumerate(peers):
        if value[:, index].any():
            raise ViolationError(
                "contribution: the numbers of rows are not those that went into the totals",
                party=peer,
            )


def _check_signs(bits: Planes, bounds: WeightBounds, peers: Sequence[str]) -> None:
    for row, peer in zip(_SIGN_BASE.signed(bits), peers, strict=True):
        if all(int(bit) == 1 for bit in row):
            continue
        # Of a number out of its range the sign is how often the range fits in; wrong shares of
        # members give numbers of all sizes.
        if all(abs(int(bit)) < 1 << bounds.hiding + 2 for bit in row):
            raise ViolationError(
                "contribution: expected no more than the rows that the peer claimed can have, "
                "found more: its numbers are not those of its documents",
                party=peer,
            )
        raise ViolationError("WeightBit: this is no bit: a share of an earlier opening was wrong")
