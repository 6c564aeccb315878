"""Decides at an asker about its queries: one at a time, each on disk first.

    idle ── question ──▶ asking ── ended ──▶ answered ── delivered ──▶ idle
                          │  ▲
        a crash, or nobody answers
                          ▼  │ the same question again
                       broken off

A killed process loses nothing. Asked again about the same documents, the seat repeats its query's
number and continues; another question gives the query up. If the coordinator gave it up meanwhile,
it refuses the number, and the seat asks again under the expected number. If the plan allows it and
the dealer does not answer, the query begins again without the dealer, once. `answering` and
`study/queries/classification.py` say what is charged, and why nobody gains by an interruption.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from sottovoce.course.control import COORDINATOR, AskedQuery, Closed, RefusedQuery
from sottovoce.course.news import QueryGivenUp, QueryGoesOn, QueryWithoutDealer, StudyClosed
from sottovoce.course.queries.actions import Deliver, EndAsking, Forget, RunQuery
from sottovoce.course.queries.answering import helpers_of
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    NotReplayed,
    QuestionAsked,
)
from sottovoce.course.queries.records import AskingRecord, OpenQuery, wanted_verdict
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import Action, Emit, Tell
from sottovoce.course.training.inputs import Heard
from sottovoce.errors import AbsenceError, MisuseError, StoppedError
from sottovoce.study.choices import Verdict
from sottovoce.study.queries.classification import goes_on_without
from sottovoce.study.study import Study

# After a refused number the seat tries the expected one, and after a silent dealer
# a query without it.
_TRIES = 3


class AskingPhase(StrEnum):
    """The phase of an asker's query."""

    IDLE = "idle"
    ASKING = "asking"
    ANSWERED = "answered"
    BROKEN_OFF = "broken-off"
    CLOSED = "closed"


@dataclass(frozen=True)
class Asking:
    """The queries of a peer at its own seat.

    `asked` says that a caller waits for the open query here, `answered` that its labels are here
    and not yet stored; `tries` counts the numbers under which one question was asked.
    """

    study_name: str
    study: Study
    name: str
    record: AskingRecord
    asked: bool = False
    answered: bool = False
    tries: int = 0

    @property
    def phase(self) -> AskingPhase:
        """The phase."""
        if self.answered:
            return AskingPhase.ANSWERED
        if self.record.closed:
            return AskingPhase.CLOSED
        if not self.record.open:
            return AskingPhase.IDLE
        return AskingPhase.ASKING if self.asked else AskingPhase.BROKEN_OFF

    @property
    def open(self) -> OpenQuery:
        """The query without an answer."""
        return self.record.open[0]

    @property
    def query(self) -> QueryId:
        """Its name."""
        return QueryId(self.name, self.open.number)

    @property
    def conversations(self) -> tuple[QueryId, ...]:
        """The open conversations."""
        return (self.query,) if self.record.open else ()


_Turn: TypeAlias = Turn[Asking]


def step(state: Asking, happened: object, *, now: float) -> tuple[Asking, tuple[Action, ...]]:
    """Take the asker's next step."""
    return stepped(TABLE, state, happened, now)


def closed_error() -> StoppedError:
    """The error for a query to a closed study."""
    return StoppedError(
        "the study is closed: what labels need was deleted, and none are given any more",
        party=COORDINATOR,
    )


# A question.


def _ask(turn: _Turn, happened: QuestionAsked) -> None:
    turn.change(tries=0)
    _take(turn, happened, turn.state.record.following)


def _ask_again(turn: _Turn, happened: QuestionAsked) -> None:
    """Continue the interrupted query, or give it up for another one."""
    state, before = turn.state, turn.state.open
    turn.change(tries=0)
    if before.digest != happened.digest:
        _replace(turn, happened)
        return
    turn.change(asked=True, tries=1)
    turn.act(Emit(QueryGoesOn(state.study_name, state.name, before.number)))
    for refused in state.record.refused:
        _try_again(turn, refused)
        return
    # Repeated: the coordinator answers only if it has given the query up.
    turn.act(Tell((COORDINATOR,), AskedQuery(before.number, before.verdict)))
    _run(turn)


def _ask_closed(turn: _Turn, happened: QuestionAsked) -> None:
    del happened
    turn.act(EndAsking(closed_error()))


def _take(turn: _Turn, question: QuestionAsked | OpenQuery, number: int, how: str = "") -> None:
    """Ask under this number, which is used up from now on."""
    query = OpenQuery(number, question.digest, question.documents, how)
    record = turn.state.record.but(following=number + 1, open=(query,), refused=())
    turn.change(record=record, asked=True, tries=turn.state.tries + 1)
    turn.act(Tell((COORDINATOR,), AskedQuery(number, how)))
    _run(turn)


def _replace(turn: _Turn, question: QuestionAsked | OpenQuery) -> None:
    """Ask another query; the earlier one is given up, and an event says so."""
    state, before = turn.state, turn.state.open
    given_up = QueryGivenUp(state.study_name, state.name, before.number, before.documents)
    turn.act(Emit(given_up), Forget(state.query))
    _take(turn, question, state.record.following)


def _run(turn: _Turn) -> None:
    state = turn.state
    verdict = state.study.verdict_for(state.name, wanted_verdict(state.open.verdict))
    turn.act(RunQuery(state.query, verdict, helpers_of(state.study, state.name, verdict)))


# The end of a conversation.


