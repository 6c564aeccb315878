"""Decides at the coordinator about joint evaluations: each opened once, all with the same peers.

    gathering ── enough peers are ready and here ──▶ held ── ended ──▶ gathering

An evaluation waits until the peers of the model are ready at the same time, because its sums are
opened once. The first begins without absent peers after a while; every later one has the same peers
as the first. An attempt that failed before a sum was opened is followed by another; after that the
evaluation counts as held, even if it failed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from sottovoce.course.control import (
    AskedEvaluation,
    Leaving,
    OpenedEvaluation,
    RefusedEvaluation,
)
from sottovoce.course.queries.actions import (
    EraseCounts,
    Forget,
    RunEvaluation,
    ShowEvaluation,
    StopConversation,
)
from sottovoce.course.queries.conversations import EvaluationId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    SeatGaveUp,
    SeatRejoined,
    SumsKnown,
)
from sottovoce.course.queries.records import EvaluationBook
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.reasons import an_error
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import Action, Tell, WakeAt
from sottovoce.course.training.inputs import Heard, Seen, Started, Tick
from sottovoce.errors import AbsenceError
from sottovoce.study.evaluations.evaluation import NONE_HELD, HeldEvaluations
from sottovoce.study.plan import FEWEST_PEERS
from sottovoce.study.study import Study


class EvaluationsPhase(StrEnum):
    """The phase of the next joint evaluation at the coordinator."""

    GATHERING = "gathering"
    HELD = "held"


@dataclass(frozen=True)
class Evaluations:
    """Joint evaluations at the coordinator.

    `peers` are those of the model, `gather` the seconds that the last of them are waited for.
    `held` comes from our record of opened sums. `rejoined` enrolled again, `newest` is when a peer
    last became ready.
    """

    study: Study
    peers: tuple[str, ...]
    gather: float
    record: EvaluationBook
    presence: SeatsSeen
    held: HeldEvaluations = NONE_HELD
    rejoined: frozenset[str] = frozenset()
    newest: float = 0.0

    @property
    def phase(self) -> EvaluationsPhase:
        """The phase."""
        return EvaluationsPhase.HELD if self.record.open else EvaluationsPhase.GATHERING

    @property
    def evaluation(self) -> EvaluationId:
        """The open evaluation, or the next one."""
        return EvaluationId(self.record.number, self.record.attempt)

    def can_help(self, seat: str, now: float) -> bool:
        """Whether a seat is here, and has what it kept: one that enrolled again lost its share."""
        return self.presence.is_here(seat, now) and seat not in self.rejoined

    @property
    def conversations(self) -> tuple[EvaluationId, ...]:
        """The open conversations."""
        return (self.evaluation,) if self.record.open else ()


_Turn: TypeAlias = Turn[Evaluations]


def step(
    state: Evaluations, happened: object, *, now: float
) -> tuple[Evaluations, tuple[Action, ...]]:
    """Take the coordinator's next step about evaluations."""
    return stepped(TABLE, state, happened, now)


def _start(turn: _Turn, happened: Started) -> None:
    del happened
    turn.change(newest=turn.now)
    _look(turn)


def _start_held(turn: _Turn, happened: Started) -> None:
    del happened
    turn.change(newest=turn.now)
    turn.act(RunEvaluation(turn.state.evaluation, turn.state.record.open))


# The peers that are ready.


def _hear_asked(turn: _Turn, happened: Heard) -> None:
    peer, book = happened.sender, turn.state.record
    if reason := _refusal(turn.state, peer):
        turn.act(Tell((peer,), RefusedEvaluation(book.number, 0, reason)))
        return
    if peer in turn.state.peers and peer not in book.ready:
        turn.change(record=book.but(ready=(*book.ready, peer)), newest=turn.now)
    _look(turn)


def _refusal(state: Evaluations, peer: str) -> str:
    """The reason why this peer takes part in no evaluation; empty if it can."""
    book, most, before = state.record, state.study.plan.evaluations, state.held.peers
    if book.number >= most:
        return f"the study allows {most} evaluations, and all were held"
    left = [name for name in state.peers if name not in book.gone]
    if len(left) < FEWEST_PEERS:
        return f"a joint evaluation needs at least {FEWEST_PEERS} peers, and {len(left)} are left"
    if peer in state.rejoined:
        # The coordinator could pose as it: only the peer that handed the model over compared its
        # keys.
        return "a site that enrolled again takes no part in evaluations"
    if before is not None and {peer, *before} - (set(before) - set(book.gone)):
        who = ", ".join(before)
        return f"every evaluation has the same peers: {who} took part in the first"
    return ""


def _hear_leaving(turn: _Turn, happened: Heard) -> None:
    book = turn.state.record
    turn.change(record=book.but(gone=(*book.gone, happened.sender)))
    _look(turn)


