"""Nonsense at the port, bounded in time: no crash, no hang, memory bounded, problem documents."""

import asyncio
import gc
import json
import os
import random
import time
import tracemalloc
from asyncio.sslproto import SSLProtocol

import pytest

from harness.entropy import SeededEntropy
from harness.ports import STUDY, identity_of, served_mailbox
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.errors import MalformedError
from sottovoce.study.relay import Letter
from sottovoce.transport.answers import CODEC, Acknowledged, Fetched, Uploaded, WaitingLetter
from sottovoce.transport.certificates import client_context
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.limits import Limits
from sottovoce.transport.signing import PROTOCOL, SignedRequest, Signer, body_digest
from sottovoce.transport.versions import OFFER

SESSION = b"s" * 16
RUN = "ab" * 16
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "CONNECT", "BREW"]
METHODS += ["G\x00T"]
PATHS = [
    "/",
    "/v1/study",
    "/v1/status",
    "/v1/enrol",
    "/v1/invitation?study=study-1",
    "/v1/sent",
    f"/v1/run?run={RUN}&before=&letters=0&chain=" + "00" * 32,
    f"/v1/run?run={RUN}&before=00&letters=-1&chain=00",
    f"/v1/uploads?session=zz&to=bob&number=0&size=1&digest=00&run={RUN}",
    f"/v1/uploads?session=&to=&number=-1&size=1&digest=00&run={RUN}",
    "/v1/uploads?to=bob",
    "/v1/letters/1?offset=0",
    "/v1/letters/99999999999999999999?offset=0",
    "/v1/letters/%2e%2e%2f?offset=0",
    f"/v1/mailbox?after=0&wait=0&run={RUN}",
    f"/v1/mailbox?after=1e9&wait=nan&run={RUN}",
    f"/v1/mailbox?after=%00&wait=0&run={RUN}",
    f"/v1/acknowledge?position=999999999999999999&run={RUN}",
    f"/v1/uploads?session=00&to=bob&number=0&size=10&run={RUN}&digest=" + "00" * 32,
    f"/v1/uploads?session=00&to=bob&number=0&size=999999999999999999&run={RUN}&digest=" + "00" * 32,
    f"/v1/uploads?session=00&to=bob&number=0&size=10&digest=00&offset=0&run={RUN}",
    "//v1//study",
    "/v1/../../etc/passwd",
    "/v1/study?" + "a" * 5000,
    "*",
    "http://elsewhere/v1/study",
]
# Most requests use a method that the path has: those get further.
RIGHT = {
    "/v1/study": ["GET"],
    "/v1/status": ["GET"],
    "/v1/enrol": ["POST"],
    "/v1/invitation": ["POST"],
    "/v1/sent": ["GET"],
    "/v1/run": ["PUT"],
    "/v1/mailbox": ["GET"],
    "/v1/acknowledge": ["POST"],
    "/v1/lost": ["POST"],
    "/v1/uploads": ["PUT", "PATCH"],
    "/v1/letters/1": ["GET"],
}
# Long polls would be answered only after their wait: they are no nonsense.
FIELDS = [
    ("Content-Length", "-1"),
    ("Content-Length", "99999999999"),
    ("Content-Length", "5, 6"),
    ("Transfer-Encoding", "chunked"),
    ("Transfer-Encoding", "chunked, chunked"),
    ("Transfer-Encoding", "gzip"),
    ("Content-Encoding", "gzip"),
    ("Content-Encoding", "deflate"),
    ("Expect", "100-continue"),
    ("Expect", "nothing"),
    ("Upgrade", "websocket"),
    ("Connection", "close"),
    ("Host", ""),
    ("Cookie", "a=" + "b" * 3000),
    ("Sottovoce-Protocol", "1, 1, 1"),
    ("Sottovoce-Moment", "9" * 40),
    ("Sottovoce-Seat", "%00%ff"),
    ("Range", "bytes=0-99999999"),
    ("x" * 9000, "y"),
    ("x", "y" * 9000),
    ("x\x00y", "z"),
    ("x", "a\x0bb"),
]
BODIES = [
    b"",
    b"x",
    b"\x92\xa6posted\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xc1" * 50,
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5\r\nhel",
    b"ffffffffffffffff\r\nx",
    b"zz\r\n\r\n",
    b"\x1f\x8b\x08\x00\x00\x00\x00\x00",
    os.urandom(3000),
]


