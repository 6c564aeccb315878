"""The same small study in memory and over TLS on loopback, CPU of all parties of each.

Coordinator and sites run in this process with a folder each, and speak through the coordinator's
port: every letter is sealed, signed, stored and written into ledgers. The Paillier key is made
before. Then one site asks for labels, both ways; over TLS once more before that, for a few, so that
the seats of the others are up.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from benchmarks.studies.carried import Carried, counted
from benchmarks.timing import cpu_seconds, one_thread
from sottovoce.cli.terminal.measurements import Row
from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.course.training.memory import run_study
from sottovoce.datasets import clinical_notes
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.keyfiles import storage
from sottovoce.node.api import ConsentQuestion, JoinOptions
from sottovoce.node.coordinator.serving import create_study, run_coordinator
from sottovoce.node.events import Event, Listening
from sottovoce.node.memberships import CoordinatorPlace, InvitationToken, Membership
from sottovoce.node.site.asking import classify, in_hand
from sottovoce.node.site.joining import join
from sottovoce.paillier import SecretKey
from sottovoce.study import Policy, Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster
from sottovoce.text.documents import Document

Progress = Callable[[str], None]

# Labels that are asked for first, while the others' seats come up.
_FIRST_LABELS = 10
SITES = ("north", "harbour", "valley")
TEXT = """
[study]
name = "bench network"
coordinator = "institute"
approval = "none needed: made up"
labels = ["routine", "urgent"]
features = {features}
bucket_bits = 14
key_bits = {key_bits}
query_budget = 1000000
engine = "{engine}"
{beside}
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
{roles}
[deadlines]
enrolment = "10 minutes"
stage = "10 minutes"
"""
ROLES = {
    Engine.SHARES: 'evaluator = "analysis"\ndealer = "randomness"\n'
    '[helpers]\nanalysis = "Analysis House"\nrandomness = "Randomness House"',
    Engine.QUORUM: "",
}


@dataclass(frozen=True)
class NetworkTrial:
    """One row: which engine learns how many features from how many notes, and labels how many."""

    engine: Engine
    features: int = 256
    documents: int = 900
    labels: int = 500
    beside: Mapping[str, int | str] = field(default_factory=dict)
    """The settings of the blocks of columns beside the words, by name."""

    def text(self, key_bits: int) -> str:
        """The study's file."""
        return TEXT.format(
            features=self.features,
            key_bits=key_bits,
            engine=self.engine,
            roles=ROLES[self.engine],
            beside="\n".join(f"{name} = {value!r}" for name, value in self.beside.items()),
        )


def notes(trial: NetworkTrial) -> dict[str, list[Document]]:
    """Made-up notes, dealt to the sites in turn."""
    made = [note.document("urgency") for note in clinical_notes(trial.documents, random_state=4)]
    return {site: made[number :: len(SITES)] for number, site in enumerate(SITES)}


def measure(
    wanted: list[NetworkTrial],
    *,
    kind: type[StudyPlan] = StudyPlan,
    key_bits: int = 3072,
    progress: Progress = lambda _: None,
) -> Iterator[Row]:
    """A row for each trial."""
    progress("making a key")
    key = parse_study(wanted[0].text(key_bits), plan_type=kind).plan.generate(
        entropy=SystemEntropy()
    )
    for trial in wanted:
        with one_thread(), tempfile.TemporaryDirectory() as folder:
            progress(f"{trial.engine}: in memory")
            memory = _in_memory(trial, kind, key)
            progress(f"{trial.engine}: over TLS")
            machines = _CoordinatorAndSites(Path(folder), trial, kind, key)
            with counted() as carried:
                networked = asyncio.run(machines.measured(carried))
        yield {
            "engine": str(trial.engine),
            "features": trial.features,
            **{name: str(value)[:16] for name, value in trial.beside.items()},
            "columns": memory.columns,
            "documents": trial.documents,
            "messages": memory.messages,
            "memory_seconds": memory.training,
            "network_seconds": networked.training,
            "ratio": networked.training / memory.training,
            "network_wall_seconds": networked.wall,
            "rehearsal_seconds": networked.carried.rehearsal,
            "requests": networked.carried.requests,
            "letters": networked.carried.letters,
            "megabytes": networked.carried.bytes / 1e6,
            "labels": trial.labels,
            "first_labels_seconds": networked.first,
            "memory_labels_per_s": trial.labels / memory.asking,
            "network_labels_per_s": trial.labels / networked.asking,
        }


@dataclass(frozen=True)
class Seconds:
    """CPU seconds of a training and of queries, what a training carries, and how long it takes."""

    training: float
    asking: float
    messages: int = 0
    columns: int = 0
    first: float = 0.0
    wall: float = 0.0
    carried: Carried = field(default_factory=Carried)


