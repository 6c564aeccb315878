"""Limits: one seat, one address or one slow client does not stop the rest."""

import asyncio
import json
import threading
import time
from contextlib import suppress

import pytest

from harness.entropy import SeededEntropy
from harness.ports import STUDY, identity_of, served_mailbox
from sottovoce.errors import AbsenceError
from sottovoce.study.relay import Letter
from sottovoce.transport.certificates import client_context
from sottovoce.transport.client import CoordinatorLine
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Place
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server import connections
from sottovoce.transport.server.limits import PART, Buckets, Limits
from sottovoce.transport.signing import PROTOCOL, SignedRequest, Signer, body_digest
from sottovoce.transport.versions import OFFER

SESSION = b"s" * 16
RUN = b"r" * 16
QUICK = Limits(handshake=0.9, headers=0.9, idle=0.9, slowest=10**9)


def letter(number=0, body=b"body", *, sender="alice", to="bob"):
    return Letter(SESSION, sender, to, number, body)


def head(served, asked, *, seat="alice", **extra):
    """The bytes of a signed request, up to its body."""
    signer = Signer(STUDY, identity_of(seat), served.fingerprint, SeededEntropy(3))
    headers = {**signer.headers(asked), PROTOCOL: OFFER, "Host": "a", **extra}
    lines = [f"{asked.method} {asked.path} HTTP/1.1"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def caller(served, *, tls=True):
    context = client_context(served.fingerprint) if tls else None
    return await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)


async def hung_up(reader, within=20.0):
    """What came before the server hung up; fails if it does not."""
    try:
        return await asyncio.wait_for(reader.read(), within)
    except ConnectionError:
        return b""


def kind_of(answer):
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["type"].removeprefix(
        "urn:sottovoce:problem:"
    )


def test_slow_clients_of_every_kind_are_hung_up_on_and_the_rest_goes_on(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=QUICK) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await served.mailbox.take_up("carol", RUN, served.mailbox.held("carol"))
            await served.line("carol")
            digest = body_digest(b"x" * 99)
            for session in (b"\0", b"\1"):
                slow = LetterSummary(Place(session, "carol", "bob", 0), 99, digest)
                await served.mailbox.open_upload(slow)
            query = f"session=00&to=bob&number=0&size=99&digest={digest.hex()}"
            asked = SignedRequest("PATCH", f"/v1/uploads?{query}&offset=0&run={RUN.hex()}", digest)
            whole = head(served, asked, seat="carol", Content_Length="99")
            drips = {
                "no handshake": (False, b""),
                "half a handshake": (False, b"\x16\x03\x01\x02\x00\x01\x00"),
                "plain http that never ends": (False, b"POST / HTTP/1.1\r\nHost: a\r\n"),
                "no request": (True, b""),
                "half a request line": (True, b"POST /v1/let"),
                "half the headers": (True, whole[:200]),
                "no body": (True, whole),
                "half a body": (True, whole.replace(b"session=00", b"session=01") + b"x" * 50),
            }
            callers = []
            for tls, said in drips.values():
                reader, writer = await caller(served, tls=tls)
                writer.write(said)
                callers.append((reader, writer))
            started = time.monotonic()
            for number in range(20):
                await alice.post(letter(number))
            assert len(await bob.fetch()) == 20
            assert time.monotonic() - started < 10
            answers = [await hung_up(reader) for reader, _ in callers]
            for _, writer in callers:
                writer.transport.abort()
            by_drip = dict(zip(drips, answers, strict=True))
            assert kind_of(by_drip["plain http that never ends"]) == "plain-http"
            assert kind_of(by_drip["no body"]) == "slow"
            for _ in range(200):
                await asyncio.sleep(0.05)
                if served.server.connections <= 2:
                    break
            assert served.server.connections <= 2
            # A connection that was hung up on while idle is opened again without a word.
            await alice.post(letter(20))

    asyncio.run(story())


def test_a_client_that_keeps_dripping_headers_is_hung_up_on(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=QUICK) as served:
            reader, writer = await caller(served)

            async def drip():
                writer.write(b"GET /v1/study HTTP/1.1\r\n")
                while True:
                    writer.write(b"x: y\r\n")
                    await asyncio.sleep(0.05)

            dripping = asyncio.create_task(drip())
            started = time.monotonic()
            await hung_up(reader)
            dripping.cancel()
            writer.transport.abort()
            assert time.monotonic() - started < 10

    asyncio.run(story())


