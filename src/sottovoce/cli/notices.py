"""Notices for people whom a site needs: to a program of the site, or to a web address."""

import json
import logging
import shutil
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Queue
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from sottovoce.course import news
from sottovoce.course.control import COORDINATOR
from sottovoce.errors import InputError
from sottovoce.node import events
from sottovoce.wire.addresses import origin_of
from sottovoce.wire.tags import kebab

if TYPE_CHECKING:
    from sottovoce.node.events import Event

_log = logging.getLogger("sottovoce.notices")
_SECONDS = 30
_WAITING = 100
NEEDED = (
    events.Listening,
    events.RosterKnown,
    news.StudyFinished,
    news.StudyStopped,
    events.SeatLost,
    events.SeatWithdrawn,
    news.AttemptFailed,
    events.LineLost,
)
"""The events of which people get a notice."""


@dataclass
class Notices:
    """Delivers notices one after the other, and never delays a study."""

    place: str
    _queue: "Queue[bytes | None]" = field(default_factory=lambda: Queue(_WAITING))

    def __post_init__(self) -> None:
        self._deliver = _delivery(self.place)
        self._thread = threading.Thread(target=self._work, name="notices", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._queue.put(None)
        self._thread.join(_SECONDS)

    def on_event(self, event: "Event") -> None:
        """Queue a notice of an event that needs people, with its study, seat and time."""
        if not isinstance(event, NEEDED) or self._queue.full():
            return
        self._queue.put(json.dumps({**_named(event), "at": time.time()}).encode())

    def _work(self) -> None:
        while (notice := self._queue.get()) is not None:
            try:
                self._deliver(notice)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                _log.warning("a notice was not delivered (%s)", _why(error))


def _named(event: "Event") -> dict[str, str]:
    """An event, its study and its seat; a coordinator listens for all its studies."""
    kind = kebab(type(event).__name__)
    if isinstance(event, news.SeatEvent):
        return {"event": kind, "study": event.study, "seat": event.seat}
    return {"event": kind, "study": "", "seat": COORDINATOR}


def _why(error: Exception) -> str:
    """The kind of an error and never its words, which may hold a secret of the address."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return type(reason if isinstance(reason, Exception) else error).__name__


def _delivery(place: str) -> Callable[[bytes], None]:
    """The delivery of notices to this place; an impossible place is refused."""
    parts = urlsplit(place)
    if parts.scheme in {"http", "https"}:
        if parts.scheme == "http" and parts.hostname not in {"127.0.0.1", "::1", "localhost"}:
            raise InputError(
                f"--notify: expected https, found http to {parts.hostname}",
                hints=("--notify https://…",),
            )
        return lambda notice: _post(place, notice)
    program = shutil.which(place)
    if program is None:
        raise InputError(
            f"--notify: expected a program or an https address, found {origin_of(place)!r}",
            hints=("chmod +x the program, and name it with its path",),
        )
    return lambda notice: _run(program, notice)


def _post(address: str, notice: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(address, notice, headers)  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
        answer.read(1)


def _run(program: str, notice: bytes) -> None:
    subprocess.run(  # noqa: S603 - the site's own program, without a shell
        [program], input=notice, timeout=_SECONDS, check=True, capture_output=True
    )
