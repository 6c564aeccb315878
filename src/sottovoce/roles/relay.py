"""What the coordinator carries between two other parties: boxes that it cannot open.

The coordinator holds the Paillier key, so a ciphertext that it carries is as good as plain to
it. Every packet between two others therefore travels in a box for its recipient, padded to a
size that says little, under the keys that everybody signed with its consent.
"""

from dataclasses import dataclass

from sottovoce.errors import MalformedError, MisuseError, ViolationError
from sottovoce.protocols.identities import digest
from sottovoce.protocols.sealing import Address, seal, unseal
from sottovoce.protocols.seat import Packet
from sottovoce.roles.agreement import Agreement
from sottovoce.roles.desk import Desk
from sottovoce.wire import Codec, Value

# Boxes are padded to one of eight sizes per doubling, and to this much at least.
_SMALLEST = 1024
_STEPS = 8


class Relayed(Value, frozen=True):
    """A packet in a box: who sent it to whom, in which session, as which of its packets."""

    session: bytes
    sender: str
    recipient: str
    number: int
    box: bytes


@dataclass(frozen=True)
class Relay:
    """One party's way to seal what the coordinator will carry, and to open what it carried."""

    desk: Desk
    agreement: Agreement

    def seals(self, packet: Packet) -> bool:
        """Whether this packet is none of the coordinator's business."""
        return self.desk.study.roster.coordinator not in {packet.sender, packet.recipient}

    def seal(self, packet: Packet) -> Relayed:
        """The packet in a box for its recipient."""
        if packet.sender != self.desk.name:
            raise MisuseError(
                f"relay: expected a packet of {self.desk.name!r}, found one of {packet.sender!r}"
            )
        head = (packet.session, packet.sender, packet.recipient, packet.number)
        size, address = padded_size(len(packet.body)), self._address(*head)
        box = seal(packet.body, address, key=self.desk.box, size=size, entropy=self.desk.entropy)
        return Relayed(*head, box)

    def open(self, relayed: Relayed) -> Packet:
        """The packet that a box for us holds; a changed one names its sender."""
        head = (relayed.session, relayed.sender, relayed.recipient, relayed.number)
        if relayed.recipient != self.desk.name or relayed.sender not in self.agreement.boxes:
            raise ViolationError(
                f"{self.desk.name} expected a box for itself from a participant, found one from "
                f"{relayed.sender!r} for {relayed.recipient!r}"
            )
        try:
            body = unseal(relayed.box, self._address(*head), key=self.desk.box)
        except MalformedError as error:
            raise error.by(relayed.sender) from error
        return Packet(*head, body)

    def _address(self, session: bytes, sender: str, recipient: str, number: int) -> Address:
        """Between whose keys; the label binds the box to its place in the conversation."""
        place = Codec().encode(Relayed(session, sender, recipient, number, b""))
        return Address(
            self.agreement.boxes[sender],
            self.agreement.boxes[recipient],
            info=self.desk.study.digest,
            label=digest("roles/relay/v1", place),
        )


def padded_size(length: int) -> int:
    """The size to which content of this length is padded: it tells three bits of it at most."""
    if length <= _SMALLEST:
        return _SMALLEST
    unit = (1 << (length - 1).bit_length()) // (2 * _STEPS)
    return -(-length // unit) * unit
