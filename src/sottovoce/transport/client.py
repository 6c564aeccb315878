"""A seat's connection to the coordinator: outbound, pinned, signed, and retried.

Every call ends with an answer, a refusal, or a timeout. After network faults it is retried with
growing pauses; every request is idempotent, so a retry is always safe. A letter is announced by its
size and digest before any of its bytes leave: the head of the request announces it, and its body
waits for `100 Continue`. Long letters are announced by a separate request, sent in parts, and
continued after an interruption.

Before its first letter a client asks for the server's record of the seat, and the seat compares it
with its own disk. It then uses a random run name, and the server accepts letters of the seat under
this name only: of two copies of a seat one is refused.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from random import uniform
from typing import Self, TypeVar
from urllib.parse import urlencode
from weakref import WeakValueDictionary

import aiohttp
from yarl import URL

from sottovoce.course.held_time import ToldHeldTime
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import CopyError, MalformedError, MisuseError, ViolationError
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter
from sottovoce.transport.answers import CODEC, Acknowledged, Fetched, Uploaded, WaitingLetter
from sottovoce.transport.certificates import FINGERPRINT_BYTES, client_context
from sottovoce.transport.faults import (
    ASKED_AGAIN,
    COORDINATOR,
    PASSING,
    NoRunError,
    OtherOffset,
    PastMovedError,
    Route,
    absence,
    fatal_fault,
    reason_of,
    refusal,
)
from sottovoce.transport.letter_pages import CONTENT_TYPE as PAGES_TYPE
from sottovoce.transport.letter_pages import CUT, LATE, OpenAnswer
from sottovoce.transport.mailbox.mailbox_tables import RUN_BYTES
from sottovoce.transport.problems import Refusal
from sottovoce.transport.requests import Call, bounded, sent_as
from sottovoce.transport.server.limits import AT_ONCE, LONGEST_WAIT, PART, Limits
from sottovoce.transport.signing import (
    HELD,
    KEY,
    PROTOCOL,
    TIME,
    SignedRequest,
    Signer,
    body_digest,
)
from sottovoce.transport.versions import AGENT, OFFER, ONE_PAGE, speaks_pages
from sottovoce.wire import Value

V = TypeVar("V", bound=Value)

_NO_LETTERS = CODEC.encode(Fetched(()))
_MAX_LETTER = Limits().letter
_CONNECT_SECONDS = 15.0
# Seconds that a call waits for an answer beyond the server's own wait, or for `100 Continue`.
_ANSWER_SECONDS = 60.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 10.0
# How often an upload may make no progress, after restarts and discarded uploads.
_MOST_SETBACKS = 20
# The first answer in pages is no longer than this: it shows whether pages come when they are sent.
# A busy server has time to begin it, and a short command needs no second one.
_TRIAL_SECONDS = 5.0
_KEEP_SECONDS = 60.0
# A process that died without closing its connection seems connected until its last request ends.
_AT_WORK_SECONDS = LONGEST_WAIT + 5.0
_LOOK_SECONDS = 0.25

Past = Callable[[HeldLetters], None]
"""Compares the server's record of a seat with the seat's own; raises if they differ."""


def _unknown_past(_: HeldLetters) -> None:
    """Compare nothing, without a journal."""


class CoordinatorLine:
    """One seat's connection to the coordinator of its study."""

    def __init__(
        self,
        address: str,
        *,
        fingerprint: bytes,
        study: str,
        identity: Identity,
        retry_seconds: float = 600.0,
        past: Past = _unknown_past,
        largest: int = _MAX_LETTER,
    ) -> None:
        """Connect to `address`, whose certificate must have this `fingerprint`.

        A call without an answer is retried for `retry_seconds` seconds. `past` is called, in a
        thread, before the first letter leaves and whenever the server has forgotten us. A letter of
        more than `largest` bytes is not read.
        """
        if len(fingerprint) != FINGERPRINT_BYTES:
            raise MalformedError(
                f"fingerprint: expected {FINGERPRINT_BYTES} bytes, found {len(fingerprint)}"
            )
        self.route = Route.to(address)
        self.seat = identity.name
        self.retry_seconds = retry_seconds
        # Nonces hide nothing; they must only be unique.
        self._signer = Signer(study, identity, fingerprint, SystemEntropy())
        self._identity = identity
        self._context = client_context(fingerprint)
        self._session: aiohttp.ClientSession | None = None
        self._past = past
        self._largest = largest
        self._held_time = ToldHeldTime(time.monotonic())
        self._run = self._run_before = b""
        self._open_answer: OpenAnswer | None = None
        self._speaks_pages = False
        # Whether pages come when they are sent; None until an answer showed it.
        self._pages_flow: bool | None = None
        self._just_enrolled = False
        self._taking_up = asyncio.Lock()
        self._turns: WeakValueDictionary[tuple[bytes, str], asyncio.Lock] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        self._close_answer()
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def invitation(self, token: bytes) -> bytes:
        """The study of an invitation, before consent."""
        path = "/v1/invitation?" + urlencode({"study": self._signer.study})
        return await self._say("POST", path, "reading the invitation", body=token)

    async def enrol(self, request: bytes) -> bytes:
        """Take the seat for this identity."""
        asked = SignedRequest("POST", "/v1/enrol", body_digest(request))
        call = Call(asked, f"enrolling {self.seat!r}", memoryview(request), enrolling=True)
        answer = await self._answer(call)
        self._just_enrolled = True
        return answer

    async def describe(self) -> bytes:
        """The study's description."""
        return await self._say("GET", "/v1/study", "asking for the study")

    async def status(self) -> bytes:
        """The study's status."""
        return await self._say("GET", "/v1/status", "asking for the status")

    async def lose(self) -> None:
        """Report that this seat cannot continue, when it cannot number another letter."""
        await self._say("POST", "/v1/lost", "reporting that this seat cannot continue")

    async def post(self, letter: Letter) -> int:
        """Leave a letter for its recipient; it is durable there when this returns."""
        if letter.sender != self.seat:
            raise MisuseError(
                f"line: expected a letter of {self.seat!r}, found one of {letter.sender!r}"
            )
        turn = self._turns.setdefault((letter.session, letter.recipient), asyncio.Lock())
        # Letters to one recipient are sent one after the other, in the order of their numbers.
        async with turn:
            try:
                return await self._upload(letter)
            except asyncio.CancelledError:
                # The request may still arrive; under its old run name it will be refused.
                self._lose_run(self._run)
                raise

    async def fetch(
        self, after: int = 0, *, wait: float = LONGEST_WAIT
    ) -> tuple[tuple[int, Letter], ...]:
        """The letters after a position, each with its own position; none after a timeout."""
        data = await self._page(after, min(wait, LONGEST_WAIT))
        letters: list[tuple[int, Letter]] = []
        position, room = after, AT_ONCE
        for waiting in _read(data, Fetched).letters:
            room -= waiting.size
            if letters and room < 0:
                # The next fetch returns the rest.
                break
            if waiting.position <= position:
                raise ViolationError(
                    f"letters: expected positions behind {position}, found {waiting.position}",
                    party=COORDINATOR,
                )
            position = waiting.position
            letters.append((position, await self._letter(waiting)))
        else:
            if self._open_answer is not None:
                self._open_answer.after = position
        return tuple(letters)

    async def _page(self, after: int, wait: float) -> bytes:
        """The next page of letters: of the answer that is open, or of a new request."""
        answer, self._open_answer = self._open_answer, None
        if answer is not None and (answer.after, answer.run) == (after, self._run):
            with suppress(*CUT):
                return await self._next_page(answer)
        elif answer is not None:
            answer.close()
        if self._pages_flow is None:
            wait = min(wait, _TRIAL_SECONDS)
        query = urlencode({"after": after, "wait": round(wait * 1000)})
        asked = SignedRequest("GET", f"/v1/mailbox?{query}")
        offer = ONE_PAGE if self._pages_flow is False else OFFER
        return await self._at_work(Call(asked, "waiting for letters", wait=wait, offer=offer))

    async def _next_page(self, answer: OpenAnswer) -> bytes:
        data = await answer.page()
        self._held_time = self._held_time.heard(float(answer.held_back), time.monotonic())
        if data == _NO_LETTERS:
            await answer.end()
        else:
            # Until its letters are read nobody knows what the next page follows.
            answer.after = -1
            self._open_answer = answer
        return data

    def _close_answer(self) -> None:
        if self._open_answer is not None:
            self._open_answer.close()
            self._open_answer = None

    async def acknowledge(self, position: int) -> None:
        """Tell the server that everything up to a position is on our own disk."""
        path = "/v1/acknowledge?" + urlencode({"position": position})
        call = Call(SignedRequest("POST", path), f"acknowledging letters up to {position}")
        _read(await self._at_work(call), Acknowledged)

    def held_back(self) -> float:
        """Return how many seconds the server held letters back, as it reports."""
        return self._held_time.believed

    # Runs: the server lets one process work at a seat.

    async def take_up(self) -> None:
        """Compare the server's record of this seat with ours, and take the seat up."""
        async with self._taking_up:
            if not self._run:
                await self._take_up()

    async def _take_up(self) -> None:
        loop = asyncio.get_running_loop()
        until, run = loop.time() + _AT_WORK_SECONDS, SystemEntropy().read(RUN_BYTES)
        while True:
            held = await self._compared()
            query = urlencode(
                {
                    "run": run.hex(),
                    "before": self._run_before.hex(),
                    "letters": held.letters,
                    "chain": held.chain.hex(),
                }
            )
            try:
                await self._say("PUT", f"/v1/run?{query}", f"taking up the seat {self.seat!r}")
            except CopyError:
                if loop.time() >= until:
                    raise
                await asyncio.sleep(_LOOK_SECONDS)
            except PastMovedError:
                await asyncio.sleep(_FIRST_PAUSE)
            else:
                self._run = self._run_before = run
                return

    async def _compared(self) -> HeldLetters:
        """The server's record of this seat, once our own disk agreed with it.

        Of a seat that enrolled just now it has no letters. If it has some, it refuses to let the
        seat be taken up under that record, and is asked.
        """
        if self._just_enrolled:
            self._just_enrolled = False
            with suppress(CopyError, ViolationError):
                await asyncio.to_thread(self._past, HeldLetters())
                return HeldLetters()
        held = _read(await self._say("GET", "/v1/sent", "asking what was sent"), HeldLetters)
        await asyncio.to_thread(self._past, held)
        return held

    def _lose_run(self, run: bytes) -> None:
        if self._run == run:
            self._run = b""

    async def _at_work(self, call: Call) -> bytes:
        """Return the answer to a call that only the current process of this seat may make."""
        while True:
            await self.take_up()
            run, asked = self._run, call.asked
            if not run:
                continue
            try:
                signed = replace(asked, path=f"{asked.path}&run={run.hex()}")
                return await self._answer(replace(call, asked=signed, run=run))
            except NoRunError:
                # The server restarted, or another copy of this seat took it up meanwhile.
                self._lose_run(run)
                await asyncio.sleep(_FIRST_PAUSE)

    async def _say(self, method: str, path: str, what: str, *, body: bytes = b"") -> bytes:
        asked = SignedRequest(method, path, body_digest(body))
        return await self._answer(Call(asked, what, memoryview(body)))

    async def _upload(self, letter: Letter) -> int:
        """Announce a letter, then send it in parts, from the offset that the server has."""
        size, digest = len(letter.body), letter.digest
        query = urlencode({**_place(letter), "size": size, "digest": digest.hex()})
        if 0 < size <= PART:
            asked = SignedRequest("POST", f"/v1/letters?{query}", digest)
            call = Call(asked, _posting(letter), memoryview(letter.body), asked_for=True)
            with suppress(OtherOffset):
                return _read(await self._at_work(call), Uploaded).position
        path, view = f"/v1/uploads?{query}", memoryview(letter.body)
        announced = Call(SignedRequest("PUT", path), _posting(letter))
        progress = _read(await self._at_work(announced), Uploaded)
        reached, setbacks = -1, 0
        while not progress.position:
            start = progress.received
            reached, setbacks = max(start, reached), setbacks + (start <= reached)
            if setbacks > _MOST_SETBACKS:
                raise ViolationError(
                    f"{_posting(letter)}: the upload makes no progress beyond {start} bytes",
                    party=COORDINATOR,
                )
            part = view[start : start + PART]
            # A server of the newer version checks the parts when it has the whole letter.
            signed = digest if self._speaks_pages else body_digest(part)
            asked = SignedRequest("PATCH", f"{path}&offset={start}", signed)
            try:
                data = await self._at_work(Call(asked, _posting(letter), part))
            except OtherOffset:
                data = await self._at_work(announced)
            progress = _read(data, Uploaded)
            if not progress.position and not 0 <= progress.received < size:
                raise ViolationError(
                    f"{_posting(letter)}: expected less than {size} bytes, "
                    f"found {progress.received}",
                    party=COORDINATOR,
                )
        return progress.position

    async def _letter(self, waiting: WaitingLetter) -> Letter:
        """A waiting letter, with its body checked against its digest."""
        what = f"letter {waiting.number} from {waiting.sender!r}"
        if waiting.size > self._largest:
            raise ViolationError(
                f"{what}: expected at most {self._largest} bytes, found {waiting.size}",
                party=COORDINATOR,
            )
        body = waiting.body
        if len(body) != waiting.size:
            body = await self._download(waiting, what)
        letter = Letter(waiting.session, waiting.sender, self.seat, waiting.number, body)
        if letter.digest != waiting.digest:
            raise MalformedError(f"{what}: its bytes do not match its digest", party=COORDINATOR)
        return letter

    async def _download(self, waiting: WaitingLetter, what: str) -> bytes:
        buffer = BytesIO()
        while (start := buffer.tell()) < waiting.size:
            path = f"/v1/letters/{waiting.position}?offset={start}"
            piece = await self._say("GET", path, f"reading {what}")
            if not piece or start + len(piece) > waiting.size:
                raise MalformedError(
                    f"{what}: a part of {waiting.size} bytes is empty or too long",
                    party=COORDINATOR,
                )
            buffer.write(piece)
        # The buffer is returned without a copy.
        return buffer.getvalue()

    async def _answer(self, call: Call) -> bytes:
        """The answer to a call, retried until there is one or the time is over."""
        loop = asyncio.get_running_loop()
        deadline, pause = loop.time() + self.retry_seconds, _FIRST_PAUSE
        while True:
            try:
                return await self._once(call)
            except Refusal as problem:
                if problem.kind in ASKED_AGAIN:
                    raise ASKED_AGAIN[problem.kind] from None
                if problem.kind not in PASSING and problem.status < 500:
                    raise refusal(problem, call.what) from None
                last, rest = problem.detail, float(problem.facts.get("retry_after", 0))
                if problem.kind in {"clock", "replay"}:
                    # The next try is signed by the server's clock, which its answer stated.
                    # aiohttp itself repeats a request whose answer was cut off, with an old
                    # signature.
                    pause = _FIRST_PAUSE
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                if (fatal := fatal_fault(error, self.route)) is not None:
                    raise fatal from None
                last, rest = reason_of(error), 0.0
            if loop.time() >= deadline:
                raise absence(self.route, call.what, seconds=self.retry_seconds, last=last)
            await asyncio.sleep(min(max(rest, pause * uniform(0.5, 1)), deadline - loop.time()))  # noqa: S311 - spreads retries
            pause = min(2 * pause, _LONGEST_PAUSE)

    async def _once(self, call: Call) -> bytes:
        """One try: a signed request and its answer."""
        headers = {**self._signer.headers(call.asked), PROTOCOL: call.offer, "User-Agent": AGENT}
        if call.enrolling:
            headers[KEY] = self._identity.public.hex()
        timeout = aiohttp.ClientTimeout(
            connect=2 * _CONNECT_SECONDS,
            sock_connect=_CONNECT_SECONDS,
            sock_read=call.wait + _ANSWER_SECONDS,
        )
        if len(call.body):
            headers["Content-Length"] = str(len(call.body))
        began = time.monotonic()
        # aiohttp's timeout begins once a body was sent; until then we count ourselves.
        async with asyncio.timeout(_ANSWER_SECONDS if call.asked_for else None) as unasked:
            response = await self._open().request(
                call.asked.method,
                URL(f"{self.route.address}{call.asked.path}", encoded=True),
                data=sent_as(call.body, unasked),
                expect100=call.asked_for,
                headers=headers,
                timeout=timeout,
                ssl=self._context,
                proxy=self.route.proxy,
                proxy_headers=self.route.proxy_headers or None,
                allow_redirects=False,
            )
            self._listen_to_headers(response)
            if response.status == 200 and response.content_type == PAGES_TYPE:
                answer = OpenAnswer(response, call.run)
                await answer.begin()
                late = LATE * max(call.wait, _TRIAL_SECONDS)
                self._pages_flow = time.monotonic() - began < late
                return await self._next_page(answer)
            async with response:
                data = await bounded(response)
        if response.status != 200:
            raise Refusal.read(response.status, data)
        return data

    def _listen_to_headers(self, response: aiohttp.ClientResponse) -> None:
        self._speaks_pages = speaks_pages(response.headers.get(PROTOCOL))
        self._listen_to_clock(response.headers.get(TIME, ""))
        if _is_number(held := response.headers.get(HELD, "")):
            self._held_time = self._held_time.heard(float(held), time.monotonic())

    def _listen_to_clock(self, text: str) -> None:
        if _is_number(text):
            self._signer.follow_clock(int(text))

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=32, keepalive_timeout=_KEEP_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector, cookie_jar=aiohttp.DummyCookieJar(), auto_decompress=False
            )
        return self._session


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _read(data: bytes, kind: type[V]) -> V:
    try:
        return CODEC.decode(data, kind)
    except MalformedError as error:
        raise error.by(COORDINATOR) from error


def _place(letter: Letter) -> dict[str, str | int]:
    return {"session": letter.session.hex(), "to": letter.recipient, "number": letter.number}


def _posting(letter: Letter) -> str:
    return f"posting letter {letter.number} to {letter.recipient!r}"