class Nonsense:
    """Requests of every shape, some of them signed."""

    def __init__(self, fingerprint, seed):
        self.chance = random.Random(seed)
        self.signer = Signer(STUDY, identity_of("alice"), fingerprint, SeededEntropy(seed))

    def request(self):
        chance = self.chance
        if chance.random() < 0.1:
            return chance.randbytes(chance.randrange(1, 400)) + b"\r\n\r\n"
        method, path = chance.choice(METHODS), chance.choice(PATHS)
        if chance.random() < 0.7:
            method = chance.choice(RIGHT.get(path.partition("?")[0], METHODS))
        body = chance.choice(BODIES)
        fields = [("Host", "a"), (PROTOCOL, OFFER)]
        if chance.random() < 0.7:
            asked = SignedRequest(method, path, body_digest(body))
            fields += list(self.signer.headers(asked).items())
        if chance.random() < 0.5:
            fields += [("Content-Length", str(len(body)))]
        fields += chance.choices(FIELDS, k=chance.choice([0, 0, 0, 0, 1, 2]))
        chance.shuffle(fields)
        text = f"{method} {path} HTTP/1.{chance.choice('1110')}\r\n"
        text += "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
        data = text.encode("latin-1") + body
        return self.spoiled(data) if chance.random() < 0.3 else data

    def spoiled(self, data):
        chance = self.chance
        place = chance.randrange(len(data))
        match chance.randrange(3):
            case 0:
                return data[:place]
            case 1:
                return data[:place] + chance.randbytes(1) + data[place + 1 :]
            case _:
                return data[:place] + data[place // 2 : place] + data[place:]


async def throw(served, data):
    """Say something, and read whatever comes back until the server hangs up."""
    context = client_context(served.fingerprint)
    reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)
    try:
        writer.write(data)
        return await asyncio.wait_for(reader.read(), 20)
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


def check(answer):
    """Every answer that came is one of ours, whatever was asked; the statuses."""
    statuses = []
    while answer.startswith(b"HTTP/1."):
        head, _, answer = answer.partition(b"\r\n\r\n")
        status, fields = int(head.split()[1]), head.lower()
        if status == 100:
            continue
        size = int(fields.split(b"content-length: ")[1].split(b"\r\n")[0])
        body, answer = answer[:size], answer[size:]
        statuses.append(status)
        assert status < 500, body
        if status >= 400 and body:
            assert b"content-type: application/problem+json" in fields
            parsed = json.loads(body)
            assert parsed["status"] == status
            assert parsed["type"].startswith("urn:sottovoce:problem:")
    return statuses


def fuzz(tmp_path, *, seed, seconds, at_most):
    limits = Limits(headers=0.5, idle=0.5, slowest=10**9, refusals=10**6, refusals_burst=10**6)

    async def story():
        async with served_mailbox(tmp_path, limits=limits) as served:
            alice, bob = await served.line("alice"), await served.line("bob")
            nonsense = Nonsense(served.fingerprint, seed)
            statuses, started = [], time.monotonic()
            tracemalloc.start()
            try:
                while len(statuses) < at_most and time.monotonic() - started < seconds:
                    thrown = [throw(served, nonsense.request()) for _ in range(20)]
                    for answer in await asyncio.gather(*thrown):
                        statuses += check(answer) or [0]
                gc.collect()
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
            assert await alice.post(Letter(SESSION, "alice", "bob", 0, b"after"))
            assert (await bob.fetch())[-1][1].body == b"after"
            return statuses, peak

    statuses, peak = asyncio.run(story())
    assert peak < 60 * 2**20
    assert {200, 400, 401, 404, 405, 413} <= set(statuses)
    assert statuses.count(0) < len(statuses) / 2
    return statuses


def test_nonsense_at_the_port(tmp_path):
    assert len(fuzz(tmp_path, seed=1, seconds=30, at_most=240)) > 60


@pytest.mark.parametrize("name", [b"Expect", b"Content-Encoding", b"Upgrade", b"Cookie"])
def test_headers_that_are_no_text_are_the_caller_s_mistake(tmp_path, name):
    async def story():
        async with served_mailbox(tmp_path) as served:
            head = b"PUT /v1/uploads HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
            return check(await throw(served, head + name + b": a\xff\r\n\r\n"))

    assert asyncio.run(story()) == [400]


