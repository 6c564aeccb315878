"""Decides at the coordinator about one peer's queries: one at a time, each charged at most once.

    idle ── asked ──▶ answering ── ended ──▶ idle
                        │    ▲
     another is asked, or somebody does not answer
                        ▼    │ the one that was asked instead
                      stopping ── ended ──▶ idle

A peer's queries are numbered. A restarted asker repeats its number and continues; if that query was
answered meanwhile, the answer waits in its mailbox. An asker that sends another number has given
the last query up. The labels that a query told are charged in the step that closes it, and no other
step charges anything. A query that a crash interrupted is run again from the journal before any
other letter of its asker is handled, because only the journal knows what it told. So nobody gets
labels for free, neither by asking the next number right after the last message, nor if the
coordinator crashes at that moment. An asker that never lets a query reach its labels costs the
others time, and learns nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from sottovoce.course.control import COORDINATOR, AskedQuery, OpenedQuery, RefusedQuery
from sottovoce.course.news import QueryServed
from sottovoce.course.queries.actions import Forget, KeepCounts, RunQuery, StopConversation
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    SeatGaveUp,
    SeatRejoined,
)
from sottovoce.course.queries.records import MOST_QUERIES, AskerRecord, wanted_verdict
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import Action, Emit, Tell
from sottovoce.course.training.inputs import Heard, Started
from sottovoce.errors import MisuseError
from sottovoce.study.choices import Verdict
from sottovoce.study.study import Study


class AnsweringPhase(StrEnum):
    """The phase of one peer's queries at the coordinator."""

    IDLE = "idle"
    ANSWERING = "answering"
    STOPPING = "stopping"


@dataclass(frozen=True)
class GivenUp:
    """Why a query is given up: a reason, and who did not answer, if anybody."""

    reason: str
    missing: str


@dataclass(frozen=True)
class Answering:
    """The queries of one peer at the coordinator.

    `known` says that this is a peer of the model and did not leave. `given_up` is why the open
    query is being stopped, if no other query replaces it. `absent` are members of a quorum that
    were not seen lately, `lost` are seats that said that they cannot go on.
    """

    name: str
    study: Study
    asker: str
    record: AskerRecord
    known: bool = True
    given_up: GivenUp | None = None
    absent: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()

    @property
    def phase(self) -> AnsweringPhase:
        """The phase."""
        if not self.record.open:
            return AnsweringPhase.IDLE
        stopping = self.record.wanted or self.given_up is not None
        return AnsweringPhase.STOPPING if stopping else AnsweringPhase.ANSWERING

    @property
    def query(self) -> QueryId:
        """The open query."""
        return QueryId(self.asker, self.record.open[0])

    @property
    def conversations(self) -> tuple[QueryId, ...]:
        """The open conversations."""
        return (self.query,) if self.record.open else ()


_Turn: TypeAlias = Turn[Answering]


def step(state: Answering, happened: object, *, now: float) -> tuple[Answering, tuple[Action, ...]]:
    """Take the coordinator's next step with a peer's queries."""
    return stepped(TABLE, state, happened, now)


def _start(turn: _Turn, happened: Started) -> None:
    del happened
    _run(turn)


def _start_stopping(turn: _Turn, happened: Started) -> None:
    """Run an interrupted query again: only its journal knows what it told."""
    _start(turn, happened)
    turn.act(StopConversation(turn.state.query))


def _run(turn: _Turn) -> None:
    state, record = turn.state, turn.state.record
    verdict = state.study.verdict_for(state.asker, wanted_verdict(record.verdict))
    turn.act(RunQuery(state.query, verdict, record.helpers))


# A peer asks.


def _hear_asked(turn: _Turn, happened: Heard) -> None:
    """Open the query, or stop the earlier one first."""
    asked, record = happened.message, turn.state.record
    assert isinstance(asked, AskedQuery)
    if asked.number in record.open and not record.wanted:
        return
    if asked in record.wanted or asked.number in record.answered:
        return
    if reason := _refusal(turn.state, asked):
        refused = RefusedQuery(asked.number, record.following, reason)
        turn.act(Tell((turn.state.asker,), refused))
        return
    if not record.open:
        _open(turn, asked)
        return
    before = turn.state.phase
    turn.change(record=record.but(following=asked.number + 1, wanted=(asked,)))
    if before is AnsweringPhase.ANSWERING:
        turn.act(StopConversation(turn.state.query))


def _refusal(state: Answering, asked: AskedQuery) -> str:
    """The reason why this cannot be asked; empty if it can."""
    if not state.known:
        return "only peers of the model may ask"
    if asked.number < state.record.following:
        return "this query was already asked"
    if asked.number >= MOST_QUERIES:
        return f"no query has a number above {MOST_QUERIES - 1}"
    try:
        state.study.verdict_for(state.asker, wanted_verdict(asked.verdict))
    except MisuseError as error:
        return error.message
    return ""


