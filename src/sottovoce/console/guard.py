"""Restricts the console to the person at this machine who has its one-time link.

    browser                                             console, at a loopback address
      ── GET /open?token=… (once, within minutes) ─────▶  cookie: same-site, not for scripts
      ── GET …, with the cookie ───────────────────────▶  Host must be ours (DNS rebinding)
      ── POST …, with the cookie and the form's word ──▶  Origin must be ours, word must match

A console that others may reach (`--listen`) speaks TLS and asks for a passphrase first:

      ── POST /enter, with the passphrase ─────────────▶  cookie, for TLS alone; slow after mistakes

Every answer forbids scripts, styles and frames from anywhere else, and is never stored.
"""

import asyncio
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp import web

from sottovoce.entropy import Entropy
from sottovoce.keyfiles.passphrase import Passphrase

COOKIE = "sottovoce_console"
_TOKEN_SECONDS = 600.0
_SECRET_BYTES = 32
_TOKEN_BYTES = 16
"""Enough for a token that opens once, and the link fits into 80 columns."""
_MOST_MISTAKES = 20
"""The wrong passphrases after which nobody can enter until the console is restarted."""
_MISTAKE_SECONDS = 1.0
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without a referrer browsers call the origin of a form "null".
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class ConsoleGuard:
    """Keeps the token, the session and the rules; `hosts` are the valid host names."""

    entropy: Entropy = field(repr=False)
    read_only: bool = False
    clock: Callable[[], float] = time.monotonic
    hosts: set[str] = field(default_factory=set)
    passphrase: Passphrase | None = field(default=None, repr=False)
    mistake_seconds: float = _MISTAKE_SECONDS
    _mistakes: int = 0
    _token: str = field(default="", repr=False)
    _until: float = 0.0
    _session: str = field(default="", repr=False)

    def new_token(self) -> str:
        """A token that opens the console once, within some minutes."""
        self._token = self.entropy.read(_TOKEN_BYTES).hex()
        self._until = self.clock() + _TOKEN_SECONDS
        return self._token

    @property
    def form_word(self) -> str:
        """The token in every form of this session."""
        return hmac.new(self._session.encode(), b"console/form/v1", hashlib.sha256).hexdigest()

    def opened(self, token: str) -> str | None:
        """The session of an unused token; None for any other."""
        good = self._token and hmac.compare_digest(self._token.encode(), token.encode())
        if not good or self.clock() > self._until:
            return None
        self._token = ""
        self._session = self.entropy.read(_SECRET_BYTES).hex()
        return self._session

    @property
    def scheme(self) -> str:
        """The URL scheme: with a passphrase only https."""
        return "http" if self.passphrase is None else "https"

    async def entered(self, typed: str) -> str | None:
        """The session for a right passphrase; None, after a delay, for a wrong one."""
        if self.passphrase is None or self._mistakes >= _MOST_MISTAKES:
            return None
        if not hmac.compare_digest(typed.encode(), self.passphrase.encoded()):
            self._mistakes += 1
            await asyncio.sleep(self.mistake_seconds)
            return None
        self._session = self._session or self.entropy.read(_SECRET_BYTES).hex()
        return self._session

    def knows(self, request: web.Request) -> bool:
        """Whether the browser holds the session of this console."""
        held = request.cookies.get(COOKIE, "")
        return bool(self._session) and hmac.compare_digest(held.encode(), self._session.encode())

    @web.middleware
    async def middleware(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse strangers, and add the security headers to every answer."""
        refused = await self._refusal(request)
        response = await handler(request) if refused is None else refused
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    async def _refusal(self, request: web.Request) -> web.Response | None:
        """The refusal of a request; None if it is allowed."""
        if request.headers.get("Host", "") not in self.hosts:
            return _said(421, "this console has another host name")
        if request.path == "/open" or request.path.startswith("/static/"):
            return None
        if request.path == "/enter":
            fault = "" if request.method == "GET" else self._origin_fault(request)
            return _said(403, fault) if fault else None
        if not self.knows(request):
            way = "link that `sottovoce console` printed; it is good once"
            return _said(403, f"open the {way if self.passphrase is None else 'page /enter'}")
        reason = "" if request.method in {"GET", "HEAD"} else await self._form_fault(request)
        return _said(403, reason) if reason else None

    def _origin_fault(self, request: web.Request) -> str:
        """The reason to refuse a form of another page; empty if it is ours."""
        ours = {f"{self.scheme}://{host}" for host in self.hosts}
        ours_it_is = request.headers.get("Origin", "") in ours
        return "" if ours_it_is else "this form did not come from this console"

    async def _form_fault(self, request: web.Request) -> str:
        """The reason to refuse a form; empty if it is valid."""
        if self.read_only:
            return "this console was started with --read-only"
        fault = self._origin_fault(request)
        if fault:
            return fault
        word = str((await request.post()).get("word", ""))
        if not hmac.compare_digest(word.encode(), self.form_word.encode()):
            return "this form belongs to another session: reload the page"
        return ""


def _said(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=f"{words}\n", content_type="text/plain")
