"""The counter of the post office: every request is checked here before the mailbox sees it."""

import asyncio
import hashlib
import logging
from collections import Counter as Count
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from io import BytesIO

from aiohttp import web
from aiohttp.web_exceptions import HTTPException

from sottovoce.errors import InputError, TheirError
from sottovoce.transport.answers import (
    CODEC,
    CONTENT_TYPE,
    Acknowledged,
    Fetched,
    Posted,
    Uploaded,
    Waiting,
)
from sottovoce.transport.front_desk import FrontDesk
from sottovoce.transport.limits import LONGEST_WAIT, PART, Buckets, Limits
from sottovoce.transport.mailbox import Delivered
from sottovoce.transport.memory import Held, Memory
from sottovoce.transport.porters import Porter, problem_answer
from sottovoce.transport.problems import Problem
from sottovoce.transport.queries import (
    LETTER_FIELDS,
    UPLOAD_FIELDS,
    fields_of,
    number_of,
    place_of,
    sealed_of,
)
from sottovoce.transport.signing import (
    PROTOCOL,
    TIME,
    Asked,
    Bouncer,
    read_digest,
    read_key,
    read_signed,
)
from sottovoce.transport.store import Progress, Sealed
from sottovoce.transport.versions import OFFER, choose_version
from sottovoce.wire import Value

# Bodies that are no letters: tokens, keys, consents.
_SMALL = 16 * 1024
# Bodies that take less memory than the connection they come over.
_TINY = 64 * 1024
_PLAIN = "application/octet-stream"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger("sottovoce.transport")


@dataclass(frozen=True)
class Caller:
    """Who made a request, as its signature proves, and what its body must be."""

    study: str
    seat: str
    digest: bytes


