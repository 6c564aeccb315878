"""The n members of a quorum, of whom any t may pool; their points, and the opener.

A share of degree D is a polynomial of that degree at the member's own point, one polynomial in
each residue field. D + 1 shares give the secret, any D of them say nothing. Sums need nobody;
a product of two shares of degree t has degree 2t, so 2t + 1 members must be there to open it.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sottovoce.errors import AbsenceError, InputError

MOST_MEMBERS = 9
# With fewer members nobody can multiply shared values.
FEWEST_MEMBERS = 3


@dataclass(frozen=True)
class Quorum:
    """The members of one conversation, each with its point, and how many of them may pool.

    `opener` adds up masked values and sends everybody the sum; it holds no share.
    """

    members: tuple[str, ...]
    points: tuple[int, ...]
    threshold: int
    opener: str

    def __post_init__(self) -> None:
        if len(set(self.members)) < len(self.members) or len(self.points) != len(self.members):
            raise InputError(
                "expected different members, each with a point of its own",
                place="quorum",
                setting="roles.members",
            )
        if self.opener in self.members:
            raise InputError(
                f"expected an opener that holds no share, found {self.opener!r}",
                place="quorum",
                setting="roles.members",
            )
        if not all(1 <= point <= MOST_MEMBERS for point in self.points):
            raise InputError(
                f"expected points from 1 to {MOST_MEMBERS}, found {self.points}",
                hints=(f"at most {MOST_MEMBERS} members compute; the other peers contribute",),
                place="quorum",
                setting="roles.members",
            )
        check_threshold(len(self.members), self.threshold)

    @classmethod
    def of(cls, members: Iterable[str], *, threshold: int, opener: str) -> "Quorum":
        """The quorum of these members, at the points 1, 2, … in this order."""
        names = tuple(members)
        if len(names) > MOST_MEMBERS:
            raise InputError(
                f"expected at most {MOST_MEMBERS} members, found {len(names)}",
                hints=("name the members that compute; the other peers contribute",),
                place="quorum",
                setting="roles.members",
            )
        return cls(names, tuple(range(1, len(names) + 1)), threshold, opener)

    @property
    def needed(self) -> int:
        """The number of members that can finish: 2t + 1."""
        return 2 * self.threshold + 1

    @property
    def dealers(self) -> tuple[str, ...]:
        """The t + 1 members that deal masks: at least one of them does not pool."""
        return self.members[-self.threshold - 1 :]

    def seeded(self, degree: int) -> tuple[str, ...]:
        """Return the members whose shares of a dealt value come from seeds."""
        return self.members[:degree]

    def point(self, member: str) -> int:
        """The point of a member's shares."""
        if member not in self.members:
            raise InputError(
                f"expected one of the members {', '.join(self.members)}, found {member!r}",
                place="quorum",
                setting="roles.members",
            )
        return self.points[self.members.index(member)]

    def among(self, present: Collection[str]) -> "Quorum":
        """Return the quorum of the present members, or raise `AbsenceError` if they are too few."""
        kept = [pair for pair in zip(self.members, self.points, strict=True) if pair[0] in present]
        if len(kept) < self.needed:
            missing = [name for name in self.members if name not in present]
            raise AbsenceError(
                f"too few members are left: expected {self.needed} of "
                f"{', '.join(self.members)}, found {len(kept)}",
                party=missing[0] if missing else "",
            )
        names, points = zip(*kept, strict=True)
        return replace(self, members=names, points=points)


def largest_minority(members: int) -> int:
    """The largest threshold t with 2t + 1 ≤ n."""
    return (members - 1) // 2


def fewest_members(peers: int) -> int:
    """Return how many of these peers compute where nobody leaves: an even number protects no more.

    Of four members any one may pool, as of three. With too few peers all do, and are refused.
    """
    odd = 2 * largest_minority(min(peers, MOST_MEMBERS)) + 1
    return odd if peers >= FEWEST_MEMBERS else peers


def check_threshold(members: int, threshold: int) -> None:
    """Refuse a threshold that protects against nobody, or that has too few members to multiply."""
    if threshold < 1:
        raise InputError(
            f"expected a threshold of at least 1, found {threshold}",
            hints=("three members protect against any one of them: threshold = 1",),
            place="quorum",
            setting="roles.members",
        )
    if members < 2 * threshold + 1:
        raise InputError(
            f"expected at least {2 * threshold + 1} members for a threshold of "
            f"{threshold}, found {members}",
            hints=(
                f"threshold = {largest_minority(members)}"
                if members >= 3
                else 'with two peers take engine = "shares" or "paillier"',
            ),
            place="quorum",
            setting="roles.members",
        )


@lru_cache(maxsize=4096)
def weights(points: Sequence[int], at: int, prime: int) -> tuple[int, ...]:
    """Return Lagrange's factors, by which values at `points` give the polynomial's value `at`."""
    result = []
    for point in points:
        top = bottom = 1
        for other in points:
            if other != point:
                top, bottom = top * (at - other) % prime, bottom * (point - other) % prime
        result.append(top * pow(bottom, -1, prime) % prime)
    return tuple(result)
