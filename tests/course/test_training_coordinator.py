"""The coordinator's course of a training: every input in every phase, and what follows."""

from dataclasses import replace
from typing import Any

import pytest

from harness.examples.courses import Told
from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Begin,
    Closed,
    Declined,
    Done,
    Failed,
    Finished,
    Gone,
    Leaving,
    RefusedEvaluation,
    RefusedQuery,
    Rejoined,
    Seating,
    Stopped,
)
from sottovoce.course.news import AttemptFailed, SeatWaiting, StageEnded, StudyStopped
from sottovoce.course.phases import STAGES, Phase
from sottovoce.course.reasons import stopped_error
from sottovoce.course.terms import Failing
from sottovoce.course.training.actions import (
    CleanUp,
    DropAll,
    DropSession,
    Emit,
    Keep,
    KeepResult,
    KeptWith,
    LeaveOut,
    RecallAttempt,
    RunAttempt,
    Serve,
    TakeSeat,
    WakeAt,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    Failure,
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
from sottovoce.course.training.training_coordinator import HEARS, PHASES, TABLE, step
from sottovoce.course.view import view_of
from sottovoce.errors import MisuseError
from sottovoce.study.attempts import MOST_ATTEMPTS, Stage
from sottovoce.study.stages.agreement import SignedConsent
from sottovoce.wire import Codec

PEERS = ("north", "harbour", "valley", "lakeside")
OTHERS = ("evaluator", "dealer", *PEERS)


def in_phase(told: Told, phase: Phase) -> Told:
    """A course that is in this phase."""
    if phase is Phase.ENROLMENT:
        told(Started())
        return told
    told.everybody()
    if phase is Phase.STOPPED:
        told(Ordered(Order.CANCEL, "enough"))
        return told
    for stage in Stage.of(told.study):
        if phase is Phase.of(stage):
            return told
        told.stage()
    if phase is Phase.CLOSED:
        told(CleanedUp())
        told(Ordered(Order.CLOSE))
    return told


def inputs(told: Told) -> list[Any]:
    """One of each kind, about the attempt under way where there is one."""
    session = told.state.session if told.state.record.begins else b"none"
    consent = SignedConsent("valley", bytes(32), bytes(32), bytes(64))
    messages = [
        Done(session, kept=True),
        Failed(session, "AbsenceError", "valley"),
        Declined(1),
        Leaving(),
        AskedQuery(0),
        AskedEvaluation(),
        Rejoined(consent),
    ]
    return [
        Started(),
        SeatTaken("valley", told.state.publics.get("valley", bytes(32))),
        ProgramEnded(session, None, PEERS),
        ProgramWaits(session, "noise", ("valley",), 5.0),
        Overdue(session, "valley"),
        Seen("valley"),
        SumsAgreed(frozenset()),
        LettersHeld(3.0),
        Ordered(Order.CANCEL),
        Ordered(Order.CLOSE),
        CleanedUp(),
        Tick(),
        *(Heard("valley", message) for message in messages),
    ]


def test_the_table_says_something_about_every_input_in_every_phase() -> None:
    assert set(TABLE) == set(PHASES)
    every = set().union(*TABLE.values())
    assert every >= {*HEARS}
    for phase in PHASES:
        assert set(TABLE[phase]) == every


@pytest.mark.parametrize("phase", PHASES)
def test_every_input_in_every_phase_leads_where_the_table_says(
    told: Told, told_quorum: Told, phase: Phase
) -> None:
    # Only engine quorum adds up contributions in a stage of its own.
    told = in_phase(told_quorum if phase is Phase.CONTRIBUTIONS else told, phase)
    assert told.state.phase is phase
    kinds = set()
    for happened in inputs(told):
        after, actions = step(told.state, happened, now=told.now)
        again = step(told.state, happened, now=told.now)
        assert again == (after, actions)
        kind = type(happened.message) if isinstance(happened, Heard) else type(happened)
        kinds.add(kind)
        assert after.phase in TABLE[phase][kind].to
        # What is written can be read again, and is one encoding.
        data = Codec().encode(after.record)
        assert Codec().decode(data, type(after.record)) == after.record
    assert kinds == set(TABLE[phase])


def test_an_input_that_no_table_knows_is_a_mistake(told: Told) -> None:
    with pytest.raises(MisuseError, match="no rule for object in phase enrolment"):
        step(told.state, object(), now=0.0)


def test_enrolment_waits_for_everybody_and_says_for_whom(told: Told) -> None:
    started = told(Started())
    waiting = next(action.news for action in started if isinstance(action, Emit))
    assert waiting == SeatWaiting("s-1", COORDINATOR, "enrolment", OTHERS, 1101.0)
    assert WakeAt(1101.0) in started
    # A restart does not move the deadline.
    told(Started(), after=50)
    assert told.state.record.until == 1101
    for seat in told.study.roster.participants[1:-1]:
        told(SeatTaken(seat.name, seat.public))
    assert view_of(told.state).wait.whom == ("lakeside",)  # type: ignore[union-attr]
    last = told.study.roster.participants[-1]
    actions = told(SeatTaken(last.name, last.public))
    assert [type(action) for action in actions[2:]] == [DropAll, TakeSeat, Emit, RunAttempt]
    assert told.tells(Seating)[0].recipients == OTHERS
    assert told.state.phase is Phase.AGREEMENT


@pytest.mark.parametrize(("here", "phase"), [(5, Phase.AGREEMENT), (4, Phase.STOPPED)])
def test_enrolment_ends_with_who_came(told: Told, here: int, phase: Phase) -> None:
    told(Started())
    for seat in told.study.roster.participants[1 : here + 1]:
        told(SeatTaken(seat.name, seat.public))
    told(Tick(), after=102)
    assert told.state.phase is phase
    if phase is Phase.STOPPED:
        (tell,) = told.tells(Stopped)
        assert "expected at least 3 peers, found 2" in tell.message.reason
        assert tell.recipients == OTHERS[:4]


def test_who_leaves_before_there_is_a_roster_is_in_none(told: Told) -> None:
    told(Started())
    told(SeatTaken("valley", bytes(32)))
    told.hears("valley", Leaving())
    for seat in told.study.roster.participants[1:]:
        told(SeatTaken(seat.name, seat.public))
    assert told.state.study.roster.peers == ("north", "harbour", "lakeside")


def test_a_study_in_which_nothing_happens_comes_to_its_model(told: Told) -> None:
    told.everybody()
    for _ in Stage.of(told.study):
        told.stage()
    assert told.ran == ["agreement 1", "dictionary 1", "training 1"]
    assert [str(action.attempt.stage) for action in told.did(KeepResult)] == [
        "agreement",
        "dictionary",
    ]
    assert told.tells(Finished)[0].message.peers == PEERS
    assert told.did(Keep) == [Keep(KeptWith.MODEL, told.state.attempt)]
    assert told.actions[-1] == CleanUp()
    assert told(CleanedUp())[-1] == Serve()
    assert told(CleanedUp()) == ()


def test_who_is_late_for_a_sum_is_not_in_the_next_stage(told: Told) -> None:
    told.everybody()
    told.stage()
    told.stage(peers=("north", "harbour", "lakeside"))
    assert told.state.attempt.peers == ("north", "harbour", "lakeside")


def test_our_own_end_waits_for_the_others_and_not_for_ever(told: Told) -> None:
    told.everybody()
    told.reports(*OTHERS[:-1])
    actions = told(ProgramEnded(told.state.session, None, PEERS))
    assert actions == (WakeAt(told.now + 30),)
    wait = view_of(told.state).wait
    assert wait is not None
    assert (wait.whom, wait.until) == (("lakeside",), told.now + 30)
    for name in OTHERS:
        told(Seen(name), after=5)
    told(Tick(), after=5)
    assert told.state.record.gone == ("lakeside",)
    assert told.state.phase is Phase.DICTIONARY
    assert told.state.attempt.peers == PEERS[:-1]


def test_before_a_sum_who_leaves_is_left_behind_and_all_begins_anew(told: Told) -> None:
    told.everybody()
    told.stage()
    first = told.state.session
    told.fails("valley", "InputError")
    assert told.ran[-1] == "dictionary 2"
    assert DropSession(first) in told.actions
    assert told.state.attempt.peers == ("north", "harbour", "lakeside")
    (failed,) = [action.news for action in told.did(Emit) if isinstance(action.news, AttemptFailed)]
    assert failed.missing == ("valley",)


def test_after_a_sum_who_leaves_is_only_left_out(told: Told) -> None:
    told.everybody()
    told.stage()
    digest = told.study.digest.hex()
    told(SumsAgreed(frozenset({(digest, "preparation")})))
    told.fails("valley", "InputError")
    assert told.ran[-1] == "dictionary 1"
    assert told.tells(Gone)[0].message == Gone(told.state.session, ("valley",))
    assert told.did(LeaveOut) == [LeaveOut(told.state.session, ("valley",))]
    # A process that starts again tells its program once more.
    actions = told(Started(frozenset({(digest, "preparation")})))
    assert [type(action) for action in actions] == [
        TakeSeat,
        RecallAttempt,
        Emit,
        RunAttempt,
        LeaveOut,
    ]


def test_a_sum_of_another_roster_is_not_this_one_s(told: Told) -> None:
    told.everybody()
    told.stage()
    told(SumsAgreed(frozenset({("another", "preparation")})))
    told.fails("valley", "InputError")
    assert told.ran[-1] == "dictionary 2"


def test_who_does_not_consent_is_not_in_the_next_roster(told: Told) -> None:
    told.everybody()
    told.hears("valley", Declined(1))
    assert told.tells(Seating)[-1].message.number == 2
    assert told.state.study.roster.peers == ("north", "harbour", "lakeside")
    assert told.ran == ["agreement 1", "agreement 1"]


@pytest.mark.parametrize("kind", ["ViolationError", "MalformedError"])
def test_a_fault_stops_the_study_by_name(told: Told, kind: str) -> None:
    told.everybody()
    told.fails("north", kind, "valley")
    assert told.tells(Stopped)[0].message.party == "valley or north"
    assert told.state.phase is Phase.STOPPED


def test_without_a_helper_the_study_stops(told: Told) -> None:
    told.everybody()
    told.stage()
    told.fails("evaluator", "InputError")
    (stopped,) = told.tells(Stopped)
    assert "cannot go on without evaluator" in stopped.message.reason
    assert stopped.recipients == OTHERS


def test_where_all_sit_in_one_process_a_peer_s_own_error_stops_all(told: Told) -> None:
    told.terms = replace(told.terms, failing=Failing.STOPS)
    told.__post_init__()
    told.everybody()
    told.stage()
    told.fails("valley", "InputError")
    assert told.state.phase is Phase.STOPPED


def test_a_stage_that_comes_to_nothing_is_not_tried_for_ever(told: Told) -> None:
    told.everybody()
    told.stage()
    for number in range(1, MOST_ATTEMPTS + 1):
        assert told.ran[-1] == f"dictionary {number}"
        told(ProgramEnded(told.state.session, Failure("AbsenceError", "", absent=True)))
    assert "failed 5 times" in told.tells(Stopped)[0].message.reason


def test_too_few_are_left(told: Told) -> None:
    told.everybody()
    told.stage()
    told.fails("valley", "InputError")
    told.fails("north", "WithdrawnError")
    reason = told.tells(Stopped)[0].message.reason
    assert "expected at least 3, found 2" in reason
    assert "valley (its documents or settings cannot be used)" in reason


def test_our_own_error_stops_the_study(told: Told) -> None:
    told.everybody()
    told(ProgramEnded(told.state.session, Failure("InputError")))
    (news,) = [action.news for action in told.did(Emit) if isinstance(action.news, StudyStopped)]
    assert told.tells(Stopped)[0].message.reason == news.reason
    assert "the coordinator ended with an error (input)" in news.reason


def test_a_class_that_is_too_rare_everywhere_is_a_reason_of_its_own(told: Told) -> None:
    told.everybody()
    told(ProgramEnded(told.state.session, Failure("RareClassError")))
    (stopped,) = {action.message.reason: action.message for action in told.tells(Stopped)}.values()
    assert stopped.reason == (
        "all sites together have too few documents of a class (min_documents a peer)"
    )
    assert stopped.reason in str(stopped_error(stopped))


def test_peers_with_other_entities_are_named_to_everybody(told: Told) -> None:
    told.everybody()
    told(ProgramEnded(told.state.session, Failure("OtherEntitiesError", "valley")))
    (stopped,) = {action.message.reason: action.message for action in told.tells(Stopped)}.values()
    assert stopped.reason.endswith("leave out what not every peer has; found others at valley")
    assert stopped.reason in str(stopped_error(stopped))


def test_a_descent_beyond_its_range_is_nobodys_fault(told: Told) -> None:
    told.everybody()
    told.stage()
    told.stage()
    told.fails("evaluator", "DescentRangeError")
    (stopped,) = {action.message.reason: action.message for action in told.tells(Stopped)}.values()
    assert stopped.party == ""
    assert stopped.reason.startswith("the documents are too easy to tell apart")
    assert stopped.reason in str(stopped_error(stopped))


def test_nonsense_before_there_is_a_roster_ends_the_study_once_there_is_one(told: Told) -> None:
    told(Started())
    told.hears("valley", Failed(b"", "MalformedError", "valley"))
    assert told.state.phase is Phase.ENROLMENT
    for seat in told.study.roster.participants[1:]:
        told(SeatTaken(seat.name, seat.public))
    (tell,) = told.tells(Stopped)
    assert (tell.message.party, tell.recipients) == ("valley", OTHERS)


def test_a_study_is_closed_by_a_process_that_starts_again(told: Told) -> None:
    in_phase(told, Phase.FINISHED)
    told(CleanedUp())
    told.state = replace(told.state, seated=None)
    told(Started())
    assert told(Ordered(Order.CLOSE))[-1] == CleanUp()


@pytest.mark.parametrize(("waited", "gone"), [("north", {"north"}), ("valley", {"valley"})])
def test_who_is_there_and_silent_goes_and_not_who_is_away_for_a_moment(
    told: Told, waited: str, gone: set[str]
) -> None:
    told.everybody()
    told.stage()
    for name in OTHERS:
        told(Seen(name), after=0 if name == "valley" else 2)
    told(Overdue(told.state.session, waited))
    assert set(told.state.record.gone) == gone


def test_a_complaint_is_believed_once_its_accused_was_silent_long_enough(told: Told) -> None:
    told.everybody()
    told.stage()
    told(Seen("valley"), after=3)
    seen = told.now
    for name in OTHERS:
        if name != "valley":
            told(Seen(name), after=1)
    assert told.fails("north", "AbsenceError", "valley") == (WakeAt(seen + 10),)
    assert told(Tick()) == (WakeAt(seen + 10),)
    told.now = seen + 10.5
    told(Tick())
    assert told.state.record.gone == ("valley",)
    assert told.ran[-1] == "dictionary 2"


def test_what_is_of_an_earlier_attempt_changes_nothing(told: Told) -> None:
    told.everybody()
    told.stage()
    before = told.state.session
    told.fails("valley", "InputError")
    for late in (ProgramEnded(before, None, PEERS), Overdue(before, "north")):
        assert told(late) == ()
    told.hears("north", Failed(before, "InputError", ""))
    assert told.ran[-1] == "dictionary 2"
    assert told.state.record.gone == ("valley",)


def test_a_server_that_takes_no_letters_counts_that_time_against_nobody(told: Told) -> None:
    """Its disk is full: the last report cannot be sent, and everybody else's was."""
    told.everybody()
    told(ProgramEnded(told.state.session, None, PEERS))
    for name in OTHERS:
        if name != "valley":
            told.hears(name, Done(told.state.session, kept=True))
    until = told.state.reports_until
    told.now = until + 1
    told(Seen("valley"))
    told(LettersHeld(40.0))
    assert told(Tick()) == (WakeAt(until + 40),)
    assert told.state.record.gone == ()
    told(LettersHeld(100.0))
    told.now = until + 99
    told.hears("valley", Done(told.state.session, kept=True))
    assert told.ran[-1] == "dictionary 1"
    assert told.state.record.gone == ()


def test_no_model_no_query(told: Told) -> None:
    told.everybody()
    told.hears("north", AskedQuery(3))
    told.hears("north", AskedEvaluation())
    assert told.tells(RefusedQuery)[0].message == RefusedQuery(3, 0, "there is no model yet")
    assert told.tells(RefusedEvaluation)[0].recipients == ("north",)


def test_a_restart_does_what_is_still_to_be_done(told: Told) -> None:
    told.everybody()
    told.stage()
    told.fails("valley", "InputError")
    actions = told(Started())
    first = Stage.DICTIONARY
    kinds = [type(action) for action in actions]
    assert kinds == [TakeSeat, RecallAttempt, DropSession, Emit, RunAttempt]
    assert actions[4] == RunAttempt(told.state.attempt)
    assert told.state.attempt.stage is first
    told.stage()
    told.stage()
    assert told(Started()) == (CleanUp(),)
    told(CleanedUp())
    assert told(Started()) == (Serve(),)


def test_orders_are_obeyed_where_they_fit(told: Told) -> None:
    told.everybody()
    assert told(Ordered(Order.CLOSE)) == ()
    for _ in Stage.of(told.study):
        told.stage()
    # Before the journals are deleted nothing is closed, and a model is not cancelled.
    assert told(Ordered(Order.CLOSE)) == told(Ordered(Order.CANCEL)) == ()
    told(CleanedUp())
    actions = told(Ordered(Order.CLOSE))
    assert told.tells(Closed)[0].recipients == OTHERS
    assert actions[-1] == CleanUp()
    assert view_of(told.state).phase is Phase.FINISHED
    told(CleanedUp())
    assert view_of(told.state).phase is Phase.CLOSED


def test_a_view_says_who_said_what(told: Told) -> None:
    told.everybody()
    told(Seen("north"))
    told.reports("north")
    told.fails("harbour", "AbsenceError", "valley")
    told(ProgramWaits(told.state.session, "signed-consent", ("valley",), 1030.0))
    view = view_of(told.state)
    seats = {seat.name: seat for seat in view.seats}
    assert (view.phase, view.attempt, view.peers) == (Phase.AGREEMENT, 1, PEERS)
    assert (seats["north"].reported, seats["north"].seen) == ("done", 1000.0)
    assert seats["harbour"].reported == "AbsenceError"
    assert [name for name, seat in seats.items() if seat.waited_for] == ["valley"]


def test_stages_begin_and_end_in_their_order(told_quorum: Told) -> None:
    told = told_quorum.everybody()
    for _ in Stage:
        told.stage()
    begun = [tell.message.attempt().stage for tell in told.tells(Begin)]
    ended = [action.news.stage for action in told.did(Emit) if isinstance(action.news, StageEnded)]
    assert begun == ended == list(Stage)
    assert tuple(map(str, begun)) == STAGES
