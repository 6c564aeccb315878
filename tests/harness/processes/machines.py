"""A coordinator and its sites as processes of their own, over TLS, which a test can kill.

One process imports everything and forks the others (`python -m harness.processes.machines`), so
that a machine starts in milliseconds. It has the toy plan of `harness.network`; everything else of
it is what the commands run. Every machine writes its events and its result to a file.
"""

import asyncio
import ctypes
import hashlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from harness.entropy import SeededEntropy
from harness.examples.arrangements import BY_NAME, one_draw
from harness.network import Network, read_toy
from harness.processes.namespaces import Lan, enter
from harness.processes.storms import Storm
from harness.studies import notes
from sottovoce.cli.watching import as_line
from sottovoce.course.memory import run_study
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.errors import SottovoceError
from sottovoce.keyfiles.models import read_model
from sottovoce.node.approval import OpenGate, ScriptGate
from sottovoce.node.coordinator.serving import certificate_fingerprint, run_coordinator
from sottovoce.node.memberships import InvitationToken
from sottovoce.protocols.runner import Meddler
from sottovoce.study import Policy, Study
from sottovoce.study.arrangement import Remote, Weights
from sottovoce.study.in_memory import Setting
from sottovoce.study.release import RELEASES
from sottovoce.study.roster import draw_roster, peer_of
from sottovoce.text.documents import Document
from sottovoce.transport.request_handlers import RequestHandlers
from sottovoce.transport.signing import read_signed

TEXT = """
[study]
name = "urgency of notes"
coordinator = "Institute"
approval = "none needed: made up"
labels = ["routine", "urgent"]
dictionary = "{dictionary}"
{words}features = {features}
bucket_bits = 10
key_bits = 768
query_budget = 4000
release = "{release}"
engine = "{engine}"
verdict = "{verdict}"
{more}

[peers]
{peers}

[roles]
{roles}

[deadlines]
enrolment = "1 minute"
stage = "{stage}"
"""
COORDINATOR, WEATHER = "coordinator", "weather"
BODIES = "bodies.jsonl"
Forks: TypeAlias = "subprocess.Popen[str]"
_PR_SET_PDEATHSIG = 1
_documents = cache(notes)


@dataclass
class Leaving(Meddler):
    """Stops all seats of some organisations as a stage begins."""

    peers: tuple[str, ...]
    stage: str
    left: bool = False

    def at_stage(self, stage: str) -> None:
        self.left = self.left or stage == self.stage

    def crashes(self, party: str, step: int) -> bool:
        del step
        return self.left and peer_of(party) in self.peers


@dataclass(frozen=True)
class Scene:
    """What is studied: by how many sites, with which engine, and how long they wait."""

    engine: str = "shares"
    sites: int = 3
    documents: int = 240
    features: int = 16
    stage: str = "1 minute"
    release: str = "peers"
    dictionary: str = "given"
    more: str = ""
    arrangement: str = ""
    """One of `harness.examples.arrangements`, which then says everything."""

    @property
    def by_site(self) -> Mapping[str, Sequence[Document]]:
        if self.arrangement:
            return BY_NAME[self.arrangement].parts
        return _documents(self.documents, sites=self.sites)

    @property
    def machines(self) -> tuple[str, ...]:
        """A seat of every organisation but the coordinator's."""
        return BY_NAME[self.arrangement].sites if self.arrangement else tuple(self.by_site)

    @property
    def text(self) -> str:
        if self.arrangement:
            return BY_NAME[self.arrangement].text
        found: Counter[str] = Counter()
        for document in (each for mine in self.by_site.values() for each in mine):
            found.update(set(re.findall(r"[a-z]{4,}", document.text.lower())))
        words = [word for word, _ in found.most_common(self.features + 20)][20:]
        return TEXT.format(
            dictionary=self.dictionary,
            words=f"words = {json.dumps(words)}\n" if self.dictionary == "given" else "",
            features=self.features,
            engine=self.engine,
            peers="\n".join(f'{name} = "{name.title()} Hospital"' for name in self.by_site),
            roles=self._roles,
            verdict="fss" if self.engine == "shares" else "dgk",
            stage=self.stage,
            release=self.release,
            more=self.more,
        )

    @property
    def _roles(self) -> str:
        """Who helps; in engine quorum any one of the sites may leave, once there are four."""
        if self.engine == "quorum":
            return "threshold = 1"
        dealer = 'dealer = "harbour"' if self.engine == "shares" else ""
        return f'evaluator = "north"\n{dealer}'

    def undisturbed(self, *peers: str) -> "np.ndarray[Any, Any]":
        """The weights of a study in memory among these peers (all, unless told)."""
        weights = next(iter(self._in_memory(*peers).models.values())).released
        assert weights is not None
        return weights

    def left_by(self, *peers: str, stage: str) -> "np.ndarray[Any, Any]":
        """The weights of a study in memory that these peers leave as this stage begins.

        What the stages before it opened is of everybody: the dictionary, and the totals.
        """
        leaving = Leaving(peers, stage)
        setting = Setting(meddler=leaving, on_stage=leaving.at_stage)
        outcome = self._in_memory(setting=setting)
        stays = next(name for name in self.by_site if name not in peers)
        weights = outcome.models[stays].released
        assert weights is not None
        return weights

    def labels(self, peer: str, count: int) -> list[list[str]]:
        """The classes of a peer's first documents, by the weights of a study in memory."""
        if self.arrangement:
            with one_draw():
                outcome = BY_NAME[self.arrangement].in_memory()
            answer = outcome.classify(peer, self.by_site[peer][:count])
            return [list(class_) for class_ in answer.classes]
        outcome = replace(self, release="peers")._in_memory()
        return [
            list(class_) for class_ in outcome.classify(peer, self.by_site[peer][:count]).classes
        ]

    def _in_memory(self, *peers: str, setting: Setting | None = None) -> StudyOutcome:
        names = peers or tuple(self.by_site)
        roster, identities = draw_roster(
            names,
            entropy=SeededEntropy(2),
            with_dealer=self.engine == "shares",
            with_evaluator=self.engine != "quorum",
        )
        study = Study(read_toy(self.text).plan, roster)
        documents = {name: self.by_site[name] for name in names}
        return run_study(
            study, documents, identities=identities, entropy=SeededEntropy(3), setting=setting
        )


