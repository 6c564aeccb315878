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


def in_phase(training: Told, phase: Phase) -> Told:
    """A course that is in this phase."""
    if phase is Phase.ENROLMENT:
        training(Started())
        return training
    training.everybody()
    if phase is Phase.STOPPED:
        training(Ordered(Order.CANCEL, "enough"))
        return training
    for stage in Stage.of(training.study):
        if phase is Phase.of(stage):
            return training
        training.stage()
    if phase is Phase.CLOSED:
        training(CleanedUp())
        training(Ordered(Order.CLOSE))
    return training


def inputs(training: Told) -> list[Any]:
    """One of each kind, about the attempt under way where there is one."""
    session = training.state.session if training.state.record.begins else b"none"
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
        SeatTaken("valley", training.state.publics.get("valley", bytes(32))),
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
    training: Told, quorum_training: Told, phase: Phase
) -> None:
    # Only engine quorum adds up contributions in a stage of its own.
    training = in_phase(quorum_training if phase is Phase.CONTRIBUTIONS else training, phase)
    assert training.state.phase is phase
    kinds = set()
    for happened in inputs(training):
        after, actions = step(training.state, happened, now=training.now)
        again = step(training.state, happened, now=training.now)
        assert again == (after, actions)
        kind = type(happened.message) if isinstance(happened, Heard) else type(happened)
        kinds.add(kind)
        assert after.phase in TABLE[phase][kind].to
        # What is written can be read again, and is one encoding.
        data = Codec().encode(after.record)
        assert Codec().decode(data, type(after.record)) == after.record
    assert kinds == set(TABLE[phase])


def test_an_input_that_no_table_knows_is_a_mistake(training: Told) -> None:
    with pytest.raises(MisuseError, match="no rule for object in phase enrolment"):
        step(training.state, object(), now=0.0)


def test_enrolment_waits_for_everybody_and_says_for_whom(training: Told) -> None:
    started = training(Started())
    waiting = next(action.news for action in started if isinstance(action, Emit))
    assert waiting == SeatWaiting("s-1", COORDINATOR, "enrolment", OTHERS, 1101.0)
    assert WakeAt(1101.0) in started
    # A restart does not move the deadline.
    training(Started(), after=50)
    assert training.state.record.until == 1101
    for seat in training.study.roster.participants[1:-1]:
        training(SeatTaken(seat.name, seat.public))
    assert view_of(training.state).wait.whom == ("lakeside",)  # type: ignore[union-attr]
    last = training.study.roster.participants[-1]
    actions = training(SeatTaken(last.name, last.public))
    assert [type(action) for action in actions[2:]] == [DropAll, TakeSeat, Emit, RunAttempt]
    assert training.tells(Seating)[0].recipients == OTHERS
    assert training.state.phase is Phase.AGREEMENT


@pytest.mark.parametrize(("here", "phase"), [(5, Phase.AGREEMENT), (4, Phase.STOPPED)])
def test_enrolment_ends_with_who_came(training: Told, here: int, phase: Phase) -> None:
    training(Started())
    for seat in training.study.roster.participants[1 : here + 1]:
        training(SeatTaken(seat.name, seat.public))
    training(Tick(), after=102)
    assert training.state.phase is phase
    if phase is Phase.STOPPED:
        (tell,) = training.tells(Stopped)
        assert "expected at least 3 peers, found 2" in tell.message.reason
        assert tell.recipients == OTHERS[:4]


def test_who_leaves_before_there_is_a_roster_is_in_none(training: Told) -> None:
    training(Started())
    training(SeatTaken("valley", bytes(32)))
    training.hears("valley", Leaving())
    for seat in training.study.roster.participants[1:]:
        training(SeatTaken(seat.name, seat.public))
    assert training.state.study.roster.peers == ("north", "harbour", "lakeside")


def test_a_study_in_which_nothing_happens_comes_to_its_model(training: Told) -> None:
    training.everybody()
    for _ in Stage.of(training.study):
        training.stage()
    assert training.ran == ["agreement 1", "dictionary 1", "training 1"]
    assert [str(action.attempt.stage) for action in training.did(KeepResult)] == [
        "agreement",
        "dictionary",
    ]
    assert training.tells(Finished)[0].message.peers == PEERS
    assert training.did(Keep) == [Keep(KeptWith.MODEL, training.state.attempt)]
    assert training.actions[-1] == CleanUp()
    assert training(CleanedUp())[-1] == Serve()
    assert training(CleanedUp()) == ()


def test_who_is_late_for_a_sum_is_not_in_the_next_stage(training: Told) -> None:
    training.everybody()
    training.stage()
    training.stage(peers=("north", "harbour", "lakeside"))
    assert training.state.attempt.peers == ("north", "harbour", "lakeside")


