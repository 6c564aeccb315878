"""A durable seat stands in the same place after a crash, and sends the same bytes again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.letters import Chat, Noise, Plain
from sottovoce.entropy import Entropy
from sottovoce.errors import (
    AbsenceError,
    JournalError,
    MalformedError,
    MisuseError,
    ReplayError,
    ViolationError,
)
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.protocols.conversation import Gather, Party, Send
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

KEY = bytes(range(32))
SESSION = b"session"


def sitting(name: str, *partners: str, head: bytes = b"") -> SeatSession:
    return SeatSession(name, SESSION, partners, Plain(), head=head)


def noise(sender: str, recipient: str, number: int, data: bytes) -> Letter:
    return Letter(SESSION, sender, recipient, number, Codec().encode(Noise(data)))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with Journal(tmp_path / "alice.journal", key=KEY) as opened:
        yield opened


def again(path: Path, program: Callable[[Entropy], Party[Any]], *partners: str) -> Any:
    """The seat of a process that was just started."""
    with Journal(path, key=KEY) as journal:
        seat = DurableSeat.begin(journal, sitting("alice", *partners), program)
        return seat, list(journal.pending())


def test_a_seat_that_crashes_after_any_step_goes_on_in_the_same_place(tmp_path: Path) -> None:
    path, chat = tmp_path / "alice.journal", Chat(rounds=4)
    sent: dict[int, bytes] = {}
    for step in range(6):
        with Journal(path, key=KEY) as journal:
            seat = DurableSeat.begin(journal, sitting("alice", "bob"), chat.first)
            for pending in journal.pending():
                assert (
                    sent.setdefault(pending.letter.number, pending.letter.body)
                    == pending.letter.body
                )
                assert pending.kind == "noise"
                journal.mark_sent(pending.position)
            if step < 4:
                assert seat.describe() == "waits for Noise from 'bob'"
                letter = noise("bob", "alice", step, b"%d" % step)
                assert seat.deliver(letter) == "noise"
                assert seat.deliver(letter) == "noise"
    assert seat.finished
    assert sorted(sent) == [0, 1, 2, 3]
    bodies = [Codec().decode(sent[number], Noise).data for number in sorted(sent)]
    assert seat.result == b"".join(mine + b"%d" % n for n, mine in enumerate(bodies))
    assert len(set(bodies)) == 4


def test_what_is_committed_is_not_sent_and_not_lost(tmp_path: Path) -> None:
    path, chat = tmp_path / "alice.journal", Chat()
    _, first = again(path, chat.first, "bob")
    _, second = again(path, chat.first, "bob")
    assert [step.letter for step in first] == [step.letter for step in second]
    assert len(first) == 1


def test_a_letter_that_comes_again_changes_nothing(journal: Journal) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    for _ in range(3):
        seat.deliver(noise("bob", "alice", 0, b"same"))
    assert len(list(journal.pending())) == 2
    assert len(list(journal.steps(SESSION))) == 2


def test_a_letter_that_comes_again_changed_ends_the_program_naming_the_sender(
    journal: Journal,
) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    seat.deliver(noise("bob", "alice", 0, b"same"))
    seat.deliver(noise("bob", "alice", 0, b"other"))
    assert isinstance(seat.failure, ViolationError)
    assert "bob: alice expected message 0 as it came before" in str(seat.failure)
    with pytest.raises(ViolationError, match="and it is changed"):
        assert seat.result


def test_a_failure_is_the_same_failure_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "alice.journal"
    with Journal(path, key=KEY) as journal:
        seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
        seat.leave("bob")
        seat.leave("bob")
        assert isinstance(seat.failure, AbsenceError)
    seat, _ = again(path, Chat().first, "bob")
    assert isinstance(seat.failure, AbsenceError)
    assert seat.failure.party == "bob"
    assert seat.describe() == "has failed"


def gathering(entropy: Entropy) -> Party[list[str]]:
    came = yield Gather(Noise, ("bob", "carol"))
    yield Send("bob", Noise(entropy.read(4)))
    return sorted(came)


def test_an_expired_gather_stays_expired(tmp_path: Path) -> None:
    path = tmp_path / "alice.journal"
    with Journal(path, key=KEY) as journal:
        seat = DurableSeat.begin(journal, sitting("alice", "bob", "carol"), gathering)
        seat.deliver(noise("bob", "alice", 0, b"here"))
        seat.expire()
        assert seat.result == ["bob"]
        seat.deliver(noise("carol", "alice", 0, b"late"))
        with pytest.raises(MisuseError, match="expected a gather"):
            seat.expire()
    seat, pending = again(path, gathering, "bob", "carol")
    assert seat.result == ["bob"]
    assert len(pending) == 1


def test_a_program_with_other_inputs_is_refused_and_sends_nothing(tmp_path: Path) -> None:
    path = tmp_path / "alice.journal"
    again(path, Chat(size=16).first, "bob")
    with pytest.raises(ReplayError, match="another message 0 for 'bob'; nothing of it"):
        again(path, Chat(size=17).first, "bob")
    with pytest.raises(ReplayError, match="sent 0 messages, before 1"):
        again(path, gathering, "bob", "carol")
    _, pending = again(path, Chat(size=16).first, "bob")
    assert len(pending) == 1


def test_a_session_that_was_begun_under_another_head_is_refused(journal: Journal) -> None:
    DurableSeat.begin(journal, sitting("alice", "bob", head=b"attempt 1"), Chat().first)
    with pytest.raises(JournalError, match="was begun with other documents"):
        DurableSeat.begin(journal, sitting("alice", "bob", head=b"attempt 2"), Chat().first)


def test_a_seat_ahead_of_its_journal_does_nothing_more(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)

    def full(**_: object) -> None:
        raise JournalError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "commit", full)
        with pytest.raises(JournalError, match="no room"):
            seat.deliver(noise("bob", "alice", 0, b"x"))
    with pytest.raises(MisuseError, match="left this seat ahead of its journal"):
        seat.deliver(noise("bob", "alice", 0, b"x"))
    fresh = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    fresh.deliver(noise("bob", "alice", 0, b"x"))
    assert len(list(journal.pending())) == 2


def test_a_letter_from_a_stranger_is_an_error_in_the_program(journal: Journal) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    seat.deliver(noise("mallory", "alice", 0, b"x"))
    assert isinstance(seat.failure, ViolationError)
    assert seat.failure.party == "mallory"


def test_a_letter_that_cannot_be_read_is_an_error_in_the_program(journal: Journal) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    assert seat.deliver(Letter(SESSION, "bob", "alice", 0, b"\xff")) == "unreadable"
    assert isinstance(seat.failure, MalformedError)
    assert seat.failure.party == "bob"
    again = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    assert isinstance(again.failure, MalformedError)


@pytest.mark.parametrize(("session", "recipient"), [(b"other", "alice"), (SESSION, "bob")])
def test_a_letter_of_another_session_or_to_another_is_a_misuse(
    journal: Journal, session: bytes, recipient: str
) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    with pytest.raises(MisuseError, match="expected a letter of this session to us"):
        seat.deliver(Letter(session, "bob", recipient, 0, b""))
    assert not seat.finished


def test_nothing_of_what_was_said_shows(journal: Journal) -> None:
    seat = DurableSeat.begin(journal, sitting("alice", "bob"), Chat().first)
    shown = repr(
        [seat, journal, list(journal.pending()), sitting("alice"), *journal.steps(SESSION)]
    )
    assert "waits for Noise" in shown
    assert "\\x" not in shown
