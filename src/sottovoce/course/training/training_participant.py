"""Decides at a participant of a training: it follows the coordinator's letters, within its consent.

    Seating ──▶ are these the people and the plan of the study's text? ──▶ consent
    Begin   ──▶ the seat's program of this stage, from the journal or anew ──▶ Done, or Failed
    Stopped ──▶ everything deleted         Finished ──▶ the model kept, everything else deleted

A stage is over when the coordinator begins the next; until then its attempt may still fail
elsewhere.
"""

from itertools import pairwise
from typing import TypeAlias

from sottovoce.course.control import (
    COORDINATOR,
    Begin,
    Closed,
    Declined,
    Done,
    Failed,
    Finished,
    Gone,
    OpenedEvaluation,
    OpenedQuery,
    RefusedEvaluation,
    RefusedQuery,
    Rejoining,
    Reseated,
    Seating,
    Stopped,
)
from sottovoce.course.news import StageBegan, StageEnded
from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.reasons import left_error, stopped_error
from sottovoce.course.seating import seated
from sottovoce.course.table import Row, Turn, stepped, table_of
from sottovoce.course.training.actions import (
    Action,
    AskConsent,
    CleanUp,
    ComeBack,
    DropAll,
    DropSession,
    Emit,
    EndCourse,
    KeepResult,
    LeaveOut,
    RecallAttempt,
    RunAttempt,
    Serve,
    Tell,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    ConsentGiven,
    ConsentRefused,
    Heard,
    Overdue,
    ProgramEnded,
    ProgramWaits,
    Started,
    Withdrew,
)
from sottovoce.course.training.participant_record import Participation
from sottovoce.errors import (
    AbsenceError,
    SottovoceError,
    ViolationError,
    WithdrawnError,
)
from sottovoce.protocols.messages import Message
from sottovoce.study.attempts import Attempt

_Turn: TypeAlias = Turn[Participation]


def step(
    state: Participation, happened: object, *, now: float
) -> tuple[Participation, tuple[Action, ...]]:
    """Take a participant's next step."""
    return stepped(TABLE, state, happened, now)


# A process starts.


def _start(turn: _Turn, happened: Started) -> None:
    """Open the study again; the person is not asked twice."""
    del happened
    if turn.state.record.seating:
        _look_at_roster(turn)


def _start_finished(turn: _Turn, happened: Started) -> None:
    if turn.state.record.cleaned:
        turn.act(Serve())
    else:
        _start(turn, happened)


def _start_reseated(turn: _Turn, happened: Started) -> None:
    del happened
    turn.act(ComeBack(turn.state.record.reseated[0]))


def _start_over(turn: _Turn, happened: object) -> None:
    del happened
    turn.act(EndCourse(_end(turn.state)))


def _end(state: Participation) -> SottovoceError:
    """The error that ended the study at this seat, complete in itself."""
    match state.phase:
        case Phase.STOPPED:
            return stopped_error(state.record.stopped[0])
        case phase:
            return left_error(state.name, phase)


# Rosters.


def _hear_seating(turn: _Turn, happened: Heard) -> None:
    seating, record = happened.message, turn.state.record
    assert isinstance(seating, Seating)
    wrong = ""
    if any(attempt.stage.opened_sums for attempt in record.attempts):
        # With other peers our record of opened sums would not recognise the sums.
        wrong = "a new roster came after sums were opened"
    elif [seating.number] <= [seating.number for seating in record.seating]:
        last = record.seating[0].number
        wrong = f"expected a roster after number {last}, found number {seating.number}"
    if wrong:
        _refuse(turn, ViolationError(wrong, party=COORDINATOR))
        return
    _write(turn, phase=Phase.CONSENT, seating=(seating,), begins=())
    turn.change(study=None, waits=None)
    turn.act(DropAll())
    _look_at_roster(turn)


def _look_at_roster(turn: _Turn) -> None:
    state, seating = turn.state, turn.state.record.seating[0]
    try:
        study = seated(state.terms, state.publics, seating)
    except SottovoceError as error:
        _refuse(turn, error)
        return
    known = study.digest in state.record.consented
    turn.act(AskConsent(seating.number, study, known=known))


