"""A peer's journal comes back from a backup, and one document changed meanwhile.

The backup was made when the keys of a blind sum were sent, and nothing masked yet. The coordinator
kept what it got before, and hands the restored seat the same letters again: it would get two values
under one mask, and their difference is the words of the document.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.letters import Plain
from sottovoce.errors import ReplayError
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.protocols.blind_sum import Plan, Round, SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.blind_sum.messages import (
    DealtShares,
    MaskedParts,
    RevealedShares,
    RoundKeys,
)
from sottovoce.protocols.blind_sum.rounds import RoundBook
from sottovoce.protocols.conversation import Receive, Send
from sottovoce.protocols.runner import converse
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

NAMES = ("alice", "bob", "carol")
PLAN = Plan(
    Round("study", "preparation", NAMES), (SummedVector("coordinator", "counts", WordSpace((8,))),)
)
MEMBERS = members_of(PLAN.this, SeededEntropy(1))
BEFORE = np.array([3, 0, 7, 12, 5, 0, 4, 9], np.uint64)
# One document more, with words 1 and 4.
AFTER = BEFORE + np.array([0, 1, 0, 0, 1, 0, 0, 0], np.uint64)
SITTING = SeatSession("alice", PLAN.this.context, ("coordinator", "evaluator"), Plain())
CODEC = Codec(limit=1 << 26)

_KINDS = {
    "round-keys": RoundKeys,
    "dealt-shares": DealtShares,
    "masked-parts": MaskedParts,
    "revealed-shares": RevealedShares,
}


def opened(path: Path, values: np.ndarray) -> tuple[Journal, DurableSeat[Any]]:
    """Alice's seat on this journal, with these counts."""
    journal = Journal(path, key=bytes(32))

    def program(entropy: Any) -> Any:
        who = MEMBERS["alice"]
        return pairwise.peer(PLAN, (values,), who=who, book=RoundBook(), entropy=entropy)

    return journal, DurableSeat.begin(journal, SITTING, program)


class Alice:
    """A peer whose seat is on disk, copied before anything masked leaves it."""

    def __init__(self, folder: Path) -> None:
        self.path, self.backup = folder / "journal.db", folder / "backup.db"
        self.came: list[Letter] = []
        self.masked: list[bytes] = []

    def __call__(self) -> Iterator[Any]:
        journal, seat = opened(self.path, BEFORE)
        while True:
            for outgoing in list(journal.pending()):
                journal.mark_sent(outgoing.position)
                journal.commit()
                kind = _KINDS[outgoing.kind]
                if kind is MaskedParts:
                    self.masked.append(outgoing.letter.body)
                message = CODEC.decode(outgoing.letter.body, kind)
                yield Send(outgoing.letter.recipient, message)
            if seat.finished:
                journal.close()
                return seat.result
            wait = seat.waiting
            assert isinstance(wait, Receive)
            got = yield wait
            if len(self.came) == 1:  # its keys have left, and nothing else
                journal.close()
                for path in self.path.parent.glob("journal.db*"):
                    shutil.copy(path, str(path).replace("journal.db", "backup.db"))
                journal, seat = opened(self.path, BEFORE)
            letter = Letter(
                SITTING.session, wait.sender, "alice", len(self.came), CODEC.encode(got)
            )
            self.came.append(letter)
            seat.deliver(letter)


@pytest.fixture
def alice(tmp_path: Path) -> Alice:
    """The round is over, and everybody else has the sum."""
    alice = Alice(tmp_path)
    programs: dict[str, Any] = {"alice": alice()}
    for seed, name in enumerate(NAMES[1:], 2):
        values = (np.full(8, 50, np.uint64),)
        programs[name] = pairwise.peer(
            PLAN, values, who=MEMBERS[name], book=RoundBook(), entropy=SeededEntropy(seed)
        )
    programs["coordinator"] = pairwise.coordinator(
        PLAN, who=MEMBERS["coordinator"], book=RoundBook()
    )
    programs["evaluator"] = pairwise.evaluator(
        PLAN, who=MEMBERS["evaluator"], book=RoundBook(), entropy=SeededEntropy(5)
    )
    results = converse(programs, session=SITTING.session).results
    assert np.array_equal(results["coordinator"].sums[0], BEFORE + np.uint64(100))
    return alice


def test_a_restored_journal_with_another_document_masks_nothing(alice: Alice) -> None:
    with pytest.raises(ReplayError):
        opened(alice.backup, AFTER)


def test_with_the_same_documents_it_sends_the_same_bytes(alice: Alice) -> None:
    journal, seat = opened(alice.backup, BEFORE)
    seat.deliver(alice.came[1])
    assert [o.letter.body for o in journal.pending() if o.kind == "masked-parts"] == alice.masked
    journal.close()


def test_masks_of_the_seed_alone_would_show_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What was possible before masks were bound to what they cover."""
    monkeypatch.setattr(Plan, "drawing", lambda plan, values, entropy: entropy)
    alice = request.getfixturevalue("alice")
    journal, seat = opened(alice.backup, AFTER)
    seat.deliver(alice.came[1])
    (again,) = [o.letter.body for o in journal.pending() if o.kind == "masked-parts"]
    journal.close()
    seen = [CODEC.decode(body, MaskedParts).parts[0].array() for body in (*alice.masked, again)]
    assert (seen[1] - seen[0]).tolist() == (AFTER - BEFORE).tolist()
