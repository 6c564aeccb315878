"""Terminals of one machine, in which a page's commands are typed, one process a line."""

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

WAIT_SECONDS = 400


def typed(page: str, number: int) -> list[str]:
    """What is typed in a terminal of a page."""
    (block,) = re.findall(rf"```console terminal {number}\n(.*?)```", page, re.DOTALL)
    return [line.removeprefix("$ ") for line in block.splitlines()]


@dataclass(frozen=True)
class Machine:
    """A folder in which all terminals are open, and a port that is free."""

    folder: Path
    port: int
    started: list[subprocess.Popen[bytes]]

    def type(self, line: str, log: str, *, home: str = "") -> subprocess.Popen[bytes]:
        """Start what a line says; its output goes to a file."""
        words = line.replace("8443", str(self.port)).removesuffix(" &")
        command = words.replace("sottovoce ", f"{shlex.quote(sys.executable)} -m sottovoce ")
        with (self.folder / log).open("ab") as out:
            process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}" if "|" not in command else command],
                cwd=self.folder,
                env={**os.environ, **self.environment(home)},
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.started.append(process)
        return process

    def environment(self, home: str) -> dict[str, str]:
        settings = {"SOTTOVOCE_SERVE_PORT": str(self.port), "SOTTOVOCE_SERVE_HOST": "127.0.0.1"}
        return settings | ({"SOTTOVOCE_HOME": home} if home else {})

    def done(self, line: str, log: str, *, home: str = "", answers: bytes = b"") -> str:
        """Type a line, answer its questions, and wait for its end."""
        process = self.type(line, log, home=home)
        process.communicate(answers, timeout=WAIT_SECONDS)
        said = (self.folder / log).read_text(encoding="utf-8")
        assert process.returncode == 0, said
        return said

    def wait_for(self, words: str, log: str) -> None:
        """Wait until somebody said something."""
        deadline = time.monotonic() + WAIT_SECONDS
        while words not in (self.folder / log).read_text(encoding="utf-8"):
            assert time.monotonic() < deadline, (self.folder / log).read_text(encoding="utf-8")
            time.sleep(0.1)


@contextmanager
def opened(folder: Path) -> Iterator[Machine]:
    """Terminals in a folder; what still runs at the end is stopped."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = Machine(folder, port, [])
    try:
        yield result
    finally:
        for process in result.started:
            if process.stdin is not None and not process.stdin.closed:
                process.stdin.close()
            process.terminate()
        for process in result.started:
            process.wait(timeout=300)


def exported(lines: list[str]) -> tuple[str, list[str]]:
    """The home that a terminal exports first, and the other lines."""
    name, _, home = lines[0].removeprefix("export ").partition("=")
    assert name == "SOTTOVOCE_HOME"
    return home, lines[1:]
