"""Whole encrypted trainings on file: said again by all, by each alone, and refused when wrong."""

import importlib.util
import json
from base64 import b64decode
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.conversations.replay import record, refusal, said_alone
from sottovoce.protocols.seat import Packet
from sottovoce.wire.codec import tag_of

HERE = Path(__file__).parents[1] / "vectors"

spec = importlib.util.spec_from_file_location("make_learners", HERE / "make_learners.py")
assert spec is not None
assert spec.loader is not None
MADE = importlib.util.module_from_spec(spec)
spec.loader.exec_module(MADE)

VECTORS = json.loads((HERE / "learners.json").read_text(encoding="utf-8"))
NAMES = tuple(MADE.CONVERSATIONS)


def packets_of(name: str) -> list[Packet]:
    return [
        Packet(MADE.SESSION, p["from"], p["to"], p["number"], b64decode(p["body"]))
        for p in VECTORS[name]["packets"]
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_entropy_says_the_same(name: str) -> None:
    packets = record(MADE.CONVERSATIONS[name], session=MADE.SESSION, codec=MADE.CODEC)
    assert packets == packets_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_each_party_alone_says_what_it_said_at_the_table(name: str) -> None:
    packets = packets_of(name)
    for party in MADE.CONVERSATIONS[name]():
        said = said_alone(party, MADE.CONVERSATIONS[name], packets, codec=MADE.CODEC)
        assert said == [packet for packet in packets if packet.sender == party]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.soak if name == "central" else ())
        for name in MADE.SPOILT
    ],
)
def test_a_packet_of_each_kind_made_wrong_is_refused_as_on_file(name: str) -> None:
    packets = packets_of(name)
    assert len(VECTORS[name]["bad"]) >= 90
    for bad in VECTORS[name]["bad"]:
        result = refusal(
            MADE.CONVERSATIONS[name], packets, bad["packet"], bad["change"], codec=MADE.CODEC
        )
        assert (result and asdict(result)) == bad["refusal"], bad


@pytest.mark.parametrize("name", MADE.SPOILT)
def test_what_nobody_can_notice_is_a_number_under_masks_or_encryption(name: str) -> None:
    """Nobody knows what a ciphertext should hold: the channel that carries it is authentic."""
    packets = packets_of(name)
    silent = [bad for bad in VECTORS[name]["bad"] if bad["refusal"] is None]
    assert silent
    for bad in silent:
        assert bad["change"] == "the last bit flipped"
        body = packets[bad["packet"]].body
        # A box is opened by its recipient, a masked word is any word, a bound may be wider.
        plain = tag_of(body) in {"dealt-shares", "public-totals", "masked-parts"}
        assert plain or b"ciphertext-bytes" in body or b"key-holder-bytes" in body