class Counter:
    """Checks requests, reads bodies within limits, and asks the desk or the mailbox."""

    def __init__(self, desk: FrontDesk, fingerprint: bytes, limits: Limits) -> None:
        """Serve `desk` behind the certificate of this fingerprint."""
        self.limits = limits
        self._desk = desk
        self._bouncer = Bouncer(fingerprint)
        self._seats = Buckets(limits.rate, limits.burst)
        self._addresses = Buckets(limits.refusals, limits.refusals_burst)
        self._memory = Memory(limits.in_memory)
        self._strangers = Memory(limits.strangers)
        self._polls: Count[tuple[str, str]] = Count()

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer whatever happens, and count refusals against the address they went to."""
        porter = request.protocol
        if isinstance(porter, Porter):
            porter.begin_request()
        try:
            answer = await self._answered(request, handler)
        finally:
            if isinstance(porter, Porter):
                porter.end_request()
        answer.headers[PROTOCOL] = OFFER
        answer.headers[TIME] = str(self._bouncer.now())
        return answer

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            choose_version(request.headers.get(PROTOCOL))
            return await handler(request)
        except Problem as problem:
            return self._refuse(request, problem)
        except (InputError, TheirError) as error:
            return self._refuse(request, Problem(403, "refused", str(error), hints=error.hints))
        except HTTPException as error:
            detail = f"{request.method}: {error.reason.lower()}"
            return self._refuse(request, Problem(error.status, "no-such-thing", detail))
        except ConnectionError:
            raise
        except Exception as error:  # noqa: BLE001 - a server goes on
            # The kind of the error, and never its words: they may carry content, or paths.
            _log.error("request failed: %s", type(error).__name__)
            return self._refuse(request, Problem(500, "failure", "the server failed at this"))

    async def invitation(self, request: web.Request) -> web.Response:
        """What an invitation is for; the token proves itself, so nobody signs."""
        self._check_stranger(request)
        fields = fields_of(request.query, "study")
        async with self._held(request, _SMALL, self._strangers):
            token = await self._body(request, _SMALL, None)
        return _plain(await self._desk.invitation(fields["study"], token))

    async def enrol(self, request: web.Request) -> web.Response:
        """Take a seat: signed by the key that will be the seat's."""
        self._check_stranger(request)
        key = read_key(request.headers)
        caller = self._signed(request, key)
        async with self._held(request, _SMALL, self._strangers):
            body = await self._body(request, _SMALL, caller.digest)
        return _plain(await self._desk.enrol(caller.study, caller.seat, key, body))

    async def describe(self, request: web.Request) -> web.Response:
        """The study's description."""
        caller = await self._empty(request)
        return _plain(await self._desk.describe(caller.study, caller.seat))

    async def status(self, request: web.Request) -> web.Response:
        """How far the study is."""
        caller = await self._empty(request)
        return _plain(await self._desk.status(caller.study, caller.seat))

    async def post(self, request: web.Request) -> web.Response:
        """Post a letter that is whole."""
        caller = self._seated(request)
        place = place_of(fields_of(request.query, *LETTER_FIELDS), sender=caller.seat)
        self._check_recipient(caller, place.recipient)
        async with self._held(request, PART, self._memory) as held:
            body = await self._body(request, PART, caller.digest)
            letter = Sealed(place, len(body), caller.digest)
            position = await held.until(self._desk.mailbox(caller.study).put(letter, body))
        return _told(Posted(position))

    async def begin(self, request: web.Request) -> web.Response:
        """Begin a long letter, or ask how far it came."""
        caller = await self._empty(request)
        letter = sealed_of(fields_of(request.query, *UPLOAD_FIELDS), sender=caller.seat)
        self._check_recipient(caller, letter.place.recipient)
        return _progress(await self._desk.mailbox(caller.study).open_upload(letter))

    async def append(self, request: web.Request) -> web.Response:
        """The next part of a long letter."""
        caller = self._seated(request)
        fields = fields_of(request.query, *UPLOAD_FIELDS, "offset")
        letter = sealed_of(fields, sender=caller.seat)
        self._check_recipient(caller, letter.place.recipient)
        start = number_of(fields, "offset")
        async with self._held(request, PART, self._memory) as held:
            body = await self._body(request, PART, caller.digest)
            mailbox = self._desk.mailbox(caller.study)
            progress = await held.until(mailbox.append(letter, start, body))
        return _progress(progress)

    async def fetch(self, request: web.Request) -> web.Response:
        """Letters behind a position; waits for the first of them."""
        caller = await self._empty(request)
        fields = fields_of(request.query, "after", "wait")
        after, wait = number_of(fields, "after"), number_of(fields, "wait") / 1000
        mailbox = self._desk.mailbox(caller.study)
        with self._polling(caller):
            found = await mailbox.fetch(caller.seat, after=after, wait=min(wait, LONGEST_WAIT))
        self._charge(caller, sum(len(one.body or b"") for one in found))
        return _told(Fetched(tuple(map(_waiting, found))))

    async def piece(self, request: web.Request) -> web.Response:
        """Bytes of a long letter."""
        caller = await self._empty(request)
        start = number_of(fields_of(request.query, "offset"), "offset")
        position = number_of(request.match_info, "position")
        data = self._desk.mailbox(caller.study).piece(caller.seat, position, start)
        self._charge(caller, len(data))
        return _plain(data)

    async def acknowledge(self, request: web.Request) -> web.Response:
        """What was taken: its bodies may go."""
        caller = await self._empty(request)
        position = number_of(fields_of(request.query, "position"), "position")
        # A crash that loses this keeps a body longer, so the answer need not wait for the disk.
        done = self._desk.mailbox(caller.study).acknowledge(caller.seat, position)
        done.add_done_callback(_look)
        return _told(Acknowledged(position))

    def _check_stranger(self, request: web.Request) -> None:
        """Whoever has no seat yet has few tries."""
        self._addresses.check(request.remote or "", "refused requests of one address")

    def _seated(self, request: web.Request) -> Caller:
        """The seat that signed this request."""
        signed = read_signed(request.headers)
        public = self._desk.identity_of(signed.study, signed.seat)
        if public is None:
            raise Problem(
                403,
                "no-seat",
                f"no seat {signed.seat!r} in a study {signed.study!r} at this server",
                hints=("join with an invitation of this study",),
            )
        caller = self._signed(request, public)
        if isinstance(request.protocol, Porter):
            request.protocol.known()
        self._desk.seen(caller.study, caller.seat)
        self._seats.check((caller.study, caller.seat), "requests of one seat")
        self._seats.take((caller.study, caller.seat))
        return caller

    def _charge(self, caller: Caller, size: int) -> None:
        """Large answers count as several requests."""
        self._seats.take((caller.study, caller.seat), size / _TINY)

    def _signed(self, request: web.Request, public: bytes) -> Caller:
        signed, digest = read_signed(request.headers), read_digest(request.headers)
        asked = Asked(request.method, request.raw_path, digest)
        self._bouncer.check(asked, signed, public)
        return Caller(signed.study, signed.seat, digest)

    async def _empty(self, request: web.Request) -> Caller:
        """Who made a request that has no body."""
        caller = self._seated(request)
        await self._body(request, 0, caller.digest)
        return caller

    async def _body(self, request: web.Request, limit: int, digest: bytes | None) -> bytes:
        """A body of at most `limit` bytes with this digest, in time."""
        if request.content_length is not None and request.content_length > limit:
            raise _too_large(limit, request.content_length)
        if not request.can_read_body:
            body = b""
        else:
            allowed = self.limits.headers + limit / self.limits.slowest
            try:
                async with asyncio.timeout(allowed):
                    body = await _read(request, limit)
            except TimeoutError:
                raise Problem(
                    408, "slow", f"expected the body within {allowed:.0f} s, found less of it"
                ) from None
            except web.RequestPayloadError:
                raise Problem(400, "body", "the body ends before its end, or is no body") from None
        if digest is not None and hashlib.sha256(body).digest() != digest:
            raise Problem(400, "digest", "the body is not the one of its digest")
        return body

    @asynccontextmanager
    async def _held(self, request: web.Request, limit: int, memory: Memory) -> AsyncIterator[Held]:
        """Room in memory for the body of a request: others wait until there is some."""
        size = min(request.content_length if request.content_length is not None else limit, limit)
        if size <= _TINY and memory is self._memory:
            # A trip of a solve does not stand in line behind contributions.
            size = 0
        await memory.take(size)
        held = Held(memory, size)
        try:
            yield held
        finally:
            held.leave()

    @contextmanager
    def _polling(self, caller: Caller) -> Iterator[None]:
        name = (caller.study, caller.seat)
        if self._polls[name] >= self.limits.waiting:
            raise Problem(
                429,
                "too-many",
                f"expected at most {self.limits.waiting} waiting requests of one seat, found more",
                facts={"retry_after": 1},
            )
        self._polls[name] += 1
        try:
            yield
        finally:
            self._polls[name] -= 1
            if not self._polls[name]:
                del self._polls[name]

    def _check_recipient(self, caller: Caller, recipient: str) -> None:
        if not self._desk.takes_letters(caller.study, recipient):
            raise Problem(404, "no-recipient", f"no seat {recipient!r} takes letters in this study")

    def _refuse(self, request: web.Request, problem: Problem) -> web.Response:
        """The answer to a refused request; a stranger hears less after too many."""
        # Requests of one connection come one after the other, and from one caller.
        seated = isinstance(request.protocol, Porter) and request.protocol.is_known
        if not seated and problem.kind != "clock":
            address = request.remote or ""
            self._addresses.take(address)
            try:
                self._check_stranger(request)
            except Problem as enough:
                problem = enough
        answer = problem_answer(problem)
        if not (seated or problem.kind == "clock") or problem.status in {408, 413, 429}:
            # What is left of the body is not worth reading, nor is a stranger's connection kept.
            answer.force_close()
        return answer


async def _read(request: web.Request, limit: int) -> bytes:
    buffer = BytesIO()
    async for chunk in request.content.iter_any():
        if buffer.tell() + len(chunk) > limit:
            raise _too_large(limit, buffer.tell() + len(chunk))
        buffer.write(chunk)
    return buffer.getvalue()


def _too_large(limit: int, found: int) -> Problem:
    return Problem(
        413, "too-large", f"expected a body of at most {limit} bytes, found {found} or more"
    )


def _waiting(found: Delivered) -> Waiting:
    letter = found.letter
    place = letter.place
    return Waiting(
        found.position,
        place.session,
        place.sender,
        place.number,
        letter.size,
        letter.digest,
        found.body or b"",
    )


def _progress(progress: Progress) -> web.Response:
    return _told(Uploaded(progress.received, progress.position or 0))


def _told(value: Value) -> web.Response:
    return web.Response(body=CODEC.encode(value), content_type=CONTENT_TYPE)


def _plain(data: bytes) -> web.Response:
    return web.Response(body=data, content_type=_PLAIN)


def _look(done: "asyncio.Future[None]") -> None:
    """Look at what became of it: the next commit will meet the same trouble, and tell."""
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.error("acknowledgement not stored: %s", type(error).__name__)