@pytest.mark.parametrize("wait", [0, 9000])
def test_who_does_not_read_its_answers_is_hung_up_on(tmp_path, wait):
    async def story():
        async with served_mailbox(tmp_path, limits=QUICK) as served:
            alice = await served.line("alice")
            await served.line("bob")
            await alice.post(letter(0, bytes(2**21)))
            reader, writer = await caller(served)
            reader._transport.pause_reading()
            await served.mailbox.take_up("bob", RUN, served.mailbox.held("bob"))
            asked = SignedRequest("GET", f"/v1/mailbox?after=0&wait={wait}&run={RUN.hex()}")
            writer.write(head(served, asked, seat="bob"))
            for _ in range(300):
                await asyncio.sleep(0.05)
                if served.server.connections <= 1:
                    break
            writer.transport.abort()
            assert served.server.connections <= 1

    asyncio.run(story())


def test_connections_are_counted_and_those_beyond_the_limit_are_not_served(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(connections_by_address=3)) as served:
            lines = [await served.line(name, retry_seconds=0.2) for name in ("a", "b", "c", "d")]
            for line in lines[:3]:
                await line.describe()
            with pytest.raises(AbsenceError):
                await lines[3].describe()
            await lines[0].close()
            lines[3].retry_seconds = 5.0
            assert await lines[3].describe()

    asyncio.run(story())


def test_strangers_make_room_for_others_and_seats_do_not(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(connections=4)) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            await asyncio.gather(alice.status(), bob.status())
            strangers = [await caller(served) for _ in range(6)]
            for reader, _ in strangers[:4]:
                await hung_up(reader)
            assert not strangers[5][0].at_eof()
            session = alice._session
            await asyncio.gather(alice.status(), bob.status())
            assert alice._session is session
            assert served.server.connections == 4
            for _, writer in strangers:
                writer.transport.abort()

    asyncio.run(story())


def test_an_address_that_calls_too_often_is_not_answered(tmp_path):
    async def story():
        async with served_mailbox(
            tmp_path, limits=Limits(arrivals=0.001, arrivals_burst=3)
        ) as served:
            alice = await served.line("alice")
            await alice.status()
            callers = [await caller(served) for _ in range(2)]
            with pytest.raises((ConnectionError, OSError)):
                await caller(served)
            await alice.status()
            for _, writer in callers:
                writer.transport.abort()

    asyncio.run(story())


def test_a_seat_that_asks_too_often_waits_and_others_do_not(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(rate=10, burst=5)) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            started = time.monotonic()
            for _ in range(7):
                await alice.status()
            assert time.monotonic() - started > 0.5
            bob.retry_seconds = 0.0
            await bob.status()

    asyncio.run(story())


def test_an_address_that_is_refused_too_often_is_no_longer_listened_to(tmp_path):
    async def story():
        limits = Limits(refusals=0.001, refusals_burst=5)
        async with served_mailbox(tmp_path, limits=limits) as served:
            kinds = []
            for _ in range(8):
                reader, writer = await caller(served)
                writer.write(b"GET /v1/study HTTP/1.1\r\nHost: a\r\nSottovoce-Protocol: 2\r\n\r\n")
                answer = await reader.read()
                writer.transport.abort()
                kinds.append(kind_of(answer))
                if kinds[-1] == "too-many":
                    assert b"Retry-After: " in answer
                    break
            assert kinds == ["unsigned"] * 4 + ["too-many"]
            # Whoever holds a seat is heard from the same address all the same.
            alice = await served.line("alice")
            assert await alice.status() == b"running"
            stranger = CoordinatorLine(
                served.address,
                fingerprint=served.fingerprint,
                study=STUDY,
                identity=identity_of("stranger"),
                retry_seconds=0.1,
            )
            async with stranger:
                with pytest.raises(AbsenceError, match="refused requests of one address"):
                    await stranger.enrol(b"please")

    asyncio.run(story())


