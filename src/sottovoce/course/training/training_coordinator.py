"""Decides at the coordinator of a training: who takes part, which stage begins, when to stop.

    enrolment ──▶ agreement ──▶ dictionary ──▶ contributions ──▶ training ──▶ finished ──▶ closed

A stage (agreement to training) may begin again without seats that left. Only engine quorum has a
stage of contributions. Every phase before `finished` can lead to `stopped`. `training_attempts`
decides about each attempt.
"""

from itertools import pairwise
from typing import TypeAlias

from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Closed,
    Declined,
    Done,
    Failed,
    Leaving,
    RefusedEvaluation,
    RefusedQuery,
    Rejoined,
)
from sottovoce.course.news import (
    SeatWaiting,
    StudyClosed,
    StudyFinished,
)
from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.reasons import (
    DECLINED,
    StopReason,
    known_kind,
)
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import (
    Action,
    CleanUp,
    DropAll,
    DropSession,
    Emit,
    LeaveOut,
    RecallAttempt,
    Serve,
    TakeSeat,
    Tell,
    WakeAt,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    Heard,
    LettersHeld,
    Order,
    Ordered,
    Overdue,
    ProgramEnded,
    ProgramWaits,
    SeatTaken,
    Seen,
    Started,
    SumsAgreed,
    Tick,
)
from sottovoce.course.training.training_attempts import (
    be_overdue,
    consider,
    end_program,
    others,
    propose_roster,
    run,
    stop_study,
    tell_outsiders,
    write,
)
from sottovoce.course.training.training_record import LATE, Report
from sottovoce.course.training.training_state import Training
from sottovoce.errors import StoppedError
from sottovoce.protocols.messages import Message

_Turn: TypeAlias = Turn[Training]


def step(state: Training, happened: object, *, now: float) -> tuple[Training, tuple[Action, ...]]:
    """Take the next step of a training's coordinator."""
    return stepped(TABLE, state, happened, now)


# A process starts.


def _start_enrolment(turn: _Turn, happened: Started) -> None:
    _begin_process(turn, happened)
    if not turn.state.record.until:
        until = int(turn.now + turn.state.terms.limits.enrolment) + 1
        write(turn, until=until)
    _look_who_came(turn, happened)


def _start_stage(turn: _Turn, happened: Started) -> None:
    """Run finished stages again for their results, and continue the current attempt."""
    _begin_process(turn, happened)
    study, attempts = turn.state.study, turn.state.record.attempts
    turn.act(TakeSeat(study))
    for attempt, after in pairwise(attempts):
        # Only the opened sums of a failed attempt count, and they are on record.
        over = after.stage is not attempt.stage
        turn.act(RecallAttempt(attempt) if over else DropSession(attempt.session(study)))
    run(turn)
    here = tuple(name for name in turn.state.record.gone if name in attempts[-1].parties(study))
    if here:
        turn.act(LeaveOut(turn.state.session, here))
    consider(turn, happened)


def _start_finished(turn: _Turn, happened: Started) -> None:
    _begin_process(turn, happened)
    turn.act(Serve() if turn.state.record.cleaned else CleanUp())


def _start_over(turn: _Turn, happened: Started) -> None:
    _begin_process(turn, happened)
    if not turn.state.record.cleaned:
        turn.act(CleanUp())


def _begin_process(turn: _Turn, happened: Started) -> None:
    turn.change(started=turn.now, opened=happened.opened)
    for seating in turn.state.record.seating:
        publics = {seat.name: seat.public for seat in seating.roster().participants}
        turn.change(seated=turn.state.terms.seated(publics))


# Enrolment.


def _see(turn: _Turn, happened: Seen) -> None:
    turn.change(seen={**turn.state.seen, happened.seat: turn.now})


def _take_seat(turn: _Turn, happened: SeatTaken) -> None:
    turn.change(publics={**turn.state.publics, happened.seat: happened.public})


def _enrol(turn: _Turn, happened: SeatTaken) -> None:
    _take_seat(turn, happened)
    _look_who_came(turn, happened)


