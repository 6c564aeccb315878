"""Translates network faults on the way to the coordinator into our errors."""

import ssl
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.request import getproxies, proxy_bypass

import aiohttp
from yarl import URL

from sottovoce.errors import (
    AbsenceError,
    CopyError,
    InputError,
    LostSeatError,
    MismatchError,
    SottovoceError,
    ViolationError,
)
from sottovoce.transport.certificates import PinError
from sottovoce.transport.problems import Refusal

COORDINATOR = "coordinator"
# Temporary refusals.
PASSING = {"too-many", "too-many-uploads", "slow", "replay", "clock"}
COPY_HINTS = (
    "only one process may use a seat's folder: end the other one",
    "the way back after a restore is in docs/backup.md",
)
# Statuses of a proxy that refuses us for good.
_PROXY_SAYS_NO = {401, 403, 407}


@dataclass(frozen=True)
class Route:
    """The route to a coordinator: its address, and the proxy, if there is one."""

    address: URL
    proxy: URL | None = None
    proxy_headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def to(cls, text: str) -> "Route":
        """Return the route to an invitation's address, through this site's proxy if it has one."""
        address = _https(text)
        host = f"{address.host}:{address.port}"
        proxy_setting = getproxies().get("https")
        if not proxy_setting or proxy_bypass(host) or _is_this_machine(address.host or ""):
            return cls(address)
        proxy = URL(proxy_setting if "://" in proxy_setting else f"http://{proxy_setting}")
        if proxy.scheme != "http" or not proxy.host:
            raise InputError(
                f"HTTPS_PROXY: expected an address like http://proxy:3128, found one of the kind "
                f"{proxy.scheme or 'unknown'!r}",
                hints=("export HTTPS_PROXY=http://HOST:PORT", f"export NO_PROXY={address.host}"),
            )
        if proxy.user is None:
            return cls(address, proxy)
        login = b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
        return cls(address, proxy.with_user(None), {"Proxy-Authorization": f"Basic {login}"})

    @property
    def via(self) -> str:
        """The proxy for error messages, without its password."""
        if self.proxy is None:
            return ""
        return f" through the proxy {self.proxy.host}:{self.proxy.port} (HTTPS_PROXY)"

    def __str__(self) -> str:
        return f"{self.address.host}:{self.address.port}{self.via}"


def fatal_fault(error: Exception, way: Route) -> SottovoceError | None:
    """The error if a retry cannot help; None if it may."""
    for cause in _causes(error):
        if isinstance(cause, PinError):
            return _wrong_certificate(cause, way)
        if isinstance(cause, aiohttp.ClientHttpProxyError) and cause.status in _PROXY_SAYS_NO:
            return InputError(
                f"{way}: the proxy refuses the connection (status {cause.status})",
                hints=(
                    "ask the proxy's administrator to allow CONNECT to this address",
                    "a proxy with a password: export HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT",
                ),
            )
        if isinstance(cause, ssl.SSLError) and _speaks_no_tls(cause):
            return MismatchError(
                f"{way}: the server does not speak TLS 1.3 ({cause.reason})",
                hints=("check host and port in the invitation", "plain http is never used"),
            )
    return None


def absence(way: Route, what: str, *, seconds: float, last: str) -> AbsenceError:
    """The error after a wait's deadline."""
    # Without our --home: it is typed at another machine.
    hints = [
        "ask the coordinator whether its server runs, by `serve` there",
        "run the same command to continue",
    ]
    if way.proxy is not None:
        hints.append(f"without the proxy: export NO_PROXY={way.address.host}")
    return AbsenceError(
        f"{what}: no answer from {way} within {seconds:.0f} s ({last})",
        party=COORDINATOR,
        hints=tuple(hints),
    )


def refusal(problem: Refusal, what: str) -> SottovoceError:
    """Return the error for a refusal of the server; its class says whose mistake it is."""
    message = f"{what}: {problem.detail}"
    if problem.kind in {"conflict", "gap", "at-work"}:
        return CopyError(message, hints=problem.hints or COPY_HINTS)
    if problem.kind in {"version", "signature", "unsigned", "plain-http", "no-seat"}:
        return MismatchError(message, hints=problem.hints)
    if problem.kind == "seat-lost":
        return LostSeatError(message, hints=problem.hints)
    if problem.kind in {"refused", "too-large"}:
        return InputError(message, hints=problem.hints)
    return ViolationError(message, party=COORDINATOR, hints=problem.hints)


def reason_of(error: Exception) -> str:
    """A network fault in a few words, without any content."""
    for cause in _causes(error):
        if isinstance(cause, OSError) and cause.strerror and not isinstance(cause, ssl.SSLError):
            return cause.strerror.lower()
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answers with status {error.status}"
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return "the connection was cut"
    return type(error).__name__


def _is_this_machine(host: str) -> bool:
    """Whether the address is this machine, which no proxy can reach."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _https(text: str) -> URL:
    try:
        address = URL(text)
        port = address.port
    except ValueError:
        address, port = URL(), None
    if address.scheme == "http":
        raise InputError(
            f"address {text!r}: expected https, found plain http",
            hints=("plain http is never used: take the address in the invitation",),
        )
    if address.scheme != "https" or not address.host or not port or address.path not in {"", "/"}:
        raise InputError(
            f"address {text!r}: expected one like https://host:8443",
            hints=("take the address in the invitation",),
        )
    return address.origin()


def _wrong_certificate(error: PinError, way: Route) -> ViolationError:
    hints = ["compare the fingerprint with the sender of the invitation"]
    if way.proxy is None:
        reason = "a proxy that inspects TLS, or another study's server"
        hints.append("ask the network's administrator to exempt the address from TLS inspection")
    else:
        reason = f"the proxy {way.proxy.host}:{way.proxy.port} inspects TLS, or another server"
        hints.append("ask the proxy's administrator to exempt the address from TLS inspection")
    return ViolationError(
        f"{way}: expected the certificate {error.expected.hex()[:16]}…, "
        f"found {error.served.hex()[:16]}… ({reason}); nothing was sent",
        party=COORDINATOR,
        hints=tuple(hints),
    )


def _speaks_no_tls(error: ssl.SSLError) -> bool:
    # aiohttp's errors for TLS have its type, but not its reason.
    reason = getattr(error, "reason", None) or ""
    return any(sign in reason for sign in ("VERSION", "PROTOCOL", "HTTP", "RECORD", "HANDSHAKE"))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        cause = waiting.pop(0)
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__]
        waiting += [getattr(cause, name, None) for name in ("os_error", "certificate_error")]


class OtherOffset(Exception):  # noqa: N818 - no error: the upload continues at another offset
    """The server has another offset of an upload than we assumed."""


class NoRunError(Exception):
    """The server does not know us as the current process of this seat."""


class PastMovedError(Exception):
    """The server got a letter of this seat since we asked for its record."""


# Refusals that the client handles itself.
ASKED_AGAIN: dict[str, type[Exception]] = {
    "offset": OtherOffset,
    "no-upload": OtherOffset,
    "no-run": NoRunError,
    "past": PastMovedError,
}
