"""Decides at a peer about a joint evaluation: report readiness, take part once it begins.

    idle ── wanted ──▶ ready ── opened ──▶ evaluating ── ended ──▶ answered ── delivered ──▶ idle
                                              │  ▲
                            a crash, or nobody answers
                                              ▼  │ wanted again
                                             opened

An evaluation that was already held, or with other peers than the first, is refused before anything
is sent.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    Closed,
    OpenedEvaluation,
    RefusedEvaluation,
)
from sottovoce.course.news import SeatWaiting
from sottovoce.course.queries.actions import Deliver, EndEvaluating, Forget, RunEvaluation
from sottovoce.course.queries.asking import closed_error
from sottovoce.course.queries.conversations import EvaluationId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    EvaluationDelivered,
    EvaluationWanted,
    NotReplayed,
    SumsKnown,
)
from sottovoce.course.queries.records import EvaluatingRecord
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import Action, Emit, Tell, WakeAt
from sottovoce.course.training.inputs import Heard, Tick
from sottovoce.errors import AbsenceError, MisuseError, SottovoceError
from sottovoce.study.evaluations.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.study.study import Study


class EvaluatingPhase(StrEnum):
    """The phase of a joint evaluation at a peer."""

    IDLE = "idle"
    READY = "ready"
    EVALUATING = "evaluating"
    ANSWERED = "answered"
    OPENED = "opened"
    CLOSED = "closed"


@dataclass(frozen=True)
class Evaluating:
    """Joint evaluations at a peer's own seat.

    `until` is how long a caller waits here for one to be opened; None without a caller. `resumed`
    says that the program began in an earlier process, `answered` that its figures are here and not
    yet stored. `held` comes from our record of opened sums.
    """

    study_name: str
    study: Study
    name: str
    record: EvaluatingRecord
    held: HeldEvaluations = NONE_HELD
    until: float | None = None
    resumed: bool = False
    answered: bool = False

    @property
    def phase(self) -> EvaluatingPhase:
        """The phase."""
        if self.answered:
            return EvaluatingPhase.ANSWERED
        if self.record.closed:
            return EvaluatingPhase.CLOSED
        if self.until is None:
            return EvaluatingPhase.OPENED if self.record.opened else EvaluatingPhase.IDLE
        return EvaluatingPhase.EVALUATING if self.record.opened else EvaluatingPhase.READY

    @property
    def opened(self) -> OpenedEvaluation:
        """The open evaluation."""
        return self.record.opened[0]

    @property
    def evaluation(self) -> EvaluationId:
        """Its name."""
        return EvaluationId(self.opened.number, self.opened.attempt)

    @property
    def conversations(self) -> tuple[EvaluationId, ...]:
        """The open conversations."""
        return (self.evaluation,) if self.record.opened else ()


_Turn: TypeAlias = Turn[Evaluating]


def step(
    state: Evaluating, happened: object, *, now: float
) -> tuple[Evaluating, tuple[Action, ...]]:
    """Take a peer's next step about a joint evaluation."""
    return stepped(TABLE, state, happened, now)


# The site wants an evaluation.


def _want(turn: _Turn, happened: EvaluationWanted) -> None:
    _be_ready(turn, happened.until)


def _want_opened(turn: _Turn, happened: EvaluationWanted) -> None:
    turn.change(until=happened.until)
    _begin(turn)


def _want_closed(turn: _Turn, happened: EvaluationWanted) -> None:
    del happened
    turn.act(EndEvaluating(closed_error()))


def _be_ready(turn: _Turn, until: float) -> None:
    """Tell the coordinator that we are ready, and wait for the others."""
    turn.change(until=until)
    state = turn.state
    others = tuple(peer for peer in state.study.roster.peers if peer != state.name)
    waiting = SeatWaiting(state.study_name, state.name, "to evaluate, too", others, until)
    turn.act(Tell((COORDINATOR,), AskedEvaluation()), Emit(waiting), WakeAt(until))


