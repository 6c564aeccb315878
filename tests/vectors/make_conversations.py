"""Make tests/vectors/conversations.json: whole blind sums, and every packet of them made wrong.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_conversations.py
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from harness.conversations.replay import CHANGES, record, refusal
from harness.entropy import SeededEntropy
from sottovoce.protocols.blind_sum import (
    Plan,
    Round,
    RoundBook,
    SummedVector,
    WordSpace,
    pairwise,
    ring,
)
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.conversation import Party

HERE = Path(__file__).parent
PEERS = ("alice", "bob", "carol", "dave")


def pairwise_programs() -> Mapping[str, Party[Any]]:
    """Three peers, one half to each of C and E, and two more words to E."""
    this = Round("vectors", "pairwise", PEERS[:3])
    plan = Plan(
        this,
        (
            SummedVector("coordinator", "half", WordSpace((3,))),
            SummedVector("evaluator", "half", WordSpace((3,))),
            SummedVector("evaluator", "rest", WordSpace((2,))),
        ),
    )
    members = members_of(this, SeededEntropy(100))
    programs: dict[str, Party[Any]] = {}
    for index, name in enumerate(this.peers):
        entropy = SeededEntropy(index)
        values = (entropy.words(3), entropy.words(3), entropy.words(2))
        programs[name] = pairwise.peer(
            plan, values, who=members[name], book=RoundBook(), entropy=entropy
        )
    who, second = members["coordinator"], members["evaluator"]
    programs["coordinator"] = pairwise.coordinator(plan, who=who, book=RoundBook())
    programs["evaluator"] = pairwise.evaluator(
        plan, who=second, book=RoundBook(), entropy=SeededEntropy(99)
    )
    return programs


def ring_programs() -> Mapping[str, Party[Any]]:
    """Four peers, two rings, the sum to E."""
    this = Round("vectors", "ring", PEERS)
    plan = ring.Rings(Plan(this, (SummedVector("evaluator", "half", WordSpace((2,))),)), 2)
    members = members_of(this, SeededEntropy(200))
    programs: dict[str, Party[Any]] = {}
    for index, name in enumerate(this.peers):
        entropy = SeededEntropy(10 + index)
        values = (ring.OneShare(entropy.words(2)),)
        programs[name] = ring.peer(
            plan, values, who=members[name], book=RoundBook(), entropy=entropy
        )
    who, second = members["coordinator"], members["evaluator"]
    programs["coordinator"] = ring.coordinator(plan, who=who, book=RoundBook())
    programs["evaluator"] = ring.evaluator(
        plan, who=second, book=RoundBook(), entropy=SeededEntropy(99)
    )
    return programs


CONVERSATIONS = {
    "pairwise": (pairwise_programs, Round("vectors", "pairwise", PEERS[:3]).context),
    "ring": (ring_programs, Round("vectors", "ring", PEERS).context),
}


def vectors() -> dict[str, Any]:
    """All conversations with their packets, good and bad."""
    made: dict[str, Any] = {
        "provenance": "made by tests/vectors/make_conversations.py from seeded entropy; "
        "the identities are for tests alone"
    }
    for name, (programs, session) in CONVERSATIONS.items():
        packets = record(programs, session=session)
        bad = []
        for index in range(len(packets)):
            for change in CHANGES:
                result = refusal(programs, packets, index, change)
                bad.append(
                    {"packet": index, "change": change, "refusal": result and asdict(result)}
                )
        made[name] = {
            "session": session.hex(),
            "packets": [
                {"from": p.sender, "to": p.recipient, "number": p.number, "body": p.body.hex()}
                for p in packets
            ],
            "bad": bad,
        }
    return made


def main() -> None:
    """Write the file."""
    text = json.dumps(vectors(), indent=1, ensure_ascii=False)
    (HERE / "conversations.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
