"""How long short commands take beside a Python that does nothing, as processes of their own."""

import json
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

_PEERS = ("north", "harbour", "stanmore")
_NOTES = ("north", "harbour", "valley")
_PATIENCE = 300.0
_EMPTY = "python -c pass"
_FIRST = "to its first words"


@dataclass(frozen=True)
class Took:
    """Seconds of one process: by the clock, of its cores, and until it said something."""

    wall: float
    cpu: float
    first: float


def measure(
    repeats: int, *, loopback: bool, progress: Callable[[str], None] = lambda _: None
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Facts and rows: the median of several runs of every command."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        progress("a study on this machine")
        with _study(folder) if loopback else _invited() as commands:
            runs = {
                what: _runs(what, words, folder, repeats, progress)
                for what, words in {_EMPTY: ("-c", "pass"), **commands}.items()
            }
    empty = statistics.median(run.cpu for run in runs[_EMPTY])
    rows = [_row(what, took, empty) for what, took in runs.items()]
    return {"runs of each": repeats, "cores": os.cpu_count() or 1}, rows


def _row(what: str, runs: list[Took], empty: float) -> dict[str, object]:
    cpu = statistics.median(run.cpu for run in runs)
    return {
        "command": what,
        "cpu s": cpu,
        "times empty": cpu / empty,
        "first words after s": statistics.median(run.first for run in runs),
        "wall s": statistics.median(run.wall for run in runs),
    }


def _runs(
    what: str, words: tuple[str, ...], folder: Path, repeats: int, progress: Callable[[str], None]
) -> list[Took]:
    """Several runs, after one for the cache of the disk and the compiled modules."""
    progress(what)
    return [_timed(words, folder, to_the_end=_FIRST not in what) for _ in range(repeats + 1)][1:]


def _timed(words: tuple[str, ...], folder: Path, *, to_the_end: bool) -> Took:
    """One run, to its end or to its first words."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with subprocess.Popen(  # noqa: S603 - our own commands
        [sys.executable, *words],
        cwd=folder,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
    ) as process:
        assert process.stdout is not None
        said = process.stdout.read(1)
        first = time.monotonic() - began
        if not to_the_end:
            process.kill()
        said += process.stdout.read()
    wall = time.monotonic() - began
    if to_the_end and process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}: {said.decode()}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Took(wall, cpu, first)


def _environment() -> Mapping[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("SOTTOVOCE")}


def _command(*words: str) -> tuple[str, ...]:
    return ("-m", "sottovoce", *words)


_HELP = {"--help": _command("--help")}


@contextmanager
def _invited() -> Iterator[dict[str, tuple[str, ...]]]:
    """A site with an invitation to a coordinator that does not answer."""
    from sottovoce.node.invitations import Invitation

    expires = datetime.now(UTC) + timedelta(days=1)
    line = Invitation(
        f"https://127.0.0.1:{_free_port()}",
        bytes(32),
        "study",
        "A study",
        "North",
        ("north",),
        bytes(32),
        expires,
    ).line
    join = _command("join", line, "--home", "site", "--dry-run")
    status = _command("status", "--home", "site")
    yield {**_HELP, f"join, {_FIRST}": join, "status": status}


@dataclass
class _Study:
    """A study of three sites as processes on this machine."""

    folder: Path
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, *words: str, log: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as out:
            process = subprocess.Popen(  # noqa: S603 - our own commands
                [sys.executable, *_command(*words)],
                cwd=self.folder,
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.started.append(process)
        return process

    def done(self, *words: str) -> str:
        done = subprocess.run(  # noqa: S603 - our own commands
            [sys.executable, *_command(*words)],
            cwd=self.folder,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def wait_for(self, words: str, log: str) -> None:
        deadline = time.monotonic() + _PATIENCE
        while words not in (self.folder / log).read_text(encoding="utf-8"):
            if time.monotonic() > deadline:
                raise SystemExit((self.folder / log).read_text(encoding="utf-8"))
            time.sleep(0.1)

    def stop(self) -> None:
        for process in self.started:
            process.send_signal(signal.SIGTERM)
        for process in self.started:
            process.wait()


@contextmanager
def _study(folder: Path) -> Iterator[dict[str, tuple[str, ...]]]:
    """The sites of a trained study with its members at work, and one document to label."""
    study = _Study(folder)
    try:
        _train(study)
        note = json.dumps({"text": "chest pain since this morning"})
        (folder / "new.jsonl").write_text(note + "\n", encoding="utf-8")
        out = ("--out", "labelled.csv", "--replace")
        classify = _command("classify", "new.jsonl", "--home", _PEERS[0], *out)
        status = _command("status", "--home", _PEERS[0])
        yield {**_HELP, "status": status, "classify one document": classify}
    finally:
        study.stop()


def _train(study: _Study) -> None:
    port = str(_free_port())
    text = re.sub("(?m)^features = .*", "features = 64", study.done("study", "create", "--example"))
    (study.folder / "study.toml").write_text(text, encoding="utf-8")
    address = f"https://127.0.0.1:{port}"
    place = ("--address", address, "--out", "invitations", "--home", "cate")
    study.done("study", "create", "study.toml", *place)
    study.done("notes", "--out", "site-notes")
    study.start("serve", "--home", "cate", "--host", "127.0.0.1", "--port", port, log="serve.log")
    for peer, notes in zip(_PEERS, _NOTES, strict=True):
        data = ("--data", f"site-notes/{notes}.csv", "--label", "urgency")
        study.start(
            "join", f"invitations/{peer}", "--home", peer, *data, "--yes", log=f"{peer}.log"
        )
    for peer in _PEERS:
        study.wait_for(f"member-{peer}: the training is finished", f"{peer}.log")


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