def _wait_no_longer(turn: _Turn, happened: Tick) -> None:
    del happened
    until = turn.state.until
    assert until is not None
    if turn.now < until:
        turn.act(WakeAt(until))
        return
    turn.change(until=None)
    error = AbsenceError(
        "opened no joint evaluation: too few peers were ready at the same time",
        party=COORDINATOR,
        hints=("agree on a time with the other sites, and run it again: nothing is lost",),
    )
    turn.act(EndEvaluating(error))


# The coordinator opens it.


def _note_opened(turn: _Turn, happened: Heard) -> None:
    """Note the opened evaluation; it begins once the site wants it."""
    opened = happened.message
    assert isinstance(opened, OpenedEvaluation)
    if turn.state.record.opened != (opened,):
        for evaluation in turn.state.conversations:
            turn.act(Forget(evaluation))
        turn.change(record=turn.state.record.but(opened=(opened,), begun=False))


def _hear_opened(turn: _Turn, happened: Heard) -> None:
    before = turn.state.record.opened
    _note_opened(turn, happened)
    if turn.state.record.opened != before:
        _begin(turn)


def _begin(turn: _Turn) -> None:
    """Take part or continue; refuse one that was already held, or with other peers than before."""
    state, opened = turn.state, turn.state.opened
    if not state.record.begun:
        error = state.held.refusal(state.study, opened.peers, number=opened.number)
        if error is not None:
            _end_with(turn, error)
            return
    turn.change(record=state.record.but(begun=True), resumed=state.record.begun)
    turn.act(RunEvaluation(state.evaluation, opened.peers))


def _go_on(turn: _Turn, happened: ConversationGoesOn) -> None:
    """Repeat that we are ready: the coordinator answers only if none is open any longer."""
    if happened.which == turn.state.evaluation and turn.state.resumed:
        turn.act(Tell((COORDINATOR,), AskedEvaluation()))


# The end of a conversation.


def _hear_refused(turn: _Turn, happened: Heard) -> None:
    """A refusal while we wait: none includes us, or one failed without us."""
    refused = happened.message
    assert isinstance(refused, RefusedEvaluation)
    if not refused.attempt:
        turn.change(until=None)
        turn.act(EndEvaluating(MisuseError(f"{turn.state.name}: {refused.reason}")))
    else:
        # We are no longer among those who are ready.
        turn.act(Tell((COORDINATOR,), AskedEvaluation()))


def _hear_attempt_over(turn: _Turn, happened: Heard) -> None:
    """This attempt is over."""
    state, refused = turn.state, happened.message
    assert isinstance(refused, RefusedEvaluation)
    if refused.attempt not in {0, state.opened.attempt}:
        return
    if state.resumed and state.until is not None:
        _close_attempt(turn)
        _be_ready(turn, state.until)
        return
    hints = ("run it again with the others",)
    _end_with(turn, MisuseError(f"{state.name}: {refused.reason}", hints=hints))


def _note_attempt_over(turn: _Turn, happened: Heard) -> None:
    refused = happened.message
    assert isinstance(refused, RefusedEvaluation)
    if refused.attempt in {0, turn.state.opened.attempt}:
        _close_attempt(turn)


def _end(turn: _Turn, happened: ConversationEnded) -> None:
    state = turn.state
    if happened.which != state.evaluation:
        return
    if happened.failure is not None:
        _end_with(turn, None)
    elif happened.late:
        late = "this site came too late for the joint evaluation"
        _end_with(turn, AbsenceError(late, party=state.name))
    else:
        turn.change(answered=True)
        turn.act(Deliver(state.evaluation))


def _be_overdue(turn: _Turn, happened: ConversationOverdue) -> None:
    """End with the attempt on disk, so that it can continue later."""
    if happened.which == turn.state.evaluation:
        turn.change(until=None)
        reason = f"does not answer: {happened.waited}"
        turn.act(EndEvaluating(AbsenceError(reason, party=happened.party)))


def _not_replayed(turn: _Turn, happened: NotReplayed) -> None:
    """Give the attempt up: it began with other documents."""
    state = turn.state
    assert state.until is not None
    if happened.which == state.evaluation:
        _close_attempt(turn)
        _be_ready(turn, state.until)


