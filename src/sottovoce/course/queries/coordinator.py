"""The coordinator after the training: the queries of every peer, and joint evaluations."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sottovoce.course.control import COORDINATOR, AskedEvaluation, AskedQuery, Leaving
from sottovoce.course.queries import answering, evaluations
from sottovoce.course.queries.actions import ForgetOthers
from sottovoce.course.queries.answering import Answering
from sottovoce.course.queries.conversations import ConversationId, QueryId
from sottovoce.course.queries.evaluations import Evaluations
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    SeatGaveUp,
    SeatRejoined,
    SeatReseated,
)
from sottovoce.course.queries.records import AskerRecord, EvaluationBook
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.training.actions import Action, Tell
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.protocols.messages import Message
from sottovoce.study.study import Study
from sottovoce.wire import Value

EVALUATIONS = "evaluation/book"
"""The name of the record of evaluations."""


def asker_note(asker: str) -> str:
    """The name of the record of a peer's queries."""
    return f"asker/{asker}"


@dataclass(frozen=True)
class CoordinatorService:
    """The deciders of the coordinator after the training."""

    askers: Mapping[str, Answering]
    evaluations: Evaluations

    @classmethod
    def of(
        cls,
        name: str,
        study: Study,
        peers: tuple[str, ...],
        *,
        records: Mapping[str, AskerRecord],
        book: EvaluationBook,
        gather: float,
        presence: SeatsSeen,
        rejoined: frozenset[str] = frozenset(),
    ) -> "CoordinatorService":
        """Continue from these records; `peers` are those of the model."""
        askers = {
            seat: Answering(
                name,
                study,
                seat,
                records.get(seat, AskerRecord()),
                known=seat in peers and seat not in book.gone,
            )
            for seat in study.roster.names
            if seat != COORDINATOR
        }
        evaluating = Evaluations(study, peers, gather, book, presence, rejoined=rejoined)
        return cls(askers, evaluating)

    @property
    def records(self) -> Mapping[str, Value]:
        """The records that outlive the process, by their names in the journal."""
        asked = {asker_note(seat): asker.record for seat, asker in self.askers.items()}
        return {**asked, EVALUATIONS: self.evaluations.record}

    @property
    def conversations(self) -> tuple[ConversationId, ...]:
        """The open conversations."""
        queries = [query for asker in self.askers.values() for query in asker.conversations]
        return (*queries, *self.evaluations.conversations)


def step(
    state: CoordinatorService, happened: object, *, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    """Pass the input to the deciders that it concerns."""
    match happened:
        case Started():
            return _start(state, happened, now)
        case Heard(sender, message):
            return _hear(state, sender, message, now)
        case SeatReseated(seat, message):
            return state, (Tell((seat,), message),)
        case SeatRejoined(seat, message):
            others = tuple(name for name in state.askers if name != seat)
            state, _ = _evaluate(state, happened, now)
            state, _ = _ask(state, seat, happened, now)
            return state, (Tell(others, message),)
        case ConversationEnded() | ConversationOverdue() | ConversationGoesOn() | SeatGaveUp():
            return _converse(state, happened, now)
    return _evaluate(state, happened, now)


def _hear(
    state: CoordinatorService, sender: str, message: Message, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    """Handle a letter; late letters of the training change nothing."""
    happened = Heard(sender, message)
    match message:
        case AskedQuery():
            return _ask(state, sender, happened, now)
        case AskedEvaluation():
            return _evaluate(state, happened, now)
        case Leaving():
            askers = {**state.askers, sender: replace(state.askers[sender], known=False)}
            return _evaluate(replace(state, askers=askers), happened, now)
    return state, ()


def _converse(
    state: CoordinatorService,
    happened: ConversationEnded | ConversationOverdue | ConversationGoesOn | SeatGaveUp,
    now: float,
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    if isinstance(happened, SeatGaveUp):
        return _lose(state, happened, now)
    if isinstance(happened.which, QueryId):
        return _ask(state, happened.which.asker, happened, now)
    return _evaluate(state, happened, now)


def _lose(
    state: CoordinatorService, happened: SeatGaveUp, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    """Wait for this seat no longer, in no query."""
    state, actions = _evaluate(state, happened, now)
    for asker in state.askers:
        state, more = _ask(state, asker, happened, now)
        actions += more
    return state, actions


def _start(
    state: CoordinatorService, happened: Started, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    """Continue everything that was open, and finish deletions that a crash interrupted."""
    presence = replace(state.evaluations.presence, started=now)
    evaluating = replace(state.evaluations, presence=presence)
    state, actions = _evaluate(replace(state, evaluations=evaluating), happened, now)
    for seat in state.askers:
        state, more = _ask(state, seat, happened, now)
        actions += more
    return state, (*actions, ForgetOthers(state.conversations))


def _ask(
    state: CoordinatorService, asker: str, happened: object, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    members = state.evaluations.study.roster.members
    absent = frozenset(name for name in members if not state.evaluations.can_help(name, now))
    lost = state.evaluations.presence.lost
    before = replace(state.askers[asker], absent=absent, lost=lost)
    after, actions = answering.step(before, happened, now=now)
    return replace(state, askers={**state.askers, asker: after}), actions


def _evaluate(
    state: CoordinatorService, happened: object, now: float
) -> tuple[CoordinatorService, tuple[Action, ...]]:
    after, actions = evaluations.step(state.evaluations, happened, now=now)
    return replace(state, evaluations=after), actions
