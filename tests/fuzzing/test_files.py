"""Whatever stands in a file, or in a line that people send, ends soon and by name."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.letters import Plain
from harness.mangling import mangled, mangled_text
from harness.studies import BINARY, Case, notes
from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import (
    InputError,
    JournalError,
    KeyFileError,
    LedgerError,
    MismatchError,
    MisuseError,
)
from sottovoce.keyfiles.models import look, read_model, write_model
from sottovoce.ledger import (
    Entry,
    LedgerSeat,
    LineKind,
    NotedEnd,
    SiteLedger,
    read_ledger,
    verify,
)
from sottovoce.ledger.chain import Head, LedgerLine, read_signed
from sottovoce.node.invitations import Invitation
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.seat import Packet
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Outgoing, Sent, SessionStep, StepHead
from sottovoce.study import InsecureToyPlan
from sottovoce.study.relay import Letter

SECONDS = 5.0
SEEDS = st.integers(0, 2**64 - 1)
KEY = bytes(32)
NORTH = Identity.draw("north", SeededEntropy(1))


@contextmanager
def soon() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


# Invitations and study files: what people are sent, and write.


@lru_cache
def line() -> str:
    return Invitation(
        "https://study.example:8443",
        bytes(32),
        "s-1",
        "Fractures",
        "North Hospital",
        ("north", "evaluator"),
        bytes(range(32)),
        datetime(2030, 1, 1, tzinfo=UTC),
    ).line


@given(SEEDS)
def test_invitations(seed: int) -> None:
    random = Random(seed)
    changed = mangled_text(line(), random)
    with soon(), suppress(InputError):
        assert Invitation.parse(changed).line == line()


@given(SEEDS)
@settings(max_examples=60)
def test_study_files(seed: int) -> None:
    changed = mangled_text(example(), Random(seed))
    with soon(), suppress(InputError):
        parse_study(changed)


@given(st.text(max_size=200))
def test_study_files_of_anything(text: str) -> None:
    with soon(), pytest.raises(InputError):
        parse_study(text)


# A peer's part of a model.


@lru_cache
def trained() -> Case:
    plan = InsecureToyPlan(
        "notes", BINARY, features=8, key_bits=toy_key().public.bits, bucket_bits=8, alpha=50.0
    )
    return Case(notes(60), plan, toy_key())


@lru_cache
def model_bytes() -> bytes:
    with TemporaryDirectory() as folder:
        path, case = Path(folder) / "model", trained()
        model = case.outcome.models["north"]
        write_model(path, model, case.study, identity=case.identities["north"])
        return path.read_bytes()


@given(SEEDS)
def test_model_files(seed: int) -> None:
    """A part that was changed in any way is refused: its peer signed it."""
    random = Random(seed)
    data = mangled(model_bytes(), random)
    if data == model_bytes():
        return
    with TemporaryDirectory() as folder, soon():
        path = write_file(folder, data)
        for use in (lambda: read_model(path, trained().study), lambda: look(path)):
            with pytest.raises((KeyFileError, MismatchError)):
                use()


# Ledgers.


@lru_cache
def ledger_bytes() -> tuple[bytes, bytes]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        with SiteLedger(path, NORTH, clock=lambda: "2026-01-01T00:00:00Z") as ledger:
            for number in range(4):
                letter = Letter(b"s", "north", "coordinator", number, b"body")
                ledger.append(
                    Entry.of_letter(
                        LineKind.SENT, letter, study="s", stage="agreement", kind="consent"
                    )
                )
        return path.read_bytes(), path.with_name("ledger.head").read_bytes()


@given(SEEDS)
@settings(max_examples=60)
def test_ledgers(seed: int) -> None:
    """Every change is found, whatever it is; nothing but a named error comes of it."""
    random = Random(seed)
    whole, head = ledger_bytes()
    changed = mangled(whole, random)
    beside = mangled(head, random) if random.random() < 0.3 else head
    if (changed, beside) == (whole, head):
        return
    with TemporaryDirectory() as folder, soon():
        path = Path(folder) / "ledger"
        path.write_bytes(changed)
        path.with_name("ledger.head").write_bytes(beside)
        with pytest.raises(LedgerError):
            verify(path, LedgerSeat("north", NORTH.public))
        for use in (lambda: list(read_ledger(path)), lambda: SiteLedger(path, NORTH).close()):
            with suppress(LedgerError):
                use()


@given(st.binary(max_size=400))
def test_ledger_lines_of_anything(data: bytes) -> None:
    assert read_signed(LedgerLine, data) is None
    assert read_signed(Head, data) is None


@given(st.text(max_size=80))
def test_words_of_anything(text: str) -> None:
    with suppress(LedgerError):
        NotedEnd.of_words(text)


# Journals.


def journal_at(path: Path) -> None:
    with Journal(path, key=KEY, entropy=SeededEntropy(1)) as journal:
        for name in (b"one", b"two"):
            journal.open_session(name, b"head")
            for number in range(3):
                head = StepHead("letter", "bob", number, (Sent("bob", number, bytes(32)),), "")
                letter = Letter(name, "alice", "bob", number, b"body" * 2 * number)
                journal.commit(
                    session=name,
                    step=SessionStep(head, b"came" * 2 * number),
                    letters=[Outgoing(letter, "kind")],
                    notes={"note": b"value"},
                )


@lru_cache
def journal_bytes() -> bytes:
    small = pytest.MonkeyPatch.context()
    with TemporaryDirectory() as folder, small as patch:
        patch.setattr("sottovoce.storage.sealed_sqlite.PIECE_BYTES", 8)
        path = Path(folder) / "journal"
        journal_at(path)
        return path.read_bytes()


def read_everything(path: Path) -> None:
    with Journal(path, key=KEY) as journal:
        for name in journal.sessions():
            journal.open_session(name, b"head")
            list(journal.steps(name))
        list(journal.pending())
        journal.note("note")
        journal.commit()


COLUMNS = [
    ("sessions", "name"),
    ("sessions", "box"),
    ("steps", "id"),
    ("steps", "head"),
    ("steps", "pieces"),
    ("steps", "body"),
    ("outbox", "head"),
    ("outbox", "pieces"),
    ("outbox", "body"),
    ("notes", "name"),
    ("notes", "box"),
    ("sealing", "salt"),
    ("sealing", "proof"),
]
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=20),
    st.binary(max_size=80),
)


def write_file(folder: str, data: bytes) -> Path:
    path = Path(folder) / "file"
    path.touch(mode=0o600)
    path.write_bytes(data)
    return path


@given(st.sampled_from(COLUMNS), VALUES, st.integers(0, 5))
@settings(max_examples=80)
def test_rows_of_a_journal(place: tuple[str, str], value: Any, row: int) -> None:
    """Anything at all in any column of any row."""
    table, column = place
    with TemporaryDirectory() as folder, soon():
        path = write_file(folder, journal_bytes())
        database = sqlite3.connect(path)
        with suppress(sqlite3.Error):
            database.execute(
                f"UPDATE {table} SET {column} = ? WHERE {_key(table)} = "  # noqa: S608 - our own names
                f"(SELECT {_key(table)} FROM {table} LIMIT 1 OFFSET ?)",
                (value, row),
            )
            database.commit()
        database.close()
        with suppress(JournalError, MisuseError):
            read_everything(path)


def _key(table: str) -> str:
    return "name" if table == "notes" else "rowid"


@given(SEEDS)
@settings(max_examples=60)
def test_journal_files(seed: int) -> None:
    with TemporaryDirectory() as folder, soon():
        path = write_file(folder, mangled(journal_bytes(), Random(seed)))
        with suppress(JournalError, MisuseError):
            read_everything(path)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_many_more_files(block: int) -> None:
    checks: list[Callable[..., None]] = [
        test_invitations.hypothesis.inner_test,
        test_study_files.hypothesis.inner_test,
        test_model_files.hypothesis.inner_test,
        test_ledgers.hypothesis.inner_test,
        test_journal_files.hypothesis.inner_test,
    ]
    for seed in range(block * 300, block * 300 + 300):
        for check in checks:
            check(seed)


def test_the_plain_packer_of_the_tests_is_faithful() -> None:
    packet = Packet(b"s", "a", "b", 1, b"body")
    assert Plain().unpack(Plain().pack(packet, entropy=SeededEntropy(1))) == packet