def test_refusals_because_of_the_clock_count_too(tmp_path):
    """The attack: an old request, which anybody may have, was refused as often as it was sent."""

    async def story():
        limits = Limits(refusals=0.001, refusals_burst=5)
        async with served_mailbox(tmp_path, limits=limits) as served:
            alice = await served.line("alice")
            old = Signer(
                STUDY, identity_of("alice"), served.fingerprint, SeededEntropy(1), clock=lambda: 1e9
            )
            fields = old.headers(SignedRequest("GET", "/v1/status"))
            head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
            asked = f"GET /v1/status HTTP/1.1\r\nHost: a\r\nSottovoce-Protocol: 2\r\n{head}\r\n"
            kinds = []
            for _ in range(8):
                reader, writer = await caller(served)
                writer.write(asked.encode())
                answer = await reader.readuntil(b"}")
                writer.transport.abort()
                kinds.append(kind_of(answer))
            assert kinds == ["clock"] * 4 + ["too-many"] * 4
            assert await alice.status() == b"running"

    asyncio.run(story())


def test_a_body_that_was_refused_is_not_read_to_its_end(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            _, writer = await caller(served)
            size, sent = 2**28, 0
            head = f"POST /v1/enrol HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n"
            writer.write(f"{head}Sottovoce-Protocol: 2\r\n\r\n".encode())
            with suppress(ConnectionError):
                while sent < size:
                    writer.write(bytes(2**16))
                    await writer.drain()
                    # Else a writer hears of its connection's end only when it has to wait.
                    await asyncio.sleep(0)
                    sent += 2**16
            writer.transport.abort()
            # What the sockets of both sides hold is under way when the connection ends.
            assert sent < 2**26

    asyncio.run(asyncio.wait_for(story(), 400))


async def uploads_of(served, seat, count):
    """Connections that each begin a part of a long letter, whose body the server waits for."""
    await served.line(seat)
    await served.mailbox.take_up(seat, RUN, served.mailbox.held(seat))
    sealed = LetterSummary(Place(SESSION, seat, "bob", 0), 2 * PART, bytes(32))
    await served.mailbox.open_upload(sealed)
    place = f"session={SESSION.hex()}&to=bob&number=0"
    query = f"{place}&size={sealed.size}&digest={sealed.digest.hex()}"
    begun = []
    for offset in range(count):
        path = f"/v1/uploads?{query}&offset={offset}&run={RUN.hex()}"
        asked = SignedRequest("PATCH", path, sealed.digest)
        _, writer = await caller(served)
        writer.write(head(served, asked, seat=seat, Content_Length=str(PART)))
        begun.append(writer)
    return begun


def test_a_seat_that_begins_many_uploads_and_sends_nothing_locks_nobody_out(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            # Together they would have all memory for bodies, until the slowest of them is refused.
            held = await uploads_of(served, "mallory", 2 * Limits().in_memory // PART)
            for number, writer in enumerate(held):
                writer.write(bytes(PART // 2 if number % 2 else 1))
            async with asyncio.timeout(60):
                await alice.post(letter(0))
                await alice.post(letter(1, bytes(3 * PART)))
                assert [arrived.number for _, arrived in await bob.fetch()] == [0, 1]
            for writer in held:
                writer.transport.abort()

    asyncio.run(story())


def test_waiting_requests_of_one_seat_are_bounded(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(waiting=2)) as served:
            alice = await served.line("alice", retry_seconds=0.1)
            waits = [asyncio.create_task(alice.fetch(wait=3)) for _ in range(3)]
            done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_EXCEPTION)
            for wait in pending:
                wait.cancel()
            await asyncio.gather(*pending, return_exceptions=True)
            (refused,) = done
            with pytest.raises(AbsenceError, match="more than 2 waiting requests of one seat"):
                refused.result()

    asyncio.run(story())


def test_a_wait_whose_client_left_is_given_up(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as served:
            alice = await served.line("alice")
            wait = asyncio.create_task(alice.fetch(wait=20))
            while not served.mailbox._waiters["alice"]:  # noqa: ASYNC110 - over the line
                await asyncio.sleep(0.02)
            wait.cancel()
            await asyncio.gather(wait, return_exceptions=True)
            await alice.close()
            for _ in range(500):
                await asyncio.sleep(0.02)
                if not served.mailbox._waiters["alice"]:
                    break
            assert not served.mailbox._waiters["alice"]

    asyncio.run(story())


def test_a_bucket_fills_again_and_forgets_the_oldest_names():
    now = [0.0]
    buckets = Buckets(2, 4, names=3, clock=lambda: now[0])
    for _ in range(4):
        buckets.check("a", "requests")
        buckets.take("a")
    with pytest.raises(Refusal, match="more than 2 requests a second") as refused:
        buckets.check("a", "requests")
    assert refused.value.facts == {"retry_after": 1}
    now[0] = 0.5
    buckets.check("a", "requests")
    for name in "bcd":
        buckets.take(name)
    assert len(buckets._buckets) == 3
    buckets.take("b", 1000)
    assert buckets.level("b") == -4


def test_large_answers_count_as_several_requests(tmp_path):
    async def story():
        async with served_mailbox(tmp_path, limits=Limits(rate=0.5, burst=10)) as served:
            alice, bob = await served.line("alice"), await served.line("bob", retry_seconds=0.1)
            await alice.post(letter(0, bytes(2**20)))
            await bob.status()
            await bob.fetch()
            with pytest.raises(AbsenceError, match="requests of one seat"):
                await bob.status()

    asyncio.run(story())


def test_a_study_whose_disk_hangs_holds_up_no_other(tmp_path):
    async def story():
        async with served_mailbox(tmp_path) as here, Mailbox(tmp_path / "other.db") as other:
            here.callbacks.mailboxes["study-2"] = other
            slow = await here.line("alice")
            await here.line("bob")
            quick = await here.line("alice", study="study-2")
            await here.line("bob", study="study-2")
            disk = threading.Event()
            hanging = here.mailbox._committer.submit(lambda _: disk.wait())
            posting = asyncio.create_task(slow.post(letter()))
            for number in range(5):
                await asyncio.wait_for(quick.post(letter(number)), 60)
            assert not posting.done()
            disk.set()
            assert await asyncio.wait_for(posting, 60)
            assert await hanging

    asyncio.run(story())


def test_large_letters_of_a_study_whose_disk_hangs_hold_up_none_of_another(tmp_path):
    large = bytes(2**17)

    async def story():
        async with served_mailbox(tmp_path) as here, Mailbox(tmp_path / "other.db") as other:
            here.callbacks.mailboxes["study-2"] = other
            await here.line("bob")
            disk, write = threading.Event(), here.mailbox._bodies.write
            here.mailbox._bodies.write = lambda *part: disk.wait() and write(*part)
            # As many as there may be threads for all studies together.
            slow = [await here.line(f"seat {number}") for number in range(4)]
            posting = [
                asyncio.create_task(line.post(Letter(bytes([n]), line.seat, "bob", 0, large)))
                for line in slow
                for n in range(8)
            ]
            await asyncio.sleep(0.5)
            quick = await here.line("alice", study="study-2")
            await here.line("bob", study="study-2")
            try:
                await asyncio.wait_for(quick.post(letter(0, large)), 30)
                assert not any(post.done() for post in posting)
            finally:
                disk.set()
            await asyncio.wait_for(asyncio.gather(*posting), 60)

    asyncio.run(story())


def test_callers_without_a_handshake_keep_a_seat_waiting_for_a_second_at_most(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(connections, "_HANDSHAKES", 2)
    monkeypatch.setattr(connections, "_HANDSHAKE_SECONDS", 0.05)

    async def story():
        async with served_mailbox(tmp_path) as served:
            silent = [await caller(served, tls=False) for _ in range(9)]
            async with asyncio.timeout(20.0):
                line = await served.line("alice")
                await line.describe()
            for _, writer in silent:
                writer.close()

    asyncio.run(story())


def test_only_so_many_shake_hands_at_the_same_time(tmp_path, monkeypatch):
    monkeypatch.setattr(connections, "_HANDSHAKES", 2)
    monkeypatch.setattr(connections, "_HANDSHAKE_SECONDS", 60.0)
    welcome, at_once, most = connections.Server._welcome, 0, 0

    async def counted(self, *arguments):
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        try:
            await welcome(self, *arguments)
        finally:
            at_once -= 1

    monkeypatch.setattr(connections.Server, "_welcome", counted)

    async def story():
        async with served_mailbox(tmp_path) as served:
            callers = await asyncio.gather(*(caller(served) for _ in range(9)))
            for _, writer in callers:
                writer.close()

    asyncio.run(story())
    # The one that waits for its turn was already accepted.
    assert most == 3
