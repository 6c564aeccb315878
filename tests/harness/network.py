"""A coordinator and its sites in one process, over real TLS on loopback, with toy keys."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.studies import notes
from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.course.news import StudyStopped
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.keyfiles import storage
from sottovoce.node.api import ConsentQuestion, EvaluationTables, Joined, JoinOptions
from sottovoce.node.coordinator.serving import (
    cancel_study,
    create_study,
    invite_again,
    run_coordinator,
)
from sottovoce.node.events import Event, Listening
from sottovoce.node.memberships import CoordinatorPlace, InvitationToken, Membership
from sottovoce.node.seat.retrying_line import RetryingLine
from sottovoce.node.site.asking import classify, evaluate, in_hand
from sottovoce.node.site.joining import join
from sottovoce.paillier import SecretKey, generate_insecure_for_tests
from sottovoce.study import InsecureToyPlan, Policy
from sottovoce.study.queries.classification import Answer
from sottovoce.study.relay import Letter
from sottovoce.text.documents import Document

TEXT = """
[study]
name = "urgency of notes"
coordinator = "Institute"
approval = "none needed: made up"
labels = [{labels}]
features = {features}
bucket_bits = 12
key_bits = 768
query_budget = 4000
engine = "{engine}"
alpha = {alpha}
{more}
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
{peers}
[roles]
{evaluator}
{dealer}
{helpers}
[deadlines]
enrolment = "{enrolment}"
stage = "{stage}"
"""


@cache
def toy_key() -> SecretKey:
    return generate_insecure_for_tests(768, entropy=SeededEntropy(31))


class QuickPlan(InsecureToyPlan):
    """A toy plan whose key was drawn before; a program that draws one of its own gets its own."""

    def generate(self, *, entropy: Entropy) -> SecretKey:
        if isinstance(entropy, SystemEntropy):
            return toy_key()
        return super().generate(entropy=entropy)


read_toy = partial(parse_study, plan_type=QuickPlan)


def study_text(**changes: str) -> str:
    """The text of a small study."""
    settings = {
        "labels": '"routine", "urgent"',
        "features": "32",
        "engine": "shares",
        "evaluator": "north",
        "dealer": 'dealer = "harbour"',
        "helpers": "",
        "peers": "",
        "more": "",
        # A strong penalty: the solve is over after a tenth of the steps, four letters each.
        "alpha": "40.0",
        "enrolment": "1 minute",
        "stage": "20 seconds",
    }
    collected = {**settings, **changes}
    if collected["engine"] == "quorum":
        collected |= {"evaluator": "", "dealer": ""}
    else:
        collected["evaluator"] = f'evaluator = "{collected["evaluator"]}"'
    return TEXT.format(**collected)


def described(text: str) -> StudyDescription:
    return read_toy(text)


async def agree(question: ConsentQuestion) -> bool:
    """A person who consents to everything."""
    return True


TOY_POLICY = Policy(key_bits=768)


@dataclass
class Network:
    """One coordinator and the sites that it invited, each with a folder of its own."""

    root: Path
    text: str
    documents: Mapping[str, Sequence[Document]]
    events: list[Event] = field(default_factory=list)
    tokens: tuple[InvitationToken, ...] = ()
    port: int = 0
    fingerprint: bytes = b""
    address: str = ""
    database: str = ""

    def create(self) -> None:
        storage.make_folder(self.root / "coordinator-home")
        self.tokens = create_study(self.place, self.text, read=read_toy)

    @property
    def place(self) -> CoordinatorPlace:
        folder = self.root / "coordinator-home"
        return CoordinatorPlace(folder, b"\x01" * 32, "127.0.0.1", self.port, self.database)

    @property
    def study(self) -> str:
        return self.tokens[0].study

    def when(self, wanted: Callable[[Event], bool]) -> asyncio.Event:
        """Set once an event of this kind was told."""
        happened, before = asyncio.Event(), self.events

        class Told(list[Event]):
            def append(network, event: Event) -> None:  # noqa: N805 - `self` is the network
                before.append(event)
                list.append(network, event)
                if wanted(event):
                    happened.set()

        self.events = Told(self.events)
        return happened

    @contextmanager
    def cancelled_when(self, wanted: Callable[[Event], bool], reason: str) -> Iterator[None]:
        """Cancel the study at this event; no letter leaves before the coordinator has heard of it.

        The server looks for orders once a second, and a small study is finished sooner.
        """
        began, post = self.when(wanted), RetryingLine.post
        stopped = self.when(lambda event: isinstance(event, StudyStopped))

        async def held(line: RetryingLine, letter: Letter) -> int:
            if began.is_set():
                await stopped.wait()
            return await post(line, letter)

        async def cancelling() -> None:
            await began.wait()
            cancel_study(self.place, self.study, reason=reason)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RetryingLine, "post", held)
            task = asyncio.create_task(cancelling())
            yield
            assert task.done()

    def membership(self, seat: str) -> Membership:
        """What the organisation of this seat knows."""
        token = next(token for token in self.tokens if seat in token.seats)
        folder = self.root / token.organisation.replace(" ", "-").lower()
        storage.make_folder(folder)
        return Membership(
            folder,
            self.address,
            self.fingerprint,
            token.study,
            token.seats,
            token.secret,
            b"\x02" * 32,
        )

    def options(self, **changes: Any) -> JoinOptions:
        mine = JoinOptions(
            read_toy, agree, policy=TOY_POLICY, on_event=self.events.append, stay=False
        )
        return replace(mine, **changes)

    @asynccontextmanager
    async def serving(self) -> "AsyncIterator[asyncio.Task[None]]":
        """The coordinator serves while the block runs, in this task."""
        listening, until = asyncio.Event(), asyncio.Event()

        def heard(event: Event) -> None:
            self.events.append(event)
            if isinstance(event, Listening):
                self.address, self.fingerprint = event.address, event.fingerprint
                self.port = int(event.address.rpartition(":")[2])
                listening.set()

        task = asyncio.create_task(
            run_coordinator(self.place, read=read_toy, on_event=heard, until=until)
        )
        waiting = asyncio.create_task(listening.wait())
        await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
        try:
            yield task
        finally:
            until.set()
            await task

    async def join(
        self,
        seat: str,
        source: Callable[[], Sequence[Document]] | None = None,
        **changes: Any,
    ) -> Joined:
        """The site of this seat joins with its documents."""
        membership = self.membership(seat)
        peer = next((seat for seat in membership.seats if seat in self.documents), None)
        if peer is not None and source is None:
            source = partial(self.documents.__getitem__, peer)
        return await join(membership, source, options=self.options(**changes))

    async def classify(
        self,
        seat: str,
        documents: Sequence[Document],
        deliver: Callable[[Any], Any] = in_hand,
        *,
        explain: bool = False,
    ) -> Answer:
        """A fresh process of this site asks."""
        how = {"options": self.options(), "deliver": deliver, "explain": explain}
        return await classify(self.membership(seat), documents, **how)

    async def evaluate(
        self, seat: str, deliver: Callable[[Any], Any] = in_hand
    ) -> EvaluationTables:
        """A fresh process of this site evaluates."""
        mine, options = self.documents[seat], self.options()
        return await evaluate(self.membership(seat), mine, options=options, deliver=deliver)

    @asynccontextmanager
    async def staying(self, *seats: str) -> AsyncIterator[None]:
        """The sites of these seats stay to deal and to sign."""
        tasks = [asyncio.create_task(self.join(seat, stay=True)) for seat in seats]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            for finished in done:
                if isinstance(finished, Exception):
                    raise finished

    async def join_all(self, *seats: str) -> list[Joined]:
        """One site for each of these seats."""
        return list(await asyncio.gather(*(self.join(seat) for seat in seats)))


def network(root: Path, *, documents: int = 120, sites: int = 3, **changes: str) -> Network:
    """A study of small notes that three sites will join, or four."""
    mine = notes(documents, sites=sites)
    known = ("north", "harbour", "valley")
    more = "".join(f'{name} = "{name} organisation"\n' for name in mine if name not in known)
    made = Network(root, study_text(peers=more, **changes), mine)
    made.create()
    return made


def lost(net: Network, seat: str) -> None:
    """The disk of a site is gone; it is invited again."""
    membership = net.membership(seat)
    shutil.rmtree(membership.folder)
    organisation = next(token.organisation for token in net.tokens if seat in token.seats)
    token = invite_again(net.place, net.study, organisation, read=read_toy)
    others = tuple(token for token in net.tokens if token.organisation != organisation)
    net.tokens = (*others, token)
