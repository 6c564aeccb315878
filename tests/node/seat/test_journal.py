"""The journal keeps everything or nothing, for its owner alone, and says what is wrong with it."""

import errno
import shutil
import sqlite3
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import JournalError, MisuseError, OpenPermissionsError
from sottovoce.keyfiles.storage import FREE_SPACE
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Outgoing, Sent, SessionStep, StepHead
from sottovoce.storage.sealed_sqlite import PIECE_BYTES
from sottovoce.study.relay import Letter

KEY = bytes(range(32))
SECRET = b"a secret that must not stand on the disk"


def step(body: bytes = SECRET, number: int = 0) -> SessionStep:
    return SessionStep(StepHead("letter", "bob", number, (Sent("bob", 0, bytes(32)),), ""), body)


def outgoing(number: int = 0, body: bytes = SECRET) -> Outgoing:
    return Outgoing(Letter(b"s", "alice", "bob", number, body), "kind")


def numbers(journal: Journal) -> list[int]:
    return [letter.letter.number for letter in journal.pending()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


def test_everything_comes_back_in_order(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        seed = journal.open_session(b"s", b"head").seed
        other = journal.open_session(b"t").seed
        for index in range(5):
            journal.commit(
                session=b"s",
                step=step(b"%d" % index, index),
                letters=[outgoing(index)],
                notes={"n": b"%d" % index},
            )
    assert len({seed, other}) == 2
    with Journal(path, key=KEY) as journal:
        opened = journal.open_session(b"s", b"head")
        assert (opened.seed, opened.begun) == (seed, True)
        assert not journal.open_session(b"t").begun
        assert [step.body for step in journal.steps(b"s")] == [b"%d" % index for index in range(5)]
        assert [step.head.number for step in journal.steps(b"s")] == list(range(5))
        assert numbers(journal) == list(range(5))
        assert {letter.letter.body for letter in journal.pending()} == {SECRET}
        assert journal.note("n") == b"4"
        assert journal.note("m") is None
        assert journal.sessions() == (b"s", b"t")


def test_nothing_secret_stands_on_the_disk_and_nobody_else_may_read(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        seed = journal.open_session(b"s").seed
        journal.commit(session=b"s", step=step(), letters=[outgoing()], notes={"n": SECRET})
        files = sorted(path.parent.iterdir())
        assert len(files) >= 2
        for file in files:
            assert file.stat().st_mode & 0o777 == 0o600
            content = file.read_bytes()
            assert SECRET not in content
            assert seed not in content
    path.chmod(0o640)
    with pytest.raises(OpenPermissionsError, match="expected mode 600, found 640"):
        Journal(path, key=KEY)


def test_a_letter_marked_sent_is_gone_and_one_that_was_not_is_there(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        journal.commit(letters=[outgoing(number) for number in range(4)])
        first, second, *_ = journal.pending()
        journal.mark_sent(second.position)
        assert numbers(journal) == [0, 2, 3]
        journal.mark_sent(first.position)
        journal.commit()
        assert numbers(journal) == [2, 3]
    with Journal(path, key=KEY) as journal:
        assert numbers(journal) == [2, 3]


def test_a_journal_knows_without_its_disk_whether_a_letter_waits(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        assert not journal.has_pending
        journal.commit(letters=[outgoing(0), outgoing(1)])
        first, second = journal.pending()
        journal.leaving(first.position)
        journal.mark_sent(first.position)
        assert [journal.has_waiting(letter.position) for letter in (first, second)] == [False, True]
    with Journal(path, key=KEY) as journal:
        assert journal.has_pending
        assert numbers(journal) == [1]
        journal.discard(b"s")
        assert not journal.has_pending


def test_once_closed_nothing_leaves_but_the_last_word(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        journal.commit(letters=[outgoing(0), outgoing(1)])
        journal.close_outbox([outgoing(7)])
        assert numbers(journal) == [7]
        with pytest.raises(MisuseError, match="the outbox is closed"):
            journal.commit(letters=[outgoing(2)])
        journal.commit()
    with Journal(path, key=KEY) as journal:
        assert journal.closed
        assert numbers(journal) == [7]


def test_threads_may_share_a_journal(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        for name in (b"a", b"b", b"c"):
            journal.open_session(name)

        def work(name: bytes) -> None:
            for index in range(20):
                journal.commit(session=name, step=step(name, index), letters=[outgoing(index)])

        threads = [threading.Thread(target=work, args=(name,)) for name in (b"a", b"b", b"c")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for name in (b"a", b"b", b"c"):
            assert [step.head.number for step in journal.steps(name)] == list(range(20))
        assert len(numbers(journal)) == 60


def test_another_key_does_not_open_it(path: Path) -> None:
    Journal(path, key=KEY).close()
    with pytest.raises(JournalError, match="this key does not open it"):
        Journal(path, key=bytes(32))
    with pytest.raises(MisuseError, match="expected a key of 32 bytes, found 3"):
        Journal(path, key=b"abc")


def test_a_large_body_is_written_in_pieces_and_comes_back_whole(path: Path) -> None:
    for body in (b"", b"x" * PIECE_BYTES, b"y" * (PIECE_BYTES + 1), b"z" * (3 * PIECE_BYTES)):
        with Journal(path, key=KEY) as journal:
            name = str(len(body)).encode()
            journal.open_session(name)
            journal.commit(session=name, step=step(body), letters=[outgoing(body=body)])
            assert [step.body for step in journal.steps(name)] == [body]
            (sent,) = journal.pending()
            assert sent.letter.body == body
            journal.mark_sent(sent.position)
    assert files(path) == ["steps-12884901889", "steps-17179869185", "steps-8589934593"]
    with Journal(path, key=KEY) as journal:
        journal.forget(str(3 * PIECE_BYTES).encode())
        assert files(path) == ["steps-12884901889", "steps-8589934593"]


def files(path: Path) -> list[str]:
    """The files of large bodies beside a journal."""
    return sorted(file.name for file in path.with_suffix(".letters").iterdir())


class Cut(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("at", ["INSERT INTO steps", "INSERT INTO outbox", "COMMIT"])
def test_files_of_a_commit_that_was_cut_off_go_with_the_next_start(
    path: Path, tmp_path: Path, at: str
) -> None:
    body, other = b"a" * 100_000, b"b" * 200_000
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        journal.commit(session=b"s", step=step(body), letters=[outgoing(0, body)])
        real, copy = journal._database, tmp_path / "copy" / path.name

        def execute(statement: str, *values: Any) -> Any:
            if statement.startswith(at):
                # The file that this statement would have counted is written by then.
                shutil.copytree(path.parent, copy.parent, ignore=lambda *_: ["copy"])
                raise Cut
            return real.execute(statement, *values)

        journal._database = Mock(wraps=real, execute=execute, in_transaction=True)
        with pytest.raises(Cut):
            journal.commit(session=b"s", step=step(other, 1), letters=[outgoing(1, other)])
        journal._database = real
    assert len(files(copy)) == {"INSERT INTO steps": 2, "INSERT INTO outbox": 3, "COMMIT": 4}[at]
    with Journal(copy, key=KEY) as journal:
        assert files(copy) == ["outbox-1", "steps-4294967297"]
        assert [step.body for step in journal.steps(b"s")] == [body]
        journal.commit(session=b"s", step=step(other, 1), letters=[outgoing(1, other)])
    with Journal(copy, key=KEY) as journal:
        assert [step.body for step in journal.steps(b"s")] == [body, other]
        assert [letter.letter.body for letter in journal.pending()] == [body, other]


def test_the_file_of_a_deleted_row_goes_after_a_crash_too(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy" / path.name
    with Journal(path, key=KEY) as journal:
        journal.commit(letters=[outgoing(0, bytes(100_000))])
        (sent,) = journal.pending()
        journal.mark_sent(sent.position)

        def crash() -> None:
            shutil.copytree(path.parent, copy.parent, ignore=lambda *_: ["copy"])
            raise Cut

        journal._outbox.committed = crash  # type: ignore[method-assign]
        with pytest.raises(Cut):
            journal.commit()
        del journal._outbox.committed
    assert files(copy) == ["outbox-1"]
    with Journal(copy, key=KEY) as journal:
        assert numbers(journal) == []
        assert files(copy) == []


def test_a_large_letter_needs_little_memory_beside_itself(path: Path) -> None:
    body = bytes(24 * 2**20)
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        tracemalloc.start()
        try:
            journal.commit(session=b"s", step=step(body))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 4 * 2**20


CHANGES = {
    "a changed step": "UPDATE steps SET body = head WHERE id % 2",
    "two steps that changed places": (
        "UPDATE steps SET body = (SELECT body FROM steps b WHERE b.id != steps.id)"
    ),
    "a step that is missing": "DELETE FROM steps WHERE id = (SELECT min(id) FROM steps)",
    "text in place of a step": "UPDATE steps SET head = 'text'",
    "another count": "UPDATE steps SET pieces = 1",
    "a count that is none": "UPDATE steps SET pieces = 'many'",
    "an empty step": "UPDATE steps SET head = x''",
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_row_that_was_changed_is_refused(path: Path, change: str) -> None:
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        journal.commit(session=b"s", step=step(b"one"))
        journal.commit(session=b"s", step=step(b"two" * PIECE_BYTES, 1))
    database = sqlite3.connect(path)
    database.executescript(change)
    database.commit()
    database.close()
    with (
        Journal(path, key=KEY) as journal,
        pytest.raises(JournalError, match=r"not what was written|is missing|lost its size"),
    ):
        list(journal.steps(b"s"))


BOX = PIECE_BYTES + 28
FILE_CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "a piece that is missing": lambda data: data[:BOX],
    "all of it missing": lambda _: b"",
    "the last bytes cut off": lambda data: data[:-1],
    "another byte": lambda data: data + b"x",
    "two pieces that changed places": lambda data: (
        data[BOX : 2 * BOX] + data[:BOX] + data[2 * BOX :]
    ),
    "a changed bit": lambda data: bytes([data[0] ^ 1]) + data[1:],
}


@pytest.mark.parametrize("change", FILE_CHANGES.values(), ids=list(FILE_CHANGES))
def test_a_file_that_was_changed_is_refused(path: Path, change: Callable[[bytes], bytes]) -> None:
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        journal.commit(session=b"s", step=step(b"two" * PIECE_BYTES))
        (file,) = path.with_suffix(".letters").iterdir()
        file.write_bytes(change(file.read_bytes()))
        with pytest.raises(JournalError, match=r"not what was written|is missing"):
            list(journal.steps(b"s"))
        file.unlink()
        with pytest.raises(JournalError, match="cannot be used"):
            list(journal.steps(b"s"))
    with Journal(path, key=KEY) as journal, pytest.raises(JournalError, match="is missing"):
        list(journal.steps(b"s"))


def test_pieces_of_an_earlier_version_are_moved_into_files(path: Path) -> None:
    bodies = [b"small", b"x" * (PIECE_BYTES + 1), b"z" * (3 * PIECE_BYTES)]
    with Journal(path, key=KEY) as journal:
        for number, body in enumerate(bodies):
            journal.open_session(b"%d" % number)
            waiting = [outgoing(number, body)]
            journal.commit(session=b"%d" % number, step=step(body), letters=waiting)
    as_version_2(path)
    for _ in range(2):
        with Journal(path, key=KEY) as journal:
            assert next(journal.steps(b"1")).body == bodies[1]
            assert [letter.letter.body for letter in journal.pending()] == bodies
            assert len(files(path)) == 4


def as_version_2(path: Path) -> None:
    """Put pieces where the second version had them: the first in its row, the others in a table."""
    database = sqlite3.connect(path)
    for file in path.with_suffix(".letters").iterdir():
        table, owner = file.name.split("-")
        data = file.read_bytes()
        first, *more = (data[at : at + BOX] for at in range(0, len(data), BOX))
        database.execute(
            f"CREATE TABLE IF NOT EXISTS {table}_more "
            "(owner INTEGER, number INTEGER, box BLOB NOT NULL)"
        )
        database.execute(f"UPDATE {table} SET body = ? WHERE id = ?", (first, owner))  # noqa: S608 - a name of ours
        rows = [(owner, number, box) for number, box in enumerate(more, 1)]
        database.executemany(f"INSERT INTO {table}_more VALUES (?, ?, ?)", rows)  # noqa: S608 - as above
        file.unlink()
    database.execute("PRAGMA user_version = 2")
    database.commit()
    database.close()


def test_a_row_of_another_journal_is_refused(path: Path) -> None:
    for copy in (path, path.with_name("b.journal")):
        with Journal(copy, key=KEY, entropy=SeededEntropy(copy.name == "a.journal")) as journal:
            journal.commit(notes={"n": copy.name.encode()})
    database = sqlite3.connect(path)
    database.execute("ATTACH ? AS other", (str(path.with_name("b.journal")),))
    database.execute("UPDATE notes SET box = (SELECT box FROM other.notes)")
    database.commit()
    database.close()
    with Journal(path, key=KEY) as journal, pytest.raises(JournalError, match="kind 'note'"):
        journal.note("n")


def test_a_file_that_is_no_journal_is_refused(path: Path, tmp_path: Path) -> None:
    path.write_bytes(b"not a database at all" * 100)
    path.chmod(0o600)
    with pytest.raises(JournalError, match="damaged"):
        Journal(path, key=KEY)
    with pytest.raises(JournalError, match="no such file or directory"):
        Journal(tmp_path / "nowhere" / "a.journal", key=KEY)


def test_a_second_process_is_refused(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sottovoce.storage.journal import Journal\n"
        "from sottovoce.errors import JournalError\n"
        "try: Journal(Path(sys.argv[1]), key=bytes(range(32)))\n"
        "except JournalError as error: print(error, error.hints)\n"
    )
    command = [sys.executable, "-c", code, str(path)]
    with Journal(path, key=KEY) as journal:
        journal.commit(letters=[outgoing()])
        finished = subprocess.run(command, capture_output=True, text=True, check=True)
        assert "another process uses it" in finished.stdout
        assert "only one process may run a seat" in finished.stdout
        with pytest.raises(JournalError, match="another process uses it"):
            Journal(path, key=KEY)
        journal.commit(letters=[outgoing(1)])
    assert not subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_full_disk_is_a_clear_error_that_loses_nothing(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        journal.commit(session=b"s", step=step(b"one"), letters=[outgoing(0)])
        pages = journal._database.execute("PRAGMA page_count").fetchone()[0]
        journal._database.execute(f"PRAGMA max_page_count = {pages + 2}")
        with pytest.raises(JournalError, match=r"cannot be written \(database or disk is full\)"):
            journal.commit(session=b"s", step=step(bytes(60_000), 1), letters=[outgoing(1)] * 4)
        assert numbers(journal) == [0]
        journal._database.execute("PRAGMA max_page_count = 1000000")
        journal.commit(session=b"s", step=step(bytes(60_000), 1))
    with Journal(path, key=KEY) as journal:
        assert [len(step.body) for step in journal.steps(b"s")] == [3, 60_000]


def test_a_large_body_that_finds_no_room_is_the_same_error(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    body = bytes(100_000)
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        with monkeypatch.context() as patched:
            patched.setattr("sottovoce.storage.sealed_rows.os.fsync", full)
            expected = r"cannot be written \(no space left on device\); nothing was sent"
            with pytest.raises(JournalError, match=expected) as caught:
                journal.commit(session=b"s", step=step(body), letters=[outgoing(0)])
        assert caught.value.hints == (FREE_SPACE,)
        assert numbers(journal) == []
        journal.commit(session=b"s", step=step(body), letters=[outgoing(0)])
    with Journal(path, key=KEY) as journal:
        assert [step.body for step in journal.steps(b"s")] == [body]


KILLED = """
import os, sys
from pathlib import Path
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import SessionStep, StepHead
journal = Journal(Path(sys.argv[1]), key=bytes(range(32)))
journal.open_session(b"s")
for index in range(10_000):
    head = StepHead("letter", "b", index, (), "")
    journal.commit(session=b"s", step=SessionStep(head, b"x" * index))
    print(index, flush=True)
"""


def test_what_was_committed_survives_a_killed_process(path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        last = 0
        while last < 50:
            last = int(child.stdout.readline())
        child.kill()
        last = max([last, *(int(line) for line in child.stdout.read().split("\n")[:-1])])
    with Journal(path, key=KEY) as journal:
        result = [step.head.number for step in journal.steps(b"s")]
    assert result == list(range(len(result)))
    assert len(result) in {last + 1, last + 2}


def test_a_forgotten_session_is_gone_and_never_begins_again(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        journal.open_session(b"s")
        journal.commit(session=b"s", step=step())
        journal.open_session(b"t")
        journal.commit(session=b"t", step=step(b"stays"))
        box = journal._database.execute("SELECT head FROM steps ORDER BY id").fetchone()[0]
        journal.forget(b"s")
        with pytest.raises(MisuseError, match="is over, and was deleted"):
            journal.open_session(b"s")
        assert journal.sessions() == (b"s", b"t")
        assert journal.remembered() == (b"t",)
        assert [step.body for step in journal.steps(b"t")] == [b"stays"]
        left = b"".join(file.read_bytes() for file in path.parent.iterdir())
        assert box not in left
    with Journal(path, key=KEY) as journal, pytest.raises(MisuseError, match="is over"):
        journal.open_session(b"s")
