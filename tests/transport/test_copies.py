"""A seat that was copied, or brought back from a backup, is found out before it sends."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from aiohttp.http_writer import StreamWriter

from harness.ports import STUDY, identity_of, served_mailbox
from sottovoce.course.control import COORDINATOR
from sottovoce.course.letter_chain import HeldLetters, mark_of
from sottovoce.errors import CopyError, JournalError, SottovoceError, ViolationError
from sottovoce.node.coordinator.local_letters import LocalLetterSender
from sottovoce.storage.journal import Journal
from sottovoce.study.relay import Letter
from sottovoce.transport import client
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.faults import OtherOffset
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_database import FREE_SPACE
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, MailboxTables, Place
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.bodies import BodyReader
from sottovoce.transport.server.request_handlers import RequestHandlers
from sottovoce.transport.signing import SignedRequest, body_digest

SESSION = b"s" * 16


def letter(number=0, body=b"body", *, to="bob"):
    return Letter(SESSION, "alice", to, number, body)


def held_after(*letters):
    held = HeldLetters()
    for letter in letters:
        held = held.after(
            mark_of(letter.session, letter.recipient, letter.number, body_digest(letter.body))
        )
    return held


def knows(*known):
    """A past that refuses whatever it does not know, as a journal does."""

    def past(held):
        if held not in known:
            raise CopyError("not ours")

    return past


def copy_of(served, past):
    """A line of the same seat, as another process has it."""
    return CoordinatorLine(
        served.address,
        fingerprint=served.fingerprint,
        study=STUDY,
        identity=identity_of("alice"),
        retry_seconds=5.0,
        past=past,
    )


def test_the_server_reads_no_byte_of_a_letter_that_it_would_refuse(tmp_path, monkeypatch):
    """The attack: the mailbox refused a second letter only once the coordinator had its bytes."""
    read, written = [], []
    write = StreamWriter.write

    async def noted_write(self, chunk, **how):
        written.append(bytes(chunk))
        await write(self, chunk, **how)

    monkeypatch.setattr(StreamWriter, "write", noted_write)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            await alice.post(letter(0, b"first"))
            body = BodyReader.read

            async def noted(self, request, limit, digest):
                result = await body(self, request, limit, digest)
                read.append(result)
                return result

            monkeypatch.setattr(BodyReader, "read", noted)
            with pytest.raises(SottovoceError) as refused:
                await alice.post(letter(0, b"the same mask over another value"))
            # Whatever is said of it: none of it left the seat, and none of it was asked for.
            assert not any(b"mask" in line for line in [*read, *written])
            assert isinstance(refused.value, CopyError)
            assert "already stored with other bytes" in refused.value.message
            # Nobody is left without the way out.
            assert "docs/backup.md" in " ".join(refused.value.hints)
            await alice.post(letter(1, b"next"))

    asyncio.run(story())
    assert b"next" in read
    assert any(b"next" in line for line in written)


def test_the_server_reads_no_part_of_a_letter_that_was_not_announced(tmp_path, monkeypatch):
    """Else a copy could skip the announcement, at which it is found out."""
    read = []

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            body = BodyReader.read

            async def noted(self, request, limit, digest):
                read.append(await body(self, request, limit, digest))
                return read[-1]

            monkeypatch.setattr(BodyReader, "read", noted)
            part = b"a part of it"
            sealed = {"size": 2 * len(part), "digest": bytes(32).hex()}
            path = f"/v1/uploads?{urlencode({**client._place(letter()), **sealed})}&offset=0"
            asked = SignedRequest("PATCH", path, body_digest(part))
            with pytest.raises(OtherOffset):
                await alice._at_work(client.Call(asked, "a part", memoryview(part)))
            await alice.post(letter(0, b"announced"))

    asyncio.run(story())
    assert b"".join(read) == b"announced"


def asked_of(monkeypatch):
    """The requests that reach the server, as they come."""
    asked, answered = [], RequestHandlers._answered

    async def noted(self, request, handler):
        asked.append(request.path)
        return await answered(self, request, handler)

    monkeypatch.setattr(RequestHandlers, "_answered", noted)
    return asked


def test_a_seat_that_enrolled_just_now_is_taken_up_without_a_question(tmp_path, monkeypatch):
    compared = []

    async def story():
        async with served_mailbox(tmp_path) as served, copy_of(served, compared.append) as alice:
            await alice.enrol(b"please")
            await alice.take_up()

    asked = asked_of(monkeypatch)
    asyncio.run(story())
    assert asked == ["/v1/enrol", "/v1/run"]
    # It did compare its own disk with a record of no letters, which the server confirmed.
    assert compared == [HeldLetters()]


def test_a_copy_that_enrols_again_asks_for_the_record_and_sends_nothing(tmp_path, monkeypatch):
    """The attack: it passed for a new seat, of which the server has nothing."""

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            await alice.post(letter(0))
            await alice.close()
            asked.clear()
            async with copy_of(served, knows(HeldLetters())) as older:
                await older.enrol(b"please")
                with pytest.raises(CopyError, match="not ours"):
                    await older.post(letter(0, b"other"))

    asked = asked_of(monkeypatch)
    asyncio.run(story())
    assert asked == ["/v1/enrol", "/v1/run", "/v1/sent"]


def test_a_seat_that_has_sent_letters_and_enrols_again_goes_on(tmp_path, monkeypatch):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            await alice.post(letter(0))
            await alice.close()
            asked.clear()
            async with copy_of(served, knows(held_after(letter(0)))) as same:
                await same.enrol(b"please")
                await same.post(letter(1, b"next"))

    asked = asked_of(monkeypatch)
    asyncio.run(story())
    assert asked == ["/v1/enrol", "/v1/sent", "/v1/run", "/v1/letters"]


def test_a_copy_that_is_behind_the_server_sends_nothing(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0))
            await alice.close()
            async with copy_of(served, knows(HeldLetters())) as older:
                with pytest.raises(CopyError, match="not ours"):
                    await older.post(letter(0, b"other"))
                with pytest.raises(CopyError, match="not ours"):
                    await older.fetch()
            async with copy_of(served, knows(held_after(letter(0)))) as newest:
                await newest.post(letter(1))
            return [letter_back.body for _, letter_back in await bob.fetch()]

    assert asyncio.run(story()) == [b"body", b"body"]


def test_a_copy_beside_a_process_that_is_connected_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(client, "_AT_WORK_SECONDS", 0.5)

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await served.line("bob")
            waiting = asyncio.create_task(alice.fetch(wait=20))
            while not served.mailbox._waiters["alice"]:  # noqa: ASYNC110 - over the line
                await asyncio.sleep(0.02)
            async with copy_of(served, knows(HeldLetters())) as beside:
                with pytest.raises(CopyError, match="another process works at it") as refused:
                    await beside.post(letter(0, b"of the copy"))
            assert "docs/backup.md" in " ".join(refused.value.hints)
            await alice.post(letter(0))
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    asyncio.run(story())


def test_a_copy_that_takes_a_seat_up_ends_the_one_before_once_it_has_sent(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            for seat in ("alice", "bob"):
                await served.line(seat)
            async with (
                copy_of(served, knows(HeldLetters(), held_after(letter(0, b"a")))) as original,
                copy_of(served, knows(HeldLetters(), held_after(letter(0, b"b")))) as copied,
            ):
                await original.take_up()
                await copied.post(letter(0, b"b"))
                with pytest.raises(CopyError, match="not ours"):
                    await original.post(letter(0, b"a"))
                await copied.post(letter(1, b"b"))

    asyncio.run(story())


def test_of_two_copies_that_begin_at_once_one_sends(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            _, bob = await served.line("alice"), await served.line("bob")
            async with (
                copy_of(served, knows(HeldLetters(), held_after(letter(0, b"a")))) as line,
                copy_of(served, knows(HeldLetters(), held_after(letter(0, b"b")))) as two,
            ):
                done = await asyncio.gather(
                    line.post(letter(0, b"a")), two.post(letter(0, b"b")), return_exceptions=True
                )
            assert sum(isinstance(result, CopyError) for result in done) == 1
            return len(await bob.fetch())

    assert asyncio.run(story()) == 1


def test_a_restarted_server_asks_every_seat_for_its_past_again(tmp_path):
    asked = []

    async def story():
        async with served_mailbox(tmp_path) as served:
            port = served.server.port
            for seat in ("alice", "bob"):
                await served.line(seat)
            line = copy_of(served, asked.append)
            await line.post(letter(0))
        async with served_mailbox(tmp_path, port=port) as served:
            await served.line("alice")
            await served.line("bob")
            await line.post(letter(1))
            await line.close()

    asyncio.run(story())
    assert asked == [HeldLetters(), held_after(letter(0))]


def test_a_letter_that_was_announced_counts_though_its_bytes_never_came(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            announced = letter(0, b"announced")
            await served.mailbox.take_up("alice", bytes(16), HeldLetters())
            sealed = LetterSummary(
                Place(SESSION, "alice", "bob", 0), 9, body_digest(announced.body)
            )
            await served.mailbox.announced(sealed, run=bytes(16))
            assert served.mailbox.held("alice") == held_after(announced)
            with pytest.raises(Refusal, match="its letters have changed meanwhile"):
                await served.mailbox.take_up("alice", b"b" * 16, HeldLetters())
            other = replace(sealed, digest=bytes(32))
            with pytest.raises(Refusal, match="already announced with other bytes"):
                await served.mailbox.announced(other, run=bytes(16))
            assert served.mailbox.held("alice") == held_after(announced)

    asyncio.run(story())


def test_a_request_under_an_old_run_is_refused_in_the_transaction_itself(tmp_path):
    """Between the check of a request and its commit another process may take the seat up."""

    async def story():
        async with served_mailbox(tmp_path) as served:
            mailbox = served.mailbox
            await mailbox.take_up("alice", b"a" * 16, HeldLetters())
            await mailbox.take_up("alice", b"b" * 16, HeldLetters())
            sealed = LetterSummary(Place(SESSION, "alice", "bob", 0), 1, body_digest(b"x"))
            with pytest.raises(Refusal) as refused:
                await mailbox.announced(sealed, run=b"a" * 16)
            assert refused.value.kind == "no-run"
            assert isinstance(mailbox._store, MailboxTables)
            assert mailbox.held("alice") == HeldLetters()

    asyncio.run(story())


def test_a_seat_that_read_beyond_an_older_copy_of_the_server_does_not_wait(tmp_path):
    """It asked for letters behind a position that the server had not come to again, for ever."""

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0))
        older = (tmp_path / "mail.db").read_bytes()
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(1))
            *_, (position, _) = await bob.fetch(wait=1.0)
            # Letters that were taken and deleted still count: a server that merely began anew.
            await bob.acknowledge(position)
        async with served_mailbox(tmp_path) as served:
            bob = await served.line("bob")
            assert await bob.fetch(position, wait=0.05) == ()
        (tmp_path / "mail.db").write_bytes(older)
        async with served_mailbox(tmp_path) as served:
            bob = await served.line("bob")
            with pytest.raises(ViolationError, match="restored from an older copy") as stopped:
                await bob.fetch(position, wait=60.0)
            assert stopped.value.party == "coordinator"
            assert "docs/backup.md" in " ".join(stopped.value.hints)

    asyncio.run(asyncio.wait_for(story(), 400))


def test_letters_of_others_do_not_hide_an_older_copy_of_the_server(tmp_path):
    """Others post past the reader's position first: it read on, and missed some of them."""

    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(0))
        older = (tmp_path / "mail.db").read_bytes()
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await alice.post(letter(1))
            *_, (position, _) = await bob.fetch(wait=1.0)
        (tmp_path / "mail.db").write_bytes(older)
        async with served_mailbox(tmp_path) as served:
            carol, bob = await served.line("carol"), await served.line("bob")
            for number in range(3):
                await carol.post(Letter(SESSION, "carol", "bob", number, b"past it"))
            with pytest.raises(ViolationError, match="restored from an older copy"):
                await bob.fetch(position, wait=60.0)
            # Who has read nothing that it lost reads on.
            assert len(await bob.fetch(0, wait=1.0)) == 4

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_coordinator_whose_journal_is_older_than_its_mailbox_sends_nothing(tmp_path):
    async def story():
        async with Mailbox(tmp_path / "mail.db") as mailbox:
            with Journal(tmp_path / "journal.db", key=bytes(32)) as journal:
                await LocalLetterSender(mailbox, journal).take_up()
                await mailbox.post(Letter(SESSION, "coordinator", "bob", 0, b"sent since"))
                with pytest.raises(CopyError):
                    await LocalLetterSender(mailbox, journal).take_up()

    asyncio.run(story())