def test_our_own_end_waits_for_the_others_and_not_for_ever(training: Told) -> None:
    training.everybody()
    training.reports(*OTHERS[:-1])
    actions = training(ProgramEnded(training.state.session, None, PEERS))
    assert actions == (WakeAt(training.now + 30),)
    wait = view_of(training.state).wait
    assert wait is not None
    assert (wait.whom, wait.until) == (("lakeside",), training.now + 30)
    for name in OTHERS:
        training(Seen(name), after=5)
    training(Tick(), after=5)
    assert training.state.record.gone == ("lakeside",)
    assert training.state.phase is Phase.DICTIONARY
    assert training.state.attempt.peers == PEERS[:-1]


def test_before_a_sum_who_leaves_is_left_behind_and_all_begins_anew(training: Told) -> None:
    training.everybody()
    training.stage()
    first = training.state.session
    training.fails("valley", "InputError")
    assert training.ran[-1] == "dictionary 2"
    assert DropSession(first) in training.actions
    assert training.state.attempt.peers == ("north", "harbour", "lakeside")
    (failed,) = [
        action.news for action in training.did(Emit) if isinstance(action.news, AttemptFailed)
    ]
    assert failed.missing == ("valley",)


def test_after_a_sum_who_leaves_is_only_left_out(training: Told) -> None:
    training.everybody()
    training.stage()
    digest = training.study.digest.hex()
    training(SumsAgreed(frozenset({(digest, "preparation")})))
    training.fails("valley", "InputError")
    assert training.ran[-1] == "dictionary 1"
    assert training.tells(Gone)[0].message == Gone(training.state.session, ("valley",))
    assert training.did(LeaveOut) == [LeaveOut(training.state.session, ("valley",))]
    # A process that starts again tells its program once more.
    actions = training(Started(frozenset({(digest, "preparation")})))
    assert [type(action) for action in actions] == [
        TakeSeat,
        RecallAttempt,
        Emit,
        RunAttempt,
        LeaveOut,
    ]


def test_a_sum_of_another_roster_is_not_this_one_s(training: Told) -> None:
    training.everybody()
    training.stage()
    training(SumsAgreed(frozenset({("another", "preparation")})))
    training.fails("valley", "InputError")
    assert training.ran[-1] == "dictionary 2"


def test_who_does_not_consent_is_not_in_the_next_roster(training: Told) -> None:
    training.everybody()
    training.hears("valley", Declined(1))
    assert training.tells(Seating)[-1].message.number == 2
    assert training.state.study.roster.peers == ("north", "harbour", "lakeside")
    assert training.ran == ["agreement 1", "agreement 1"]


@pytest.mark.parametrize("kind", ["ViolationError", "MalformedError"])
def test_a_fault_stops_the_study_by_name(training: Told, kind: str) -> None:
    training.everybody()
    training.fails("north", kind, "valley")
    assert training.tells(Stopped)[0].message.party == "valley or north"
    assert training.state.phase is Phase.STOPPED


def test_without_a_helper_the_study_stops(training: Told) -> None:
    training.everybody()
    training.stage()
    training.fails("evaluator", "InputError")
    (stopped,) = training.tells(Stopped)
    assert "cannot go on without evaluator" in stopped.message.reason
    assert stopped.recipients == OTHERS


def test_where_all_sit_in_one_process_a_peer_s_own_error_stops_all(training: Told) -> None:
    training.terms = replace(training.terms, failing=Failing.STOPS)
    training.__post_init__()
    training.everybody()
    training.stage()
    training.fails("valley", "InputError")
    assert training.state.phase is Phase.STOPPED


def test_a_stage_that_comes_to_nothing_is_not_tried_for_ever(training: Told) -> None:
    training.everybody()
    training.stage()
    for number in range(1, MOST_ATTEMPTS + 1):
        assert training.ran[-1] == f"dictionary {number}"
        training(ProgramEnded(training.state.session, Failure("AbsenceError", "", absent=True)))
    assert "failed 5 times" in training.tells(Stopped)[0].message.reason


def test_too_few_are_left(training: Told) -> None:
    training.everybody()
    training.stage()
    training.fails("valley", "InputError")
    training.fails("north", "WithdrawnError")
    reason = training.tells(Stopped)[0].message.reason
    assert "expected at least 3, found 2" in reason
    assert "valley (its documents or settings cannot be used)" in reason


def test_our_own_error_stops_the_study(training: Told) -> None:
    training.everybody()
    training(ProgramEnded(training.state.session, Failure("InputError")))
    (news,) = [
        action.news for action in training.did(Emit) if isinstance(action.news, StudyStopped)
    ]
    assert training.tells(Stopped)[0].message.reason == news.reason
    assert "the coordinator ended with an error (input)" in news.reason


def test_a_class_that_is_too_rare_everywhere_is_a_reason_of_its_own(training: Told) -> None:
    training.everybody()
    training(ProgramEnded(training.state.session, Failure("RareClassError")))
    (stopped,) = {
        action.message.reason: action.message for action in training.tells(Stopped)
    }.values()
    assert stopped.reason == (
        "all sites together have too few documents of a class (min_documents a peer)"
    )
    assert stopped.reason in str(stopped_error(stopped))


