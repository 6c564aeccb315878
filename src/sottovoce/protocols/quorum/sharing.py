"""Shamir shares in every residue field: how a value is split, and put together with a check.

Splitting: for degree D, the first D members' shares come from seeds. The secret at 0 and those
shares determine one polynomial, on which the others' shares lie. Putting together: the first D + 1
shares give the value, and every further share must lie on the same polynomial. With m shares, up to
m − D − 1 wrong ones are detected, and up to ⌊(m − D − 1)/2⌋ are named. This guards against faults
and clumsy cheating: a dealer that splits a value wrongly can make an honest member look wrong.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, ViolationError
from sottovoce.numbers.residues import BLOCK, PRIMES, Base, Planes, combined, slices
from sottovoce.protocols.quorum.members import Quorum, weights


def split(
    secret: Planes, streams: Sequence[Entropy], *, degree: int, quorum: Quorum
) -> dict[str, Planes]:
    """Return everybody's share of `secret`; each of the first `degree` members has a stream."""
    base = Base(len(secret))
    seeded = [base.draw(stream, *secret.shape[1:]) for stream in streams]
    return shares_beside(secret, seeded, degree=degree, quorum=quorum)


def shares_beside(
    secret: Planes, seeded: Sequence[Planes], *, degree: int, quorum: Quorum
) -> dict[str, Planes]:
    """Return everybody's share, given those of the first `degree` members."""
    shares = dict(zip(quorum.seeded(degree), seeded, strict=True))
    points = (0, *quorum.points[:degree])
    for name, at in zip(quorum.members[degree:], quorum.points[degree:], strict=True):
        shares[name] = _at([secret, *seeded], points, at)
    return shares


def put_together(shares: Mapping[str, Planes], *, degree: int, quorum: Quorum, what: str) -> Planes:
    """Return the value of shares of this degree; raise `ViolationError` if they disagree."""
    names = [name for name in quorum.members if name in shares]
    if len(names) <= degree:
        missing = [name for name in quorum.members if name not in shares]
        raise AbsenceError(
            f"{what}: expected shares of at least {degree + 1} members, found {len(names)}",
            party=missing[0] if missing else "",
        )
    if not _agree(shares, names, degree, quorum):
        raise _disagreement(shares, names, degree, quorum, what)
    points = tuple(quorum.point(name) for name in names[: degree + 1])
    return _at([shares[name] for name in names[: degree + 1]], points, 0)


def _at(values: Sequence[Planes], points: tuple[int, ...], at: int) -> Planes:
    """Return the value at another point of the polynomial through these values."""
    flat = [value.reshape(len(value), -1) for value in values]
    result = np.empty(flat[0].shape, np.uint32)
    for index, prime in enumerate(PRIMES[: len(result)]):
        factors = weights(points, at, prime)
        for part in slices(result.shape[1], BLOCK):
            result[index, part] = combined([value[index, part] for value in flat], factors, prime)
    return result.reshape(values[0].shape)


def _agree(shares: Mapping[str, Planes], names: Sequence[str], degree: int, quorum: Quorum) -> bool:
    """Whether these shares lie on one polynomial of this degree."""
    first = names[: degree + 1]
    points = tuple(quorum.point(name) for name in first)
    values = [shares[name] for name in first]
    return all(
        np.array_equal(_at(values, points, quorum.point(name)), shares[name])
        for name in names[degree + 1 :]
    )


def _disagreement(
    shares: Mapping[str, Planes], names: Sequence[str], degree: int, quorum: Quorum, what: str
) -> ViolationError:
    """Return the error for shares that disagree; it names the wrong ones if enough others agree."""
    for wrong in range(1, (len(names) - degree - 1) // 2 + 1):
        for culprits in combinations(names, wrong):
            rest = [name for name in names if name not in culprits]
            if _agree(shares, rest, degree, quorum):
                others = f" (and {', '.join(culprits[1:])})" if wrong > 1 else ""
                return ViolationError(
                    f"{what}: the share does not fit those of the other members{others}: "
                    "it is wrong, or a peer or a member that deals gave a wrong one to compute it "
                    "from",
                    party=culprits[0],
                )
    return ViolationError(
        f"{what}: the shares of {', '.join(names)} do not belong together, "
        "and too few of them agree to tell whose is wrong"
    )
