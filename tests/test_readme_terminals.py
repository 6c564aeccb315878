"""The tutorial's session was executed, one process a line, in four terminals."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorials" / "three-machines.md").read_text(encoding="utf-8")
WAIT_SECONDS = 400


def lines_of(number: int) -> list[str]:
    """What is typed in a terminal."""
    (block,) = re.findall(rf"```console terminal {number}\n(.*?)```", PAGE, re.DOTALL)
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


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = Machine(tmp_path, port, [])
    yield found
    for process in found.started:
        if process.stdin is not None and not process.stdin.closed:
            process.stdin.close()
        process.terminate()
    for process in found.started:
        process.wait(timeout=300)


def exported(lines: list[str]) -> tuple[str, list[str]]:
    """The home that a terminal exports first, and the other lines."""
    name, _, home = lines[0].removeprefix("export ").partition("=")
    assert name == "SOTTOVOCE_HOME"
    return home, lines[1:]


def test_the_session_in_four_terminals_works(machine: Machine) -> None:
    machine.done("sottovoce notes --sites 3 --documents 300 --out site-notes", "notes.log")
    cate, (example, create, serve) = exported(lines_of(1))
    machine.done(example, "example.log", home=cate)
    machine.done(create, "create.log", home=cate)
    machine.type(serve, "serve.log", home=cate)
    machine.wait_for("serving at", "serve.log")
    *others, harbour = lines_of(2)
    for line in others:
        machine.type(line, f"{line.split('--home ')[1].split()[0]}.log")
    interrupt(machine, harbour)
    carol, (join,) = exported(lines_of(3))
    shown = machine.done(f"{join} --dry-run", "dry.log", home=carol)
    assert "| contributions | contribution-plane | members |" in shown
    assert "dry run: nothing was sent" in shown
    assert "stanmore: enrolled" not in (machine.folder / "serve.log").read_text(encoding="utf-8")
    third = machine.type(join, "join.log", home=carol)
    assert third.stdin is not None
    third.stdin.write(b"y\ny\n")
    third.stdin.flush()
    machine.wait_for("member-stanmore: the training is finished", "join.log")
    said = (machine.folder / "join.log").read_text(encoding="utf-8")
    assert "# Study card: urgency of clinical notes" in said
    assert "stanmore: Stanmore Practice, peer (this site)" in said
    assert "Compare these words with the other sites" in said
    carol, (classify, ledger) = exported(lines_of(4))
    assert "rows labelled" in machine.done(classify, "classify.log", home=carol)
    labelled = (machine.folder / "labelled.csv").read_text(encoding="utf-8")
    assert labelled.splitlines()[0].startswith("text,label,")
    sent = machine.done(ledger, "ledger.log", home=carol)
    assert "contribution-plane to member-harbour" in sent
    assert "reveals nothing: as many shares as the threshold are uniform" in sent
    check_mistakes(machine, join)


def interrupt(machine: Machine, join: str) -> None:
    """Ctrl-C while it waits for the others; `join` without an invitation goes on."""
    waiting = machine.type(join, "harbour.log")
    machine.wait_for("member-harbour: enrolled", "harbour.log")
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=WAIT_SECONDS) == 130
    said = (machine.folder / "harbour.log").read_text(encoding="utf-8")
    again = r"stopped, and nothing is lost: `sottovoce join --home harbour --study \w+` goes on"
    assert re.search(again, said)
    machine.type("sottovoce join --home harbour --yes", "again.log")


def check_mistakes(machine: Machine, join: str) -> None:
    """The same server, and people who do not do as they should."""
    again = machine.type(f"{join} --yes", "reused.log", home="thief")
    assert again.wait(timeout=WAIT_SECONDS) == 1
    assert "not used yet" in (machine.folder / "reused.log").read_text(encoding="utf-8")
    column = join.replace("--label urgency", "--label urgncy")
    wrong = machine.type(f"{column} --dry-run", "column.log", home="carol-again")
    assert wrong.wait(timeout=WAIT_SECONDS) == 1
    said = (machine.folder / "column.log").read_text(encoding="utf-8")
    assert "error: " in said
    assert "urgncy" in said