def _consent(turn: _Turn, happened: ConsentGiven) -> None:
    """The person agreed and the documents are read: follow the letters that came meanwhile."""
    if happened.number != turn.state.record.seating[0].number:
        return
    digest = happened.study.digest
    turn.change(study=happened.study)
    if digest not in turn.state.record.consented:
        _write(turn, consented=(*turn.state.record.consented, digest))
    attempts = turn.state.record.attempts
    for attempt, after in pairwise(attempts):
        session = attempt.session(happened.study)
        over = after.stage is not attempt.stage and _takes_part(turn, attempt)
        turn.act(RecallAttempt(attempt) if over else DropSession(session))
    if not attempts:
        _write(turn, phase=Phase.AGREEMENT)
    elif turn.state.phase is Phase.FINISHED:
        if _takes_part(turn, attempts[-1]):
            turn.act(RecallAttempt(attempts[-1]))
        turn.act(CleanUp())
    else:
        _write(turn, phase=Phase.of(attempts[-1].stage))
        _run(turn)


def _decline(turn: _Turn, happened: ConsentRefused) -> None:
    """The person, the policy or the documents say no."""
    if happened.number == turn.state.record.seating[0].number:
        _write(turn, phase=Phase.LEFT)
        turn.act(Tell((COORDINATOR,), Declined(happened.number)), EndCourse(None))


def _refuse(turn: _Turn, error: SottovoceError) -> None:
    """Leave: the coordinator's letter leads back, or to another study."""
    seating = turn.state.record.seating
    number = seating[0].number if seating else 0
    _write(turn, phase=Phase.LEFT)
    turn.act(Tell((COORDINATOR,), Declined(number)), DropAll(), EndCourse(error))


# Attempts.


def _note_begin(turn: _Turn, happened: Heard) -> None:
    """Note an attempt; it begins once the person agreed."""
    begin = happened.message
    assert isinstance(begin, Begin)
    if _is_in_order(turn, begin):
        _write(turn, begins=(*turn.state.record.begins, begin))


def _hear_begin(turn: _Turn, happened: Heard) -> None:
    begin = happened.message
    assert isinstance(begin, Begin)
    if not _is_in_order(turn, begin):
        return
    before = turn.state.record.attempts
    attempt = begin.attempt()
    _write(turn, phase=Phase.of(attempt.stage), begins=(*turn.state.record.begins, begin))
    if turn.state.study is None:
        # A new process reads its documents first.
        return
    if before and before[-1].stage is not attempt.stage:
        turn.act(KeepResult(before[-1]))
    turn.act(DropAll())
    _run(turn)


def _is_in_order(turn: _Turn, begin: Begin) -> bool:
    """Check that an attempt belongs to the last roster and follows the earlier one."""
    record = turn.state.record
    if [begin.seating] != [seating.number for seating in record.seating]:
        return False
    try:
        now = begin.attempt()
    except SottovoceError as error:
        _refuse(turn, error)
        return False
    if record.begins and not now.follows(record.attempts[-1]):
        last = record.attempts[-1]
        wrong = (
            f"expected what follows attempt {last.number} at the {last.stage}, "
            f"found {now.number} at the {now.stage}"
        )
        _refuse(turn, ViolationError(wrong, party=COORDINATOR))
        return False
    return True


def _run(turn: _Turn) -> None:
    state, attempt = turn.state, turn.state.record.attempts[-1]
    session = attempt.session(state.agreed)
    turn.change(began=turn.now, waits=None)
    if not _takes_part(turn, attempt):
        turn.act(DropSession(session))
        return
    where = (state.terms.study, state.name, attempt.stage, attempt.number)
    turn.act(Emit(StageBegan(*where, attempt.peers)), RunAttempt(attempt))
    for gone in state.record.gone:
        if gone.session == session:
            turn.act(LeaveOut(session, gone.seats))


def _takes_part(turn: _Turn, attempt: Attempt) -> bool:
    return turn.state.name in attempt.parties(turn.state.agreed)


def _hear_gone(turn: _Turn, happened: Heard) -> None:
    gone = happened.message
    assert isinstance(gone, Gone)
    if gone not in turn.state.record.gone:
        _write(turn, gone=(*turn.state.record.gone, gone))
    turn.act(LeaveOut(gone.session, gone.seats))


