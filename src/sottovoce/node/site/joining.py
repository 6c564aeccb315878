"""A site joins a study and follows it to its end."""

import asyncio
import time
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, TypeVar

from sottovoce.config.deadlines import COMPLAINT_STAGES
from sottovoce.course.control import Reseated
from sottovoce.course.news import StudyClosed, StudyFinished, StudyStopped
from sottovoce.course.phases import Phase
from sottovoce.course.seating import seated
from sottovoce.course.training.inputs import CleanedUp
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import (
    DamagedJournalError,
    InputError,
    JournalError,
    LedgerError,
    LostSeatError,
    MalformedError,
    SottovoceError,
    StoppedError,
    TheirError,
    WithdrawnError,
)
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.ledger import LineKind
from sottovoce.node.api import Documents, Joined, JoinOptions
from sottovoce.node.events import Enrolled, ModelStored, SeatLost
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.after_training import (
    AfterTraining,
    agreement_notes,
    kept_share,
    share_notes,
)
from sottovoce.node.seat.deciders import Waits
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.query_seat import QueryHelper, stays
from sottovoce.node.seat.retrying_line import RetryingLine
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.training_participant import Afterwards, TrainingParticipant
from sottovoce.node.site.leaving import leave, mark_withdrawn, withdraw, work_until_withdrawn
from sottovoce.node.site.rejoining import rejoin, take_model
from sottovoce.node.site.seat_status import is_withdrawn
from sottovoce.node.site.site_context import SiteContext, seated_before
from sottovoce.node.site.site_study import (
    ASKING_SECONDS,
    ENDING_SECONDS,
    MODEL,
    SiteStudy,
    forget_sessions,
)
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.queries.entities import HeldEntities
from sottovoce.study.queries.model import HeldShare, PeerModel
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.transport.answers import CODEC as ANSWERS
from sottovoce.transport.answers import Admitted

T = TypeVar("T")
_FAR = 2**33
"""No moment of this century or the next is so many seconds after 1970."""
_OVER = {Phase.STOPPED, Phase.LEFT, Phase.CLOSED, Phase.WITHDRAWN}


