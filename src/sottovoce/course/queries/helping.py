"""A helper's course: it helps with queries and evaluations that the coordinator opens.

A peer asks one query after another, and evaluations are held so, too: whatever is opened for the
same asker takes the place of what was open before. A helper that starts again goes on with what
its record names. An evaluation that was held, or one over other peers than the first, is refused,
and this site's people hear of it.
"""

from dataclasses import dataclass
from typing import TypeAlias

from sottovoce.course.actions import Action, Emit
from sottovoce.course.control import Closed, OpenedEvaluation, OpenedQuery, Rejoining
from sottovoce.course.inputs import Heard, Started
from sottovoce.course.news import QueryServed, Refused
from sottovoce.course.participant_record import Helped, ParticipantRecord
from sottovoce.course.phases import Phase
from sottovoce.course.queries.actions import (
    EraseShare,
    Forget,
    NoteRefusal,
    RunEvaluation,
    RunQuery,
    StopServing,
)
from sottovoce.course.queries.conversations import ConversationId, EvaluationId, QueryId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    NotReplayed,
    SumsKnown,
)
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.study.queries.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.study.study import Study


@dataclass(frozen=True)
class Helping:
    """What one seat helps with; `held` is what its book of opened sums knows of evaluations."""

    study_name: str
    study: Study
    name: str
    record: ParticipantRecord
    held: HeldEvaluations = NONE_HELD

    @property
    def phase(self) -> Phase:
        """Finished, or closed; before that there is nothing to help with."""
        return self.record.phase

    @property
    def conversations(self) -> tuple[ConversationId, ...]:
        """What is under way."""
        return tuple(_id_of(helped) for helped in self.record.helping)


_Turn: TypeAlias = Turn[Helping]


def step(state: Helping, happened: object, *, now: float) -> tuple[Helping, tuple[Action, ...]]:
    """What a helper does next."""
    return stepped(TABLE, state, happened, now)


def _id_of(helped: Helped) -> ConversationId:
    if helped.asker:
        return QueryId(helped.asker, helped.number)
    return EvaluationId(helped.number, helped.attempt)


def _start(turn: _Turn, happened: Started) -> None:
    del happened
    for helped in turn.state.record.helping:
        _begin(turn, helped)


def _start_closed(turn: _Turn, happened: Started) -> None:
    del happened
    turn.act(EraseShare(), StopServing())


def _hear_opened(turn: _Turn, happened: Heard) -> None:
    opened, before = happened.message, turn.state.record.helping
    assert isinstance(opened, OpenedQuery | OpenedEvaluation)
    turn.change(record=turn.state.record.with_help(opened))
    after = turn.state.record.helping
    for helped in before:
        if helped not in after:
            turn.act(Forget(_id_of(helped)))
    for helped in after:
        if helped not in before:
            _begin(turn, helped)


def _begin(turn: _Turn, helped: Helped) -> None:
    """Help, or go on; refuse what was held already, or is over others than before."""
    state, which = turn.state, _id_of(helped)
    if isinstance(which, QueryId):
        turn.act(RunQuery(which, None, helped.peers))
        return
    if not helped.begun:
        error = state.held.refusal(state.study, helped.peers, number=helped.number)
        if error is not None:
            _close(turn, which)
            news = Refused(state.study_name, state.name, error.message, error.party)
            turn.act(NoteRefusal(error.message), Emit(news))
            return
        turn.change(record=state.record.with_begun(helped))
    turn.act(RunEvaluation(which, helped.peers))


def _end(turn: _Turn, happened: ConversationEnded) -> None:
    state, which = turn.state, happened.which
    if which not in state.conversations:
        return
    _close(turn, which)
    if isinstance(which, QueryId) and happened.failure is None:
        turn.act(Emit(QueryServed(state.study_name, state.name, which.asker, which.number)))


def _give_up(turn: _Turn, happened: ConversationOverdue | NotReplayed) -> None:
    """Somebody does not answer, or it cannot be done twice: whoever asked hears nothing of us."""
    if happened.which in turn.state.conversations:
        _close(turn, happened.which)


def _close(turn: _Turn, which: ConversationId) -> None:
    record = turn.state.record
    left = tuple(helped for helped in record.helping if _id_of(helped) != which)
    turn.change(record=record.but(helping=left))
    turn.act(Forget(which))


def _hear_rejoining(turn: _Turn, happened: Heard) -> None:
    rejoining = happened.message
    assert isinstance(rejoining, Rejoining)
    turn.change(record=turn.state.record.with_rejoining(rejoining))


def _hear_closed(turn: _Turn, happened: Heard) -> None:
    del happened
    for which in turn.state.conversations:
        turn.act(Forget(which))
    turn.change(record=turn.state.record.but(phase=Phase.CLOSED, helping=()))
    turn.act(EraseShare(), StopServing())


def _know_sums(turn: _Turn, happened: SumsKnown) -> None:
    turn.change(held=happened.held)


PHASES = (Phase.FINISHED, Phase.CLOSED)
HEARS = (OpenedQuery, OpenedEvaluation, Rejoining, Closed)
INPUTS = (
    Started,
    ConversationEnded,
    ConversationOverdue,
    ConversationGoesOn,
    NotReplayed,
    SumsKnown,
)
_FINISHED, _CLOSED = PHASES

TABLE = table_of(
    (
        Row((_FINISHED,), (Started,), _start),
        Row((_CLOSED,), (Started,), _start_closed),
        Row((_FINISHED,), (OpenedQuery, OpenedEvaluation), _hear_opened),
        Row((_FINISHED,), (ConversationEnded,), _end),
        Row((_FINISHED,), (ConversationOverdue, NotReplayed), _give_up),
        Row((_FINISHED,), (Closed,), _hear_closed, (_CLOSED,)),
        Row(PHASES, (Rejoining,), _hear_rejoining),
        Row(PHASES, (ConversationGoesOn,)),
        Row(PHASES, (SumsKnown,), _know_sums),
        Row(
            (_CLOSED,),
            (
                OpenedQuery,
                OpenedEvaluation,
                Closed,
                ConversationEnded,
                ConversationOverdue,
                NotReplayed,
            ),
        ),
    )
)
