"""Sealed boxes that the coordinator carries between two other parties and cannot open.

The coordinator holds the Paillier key, so it could decrypt a ciphertext that it carries. So every
packet between two other parties is put in a box for its recipient, padded to a size that reveals
little, under the keys that everybody signed with its consent. Packets to or from the coordinator
itself are sent without a box.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from sottovoce.entropy import Entropy
from sottovoce.errors import MalformedError, MisuseError, ViolationError
from sottovoce.protocols.identities import digest
from sottovoce.protocols.sealing import OVERHEAD, Address, seal, unseal
from sottovoce.protocols.seat import Packet
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import StudyPlan
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.study import largest_message
from sottovoce.wire import Codec, Value

# Boxes are padded to one of eight sizes per doubling, and to at least this size.
_SMALLEST = 1024
_STEPS = 8
_PLACES = Codec()


class Letter(Value, frozen=True, dict=True):
    """A packet in the form in which it is sent: sender, recipient, session, number and bytes.

    The body is the packet's own if the coordinator writes or reads it, else a box.
    """

    session: bytes
    sender: str
    recipient: str
    number: int
    body: bytes

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the body; journal, ledger and port identify the letter by it."""
        return hashlib.sha256(self.body).digest()


@dataclass(frozen=True)
class Relay:
    """Packs one party's packets into letters for the coordinator to carry, and unpacks letters.

    Before the agreement there are no box keys, and a party talks only to the coordinator.
    """

    party: PartyContext
    agreement: Agreement | None = None

    def seals(self, packet: Packet | Letter) -> bool:
        """Return whether this packet is sealed against the coordinator."""
        return self.party.study.roster.coordinator not in {packet.sender, packet.recipient}

    def pack(self, packet: Packet, *, entropy: Entropy) -> Letter:
        """Return the letter of a packet of ours, in a box unless it is for the coordinator.

        The box draws from an entropy of its own: a program that is run again must
        not depend on whether its packets are packed again.
        """
        if packet.sender != self.party.name:
            raise MisuseError(
                f"relay: expected a packet of {self.party.name!r}, found one of {packet.sender!r}"
            )
        head = (packet.session, packet.sender, packet.recipient, packet.number)
        if not self.seals(packet):
            return Letter(*head, packet.body)
        size, address = padded_size(len(packet.body)), self._address(*head)
        box = seal(packet.body, address, key=self.party.box, size=size, entropy=entropy)
        return Letter(*head, box)

    def unpack(self, letter: Letter) -> Packet:
        """Return the packet of a letter to us; the error about a changed box names its sender."""
        head = (letter.session, letter.sender, letter.recipient, letter.number)
        if letter.recipient != self.party.name or letter.sender not in self._senders():
            raise ViolationError(
                f"{self.party.name} expected a letter for itself from a participant, found one "
                f"from {letter.sender!r} for {letter.recipient!r}"
            )
        if not self.seals(letter):
            return Packet(*head, letter.body)
        try:
            body = unseal(letter.body, self._address(*head), key=self.party.box)
        except MalformedError as error:
            raise error.by(letter.sender) from error
        return Packet(*head, body)

    def _senders(self) -> set[str]:
        """Return all parties that may write to us now."""
        roster = self.party.study.roster
        if self.agreement is None and self.party.name != roster.coordinator:
            return {roster.coordinator}
        return set(roster.names) - {self.party.name}

    def _address(self, session: bytes, sender: str, recipient: str, number: int) -> Address:
        """Return the address of a box, whose label binds it to its place in the conversation."""
        if self.agreement is None:
            raise MisuseError(
                f"relay: expected an agreement before a letter from {sender!r} to {recipient!r}"
            )
        place = _PLACES.encode(Letter(session, sender, recipient, number, b""))
        return Address(
            self.agreement.boxes[sender],
            self.agreement.boxes[recipient],
            info=self.party.study.digest,
            label=digest("roles/relay/v1", place),
        )


def largest_letter(plan: StudyPlan) -> int:
    """Return the bytes of a conversation's largest letter: its largest message, in a box."""
    return padded_size(largest_message(plan)) + OVERHEAD


def padded_size(length: int) -> int:
    """Return the padded size of content of this length: one of eight sizes per doubling."""
    if length <= _SMALLEST:
        return _SMALLEST
    unit = (1 << (length - 1).bit_length()) // (2 * _STEPS)
    return -(-length // unit) * unit
