"""What one member of a quorum needs: each site in a process of its own, its memory and CPU apart.

Three sites with made-up documents train over TLS on loopback, and one of them asks for labels. The
coordinator runs in the process that measures. What a process had at its peak is all that it had,
with python and every library.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.studies.text import LABELLING, synthetic_documents
from benchmarks.timing import cpu_seconds, one_thread, peak_megabytes
from sottovoce.cli.terminal.measurements import Row
from sottovoce.config.study_file import parse_study
from sottovoce.keyfiles import storage
from sottovoce.node.api import ConsentQuestion, JoinOptions
from sottovoce.node.coordinator.serving import create_study, run_coordinator
from sottovoce.node.events import Event, Listening
from sottovoce.node.memberships import CoordinatorPlace, InvitationToken, Membership
from sottovoce.node.site.asking import classify, in_hand
from sottovoce.node.site.joining import join
from sottovoce.study import Policy
from sottovoce.text.documents import Document

SITES = ("north", "harbour", "valley")
ASKER = SITES[0]
TEXT = """
[study]
name = "bench members"
coordinator = "institute"
approval = "none needed: made up"
labels = ["even", "odd"]
features = {features}
query_budget = 100000
engine = "quorum"
held_out = 0.0
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[deadlines]
enrolment = "1 hour"
stage = "3 hours"
"""


@dataclass(frozen=True)
class MemberTrial:
    """How many documents all sites have together, into how many features, and how many labels."""

    features: int = 8192
    documents: int = 30_000
    labels: int = 100

    @property
    def text(self) -> str:
        """The study's file."""
        return TEXT.format(features=self.features)

    def documents_of(self, site: str) -> list[Document]:
        """A site's documents, two by two, so that it has both classes."""
        place, made = SITES.index(site), synthetic_documents(self.documents)
        pairs = iter(lambda: list(islice(made, 2)), [])
        return [document for pair in islice(pairs, place, None, len(SITES)) for document in pair]

    def asked(self) -> list[Document]:
        """Other documents, to be labelled."""
        made = synthetic_documents(self.documents + self.labels)
        return list(islice(made, self.documents, None))


@dataclass(frozen=True)
class MemberCost:
    """What a process took so far, and how many of its labels were right."""

    cpu: float
    peak: float
    right: int | None = None


@dataclass(frozen=True)
class _SiteProcess:
    """One site's process: it trains, then asks, or helps until it is told to end."""

    name: str
    trial: MemberTrial
    membership: Membership

    def run(self, line: Connection) -> None:
        with one_thread():
            asyncio.run(self._work(line))

    async def _work(self, line: Connection) -> None:
        documents = self.trial.documents_of(self.name)
        began = cpu_seconds()
        await join(self.membership, lambda: documents, options=_options())
        line.send(MemberCost(cpu_seconds() - began, peak_megabytes()))
        # Who asks is a member, too.
        helping = asyncio.create_task(
            join(self.membership, lambda: documents, options=_options(stay=True))
        )
        right = await self._ask() if self.name == ASKER else None
        if right is None:
            await asyncio.to_thread(line.recv)
        helping.cancel()
        with suppress(asyncio.CancelledError):
            await helping
        line.send(MemberCost(cpu_seconds() - began, peak_megabytes(), right))

    async def _ask(self) -> int:
        asked = self.trial.asked()
        answer = await classify(self.membership, asked, options=_options(), deliver=in_hand)
        true = [LABELLING.labels.classes(document) for document in asked]
        return sum(classes == label for classes, label in zip(answer.classes, true, strict=True))


async def _agree(question: ConsentQuestion) -> bool:  # noqa: ARG001 - everybody consents
    return True


def _options(*, stay: bool = False) -> JoinOptions:
    return JoinOptions(parse_study, _agree, policy=Policy(), stay=stay)


def measure(trial: MemberTrial, progress: Callable[[str], None]) -> tuple[Row, list[Row]]:
    """The study's numbers, and a row for every process."""
    with tempfile.TemporaryDirectory(prefix="sottovoce-members-") as folder, one_thread():
        began, cpu = time.monotonic(), cpu_seconds()
        costs = asyncio.run(_ThreeSites(Path(folder), trial, progress).costs())
        wall, own = time.monotonic() - began, cpu_seconds() - cpu
    facts: Row = {
        "features": trial.features,
        "documents": trial.documents,
        "members": len(SITES),
        "wall s": wall,
        "labels": trial.labels,
        "right": next(cost.right for _, cost in costs if cost.right is not None),
    }
    return facts, list(_rows(costs, MemberCost(own, peak_megabytes())))


def _rows(costs: Sequence[tuple[MemberCost, MemberCost]], coordinator: MemberCost) -> Iterator[Row]:
    for site, (trained, done) in zip(SITES, costs, strict=True):
        yield {
            "process": site,
            "training cpu s": trained.cpu,
            "training peak MB": trained.peak,
            "peak MB": done.peak,
        }
    yield {"process": "coordinator", "peak MB": coordinator.peak}


@dataclass
class _ThreeSites:
    """The coordinator here, and its sites in processes of their own."""

    root: Path
    trial: MemberTrial
    progress: Callable[[str], None]

    async def costs(self) -> list[tuple[MemberCost, MemberCost]]:
        """What every site took to the end of the training, and to its own end."""
        storage.make_folder(self.root / "coordinator")
        place = CoordinatorPlace(self.root / "coordinator", b"\x01" * 32, "127.0.0.1", 0)
        tokens = create_study(place, self.trial.text, read=parse_study)
        listening: asyncio.Future[Listening] = asyncio.get_running_loop().create_future()
        until = asyncio.Event()

        def heard(event: Event) -> None:
            if isinstance(event, Listening) and not listening.done():
                listening.set_result(event)

        serving = asyncio.create_task(
            run_coordinator(place, read=parse_study, on_event=heard, until=until)
        )
        try:
            at = await listening
            return await self._sites({name: self._member(tokens, name, at) for name in SITES})
        finally:
            until.set()
            await serving

    def _member(self, tokens: Sequence[InvitationToken], name: str, at: Listening) -> Membership:
        token = next(token for token in tokens if name in token.seats)
        folder = self.root / name
        storage.make_folder(folder)
        place = (folder, at.address, at.fingerprint)
        return Membership(*place, token.study, token.seats, token.secret, b"\x02" * 32)

    async def _sites(self, members: dict[str, Membership]) -> list[tuple[MemberCost, MemberCost]]:
        context, lines = get_context("spawn"), {}
        for name, membership in members.items():
            lines[name], theirs = context.Pipe()
            site = _SiteProcess(name, self.trial, membership)
            context.Process(target=site.run, args=(theirs,), daemon=True).start()
            theirs.close()
        self.progress("training")
        trained = {name: await asyncio.to_thread(line.recv) for name, line in lines.items()}
        self.progress("asking for labels")
        done = {ASKER: await asyncio.to_thread(lines[ASKER].recv)}
        for name in SITES[1:]:
            lines[name].send("end")
            done[name] = await asyncio.to_thread(lines[name].recv)
        return [(trained[name], done[name]) for name in SITES]
