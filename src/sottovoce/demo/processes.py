"""The commands of a study as processes of their own, which never outlive the demo."""

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sottovoce.errors import AbsenceError

STOP_SECONDS = 5.0
GLANCE_SECONDS = 1.0
Event = Mapping[str, Any]


class Command:
    """One running command, whose standard output is a JSON object a line."""

    def __init__(
        self, name: str, arguments: Sequence[str], *, log: Path, check: Callable[[], None]
    ) -> None:
        """Start it; its output for people goes to `log`; `check` runs while somebody waits."""
        self.name = name
        self._check = check
        self._told = False
        self._log = log
        with log.open("ab") as errors:
            self._process = subprocess.Popen(  # noqa: S603 - our own command, without a shell
                [sys.executable, "-m", "sottovoce", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._events: queue.Queue[Event | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with suppress(ValueError):
                    event = json.loads(line)
                    if isinstance(event, dict):
                        self._events.put(event)
        self._events.put(None)

    def wait_for(self, kind: str, *, seconds: float, **fields: str) -> Event:
        """The next event of this kind with these fields."""
        for event in self.events(seconds=seconds):
            if event.get("event") == kind and fields.items() <= event.items():
                return event
        raise AbsenceError(f"ended before {kind!r}: {self.said()}", party=self.name)

    def events(self, *, seconds: float) -> Iterator[Event]:
        """Yield its events until it ends."""
        while (event := self._next(seconds)) is not None:
            yield event
        self._events.put(None)

    def _next(self, seconds: float) -> Event | None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with suppress(queue.Empty):
                return self._events.get(timeout=GLANCE_SECONDS)
            # Silence here may be the end of another one, for which this one waits.
            self._check()
        raise AbsenceError(
            f"expected a word within {seconds:g} s, found silence: {self.said()}", party=self.name
        )

    def result(self, *, seconds: float) -> Event:
        """The last thing that a command says which ends by itself."""
        last: Event = {}
        for event in self.events(seconds=seconds):
            last = event
        self._process.wait(timeout=seconds)
        self.check()
        return last

    def said(self) -> str:
        """The last line that it said to people."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def check(self) -> None:
        """Raise if it ended with an error, once."""
        if self._process.poll() and not self._told:
            self._told = True
            raise AbsenceError(f"failed: {self.said()}", party=self.name)

    def stop(self) -> None:
        """End it, kindly if it can be done."""
        if self._process.poll() is None:
            self._process.terminate()

    def gone(self) -> None:
        """Be sure that it is gone."""
        try:
            self._process.wait(timeout=STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._listener.join()


class Commands:
    """All commands of a demo."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[Command] = []

    def start(self, name: str, *arguments: object) -> Command:
        """Start one."""
        log = self._folder / f"{name}.log"
        with _undisturbed():
            command = Command(
                name, [str(argument) for argument in arguments], log=log, check=self._check
            )
            self._running.append(command)
        return command

    def _check(self) -> None:
        for command in self._running:
            command.check()

    def stop(self) -> None:
        """End all of them."""
        for command in self._running:
            command.stop()
        for command in self._running:
            command.gone()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C counts when a process is on our list: not between its start and then."""
    came = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: came.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came.is_set():
        raise KeyboardInterrupt


@contextmanager
def commands(folder: Path) -> Iterator[Commands]:
    """Commands that are all gone at the end, however it comes."""
    running = Commands(folder)
    try:
        yield running
    finally:
        running.stop()
