"""The commands of a study as processes of their own, which never outlive the demo."""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sottovoce.errors import AbsenceError

STOP_SECONDS = 5.0
Event = Mapping[str, Any]


class Command:
    """One running command, whose standard output is a JSON object a line."""

    def __init__(self, name: str, arguments: Sequence[str], *, log: Path) -> None:
        """Start it; what it says to people goes to the file `log`."""
        self.name = name
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
                    found = json.loads(line)
                    if isinstance(found, dict):
                        self._events.put(found)
        self._events.put(None)

    def wait_for(self, kind: str, *, seconds: float, **fields: str) -> Event:
        """The next event of this kind with these fields."""
        for event in self.events(seconds=seconds):
            if event.get("event") == kind and fields.items() <= event.items():
                return event
        raise AbsenceError(f"ended before {kind!r}: {self.said()}", party=self.name)

    def events(self, *, seconds: float) -> Iterator[Event]:
        """What it says, until it ends."""
        while True:
            try:
                event = self._events.get(timeout=seconds)
            except queue.Empty:
                raise AbsenceError(
                    f"expected a word within {seconds:g} s, found silence: {self.said()}",
                    party=self.name,
                ) from None
            if event is None:
                self._events.put(None)
                return
            yield event

    def result(self, *, seconds: float) -> Event:
        """The last thing that a command says which ends by itself."""
        last: Event = {}
        for event in self.events(seconds=seconds):
            last = event
        if self._process.wait(timeout=seconds) != 0:
            raise AbsenceError(f"failed: {self.said()}", party=self.name)
        return last

    def said(self) -> str:
        """The last line that it said to people."""
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

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
        """Logs go below `folder`."""
        self._folder = folder
        self._running: list[Command] = []

    def start(self, name: str, *arguments: object) -> Command:
        """Start one."""
        log = self._folder / f"{name}.log"
        with _undisturbed():
            command = Command(name, [str(one) for one in arguments], log=log)
            self._running.append(command)
        return command

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
    found = Commands(folder)
    try:
        yield found
    finally:
        found.stop()
