"""Whole conversations from a file: the same bytes again, each party alone, and every refusal."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.conversations.blocks import BLOCKS, Block
from harness.conversations.transcripts import SEEDS, deliver, from_json, record, seated, to_json
from sottovoce import errors
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER

VECTORS = json.loads(
    (Path(__file__).parents[2] / "vectors" / "two_party.json").read_text(encoding="utf-8")
)
GOOD = pytest.mark.parametrize("vector", VECTORS["good"], ids=lambda vector: vector["block"])


def block_of(vector: dict[str, Any]) -> Block:
    return next(block for block in BLOCKS if block.name == vector["block"])


@GOOD
def test_the_same_seeds_give_the_same_bytes(vector) -> None:
    block = block_of(vector)
    assert VECTORS["seeds"] == SEEDS
    assert (block.bits, block.key.public.fingerprint) == (vector["bits"], vector["key"])
    packets, outcome = record(block)
    assert [to_json(packet) for packet in packets] == vector["packets"]
    np.testing.assert_allclose(outcome, vector["found"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(vector["found"], block.ideal, rtol=0, atol=block.exact or 1e-9)


@GOOD
@pytest.mark.parametrize("party", [EVALUATOR, KEY_HOLDER])
def test_each_party_alone_says_what_it_said(vector, party) -> None:
    block = block_of(vector)
    packets = [from_json(entry) for entry in vector["packets"]]
    seat = seated(block, party)
    said = seat.take()
    for packet in packets:
        if packet.recipient == party:
            deliver(seat, packet, block)
            said += seat.take()
    assert said == [packet for packet in packets if packet.sender == party]
    assert seat.finished
    if party == EVALUATOR:
        result = block.outcome_of(block.key, seat.result)
        np.testing.assert_allclose(result, vector["found"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("bad", VECTORS["bad"], ids=lambda bad: bad["case"])
def test_every_wrong_packet_is_refused_as_the_file_says(bad) -> None:
    good = next(vector for vector in VECTORS["good"] if vector["block"] == bad["block"])
    block, wrong = block_of(bad), from_json(bad["packet"])
    party = EVALUATOR if bad["party"] == KEY_HOLDER else KEY_HOLDER
    honest = [from_json(entry) for entry in good["packets"]]
    seat = seated(block, party)
    for packet in [packet for packet in honest if packet.recipient == party][: bad["after"]]:
        deliver(seat, packet, block)
    with pytest.raises(getattr(errors, bad["error"])) as refused:
        deliver(seat, wrong, block)
    assert refused.value.party == bad["party"]
    assert refused.value.message == bad["words"]
