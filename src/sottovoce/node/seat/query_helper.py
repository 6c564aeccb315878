"""A seat that stays after the training: it deals for queries, and signs what evaluations add up."""

import asyncio
from functools import partial
from typing import Any

from sottovoce.course.control import (
    COORDINATOR,
    Closed,
    OpenedEvaluation,
    OpenedQuery,
    Rejoining,
)
from sottovoce.course.participant_record import Helped, ParticipantRecord
from sottovoce.course.phases import Phase
from sottovoce.entropy import Entropy
from sottovoce.errors import MisuseError, ReplayError, ViolationError
from sottovoce.ledger import What
from sottovoce.node.events import QueryServed, Refused
from sottovoce.node.seat.after_training import SHARE_OVER, AfterTraining
from sottovoce.node.seat.deciders import Effect, RunningProgram
from sottovoce.node.seat.seat_runtime import EffectDecider, SeatRuntime
from sottovoce.node.seat.training_participant import TrainingParticipant
from sottovoce.protocols.messages import Message
from sottovoce.study.plan import Verdict
from sottovoce.study.queries.classification import deal
from sottovoce.study.queries.evaluation import (
    check_opening,
    evaluate_evaluator,
    evaluate_member,
)
from sottovoce.study.queries.model import HeldShare
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.queries.quorum_queries import help_asker
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.roster import Role
from sottovoce.study.study import Study
from sottovoce.wire import Codec


def stays(study: Study, seat: str) -> bool:
    """Whether a seat is needed after the training."""
    roster, plan = study.roster, study.plan
    helping = (Role.EVALUATOR, Role.MEMBER)
    if any(seat == one.name for role in helping for one in roster.having(role)):
        return True
    return seat == roster.dealer and plan.deals_verdicts


class QueryHelper(EffectDecider):
    """The decider of the dealer's or the evaluator's seat, once there is a model."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        book: ParticipantRecord,
        held: HeldShare | MemberShare | None = None,
    ) -> None:
        """Go on from what the seat remembers; it may hold a share of the model."""
        self.agent = agent
        self.book = book
        self._standing = standing
        self._held = held
        self._changed = asyncio.Event()
        self._ends: list[RunningProgram] = []
        self._begun: dict[bytes, Helped] = {}

    async def heard(self, sender: str, message: Message) -> Effect:
        """The coordinator opens a query or an evaluation, or closes the study."""
        if sender != COORDINATOR:
            raise ViolationError("expected control letters of the coordinator alone", party=sender)
        match message:
            case OpenedQuery() | OpenedEvaluation():
                self.book = self.book.with_help(message)
            case Rejoining():
                self.book = self.book.with_rejoining(message)
            case Closed():
                self.book = self.book.but(phase=Phase.CLOSED)
                return Effect({TrainingParticipant.note: Codec().encode(self.book), **SHARE_OVER})
        return Effect({TrainingParticipant.note: Codec().encode(self.book)})

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self._changed.set()

    def ended(self, running: RunningProgram) -> None:
        """A program is at its end."""
        self._ends.append(running)
        self._changed.set()

    def overdue(self, running: RunningProgram, party: str) -> None:
        """Whoever asked does not answer: it is given up."""
        del party
        self.ended(running)

    async def serve(self) -> None:
        """Help until the study is closed."""
        while self.book.phase is not Phase.CLOSED:
            self._changed.clear()
            while self._ends:
                await self._after(self._ends.pop(0))
            for session, begun in tuple(self._begun.items()):
                if begun not in self.book.helping:
                    await self.agent.drop(session)
                    await self._forget(session)
            for wanted in self.book.helping:
                if wanted not in self._begun.values():
                    await self._begin(wanted)
            await self._changed.wait()

    async def _begin(self, wanted: Helped) -> None:
        standing = self._standing_for(wanted)
        if wanted.asker:
            name: tuple[str, ...] = ("query", wanted.asker, str(wanted.number))
            parties = standing.query_parties(wanted.asker, Verdict.FSS)
        else:
            name = ("evaluation", str(wanted.number), str(wanted.attempt))
            helpers = self._standing.study.evaluation_helpers(wanted.peers)
            parties = (COORDINATOR, *helpers, *wanted.peers)
        sitting = standing.sitting(name, parties)
        self._begun[sitting.session] = wanted
        try:
            if not wanted.asker and not self.agent.journal.has_begun(sitting.session):
                check_opening(standing.party(standing.drawn), wanted.peers, number=wanted.number)
            await self.agent.begin(
                sitting, partial(self._program, wanted), label=(name[0], wanted.number)
            )
        except ViolationError as error:
            await self._refuse(sitting.session, error)
        except (MisuseError, ReplayError):
            # It was over already, or cannot be done twice: whoever asked hears nothing of us.
            await self._forget(sitting.session)

    async def _refuse(self, session: bytes, error: ViolationError) -> None:
        """Have no part in it, say so to this site's people, and go on helping others."""
        await self.agent.do(self.agent.audit.note, What.REFUSAL, error.message)
        refused = Refused(self.agent.study, self.agent.name, error.message, error.party)
        self.agent.tell_watcher(refused)
        await self.agent.drop(session)
        await self._forget(session)

    def _standing_for(self, wanted: Helped) -> AfterTraining:
        """The study of an asker: with its new keys, if it enrolled again."""
        for one in self.book.rejoining:
            if one.consent.name == wanted.asker:
                return self._standing.with_new_keys(one.now, one.consent)
        return self._standing

    def _program(self, wanted: Helped, entropy: Entropy) -> Any:
        if wanted.asker:
            party = self._standing_for(wanted).party(entropy)
            if isinstance(self._held, MemberShare):
                return help_asker(party, self._held)
            return deal(party) if self._held is None else share_scores(party, (self._held,))
        party = self._standing.party(entropy, attempt=wanted.attempt, peers=wanted.peers)
        member = isinstance(self._held, MemberShare)
        sign = evaluate_member if member else evaluate_evaluator
        return sign(party, wanted.peers, number=wanted.number)

    async def _after(self, running: RunningProgram) -> None:
        session = running.sitting.session
        wanted = self._begun.get(session)
        await self.agent.drop(session)
        await self._forget(session)
        if wanted is not None and wanted.asker and running.seat.failure is None:
            served = QueryServed(self.agent.study, self.agent.name, wanted.asker, wanted.number)
            self.agent.tell_watcher(served)

    async def _forget(self, session: bytes) -> None:
        wanted = self._begun.pop(session, None)
        left = tuple(one for one in self.book.helping if one != wanted)
        self.book = self.book.but(helping=left)
        await self.agent.commit(Effect({TrainingParticipant.note: Codec().encode(self.book)}))
        if session in self.agent.journal.sessions():
            await self.agent.do(self.agent.journal.forget, session)