@pytest.mark.parametrize("waits", [True, False], ids=["reads the answer", "hangs up at once"])
def test_a_connection_that_said_nonsense_is_freed_without_the_collector(tmp_path, waits):
    """Its buffers have 256 KB, and the collector comes the later the more the server holds."""

    async def say(served):
        context = client_context(served.fingerprint)
        reader, writer = await asyncio.open_connection("127.0.0.1", served.server.port, ssl=context)
        writer.write(b"no HTTP at all\r\n\r\n")
        if waits:
            await reader.read()
        writer.transport.abort()

    async def story():
        async with served_mailbox(tmp_path) as served:
            await asyncio.gather(*(say(served) for _ in range(20)))
            for _ in range(100):
                await asyncio.sleep(0.05)
                if not served.server.connections:
                    break
            # Tasks of the last connection may still have their last turn.
            await asyncio.sleep(0.1)
            assert not served.server.connections
            return sum(isinstance(each, SSLProtocol) for each in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        assert asyncio.run(story()) == 0
    finally:
        gc.enable()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 8))
def test_nonsense_at_the_port_for_minutes(tmp_path, seed):
    assert len(fuzz(tmp_path, seed=seed, seconds=120, at_most=10**9)) > 1000


def test_nonsense_in_tls_itself(tmp_path):
    """Bytes before and inside the handshake."""
    chance = random.Random(3)

    async def one(port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            start = chance.choice([b"", b"\x16\x03\x01", b"GET ", b"\x16\x03\x03\x40\x00", b"SSH-"])
            writer.write(start + chance.randbytes(chance.randrange(1, 2000)))
            writer.write_eof()
            await asyncio.wait_for(reader.read(), 10)
        except ConnectionError:
            pass
        finally:
            writer.transport.abort()

    async def story():
        async with served_mailbox(tmp_path, limits=Limits(handshake=1.0)) as served:
            for _ in range(5):
                await asyncio.gather(*(one(served.server.port) for _ in range(20)))
            alice = await served.line("alice")
            assert await alice.status() == b"running"
            for _ in range(100):
                await asyncio.sleep(0.05)
                if served.server.connections == 1:
                    break
            assert served.server.connections == 1

    asyncio.run(story())


VALUES = [
    Uploaded(2**40, 0),
    Acknowledged(0),
    HeldLetters(3, bytes(range(32))),
    Fetched((WaitingLetter(1, SESSION, "alice", 0, 4, bytes(32), b"body"),) * 3),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_answers_have_one_encoding_and_every_spoiled_byte_is_noticed(value):
    data = CODEC.encode(value)
    assert CODEC.decode(data, type(value)) == value
    chance = random.Random(1)
    for _ in range(300):
        place = chance.randrange(len(data))
        spoiled = chance.choice(
            [
                data[:place],
                data + chance.randbytes(3),
                data[:place]
                + bytes([data[place] ^ (1 << chance.randrange(8))])
                + data[place + 1 :],
            ]
        )
        try:
            read = CODEC.decode(spoiled, type(value))
        except MalformedError:
            continue
        assert CODEC.encode(read) == spoiled


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"type": 3}',
        b'{"type": "a", "hints": 5}',
        b"\xff",
        b"[" * 5000,
    ],
)
def test_foreign_problem_documents_are_read_without_harm(data):
    problem = Refusal.read(418, data)
    assert problem.status == 418
    assert isinstance(problem.detail, str)


def test_a_problem_document_tells_what_was_put_in():
    problem = Refusal(409, "gap", "expected letter 0", hints=("wait",), facts={"expected": 0})
    read = Refusal.read(409, problem.document())
    assert (read.kind, read.detail, read.hints, read.facts) == (
        "gap",
        "expected letter 0",
        ("wait",),
        {"expected": 0},
    )


def test_what_a_problem_document_says_is_fit_for_a_terminal():
    content = {"type": "x\x1b[2J", "detail": "\x1b[31mred" + "a" * 10_000, "hints": ["\r\n"] * 100}
    problem = Refusal.read(400, json.dumps(content).encode())
    assert (problem.kind, problem.detail[:8], len(problem.detail)) == ("x?[2J", "?[31mred", 1000)
    assert problem.hints == ("??",) * 8