def _hear_refused(turn: _Turn, happened: Heard) -> None:
    refused = happened.message
    assert isinstance(refused, RefusedQuery)
    if refused.number == turn.state.open.number:
        _try_again(turn, refused)


def _note_refused(turn: _Turn, happened: Heard) -> None:
    """Note the refusal; it counts when the same question is asked again."""
    refused = happened.message
    assert isinstance(refused, RefusedQuery)
    if refused.number == turn.state.open.number:
        turn.change(record=turn.state.record.but(refused=(refused,)))


def _try_again(turn: _Turn, refused: RefusedQuery) -> None:
    """Try without the dealer, or under the expected number; otherwise end."""
    state, query = turn.state, turn.state.open
    turn.act(Forget(state.query))
    if state.tries < _TRIES:
        if _can_go_without(state, refused.missing):
            number = max(refused.expected, query.number + 1)
            _take(turn, query, number, str(Verdict.DGK))
            news = QueryWithoutDealer(state.study_name, state.name, number, refused.missing)
            turn.act(Emit(news))
            return
        if refused.expected > query.number:
            _take(turn, query, refused.expected, query.verdict)
            return
    _close_query(turn)
    turn.act(EndAsking(MisuseError(f"{state.name}: the query was refused: {refused.reason}")))


def _can_go_without(state: Asking, missing: str) -> bool:
    """Whether a query may begin again without the missing dealer; once, and never silently."""
    return not state.open.verdict and goes_on_without(state.study, state.name, missing)


def _close_query(turn: _Turn) -> None:
    turn.change(record=turn.state.record.but(open=(), refused=()), asked=False, answered=False)


def _be_overdue(turn: _Turn, happened: ConversationOverdue) -> None:
    """Begin anew without a member or the dealer, or end with a query that can be continued."""
    state = turn.state
    if happened.which != state.query:
        return
    reason, party = f"does not answer: {happened.waited}", happened.party
    if state.tries < _TRIES and state.study.can_spare(party):
        # The coordinator lets those members answer that it saw lately.
        _replace(turn, state.open)
        return
    if state.tries < _TRIES and _can_go_without(state, party):
        _try_again(turn, RefusedQuery(state.open.number, 0, reason, party))
        return
    turn.change(asked=False)
    turn.act(EndAsking(AbsenceError(reason, party=party)))


def _end(turn: _Turn, happened: ConversationEnded) -> None:
    if happened.which != turn.state.query:
        return
    if happened.failure is None:
        turn.change(answered=True)
        turn.act(Deliver(turn.state.query))
        return
    turn.act(Forget(turn.state.query), EndAsking(None, turn.state.query))
    _close_query(turn)


def _not_replayed(turn: _Turn, happened: NotReplayed) -> None:
    """Give the query up: another version of the model or program makes other bytes."""
    if happened.which == turn.state.query:
        _replace(turn, turn.state.open)


def _delivered(turn: _Turn, happened: AnswerDelivered) -> None:
    turn.act(Forget(turn.state.query))
    _close_query(turn)
    turn.change(record=turn.state.record.but(left=(happened.left,)))


def _hear_closed(turn: _Turn, happened: Heard) -> None:
    """Close, but still deliver an answer that is already here."""
    del happened
    state = turn.state
    turn.act(Emit(StudyClosed(state.study_name, state.name)))
    turn.change(record=state.record.but(closed=True))
    if state.phase is AskingPhase.ANSWERED or not state.record.open:
        return
    turn.act(Forget(state.query))
    if state.phase is AskingPhase.ASKING:
        turn.act(EndAsking(closed_error()))
    _close_query(turn)


PHASES = tuple(AskingPhase)
_IDLE, _ASKING, _ANSWERED, _BROKEN_OFF, _CLOSED = PHASES

TABLE = table_of(
    (
        Row((_IDLE,), (QuestionAsked,), _ask, (_ASKING,)),
        Row((_BROKEN_OFF,), (QuestionAsked,), _ask_again, (_ASKING, _IDLE)),
        Row((_CLOSED,), (QuestionAsked,), _ask_closed),
        Row((_ASKING,), (RefusedQuery,), _hear_refused, (_ASKING, _IDLE)),
        Row((_BROKEN_OFF,), (RefusedQuery,), _note_refused),
        Row((_IDLE, _ANSWERED, _CLOSED), (RefusedQuery,)),
        Row((_ASKING,), (ConversationEnded,), _end, (_ASKING, _ANSWERED, _IDLE)),
        Row((_ASKING,), (ConversationOverdue,), _be_overdue, (_ASKING, _BROKEN_OFF)),
        Row((_ASKING,), (NotReplayed,), _not_replayed),
        Row(
            (_IDLE, _ANSWERED, _BROKEN_OFF, _CLOSED),
            (ConversationEnded, ConversationOverdue, NotReplayed),
        ),
        Row((_ANSWERED,), (AnswerDelivered,), _delivered, (_IDLE, _CLOSED)),
        Row((_IDLE, _ASKING, _BROKEN_OFF, _CLOSED), (AnswerDelivered,)),
        Row(PHASES, (ConversationGoesOn,)),
        Row((_IDLE, _ASKING, _BROKEN_OFF), (Closed,), _hear_closed, (_CLOSED,)),
        Row((_ANSWERED,), (Closed,), _hear_closed),
        Row((_CLOSED,), (Closed,)),
    )
)
