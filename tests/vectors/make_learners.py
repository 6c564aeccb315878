"""Make tests/vectors/learners.json: encrypted trainings, and a packet of each kind made wrong.

Run from the repository: PYTHONPATH=tests python tests/vectors/make_learners.py
"""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.conversations.replay import CHANGES, record, refusal
from harness.entropy import SeededEntropy
from harness.examples.descents import rados_for
from harness.examples.descents import terms_for as descent_terms
from harness.keys import toy_key
from harness.learners import NAMES, numeric_parts
from harness.two_party import codec_for
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain
from sottovoce.paper import outsourced
from sottovoce.paper.central import learner, printed
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import CentralTerms, Precision
from sottovoce.paper.encrypted_rados import Documents
from sottovoce.paper.outsourced import OutsourcingTerms
from sottovoce.paper.rado_learn import learner as rado_learn
from sottovoce.paper.rado_solver import SolverPlan
from sottovoce.protocols.blind_sum import RoundBook
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Moments
from sottovoce.wire.codec import tag_of

HERE = Path(__file__).parent
KEY = toy_key(bits=768)
CODEC = codec_for(KEY)
MASKING = Masking(40)
CAST = Cast(NAMES[:3])
SESSION = b"vectors of learners"

Programs = Mapping[str, Party[Any]]


def door(name: str) -> SeededEntropy:
    """Each party's own entropy, so that it can live through its part alone."""
    return SeededEntropy(sum(name.encode()))


def central_programs() -> Programs:
    """Protocol 2, the short way: three peers, two features."""
    precision = Precision(tolerance=0.1, masking=MASKING)
    terms = CentralTerms("vectors", CAST, (8.0, 4.0), precision=precision)
    members = members_of(terms.totals_sum().this, SeededEntropy(300))
    here = {
        name: learner.CentralParticipant(terms, who, RoundBook()) for name, who in members.items()
    }
    parts = numeric_parts(3, features=2, rows=5)
    programs: dict[str, Party[Any]] = {
        name: learner.peer(
            here[name],
            Moments.of(part.rows, part.labels),
            key=KEY.public,
            entropy=door(name),
        )
        for name, part in parts.items()
    }
    c, e = CAST.coordinator, CAST.evaluator
    programs[c] = learner.coordinator(here[c], key=KEY, entropy=door(c))
    programs[e] = learner.evaluator(here[e], key=KEY.public, entropy=door(e))
    return programs


def printed_programs() -> Programs:
    """Protocol 2 as printed: three peers, one feature, one rado each."""
    scale = Scale(8, 2**9)
    terms = PrintedTerms("vectors", CAST, (2.0,), 1, scale, 4.0, tolerance=0.02, masking=MASKING)
    members = members_of(terms.sums(KEY.public).this, SeededEntropy(400))
    here = {
        name: printed.PrintedParticipant(terms, who, RoundBook()) for name, who in members.items()
    }
    programs: dict[str, Party[Any]] = {
        name: printed.peer(
            here[name], terms.written([[0.5 + i / 2]]), key=KEY.public, entropy=door(name)
        )
        for i, name in enumerate(CAST.peers)
    }
    c, e = CAST.coordinator, CAST.evaluator
    programs[c] = printed.coordinator(here[c], key=KEY, entropy=door(c))
    programs[e] = printed.evaluator(here[e], key=KEY.public, entropy=door(e))
    return programs


def descent_programs() -> Programs:
    """RadoLearn with rados and θ encrypted: two peers, two rados each, two steps."""
    terms = descent_terms(2, features=2, rados=4, steps=2)
    rados = rados_for(terms)
    cast, key = terms.cast, KEY.public
    programs: dict[str, Party[Any]] = {
        name: rado_learn.peer(terms, name, rados[name], key=key, entropy=door(name))
        for name in cast.peers
    }
    stages = sealed_theta.stages(KEY, terms.plan, entropy=door(cast.coordinator))
    programs[cast.coordinator] = rado_learn.coordinator(terms, stages, key=KEY)
    programs[cast.evaluator] = rado_learn.evaluator(terms, key=key, entropy=door(cast.evaluator))
    return programs


def outsourced_programs() -> Programs:
    """The single-party case: three documents of one feature, by the Secure Rado Solver."""
    scale = Scale(6, 2**6)
    plan = SolverPlan(2, (1.0,), Scale(6, 3 * 2**6), 18.0, tolerance=0.02, masking=MASKING)
    order = OutsourcingTerms("alice", "eve", 3, scale, plan)
    held = Documents(Plain.of([[1.0], [-0.5], [0.75]], scale), np.array([1, -1, 1]))
    return {
        "alice": outsourced.owner(order, held, key=KEY, entropy=door("alice")),
        "eve": outsourced.evaluator(order, entropy=door("eve")),
    }


CONVERSATIONS: dict[str, Callable[[], Programs]] = {
    "central": central_programs,
    "printed": printed_programs,
    "descent": descent_programs,
    "outsourced": outsourced_programs,
}

# Of the others the blocks' own vectors say what is refused.
SPOILT = ("central", "descent")


@dataclass(frozen=True)
class Bad:
    """A packet made wrong, and the refusal; None where nobody could notice it here."""

    packet: int
    change: str
    refusal: dict[str, str] | None


def one_of_each_kind(packets: list[Packet]) -> list[int]:
    """The first packet of each kind and direction."""
    seen: dict[tuple[str, str], int] = {}
    for index, packet in enumerate(packets):
        role = packet.recipient if packet.recipient not in CAST.peers else "peer"
        seen.setdefault((tag_of(packet.body), role), index)
    return sorted(seen.values())


def refusals(name: str, packets: list[Packet]) -> list[Bad]:
    """What comes of each change of these packets."""
    collected = []
    for index in one_of_each_kind(packets):
        for change in CHANGES:
            refused = refusal(CONVERSATIONS[name], packets, index, change, codec=CODEC)
            collected.append(Bad(index, change, refused and asdict(refused)))
    return collected


def vectors() -> dict[str, Any]:
    """All trainings with their packets, good and bad."""
    made: dict[str, Any] = {
        "provenance": "made by tests/vectors/make_learners.py from seeded entropy and a toy key; "
        "the identities are for tests alone"
    }
    for name, programs in CONVERSATIONS.items():
        packets = record(programs, session=SESSION, codec=CODEC)
        made[name] = {
            "packets": [
                {
                    "from": p.sender,
                    "to": p.recipient,
                    "number": p.number,
                    "body": b64encode(p.body).decode(),
                }
                for p in packets
            ],
            "bad": [asdict(bad) for bad in refusals(name, packets)] if name in SPOILT else [],
        }
    return made


def main() -> None:
    """Write the file."""
    text = json.dumps(vectors(), indent=1, ensure_ascii=False)
    (HERE / "learners.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
