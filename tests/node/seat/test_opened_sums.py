"""Which sums a seat opened is on its disk with the step that opens one, and never twice."""

from pathlib import Path
from typing import Any

import pytest

from harness.letters import Noise, Plain
from sottovoce.entropy import Entropy
from sottovoce.errors import JournalError, MisuseError
from sottovoce.node.seat.durable_seat import DurableSeat, SeatSession
from sottovoce.protocols.blind_sum import OpenedSum, Round, RoundBook
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.storage.journal import Journal
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.study.relay import Letter
from sottovoce.wire import Codec

KEY = bytes(range(32))
FOUR = ("alice", "bob", "carol", "dave")
THREE = FOUR[:3]


def a_round(name: str, *, attempt: int = 1, series: str = "") -> Round:
    return Round("study", name, FOUR, attempt=attempt, series=series)


def opening(sums: OpenedSumsBook, this: Round, peers: tuple[str, ...]) -> Any:
    """A program that opens a sum when it is asked to, and says so."""

    def program(entropy: Entropy) -> Party[str]:
        sums.book.begin(this)
        yield from receive("coordinator", Noise)
        sums.book.spend(this, peers)
        yield Send("coordinator", Noise(entropy.read(8)))
        yield from receive("coordinator", Noise)
        return "opened"

    return program


def seat_of(journal: Journal, this: Round, peers: tuple[str, ...]) -> DurableSeat[str]:
    """The seat of a process that was just started."""
    sums = OpenedSumsBook.read(journal)
    session = f"{this.name} {this.attempt}".encode()
    sitting = SeatSession("alice", session, ("coordinator",), Plain(), sums=sums)
    return DurableSeat.begin(journal, sitting, opening(sums, this, peers))


def ask(seat: DurableSeat[Any], number: int = 0) -> None:
    session = seat._sitting.session
    body = Codec().encode(Noise(b"open"))
    seat.deliver(Letter(session, "coordinator", "alice", number, body))


def test_an_opened_sum_outlives_the_process_and_its_session(tmp_path: Path) -> None:
    path, this = tmp_path / "journal.db", a_round("table")
    with Journal(path, key=KEY) as journal:
        ask(seat_of(journal, this, FOUR))
    with Journal(path, key=KEY) as journal:
        # The attempt that opened it is run again to its place, and goes on.
        seat = seat_of(journal, this, FOUR)
        assert len(list(journal.pending())) == 1
        ask(seat, 1)
        assert seat.result == "opened"
        journal.forget(b"table 1")
        again = seat_of(journal, a_round("table", attempt=2), THREE)
        assert isinstance(again.failure, MisuseError)
        assert "in attempt 1 over alice, bob, carol, dave" in again.failure.message
    with Journal(path, key=KEY) as journal:
        assert OpenedSumsBook.read(journal).book.spent == {("study", "table"): OpenedSum(1, FOUR)}


def test_what_did_not_reach_the_disk_was_neither_opened_nor_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, this = tmp_path / "journal.db", a_round("table")
    with Journal(path, key=KEY) as journal:
        seat = seat_of(journal, this, FOUR)
        add = Journal._add_notes

        def full(self: Journal, run: Any, notes: Any) -> None:
            add(self, run, notes)
            raise JournalError("the disk is full")

        monkeypatch.setattr(Journal, "_add_notes", full)
        with pytest.raises(JournalError, match="the disk is full"):
            ask(seat)
        monkeypatch.undo()
        assert list(journal.pending()) == []
    with Journal(path, key=KEY) as journal:
        assert len(OpenedSumsBook.read(journal)) == 0
        assert len(list(journal.steps(b"table 1"))) == 1
        ask(seat_of(journal, this, FOUR))
        assert len(OpenedSumsBook.read(journal)) == 1
        assert len(list(journal.pending())) == 1


def test_how_many_rows_a_helper_worked_on_outlives_its_process(tmp_path: Path) -> None:
    run, path = ("north", 1, 7), tmp_path / "journal.db"
    with Journal(path, key=KEY) as journal:
        sums = OpenedSumsBook.read(journal)

        def helping(entropy: Entropy) -> Party[None]:
            yield from receive("coordinator", Noise)
            sums.labels.add(run, 32, budget=32, coordinator="coordinator")
            yield Send("coordinator", Noise(entropy.read(8)))

        sitting = SeatSession("alice", b"query", ("coordinator",), Plain(), sums=sums)
        ask(DurableSeat.begin(journal, sitting, helping))
    with Journal(path, key=KEY) as journal:
        assert OpenedSumsBook.read(journal).labels.rows == {run: 32}


