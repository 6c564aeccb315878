"""What is on file about engine quorum: arithmetic, shares, quotients, and a conversation."""

import importlib.util
import json
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from harness.conversations.replay import record, refusal, said_alone
from harness.quorums import quorum_of
from sottovoce.errors import ViolationError
from sottovoce.numbers.residues import PRIMES, Base
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.truncation import FusedTruncation
from sottovoce.protocols.seat import Packet

HERE = Path(__file__).parents[2] / "vectors"
VECTORS = json.loads((HERE / "quorum.json").read_text(encoding="utf-8"))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_quorum", HERE / "make_quorum.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = generator()


def planes(residues: list[int]) -> np.ndarray:
    return np.array(residues, np.uint32)[:, np.newaxis]


def test_residues_are_those_of_integers() -> None:
    base = Base()
    assert list(PRIMES) == VECTORS["primes"]
    for vector in VECTORS["arithmetic"]:
        left, right = (base.of(np.array([int(vector[side])], object)) for side in ("left", "right"))
        assert np.array_equal(left, planes(vector["left_residues"]))
        assert np.array_equal(right, planes(vector["right_residues"]))
        assert np.array_equal(base.add(left, right), planes(vector["sum"]))
        assert np.array_equal(base.subtract(left, right), planes(vector["difference"]))
        assert np.array_equal(base.times(left, right), planes(vector["product"]))
        assert base.signed(left).tolist() == [int(vector["left"])]


@pytest.mark.parametrize(
    "vector", VECTORS["sharings"], ids=lambda vector: f"{vector['members']}-{vector['degree']}"
)
def test_shares_give_their_secret_and_a_wrong_one_is_seen(vector: dict[str, Any]) -> None:
    quorum, degree = quorum_of(vector["members"], 1), vector["degree"]
    shares = {
        name: planes(share) for name, share in zip(quorum.members, vector["shares"], strict=True)
    }
    value = put_together(shares, degree=degree, quorum=quorum, what="vector")
    assert Base().signed(value).tolist() == [int(vector["secret"])]
    shares["site2"][3, 0] = (int(shares["site2"][3, 0]) + 1) % PRIMES[3]
    if not vector["wrong_is_seen"]:
        assert not np.array_equal(
            put_together(shares, degree=degree, quorum=quorum, what="vector"), value
        )
        return
    with pytest.raises(ViolationError) as caught:
        put_together(shares, degree=degree, quorum=quorum, what="vector")
    assert caught.value.party == ("site2" if vector["wrong_is_named"] else "")


@pytest.mark.parametrize(
    "vector", VECTORS["truncations"], ids=lambda vector: str(vector["dealers"])
)
def test_every_quotient_in_a_small_range(vector: dict[str, Any]) -> None:
    base, dealers = Base(1), vector["dealers"]
    settings = {name: vector[name] for name in ("bits", "shift", "hiding")}
    truncation = FusedTruncation(**settings, dealers=dealers, base=base)
    rows = np.array(vector["rows"])
    assert len(rows) == 15 * 16**dealers
    values, masks, quotients = rows[:, 0], rows[:, 1:-1], rows[:, -1]
    opened = values + truncation.offset + masks.sum(axis=1)
    assert opened.min() >= 0
    assert opened.max() < truncation.limit
    dealt = base.of((masks >> truncation.shift).sum(axis=1))
    result = base.signed(truncation.finish(base.of(opened >> truncation.shift), dealt))
    assert np.array_equal(result.astype(np.int64), quotients)
    assert np.abs(quotients - values / 2**truncation.shift).max() < (dealers + 1) / 2


def packets() -> list[Packet]:
    vector = VECTORS["conversation"]
    session = bytes.fromhex(vector["session"])
    return [
        Packet(
            session, packet["from"], packet["to"], packet["number"], bytes.fromhex(packet["body"])
        )
        for packet in vector["packets"]
    ]


def test_the_conversation_is_repeated_by_all_and_by_each_alone() -> None:
    assert record(MADE.programs, session=MADE.SESSION) == packets()
    for name in MADE.programs():
        mine = [packet for packet in packets() if packet.sender == name]
        assert said_alone(name, MADE.programs, packets()) == mine


def test_wrong_packets_are_refused_as_they_were() -> None:
    bad = VECTORS["conversation"]["bad"]
    for wrong in bad:
        result = refusal(MADE.programs, packets(), wrong["packet"], wrong["change"])
        assert (result and asdict(result)) == wrong["refusal"], wrong
    unseen = [case for case in bad if case["refusal"] is None]
    # A flipped bit of a seed or of a share among no more than 2t + 1 gives other numbers.
    assert {case["change"] for case in unseen} <= {"the last bit flipped"}