def _look_again(turn: _Turn, happened: Tick) -> None:
    del happened
    _look(turn)


def _look(turn: _Turn) -> None:
    """Begin when everybody is present and ready, or enough are and the rest stays away."""
    state, book = turn.state, turn.state.record
    if book.open or not book.ready:
        return
    expected = state.held.peers or tuple(peer for peer in state.peers if peer not in book.gone)
    ready = (peer for peer in expected if peer in book.ready)
    here = tuple(
        peer
        for peer in ready
        if all(state.can_help(seat, turn.now) for seat in state.study.whole_organisations((peer,)))
    )
    late = state.newest + state.gather
    first = state.held.peers is None
    if len(here) >= FEWEST_PEERS and (here == expected or (first and turn.now >= late)):
        _open(turn, here)
    elif first and turn.now < late:
        turn.act(WakeAt(late))


def _open(turn: _Turn, peers: tuple[str, ...]) -> None:
    state = turn.state
    turn.change(record=state.record.but(open=peers))
    opened = OpenedEvaluation(state.record.number, state.record.attempt, peers)
    seats = (*peers, *state.study.evaluation_helpers(peers))
    turn.act(Tell(seats, opened), RunEvaluation(state.evaluation, peers))


# It ends.


def _end(turn: _Turn, happened: ConversationEnded) -> None:
    """Go to the next evaluation, or repeat this one if none of its sums was opened."""
    state, book = turn.state, turn.state.record
    if happened.which != state.evaluation:
        return
    failed = happened.stopped or happened.failure is not None
    again = failed and book.number not in state.held.numbers
    if failed:
        kind = AbsenceError.__name__ if happened.failure is None else happened.failure.kind
        reason = f"the evaluation ended with {an_error(kind)}"
        turn.act(Tell(book.open, RefusedEvaluation(book.number, book.attempt, reason)))
    else:
        turn.act(ShowEvaluation(state.evaluation))
    late = tuple(peer for peer in book.ready if peer not in book.open)
    if late and not again:
        reason = f"the evaluation was held without it, among {', '.join(book.open)}"
        turn.act(Tell(late, RefusedEvaluation(book.number, 0, reason)))
    if not again:
        # Our shares of the counts must not stay.
        turn.act(EraseCounts(book.open))
    number, attempt = (book.number, book.attempt + 1) if again else (book.number + 1, 1)
    after = EvaluationBook(number, attempt, late if again else (), gone=book.gone)
    turn.act(Forget(state.evaluation))
    turn.change(record=after)
    _look(turn)


def _give_up(turn: _Turn, happened: ConversationOverdue) -> None:
    if happened.which == turn.state.evaluation:
        turn.act(StopConversation(turn.state.evaluation))


# Facts about peers.


def _know_sums(turn: _Turn, happened: SumsKnown) -> None:
    turn.change(held=happened.held)


def _know_rejoined(turn: _Turn, happened: SeatRejoined) -> None:
    turn.change(rejoined=turn.state.rejoined | {happened.seat})


def _lose(turn: _Turn, happened: SeatGaveUp) -> None:
    turn.change(presence=turn.state.presence.without(happened.seat))


def _see(turn: _Turn, happened: Seen) -> None:
    turn.change(presence=turn.state.presence.after(happened.seat, turn.now))


def _see_again(turn: _Turn, happened: Seen) -> None:
    """Look again: a peer that is ready may have been away."""
    away = not turn.state.presence.is_here(happened.seat, turn.now)
    _see(turn, happened)
    if away:
        _look(turn)


PHASES = tuple(EvaluationsPhase)
_GATHERING, _HELD = PHASES

TABLE = table_of(
    (
        Row((_GATHERING,), (Started,), _start, PHASES),
        Row((_HELD,), (Started,), _start_held),
        Row((_GATHERING,), (AskedEvaluation,), _hear_asked, PHASES),
        Row((_HELD,), (AskedEvaluation,), _hear_asked),
        Row((_GATHERING,), (Leaving,), _hear_leaving, PHASES),
        Row((_HELD,), (Leaving,), _hear_leaving),
        Row((_GATHERING,), (Tick,), _look_again, PHASES),
        Row((_HELD,), (Tick,)),
        Row((_HELD,), (ConversationEnded,), _end, PHASES),
        Row((_HELD,), (ConversationOverdue,), _give_up),
        Row((_GATHERING,), (ConversationEnded, ConversationOverdue)),
        Row(PHASES, (ConversationGoesOn,)),
        Row(PHASES, (SumsKnown,), _know_sums),
        Row(PHASES, (SeatRejoined,), _know_rejoined),
        Row(PHASES, (SeatGaveUp,), _lose),
        Row((_GATHERING,), (Seen,), _see_again, PHASES),
        Row((_HELD,), (Seen,), _see),
    )
)