def test_peers_with_other_entities_are_named_to_everybody(training: Told) -> None:
    training.everybody()
    training(ProgramEnded(training.state.session, Failure("OtherEntitiesError", "valley")))
    (stopped,) = {
        action.message.reason: action.message for action in training.tells(Stopped)
    }.values()
    assert stopped.reason.endswith("leave out what not every peer has; found others at valley")
    assert stopped.reason in str(stopped_error(stopped))


def test_a_descent_beyond_its_range_is_nobodys_fault(training: Told) -> None:
    training.everybody()
    training.stage()
    training.stage()
    training.fails("evaluator", "DescentRangeError")
    (stopped,) = {
        action.message.reason: action.message for action in training.tells(Stopped)
    }.values()
    assert stopped.party == ""
    assert stopped.reason.startswith("the documents are too easy to tell apart")
    assert stopped.reason in str(stopped_error(stopped))


def test_nonsense_before_there_is_a_roster_ends_the_study_once_there_is_one(training: Told) -> None:
    training(Started())
    training.hears("valley", Failed(b"", "MalformedError", "valley"))
    assert training.state.phase is Phase.ENROLMENT
    for seat in training.study.roster.participants[1:]:
        training(SeatTaken(seat.name, seat.public))
    (tell,) = training.tells(Stopped)
    assert (tell.message.party, tell.recipients) == ("valley", OTHERS)


def test_a_study_is_closed_by_a_process_that_starts_again(training: Told) -> None:
    in_phase(training, Phase.FINISHED)
    training(CleanedUp())
    training.state = replace(training.state, seated=None)
    training(Started())
    assert training(Ordered(Order.CLOSE))[-1] == CleanUp()


@pytest.mark.parametrize(("waited", "gone"), [("north", {"north"}), ("valley", {"valley"})])
def test_who_is_there_and_silent_goes_and_not_who_is_away_for_a_moment(
    training: Told, waited: str, gone: set[str]
) -> None:
    training.everybody()
    training.stage()
    for name in OTHERS:
        training(Seen(name), after=0 if name == "valley" else 2)
    training(Overdue(training.state.session, waited))
    assert set(training.state.record.gone) == gone


def test_a_complaint_is_believed_once_its_accused_was_silent_long_enough(training: Told) -> None:
    training.everybody()
    training.stage()
    training(Seen("valley"), after=3)
    seen = training.now
    for name in OTHERS:
        if name != "valley":
            training(Seen(name), after=1)
    assert training.fails("north", "AbsenceError", "valley") == (WakeAt(seen + 10),)
    assert training(Tick()) == (WakeAt(seen + 10),)
    training.now = seen + 10.5
    training(Tick())
    assert training.state.record.gone == ("valley",)
    assert training.ran[-1] == "dictionary 2"


def test_what_is_of_an_earlier_attempt_changes_nothing(training: Told) -> None:
    training.everybody()
    training.stage()
    before = training.state.session
    training.fails("valley", "InputError")
    for late in (ProgramEnded(before, None, PEERS), Overdue(before, "north")):
        assert training(late) == ()
    training.hears("north", Failed(before, "InputError", ""))
    assert training.ran[-1] == "dictionary 2"
    assert training.state.record.gone == ("valley",)


def test_a_server_that_takes_no_letters_counts_that_time_against_nobody(training: Told) -> None:
    """Its disk is full: the last report cannot be sent, and everybody else's was."""
    training.everybody()
    training(ProgramEnded(training.state.session, None, PEERS))
    for name in OTHERS:
        if name != "valley":
            training.hears(name, Done(training.state.session, kept=True))
    until = training.state.reports_until
    training.now = until + 1
    training(Seen("valley"))
    training(LettersHeld(40.0))
    assert training(Tick()) == (WakeAt(until + 40),)
    assert training.state.record.gone == ()
    training(LettersHeld(100.0))
    training.now = until + 99
    training.hears("valley", Done(training.state.session, kept=True))
    assert training.ran[-1] == "dictionary 1"
    assert training.state.record.gone == ()


def test_no_model_no_query(training: Told) -> None:
    training.everybody()
    training.hears("north", AskedQuery(3))
    training.hears("north", AskedEvaluation())
    assert training.tells(RefusedQuery)[0].message == RefusedQuery(3, 0, "there is no model yet")
    assert training.tells(RefusedEvaluation)[0].recipients == ("north",)


def test_stages_begin_and_end_in_their_order(quorum_training: Told) -> None:
    training = quorum_training.everybody()
    for _ in Stage:
        training.stage()
    begun = [tell.message.attempt().stage for tell in training.tells(Begin)]
    ended = [
        action.news.stage for action in training.did(Emit) if isinstance(action.news, StageEnded)
    ]
    assert begun == ended == list(Stage)
    assert tuple(map(str, begun)) == STAGES
