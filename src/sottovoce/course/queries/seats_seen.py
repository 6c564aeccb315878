"""Keeps when seats were last seen at the coordinator's server."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class SeatsSeen:
    """The times of the seats' last requests; a new process counts from its own start.

    `lost` are seats that said since that they cannot go on.
    """

    unseen: float
    started: float = 0.0
    seen: Mapping[str, float] = field(default_factory=dict)
    lost: frozenset[str] = frozenset()

    def after(self, seat: str, now: float) -> "SeatsSeen":
        """After a request of a seat."""
        return replace(self, seen={**self.seen, seat: now}, lost=self.lost - {seat})

    def without(self, *seats: str) -> "SeatsSeen":
        """After these seats said that they cannot go on."""
        return replace(self, lost=self.lost.union(seats))

    def is_here(self, seat: str, now: float) -> bool:
        """Whether a seat made a request lately, and can go on."""
        return seat not in self.lost and self.seen.get(seat, self.started) >= now - self.unseen
