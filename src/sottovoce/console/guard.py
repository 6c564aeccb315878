"""Who may look at the console: the person at this machine who has its one-time link, nobody else.

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
_MOST_MISTAKES = 20
"""After so many wrong passphrases nobody comes in until the console is started again."""
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
    """Keeps the token, the session and the rules; `hosts` are the names by which we are called."""

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
        """A word that opens the console once, within some minutes."""
        self._token = self.entropy.read(_SECRET_BYTES).hex()
        self._until = self.clock() + _TOKEN_SECONDS
        return self._token

    @property
    def form_word(self) -> str:
        """What every form of this session carries."""
        return hmac.new(self._session.encode(), b"console/form/v1", hashlib.sha256).hexdigest()

    def opened(self, token: str) -> str | None:
        """The session of a token that was not used yet; None if it is not the one."""
        good = self._token and hmac.compare_digest(self._token.encode(), token.encode())
        if not good or self.clock() > self._until:
            return None
        self._token = ""
        self._session = self.entropy.read(_SECRET_BYTES).hex()
        return self._session

    @property
    def scheme(self) -> str:
        """How the console is called: with a passphrase only over TLS."""
        return "http" if self.passphrase is None else "https"

    async def entered(self, typed: str) -> str | None:
        """The session of who knows the passphrase; None, and later, of who does not."""
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
        """Refuse strangers, and put the rules on every answer."""
        refused = await self._refusal(request)
        response = await handler(request) if refused is None else refused
        if not response.prepared:
            response.headers.update(_HEADERS)
        return response

    async def _refusal(self, request: web.Request) -> web.Response | None:
        """Why a request is not answered; None if it is."""
        if request.headers.get("Host", "") not in self.hosts:
            return _said(421, "this console is called by another name")
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
        """Why a form of another page is not taken; empty if it is ours."""
        ours = {f"{self.scheme}://{host}" for host in self.hosts}
        ours_it_is = request.headers.get("Origin", "") in ours
        return "" if ours_it_is else "this form did not come from this console"

    async def _form_fault(self, request: web.Request) -> str:
        """Why a form is not taken; empty if it is."""
        if self.read_only:
            return "this console only shows: it was started with --read-only"
        fault = self._origin_fault(request)
        if fault:
            return fault
        word = str((await request.post()).get("word", ""))
        if not hmac.compare_digest(word.encode(), self.form_word.encode()):
            return "this form is not of this session: reload the page"
        return ""


def _said(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=f"{words}\n", content_type="text/plain")