def _come_late(turn: _Turn, happened: SeatTaken) -> None:
    """A seat enrolled just when a roster was proposed or the study stopped."""
    _take_seat(turn, happened)
    state = turn.state
    if state.phase is Phase.STOPPED:
        turn.act(Tell((happened.seat,), state.record.stopped[0]))
    elif happened.seat not in state.study.roster.names:
        tell_outsiders(turn, (happened.seat,))


def _look_who_came(turn: _Turn, happened: object) -> None:
    """Wait until every seat is taken, or the time is over and enough are."""
    del happened
    state, until = turn.state, turn.state.record.until
    missing = tuple(seat for seat in state.terms.expected if seat not in state.publics)
    if not missing or turn.now >= until:
        propose_roster(turn)
        return
    if missing != state.missing:
        turn.change(missing=missing)
        news = SeatWaiting(state.terms.study, COORDINATOR, "enrolment", missing, float(until))
        turn.act(Emit(news))
    turn.act(WakeAt(float(until)))


# Reports of seats.


def _hear_done(turn: _Turn, happened: Heard) -> None:
    message = happened.message
    assert isinstance(message, Done)
    _report(turn, Report(message.session, happened.sender, "" if message.kept else LATE, ""))


def _hear_failed(turn: _Turn, happened: Heard) -> None:
    _report(turn, _failed(turn, happened))


def _failed(turn: _Turn, happened: Heard) -> Report:
    """Take a report; others hear of it, so only known names and kinds are kept."""
    message = happened.message
    assert isinstance(message, Failed)
    party = message.party if message.party in turn.state.publics else ""
    return Report(message.session, happened.sender, known_kind(message.kind), party)


def _hear_leaving(turn: _Turn, happened: Heard) -> None:
    _report(turn, Report(b"", happened.sender, DECLINED, ""))


def _leave_early(turn: _Turn, happened: Heard) -> None:
    """A seat left before there is a roster: it will be in none."""
    report, record = Report(b"", happened.sender, DECLINED, ""), turn.state.record
    write(turn, reports=(*record.reports, report), gone=(*record.gone, happened.sender))


def _fail_early(turn: _Turn, happened: Heard) -> None:
    """Note a seat that writes nonsense before there is a roster, for later."""
    write(turn, reports=(*turn.state.record.reports, _failed(turn, happened)))


def _report(turn: _Turn, report: Report) -> None:
    write(turn, reports=(*turn.state.record.reports, report))
    consider(turn, report)


def _refuse_query(turn: _Turn, happened: Heard) -> None:
    reason, asked = "there is no model yet", happened.message
    refused: Message = RefusedEvaluation(0, 0, reason)
    if isinstance(asked, AskedQuery):
        refused = RefusedQuery(asked.number, 0, reason)
    turn.act(Tell((happened.sender,), refused))


# The end.


def _obey_cancel(turn: _Turn, happened: Ordered) -> None:
    if happened.order is Order.CANCEL:
        reason = happened.reason or "the coordinator cancelled the study"
        stop_study(turn, StopReason(StoppedError.__name__, COORDINATOR, reason))


def _obey_close(turn: _Turn, happened: Ordered) -> None:
    """Close the study; the key is deleted after everybody was told and the clean-up is done."""
    if happened.order is Order.CLOSE and turn.state.record.cleaned:
        names = others(turn.state.study.roster.names)
        write(turn, phase=Phase.CLOSED, cleaned=False)
        turn.act(Tell(names, Closed()), DropAll(), CleanUp())


def _clean_finished(turn: _Turn, happened: CleanedUp) -> None:
    del happened
    if not turn.state.record.cleaned:
        write(turn, cleaned=True)
        turn.act(Emit(StudyFinished(turn.state.terms.study, COORDINATOR)), Serve())


def _clean_stopped(turn: _Turn, happened: CleanedUp) -> None:
    del happened
    write(turn, cleaned=True)


def _clean_closed(turn: _Turn, happened: CleanedUp) -> None:
    del happened
    if not turn.state.record.cleaned:
        write(turn, cleaned=True)
        turn.act(Emit(StudyClosed(turn.state.terms.study, COORDINATOR)))


def _agree_sums(turn: _Turn, happened: SumsAgreed) -> None:
    turn.change(opened=turn.state.opened | happened.opened)


def _hold(turn: _Turn, happened: LettersHeld) -> None:
    """Reports are letters, too: who could not send one has as much longer."""
    state, longer = turn.state, happened.seconds - turn.state.held
    turn.change(held=happened.seconds, reports_until=state.reports_until + longer)


