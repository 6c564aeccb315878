"""Queries: every input in every phase, and what follows at whom; evaluations beside it."""

from dataclasses import replace
from types import ModuleType

import pytest

from harness.entropy import SeededEntropy
from harness.examples.query_courses import FIRST, PEERS, Told, seat_of, told_by
from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Closed,
    Leaving,
    OpenedEvaluation,
    OpenedQuery,
    RefusedQuery,
    Rejoining,
    Seating,
)
from sottovoce.course.news import QueryGivenUp, QueryGoesOn, QueryWithoutDealer, Refused
from sottovoce.course.queries import answering, asking, evaluating, evaluations, helping
from sottovoce.course.queries import coordinator as coordinator_service
from sottovoce.course.queries.actions import (
    Deliver,
    EndAsking,
    EraseShare,
    Forget,
    ForgetOthers,
    KeepCounts,
    NoteRefusal,
    RunQuery,
    StopConversation,
    StopServing,
)
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.coordinator import CoordinatorService
from sottovoce.course.queries.inputs import (
    AnswerDelivered,
    ConversationEnded,
    ConversationOverdue,
    EvaluationWanted,
    NotReplayed,
    QuestionAsked,
    SeatGaveUp,
    SeatRejoined,
)
from sottovoce.course.queries.records import AskerRecord, EvaluationBook
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.training.actions import Action, Emit, Tell
from sottovoce.course.training.inputs import Failure, Seen, Started, Tick
from sottovoce.errors import AbsenceError, StoppedError, ViolationError
from sottovoce.study.choices import Engine, Verdict
from sottovoce.study.plan import StudyPlan
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.agreement import SignedConsent
from sottovoce.study.study import Study
from sottovoce.text.labels import Labels

MINE, OTHERS = QuestionAsked(b"m" * 32, 3), QuestionAsked(b"o" * 32, 5)
DECIDERS = (answering, evaluations, asking, evaluating, helping)


@pytest.mark.parametrize("decider", DECIDERS, ids=lambda decider: decider.__name__.rsplit(".")[-1])
def test_a_table_says_something_about_every_input_in_every_phase(decider: ModuleType) -> None:
    assert set(decider.TABLE) == set(decider.PHASES)
    every = set().union(*decider.TABLE.values())
    for phase in decider.PHASES:
        missing = every - set(decider.TABLE[phase])
        # A seat asks one question after another: its carrier sees to that.
        busy = {"asking", "answered", "ready", "evaluating"}
        alone = {QuestionAsked, EvaluationWanted} if phase in busy else set()
        assert missing <= alone, phase


# The coordinator and one peer's queries.


def test_a_query_is_opened_with_its_helpers_and_charged_when_it_ends(coordinator: Told) -> None:
    opened, run = coordinator.hears("north", AskedQuery(0))
    helpers = ("evaluator", "dealer")
    assert opened == Tell(helpers, OpenedQuery("north", 0, helpers))
    assert run == RunQuery(FIRST, Verdict.FSS, helpers)
    assert coordinator.state.conversations == (FIRST,)
    coordinator(ConversationEnded(FIRST, charged=48, counted=True))
    assert coordinator.state.askers["north"].record == AskerRecord(1, 48, answered=(0,))
    assert KeepCounts(FIRST) in coordinator.actions
    # Told twice, it is charged once.
    assert coordinator(ConversationEnded(FIRST, charged=48)) == ()
    assert coordinator.state.askers["north"].record.spent == 48


def test_the_same_number_again_changes_nothing_and_an_old_one_is_refused(
    coordinator: Told,
) -> None:
    coordinator.hears("north", AskedQuery(0))
    assert coordinator.hears("north", AskedQuery(0)) == ()
    coordinator(ConversationEnded(FIRST))
    # Its answer waits for it: a refusal might come first, and would have it ask and pay again.
    assert coordinator.hears("north", AskedQuery(0)) == ()
    consent = SignedConsent("north", bytes(32), bytes(32), bytes(64))
    coordinator(SeatRejoined("north", Rejoining(Seating(1, ()), consent)))
    (refused,) = coordinator.hears("north", AskedQuery(0))
    assert refused == Tell(("north",), RefusedQuery(0, 1, "this query was already asked"))