def _open(turn: _Turn, asked: AskedQuery) -> None:
    state = turn.state
    verdict = state.study.verdict_for(state.asker, wanted_verdict(asked.verdict))
    helpers = _present(state, helpers_of(state.study, state.asker, verdict))
    if lost := [name for name in helpers if name in state.lost]:
        reason = _lost(lost[0])
        refused = RefusedQuery(asked.number, state.record.following, reason, lost[0])
        turn.act(Tell((state.asker,), refused))
        return
    opened = state.record.but(
        following=asked.number + 1,
        open=(asked.number,),
        verdict=asked.verdict,
        helpers=helpers,
        wanted=(),
    )
    turn.change(record=opened, given_up=None)
    if helpers:
        turn.act(Tell(helpers, OpenedQuery(state.asker, asked.number, helpers)))
    _run(turn)


def helpers_of(study: Study, asker: str, verdict: Verdict | None) -> tuple[str, ...]:
    """The seats besides coordinator and asker that a query needs."""
    parties = study.query_parties(asker, verdict)
    return tuple(name for name in parties if name not in {COORDINATOR, asker})


def _present(state: Answering, helpers: tuple[str, ...]) -> tuple[str, ...]:
    """The present members, if they are enough; otherwise all members, who are waited for."""
    here = tuple(name for name in helpers if name not in state.absent)
    return here if here == helpers or len(here) >= state.study.quorum.needed else helpers


def _lost(seat: str) -> str:
    return f"{seat} cannot go on: its journal is damaged, or its disk was lost"


# It ends.


def _lose(turn: _Turn, happened: SeatGaveUp) -> None:
    """Give the query up at once if it needs a seat that cannot go on."""
    if happened.seat in turn.state.record.helpers:
        turn.change(given_up=GivenUp(_lost(happened.seat), happened.seat))
        turn.act(StopConversation(turn.state.query))


def _end(turn: _Turn, happened: ConversationEnded) -> None:
    """Charge the query's labels, report its end, and open the query that replaces it."""
    state, query = turn.state, turn.state.query
    if happened.which != query:
        return
    wanted = state.record.wanted
    turn.change(record=_charged(state.record, happened), given_up=None)
    if not happened.stopped and happened.failure is None:
        if happened.counted:
            turn.act(KeepCounts(query))
        turn.act(Emit(QueryServed(state.name, COORDINATOR, state.asker, query.number)))
    elif not wanted:
        why = state.given_up or _failed(happened)
        refused = RefusedQuery(query.number, state.record.following, why.reason, why.missing)
        turn.act(Tell((state.asker,), refused))
    turn.act(Forget(query))
    for asked in wanted:
        _open(turn, asked)


def _charged(record: AskerRecord, ended: ConversationEnded) -> AskerRecord:
    """The only place where labels are charged: with the record that the query is over."""
    answered = not ended.stopped and ended.failure is None
    return record.but(
        spent=record.spent + ended.charged,
        evaluated=record.evaluated + ended.evaluated,
        answered=record.open if answered else (),
        open=(),
        verdict="",
        helpers=(),
        wanted=(),
    )


def _failed(ended: ConversationEnded) -> GivenUp:
    failure = ended.failure
    if failure is None:
        return GivenUp("the coordinator gave it up", "")
    missing = failure.party if failure.absent else ""
    return GivenUp(f"the coordinator gave it up: {failure.kind}", missing)


def _begin_anew(turn: _Turn, happened: SeatRejoined) -> None:
    """Start again: with its new keys the seat cannot read earlier answers."""
    del happened
    turn.change(record=turn.state.record.but(answered=()))


def _give_up(turn: _Turn, happened: ConversationOverdue) -> None:
    if happened.which == turn.state.query:
        reason = f"the coordinator gave it up: {happened.waited}"
        turn.change(given_up=GivenUp(reason, happened.party))
        turn.act(StopConversation(turn.state.query))


PHASES = tuple(AnsweringPhase)
_IDLE, _ANSWERING, _STOPPING = PHASES

TABLE = table_of(
    (
        Row((_IDLE,), (Started,)),
        Row((_ANSWERING,), (Started,), _start),
        Row((_STOPPING,), (Started,), _start_stopping),
        Row((_IDLE,), (AskedQuery,), _hear_asked, (_IDLE, _ANSWERING)),
        Row((_ANSWERING,), (AskedQuery,), _hear_asked, (_ANSWERING, _STOPPING)),
        Row((_STOPPING,), (AskedQuery,), _hear_asked),
        Row((_ANSWERING,), (ConversationEnded,), _end, (_ANSWERING, _IDLE)),
        Row((_STOPPING,), (ConversationEnded,), _end, (_STOPPING, _IDLE, _ANSWERING)),
        Row((_ANSWERING,), (ConversationOverdue,), _give_up, (_ANSWERING, _STOPPING)),
        Row((_STOPPING,), (ConversationOverdue,)),
        Row((_ANSWERING,), (SeatGaveUp,), _lose, (_ANSWERING, _STOPPING)),
        Row((_IDLE, _STOPPING), (SeatGaveUp,)),
        Row((_IDLE,), (ConversationEnded, ConversationOverdue)),
        Row(PHASES, (SeatRejoined,), _begin_anew),
        Row(PHASES, (ConversationGoesOn,)),
    )
)
