"""The table of costs in docs/blind-sum.md beside the counters of real runs."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.protocols.blind_sum import Round, SummedVector, WordSpace, pairwise, ring
from sottovoce.protocols.blind_sum.graphs import degree
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.identities import Pins
from sottovoce.protocols.sealing import X25519Key

BOTH = ("coordinator", "evaluator")
PAGE = Path(__file__).parents[3] / "docs" / "blind-sum.md"


def names(count: int) -> tuple[str, ...]:
    return tuple(f"peer {index:02}" for index in range(count))


class Counted:
    """How often X25519 and Ed25519 were used by all parties of a run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.agreements = self.checks = 0
        agree, check = X25519Key.agree, Pins.check

        def counted_agree(key: X25519Key, public: bytes) -> bytes:
            self.agreements += 1
            return agree(key, public)

        def counted_check(pins: Pins, name: str, *more: Any) -> None:
            self.checks += 1
            check(pins, name, *more)

        monkeypatch.setattr(X25519Key, "agree", counted_agree)
        monkeypatch.setattr(Pins, "check", counted_check)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(monkeypatch)


def row(label: str) -> list[str]:
    """A row of the table as it stands in the documentation."""
    match = re.search(rf"^\| {label} \|(.*)\|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert match, label
    return [cell.strip() for cell in match.groups()]


@pytest.mark.parametrize(("P", "R"), [(3, 1), (3, 2), (6, 2), (33, 1)])
def test_pairwise(P: int, R: int, counted: Counted) -> None:
    size = 50
    parts = tuple(SummedVector(receiver, "x", WordSpace((size,))) for receiver in BOTH[:R])
    plan = Plan(Round("study", "costs", names(P)), parts)
    values = {name: (np.zeros(size, np.uint64),) * R for name in names(P)}
    traffic = pairwise.run(plan, values, entropy=SeededEntropy()).traffic
    assert row("messages of everybody")[0] == "5P + 5 + 2PR"
    # Above 30 peers the evaluator's number for the graph goes to everybody.
    many = P > 30
    assert "P + 2 more above 30 peers" in PAGE.read_text("utf-8")
    assert traffic.messages.total() == 5 * P + 5 + 2 * P * R + many * (P + 2)
    assert row("trips of one peer with the coordinator")[0] == "4"
    assert {traffic.trips(name, "coordinator") for name in names(P)} == {4}
    g = P if P <= 30 else min(P, degree(P) + 1)
    assert row("key agreements of one peer")[0] == "(g − 1) · (4 + parts)"
    assert counted.agreements == P * (g - 1) * (4 + R)
    assert row("signatures checked by one peer")[0] == "2P + 2"
    # The coordinator checks keys and shares as they come and in the book; the evaluator once.
    assert counted.checks == P * (2 * P + 2) + (4 * P + 2) + (2 * P + 1) + many * (P + 1)
    expected = R * 8 * size + 182 * g + 33 * g * R + 400
    assert row("upload of one peer, bytes")[0] == "the parts + 182·g + 33·g·R + about 400"
    for name in names(P):
        sent = sum(size for (sender, _), size in traffic.bytes.items() if sender == name)
        assert abs(sent - expected) < 200, (sent, expected)


@pytest.mark.parametrize(("P", "k"), [(3, 1), (5, 2), (8, 3)])
def test_ring(P: int, k: int, counted: Counted) -> None:
    size = 50
    plan = Plan(
        Round("study", "costs", names(P)), (SummedVector("evaluator", "x", WordSpace((size,))),)
    )
    values = {name: (ring.OneShare(np.zeros(size, np.uint64)),) for name in names(P)}
    traffic = ring.run(ring.Rings(plan, k), values, entropy=SeededEntropy()).traffic
    assert row("messages of everybody")[1] == "2P + 1 + kP + k"
    assert traffic.messages.total() == 2 * P + 1 + k * P + k
    assert {traffic.trips(name, "coordinator") for name in names(P)} == {1}
    assert row("upload of one peer, bytes")[1] == "k · (the parts + about 200)"
    assert traffic.kinds["ring-hop"] == k * P
    assert row("key agreements of one peer")[1] == "4k"
    assert counted.agreements == 4 * k * P
    assert row("signatures checked by one peer")[1] == "P"
    assert counted.checks == P * P + 2 * P + P
    for name in names(P):
        sent = sum(size for (sender, _), size in traffic.bytes.items() if sender == name)
        # A peer that starts rings also sends their totals.
        assert sent < (k + 1) * (8 * size + 200) + 300
