"""The limits of a server: for each seat, for each address, and for all together."""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from sottovoce.transport.problems import Refusal

MIB = 2**20
# Letters up to this size are sent in one request; larger ones in parts of this size.
PART = 2 * MIB
# Bytes of letters that a recipient reads at once.
AT_ONCE = 32 * MIB
# Seconds after which a mailbox answers at the latest, because proxies cut silent connections.
LONGEST_WAIT = 25.0


@dataclass(frozen=True)
class Limits:
    """The limits of a server and its mailboxes."""

    letter: int = 512 * MIB
    """Bytes of one letter."""
    stored: int = 32 * 1024 * MIB
    """Bytes of waiting letters in one mailbox."""
    stored_by_sender: int = 8 * 1024 * MIB
    """Of these, bytes of one sender."""
    letters_by_sender: int = 1_000_000
    """Letters of one sender in one study, acknowledged or not."""
    reserved: int = 256 * MIB
    """Bytes of the disk that letters leave free, or a quarter of a small disk: for the "
    "journals, ledgers and status files of all studies."""
    uploads: int = 8
    """Open uploads of one sender."""
    upload_days: float = 7.0
    """Days after which an abandoned upload is dropped."""
    in_memory: int = 32 * MIB
    """Bytes of bodies in the server's memory; further requests wait."""
    in_memory_by_seat: int = 4 * MIB
    """Of these, bytes of one seat: its further requests wait, and others pass them by."""
    rate: float = 2000.0
    """Requests a second of one seat, on average."""
    burst: float = 4000.0
    """Requests of one seat at once."""
    refusals: float = 5.0
    """Refused requests a second from one address, on average."""
    refusals_burst: float = 200.0
    """Refused requests from one address at once."""
    arrivals: float = 50.0
    """New connections a second from one address, on average."""
    arrivals_burst: float = 1000.0
    """New connections from one address at once."""
    strangers: int = 4 * MIB
    """Bytes of bodies in the server's memory from callers without a seat."""
    strangers_by_address: int = MIB
    """Of these, bytes from one address; many sites may use one proxy."""
    connections: int = 2000
    """Open connections."""
    connections_by_address: int = 1000
    """Open connections from one address; many sites may use one proxy."""
    waiting: int = 16
    """Long polls of one seat at once."""
    handshake: float = 10.0
    """Seconds for a TLS handshake."""
    headers: float = 10.0
    """Seconds from the handshake to the first whole request."""
    idle: float = 120.0
    """Seconds between two requests on one connection, writing the answer included."""
    slowest: float = 8 * 1024.0
    """The fewest bytes a second of a body, after the time for headers; a slower one is refused."""


class Buckets:
    """A token bucket per name, for as many names as memory allows."""

    def __init__(
        self,
        rate: float,
        burst: float,
        *,
        names: int = 10_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Fill each bucket with `rate` tokens a second, up to `burst`."""
        self._rate = rate
        self._burst = burst
        self._names = names
        self._clock = clock
        self._buckets: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def level(self, name: object) -> float:
        """The current tokens of this name."""
        now = self._clock()
        tokens, then = self._buckets.get(name, (self._burst, now))
        return min(self._burst, tokens + (now - then) * self._rate)

    def check(self, name: object, what: str) -> None:
        """Refuse a name that has no token left."""
        level = self.level(name)
        if level < 1:
            wait = max(1, round((1 - level) / self._rate))
            raise Refusal(
                429,
                "too-many",
                f"more than {self._rate:g} {what} a second",
                facts={"retry_after": wait},
            )

    def take(self, name: object, tokens: float = 1.0) -> None:
        """Take tokens from this name; the level may become negative, by one burst at most."""
        level = max(self.level(name) - tokens, -self._burst)
        self._buckets[name] = (level, self._clock())
        self._buckets.move_to_end(name)
        while len(self._buckets) > self._names:
            self._buckets.popitem(last=False)
