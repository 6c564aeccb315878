"""What stands on a disk after a study: no seed, share, mask or contribution, in no free page."""

import asyncio
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.network import Network, network
from harness.searching import first_held
from sottovoce.course.control import COORDINATOR
from sottovoce.course.news import StageBegan, StudyFinished
from sottovoce.errors import MalformedError, MisuseError, StoppedError
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.storage.journal import Journal
from sottovoce.storage.records import Opened, Outgoing, SessionStep, StepHead
from sottovoce.storage.sealed_sqlite import SealedSqlite
from sottovoce.study.relay import Letter
from sottovoce.wire.codec import tag_of

SITES = ("north", "harbour", "valley")
KEY = bytes(32)
PIECE = 16


@dataclass(repr=False)
class Written:
    """What a study ever put on a disk: rows as they were sealed, and what was in them."""

    boxes: list[bytes] = field(default_factory=list)
    plain: list[bytes] = field(default_factory=list)
    sent: list[Letter] = field(default_factory=list)

    def pieces(self) -> Iterator[bytes]:
        """A piece of each that is long enough to be nobody else's."""
        for box in self.boxes:
            # After the nonce.
            yield box[12 : 12 + PIECE]
        for piece in (*self.plain, *(letter.body for letter in self.sent)):
            if len(set(piece[-PIECE:])) > PIECE // 2 and not is_public(piece):
                yield piece[-PIECE:]


def is_public(body: bytes) -> bool:
    """Who consented to what, and who takes part, is no secret; some of it is kept."""
    with suppress(MalformedError):
        return tag_of(body) in {"consent", "agreed-study", "arrived"}
    return False


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    result = Written()
    seal, new, commit, add = (
        SealedSqlite.seal,
        Journal._new_session,
        Journal.commit,
        Journal._add_letter,
    )
    public = [False]

    def sealing(self: SealedSqlite, content: Any, table: str, *place: bytes) -> bytes:
        box = seal(self, content, table, *place)
        if table not in {"note", "proof"} and not public[0]:
            result.boxes.append(box)
        return box

    def adding(self: Journal, run: Any, outgoing: Outgoing) -> Outgoing:
        # Control letters are of no session that was opened: they say how far a study is.
        public[0] = outgoing.letter.session not in self.sessions()
        added = add(self, run, outgoing)
        public[0] = False
        return added

    def opening(self: Journal, session: bytes, head: bytes) -> Opened:
        opened = new(self, session, head)
        result.plain.append(opened.seed)
        return opened

    def committing(self: Journal, **what: Any) -> None:
        if what.get("step") is not None:
            result.plain.append(what["step"].body)
            result.sent += [pending.letter for pending in what.get("letters", ())]
        commit(self, **what)

    monkeypatch.setattr(SealedSqlite, "seal", sealing)
    monkeypatch.setattr(Journal, "_new_session", opening)
    monkeypatch.setattr(Journal, "commit", committing)
    monkeypatch.setattr(Journal, "_add_letter", adding)
    return result


def files_of(root: Path) -> list[Path]:
    """All files but the mailbox, and the model that peers are to keep."""
    return [
        path
        for path in root.rglob("*")
        if path.is_file() and path.name != "model" and "mailbox." not in str(path)
    ]


def held(root: Path, written: Written) -> list[str]:
    pieces = list(written.pieces())
    assert len(pieces) > 100
    return [
        str(path.relative_to(root))
        for path in files_of(root)
        if first_held(path.read_bytes(), pieces)
    ]


def left_in_the_mailbox(net: Network, written: Written) -> list[tuple[str, str, str]]:
    """What the coordinator sent or was sent and still lies there, in free pages or the log.

    Letters between others are sealed for whoever they wait for.
    """
    folder = net.place.folder / "studies" / net.study
    files = [*folder.glob("mailbox.db*"), *folder.glob("mailbox.letters/*")]
    data = b"".join(path.read_bytes() for path in files)
    own = [
        letter
        for letter in written.sent
        if COORDINATOR in {letter.sender, letter.recipient}
        and len(letter.body) > 2 * PIECE
        and not is_public(letter.body)
    ]
    assert len(own) > 10
    matches = [letter for letter in own if first_held(data, [letter.body[-PIECE:]])]
    return [(match.sender, match.recipient, tag_of(match.body)) for match in matches]


