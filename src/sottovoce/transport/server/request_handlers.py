"""Handles each request of the server; all are checked before the mailbox sees them."""

import asyncio
import logging
import time
from collections import Counter as Count
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web
from aiohttp.web_exceptions import HTTPException

from sottovoce.errors import FullDiskError, InputError, LostSeatError, TheirError
from sottovoce.transport.answers import (
    CODEC,
    CONTENT_TYPE,
    Acknowledged,
    Fetched,
    Uploaded,
    WaitingLetter,
)
from sottovoce.transport.letter_pages import CONTENT_TYPE as PAGES_TYPE
from sottovoce.transport.letter_pages import page_of
from sottovoce.transport.mailbox.mailbox import Delivered, Mailbox
from sottovoce.transport.mailbox.mailbox_tables import LetterSummary, Progress
from sottovoce.transport.problems import DISK_FULL, Refusal
from sottovoce.transport.requests import ask_for_body
from sottovoce.transport.server.bodies import TINY, BodyReader
from sottovoce.transport.server.connection_limits import LimitedConnection, problem_answer
from sottovoce.transport.server.limits import LONGEST_WAIT, PART, Buckets, Limits
from sottovoce.transport.server.queries import (
    UPLOAD_FIELDS,
    fields_of,
    held_of,
    number_of,
    run_of,
    sealed_of,
)
from sottovoce.transport.server.server_callbacks import ServerCallbacks
from sottovoce.transport.signing import (
    HELD,
    PROTOCOL,
    TIME,
    SignatureChecks,
    SignedRequest,
    read_digest,
    read_key,
    read_signed,
)
from sottovoce.transport.versions import OFFER, choose_version, program_version, speaks_pages
from sottovoce.wire import Value

_PLAIN = "application/octet-stream"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_log = logging.getLogger("sottovoce.transport")
_WARN_SECONDS = 60.0


@dataclass(frozen=True)
class Caller:
    """The authenticated caller of a request, and the digest of its body."""

    study: str
    seat: str
    digest: bytes

    @property
    def name(self) -> tuple[str, str]:
        """The study and the seat, under which requests of one caller are counted."""
        return (self.study, self.seat)


@dataclass(frozen=True)
class _Recipient:
    """What a recipient reads: letters behind a position, for some seconds."""

    mailbox: Mailbox
    run: bytes = field(repr=False)
    after: int
    wait: float


