"""A coordinator and its sites as processes of their own, over TLS, which a test can kill."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from harness.network import Network
from harness.processes.forked import ReadBody
from harness.processes.namespaces import Lan
from harness.processes.scenes import BODIES, COORDINATOR, WEATHER, WHERE, Order, Scene
from sottovoce.node.coordinator.serving import certificate_fingerprint
from sottovoce.node.memberships import InvitationToken

Forks: TypeAlias = "subprocess.Popen[str]"


@dataclass
class Machine:
    """One process."""

    name: str
    pid: int
    log: Path
    past_lines: list[dict[str, Any]] = field(default_factory=list)
    taken: int = 0
    """The number of bytes of the log that were read already."""

    def lines(self) -> list[dict[str, Any]]:
        """Every event so far; what is new in the log is read, and nothing twice."""
        if self.log.exists():
            with self.log.open("rb") as log:
                log.seek(self.taken)
                whole, end, _ = log.read().rpartition(b"\n")
            self.taken += len(whole + end)
            self.past_lines += [json.loads(line) for line in whole.splitlines()]
        return self.past_lines

    def until(self, event: str, *, seconds: float = 150.0, **like: Any) -> dict[str, Any]:
        """The first event of this kind that has these values."""

        def wanted(line: dict[str, Any]) -> bool:
            if line["event"] == event:
                return like.items() <= line.items()
            if line["event"] == "result":
                raise AssertionError(f"{self.name} ended before {event} {like}: {line}")
            return False

        return self._first(wanted, f"{event} {like}", seconds)

    def _first(
        self, wanted: Callable[[dict[str, Any]], bool], what: str, seconds: float
    ) -> dict[str, Any]:
        """The first event that is wanted; every one is looked at once."""
        ends, seen = time.monotonic() + seconds, 0
        while time.monotonic() < ends:
            for line in self.lines()[seen:]:
                seen += 1
                if wanted(line):
                    return line
            time.sleep(0.02)
        raise AssertionError(f"{self.name}: no {what} in {seconds} s\n{self.story()}")

    def result(self, *, seconds: float = 150.0) -> dict[str, Any]:
        return self.until("result", seconds=seconds)

    def story(self) -> str:
        errors = Path(f"{self.log}.err")
        lines = [str(line) for line in self.lines() if line["event"] != "moved"]
        return "\n".join([*lines, errors.read_text() if errors.exists() else ""])

    def until_moved(self, stage: str, letters: int, *, seconds: float = 150.0) -> None:
        """Until so many letters of a stage came or went."""

        def enough(line: dict[str, Any]) -> bool:
            moved = line["event"] == "moved" and line["stage"] == stage
            return moved and line["letters"] >= letters

        self._first(enough, f"{letters} letters of {stage}", seconds)

    def kill(self) -> None:
        """kill −9, and wait until it is dead: its files and its port are free then.

        The first thread may be dead while others, which have the same files, are still dying.
        """
        os.kill(self.pid, signal.SIGKILL)
        process = Path(f"/proc/{self.pid}")
        while (process / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.005)
        while len(list((process / "task").iterdir())) > 1:
            time.sleep(0.005)

    @property
    def alive(self) -> bool:
        """Whether it runs; one that was killed or ended stays as a name alone."""
        return (Path("/proc") / str(self.pid) / "stat").read_text().rpartition(")")[2][1] != "Z"

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)


def assert_weights(weights: "np.ndarray[Any, Any]", expected: "np.ndarray[Any, Any]") -> None:
    """These weights are those, as exactly as fixed point says."""
    np.testing.assert_allclose(weights, expected, rtol=0, atol=2e-3 * np.abs(expected).max())


@dataclass
class Village:
    """All machines of one study."""

    scene: Scene
    root: Path
    forks: Forks
    tokens: tuple[InvitationToken, ...] = ()
    port: int = 0
    through: int = 0
    """The port by which sites reach the coordinator, where something stands in between."""
    fingerprint: bytes = b""
    machines: dict[str, Machine] = field(default_factory=dict)
    starts: Counter[str] = field(default_factory=Counter)
    badness: float = 0.0
    lan: Lan | None = None

    def create(self) -> None:
        self.port = free_port()
        net = Network(self.root, self.scene.text, self.scene.by_site, port=self.port)
        net.create()
        self.tokens = net.tokens
        self.fingerprint = certificate_fingerprint(net.place)

    def start(
        self,
        *names: str,
        stay: bool = False,
        ask: int = 0,
        approve: Path | None = None,
        edited: bool = False,
        root: Path | None = None,
    ) -> None:
        """Start machines, or start them again: to join and leave, to stay and deal, or to ask.

        A site whose documents were `edited` redacted the first; `root` is where a copy lies.
        """
        for name in names:
            log = self.root / f"{name}.{self.starts[name]}.jsonl"
            self.starts[name] += 1
            order = Order(
                name,
                str(root or self.root),
                self.scene,
                self.tokens,
                self.port,
                f"https://{self.host}:{self.through or self.port}",
                self.fingerprint.hex(),
                str(log),
                self.badness,
                self.lan.names[name] if self.lan else "",
                stay,
                ask,
                "" if approve is None else str(approve),
                edited,
            )
            assert self.forks.stdin is not None
            assert self.forks.stdout is not None
            self.forks.stdin.write(order.encode() + "\n")
            self.forks.stdin.flush()
            self.machines[name] = Machine(name, int(self.forks.stdout.readline()), log)

    def result(self, name: str, *, seconds: float) -> dict[str, Any]:
        """What came of a machine; if nothing does, what all of them did."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            self.check_health()
            with suppress(AssertionError):
                return self.machines[name].result(seconds=0.2)
        raise AssertionError(f"{name}: no result in {seconds} s\n{self.stories()}")

    def check_health(self) -> None:
        """Fail if a machine ended by itself without a result, or with an error.

        The others would wait for it until their time is over, and the test with them.
        """
        for name, machine in self.machines.items():
            # Look first whether it lives: its result may be written while we look.
            alive = machine.alive
            results = [line for line in machine.lines() if line["event"] == "result"]
            if (results and "error" in results[-1]) or not (alive or results):
                raise AssertionError(f"{name} failed\n{self.stories()}")

    def boundary(self, kind: str, stage: str, *, seconds: float) -> None:
        """Until the coordinator told of this boundary, now or before it was killed.

        One that is killed late, because we were slow, has passed the next boundary already.
        """
        ends = time.monotonic() + seconds
        logs = (f"{COORDINATOR}.{life}.jsonl" for life in range(self.starts[COORDINATOR]))
        lives = [Machine(COORDINATOR, 0, self.root / log) for log in logs]
        while time.monotonic() < ends:
            self.check_health()
            for line in (line for life in lives for line in life.lines()):
                if (line["event"], line.get("stage")) == (kind, stage):
                    return
            time.sleep(0.02)
        raise AssertionError(f"no {kind} {stage} in {seconds} s\n{self.stories()}")

    def stories(self) -> str:
        """What all machines did, and where each of them is now: who waits for whom."""
        living = [machine for machine in self.machines.values() if machine.alive]
        for machine in living:
            machine.signal(WHERE)
        time.sleep(2.0 if living else 0.0)
        stories = [f"== {name}\n{machine.story()}" for name, machine in self.machines.items()]
        return "\n".join(stories)

    @property
    def host(self) -> str:
        return self.lan.addresses[COORDINATOR] if self.lan else "127.0.0.1"

    def brew(self, badness: float) -> Machine:
        """Put bad weather between the sites and the coordinator."""
        self.through, self.badness = free_port(), badness
        self.start(WEATHER)
        return self[WEATHER]

    def restart(self, name: str, *, stay: bool = False) -> None:
        """What kill −9 leaves goes on."""
        self.machines[name].kill()
        self.start(name, stay=stay)

    @property
    def place(self) -> Path:
        return self.root / "coordinator-home"

    @property
    def sites(self) -> tuple[str, ...]:
        return self.scene.machines

    def start_all(self) -> None:
        self.start(COORDINATOR, *self.sites)

    def __getitem__(self, name: str) -> Machine:
        return self.machines[name]

    def weights(self, *names: str) -> "np.ndarray[Any, Any]":
        """The weights that all these sites (all, unless told) hold, which must be the same."""
        results = [self[site].result() for site in names or self.sites]
        problems = [result for result in results if result.get("weights") is None]
        assert not problems, (problems, *(machine.story() for machine in self.machines.values()))
        assert all(result["weights"] == results[0]["weights"] for result in results)
        return np.array(results[0]["weights"])

    def check_model(self, *names: str, of: Sequence[str] = ()) -> None:
        """These sites (all, unless told) hold one model: that of a study in memory among them.

        `of` are those whose text is in it, if there were more.
        """
        weights, expected = self.weights(*names), self.scene.undisturbed(*(of or names))
        assert_weights(weights, expected)

    def check_left(self, *gone: str, stage: str) -> None:
        """The others hold the model of a study in memory that these sites leave in this stage.

        In the agreement there is a new roster: they never were in the study.
        """
        stay = [site for site in self.sites if site not in gone]
        never = stage == "agreement"
        expected = (
            self.scene.undisturbed(*stay) if never else self.scene.left_by(*gone, stage=stage)
        )
        assert_weights(self.weights(*stay), expected)

    def bodies(self) -> list[ReadBody]:
        """Every body that the coordinator's process has read of a letter, in order."""
        path = self.root / BODIES
        lines = path.read_text().splitlines() if path.exists() else []
        read = [json.loads(line) for line in lines if line[-1:] == "}"]
        return [ReadBody(body["sender"], tuple(body["place"]), body["digest"]) for body in read]

    def end(self) -> None:
        for machine in self.machines.values():
            machine.kill()


def free_port() -> int:
    """One that no outgoing connection takes for itself while a killed server is down."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def forking(folder: Path) -> Iterator[Forks]:
    """The process that forks machines."""
    settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    settings["PYTHONPATH"] = str(folder.parent)  # the list of arrangements is in benchmarks
    with subprocess.Popen(
        [sys.executable, "-m", "harness.processes.forked"],
        cwd=folder,
        env=os.environ | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forks:
        try:
            yield forks
        finally:
            forks.kill()


@contextmanager
def village(scene: Scene, root: Path, forks: Forks) -> Iterator[Village]:
    """Machines that all end with the test."""
    made = Village(scene, root, forks)
    made.create()
    try:
        yield made
    finally:
        made.end()
