"""The time in which a server could take no letters, for want of room: it counts against nobody.

Whoever is waited for may be a seat whose letter the server refuses. So clocks that end a wait stand
still meanwhile, at the coordinator and, as far as their own clocks agree, at the other seats.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

RETRIED_SECONDS = 30.0
"""A seat tries a refused letter again sooner; one that does not holds nothing back any longer."""


@dataclass(frozen=True)
class HeldTime:
    """How long letters were held back before `at`, and until when each sender's refusal counts."""

    before: float = 0.0
    at: float = 0.0
    counts_until: Mapping[str, float] = field(default_factory=dict)

    def seconds(self, now: float) -> float:
        """The seconds in which some letter was held back."""
        last = max(self.counts_until.values(), default=self.at)
        return self.before + max(0.0, min(now, last) - self.at)

    def refused(self, sender: str, now: float) -> "HeldTime":
        """A letter of this sender found no room."""
        held = {**self.counts_until, sender: now + RETRIED_SECONDS}
        return HeldTime(self.seconds(now), now, held)

    def took(self, sender: str, now: float) -> "HeldTime":
        """A letter of this sender found room."""
        if sender not in self.counts_until:
            return self
        held = {name: until for name, until in self.counts_until.items() if name != sender}
        return HeldTime(self.seconds(now), now, held)


@dataclass(frozen=True)
class ToldHeldTime:
    """What a server says about it, believed no further than our own clock moved since `began`."""

    began: float
    latest: float = 0.0
    earlier: float = 0.0
    believed: float = 0.0

    def heard(self, seconds: float, now: float) -> "ToldHeldTime":
        """The server says that it held letters back for so many seconds since it began."""
        # A server that began again counts from nought.
        earlier = self.earlier if seconds >= self.latest else self.earlier + self.latest
        return ToldHeldTime(self.began, seconds, earlier, min(earlier + seconds, now - self.began))
