"""Decides about an attempt at a stage: it succeeds, is repeated, or stops the study.

An attempt ends when our own program ended and everybody in the result reported so, when somebody is
missing, or when its time is over. `judging` and `complaints` decide who has to leave then,
`reasons` makes the public reason.
"""

from collections.abc import Iterable
from typing import TypeAlias

from sottovoce.course.control import (
    COORDINATOR,
    Begin,
    Finished,
    Gone,
    Seating,
    Stopped,
)
from sottovoce.course.news import (
    AttemptFailed,
    StageBegan,
    StageEnded,
    StudyStopped,
)
from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.reasons import (
    StopReason,
    disputed,
    kind_of_leaving,
    no_attempt,
    no_table,
    waited,
)
from sottovoce.course.table import Turn
from sottovoce.course.terms import Failing, Terms
from sottovoce.course.training.actions import (
    CleanUp,
    DropAll,
    DropSession,
    Emit,
    Keep,
    KeepResult,
    KeptWith,
    LeaveOut,
    RunAttempt,
    TakeSeat,
    Tell,
    WakeAt,
)
from sottovoce.course.training.complaints import ABSENCE, believed, complaints, judged
from sottovoce.course.training.inputs import (
    Overdue,
    ProgramEnded,
)
from sottovoce.course.training.judging import leavers, missing_after, unreported
from sottovoce.course.training.training_state import Training
from sottovoce.errors import AbsenceError, InputError
from sottovoce.study.attempts import (
    MOST_ATTEMPTS,
    Attempt,
    Stage,
    Stop,
    check_roles,
    following,
)

_Turn: TypeAlias = Turn[Training]


def propose_roster(turn: _Turn) -> None:
    """Propose a roster of everybody that enrolled and has not left."""
    state = turn.state
    record, terms = state.record, state.terms
    publics = {name: key for name, key in state.publics.items() if name not in record.gone}
    try:
        study = terms.seated(publics)
        first = Attempt.first(study, Stage.AGREEMENT)
    except (InputError, AbsenceError):
        stop_study(turn, no_table(record, terms, publics))
        return
    turn.change(seated=study)
    number = record.seating[0].number + 1 if record.seating else 1
    seating, begin = Seating.of(number, study.roster), Begin.of(number, first)
    write(turn, phase=Phase.AGREEMENT, seating=(seating,), begins=(begin,))
    everybody = others(study.roster.names)
    tell_outsiders(turn, [name for name in others(state.publics) if name not in everybody])
    turn.act(Tell(everybody, seating), Tell(everybody, begin), DropAll(), TakeSeat(study))
    run(turn)
    # Handle seats that wrote nonsense before there was a roster.
    consider(turn, begin)


def tell_outsiders(turn: _Turn, names: Iterable[str]) -> None:
    """Tell everybody outside the roster that the others continue without them."""
    attempts = turn.state.record.attempts
    number = attempts[-1].number if attempts else 0
    for name in names:
        stop = Stop(Stage.AGREEMENT, number, kind_of_leaving(turn.state.record, name), name)
        turn.act(Tell((name,), Stopped.of(stop, f"the others continue without {name}")))


# The end of an attempt.


def end_program(turn: _Turn, happened: ProgramEnded) -> None:
    """Our own program of the current attempt ended."""
    if happened.session != turn.state.session:
        return
    until = turn.now + turn.state.terms.limits.receive
    turn.change(ended=happened, reports_until=until, waits=None)
    consider(turn, happened)


def be_overdue(turn: _Turn, happened: Overdue) -> None:
    """Our own program waited for one party in vain.

    A seat that is present is not excused by another that happens to be away.
    """
    if happened.session != turn.state.session:
        return
    consider(turn, happened)
    if not _goes_on(turn, happened.session):
        return
    away = _away(turn)
    missing = away if happened.party in away else _judge(turn, happened.party)
    if isinstance(missing, StopReason):
        stop_study(turn, missing)
    else:
        _try_again(turn, missing)


def consider(turn: _Turn, happened: object) -> None:
    """Check whether the current attempt is over."""
    del happened
    state, session = turn.state, turn.state.session
    missing = _let_go(turn)
    if isinstance(missing, StopReason):
        stop_study(turn, missing)
    elif missing:
        _try_again(turn, missing)
    elif state.ended is not None and state.ended.failure is not None:
        _after_failure(turn, state.ended)
    else:
        _weigh_complaints(turn)
        if _goes_on(turn, session) and turn.state.ended is not None:
            _wait_for_reports(turn, turn.state.ended)


