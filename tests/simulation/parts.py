"""The parts of a simulation, and a packer that notes from which material letters were made."""

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from harness.letters import Salted
from simulation.journals import CrashingJournal
from sottovoce.course.terms import Terms
from sottovoce.entropy import Entropy
from sottovoce.node.seat.durable_seat import Packer
from sottovoce.protocols.seat import Packet
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study.relay import Letter
from sottovoce.study.study import Study
from sottovoce.wire.codec import tag_of


@dataclass(frozen=True)
class Made:
    """A letter before it was sealed: the stream that its program draws from, and its bytes."""

    material: bytes
    kind: str
    body: bytes


@dataclass
class Noting:
    """Packs letters as another packer does, and notes from which material they were made."""

    packer: Packer
    made: dict[Letter, Made]
    material: bytes = b""

    def pack(self, packet: Packet, *, entropy: Entropy) -> Letter:
        letter = self.packer.pack(packet, entropy=entropy)
        body = sha256(packet.body).digest()
        self.made[letter] = Made(self.material, tag_of(packet.body), body)
        return letter

    def unpack(self, letter: Letter) -> Packet:
        return self.packer.unpack(letter)


@dataclass(frozen=True)
class Parts:
    """What a simulation is made of: the terms, the programs of a seat, and how it packs letters.

    `course` makes the programs of a seat in a study, of this edition of its documents (0: as they
    were first); `model` takes out of them what stays.
    """

    study: Study
    terms: Terms
    course: Callable[[str, Study, OpenedSumsBook, int], Any]
    model: Callable[[Any], Any]
    counted: Callable[[Any], tuple[str, ...]]
    relay: Callable[[str, Any], Packer] = field(default=lambda name, course: Salted())
    journal: type[CrashingJournal] = CrashingJournal