@pytest.mark.parametrize("engine", ["shares", pytest.param("paillier", marks=pytest.mark.soak)])
def test_after_a_finished_study(tmp_path: Path, written: Written, engine: str) -> None:
    net = network(tmp_path, features="8", engine=engine)

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)
            # Sites may be through with it while the coordinator still deletes.
            while StudyFinished(net.study, COORDINATOR) not in net.events:  # noqa: ASYNC110 - a list
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(story(), 400))
    assert held(tmp_path, written) == []
    assert left_in_the_mailbox(net, written) == []


def test_after_a_study_that_was_cancelled_in_the_middle(
    tmp_path: Path, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, features="8")
    cleaned, clean = asyncio.Event(), StudyRunner._clean_up

    async def cleaning(self: StudyRunner) -> None:
        await clean(self)
        cleaned.set()

    monkeypatch.setattr(StudyRunner, "_clean_up", cleaning)

    def begins(event: Any) -> bool:
        return isinstance(event, StageBegan) and event.stage == "training"

    async def story() -> None:
        async with net.serving():
            with net.cancelled_when(begins, "we changed our minds"):
                joining = [net.join(site) for site in SITES]
                results = await asyncio.gather(*joining, return_exceptions=True)
            assert all(isinstance(result, StoppedError) for result in results), results
            await cleaned.wait()

    asyncio.run(asyncio.wait_for(story(), 400))
    assert held(tmp_path, written) == []
    assert left_in_the_mailbox(net, written) == []


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("at", ["VACUUM", "DELETE FROM notes", "PRAGMA wal_checkpoint"])
def test_a_process_that_is_killed_while_it_deletes_finishes_when_it_starts_again(
    tmp_path: Path, written: Written, at: str
) -> None:
    path = tmp_path / "before" / "journal.db"
    path.parent.mkdir()
    body = b"".join(bytes([index % 251]) * 3 for index in range(90_000))
    letter = Letter(b"session", "north", "coordinator", 0, body)
    step = SessionStep(StepHead("letter", "coordinator", 0, (), ""), body[::-1])
    journal = Journal(path, key=KEY)
    journal.open_session(b"session")
    for _ in range(120):
        journal.commit(session=b"session", step=step, letters=[Outgoing(letter, "kind")])
        for pending in journal.pending():
            journal.mark_sent(pending.position)
        if len(written.boxes) > 400:
            break
    journal.commit()
    assert held(tmp_path, written) != []
    real = journal._database
    journal._database = Falling(real, at)  # type: ignore[assignment]
    with pytest.raises(Killed):
        journal.forget(b"session", notes={"phase": b"over"})
    # What a killed process leaves: the files as they are, without a word of farewell.
    shutil.copytree(path.parent, tmp_path / "after")
    real.close()
    shutil.rmtree(path.parent)
    with Journal(tmp_path / "after" / "journal.db", key=KEY) as again:
        assert again.note("phase") == b"over"
        assert again.remembered() == ()
        assert held(tmp_path, written) == []
        with pytest.raises(MisuseError, match="is over, and was deleted"):
            again.commit(session=b"session", step=step)
    assert held(tmp_path, written) == []


class Falling:
    """A database whose process is killed when it comes to a statement."""

    def __init__(self, database: Any, at: str) -> None:
        self._database = database
        self._at = at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    def execute(self, statement: str, *values: Any) -> Any:
        if statement.startswith(self._at):
            raise Killed
        return self._database.execute(statement, *values)


def test_what_is_left_unsent_of_a_study_that_is_over_goes_too(
    tmp_path: Path, written: Written
) -> None:
    def make(session: bytes, number: int) -> Outgoing:
        body = bytes(range(200)) * 40
        return Outgoing(Letter(session, "north", "coordinator", number, body), "kind")

    with Journal(tmp_path / "journal.db", key=KEY) as journal:
        journal.open_session(b"over")
        head = StepHead("begin", "", 0, (), "")
        for number in range(60):
            journal.commit(session=b"over", step=SessionStep(head), letters=[make(b"over", number)])
        journal.commit(letters=[make(b"control", 0)])
        journal.discard(b"over")
        journal.forget(b"over")
        assert [letter.letter.session for letter in journal.pending()] == [b"control"]
    assert held(tmp_path, written) == []
