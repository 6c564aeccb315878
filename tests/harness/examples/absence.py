"""Deadlines that pass when a test says so: nobody is given up because the machine is slow."""

import time
from weakref import WeakSet

import pytest

from sottovoce.node.seat.deciders import RunningProgram
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.protocols.conversation import Gather, Receive


class Absence:
    """Every seat waits for ever for anybody, but not a moment for who is gone."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.gone: set[str] = set()
        self._agents: WeakSet[SeatRuntime] = WeakSet()

        clock = SeatRuntime._clock

        def noted(agent: SeatRuntime) -> float:
            self._agents.add(agent)
            return clock(agent)

        patch.setattr(SeatRuntime, "_clock", noted)
        patch.setattr(RunningProgram, "due", lambda running, _: self._due(running))

    def of(self, *seats: str) -> None:
        """These seats are gone, as far as anybody waits for them."""
        self.gone |= set(seats)
        for agent in self._agents:
            agent._moved.set()

    def over(self) -> None:
        """Everybody is back."""
        self.gone.clear()

    def _due(self, running: RunningProgram) -> float:
        late = self._late(running)
        return running.since if late and late <= self.gone else time.monotonic() + 3600

    def _late(self, running: RunningProgram) -> set[str]:
        match running.waiting:
            case Receive(sender, _):
                return {sender}
            case Gather(_, senders):
                lines = running.seat._seat._lines
                return {sender for sender in senders if not lines[sender].waiting}
        return set()
