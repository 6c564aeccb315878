"""Which round of which study, who takes part, and what must never happen twice."""

import warnings
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property

from sottovoce.errors import AbsenceError, InputError, MisuseError
from sottovoce.protocols.conversation import COORDINATOR, EVALUATOR
from sottovoce.protocols.identities import digest


class TwoPeersWarning(UserWarning):
    """A sum over two peers tells each of them the other's part, if it ever sees the sum."""


@dataclass(frozen=True)
class Round:
    """One attempt at one blind sum.

    `fewest` is the smallest number of peers that may be summed: 3, or 2 if the
    plan says so by value (which warns by name). An attempt that failed before
    its unmasking may be followed by another (`again`), with everything new.
    """

    study: str
    name: str
    peers: tuple[str, ...]
    attempt: int = 1
    fewest: int = 3
    coordinator: str = COORDINATOR
    evaluator: str = EVALUATOR

    def __post_init__(self) -> None:
        parties = Counter((*self.peers, self.coordinator, self.evaluator))
        twice = [name for name, count in parties.items() if count > 1]
        if twice:
            raise InputError(
                f"blind sum: expected every party in one role, found {twice[0]!r} twice"
            )
        if len(self.peers) < 2:
            raise InputError(
                f"blind sum: expected at least 3 peers, found {len(self.peers)}: "
                "the sum of one is that peer's own value"
            )
        if self.fewest < 2 or self.attempt < 1:
            raise InputError(
                f"blind sum: expected fewest >= 2 and attempt >= 1, "
                f"found {self.fewest} and {self.attempt}"
            )
        if len(self.peers) < self.fewest:
            raise InputError(
                f"blind sum: expected at least {self.fewest} peers, found {len(self.peers)}",
                hints=("two peers must be asked for by value: fewest=2",),
            )
        if self.fewest == 2:
            self._warn()

    def _warn(self) -> None:
        names = " and ".join(self.peers) if len(self.peers) == 2 else "any two of the peers"
        warnings.warn(
            f"blind sum {self.name!r} of study {self.study!r} may be over two peers ({names}): "
            "each learns the other's part from the sum",
            TwoPeersWarning,
            stacklevel=4,
        )

    @property
    def majority(self) -> int:
        """More than half of all peers: two sets of so many are never disjoint."""
        return len(self.peers) // 2 + 1

    @property
    def needed(self) -> int:
        """The fewest peers with which the round may go on."""
        return max(self.majority, self.fewest)

    @cached_property
    def context(self) -> bytes:
        """32 bytes for study, round, attempt and roles: part of every key, mask and signature."""
        numbers = (self.attempt.to_bytes(8), self.fewest.to_bytes(8))
        names = (self.study, self.name, self.coordinator, self.evaluator, *self.peers)
        return digest("blind-sum/round/v1", *numbers, *(name.encode() for name in names))

    def again(self, *, without: Collection[str] = ()) -> "Round":
        """The next attempt, perhaps without some peers: new keys, new masks, new everything."""
        peers = tuple(peer for peer in self.peers if peer not in without)
        return replace(self, attempt=self.attempt + 1, peers=peers)

    def check_enough(self, present: Collection[str], step: str) -> None:
        """Stop, naming who is missing, if too few peers are left."""
        if len(present) < self.needed:
            missing = ", ".join(peer for peer in self.peers if peer not in present)
            raise AbsenceError(
                f"too few peers are left for the blind sum {self.name!r} ({step}): "
                f"expected at least {self.needed} of {len(self.peers)}, found {len(present)}, "
                f"missing {missing}; nothing was revealed"
            )


@dataclass
class RoundBook:
    """What one party did already, so that it does it only once.

    A party keeps its book for the whole study (whoever runs it writes `attempts`
    and `spent` down before anything is sent). Attempts only go up; once a set was
    agreed on for unmasking, the round is spent: two sums over sets that differ by
    one peer would give that peer's part. A round of another name is another sum to
    the book; that nobody opens the same values under two names is for the study to
    see to.
    """

    attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    spent: set[tuple[str, str]] = field(default_factory=set)

    def begin(self, this: Round) -> None:
        """Start an attempt; the same one, an older one, or one after unmasking is refused."""
        key = (this.study, this.name)
        self._check_unspent(this)
        last = self.attempts.get(key, 0)
        if this.attempt <= last:
            raise MisuseError(
                f"blind sum {this.name!r}: expected an attempt after {last}, found {this.attempt}",
                hints=("one-time material is used once: Round.again() raises the attempt",),
            )
        self.attempts[key] = this.attempt

    def spend(self, this: Round) -> None:
        """Agree to unmask this round: once, whatever the attempt."""
        self._check_unspent(this)
        self.spent.add((this.study, this.name))

    def _check_unspent(self, this: Round) -> None:
        if (this.study, this.name) in self.spent:
            raise MisuseError(
                f"blind sum {this.name!r} of study {this.study!r} was unmasked already: "
                "unmasking runs once per round",
                hints=("a new round has a new name, and new keys",),
            )