@dataclass(frozen=True)
class Order:
    """What a machine shall do: serve, join or classify, from which folder, at which address."""

    name: str
    root: str
    scene: Scene
    tokens: tuple[InvitationToken, ...]
    port: int
    address: str
    fingerprint: str
    log: str
    badness: float = 0.0
    space: str = ""
    stay: bool = False
    ask: int = 0
    approve: str = ""
    edited: bool = False

    def encode(self) -> str:
        content = asdict(self)
        for token in content["tokens"]:
            token["secret"] = token["secret"].hex()
        return json.dumps(content)

    @classmethod
    def decode(cls, line: str) -> "Order":
        content = json.loads(line)
        content["scene"] = Scene(**content["scene"])
        content["tokens"] = tuple(
            InvitationToken(
                **{
                    **token,
                    "seats": tuple(token["seats"]),
                    "secret": bytes.fromhex(token["secret"]),
                }
            )
            for token in content["tokens"]
        )
        return cls(**content)

    @property
    def host(self) -> str:
        return self.address.rpartition(":")[0].rpartition("/")[2]

    @property
    def network(self) -> Network:
        return Network(
            Path(self.root),
            self.scene.text,
            self.scene.by_site,
            tokens=self.tokens,
            port=self.port,
            fingerprint=bytes.fromhex(self.fingerprint),
            address=self.address,
        )


# In the processes.


@dataclass(frozen=True)
class ReadBody:
    """What a curious coordinator has read of a letter, or of a part of it."""

    sender: str
    place: tuple[str, ...]
    digest: str


def _be_curious(notes: Path) -> None:
    """Write down every body that the server's process reads, before anybody can refuse it."""
    real: Callable[..., Any] = RequestHandlers._body

    async def noted(handlers: Any, request: Any, limit: int, digest: Any) -> bytes:
        body: bytes = await real(handlers, request, limit, digest)
        if body and "to" in request.query:
            # Only a part of a long letter says where it begins.
            asked = {"offset": "0", **request.query}
            place = tuple(asked[field] for field in ("session", "to", "number", "offset"))
            sender = read_signed(request.headers).seat
            found = ReadBody(sender, place, hashlib.sha256(body).hexdigest())
            with notes.open("a") as out:
                out.write(json.dumps(asdict(found)) + "\n")
        return body

    RequestHandlers._body = noted  # type: ignore[method-assign]


async def _serve(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    _be_curious(Path(order.root) / BODIES)
    place = replace(order.network.place, host=order.host)
    until = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, until.set)
    await run_coordinator(place, read=read_toy, on_event=tell, until=until)
    return {}


