"""Signatures of requests, which cover the request, its sender, its time and its server.

    signature = Ed25519(method, path and query, digest of the body, study, seat, moment, nonce,
                        fingerprint of the server's certificate)

The server refuses a request outside of a window around its own clock, and one that it has already
seen within the window. It states its time in every answer, and a client whose clock is wrong signs
by the server's clock from then on. So any skew is tolerated and the window can be small. A
restarted server no longer knows what it has seen, and therefore refuses everything signed before
its start.
"""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, unquote

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from sottovoce.entropy import Entropy
from sottovoce.protocols.identities import SIGNATURE_BYTES, Identity, framed
from sottovoce.transport.problems import Refusal

STUDY = "Sottovoce-Study"
SEAT = "Sottovoce-Seat"
KEY = "Sottovoce-Key"
MOMENT = "Sottovoce-Moment"
NONCE = "Sottovoce-Nonce"
DIGEST = "Sottovoce-Digest"
SIGNATURE = "Sottovoce-Signature"
TIME = "Sottovoce-Time"
HELD = "Sottovoce-Held-Back"
PROTOCOL = "Sottovoce-Protocol"

PURPOSE = "transport/request/v1"
NONCE_BYTES = 16
DIGEST_BYTES = 32
# The window around the server's clock, in milliseconds.
WINDOW = 30_000
# The number of a signature's bytes to remember: they are like random bytes for each request.
_MARK_BYTES = 24
# What was seen is forgotten in spans of so many milliseconds, by the moment that was signed.
_SPAN = 5_000
_MAX_NAME = 200
# Names of studies and seats, and keys, that are remembered: those of strangers take some megabytes
# at most.
_NAMES = 2048
NOTHING = hashlib.sha256().digest()


def body_digest(body: bytes | memoryview) -> bytes:
    """The SHA-256 of a body, for signatures and the mailbox."""
    return hashlib.sha256(body).digest()


@dataclass(frozen=True)
class SignedRequest:
    """A request: the method, the path with its query, the digest of its body."""

    method: str
    path: str
    digest: bytes = NOTHING


@dataclass(frozen=True)
class RequestOrigin:
    """The sender and the time of a request: the other fields that a signature covers."""

    study: str
    seat: str
    moment: int
    nonce: bytes
    signature: bytes = b""

    def parts(self, asked: SignedRequest, fingerprint: bytes) -> tuple[bytes, ...]:
        """The signed parts, in order."""
        return (
            asked.method.encode(),
            asked.path.encode(errors="surrogateescape"),
            asked.digest,
            self.study.encode(),
            self.seat.encode(),
            self.moment.to_bytes(8),
            self.nonce,
            fingerprint,
        )


@dataclass
class Signer:
    """Signs a seat's requests to one server, by the server's clock once it is known."""

    study: str
    identity: Identity
    fingerprint: bytes
    entropy: Entropy
    clock: Callable[[], float] = time.time
    ahead: int = 0
    """Milliseconds that the server's clock is ahead of ours."""
    _names: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._names = {STUDY: quote(self.study, safe=""), SEAT: quote(self.identity.name, safe="")}

    def headers(self, asked: SignedRequest) -> dict[str, str]:
        """The header fields of a request that is signed now."""
        moment = max(0, self._now() + self.ahead)
        signed = RequestOrigin(
            self.study, self.identity.name, moment, self.entropy.read(NONCE_BYTES)
        )
        signature = self.identity.sign(PURPOSE, *signed.parts(asked, self.fingerprint))
        return {
            **self._names,
            MOMENT: str(moment),
            NONCE: signed.nonce.hex(),
            DIGEST: asked.digest.hex(),
            SIGNATURE: signature.hex(),
        }

    def follow_clock(self, theirs: int) -> None:
        """Sign by the server's clock from now on."""
        self.ahead = theirs - self._now()

    def _now(self) -> int:
        return int(self.clock() * 1000)