def _end_with(turn: _Turn, error: SottovoceError | None) -> None:
    failed = turn.state.evaluation
    _close_attempt(turn)
    turn.change(until=None)
    turn.act(EndEvaluating(error, failed))


def _close_attempt(turn: _Turn) -> None:
    turn.act(Forget(turn.state.evaluation))
    turn.change(record=turn.state.record.but(opened=(), begun=False), resumed=False)


def _delivered(turn: _Turn, happened: EvaluationDelivered) -> None:
    del happened
    _close_attempt(turn)
    turn.change(until=None, answered=False)


def _hear_closed(turn: _Turn, happened: Heard) -> None:
    """Close, but still deliver figures that are already here."""
    del happened
    state = turn.state
    turn.change(record=state.record.but(closed=True))
    if state.phase is EvaluatingPhase.ANSWERED:
        return
    if state.record.opened:
        _close_attempt(turn)
    if state.until is not None:
        turn.change(until=None)
        turn.act(EndEvaluating(closed_error()))


def _know_sums(turn: _Turn, happened: SumsKnown) -> None:
    turn.change(held=happened.held)


PHASES = tuple(EvaluatingPhase)
_IDLE, _READY, _EVALUATING, _ANSWERED, _OPENED, _CLOSED = PHASES
_PROGRAM = (ConversationEnded, ConversationOverdue, ConversationGoesOn, NotReplayed)

TABLE = table_of(
    (
        Row((_IDLE,), (EvaluationWanted,), _want, (_READY,)),
        Row((_OPENED,), (EvaluationWanted,), _want_opened, (_EVALUATING, _IDLE)),
        Row((_CLOSED,), (EvaluationWanted,), _want_closed),
        Row((_IDLE, _OPENED), (OpenedEvaluation,), _note_opened, (_OPENED,)),
        Row((_READY,), (OpenedEvaluation,), _hear_opened, (_EVALUATING, _IDLE)),
        Row((_EVALUATING,), (OpenedEvaluation,), _hear_opened, (_EVALUATING, _IDLE)),
        Row((_ANSWERED, _CLOSED), (OpenedEvaluation,)),
        Row((_READY,), (RefusedEvaluation,), _hear_refused, (_READY, _IDLE)),
        Row((_EVALUATING,), (RefusedEvaluation,), _hear_attempt_over, (_EVALUATING, _READY, _IDLE)),
        Row((_OPENED,), (RefusedEvaluation,), _note_attempt_over, (_OPENED, _IDLE)),
        Row((_IDLE, _ANSWERED, _CLOSED), (RefusedEvaluation,)),
        Row((_EVALUATING,), (ConversationEnded,), _end, (_EVALUATING, _ANSWERED, _IDLE)),
        Row((_EVALUATING,), (ConversationOverdue,), _be_overdue, (_EVALUATING, _OPENED)),
        Row((_EVALUATING,), (ConversationGoesOn,), _go_on),
        Row((_EVALUATING,), (NotReplayed,), _not_replayed, (_EVALUATING, _READY)),
        Row((_IDLE, _READY, _ANSWERED, _OPENED, _CLOSED), _PROGRAM),
        Row((_ANSWERED,), (EvaluationDelivered,), _delivered, (_IDLE, _CLOSED)),
        Row((_IDLE, _READY, _EVALUATING, _OPENED, _CLOSED), (EvaluationDelivered,)),
        Row((_READY,), (Tick,), _wait_no_longer, (_READY, _IDLE)),
        Row((_IDLE, _EVALUATING, _ANSWERED, _OPENED, _CLOSED), (Tick,)),
        Row((_IDLE, _READY, _EVALUATING, _OPENED), (Closed,), _hear_closed, (_CLOSED,)),
        Row((_ANSWERED,), (Closed,), _hear_closed),
        Row((_CLOSED,), (Closed,)),
        Row(PHASES, (SumsKnown,), _know_sums),
    )
)
