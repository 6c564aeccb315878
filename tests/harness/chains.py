"""How many messages follow one another in a conversation in memory: its longest chain."""

from functools import partial

import pytest

from sottovoce.protocols.runner import Conversation
from sottovoce.protocols.seat import Packet


class LongestChain:
    """Counts, in every conversation that begins from now on, messages that wait for others."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.length = 0
        step = Conversation._step

        def deliver(running: Conversation, packet: Packet) -> None:
            if packet.recipient in running.gone:
                return
            heard = _heard(running)
            after = _chains(running).pop(id(packet))
            heard[packet.recipient] = max(heard.get(packet.recipient, 0), after)
            seat = running._seats[packet.recipient]
            running._step(packet.recipient, partial(seat.accept, packet.sender, packet))

        def counted(running: Conversation, name: str, action: object) -> None:
            before = len(running._under_way)
            step(running, name, action)
            after = _heard(running).get(name, 0) + 1
            for packet in list(running._under_way)[before:]:
                _chains(running)[id(packet)] = after
                self.length = max(self.length, after)

        monkeypatch.setattr(Conversation, "_deliver", deliver)
        monkeypatch.setattr(Conversation, "_step", counted)


def _heard(running: Conversation) -> dict[str, int]:
    """How long a chain each party has heard the end of."""
    return vars(running).setdefault("_heard_chains", {})


def _chains(running: Conversation) -> dict[int, int]:
    """How long a chain each packet under way ends."""
    return vars(running).setdefault("_packet_chains", {})