def test_how_many_evaluations_a_helper_worked_on_outlives_its_process(tmp_path: Path) -> None:
    run, path = ("north", 1, 7), tmp_path / "journal.db"
    with Journal(path, key=KEY) as journal:
        sums = OpenedSumsBook.read(journal)

        def helping(entropy: Entropy) -> Party[None]:
            yield from receive("coordinator", Noise)
            sums.labels.add_evaluation(run, evaluations=1, coordinator="coordinator")
            yield Send("coordinator", Noise(entropy.read(8)))

        sitting = SeatSession("alice", b"query", ("coordinator",), Plain(), sums=sums)
        ask(DurableSeat.begin(journal, sitting, helping))
    with Journal(path, key=KEY) as journal:
        assert OpenedSumsBook.read(journal).labels.evaluations == {run}


def test_an_older_attempt_opens_nothing_that_a_later_one_opened(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.db", key=KEY) as journal:
        seat_of(journal, a_round("table"), FOUR)
        ask(seat_of(journal, a_round("table", attempt=2), THREE))
        sums = OpenedSumsBook.read(journal)
        with pytest.raises(MisuseError, match="in attempt 2 over alice, bob, carol: unmasking"):
            sums.book.spend(a_round("table"), FOUR)


def test_sums_of_one_series_are_opened_over_one_set_in_whatever_order() -> None:
    for first, second in (("0", "1"), ("1", "0")):
        book = RoundBook()
        book.spend(a_round(first, series="evaluation"), FOUR)
        with pytest.raises(MisuseError, match="expected the peers of the evaluation before"):
            book.spend(a_round(second, series="evaluation"), THREE)
        assert set(book.spent) == {("study", first)}
        book.spend(a_round(second, series="evaluation"), FOUR)
        book.spend(a_round("2"), THREE)
        book.spend(Round("another", "0", FOUR, series="evaluation"), THREE)


def test_a_written_book_lets_the_same_attempt_say_it_once_more_over_the_same_peers() -> None:
    opened = {("study", "table"): OpenedSum(1, FOUR)}
    with pytest.raises(MisuseError, match="was unmasked already"):
        RoundBook.written(opened).spend(a_round("table"), THREE)
    with pytest.raises(MisuseError, match="was unmasked already"):
        RoundBook.written(opened).begin(a_round("table", attempt=2))
    book = RoundBook.written(opened)
    book.begin(a_round("table"))
    book.spend(a_round("table"), FOUR)
    with pytest.raises(MisuseError, match="was unmasked already"):
        book.spend(a_round("table"), FOUR)


def test_a_session_that_is_over_is_run_again_for_its_result_alone(tmp_path: Path) -> None:
    this = a_round("table")
    with Journal(tmp_path / "journal.db", key=KEY) as journal:
        ask(seat_of(journal, this, FOUR))
        before = list(journal.pending())
        sums = OpenedSumsBook.read(journal)
        sitting = SeatSession("alice", b"table 1", ("coordinator",), Plain(), sums=sums)
        seat = DurableSeat.recall(journal, sitting, opening(sums, this, FOUR))
        with pytest.raises(MisuseError, match="ahead of its journal"):
            ask(seat, 1)
        assert not seat.finished
        assert len(list(journal.steps(b"table 1"))) == 2
        assert list(journal.pending()) == before


def test_a_session_that_never_began_has_no_past(tmp_path: Path) -> None:
    this = a_round("table")
    with Journal(tmp_path / "journal.db", key=KEY) as journal:
        sums = OpenedSumsBook()
        sitting = SeatSession("alice", b"table 1", ("coordinator",), Plain(), sums=sums)
        for _ in range(2):
            with pytest.raises(MisuseError, match="this session was never begun"):
                DurableSeat.recall(journal, sitting, opening(sums, this, FOUR))
            # As after a crash between the session's first line and its first step.
            journal.open_session(b"table 1")
        assert list(journal.pending()) == []
