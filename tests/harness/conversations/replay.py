"""Conversations on file: record one, and let any single party live through its part again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from sottovoce.errors import SottovoceError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Conversation, Meddler
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.wire import Codec

Programs = Callable[[], Mapping[str, Party[Any]]]


@dataclass
class Recording(Meddler):
    """Carries every packet as it is, and keeps it."""

    packets: list[Packet] = field(default_factory=list)

    def carry(self, packet: Packet) -> tuple[Packet]:
        self.packets.append(packet)
        return (packet,)


def record(programs: Programs, *, session: bytes, codec: Codec | None = None) -> list[Packet]:
    """Everything that was said at one table, in order."""
    recording = Recording()
    Conversation(programs(), session=session, codec=codec, meddler=recording).run()
    return recording.packets


def seat_of(
    name: str, programs: Programs, *, session: bytes, codec: Codec | None = None
) -> Seat[Any]:
    """One party at a table where nobody else sits: the file speaks for the others."""
    made = programs()
    partners = [other for other in made if other != name]
    seat = Seat(name, made[name], partners=partners, session=session, codec=codec)
    seat.start()
    return seat


def said_alone(
    name: str, programs: Programs, packets: Sequence[Packet], *, codec: Codec | None = None
) -> list[Packet]:
    """What one party says when it hears the recorded packets."""
    wire = codec or Codec()
    seat = seat_of(name, programs, session=packets[0].session, codec=codec)
    said = seat.take()
    for packet in packets:
        if packet.recipient == name:
            seat.deliver(packet.sender, wire.encode(packet))
            said += seat.take()
    assert seat.finished, seat.describe()
    seat.check_surplus()
    return said


# How one packet can be wrong; a vector names the change and the error.
CHANGES: dict[str, Callable[[Packet, Packet], Packet]] = {
    "another session": lambda p, _: msgspec.structs.replace(p, session=bytes(len(p.session))),
    "another sender": lambda p, _: msgspec.structs.replace(p, sender=p.recipient),
    "the number after": lambda p, _: msgspec.structs.replace(p, number=p.number + 1),
    "a byte too few": lambda p, _: msgspec.structs.replace(p, body=p.body[:-1]),
    "a byte too many": lambda p, _: msgspec.structs.replace(p, body=p.body + b"\x00"),
    "the last bit flipped": lambda p, _: msgspec.structs.replace(
        p, body=p.body[:-1] + bytes([p.body[-1] ^ 1])
    ),
    "another message": lambda p, other: msgspec.structs.replace(p, body=other.body),
}


@dataclass(frozen=True)
class Refusal:
    """What came of a changed packet: the error, or nothing if it could not be noticed here."""

    error: str
    party: str
    message: str


def refusal(
    programs: Programs,
    packets: Sequence[Packet],
    index: int,
    change: str,
    *,
    codec: Codec | None = None,
) -> Refusal | None:
    """Let the recipient of packet `index` hear everything before it, then the packet changed."""
    wire, packet = codec or Codec(), packets[index]
    seat = seat_of(packet.recipient, programs, session=packet.session, codec=codec)
    try:
        for before in packets[:index]:
            if before.recipient == packet.recipient:
                seat.deliver(before.sender, wire.encode(before))
        kinds = [other for other in packets if other.body[:12] != packet.body[:12]]
        seat.deliver(packet.sender, wire.encode(CHANGES[change](packet, kinds[index % len(kinds)])))
        # Gathers notice some changes only when everybody has come.
        for after in packets[index + 1 :]:
            if after.recipient == packet.recipient and not seat.finished:
                seat.deliver(after.sender, wire.encode(after))
    except SottovoceError as error:
        return Refusal(type(error).__name__, getattr(error, "party", ""), error.message)
    return None
