"""Whole conversations on file: repeated by all parties, by each alone, and refused when wrong."""

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness.replay import record, refusal, said_alone
from sottovoce.protocols.seat import Packet

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
        found = refusal(programs, packets, bad["packet"], bad["change"])
        assert (found and asdict(found)) == bad["refusal"], bad


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