def _note_waits(turn: _Turn, happened: ProgramWaits) -> None:
    turn.change(waits=happened)


PHASES = (Phase.ENROLMENT, *STAGES, Phase.FINISHED, Phase.STOPPED, Phase.CLOSED)
HEARS: tuple[type[Message], ...] = (
    Done,
    Failed,
    Declined,
    Leaving,
    AskedQuery,
    AskedEvaluation,
    Rejoined,
)
"""The letters of seats; once there is a model, `queries/coordinator` handles them."""
_TRAINED = (Phase.FINISHED, Phase.STOPPED, Phase.CLOSED)
_ONWARDS = {
    Phase.AGREEMENT: (Phase.AGREEMENT, Phase.DICTIONARY, Phase.STOPPED),
    Phase.DICTIONARY: (Phase.DICTIONARY, Phase.CONTRIBUTIONS, Phase.TRAINING, Phase.STOPPED),
    Phase.CONTRIBUTIONS: (Phase.CONTRIBUTIONS, Phase.TRAINING, Phase.STOPPED),
    Phase.TRAINING: (Phase.TRAINING, Phase.FINISHED, Phase.STOPPED),
}

TABLE = table_of(
    (
        Row(
            (Phase.ENROLMENT,),
            (Started,),
            _start_enrolment,
            (Phase.ENROLMENT, Phase.AGREEMENT, Phase.STOPPED),
        ),
        Row(
            (Phase.ENROLMENT,),
            (SeatTaken,),
            _enrol,
            (Phase.ENROLMENT, Phase.AGREEMENT, Phase.STOPPED),
        ),
        Row(
            (Phase.ENROLMENT,),
            (Tick,),
            _look_who_came,
            (Phase.ENROLMENT, Phase.AGREEMENT, Phase.STOPPED),
        ),
        Row((Phase.ENROLMENT,), (Declined, Leaving), _leave_early),
        Row((Phase.ENROLMENT,), (Failed,), _fail_early),
        Row((Phase.ENROLMENT,), (Done, Rejoined)),
        Row((Phase.ENROLMENT,), (ProgramEnded, ProgramWaits, Overdue, CleanedUp)),
        *(
            Row((phase,), kinds, does, to)
            for phase, to in _ONWARDS.items()
            for kinds, does in (
                ((Started,), _start_stage),
                ((ProgramEnded,), end_program),
                ((Overdue,), be_overdue),
                ((Tick,), consider),
                ((Done,), _hear_done),
                ((Failed,), _hear_failed),
                ((Declined, Leaving), _hear_leaving),
            )
        ),
        Row((*STAGES, Phase.STOPPED), (SeatTaken,), _come_late),
        Row(STAGES, (ProgramWaits,), _note_waits),
        Row(STAGES, (Rejoined, CleanedUp)),
        Row((Phase.ENROLMENT, *STAGES), (AskedQuery, AskedEvaluation), _refuse_query),
        *(
            Row((phase,), (Ordered,), _obey_cancel, (phase, Phase.STOPPED))
            for phase in (Phase.ENROLMENT, *STAGES)
        ),
        Row(PHASES, (Seen,), _see),
        Row(PHASES, (SumsAgreed,), _agree_sums),
        Row(PHASES, (LettersHeld,), _hold),
        Row((Phase.FINISHED,), (Started,), _start_finished),
        Row((Phase.STOPPED, Phase.CLOSED), (Started,), _start_over),
        Row((Phase.FINISHED,), (Ordered,), _obey_close, (Phase.FINISHED, Phase.CLOSED)),
        Row((Phase.STOPPED, Phase.CLOSED), (Ordered,)),
        Row((Phase.FINISHED,), (CleanedUp,), _clean_finished),
        Row((Phase.STOPPED,), (CleanedUp,), _clean_stopped),
        Row((Phase.CLOSED,), (CleanedUp,), _clean_closed),
        Row((Phase.FINISHED, Phase.CLOSED), (SeatTaken,), _take_seat),
        Row(_TRAINED, (ProgramEnded, ProgramWaits, Overdue, Tick)),
        Row(_TRAINED, HEARS),
    )
)