class RequestHandlers:
    """Checks requests, reads bodies within limits, and asks the callbacks or the mailbox."""

    def __init__(self, callbacks: ServerCallbacks, fingerprint: bytes, limits: Limits) -> None:
        """Serve `callbacks` behind the certificate of this fingerprint."""
        self.limits = limits
        self._callbacks = callbacks
        self._bouncer = SignatureChecks(fingerprint)
        self._seats = Buckets(limits.rate, limits.burst)
        self._addresses = Buckets(limits.refusals, limits.refusals_burst)
        self._bodies = BodyReader(limits)
        self._polls: dict[tuple[str, str], Count[bytes]] = {}
        self._warn_after = 0.0

    @web.middleware
    async def guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer in every case, and count refusals against the caller's address."""
        connection = request.protocol
        if isinstance(connection, LimitedConnection):
            connection.begin_request()
        try:
            answer = await self._answered(request, handler)
        finally:
            if isinstance(connection, LimitedConnection):
                connection.end_request()
        answer.headers[PROTOCOL] = OFFER
        answer.headers[TIME] = str(self._bouncer.now())
        return answer

    async def _answered(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            choose_version(request.headers.get(PROTOCOL))
            return await handler(request)
        except Refusal as problem:
            return self._refuse(request, problem)
        except (InputError, TheirError) as error:
            answer = Refusal(403, "refused", str(error), hints=error.hints)
            if isinstance(error, LostSeatError):
                answer = Refusal(403, "seat-lost", str(error), hints=error.hints)
            return self._refuse(request, answer)
        except HTTPException as error:
            detail = f"{request.method}: {error.reason.lower()}"
            return self._refuse(request, Refusal(error.status, "no-such-thing", detail))
        except ConnectionError:
            raise
        except FullDiskError:
            detail = "the coordinator's disk is full, and nothing was stored"
            return self._refuse(request, Refusal(507, DISK_FULL, detail))
        except Exception as error:  # noqa: BLE001 - a server continues
            # The kind of the error, never its message, which may hold content or paths.
            _log.error("request failed: %s", type(error).__name__)
            if request.writer.output_size > 0:
                # Pages were sent already: nothing but the connection's end can say it.
                raise ConnectionError("an answer was already begun") from None
            return self._refuse(request, Refusal(500, "failure", "the server failed"))

    async def invitation(self, request: web.Request) -> web.Response:
        """The study of an invitation; the token is the proof, so no signature is needed."""
        self._check_stranger(request)
        fields = fields_of(request.query, "study")
        token = await self._bodies.of_stranger(request, None)
        return _plain(await self._callbacks.invitation(fields["study"], token))

    async def enrol(self, request: web.Request) -> web.Response:
        """Take a seat; signed by the seat's new key."""
        self._check_stranger(request)
        key = read_key(request.headers)
        caller = self._signed(request, key)
        body = await self._bodies.of_stranger(request, caller.digest)
        return _plain(await self._callbacks.enrol(caller.study, caller.seat, key, body))

    async def describe(self, request: web.Request) -> web.Response:
        """The study's description."""
        caller = await self._empty(request)
        return _plain(await self._callbacks.describe(caller.study, caller.seat))

    async def status(self, request: web.Request) -> web.Response:
        """The study's status."""
        caller = await self._empty(request)
        return _plain(await self._callbacks.status(caller.study, caller.seat))

    async def sent(self, request: web.Request) -> web.Response:
        """The letters that this seat announced."""
        caller = await self._empty(request)
        return _told(self._callbacks.mailbox(caller.study).held(caller.seat))

    async def lose(self, request: web.Request) -> web.Response:
        """This seat cannot continue, and cannot write a letter about it."""
        caller = await self._empty(request)
        await self._callbacks.lose(caller.study, caller.seat)
        return _plain(b"")

    async def take_up(self, request: web.Request) -> web.Response:
        """Take this seat up; an earlier process loses it."""
        caller = await self._empty(request)
        fields = fields_of(request.query, "run", "before", "letters", "chain")
        run, before = run_of(fields), run_of(fields, "before")
        held = held_of(fields)
        if self._polls.get(caller.name, Count()).keys() - {run, before}:
            raise Refusal(
                409,
                "at-work",
                f"seat {caller.seat!r}: another process works at it, and is connected now",
            )
        await self._callbacks.mailbox(caller.study).take_up(caller.seat, run, held)
        return _told(held)

    async def begin(self, request: web.Request) -> web.Response:
        """Announce a letter, or ask for its progress."""
        caller = await self._empty(request)
        fields = fields_of(request.query, *UPLOAD_FIELDS, "run")
        letter = sealed_of(fields, sender=caller.seat)
        self._check_recipient(caller, letter.place.recipient)
        mailbox = self._callbacks.mailbox(caller.study)
        return _progress(await mailbox.announced(letter, run=run_of(fields)))

    async def post(self, request: web.Request) -> web.Response:
        """Take a letter in one request: its body is asked for once its announcement is on disk."""
        caller = self._seated(request)
        fields = fields_of(request.query, *UPLOAD_FIELDS, "run")
        letter = sealed_of(fields, sender=caller.seat)
        self._check_recipient(caller, letter.place.recipient)
        _check_waits(request, letter, caller.digest)
        mailbox = self._callbacks.mailbox(caller.study)
        progress = await mailbox.announced(letter, run=run_of(fields))
        if progress.position is None:
            async with self._bodies.memory(request, PART, caller.name) as held:
                await ask_for_body(request)
                # Its digest is the letter's, which is checked where it is stored.
                storing = mailbox.complete(letter, await self._bodies.read(request, PART, None))
                # What a small letter holds is not counted: it may end with its request.
                progress = await (held.until(storing) if letter.size > TINY else storing)
        elif isinstance(request.protocol, LimitedConnection):
            request.protocol.leave_unread()
        return _progress(progress)

    async def append(self, request: web.Request) -> web.Response:
        """The next part of an announced letter, or all of a short one."""
        caller = self._seated(request)
        fields = fields_of(request.query, *UPLOAD_FIELDS, "offset", "run")
        letter = sealed_of(fields, sender=caller.seat)
        self._check_recipient(caller, letter.place.recipient)
        start, mailbox = number_of(fields, "offset"), self._callbacks.mailbox(caller.study)
        mailbox.check_run(caller.seat, run_of(fields))
        mailbox.check_announced(letter)
        # A part that is signed with the letter's digest is checked with the whole letter.
        digest = None if caller.digest == letter.digest else caller.digest
        async with self._bodies.memory(request, PART, caller.name) as held:
            body = await self._bodies.read(request, PART, digest)
            progress = await held.until(mailbox.append(letter, start, body))
        return _progress(progress)

    async def fetch(self, request: web.Request) -> web.StreamResponse:
        """Letters after a position; waits for the first."""
        caller = await self._empty(request)
        fields = fields_of(request.query, "after", "wait", "run")
        after, wait = number_of(fields, "after"), number_of(fields, "wait") / 1000
        mailbox, run = self._callbacks.mailbox(caller.study), run_of(fields)
        mailbox.check_run(caller.seat, run)
        mailbox.check_position(after)
        wait = min(wait, LONGEST_WAIT)
        with self._polling(caller, run):
            if wait and speaks_pages(request.headers.get(PROTOCOL)):
                return await self._pages(request, caller, _Recipient(mailbox, run, after, wait))
            letters = await mailbox.fetch(caller.seat, after=after, wait=wait)
        answer = _told(self._charged(caller, letters))
        answer.headers[HELD] = str(int(mailbox.held_back()))
        return answer

    async def _pages(
        self, request: web.Request, caller: Caller, reading: "_Recipient"
    ) -> web.StreamResponse:
        """Pages of letters as they come, until the time to wait is over."""
        loop, after = asyncio.get_running_loop(), reading.after
        until = loop.time() + reading.wait
        answer = await self._begun(request, PAGES_TYPE)
        await answer.write(page_of(b"", int(reading.mailbox.held_back())))
        letters: tuple[Delivered, ...] | None = None
        while letters is None or letters:
            letters = ()
            # A refusal cannot be told in the middle of an answer: the next request hears it.
            with suppress(Refusal):
                reading.mailbox.check_run(caller.seat, reading.run)
                left = max(0.0, until - loop.time())
                letters = await reading.mailbox.fetch(caller.seat, after=after, wait=left)
            after = letters[-1].position if letters else after
            content = CODEC.encode(self._charged(caller, letters))
            page = page_of(content, int(reading.mailbox.held_back()))
            await self._write(answer, page)
        await answer.write_eof()
        return answer

    def _charged(self, caller: Caller, letters: tuple[Delivered, ...]) -> Fetched:
        """Letters to tell; large ones count as several requests."""
        self._charge(caller, sum(len(letter.body or b"") for letter in letters))
        return Fetched(tuple(map(_waiting, letters)))

    async def _begun(
        self, request: web.Request, content_type: str, length: int | None = None
    ) -> web.StreamResponse:
        """An answer that is written in slices."""
        answer = web.StreamResponse(
            headers={PROTOCOL: OFFER, TIME: str(self._bouncer.now()), "Content-Type": content_type}
        )
        answer.content_length = length
        await answer.prepare(request)
        return answer

    async def _write(self, answer: web.StreamResponse, data: bytes) -> None:
        """Write in slices: of what a connection encrypts at once, it keeps the memory for good."""
        view = memoryview(data)
        try:
            async with asyncio.timeout(self.limits.idle):
                for start in range(0, len(view), TINY):
                    await answer.write(view[start : start + TINY])
        except TimeoutError:
            raise ConnectionError("the answer is not read") from None

    async def piece(self, request: web.Request) -> web.StreamResponse:
        """Bytes of a long letter."""
        caller = await self._empty(request)
        start = number_of(fields_of(request.query, "offset"), "offset")
        position = number_of(request.match_info, "position")
        data = self._callbacks.mailbox(caller.study).piece(caller.seat, position, start)
        self._charge(caller, len(data))
        answer = await self._begun(request, _PLAIN, len(data))
        await self._write(answer, data)
        await answer.write_eof()
        return answer

    async def acknowledge(self, request: web.Request) -> web.Response:
        """Drop the bodies of letters that were taken."""
        caller = await self._empty(request)
        fields = fields_of(request.query, "position", "run")
        position, mailbox = number_of(fields, "position"), self._callbacks.mailbox(caller.study)
        mailbox.check_run(caller.seat, run_of(fields))
        # If a crash loses this, a body stays longer, so the answer need not wait for the disk.
        done = mailbox.acknowledge(caller.seat, position)
        done.add_done_callback(_look)
        return _told(Acknowledged(position))

    def _check_stranger(self, request: web.Request) -> None:
        """Limit the requests of a caller without a seat."""
        self._addresses.check(request.remote or "", "refused requests of one address")

    def _seated(self, request: web.Request) -> Caller:
        """The seat that signed this request."""
        signed = read_signed(request.headers)
        public = self._callbacks.identity_of(signed.study, signed.seat)
        if public is None:
            raise Refusal(
                403,
                "no-seat",
                f"no seat {signed.seat!r} in a study {signed.study!r} at this server",
                hints=("join with an invitation of this study",),
            )
        caller = self._signed(request, public)
        if isinstance(request.protocol, LimitedConnection):
            request.protocol.known()
        self._callbacks.seen(
            caller.study, caller.seat, program_version(request.headers.get("User-Agent"))
        )
        self._seats.check(caller.name, "requests of one seat")
        self._seats.take(caller.name)
        return caller

    def _charge(self, caller: Caller, size: int) -> None:
        """Large answers count as several requests."""
        self._seats.take(caller.name, size / TINY)

    def _signed(self, request: web.Request, public: bytes) -> Caller:
        signed, digest = read_signed(request.headers), read_digest(request.headers)
        asked = SignedRequest(request.method, request.raw_path, digest)
        self._bouncer.check(asked, signed, public)
        return Caller(signed.study, signed.seat, digest)

    async def _empty(self, request: web.Request) -> Caller:
        """The caller of a request without a body."""
        caller = self._seated(request)
        await self._bodies.read(request, 0, caller.digest)
        return caller

    @contextmanager
    def _polling(self, caller: Caller, run: bytes) -> Iterator[None]:
        polls = self._polls.setdefault(caller.name, Count())
        if polls[run] >= self.limits.waiting:
            raise Refusal(
                429,
                "too-many",
                f"more than {self.limits.waiting} waiting requests of one seat",
                facts={"retry_after": 1},
            )
        polls[run] += 1
        try:
            yield
        finally:
            polls[run] -= 1
            if not polls[run]:
                del polls[run]
            if not polls:
                self._polls.pop(caller.name, None)

    def _check_recipient(self, caller: Caller, recipient: str) -> None:
        if not self._callbacks.takes_letters(caller.study, recipient):
            raise Refusal(404, "no-recipient", f"no seat {recipient!r} takes letters in this study")

    def _warn_of_full_disk(self, problem: Refusal) -> None:
        """Warn the coordinator's people, not too often, that letters wait for room on the disk."""
        if problem.kind == DISK_FULL and time.monotonic() >= self._warn_after:
            self._warn_after = time.monotonic() + _WARN_SECONDS
            _log.warning("%s; letters wait until there is room", problem.detail)

    def _refuse(self, request: web.Request, problem: Refusal) -> web.Response:
        """The answer to a refused request; a stranger gets less detail after too many."""
        # Requests of one connection come one after the other, and from one caller.
        seated = isinstance(request.protocol, LimitedConnection) and request.protocol.is_known
        if not seated:
            # A client with a wrong clock is usually refused once, because the answer states the
            # time.
            address = request.remote or ""
            self._addresses.take(address)
            try:
                self._check_stranger(request)
            except Refusal as enough:
                problem = enough
        self._warn_of_full_disk(problem)
        answer = problem_answer(problem)
        if not (seated or problem.kind == "clock") or problem.status in {408, 413, 429}:
            answer.force_close()
        if isinstance(request.protocol, LimitedConnection) and not (
            seated and (request.content_length or PART + 1) <= PART
        ):
            request.protocol.leave_unread()
        return answer


async def let_wait(_: web.Request) -> None:
    """Let the handler itself answer `100-continue`."""


def _check_waits(request: web.Request, letter: LetterSummary, digest: bytes) -> None:
    """Refuse a body that was sent without waiting, or that is not the whole letter."""
    if request.headers.get("Expect", "").lower() != "100-continue":
        raise Refusal(400, "query", "expected a body that waits for its turn (100-continue)")
    if (request.content_length, digest) != (letter.size, letter.digest):
        raise Refusal(400, "query", f"{letter.place}: expected its whole body in this request")
    if not 0 < letter.size <= PART:
        raise Refusal(413, "too-large", f"{letter.place}: expected 1 to {PART} bytes in a request")


def _waiting(delivered: Delivered) -> WaitingLetter:
    letter = delivered.letter
    place = letter.place
    return WaitingLetter(
        delivered.position,
        place.session,
        place.sender,
        place.number,
        letter.size,
        letter.digest,
        delivered.body or b"",
    )


def _progress(progress: Progress) -> web.Response:
    return _told(Uploaded(progress.received, progress.position or 0))


def _told(value: Value) -> web.Response:
    return web.Response(body=CODEC.encode(value), content_type=CONTENT_TYPE)


def _plain(data: bytes) -> web.Response:
    return web.Response(body=data, content_type=_PLAIN)


def _look(done: "asyncio.Future[None]") -> None:
    """Log a failed acknowledgement; the next commit will report the same trouble."""
    if not done.cancelled() and (error := done.exception()) is not None:
        _log.error("acknowledgement not stored: %s", type(error).__name__)