def steady_clock() -> Callable[[], float]:
    """Return a clock that starts at the current time and ignores later changes of the machine's."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()


class SignatureChecks:
    """Checks signed requests: each is accepted once, within its window."""

    def __init__(self, fingerprint: bytes, *, clock: Callable[[], float] | None = None) -> None:
        """Refuse requests signed for another server, or before now."""
        self._fingerprint = fingerprint
        self._clock = clock or steady_clock()
        self._opened = self.now()
        self._seen: dict[int, set[bytes]] = {}

    def now(self) -> int:
        """The server's time in milliseconds."""
        return int(self._clock() * 1000)

    def check(self, asked: SignedRequest, signed: RequestOrigin, public: bytes) -> None:
        """Refuse a request that this seat did not sign now for this server, or sent before."""
        now = self.now()
        if not max(self._opened, now - WINDOW) <= signed.moment <= now + WINDOW:
            raise Refusal(
                401,
                "clock",
                f"expected a request signed at {now} (milliseconds), found {signed.moment}",
                hints=("the client signs again by the server's clock",),
                facts={"now": now},
            )
        message = framed(PURPOSE, *signed.parts(asked, self._fingerprint))
        try:
            _key(public).verify(signed.signature, message)
        except (InvalidSignature, ValueError) as error:
            raise Refusal(
                401, "signature", f"expected a request signed by {signed.seat!r}, found another's"
            ) from error
        self._once(now, signed)

    def _once(self, now: int, signed: RequestOrigin) -> None:
        span, mark = signed.moment // _SPAN, signed.signature[:_MARK_BYTES]
        if span not in self._seen:
            # What was signed in these is refused by its moment from now on.
            past = [old for old in self._seen if (old + 1) * _SPAN <= now - WINDOW]
            for old in past:
                del self._seen[old]
        seen = self._seen.setdefault(span, set())
        if mark in seen:
            raise Refusal(401, "replay", "this request was already seen")
        seen.add(mark)


def read_signed(headers: Mapping[str, str]) -> RequestOrigin:
    """The signer of a request by its header fields, not yet verified."""
    return RequestOrigin(
        _name(headers, STUDY),
        _name(headers, SEAT),
        _moment(headers),
        _bytes(headers, NONCE, NONCE_BYTES),
        _bytes(headers, SIGNATURE, SIGNATURE_BYTES),
    )


def read_digest(headers: Mapping[str, str]) -> bytes:
    """The digest of the body, from the header fields."""
    return _bytes(headers, DIGEST, DIGEST_BYTES)


def read_key(headers: Mapping[str, str]) -> bytes:
    """The public key of a seat that enrols."""
    return _bytes(headers, KEY, 32)


def _field(headers: Mapping[str, str], field: str) -> str:
    value = headers.get(field)
    if not value:
        raise Refusal(401, "unsigned", f"the request is not signed: {field} is missing")
    if not value.isascii():
        raise Refusal(401, "unsigned", f"{field} must be ASCII")
    return value


def _name(headers: Mapping[str, str], field: str) -> str:
    text = _field(headers, field)
    name = _unquoted(text) if len(text) <= 3 * _MAX_NAME else ""
    if not name:
        raise Refusal(401, "unsigned", f"{field} must be one name")
    return name


@lru_cache(_NAMES)
def _key(public: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(public)


@lru_cache(_NAMES)
def _unquoted(text: str) -> str:
    """The name that a header spells in the one way there is; empty if it spells none."""
    try:
        name = unquote(text, errors="strict")
    except UnicodeDecodeError:
        return ""
    return name if len(name) <= _MAX_NAME and quote(name, safe="") == text else ""


def _moment(headers: Mapping[str, str]) -> int:
    text = _field(headers, MOMENT)
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Refusal(401, "unsigned", f"{MOMENT} must be milliseconds")
    return int(text)


def _bytes(headers: Mapping[str, str], field: str, size: int) -> bytes:
    text = _field(headers, field)
    try:
        data = bytes.fromhex(text)
    except ValueError:
        data = b""
    if len(data) != size or data.hex() != text:
        raise Refusal(401, "unsigned", f"{field} must be {size} bytes")
    return data
