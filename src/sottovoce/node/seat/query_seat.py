"""Runs a seat after the training over the network: carries `course.queries.seat`."""

import asyncio
from collections.abc import Mapping
from typing import Any

from sottovoce.course.control import COORDINATOR
from sottovoce.course.queries.actions import (
    EraseShare,
    NoteRefusal,
    RunEvaluation,
    RunQuery,
    StopServing,
)
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.records import AskingRecord, EvaluatingRecord
from sottovoce.course.queries.seat import ASKING, EVALUATING, SeatService, step
from sottovoce.course.training.actions import Action
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.ledger import LineKind
from sottovoce.node.seat.after_training import SHARE_OVER, AfterTraining
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.service_carrier import ServiceCarrier
from sottovoce.protocols.messages import Message
from sottovoce.study.evaluations.evaluation import evaluate_evaluator, evaluate_member
from sottovoce.study.queries.classification import deal
from sottovoce.study.queries.entities import HeldEntities, answer_entities
from sottovoce.study.queries.model import HeldShare
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.queries.quorum_queries import help_asker
from sottovoce.study.queries.shared_queries import share_scores
from sottovoce.study.roster import Role
from sottovoce.study.study import Study


class QuerySeat(ServiceCarrier[SeatService]):
    """One seat after the training; it helps with others' queries if it is needed."""

    def __init__(
        self,
        agent: SeatRuntime,
        standing: AfterTraining,
        held: HeldShare | MemberShare | HeldEntities | None = None,
    ) -> None:
        """Continue from the seat's journal.

        The seat may hold a share of the model, or rows that it looks up for others.
        """
        journal = agent.journal
        state = SeatService.of(
            agent.study,
            standing.study,
            agent.name,
            read_record(journal, SEAT, ParticipantRecord),
            asked=read_record(journal, ASKING, AskingRecord),
            evaluated=read_record(journal, EVALUATING, EvaluatingRecord),
        )
        super().__init__(agent, step, state, standing)
        self.closed = asyncio.Event()
        self._helps_with = held

    async def hear(self, sender: str, message: Message, notes: Mapping[str, bytes]) -> None:
        """Follow a letter of the coordinator; nobody else may give directions."""
        if sender != COORDINATOR:
            raise ViolationError("only the coordinator may send control letters", party=sender)
        await self.take(Heard(sender, message), notes)

    async def perform(self, action: Action) -> None:
        """Perform one action of a step."""
        match action:
            case NoteRefusal(reason):
                await self.agent.do(self.agent.audit.note, LineKind.REFUSAL, reason)
            case StopServing():
                self.closed.set()
            case _:
                await super().perform(action)

    def kept(self, action: Action) -> Mapping[str, bytes]:
        """Delete the share of the model when the study is closed."""
        assert isinstance(action, EraseShare)
        return SHARE_OVER

    def asker_standing(self, query: QueryId) -> AfterTraining:
        """The study with the current keys of an asker."""
        for rejoining in self.state.helping.record.rejoining:
            if rejoining.consent.name == query.asker != self.agent.name:
                return self.standing.with_new_keys(rejoining.now, rejoining.consent)
        return self.standing

    def query_program(self, action: RunQuery, entropy: Entropy) -> Any:
        """The program that helps with a query: deals, computes on our share, or looks up rows."""
        party = self.asker_standing(action.query).party(entropy)
        match self._helps_with:
            case None:
                return deal(party)
            case MemberShare() as share:
                return help_asker(party, share)
            case HeldEntities() as entities:
                asker = action.query.asker
                seats = party.study.answering_seats(asker)
                return answer_entities(party, entities, asker=asker, answering=seats)
            case held:
                return share_scores(party, (held,))

    def evaluation_program(self, action: RunEvaluation, entropy: Entropy) -> Any:
        """The program that signs the sums of an evaluation, or adds up our shares of them."""
        evaluation, peers = action.evaluation, action.peers
        party = self.standing.party(entropy, attempt=evaluation.attempt, peers=peers)
        if isinstance(self._helps_with, MemberShare):
            return evaluate_member(party, self._helps_with, peers, number=evaluation.number)
        return evaluate_evaluator(party, peers, number=evaluation.number)


def stays(study: Study, seat: str) -> bool:
    """Whether a seat is needed after the training."""
    roster, plan = study.roster, study.plan
    if study.outsourced:
        # A lone owner labels at home.
        return False
    helping = (Role.EVALUATOR, Role.MEMBER, Role.ANSWERER)
    if any(seat == participant.name for role in helping for participant in roster.having(role)):
        return True
    return seat == roster.dealer and plan.deals_verdicts


class QueryHelper(QuerySeat):
    """The seat of a helper, until the study is closed."""

    async def serve(self) -> None:
        """Help until the study is closed."""
        await self.take(Started())
        carrying = asyncio.create_task(self.run())
        closing = asyncio.create_task(self.closed.wait())
        try:
            await asyncio.wait({carrying, closing}, return_when=asyncio.FIRST_COMPLETED)
            if carrying.done():
                await carrying
        finally:
            for task in (carrying, closing):
                task.cancel()
            await asyncio.gather(carrying, closing, return_exceptions=True)