def _goes_on(turn: _Turn, session: bytes) -> bool:
    """Whether the attempt of this session is still the current one."""
    return turn.state.phase in STAGES and turn.state.session == session


def _let_go(turn: _Turn) -> tuple[str, ...] | StopReason:
    """Let seats leave that cannot or will not continue.

    Before a sum is agreed on, the attempt begins again without them (they are returned): what they
    sent is never unmasked. After that their part is in the sum, and the others continue.
    """
    state = turn.state
    study, session = state.study, state.session
    fresh = leavers(state.record, study, session, state.terms.failing)
    if isinstance(fresh, StopReason) or not fresh or not state.has_opened(state.attempt.stage):
        return fresh
    _mark_gone(turn, fresh)
    turn.act(Tell(others(study.roster.names), Gone(session, fresh)), LeaveOut(session, fresh))
    return ()


def _after_failure(turn: _Turn, ended: ProgramEnded) -> None:
    assert ended.failure is not None
    missing = missing_after(ended.failure, _parties(turn.state), away=_away(turn))
    if isinstance(missing, StopReason):
        stop_study(turn, missing)
    else:
        _try_again(turn, missing)


def _weigh_complaints(turn: _Turn) -> None:
    """Believe complaints about seats that were not seen for a stage's time."""
    state, silent = turn.state, turn.state.terms.limits.silent
    accusations = complaints(state.record, state.study, state.attempt)
    away = state.unseen(accusations.values(), seconds=silent, now=turn.now)
    absent = believed(accusations, away=away)
    if absent:
        _try_again(turn, tuple(name for name in _parties(state) if name in absent))
    elif accusations:
        seen = (state.seen.get(seat, state.started) for seat in accusations.values())
        turn.act(WakeAt(min(seen) + silent))


def _wait_for_reports(turn: _Turn, ended: ProgramEnded) -> None:
    """Our own part is done: wait until everybody in the result reports the same."""
    state = turn.state
    late = unreported(state.record, state.study, state.attempt, ended)
    if late and turn.now < state.reports_until:
        turn.act(WakeAt(state.reports_until))
        return
    away = state.unseen(late, seconds=state.terms.limits.unseen, now=turn.now)
    for party in late:
        gone = (party,) if party in away else _judge(turn, party)
        if isinstance(gone, StopReason):
            stop_study(turn, gone)
            return
        _mark_gone(turn, (party, *gone))
    _succeed(turn, ended)


def _judge(turn: _Turn, party: str) -> tuple[str, ...] | StopReason:
    """Decide who of the seen seats has to leave, by the rules in `complaints`."""
    state = turn.state
    accusations = complaints(state.record, state.study, state.attempt)
    judgement = judged(accusations, state.study, waited=party)
    if judgement.disputed and not state.study.may_leave(judgement.missing):
        return disputed(judgement)
    return judgement.missing


def _succeed(turn: _Turn, ended: ProgramEnded) -> None:
    state, attempt = turn.state, turn.state.attempt
    seconds = turn.now - state.began
    study_id = state.terms.study
    turn.act(Emit(StageEnded(study_id, COORDINATOR, attempt.stage, attempt.number, seconds)))
    stages = Stage.of(state.study)
    after = stages[stages.index(attempt.stage) + 1 :]
    if not after:
        _finish(turn, ended.peers)
        return
    turn.act(KeepResult(attempt))
    counted = ended.peers or state.study.roster.peers
    peers = tuple(name for name in counted if name not in state.record.gone)
    helpers = tuple(name for name in state.record.gone if not state.study.may_leave((name,)))
    try:
        check_roles(state.study, helpers)
        first = Attempt.first(state.study, after[0], peers=peers)
    except AbsenceError:
        last = Attempt(after[0], 1, peers)
        reason = no_attempt(state.record, state.study, last, missing=helpers, opened=False)
        stop_study(turn, reason)
        return
    _announce(turn, first)