@pytest.mark.parametrize("charged", [0, 48])
def test_the_next_number_gives_a_query_up_and_what_it_told_is_charged_first(
    coordinator: Told, charged: int
) -> None:
    coordinator.hears("north", AskedQuery(0))
    assert coordinator.hears("north", AskedQuery(1)) == (StopConversation(FIRST),)
    assert coordinator.hears("north", AskedQuery(1)) == ()
    record = coordinator.state.askers["north"].record
    assert (record.open, record.spent) == ((0,), 0)
    # A crash in between: only the journal knows what the query told.
    run, stop, _ = coordinator.restarted()
    assert (run.query, stop) == (FIRST, StopConversation(FIRST))
    actions = coordinator(ConversationEnded(FIRST, stopped=True, charged=charged))
    assert Forget(FIRST) in actions
    assert actions[-1] == RunQuery(QueryId("north", 1), Verdict.FSS, ("evaluator", "dealer"))
    assert not told_by(actions, RefusedQuery)
    record = coordinator.state.askers["north"].record
    assert (record.open, record.spent, record.following) == ((1,), charged, 2)


def test_a_query_that_ends_by_itself_while_the_next_is_asked_is_charged(
    coordinator: Told,
) -> None:
    coordinator.hears("north", AskedQuery(0))
    coordinator.hears("north", AskedQuery(1))
    coordinator(ConversationEnded(FIRST, charged=48))
    record = coordinator.state.askers["north"].record
    assert (record.open, record.spent) == ((1,), 48)


def test_a_query_that_somebody_does_not_answer_is_given_up_by_name(coordinator: Told) -> None:
    coordinator.hears("north", AskedQuery(0))
    overdue = ConversationOverdue(FIRST, "dealer", "waited 40 s for its seed")
    assert coordinator(overdue) == (StopConversation(FIRST),)
    assert coordinator(overdue) == ()
    (tell, forget) = coordinator(ConversationEnded(FIRST, stopped=True))
    reason = "the coordinator gave it up: waited 40 s for its seed"
    assert tell == Tell(("north",), RefusedQuery(0, 1, reason, "dealer"))
    assert forget == Forget(FIRST)
    assert coordinator.state.askers["north"].record == AskerRecord(1)


def test_a_program_that_fails_is_told_by_kind(coordinator: Told) -> None:
    coordinator.hears("north", AskedQuery(0))
    failure = Failure("AbsenceError", "dealer", absent=True)
    tell, _ = coordinator(ConversationEnded(FIRST, failure))
    reason = "the coordinator gave it up: AbsenceError"
    assert tell == Tell(("north",), RefusedQuery(0, 1, reason, "dealer"))