def _end_program(turn: _Turn, happened: ProgramEnded) -> None:
    """Report that a program returned or failed, without its error's message."""
    state, attempt = turn.state, turn.state.attempt_of(happened.session)
    if attempt is None:
        return
    turn.change(waits=None)
    failure = happened.failure
    if failure is None:
        where = (state.terms.study, state.name, attempt.stage, attempt.number)
        turn.act(Emit(StageEnded(*where, turn.now - state.began)))
        _say(turn, happened.session, "", Done(happened.session, happened.kept))
        return
    _say(turn, happened.session, "", Failed(happened.session, failure.kind, failure.party))
    if failure.ours:
        _write(turn, phase=Phase.LEFT)
        turn.act(EndCourse(None))


def _be_overdue(turn: _Turn, happened: Overdue) -> None:
    """Complain to the coordinator about a party that keeps us waiting."""
    if turn.state.attempt_of(happened.session) is not None:
        session, party = happened.session, happened.party
        _say(turn, session, party, Failed(session, AbsenceError.__name__, party))


def _say(turn: _Turn, session: bytes, about: str, message: Message) -> None:
    """Tell the coordinator once, even if a later process finds out the same."""
    said = turn.state.record.said
    if (session, about) not in said:
        _write(turn, said=(*said, (session, about)))
        turn.act(Tell((COORDINATOR,), message))


# The end.


def _hear_finished(turn: _Turn, happened: Heard) -> None:
    finished, attempts = happened.message, turn.state.record.attempts
    assert isinstance(finished, Finished)
    _write(turn, phase=Phase.FINISHED, peers=finished.peers)
    if turn.state.study is not None:
        if attempts:
            turn.act(KeepResult(attempts[-1]))
        turn.act(DropAll(), CleanUp())


def _finish_early(turn: _Turn, happened: Heard) -> None:
    del happened
    _refuse(turn, ViolationError("the end came before a roster", party=COORDINATOR))


def _hear_stopped(turn: _Turn, happened: Heard) -> None:
    stopped = happened.message
    assert isinstance(stopped, Stopped)
    _write(turn, phase=Phase.STOPPED, stopped=(stopped,))
    turn.act(DropAll(), EndCourse(stopped_error(stopped)))


def _hear_closed(turn: _Turn, happened: Heard) -> None:
    _write(turn, phase=Phase.CLOSED)
    turn.act(DropAll())
    _start_over(turn, happened)


def _hear_reseated(turn: _Turn, happened: Heard) -> None:
    reseated = happened.message
    assert isinstance(reseated, Reseated)
    _write(turn, phase=Phase.RESEATED, reseated=(reseated,))
    turn.act(ComeBack(reseated))


def _clean(turn: _Turn, happened: CleanedUp) -> None:
    del happened
    if not turn.state.record.cleaned:
        _write(turn, cleaned=True)
        turn.act(Serve())


def _come_back(turn: _Turn, happened: CleanedUp) -> None:
    """The model was handed over; from now on this seat is like the others."""
    del happened
    reseated = turn.state.record.reseated[0]
    _write(turn, phase=Phase.FINISHED, seating=(reseated.now,), peers=reseated.peers, cleaned=True)
    turn.act(Serve())


def _withdraw(turn: _Turn, happened: Withdrew) -> None:
    """Withdraw: the carrier sends our last letter, and nothing after it."""
    del happened
    _write(turn, phase=Phase.WITHDRAWN)
    turn.act(DropAll(), EndCourse(WithdrawnError(f"{turn.state.name}: this site takes no part")))


# After the training.


def _note_help(turn: _Turn, happened: Heard) -> None:
    opened = happened.message
    assert isinstance(opened, OpenedQuery | OpenedEvaluation)
    turn.change(record=turn.state.record.with_help(opened))


def _note_rejoining(turn: _Turn, happened: Heard) -> None:
    rejoining = happened.message
    assert isinstance(rejoining, Rejoining)
    turn.change(record=turn.state.record.with_rejoining(rejoining))


def _note_waits(turn: _Turn, happened: ProgramWaits) -> None:
    turn.change(waits=happened)


def _write(turn: _Turn, *, phase: Phase | None = None, **changes: object) -> None:
    turn.change(record=turn.state.record.but(phase=phase, **changes))


