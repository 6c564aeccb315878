"""Decides at a helper: it helps with queries and evaluations that the coordinator opens.

A peer asks one query after another, and so it is with evaluations: a new one for the same asker
replaces the open one. A restarted helper continues what its record names. An evaluation that was
already held, or with other peers than the first, is refused, and this site's people are told; so
they are of a query that ended because somebody broke the rules.
"""

from dataclasses import dataclass
from typing import TypeAlias

from sottovoce.course.control import Closed, OpenedEvaluation, OpenedQuery, Rejoining
from sottovoce.course.news import QueryServed, Refused
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
from sottovoce.course.training.actions import Action, Emit
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.course.training.participant_record import Helped, ParticipantRecord
from sottovoce.errors import ViolationError
from sottovoce.study.evaluations.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.study.study import Study


@dataclass(frozen=True)
class Helping:
    """One seat's state as a helper; `held` are the evaluations in its record of opened sums."""

    study_name: str
    study: Study
    name: str
    record: ParticipantRecord
    held: HeldEvaluations = NONE_HELD

    @property
    def phase(self) -> Phase:
        """The phase: finished or closed."""
        return self.record.phase

    @property
    def conversations(self) -> tuple[ConversationId, ...]:
        """The open conversations."""
        return tuple(_id_of(helped) for helped in self.record.helping)


_Turn: TypeAlias = Turn[Helping]


def step(state: Helping, happened: object, *, now: float) -> tuple[Helping, tuple[Action, ...]]:
    """Take the helper's next step."""
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
    """Help or continue; refuse one that was already held, or with other peers than before."""
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
    if not isinstance(which, QueryId):
        return
    if happened.failure is None:
        turn.act(Emit(QueryServed(state.study_name, state.name, which.asker, which.number)))
    elif happened.failure.kind == ViolationError.__name__:
        _report(turn, which, happened.failure.party or which.asker)


def _report(turn: _Turn, which: QueryId, party: str) -> None:
    """Tell this site's people of a query that honest parties do not ask."""
    reason = (
        f"query {which.number} of {which.asker} was broken off: what it asked about are no rows of "
        "this study, it is beyond twice the budget, or somebody sent wrong numbers"
    )
    news = Refused(turn.state.study_name, turn.state.name, reason, party)
    turn.act(NoteRefusal(reason), Emit(news))


def _give_up(turn: _Turn, happened: ConversationOverdue | NotReplayed) -> None:
    """Give up without a message: somebody does not answer, or the program cannot be repeated."""
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
