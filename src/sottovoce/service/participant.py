"""A site's side of the commands: read an invitation, join a study, follow it, and leave it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, SottovoceError, StoppedError
from sottovoce.keyfiles import storage
from sottovoce.keyfiles.models import write_model
from sottovoce.ledger import SiteLedger, What
from sottovoce.protocols.identities import Identity
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent, Waits
from sottovoce.service.api import Documents, Joined, JoinOptions, Membership, StudyDescribed
from sottovoce.service.events import (
    Enrolled,
    JournalDeleted,
    ModelStored,
    StudyFinished,
    StudyStopped,
)
from sottovoce.service.hall import poll_seconds
from sottovoce.service.house import House
from sottovoce.service.journal import Journal
from sottovoce.service.sealed_files import SealedFiles
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.sitter import Sitter
from sottovoce.service.witness import LedgerWitness
from sottovoce.transport.client import Line

MODEL = "model"


async def describe(membership: Membership) -> str:
    """The study's text, for whoever holds an invitation; nothing else is sent."""
    nobody = Identity("invited", bytes(32))
    async with Line(
        membership.address,
        fingerprint=membership.fingerprint,
        study=membership.study,
        identity=nobody,
        patience=30.0,
    ) as line:
        return (await line.invitation(membership.token)).decode()