async def join(
    membership: Membership,
    source: Documents | None,
    *,
    options: JoinOptions,
    entropy: Entropy | None = None,
) -> Joined:
    """Take all seats of this site, and follow the study until it is over."""
    if is_withdrawn(membership):
        # Finish an interrupted withdrawal first: the others wait for our last letter.
        await withdraw(membership, options=options, entropy=entropy)
        raise WithdrawnError(f"study {membership.study!r}: this site withdrew from it")
    work = await SiteStudy.open(membership, options, entropy=entropy or SystemEntropy())
    keys = {seat: work.keys(seat) for seat in membership.seats}
    publics = {name: seat_keys.identity.public for name, seat_keys in keys.items()}
    context = SiteContext(membership.study, work.described, publics, source=source, options=options)
    if not all((work.folder(seat) / "journal.db").exists() for seat in membership.seats):
        # A seat can be taken only once, so check first what would end this site later.
        await context.check_documents()
    seats = [_JoiningSeat(work, context, options, keys[seat]) for seat in membership.seats]
    tasks = {asyncio.create_task(seat.follow()): seat for seat in seats}
    try:
        done = await _all(tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return next((task for task in done if task.model is not None), done[0])


async def _all(tasks: "Mapping[asyncio.Task[Joined], _JoiningSeat]") -> list[Joined]:
    """The results of all seats; raises the first error that does not merely report another's.

    A seat that cannot go on in a study that does ends the site's process at once: its people must
    know, and the site's other seats would wait for it in vain.
    """
    waiting = set(tasks)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            error = task.exception()
            # A member that was lost ends nothing: its site may have come back as a peer.
            if error is None or isinstance(error, LostSeatError):
                continue
            if not (tasks[task].is_over and _is_news(error)):
                raise error
    errors = [error for task in tasks if (error := task.exception()) is not None]
    results = [task.result() for task in tasks if task.exception() is None]
    if errors and not (results and all(isinstance(error, LostSeatError) for error in errors)):
        raise next((error for error in errors if not isinstance(error, StoppedError)), errors[0])
    return results


def _until(answer: bytes) -> float:
    """Until when others may enrol; older releases did not say it."""
    try:
        until = ANSWERS.decode(answer, Admitted).until
    except MalformedError:
        return 0.0
    return float(until) if 0 <= until < _FAR else 0.0


def _is_news(error: BaseException) -> bool:
    """Whether the other seats of a site can continue for a while after this error."""
    return isinstance(error, SottovoceError) and not isinstance(error, JournalError | LedgerError)


class _JoiningSeat:
    """One seat of a site, from its enrolment to the end."""

    def __init__(
        self, work: SiteStudy, context: SiteContext, options: JoinOptions, keys: SeatKeys
    ) -> None:
        self._work = work
        self._context = context
        self._options = options
        self._keys = keys
        self._study = work.membership.study
        # Whether the study goes on without this seat, as the other seats will hear.
        self.is_over = False

    async def follow(self) -> Joined:
        """Train, keep the model, and stay; a seat with a damaged journal reports that it cannot."""
        try:
            return await self._follow()
        except DamagedJournalError:
            await self._work.lose(self._keys.identity)
            raise
        except LostSeatError as error:
            # Its site's peer may have come back, and stays.
            lost = SeatLost(self._study, self._keys.identity.name, error.message)
            self._options.on_event(lost)
            raise

    async def _follow(self) -> Joined:
        folders = {seat: self._work.folder(seat) for seat in self._work.membership.seats}
        if (folders[self._keys.identity.name] / MODEL).exists():
            self._context.stored.set()
        # A command that asks runs all seats of the site that nobody runs.
        asks = any((folder / MODEL).exists() for folder in folders.values())
        ending = ASKING_SECONDS if asks else ENDING_SECONDS
        async with self._work.agent(self._keys, ending=ending) as (agent, audit, line):
            await self._enrol(agent, line)
            after = Afterwards(partial(self._keep, audit), partial(self._again, audit))
            entropy = self._work.entropy
            participant = TrainingParticipant(
                agent, self._context, self._keys, after, entropy=entropy
            )
            agent.decider = participant
            stage, asking = self._work.stage_seconds, agent.waits
            people = self._context.terms.limits.enrolment
            agent.waits = Waits(stage, COMPLAINT_STAGES * stage, people=people)
            working = asyncio.create_task(work_until_withdrawn(agent, self._work.membership))
            try:
                await while_working(working, participant.follow())
                agent.tell_watcher(StudyFinished(self._study, agent.name))
                study = self._study_of(participant)
                if self._options.stay and stays(study, agent.name):
                    agent.waits = asking
                    await self._stay(participant, study, working)
            except WithdrawnError:
                # A refusal at one seat makes all seats of the site leave.
                self.is_over = True
                mark_withdrawn(self._work.membership)
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
                await leave(agent, audit, line, self._work.folder(agent.name) / MODEL)
                raise
            except SottovoceError as error:
                await self._end_badly(participant, audit, error, working)
                self.is_over = participant.state.phase in _OVER
                raise
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
            path = self._work.folder(agent.name) / MODEL
            return Joined(study, path if path.exists() else None)

    async def _enrol(self, agent: SeatRuntime, line: RetryingLine) -> None:
        """Take the seat, unless it is already taken."""
        noted = await agent.do(agent.journal.note, "enrolled")
        if noted is None:
            noted = await line.enrol(self._work.membership.token)
            notes = {"enrolled": noted}
            await agent.do(lambda: agent.journal.commit(notes=notes))
        agent.tell_watcher(Enrolled(self._study, agent.name, _until(noted)))

    async def _keep(self, audit: LetterAudit, participant: TrainingParticipant) -> None:
        """Keep the model and the agreed keys, and delete everything else."""
        agent, course = participant.agent, participant.course
        assert course is not None
        model, path = course.model, self._work.folder(agent.name) / MODEL
        if model is not None:
            study, identity = course.party.study, self._keys.identity
            await agent.do(lambda: write_model(path, model, study, identity=identity, replace=True))
            agent.tell_watcher(ModelStored(self._study, agent.name, path))
            self._context.stored.set()
        await agent.drained()
        peers = ", ".join(participant.state.record.peers)
        await agent.do(audit.note, LineKind.END, f"the training ended, with {peers} in the model")
        # The note that it is done goes to disk in the transaction of the deletion.
        forget = partial(forget_sessions, agent, audit)
        kept = {**agreement_notes(course), **share_notes(course)}
        await participant.take(CleanedUp(), kept, commit=forget)
        await agent.receipts.reach(await agent.tell_head())
        await agent.acknowledge()

    async def _again(
        self, audit: LetterAudit, participant: TrainingParticipant, reseated: Reseated
    ) -> None:
        """After a lost disk: agree with new keys, and get the model from a peer."""
        agent = participant.agent
        before = seated_before(self._work.described, reseated.before)

        async def asked(study: Study) -> bool:
            return bool(await self._context.consents(study, agent.name, agent.tell_watcher))

        standing = await rejoin(agent, self._keys, reseated, before=before, consents=asked)
        until = time.time() + self._work.described.deadlines.enrolment.total_seconds()
        others = tuple(peer for peer in reseated.peers if peer != agent.name)
        agent.announce("another peer to hand the model over", others, until)
        path = self._work.folder(agent.name) / MODEL
        await take_model(agent, standing, audit, before=before, path=path)
        agent.tell_watcher(ModelStored(self._study, agent.name, path))
        self._context.stored.set()
        await participant.take(CleanedUp())

    async def _stay(
        self, participant: TrainingParticipant, study: Study, working: "asyncio.Task[None]"
    ) -> None:
        agent = participant.agent
        standing = await agent.do(AfterTraining.read, agent.journal, study, self._keys)
        held = await while_working(working, self._held(agent, study))
        helper = await agent.decided_by(lambda: QueryHelper(agent, standing, held))
        await while_working(working, helper.serve())

    async def _held(
        self, agent: SeatRuntime, study: Study
    ) -> HeldShare | MemberShare | HeldEntities | None:
        """Return this seat's share of the model, or its rows to look up, to help others."""
        if not any(
            agent.name == participant.name for participant in study.roster.having(Role.ANSWERER)
        ):
            return await agent.do(kept_share, agent.journal, study)
        await self._context.stored.wait()
        peer = study.roster.peer_at(agent.name)
        _, model = await agent.do(read_model, self._work.folder(peer) / MODEL, study)
        assert isinstance(model, PeerModel)
        return HeldEntities(peer, model, await self._context.documents())

    async def _end_badly(
        self,
        participant: TrainingParticipant,
        audit: LetterAudit,
        error: SottovoceError,
        working: "asyncio.Task[None]",
    ) -> None:
        """Tell the coordinator if it can be reached, and delete what must not stay."""
        agent = participant.agent
        await _unless_over(working, agent.drained())
        if participant.state.phase is Phase.CLOSED:
            agent.tell_watcher(StudyClosed(self._study, agent.name))
        if participant.state.phase in {Phase.STOPPED, Phase.LEFT}:
            if await agent.do(agent.journal.note, "ended") is None:
                await agent.do(audit.note, LineKind.END, "the study ended without a model")
                await forget_sessions(agent, audit, {"ended": b""})
                await _unless_over(working, agent.receipts.reach(await agent.tell_head()))
                await _unless_over(working, agent.acknowledge())
            # An error of this site may quote its data: it is shown here, and no file keeps it.
            reason, party = "it left, because of an error at this site", ""
            if isinstance(error, TheirError):
                reason, party = error.message, error.party
            agent.tell_watcher(StudyStopped(self._study, agent.name, reason, party))

    def _study_of(self, participant: TrainingParticipant) -> Study:
        if participant.course is not None:
            return participant.course.party.study
        if not participant.state.record.seating:
            raise InputError(f"{participant.agent.name}: the study has no roster yet")
        # The site's other seats may have lost their keys: each checks its own.
        publics = {participant.agent.name: self._keys.identity.public}
        return seated(self._context.terms, publics, participant.state.record.seating[0])


async def _unless_over(working: "asyncio.Task[None]", doing: Coroutine[Any, Any, None]) -> None:
    """Run something while the seat works."""
    task = asyncio.create_task(doing)
    await asyncio.wait({task, working}, return_when=asyncio.FIRST_COMPLETED)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def while_working(working: "asyncio.Task[None]", doing: Coroutine[Any, Any, T]) -> T:
    """Run something while the seat works; if the seat fails, raise its error."""
    task = asyncio.create_task(doing)
    try:
        await asyncio.wait({working, task}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await working
        return await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
