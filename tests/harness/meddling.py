"""Meddlers: what can go wrong between two honest programs, one thing at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of
from sottovoce.wire.tags import kebab


def is_kind(packet: Packet, kind: type[Message]) -> bool:
    return tag_of(packet.body) == kebab(kind.__name__)


@dataclass
class Change(Meddler):
    """Puts `change(packet)` in the place of every packet that `when` picks.

    An empty result drops it, two of it repeat it, another one replaces it.
    """

    when: Callable[[Packet], bool]
    change: Callable[[Packet], Iterable[Packet]]
    done: int = 0

    def carry(self, packet: Packet) -> Iterable[Packet]:
        if not self.when(packet):
            return (packet,)
        self.done += 1
        return tuple(self.change(packet))


def dropping(when: Callable[[Packet], bool]) -> Change:
    return Change(when, lambda packet: ())


def repeating(when: Callable[[Packet], bool]) -> Change:
    return Change(when, lambda packet: (packet, packet))


def rewriting(
    when: Callable[[Packet], bool],
    kind: type[Message],
    edit: Callable[[Message], Message],
    codec: Codec | None = None,
) -> Change:
    """Lets `edit` change the message inside the packet."""
    wire = codec or Codec()

    def change(packet: Packet) -> Iterable[Packet]:
        message = edit(wire.decode(packet.body, kind))
        yield msgspec.structs.replace(packet, body=wire.encode(message))

    return Change(when, change)


@dataclass
class Holding(Meddler):
    """Holds packets back until everybody else has fallen silent `rounds` times."""

    when: Callable[[Packet], bool]
    rounds: int = 2
    held: list[Packet] = field(default_factory=list)
    silences: int = 0

    def carry(self, packet: Packet) -> Iterable[Packet]:
        if not self.when(packet):
            return (packet,)
        self.held.append(packet)
        return ()

    def silent(self) -> Iterable[Packet]:
        self.silences += bool(self.held)
        if self.silences < self.rounds:
            return ()
        released, self.held = self.held, []
        return released


@dataclass
class Swapping(Meddler):
    """Delivers the first two packets that `when` picks in the wrong order."""

    when: Callable[[Packet], bool]
    first: list[Packet] = field(default_factory=list)
    done: bool = False

    def carry(self, packet: Packet) -> Iterable[Packet]:
        if self.done or not self.when(packet):
            return (packet,)
        if not self.first:
            self.first.append(packet)
            return ()
        self.done = True
        return (packet, self.first.pop())


@dataclass
class Crashing(Meddler):
    """Stops parties before an action: {"alice": 3} lets alice do three things, then no more.

    It counts on over all conversations that it stands in.
    """

    at: dict[str, int]
    seen: dict[str, int] = field(default_factory=dict)

    def crashes(self, party: str, step: int) -> bool:
        self.seen[party] = self.seen.get(party, -1) + 1
        return self.at.get(party) == self.seen[party]


__all__ = [
    "Change",
    "Crashing",
    "Holding",
    "Swapping",
    "dropping",
    "is_kind",
    "repeating",
    "rewriting",
]