@pytest.mark.parametrize(
    ("sender", "asked", "reason"),
    [
        ("dealer", AskedQuery(0), "only peers of the model may ask"),
        ("north", AskedQuery(2**32), "no query has a number above 4294967295"),
        ("north", AskedQuery(0, "any"), "expected a verdict fss or dgk, found 'any'"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    coordinator: Told, sender: str, asked: AskedQuery, reason: str
) -> None:
    (refused,) = coordinator.hears(sender, asked)
    assert reason in refused.message.reason
    assert not coordinator.state.conversations


def test_who_left_is_not_answered(coordinator: Told) -> None:
    coordinator.hears("north", Leaving())
    (refused,) = coordinator.hears("north", AskedQuery(0))
    assert isinstance(refused.message, RefusedQuery)


# The asker.


def test_a_question_goes_to_disk_before_it_is_asked_and_stays_until_delivered(north: Told) -> None:
    tell, run = north(MINE)
    assert tell == Tell((COORDINATOR,), AskedQuery(0))
    assert run == RunQuery(FIRST, Verdict.FSS, ("evaluator", "dealer"))
    assert north(ConversationEnded(FIRST)) == (Deliver(FIRST),)
    assert north.state.asking.record.open
    assert north(AnswerDelivered(352)) == (Forget(FIRST),)
    record = north.state.asking.record
    assert (record.open, record.following, record.left) == ((), 1, (352,))


def test_the_same_question_goes_on_after_a_crash_and_another_gives_it_up(north: Told) -> None:
    north(MINE)
    assert north.restarted() == (ForgetOthers((FIRST,)),)
    news, tell, run = north(MINE)
    assert isinstance(news.news, QueryGoesOn)
    assert tell == Tell((COORDINATOR,), AskedQuery(0))
    assert run.query == FIRST
    north.restarted()
    news, forget, tell, run = north(OTHERS)
    assert isinstance(news.news, QueryGivenUp)
    assert forget == Forget(FIRST)
    assert tell == Tell((COORDINATOR,), AskedQuery(1))
    assert run.query == QueryId("north", 1)


def test_a_query_that_was_refused_while_nobody_asked_begins_anew(north: Told) -> None:
    north(MINE)
    north.restarted()
    assert north.hears(COORDINATOR, RefusedQuery(0, 1, "gave it up")) == ()
    north.restarted()
    actions = north(MINE)
    assert told_by(actions, AskedQuery) == [Tell((COORDINATOR,), AskedQuery(1))]
    assert Forget(FIRST) in actions


@pytest.mark.parametrize("late", ["here", "at the coordinator"])
def test_without_a_dealer_a_query_begins_anew_once_and_says_so(north: Told, late: str) -> None:
    north(MINE)
    if late == "here":
        actions = north(ConversationOverdue(FIRST, "dealer", "waited 40 s"))
    else:
        actions = north.hears(COORDINATOR, RefusedQuery(0, 1, "gave it up", "dealer"))
    second = QueryId("north", 1)
    assert Tell((COORDINATOR,), AskedQuery(1, "dgk")) in actions
    assert RunQuery(second, Verdict.DGK, ("evaluator",)) in actions
    news = [action.news for action in actions if isinstance(action, Emit)]
    assert news == [QueryWithoutDealer("s-1", "north", 1, "dealer")]
    (end,) = north(ConversationOverdue(second, "evaluator", "waited 40 s"))
    assert isinstance(end.error, AbsenceError)
    assert end.error.party == "evaluator"
    assert north.state.asking.phase is asking.AskingPhase.BROKEN_OFF


def test_a_query_is_refused_for_good_after_some_numbers(north: Told) -> None:
    north(MINE)
    for number in (5, 9):
        before = north.state.asking.open.number
        north.hears(COORDINATOR, RefusedQuery(before, number, "asked already"))
        assert north.state.asking.open.number == number
    # A refusal of another number changes nothing.
    assert north.hears(COORDINATOR, RefusedQuery(5, 20, "asked already")) == ()
    *_, end = north.hears(COORDINATOR, RefusedQuery(9, 20, "asked already"))
    assert "the query was refused: asked already" in str(end.error)
    assert north.state.asking.phase is asking.AskingPhase.IDLE


def test_a_program_that_cannot_be_made_again_is_replaced(north: Told) -> None:
    north(MINE)
    north.restarted()
    north(MINE)
    actions = north(NotReplayed(FIRST))
    assert Tell((COORDINATOR,), AskedQuery(1)) in actions
    assert Forget(FIRST) in actions


def test_a_program_that_fails_ends_the_question(north: Told) -> None:
    north(MINE)
    forget, end = north(ConversationEnded(FIRST, Failure("MisuseError", ours=True)))
    assert (forget, end) == (Forget(FIRST), EndAsking(None, FIRST))


def test_a_closed_study_ends_a_question_and_an_answer_that_is_there_is_delivered(
    study: Study,
) -> None:
    waiting, having = seat_of(study, "north"), seat_of(study, "north")
    waiting(MINE)
    actions = waiting.hears(COORDINATOR, Closed())
    (end,) = [action for action in actions if isinstance(action, EndAsking)]
    assert "the study is closed" in str(end.error)
    having(MINE)
    having(ConversationEnded(FIRST))
    having.hears(COORDINATOR, Closed())
    assert having(AnswerDelivered(7)) == (Forget(FIRST),)
    for seat in (waiting, having):
        seat.restarted()
        (end,) = seat(MINE)
        assert isinstance(end.error, StoppedError)
        (end,) = seat(EvaluationWanted(2000.0))
        assert isinstance(end.error, StoppedError)


# A helper.


def test_a_helper_helps_with_one_query_of_each_asker_and_goes_on_after_a_crash(
    evaluator: Told,
) -> None:
    helpers = ("evaluator", "dealer")
    for asker in ("north", "valley"):
        (run,) = evaluator.hears(COORDINATOR, OpenedQuery(asker, 0, helpers))
        assert run == RunQuery(QueryId(asker, 0), None, helpers)
    forget, run = evaluator.hears(COORDINATOR, OpenedQuery("north", 1, helpers))
    assert (forget, run.query) == (Forget(FIRST), QueryId("north", 1))
    assert evaluator.hears(COORDINATOR, OpenedQuery("north", 1, helpers)) == ()
    *runs, others = evaluator.restarted()
    under_way = (QueryId("valley", 0), QueryId("north", 1))
    assert tuple(run.query for run in runs) == others.besides == under_way
    forget, _ = evaluator(ConversationEnded(QueryId("valley", 0)))
    assert forget == Forget(QueryId("valley", 0))
    evaluator(ConversationOverdue(QueryId("north", 1), "north", "waited 40 s"))
    assert not evaluator.state.conversations


def test_the_people_of_a_helper_hear_of_a_query_that_broke_the_rules(evaluator: Told) -> None:
    evaluator.hears(COORDINATOR, OpenedQuery("north", 0, ("evaluator",)))
    broken = Failure.of(ViolationError("no rows"))
    actions = evaluator(ConversationEnded(FIRST, broken))
    (note,) = [action for action in actions if isinstance(action, NoteRefusal)]
    (news,) = [action.news for action in actions if isinstance(action, Emit)]
    assert isinstance(news, Refused)
    assert note.reason == news.reason
    assert (news.party, "query 0 of north was broken off" in news.reason) == ("north", True)


def test_a_helper_ends_when_the_study_is_closed(evaluator: Told) -> None:
    evaluator.hears(COORDINATOR, OpenedQuery("north", 0, ("evaluator",)))
    actions = evaluator.hears(COORDINATOR, Closed())
    assert {EraseShare(), StopServing(), Forget(FIRST)} <= set(actions)
    assert StopServing() in evaluator.restarted()


# Members of a quorum.


@pytest.fixture
def quorum_study() -> Study:
    """Four members, of whom three answer a query."""
    roster, _ = draw_roster(
        PEERS, entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    plan = StudyPlan("s-1", Labels(("routine", "urgent")), features=8, engine=Engine.QUORUM)
    return Study(replace(plan, threshold=1), roster)


@pytest.fixture
def quorum_coordinator(quorum_study: Study) -> Told:
    driven = Told(
        coordinator_service,
        CoordinatorService.of(
            "s-1",
            quorum_study,
            PEERS,
            records={},
            book=EvaluationBook(),
            gather=10.0,
            presence=SeatsSeen(6.0),
        ),
    )
    driven(Started())
    for seat in quorum_study.roster.names:
        driven(Seen(seat))
    return driven


def helpers(actions: tuple[Action, ...]) -> list[str]:
    (run,) = [action for action in actions if isinstance(action, RunQuery)]
    return list(run.helpers)


MEMBERS = [f"member-{peer}" for peer in PEERS]


def test_a_query_is_answered_by_the_members_that_are_here(quorum_coordinator: Told) -> None:
    decider = quorum_coordinator
    assert helpers(decider.hears("north", AskedQuery(0))) == MEMBERS
    decider(ConversationEnded(FIRST, charged=32))
    decider.now += 7.0
    for member in MEMBERS[1:]:
        decider(Seen(member))
    assert helpers(decider.hears("north", AskedQuery(1))) == MEMBERS[1:]
    decider(ConversationEnded(QueryId("north", 1), charged=32))
    # With too few of them, everybody is waited for.
    decider.now += 7.0
    for member in MEMBERS[2:]:
        decider(Seen(member))
    assert helpers(decider.hears("north", AskedQuery(2))) == MEMBERS


def rejoined(seat: str) -> SeatRejoined:
    consent = SignedConsent(seat, b"b" * 32, b"d" * 32, b"s" * 64)
    return SeatRejoined(seat, Rejoining(Seating(1, ()), consent))


def test_a_member_that_lost_its_disk_is_not_asked_any_more(quorum_coordinator: Told) -> None:
    decider = quorum_coordinator
    decider(rejoined(MEMBERS[0]))
    decider(Seen(MEMBERS[0]))
    assert helpers(decider.hears("harbour", AskedQuery(0))) == MEMBERS[1:]


def test_a_query_that_needs_a_seat_that_cannot_go_on_is_refused_at_once(
    quorum_coordinator: Told,
) -> None:
    decider = quorum_coordinator
    decider.hears("north", AskedQuery(0))
    assert decider(SeatGaveUp(MEMBERS[1])) == (StopConversation(FIRST),)
    decider(ConversationEnded(FIRST, stopped=True))
    (refused,) = told_by(decider.actions, RefusedQuery)
    assert refused.recipients == ("north",)
    assert isinstance(refused.message, RefusedQuery)
    assert refused.message.missing == MEMBERS[1]
    assert f"{MEMBERS[1]} cannot go on" in refused.message.reason
    # There is one to spare.
    assert helpers(decider.hears("north", AskedQuery(1))) == [MEMBERS[0], *MEMBERS[2:]]
    decider(ConversationEnded(QueryId("north", 1), charged=32))
    # Without a second one nobody is asked, until it comes back.
    decider(SeatGaveUp(MEMBERS[2]))
    (refused,) = decider.hears("north", AskedQuery(2))
    assert isinstance(refused.message, RefusedQuery)
    assert refused.message.missing in MEMBERS[1:3]
    decider(Seen(MEMBERS[1]))
    assert helpers(decider.hears("north", AskedQuery(2))) == [*MEMBERS[:2], MEMBERS[3]]


def test_a_query_that_does_not_need_the_seat_goes_on(quorum_coordinator: Told) -> None:
    decider = quorum_coordinator
    decider.now += 7.0
    for member in MEMBERS[1:]:
        decider(Seen(member))
    assert helpers(decider.hears("north", AskedQuery(0))) == MEMBERS[1:]
    assert decider(SeatGaveUp(MEMBERS[0])) == ()


def test_an_evaluation_waits_for_the_members_of_those_who_are_ready(
    quorum_coordinator: Told,
) -> None:
    decider = quorum_coordinator
    decider.now += 7.0
    for seat in (*PEERS, *MEMBERS[1:]):
        decider(Seen(seat))
    for peer in PEERS:
        assert not told_by(decider.hears(peer, AskedEvaluation()), OpenedEvaluation)
    (opened,) = told_by(decider(Seen(MEMBERS[0])), OpenedEvaluation) or told_by(
        decider(Tick()), OpenedEvaluation
    )
    assert isinstance(opened.message, OpenedEvaluation)
    assert opened.message.peers == PEERS


@pytest.mark.parametrize("threshold", [1, 0])
def test_an_asker_begins_anew_without_a_member_if_there_is_one_to_spare(
    quorum_study: Study, threshold: int
) -> None:
    roster = quorum_study.roster
    if not threshold:  # three members, all of whom are needed
        roster, _ = draw_roster(
            PEERS[:3], entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
        )
    seat = seat_of(Study(quorum_study.plan, roster), "north")
    seat(MINE)
    actions = seat(ConversationOverdue(FIRST, MEMBERS[1], "no message came"))
    again = [each.message for each in told_by(actions, AskedQuery)]
    assert again == ([AskedQuery(1)] if threshold else [])
    ended = [action for action in actions if isinstance(action, EndAsking)]
    assert bool(ended) != bool(again)