PHASES = (
    Phase.ENROLMENT,
    Phase.CONSENT,
    *STAGES,
    Phase.FINISHED,
    Phase.RESEATED,
    Phase.STOPPED,
    Phase.LEFT,
    Phase.CLOSED,
    Phase.WITHDRAWN,
)
HEARS: tuple[type[Message], ...] = (
    Seating,
    Begin,
    Gone,
    Stopped,
    Finished,
    Closed,
    Reseated,
    Rejoining,
    OpenedQuery,
    OpenedEvaluation,
    RefusedQuery,
    RefusedEvaluation,
)
_ON = (Phase.ENROLMENT, Phase.CONSENT, *STAGES)
_OVER = (Phase.STOPPED, Phase.LEFT, Phase.CLOSED, Phase.WITHDRAWN)
_AFTER = (Phase.FINISHED, Phase.RESEATED, *_OVER)
_UNSEATED = (Phase.ENROLMENT, Phase.RESEATED, *_OVER)

TABLE = table_of(
    (
        Row((Phase.ENROLMENT,), (Started,), _start),
        *(
            Row((phase,), (Started,), _start, (phase, Phase.LEFT))
            for phase in (Phase.CONSENT, *STAGES)
        ),
        Row((Phase.FINISHED,), (Started,), _start_finished, (Phase.FINISHED, Phase.LEFT)),
        Row((Phase.RESEATED,), (Started,), _start_reseated),
        Row(_OVER, (Started,), _start_over),
        Row(_ON, (Seating,), _hear_seating, (Phase.CONSENT, Phase.LEFT)),
        Row((Phase.ENROLMENT,), (Begin,)),
        Row((Phase.CONSENT,), (Begin,), _note_begin, (Phase.CONSENT, Phase.LEFT)),
        *(
            Row((phase,), (Begin,), _hear_begin, (*STAGES[at:], Phase.LEFT))
            for at, phase in enumerate(STAGES)
        ),
        Row((Phase.ENROLMENT,), (Gone,)),
        Row((Phase.CONSENT, *STAGES), (Gone,), _hear_gone),
        Row((Phase.CONSENT,), (ConsentGiven,), _consent, (Phase.CONSENT, *STAGES)),
        Row((*STAGES, Phase.FINISHED), (ConsentGiven,), _consent),
        *(
            Row((phase,), (ConsentRefused,), _decline, (phase, Phase.LEFT))
            for phase in (Phase.CONSENT, *STAGES, Phase.FINISHED)
        ),
        Row(_UNSEATED, (ConsentGiven, ConsentRefused)),
        *(Row((phase,), (ProgramEnded,), _end_program, (phase, Phase.LEFT)) for phase in STAGES),
        Row(STAGES, (Overdue,), _be_overdue),
        Row(STAGES, (ProgramWaits,), _note_waits),
        Row(
            (Phase.ENROLMENT, Phase.CONSENT, *_AFTER),
            (ProgramEnded, Overdue, ProgramWaits),
        ),
        Row(_ON, (Stopped,), _hear_stopped, (Phase.STOPPED,)),
        Row((Phase.ENROLMENT,), (Finished,), _finish_early, (Phase.LEFT,)),
        Row((Phase.CONSENT, *STAGES), (Finished,), _hear_finished, (Phase.FINISHED,)),
        Row((*_ON, Phase.FINISHED, Phase.RESEATED), (Closed,), _hear_closed, (Phase.CLOSED,)),
        Row(_OVER, (Closed,)),
        Row(_ON, (Reseated,), _hear_reseated, (Phase.RESEATED,)),
        Row(PHASES, (OpenedQuery, OpenedEvaluation), _note_help),
        Row(PHASES, (Rejoining,), _note_rejoining),
        Row(PHASES, (RefusedQuery, RefusedEvaluation)),
        Row(_AFTER, (Seating, Begin, Gone, Stopped, Finished, Reseated)),
        Row((Phase.FINISHED,), (CleanedUp,), _clean),
        Row((Phase.RESEATED,), (CleanedUp,), _come_back, (Phase.FINISHED,)),
        Row((*_ON, *_OVER), (CleanedUp,)),
        Row(PHASES, (Withdrew,), _withdraw, (Phase.WITHDRAWN,)),
    )
)