def test_a_coordinator_sends_its_letters_while_those_of_others_wait_for_room(tmp_path, monkeypatch):
    """It stopped its study, and as the only one its server, with a part of the disk kept free."""
    usage = SimpleNamespace(total=10_000, free=2_000)
    monkeypatch.setattr(
        "sottovoce.transport.mailbox.mailbox_tables.shutil.disk_usage", lambda _: usage
    )

    async def story():
        async with Mailbox(tmp_path / "mail.db") as mailbox:
            with Journal(tmp_path / "journal.db", key=bytes(32)) as journal:
                sender = LocalLetterSender(mailbox, journal)
                await sender.post(Letter(SESSION, COORDINATOR, "bob", 0, b"news"))
                with pytest.raises(Refusal, match="no room for 4 bytes"):
                    await mailbox.post(letter(0))
                # Once the disk is really full, it says how the study continues.
                await mailbox._committer.submit(
                    lambda to: to.execute("PRAGMA max_page_count = 1").fetchone()
                )
                large = Letter(SESSION, COORDINATOR, "bob", 1, bytes(60_000))
                with pytest.raises(JournalError, match="disk is full") as full:
                    await sender.post(large)
                assert full.value.hints == (FREE_SPACE,)

    asyncio.run(story())


def test_a_seat_that_cannot_write_says_that_it_cannot_go_on(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            await alice.lose()
            assert served.callbacks.lost == [(STUDY, "alice")]

    asyncio.run(story())
