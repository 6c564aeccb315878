"""A stage's progress and the time left: one estimate for every screen."""

from dataclasses import dataclass
from typing import Protocol

_EARLY = 0.05
"""Before this share of a stage is done, nobody can say how long it takes."""


class Moving(Protocol):
    """A letter that came in or went out."""

    @property
    def letters(self) -> int:
        """The number of letters so far."""

    @property
    def bytes(self) -> int:
        """Of how many bytes in all."""

    @property
    def steps_left(self) -> int | None:
        """The number of steps that follow, if that is known."""


@dataclass
class StageProgress:
    """The bytes that a seat moved in the running stage, their total, and the stage's start.

    Once the program says how many steps of the computation follow, they count instead.
    """

    begun: float
    expected: int = 0
    moved: int = 0
    letters: int = 0
    steps: int = 0
    steps_left: int = 0
    _stepping: float = 0.0

    def note(self, event: Moving, now: float) -> None:
        """A letter came in or went out."""
        self.moved, self.letters = event.bytes, event.letters
        if event.steps_left is not None:
            self.step(event.steps_left, now)

    def step(self, left: int, now: float) -> None:
        """Hear how many steps of the computation remain."""
        if not self.steps:
            self.steps, self._stepping = left, now
        self.steps_left = left

    @property
    def share(self) -> float | None:
        """The part of the stage that is done, from 0 to 1; None if unknown."""
        if self.steps:
            return 1 - self.steps_left / self.steps
        if self.expected and self.moved < self.expected:
            return self.moved / self.expected
        # After the last byte others are waited for, and the time left is unknown.
        return None

    def seconds_left(self, now: float) -> float | None:
        """By the whole stage so far, as letters come in bursts; None where nobody can say."""
        share, since = self.share, self._stepping if self.steps else self.begun
        if share is None or share < _EARLY:
            return None
        return (now - since) * (1 / share - 1)


def time_left(seconds: float) -> str:
    """An estimate as people say it: no more exact than it is."""
    if seconds < 50:
        return f"about {max(5, 5 * round(seconds / 5))} seconds left"
    if seconds < 50 * 60:
        minutes = max(1, round(seconds / 60))
        return f"about {minutes} minute{'s' if minutes != 1 else ''} left"
    hours = max(1, round(seconds / 3600))
    return f"about {hours} hour{'s' if hours != 1 else ''} left"