async def _join(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    policy = Policy(
        key_bits=768,
        min_peers=1,
        releases=frozenset(RELEASES.values()),
        remotes=frozenset(Remote),
        weights=frozenset(Weights),
    )
    gate = ScriptGate(Path(order.approve)) if order.approve else OpenGate()
    mine = [*order.scene.by_site.get(order.name, ())]
    if order.edited:
        mine[0] = replace(mine[0], text="redacted")
    joined = await order.network.join(
        order.name,
        (lambda: mine) if mine else None,
        policy=policy,
        on_event=tell,
        stay=order.stay,
        gate=gate,
    )
    if joined.model is None:
        return {"weights": None}
    _, model = read_model(joined.model, joined.study)
    weights = None if model.released is None else model.released.tolist()
    return {"weights": weights, "peers": list(joined.study.roster.peers)}


async def _ask(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    del tell
    net, documents = order.network, order.scene.by_site[order.name]
    return {"labels": (await net.classify(order.name, documents[: order.ask])).classes}


async def _blow(order: Order, tell: Callable[[Any], None]) -> dict[str, Any]:
    del tell
    port = int(order.address.rpartition(":")[2])
    weather = Storm(order.port, port=port, badness=order.badness)
    await weather.blow(order.network.place.folder)
    return {"fates": dict(weather.fates)}


_PROGRAMS = {COORDINATOR: _serve, WEATHER: _blow}


def _live(order: Order) -> None:
    with Path(order.log).open("a", buffering=1) as log:
        program = _PROGRAMS.get(order.name, _ask if order.ask else _join)
        drawn = one_draw() if order.scene.arrangement else nullcontext()
        try:
            with drawn:
                result = asyncio.run(program(order, lambda event: print(as_line(event), file=log)))
        except SottovoceError as error:
            party = getattr(error, "party", "")
            result = {"error": type(error).__name__, "message": str(error), "party": party}
        print(json.dumps({"event": "result", **result}), file=log)


def _fork(order: Order) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        # Whatever becomes of the tests, no machine outlives them.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() == parent:
            output = os.open(order.log + ".err", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            for number in (1, 2):
                os.dup2(output, number)
            if order.space:
                enter(order.space)
            _live(order)
            status = 0
    finally:
        os._exit(status)


def serve_forks() -> None:
    """Fork a machine for every line of standard input.

    Those that ended are not reaped: while this process lives their numbers are nobody else's.
    """
    for line in sys.stdin:
        sys.stdout.write(f"{_fork(Order.decode(line))}\n")
        sys.stdout.flush()


# In the test.


@dataclass
class Machine:
    """One process."""

    name: str
    pid: int
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines() if line[-1:] == "}"]

    def until(self, event: str, *, seconds: float = 150.0, **like: Any) -> dict[str, Any]:
        """The first event of this kind that has these values."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for line in self.lines():
                if line["event"] == event and all(line[key] == like[key] for key in like):
                    return line
                if line["event"] == "result" and event != "result":
                    raise AssertionError(f"{self.name} ended before {event} {like}: {line}")
            time.sleep(0.01)
        raise AssertionError(f"{self.name}: no {event} {like} in {seconds} s\n{self.story()}")

    def result(self, *, seconds: float = 150.0) -> dict[str, Any]:
        return self.until("result", seconds=seconds)

    def story(self) -> str:
        errors = Path(f"{self.log}.err")
        told = [str(line) for line in self.lines() if line["event"] != "moved"]
        return "\n".join([*told, errors.read_text() if errors.exists() else ""])

    def until_moved(self, stage: str, letters: int, *, seconds: float = 150.0) -> None:
        """Until so many letters of a stage came or went."""
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for line in self.lines():
                if (
                    line["event"] == "moved"
                    and line["stage"] == stage
                    and line["letters"] >= letters
                ):
                    return
            time.sleep(0.01)
        raise AssertionError(f"{self.name}: too few letters of {stage}\n{self.story()}")

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

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)


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
        found = [self[site].result() for site in names or self.sites]
        problems = [result for result in found if result.get("weights") is None]
        assert not problems, (problems, *(machine.story() for machine in self.machines.values()))
        assert all(result["weights"] == found[0]["weights"] for result in found)
        return np.array(found[0]["weights"])

    def check_model(self, *names: str, of: Sequence[str] = ()) -> None:
        """These sites (all, unless told) hold one model: that of a study in memory among them.

        `of` are those whose text is in it, if there were more.
        """
        found, expected = self.weights(*names), self.scene.undisturbed(*(of or names))
        np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 * np.abs(expected).max())

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
        [sys.executable, "-m", "harness.processes.machines"],
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


if __name__ == "__main__":
    serve_forks()
