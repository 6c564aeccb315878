"""Whole conversations on file: repeated by all parties, by each alone, and refused when wrong."""

import importlib.util
import json
import random
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from harness.conversations.replay import record, refusal, said_alone, seat_of
from sottovoce.errors import TheirError, ViolationError
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

HERE = Path(__file__).parents[2] / "vectors"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_conversations", HERE / "make_conversations.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = generator()
VECTORS = json.loads((HERE / "conversations.json").read_text(encoding="utf-8"))
NAMES = sorted(MADE.CONVERSATIONS)


def packets_of(vector: dict[str, Any]) -> list[Packet]:
    session = bytes.fromhex(vector["session"])
    return [
        Packet(session, p["from"], p["to"], p["number"], bytes.fromhex(p["body"]))
        for p in vector["packets"]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_entropy_says_the_same(name: str) -> None:
    programs, session = MADE.CONVERSATIONS[name]
    assert record(programs, session=session) == packets_of(VECTORS[name])


@pytest.mark.parametrize("name", NAMES)
def test_each_party_alone_says_what_it_said_at_the_table(name: str) -> None:
    programs, _ = MADE.CONVERSATIONS[name]
    packets = packets_of(VECTORS[name])
    for party in programs():
        said = said_alone(party, programs, packets)
        assert said == [packet for packet in packets if packet.sender == party]


@pytest.mark.parametrize("name", NAMES)
def test_every_packet_made_wrong_is_refused_as_on_file(name: str) -> None:
    programs, _ = MADE.CONVERSATIONS[name]
    packets = packets_of(VECTORS[name])
    for bad in VECTORS[name]["bad"]:
        result = refusal(programs, packets, bad["packet"], bad["change"])
        assert (result and asdict(result)) == bad["refusal"], bad


@pytest.mark.parametrize("name", NAMES)
def test_every_other_kind_of_message_is_refused_in_every_state(name: str) -> None:
    programs, _ = MADE.CONVERSATIONS[name]
    packets, wire = packets_of(VECTORS[name]), Codec()
    kinds = {tag_of(packet.body): packet.body for packet in packets}
    for index, packet in enumerate(packets):
        for tag, body in kinds.items():
            if tag == tag_of(packet.body):
                continue
            seat = heard_until(index, programs, packets)
            wrong = msgspec.structs.replace(packet, body=body)
            with pytest.raises(ViolationError) as caught:
                deliver_from(index, [*packets[:index], wrong, *packets[index + 1 :]], seat, wire)
            assert caught.value.party == packet.sender
            assert seat.name in caught.value.message


@pytest.mark.parametrize("name", NAMES)
def test_spoilt_messages_raise_nothing_but_refusals(name: str) -> None:
    """Fields lost, doubled, swapped, emptied: the party refuses, and does not fall over."""
    rng, wire = random.Random(7), Codec()
    programs, _ = MADE.CONVERSATIONS[name]
    packets = packets_of(VECTORS[name])
    refused = 0
    for index, packet in enumerate(packets):
        for _ in range(6):
            seat = heard_until(index, programs, packets)
            spoilt = msgspec.msgpack.encode(spoil(rng, msgspec.msgpack.decode(packet.body)))
            wrong = msgspec.structs.replace(packet, body=spoilt)
            try:
                deliver_from(index, [*packets[:index], wrong, *packets[index + 1 :]], seat, wire)
            except TheirError:
                refused += 1
    assert refused > 4 * len(packets)


def heard_until(index: int, programs: Any, packets: list[Packet]) -> Seat[Any]:
    """The recipient of a packet, just before it comes."""
    seat = seat_of(packets[index].recipient, programs, session=packets[index].session)
    for packet in packets[:index]:
        if packet.recipient == seat.name:
            seat.deliver(packet.sender, Codec().encode(packet))
    return seat


def deliver_from(index: int, packets: list[Packet], seat: Seat[Any], wire: Codec) -> None:
    for packet in packets[index:]:
        if packet.recipient == seat.name and not seat.finished:
            seat.deliver(packet.sender, wire.encode(packet))


def spoil(rng: random.Random, item: Any) -> Any:
    if isinstance(item, list) and item:
        place, parts = rng.randrange(len(item)), list(item)
        match rng.randrange(6):
            case 0:
                del parts[place]
            case 1:
                parts.insert(place, parts[rng.randrange(len(parts))])
            case 2:
                parts.reverse()
            case _:
                parts[place] = spoil(rng, parts[place])
        return parts
    if isinstance(item, bytes):
        return rng.choice([b"", item[:-1], item + b"x", rng.randbytes(len(item))])
    if isinstance(item, str):
        return rng.choice(["", "eve", "alice", "coordinator", item + "x"])
    return rng.choice([0, -1, 2**63, None, "x", b"", []])


def test_only_a_contribution_itself_can_be_changed_unnoticed() -> None:
    """Nobody knows what a masked value should be; the channel that carries it must be authentic."""
    for name in NAMES:
        packets = packets_of(VECTORS[name])
        for bad in VECTORS[name]["bad"]:
            if bad["refusal"] is None:
                body = packets[bad["packet"]].body
                assert bad["change"] == "the last bit flipped"
                # A box's last bit is noticed by its recipient, not by whoever carries it.
                assert body[2:].startswith((b"masked-parts", b"ring-total", b"dealt-shares"))
