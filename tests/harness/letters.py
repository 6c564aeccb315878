"""Light programs, and letters without boxes, for tests of what lies under real studies."""

from dataclasses import dataclass
from typing import ClassVar

import msgspec

from sottovoce.entropy import Entropy
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.seat import Packet
from sottovoce.study.relay import Letter


class Plain:
    """Letters that carry the packet's body as it is."""

    def pack(self, packet: Packet, *, entropy: Entropy) -> Letter:
        return Letter(packet.session, packet.sender, packet.recipient, packet.number, packet.body)

    def unpack(self, letter: Letter) -> Packet:
        return Packet(letter.session, letter.sender, letter.recipient, letter.number, letter.body)


class Salted(Plain):
    """Letters that are never packed twice in the same way, as boxes are not."""

    def pack(self, packet: Packet, *, entropy: Entropy) -> Letter:
        return msgspec.structs.replace(
            super().pack(packet, entropy=entropy), body=entropy.read(8) + packet.body
        )

    def unpack(self, letter: Letter) -> Packet:
        return msgspec.structs.replace(super().unpack(letter), body=letter.body[8:])


class Noise(Message, frozen=True):
    """Some bytes that a program drew."""

    discloses: ClassVar = Disclosure(
        seen_by="the other test", reveals="nothing at all", assuming="nothing is secret"
    )
    data: bytes


@dataclass(frozen=True)
class Chat:
    """Two that send each other what they drew, so many times; both end with all of it."""

    rounds: int = 3
    size: int = 16

    def first(self, entropy: Entropy) -> Party[bytes]:
        said = b""
        for _ in range(self.rounds):
            mine = entropy.read(self.size)
            yield Send("bob", Noise(mine))
            answer = yield from receive("bob", Noise)
            said += mine + answer.data
        return said

    def second(self, entropy: Entropy) -> Party[bytes]:
        said = b""
        for _ in range(self.rounds):
            heard = yield from receive("alice", Noise)
            mine = entropy.read(self.size)
            yield Send("alice", Noise(mine))
            said += heard.data + mine
        return said
