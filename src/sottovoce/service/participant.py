"""A site's side of the commands: read an invitation, join a study, follow it, and leave it."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, SottovoceError, StoppedError, TheirError, WithdrawnError
from sottovoce.keyfiles.models import write_model
from sottovoce.ledger import What
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent
from sottovoce.service.api import Documents, Joined, JoinOptions, Membership
from sottovoce.service.chairs import Effect, Waits
from sottovoce.service.deadlines import COMPLAINT_STAGES
from sottovoce.service.events import (
    Enrolled,
    ModelStored,
    StudyClosed,
    StudyFinished,
    StudyStopped,
)
from sottovoce.service.helper_seat import HelperSeat, stays
from sottovoce.service.house import House, seated_before
from sottovoce.service.leaving import leave, mark_withdrawn, withdraw, work_until_withdrawn
from sottovoce.service.patience import PatientLine
from sottovoce.service.rejoining import rejoin, take_model
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.seat_status import is_withdrawn
from sottovoce.service.sitter import Sitter
from sottovoce.service.standing import Standing, agreement_notes
from sottovoce.service.witness import LedgerWitness
from sottovoce.service.workplace import MODEL, Workplace, describe, forget_sessions

__all__ = ["describe", "join", "while_working"]

T = TypeVar("T")


async def join(
    membership: Membership,
    source: Documents | None,
    *,
    options: JoinOptions,
    entropy: Entropy | None = None,
) -> Joined:
    """Take all seats of this site, and follow the study until it is over."""
    if is_withdrawn(membership):
        # What a crash left undone of it is done first: the others wait for our last word.
        await withdraw(membership, options=options, entropy=entropy)
        raise WithdrawnError(f"study {membership.study!r}: this site withdrew from it")
    work = await Workplace.open(membership, options, entropy=entropy or SystemEntropy())
    keys = {seat: work.keys(seat) for seat in membership.seats}
    publics = {name: one.identity.public for name, one in keys.items()}
    house = House(membership.study, work.described, publics, source=source, options=options)
    if not all((work.folder(seat) / "journal.db").exists() for seat in membership.seats):
        # A seat is taken once: what would end this site later must not cost it that.
        await house.check_documents()
    seats = [_JoiningSeat(work, house, options, keys[seat]) for seat in membership.seats]
    tasks = [asyncio.create_task(one.follow()) for one in seats]
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


class _JoiningSeat:
    """One seat of a site, from its enrolment to the end."""

    def __init__(self, work: Workplace, house: House, options: JoinOptions, keys: SeatKeys) -> None:
        self._work = work
        self._house = house
        self._options = options
        self._keys = keys
        self._study = work.membership.study

    async def follow(self) -> Joined:
        """Train, keep the model, and stay where the seat is needed."""
        async with self._work.agent(self._keys) as (agent, witness, line):
            await self._enrol(agent, line)
            sitter = Sitter(agent, self._house, self._keys, entropy=self._work.entropy)
            agent.chair = sitter
            stage, asking = self._work.stage_seconds, agent.waits
            agent.waits = Waits(stage, COMPLAINT_STAGES * stage)
            working = asyncio.create_task(work_until_withdrawn(agent, self._work.membership))
            try:
                await while_working(working, sitter.follow())
                if sitter.book.phase == "reseated":
                    again = self._again(sitter, witness)
                    await while_working(working, again)
                await while_working(working, self._keep(sitter, witness))
                study = self._study_of(sitter)
                if self._options.stay and stays(study, agent.name):
                    agent.waits = asking
                    await self._stay(sitter, study, working)
            except WithdrawnError:
                # A refusal at one seat takes the site out, with all its seats.
                mark_withdrawn(self._work.membership)
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
                await leave(agent, witness, line, self._work.folder(agent.name) / MODEL)
                raise
            except SottovoceError as error:
                await self._end_badly(sitter, witness, error, working)
                raise
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            path = self._work.folder(agent.name) / MODEL
            return Joined(study, path if path.exists() else None)

    async def _enrol(self, agent: Agent, line: PatientLine) -> None:
        """Take the seat; once taken, this is not done again."""
        if await agent.do(agent.journal.note, "enrolled") is None:
            await line.enrol(self._work.membership.token)
            await agent.do(lambda: agent.journal.commit(notes={"enrolled": b""}))
        agent.tell_watcher(Enrolled(self._study, agent.name))

    async def _keep(self, sitter: Sitter, witness: LedgerWitness) -> None:
        """The model and the agreed keys stay, everything else goes."""
        agent, course = sitter.agent, sitter.course
        if sitter.book.phase == "finished" and course is not None:
            model, path = course.model, self._work.folder(agent.name) / MODEL
            if model is not None:
                study, identity = course.desk.study, self._keys.identity
                await agent.do(
                    lambda: write_model(path, model, study, identity=identity, replace=True)
                )
                agent.tell_watcher(ModelStored(self._study, agent.name, path))
            await agent.drained()
            peers = ", ".join(sitter.book.peers)
            await agent.do(witness.note, What.END, f"the training ended, with {peers} in the model")
            sitter.book = sitter.book.but(phase="trained")
            notes = {**sitter.book.notes(), **agreement_notes(course)}
            await forget_sessions(agent, witness, notes)
            await agent.receipted(await agent.tell_head())
            await agent.acknowledge()
        agent.tell_watcher(StudyFinished(self._study, agent.name))

    async def _again(self, sitter: Sitter, witness: LedgerWitness) -> None:
        """This site lost its disk: it agrees with new keys, and gets the model from a peer."""
        agent, told = sitter.agent, sitter.book.reseated[0]
        before = seated_before(self._work.described, told.before)

        async def asked(study: Study) -> bool:
            return await self._house.consents(study, agent.name)

        standing = await rejoin(agent, self._keys, told, before=before, consents=asked)
        until = time.time() + self._work.described.deadlines.enrolment.total_seconds()
        agent.announce("another peer to hand the model over", told.peers, until)
        path = self._work.folder(agent.name) / MODEL
        await take_model(agent, standing, witness, before=before, path=path)
        agent.tell_watcher(ModelStored(self._study, agent.name, path))
        sitter.book = sitter.book.but(phase="trained", seating=(told.now,), peers=told.peers)
        await agent.commit(Effect(sitter.book.notes()))

    async def _stay(self, sitter: Sitter, study: Study, working: "asyncio.Task[None]") -> None:
        agent = sitter.agent
        standing = await agent.do(Standing.read, agent.journal, study, self._keys)
        helper = HelperSeat(agent, standing, sitter.book)
        agent.chair = helper
        await while_working(working, helper.serve())
        agent.tell_watcher(StudyClosed(self._study, agent.name))

    async def _end_badly(
        self,
        sitter: Sitter,
        witness: LedgerWitness,
        error: SottovoceError,
        working: "asyncio.Task[None]",
    ) -> None:
        """Tell the coordinator if the line still works, and delete what must not stay."""
        agent = sitter.agent
        await _unless_over(working, agent.drained())
        if sitter.book.phase == "closed":
            agent.tell_watcher(StudyClosed(self._study, agent.name))
        if sitter.book.phase in {"stopped", "left"}:
            if await agent.do(agent.journal.note, "ended") is None:
                await agent.do(witness.note, What.END, "the study ended without a model")
                await forget_sessions(agent, witness, {"ended": b""})
                await _unless_over(working, agent.receipted(await agent.tell_head()))
                await _unless_over(working, agent.acknowledge())
            # An error of this site may quote its data: its people hear it, and no file keeps it.
            reason, party = "it left, because of an error at this site", ""
            if isinstance(error, TheirError):
                reason, party = error.message, error.party
            agent.tell_watcher(StudyStopped(self._study, agent.name, reason, party))

    def _study_of(self, sitter: Sitter) -> Study:
        if sitter.course is not None:
            return sitter.course.desk.study
        if not sitter.book.seating:
            raise InputError(f"{sitter.agent.name}: expected a study with a roster, found none")
        return self._house.seated(sitter.book.seating[0])


async def _unless_over(working: "asyncio.Task[None]", doing: Coroutine[Any, Any, None]) -> None:
    """Do something as long as the agent works."""
    task = asyncio.create_task(doing)
    await asyncio.wait({task, working}, return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def while_working(working: "asyncio.Task[None]", doing: Coroutine[Any, Any, T]) -> T:
    """Do something while the agent works; if the agent fails, that is the error."""
    task = asyncio.create_task(doing)
    try:
        await asyncio.wait({working, task}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await working
        return await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