async def join(
    membership: Membership,
    source: Documents | None,
    *,
    options: JoinOptions,
    entropy: Entropy | None = None,
) -> Joined:
    """Take all seats of this site, and follow the study until it is over."""
    entropy = entropy or SystemEntropy()
    text = await _text(membership)
    described = options.read(text)
    files = SealedFiles(membership.folder, membership.at_rest)
    keys = {seat: SeatKeys.open(files, seat, entropy=entropy) for seat in membership.seats}
    publics = {name: one.identity.public for name, one in keys.items()}
    house = House(membership.study, described, publics, source=source, options=options)
    site = _SiteInStudy(membership, described, files, options, entropy)
    tasks = [asyncio.create_task(site.follow(house, keys[seat])) for seat in membership.seats]
    try:
        done = await _all(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return next((one for one in done if one.model is not None), done[0])


async def _all(tasks: "list[asyncio.Task[Joined]]") -> list[Joined]:
    """Everybody's result; the first error that is not merely news of another's."""
    await asyncio.wait(tasks)
    errors = [error for task in tasks if (error := task.exception()) is not None]
    if errors:
        raise next((one for one in errors if not isinstance(one, StoppedError)), errors[0])
    return [task.result() for task in tasks]


async def _text(membership: Membership) -> str:
    """The study's text: kept from before, or read by the invitation."""
    path = membership.folder / "study.toml"
    if not path.exists():
        text = await describe(membership)
        storage.write_whole(path, text.encode(), mode=storage.SECRET_MODE)
    return storage.read_whole(path, limit=2**23).data.decode()


class _SiteInStudy:
    """What all seats of a site need to follow a study."""

    def __init__(
        self,
        membership: Membership,
        described: StudyDescribed,
        files: SealedFiles,
        options: JoinOptions,
        entropy: Entropy,
    ) -> None:
        self._membership = membership
        self._described = described
        self._files = files
        self._options = options
        self._entropy = entropy

    async def follow(self, house: House, keys: SeatKeys) -> Joined:
        """One seat, from its enrolment to the end."""
        seat = keys.identity.name
        async with self._line(keys) as line, self._agent(keys, line) as (agent, witness):
            await self._enrol(agent, line)
            sitter = Sitter(agent, house, keys, entropy=self._entropy)
            agent.chair = sitter
            working = asyncio.create_task(agent.run())
            following = asyncio.create_task(sitter.follow())
            try:
                await asyncio.wait({working, following}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    await working
                await following
                await self._keep(sitter, witness, keys)
            except SottovoceError as error:
                await self._end_badly(sitter, witness, error, working)
                raise
            finally:
                working.cancel()
                following.cancel()
                await asyncio.gather(working, following, return_exceptions=True)
            path = self._membership.folder / seat / MODEL
            return Joined(_study_of(house, sitter), path if path.exists() else None)

    @asynccontextmanager
    async def _line(self, keys: SeatKeys) -> AsyncIterator[Line]:
        async with Line(
            self._membership.address,
            fingerprint=self._membership.fingerprint,
            study=self._membership.study,
            identity=keys.identity,
            patience=6 * self._stage,
        ) as line:
            yield line

    @asynccontextmanager
    async def _agent(
        self, keys: SeatKeys, line: Line
    ) -> AsyncIterator[tuple[Agent, LedgerWitness]]:
        seat, study = keys.identity.name, self._membership.study
        folder = self._membership.folder / seat
        ledger = SiteLedger(folder / "ledger.jsonl", keys.identity)
        try:
            witness = LedgerWitness(ledger, self._options.gate, study=study)
            journal = Journal(
                folder / "journal.db",
                key=self._files.key_for(f"journal {seat}"),
                entropy=self._entropy,
            )
            agent = Agent(
                seat,
                study,
                journal=journal,
                post=line,
                witness=witness,
                waits=Waits(self._stage, 6 * self._stage),
                on_event=self._options.on_event,
            )
            agent.poll = poll_seconds(self._stage)
            try:
                yield agent, witness
            finally:
                await agent.close()
        finally:
            ledger.close()

    @property
    def _stage(self) -> float:
        return self._described.deadlines.stage.total_seconds()

    async def _enrol(self, agent: Agent, line: Line) -> None:
        """Take the seat; once taken, this is not done again."""
        if await agent.do(agent.journal.note, "enrolled") is None:
            await line.enrol(self._membership.token)
            await agent.do(lambda: agent.journal.commit(notes={"enrolled": b""}))
        self._options.on_event(Enrolled(self._membership.study, agent.name))

    async def _keep(self, sitter: Sitter, witness: LedgerWitness, keys: SeatKeys) -> None:
        """The model stays, everything else goes."""
        agent = sitter.agent
        study, model = sitter.study, sitter.model
        if sitter.book.phase == "finished":
            if study is not None and model is not None:
                path = self._membership.folder / agent.name / MODEL
                await agent.do(
                    lambda: write_model(path, model, study, identity=keys.identity, replace=True)
                )
                self._options.on_event(ModelStored(self._membership.study, agent.name, path))
            await agent.drained()
            await forget_sessions(agent, witness)
            sitter.book = sitter.book.but(phase="trained")
            await agent.do(lambda: agent.journal.commit(notes=sitter.book.notes()))
        self._options.on_event(StudyFinished(self._membership.study, agent.name))

    async def _end_badly(
        self,
        sitter: Sitter,
        witness: LedgerWitness,
        error: SottovoceError,
        working: "asyncio.Task[None]",
    ) -> None:
        """Tell the coordinator if the line still works, and delete what must not stay."""
        if not working.done():
            waiting = asyncio.create_task(sitter.agent.drained())
            await asyncio.wait({waiting, working}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
        if sitter.book.phase in {"stopped", "left"}:
            await forget_sessions(sitter.agent, witness)
            party = getattr(error, "party", "")
            study, seat = self._membership.study, sitter.agent.name
            self._options.on_event(StudyStopped(study, seat, error.message, party))


async def forget_sessions(agent: Agent, witness: LedgerWitness) -> None:
    """Delete seeds, shares and masks of all sessions; the ledger says so."""
    sessions = agent.journal.sessions()
    for session in sessions:
        await agent.do(agent.journal.forget, session)
    await agent.settle_known()
    note = f"deleted seeds and steps of {len(sessions)} sessions"
    await agent.do(witness.note, What.DELETION, note)
    agent.tell_watcher(JournalDeleted(agent.study, agent.name))


def _study_of(house: House, sitter: Sitter) -> Study:
    if sitter.study is not None:
        return sitter.study
    if not sitter.book.seating:
        raise InputError(f"{sitter.agent.name}: expected a study with a roster, found none")
    return house.seated(sitter.book.seating[0])
