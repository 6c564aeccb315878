"""Conversations of two-party blocks as files: every packet in order, and each party alone again."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from harness.conversations.blocks import Block
from harness.entropy import SeededEntropy
from harness.two_party import codec_for
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, Party, dismiss
from sottovoce.protocols.guard import AnswerGuard, serve
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.protocols.two_party.in_memory import run
from sottovoce.wire.codec import tag_of

SEEDS = {EVALUATOR: 2, KEY_HOLDER: 3}


@dataclass
class Recorder(Meddler):
    """Changes nothing, and keeps every packet."""

    packets: list[Packet] = field(default_factory=list)

    def carry(self, packet: Packet) -> Iterable[Packet]:
        self.packets.append(packet)
        return (packet,)


def record(block: Block) -> tuple[list[Packet], Any]:
    """Every packet of the conversation, and what the evaluator found."""
    recorder, key = Recorder(), block.key
    program = block.start(key)(SeededEntropy(SEEDS[EVALUATOR]))
    stages = block.stages(key, SeededEntropy(SEEDS[KEY_HOLDER]))
    outcome = run(program, stages, key=key, meddler=recorder)
    return recorder.packets, block.outcome_of(key, outcome.results[EVALUATOR])


def seated(block: Block, party: str) -> Seat[Any]:
    """One of the two alone, with its own entropy, up to its first wait."""
    key, codec = block.key, codec_for(block.key)
    entropy = SeededEntropy(SEEDS[party])
    if party == EVALUATOR:
        program: Party[Any] = _closing(block.start(key)(entropy))
    else:
        program = serve(AnswerGuard(EVALUATOR, block.stages(key, entropy), codec=codec))
    other = KEY_HOLDER if party == EVALUATOR else EVALUATOR
    seat = Seat(party, program, partners=[other], codec=codec)
    seat.start()
    return seat


def _closing(program: Party[Any]) -> Party[Any]:
    result = yield from program
    yield from dismiss(KEY_HOLDER)
    return result


def deliver(seat: Seat[Any], packet: Packet, block: Block) -> None:
    """Hand a packet over as its bytes, as it came from the other party."""
    other = KEY_HOLDER if seat.name == EVALUATOR else EVALUATOR
    seat.deliver(other, codec_for(block.key).encode(packet))


def to_json(packet: Packet) -> dict[str, Any]:
    return {
        "session": packet.session.hex(),
        "sender": packet.sender,
        "recipient": packet.recipient,
        "number": packet.number,
        "kind": tag_of(packet.body),
        "body": base64.b64encode(packet.body).decode(),
    }


def from_json(entry: dict[str, Any]) -> Packet:
    return Packet(
        bytes.fromhex(entry["session"]),
        entry["sender"],
        entry["recipient"],
        entry["number"],
        base64.b64decode(entry["body"]),
    )


def with_body(packet: Packet, body: bytes) -> Packet:
    return msgspec.structs.replace(packet, body=body)
