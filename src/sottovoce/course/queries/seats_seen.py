"""Keeps when seats were last seen at the coordinator's server."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace


@dataclass(frozen=True)
class SeatsSeen:
    """The times of the seats' last requests; a new process counts from its own start."""

    unseen: float
    started: float = 0.0
    seen: Mapping[str, float] = field(default_factory=dict)

    def after(self, seat: str, now: float) -> "SeatsSeen":
        """After a request of a seat."""
        return replace(self, seen={**self.seen, seat: now})

    def is_here(self, seat: str, now: float) -> bool:
        """Whether a seat made a request lately."""
        return self.seen.get(seat, self.started) >= now - self.unseen