def asked(trial: NetworkTrial) -> list[Document]:
    """Other notes, to be labelled."""
    made = clinical_notes(trial.labels, random_state=5)
    return [note.document("urgency") for note in made]


def _in_memory(trial: NetworkTrial, kind: type[StudyPlan], key: SecretKey) -> Seconds:
    plan, entropy = parse_study(trial.text(key.bits), plan_type=kind).plan, SystemEntropy()
    helped = trial.engine is not Engine.QUORUM
    roster, identities = draw_roster(
        SITES, entropy=entropy, with_dealer=helped, with_evaluator=helped
    )
    documents, labels = notes(trial), asked(trial)
    start = cpu_seconds()
    outcome = run_study(
        Study(plan, roster),
        documents,
        identities=identities,
        entropy=entropy,
        setting=Setting(key=key if helped else None, views=False),
    )
    trained, messages = cpu_seconds(), outcome.traffic.messages.total()
    outcome.classify(SITES[0], labels)
    columns = outcome.models[SITES[0]].space.width
    return Seconds(trained - start, cpu_seconds() - trained, messages, columns)


async def _agree(question: ConsentQuestion) -> bool:  # noqa: ARG001 - everybody consents
    return True


@dataclass
class _CoordinatorAndSites:
    """A coordinator and its sites in one process, each with a folder of its own."""

    root: Path
    trial: NetworkTrial
    kind: type[StudyPlan]
    key: SecretKey = field(repr=False)
    address: str = ""
    fingerprint: bytes = b""
    tokens: tuple[InvitationToken, ...] = ()

    def read(self, text: str) -> StudyDescription:
        """The study's file, with a key that was made before."""
        key = self.key

        class KeptKey(self.kind):  # type: ignore[misc, name-defined]  # a plan is a plan of its kind
            def generate(self, *, entropy: Entropy) -> SecretKey:  # noqa: ARG002 - made before
                return key

        return parse_study(text, plan_type=KeptKey)

    async def measured(self, carried: Carried) -> Seconds:
        """A training of all seats, a small query, and then the query."""
        storage.make_folder(self.root / "coordinator")
        documents, labels = notes(self.trial), asked(self.trial)
        start, began = cpu_seconds(), time.monotonic()
        place = CoordinatorPlace(self.root / "coordinator", b"\x01" * 32, "127.0.0.1", 0)
        self.tokens = create_study(place, self.trial.text(self.key.bits), read=self.read)
        async with self._serving(place):
            await asyncio.gather(*(self._join(token, documents) for token in self.tokens))
            trained, training = cpu_seconds(), replace(carried)
            wall = time.monotonic() - began
            (asking,) = (token for token in self.tokens if SITES[0] in token.seats)
            # In a quorum, who asks is a member of it, too.
            helping = [
                asyncio.create_task(self._join(token, documents, stay=True))
                for token in self.tokens
                if token.seats != (SITES[0],)
            ]
            await self._ask(asking, labels[:_FIRST_LABELS])
            first = cpu_seconds()
            await self._ask(asking, labels)
            done = cpu_seconds()
            for task in helping:
                task.cancel()
            await asyncio.gather(*helping, return_exceptions=True)
        return Seconds(
            trained - start, done - first, first=first - trained, wall=wall, carried=training
        )

    async def _ask(self, asking: InvitationToken, documents: list[Document]) -> None:
        membership, options = self._membership(asking), self._options()
        await classify(membership, documents, options=options, deliver=in_hand)

    @asynccontextmanager
    async def _serving(self, place: CoordinatorPlace) -> AsyncIterator[None]:
        listening, until = asyncio.Event(), asyncio.Event()

        def heard(event: Event) -> None:
            if isinstance(event, Listening):
                self.address, self.fingerprint = event.address, event.fingerprint
                listening.set()

        task = asyncio.create_task(
            run_coordinator(place, read=self.read, on_event=heard, until=until)
        )
        waiting = asyncio.create_task(listening.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        try:
            yield
        finally:
            until.set()
            await task

    def _membership(self, token: InvitationToken) -> Membership:
        folder = self.root / token.organisation.replace(" ", "-").lower()
        storage.make_folder(folder)
        place = (folder, self.address, self.fingerprint)
        return Membership(*place, token.study, token.seats, token.secret, b"\x02" * 32)

    def _options(self, *, stay: bool = False) -> JoinOptions:
        return JoinOptions(self.read, _agree, policy=Policy(key_bits=self.key.bits), stay=stay)

    async def _join(
        self, token: InvitationToken, documents: Mapping[str, list[Document]], *, stay: bool = False
    ) -> None:
        peer = next((seat for seat in token.seats if seat in documents), None)
        source = None if peer is None else partial(documents.__getitem__, peer)
        await join(self._membership(token), source, options=self._options(stay=stay))
