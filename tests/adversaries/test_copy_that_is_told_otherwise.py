"""A seat's folder is copied in the middle of a conversation, and the copy is told something else.

An evaluator of engine `paillier`, say, masks what it computed from a key holder's answer. The seed
of its masks is in its journal. With the same mask over what follows from another answer, the key
holder would read the difference: what the evaluator holds, along a direction of its choice.
"""

import shutil
from pathlib import Path

import pytest

from harness.letters import Noise, Plain
from sottovoce.entropy import Entropy, RunHistory, bound
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

KEY, SESSION, HELD = bytes(32), b"session", 1234567
SITTING = SeatSession("evaluator", SESSION, ("coordinator",), Plain())
CODEC = Codec()


def evaluator(entropy: Entropy) -> Party[None]:
    """Two steps: what it holds, times what it is told, under a mask."""
    drawn = bound(entropy, "test/v1", HELD.to_bytes(8))
    for _ in range(2):
        answer = yield from receive("coordinator", Noise)
        masked = HELD * int.from_bytes(answer.data) + int.from_bytes(drawn.read(16))
        yield Send("coordinator", Noise((masked % 2**128).to_bytes(16)))


def given(path: Path, *answers: int) -> list[int]:
    """What the seat at this journal has sent after these answers; it may know the first ones."""
    with Journal(path, key=KEY) as journal:
        seat = DurableSeat.begin(journal, SITTING, evaluator)
        for number, answer in enumerate(answers):
            body = CODEC.encode(Noise(answer.to_bytes(8)))
            seat.deliver(Letter(SESSION, "coordinator", "evaluator", number, body))
        bodies = [outgoing.letter.body for outgoing in journal.pending()]
    return [int.from_bytes(CODEC.decode(body, Noise).data) for body in bodies]


def difference_read(folder: Path) -> int:
    """What two masked values of one journal and its copy show, told 5 and then 6."""
    path, copy = folder / "journal.db", folder / "copy.db"
    given(path, 3)
    shutil.copy(path, copy)
    (_, before), (_, again) = given(path, 3, 5), given(copy, 3, 6)
    return (again - before) % 2**128


def test_a_copy_that_is_told_something_else_draws_another_mask(tmp_path: Path) -> None:
    assert difference_read(tmp_path) != HELD


def test_with_the_same_mask_it_would_show_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunHistory, "add", lambda *_: None)
    assert difference_read(tmp_path) == HELD


def test_a_copy_that_is_told_the_same_sends_the_same_bytes(tmp_path: Path) -> None:
    path, copy = tmp_path / "journal.db", tmp_path / "copy.db"
    first = given(path, 3)
    shutil.copy(path, copy)
    assert given(path, 3, 5) == given(copy, 3, 5) == given(path, 3, 5)
    assert given(path)[:1] == first