def _try_again(turn: _Turn, missing: tuple[str, ...]) -> None:
    """Begin another attempt without the missing seats, or stop the study."""
    failed, study = turn.state.attempt, turn.state.study
    missing = study.whole_organisations(missing)
    why = f"missing {', '.join(missing) or 'nobody'}"
    where = (turn.state.terms.study, COORDINATOR, failed.stage, failed.number)
    turn.act(Emit(AttemptFailed(*where, why, missing)))
    if failed.number >= MOST_ATTEMPTS:
        reason = f"the {failed.stage} failed {MOST_ATTEMPTS} times"
        stop_study(turn, StopReason(ABSENCE, "", reason))
        return
    _mark_gone(turn, missing)
    leaves = turn.state.terms.failing is Failing.LEAVES and study.may_leave(missing)
    if failed.stage is Stage.AGREEMENT and leaves:
        propose_roster(turn)
        return
    opened = turn.state.has_opened(failed.stage)
    try:
        attempt = following(study, failed, missing=missing, opened=opened)
    except AbsenceError:
        stop = no_attempt(turn.state.record, study, failed, missing=missing, opened=opened)
        stop_study(turn, _with_waits(stop, turn.state.terms))
        return
    turn.act(DropSession(failed.session(study)))
    _announce(turn, attempt)


def _with_waits(stop: StopReason, terms: Terms) -> StopReason:
    if stop.kind != ABSENCE:
        return stop
    return StopReason(stop.kind, stop.party, f"{stop.reason}; {waited(terms.limits)}")


def _announce(turn: _Turn, attempt: Attempt) -> None:
    record, study = turn.state.record, turn.state.study
    begin = Begin.of(record.seating[0].number, attempt)
    write(turn, phase=Phase.of(attempt.stage), begins=(*record.begins, begin))
    turn.act(Tell(others(study.roster.names), begin))
    run(turn)


def run(turn: _Turn) -> None:
    """Run our own program of the current attempt."""
    turn.change(ended=None, waits=None, began=turn.now)
    attempt, study_id = turn.state.attempt, turn.state.terms.study
    news = StageBegan(study_id, COORDINATOR, attempt.stage, attempt.number, attempt.peers)
    turn.act(Emit(news), RunAttempt(attempt))


def _finish(turn: _Turn, peers: tuple[str, ...]) -> None:
    """Tell everybody that there is a model."""
    names = others(turn.state.study.roster.names)
    write(turn, phase=Phase.FINISHED)
    turn.act(Tell(names, Finished(peers)), Keep(KeptWith.MODEL, turn.state.attempt), CleanUp())


def stop_study(turn: _Turn, stop: StopReason) -> None:
    """Tell everybody that enrolled that the study stopped, and why."""
    state, attempts = turn.state, turn.state.record.attempts
    stage, number = (attempts[-1].stage, attempts[-1].number) if attempts else (Stage.AGREEMENT, 0)
    stopped = Stopped.of(Stop(stage, number, stop.kind, stop.party), stop.reason)
    write(turn, phase=Phase.STOPPED, stopped=(stopped,))
    turn.change(ended=None, waits=None)
    turn.act(Tell(others(state.publics), stopped), DropAll())
    turn.act(Emit(StudyStopped(state.terms.study, COORDINATOR, stop.reason, stop.party)), CleanUp())


def write(turn: _Turn, *, phase: Phase | None = None, **changes: object) -> None:
    """Change some fields of the record."""
    turn.change(record=turn.state.record.but(phase=phase, **changes))


def _mark_gone(turn: _Turn, names: Iterable[str]) -> None:
    organisations = turn.state.study.whole_organisations(tuple(names))
    gone = dict.fromkeys((*turn.state.record.gone, *organisations))
    write(turn, gone=tuple(gone))


def others(names: Iterable[str]) -> tuple[str, ...]:
    """Everybody but us."""
    return tuple(name for name in names if name != COORDINATOR)


def _parties(state: Training) -> tuple[str, ...]:
    """Everybody in the current attempt but us."""
    return others(state.attempt.parties(state.study))


def _away(turn: _Turn) -> tuple[str, ...]:
    """The absent parties of the current attempt."""
    state, parties = turn.state, _parties(turn.state)
    unseen = state.unseen(parties, seconds=state.terms.limits.unseen, now=turn.now)
    return tuple(name for name in parties if name in {*unseen, *state.record.gone})
