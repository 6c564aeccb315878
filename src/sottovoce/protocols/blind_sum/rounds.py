"""A round of a study: its parties, and the record of what must happen only once."""

import warnings
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from sottovoce.errors import AbsenceError, InputError, MisuseError
from sottovoce.protocols.blind_sum.graphs import ALL_UP_TO
from sottovoce.protocols.conversation import COORDINATOR, EVALUATOR
from sottovoce.protocols.identities import digest


class TwoPeersWarning(UserWarning):
    """A sum over two peers tells each of them the other's part, if it ever sees the sum."""


@dataclass(frozen=True)
class Round:
    """One attempt at one blind sum.

    `fewest` is the smallest number of peers that may be summed: 3, or 2 if the plan says so by
    value (which warns by name). An attempt that failed before its unmasking may be followed by
    another (`again`), with everything new. Rounds of one `series` in a study are all opened over
    the very same peers. `shown` is a digest of what everybody was shown before, on which their
    values depend: keys and masks of a party that was shown something else do not fit those of the
    others.
    """

    study: str
    name: str
    peers: tuple[str, ...]
    attempt: int = 1
    fewest: int = 3
    coordinator: str = COORDINATOR
    evaluator: str = EVALUATOR
    series: str = ""
    shown: bytes = field(default=b"", repr=False)

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
        """More than half of all peers: two sets of this size are never disjoint."""
        return len(self.peers) // 2 + 1

    @property
    def needed(self) -> int:
        """The fewest peers with which the round may continue."""
        return max(self.majority, self.fewest)

    @property
    def is_sparse(self) -> bool:
        """Whether there may be too many peers for masks between every two of them."""
        return len(self.peers) > ALL_UP_TO

    @cached_property
    def context(self) -> bytes:
        """32 bytes for study, round, attempt and roles: part of every key, mask and signature."""
        numbers = (self.attempt.to_bytes(8), self.fewest.to_bytes(8))
        names = (self.study, self.name, self.coordinator, self.evaluator, *self.peers)
        parts = (*numbers, *(name.encode() for name in names))
        if self.shown:
            return digest("blind-sum/round-shown/v1", self.shown, *parts)
        return digest("blind-sum/round/v1", *parts)

    def again(self, *, without: Collection[str] = ()) -> "Round":
        """Return the next attempt, with new keys and new masks, and without the peers named."""
        peers = tuple(peer for peer in self.peers if peer not in without)
        return replace(self, attempt=self.attempt + 1, peers=peers)

    def check_enough(self, present: Collection[str], step: str) -> None:
        """Stop if too few peers are left, and name the missing ones."""
        if len(present) < self.needed:
            missing = ", ".join(peer for peer in self.peers if peer not in present)
            raise AbsenceError(
                f"too few peers are left for the blind sum {self.name!r} ({step}): "
                f"expected at least {self.needed} of {len(self.peers)}, found {len(present)}, "
                f"missing {missing}; nothing was revealed"
            )


@dataclass(frozen=True)
class OpenedSum:
    """A round that a party agreed to unmask: its attempt, its peers and its series."""

    attempt: int
    peers: tuple[str, ...]
    series: str = ""


@dataclass
class RoundBook:
    """The record of a party's past rounds, so that it does everything only once.

    A party keeps its book for the whole study (its runtime stores `spent` before anything is sent).
    Attempt numbers only increase. Once a set was agreed on for unmasking, the round is spent: two
    sums over sets that differ by one peer would give that peer's part. For the same reason all
    rounds of a series are opened over one set. The book treats a round with another name as another
    sum; the study must make sure that nobody opens the same values under two names.
    """

    attempts: dict[tuple[str, str], int] = field(default_factory=dict)
    spent: dict[tuple[str, str], OpenedSum] = field(default_factory=dict)
    _written: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def written(cls, spent: Mapping[tuple[str, str], OpenedSum]) -> "RoundBook":
        """Return the record of a restarted party, from what it stored.

        The attempt that spent a round may spend it once more, over the same peers: its program is
        run again, and sends nothing new. Any other attempt is refused.
        """
        return cls(spent=dict(spent), _written=set(spent))

    def begin(self, this: Round) -> None:
        """Start an attempt; refuse the same or an older one, and any attempt after unmasking."""
        key = (this.study, this.name)
        self._check_unspent(this)
        last = self.attempts.get(key, 0)
        if this.attempt <= last:
            raise MisuseError(
                f"blind sum {this.name!r}: expected an attempt after {last}, found {this.attempt}",
                hints=("one-time material is used once: Round.again() raises the attempt",),
            )
        self.attempts[key] = this.attempt

    def spend(self, this: Round, peers: tuple[str, ...]) -> None:
        """Agree to unmask this round over these peers: once, whatever the attempt."""
        key, now = (this.study, this.name), OpenedSum(this.attempt, peers, this.series)
        self._check_unspent(this)
        if self.spent.get(key, now) != now:
            raise self._spent_error(this)
        series = self.series(this.study, this.series)
        if series is not None and series != peers:
            raise MisuseError(
                f"blind sum {this.name!r}: expected the peers of the {this.series} before "
                f"({', '.join(series)}), found {', '.join(peers)}: two such sums over different "
                "peers give the part of those in one of them"
            )
        self.spent[key] = now
        self._written.discard(key)

    def series(self, study: str, series: str) -> tuple[str, ...] | None:
        """The peers over which the rounds of a series were opened; None before the first."""
        if not series:
            return None
        return next(
            (
                summed.peers
                for (of, _), summed in self.spent.items()
                if (of, summed.series) == (study, series)
            ),
            None,
        )

    def _check_unspent(self, this: Round) -> None:
        key = (this.study, this.name)
        opened = self.spent.get(key)
        again = key in self._written and opened is not None and opened.attempt == this.attempt
        if opened is not None and not again:
            raise self._spent_error(this)

    def _spent_error(self, this: Round) -> MisuseError:
        opened = self.spent[this.study, this.name]
        return MisuseError(
            f"blind sum {this.name!r} of study {this.study!r} was unmasked already, in attempt "
            f"{opened.attempt} over {', '.join(opened.peers)}: unmasking runs once per round",
            hints=("a new round has a new name, and new keys",),
        )
