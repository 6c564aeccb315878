"""Joint evaluations: what their inputs do at the coordinator and at a peer."""

from dataclasses import replace

import pytest

from harness.examples.query_courses import PEERS, Told, told_by
from sottovoce.course.control import (
    COORDINATOR,
    AskedEvaluation,
    Leaving,
    OpenedEvaluation,
    RefusedEvaluation,
)
from sottovoce.course.news import Refused
from sottovoce.course.queries import evaluating
from sottovoce.course.queries.actions import (
    Deliver,
    EndEvaluating,
    EraseCounts,
    NoteRefusal,
    RunEvaluation,
)
from sottovoce.course.queries.conversations import EvaluationId
from sottovoce.course.queries.inputs import (
    ConversationEnded,
    ConversationGoesOn,
    ConversationOverdue,
    EvaluationDelivered,
    EvaluationWanted,
    SumsKnown,
)
from sottovoce.course.training.actions import Action, Emit, Tell, WakeAt
from sottovoce.course.training.inputs import Failure, Seen, Tick
from sottovoce.errors import AbsenceError, SottovoceError
from sottovoce.study.evaluations.evaluation import HeldEvaluations

# Evaluations at the coordinator.


def held(number: int) -> SumsKnown:
    return SumsKnown(HeldEvaluations(PEERS, frozenset(range(number + 1))))


def test_an_evaluation_begins_when_everybody_is_ready_and_here(coordinator: Told) -> None:
    for peer in PEERS[:-1]:
        assert coordinator.hears(peer, AskedEvaluation()) == (WakeAt(coordinator.now + 10),)
    tell, run = coordinator.hears(PEERS[-1], AskedEvaluation())
    assert tell == Tell((*PEERS, "evaluator"), OpenedEvaluation(0, 1, PEERS))
    assert run == RunEvaluation(EvaluationId(0, 1), PEERS)
    run, *_ = coordinator.restarted()
    assert run == RunEvaluation(EvaluationId(0, 1), PEERS)


def test_the_first_goes_on_without_who_keeps_away_and_not_with_who_is_not_seen(
    coordinator: Told,
) -> None:
    for peer in PEERS[:3]:
        coordinator.hears(peer, AskedEvaluation())
    assert coordinator(Tick(), after=10.0) == ()
    for peer in PEERS[:2]:
        assert coordinator(Seen(peer)) == ()
    tell, _ = coordinator(Seen(PEERS[2]))
    assert tell.message == OpenedEvaluation(0, 1, PEERS[:3])
    coordinator.hears("lakeside", AskedEvaluation())
    peers = HeldEvaluations(PEERS[:3], frozenset({0}))
    coordinator(SumsKnown(peers))
    actions = coordinator(ConversationEnded(EvaluationId(0, 1)))
    (late,) = told_by(actions, RefusedEvaluation)
    assert late.recipients == ("lakeside",)
    assert "was held without it" in late.message.reason
    assert EraseCounts(PEERS[:3]) in actions


def test_an_attempt_that_opened_nothing_is_followed_by_another(coordinator: Told) -> None:
    for peer in PEERS:
        coordinator.hears(peer, AskedEvaluation())
    first, second = EvaluationId(0, 1), EvaluationId(0, 2)
    coordinator(ConversationOverdue(first, "valley", "waited 40 s"))
    actions = coordinator(ConversationEnded(first, stopped=True))
    (refused,) = told_by(actions, RefusedEvaluation)
    assert refused.message.attempt == 1
    assert not [action for action in actions if isinstance(action, EraseCounts)]
    for peer in PEERS:
        actions = coordinator.hears(peer, AskedEvaluation())
    assert actions[-1] == RunEvaluation(second, PEERS)
    # Once a sum is opened it counts as held, whatever becomes of it.
    coordinator(held(0))
    coordinator(ConversationEnded(second, Failure("AbsenceError", "valley", absent=True)))
    assert coordinator.state.evaluations.evaluation == EvaluationId(1, 1)


def test_no_evaluation_is_held_beyond_the_plan_or_over_others(coordinator: Told) -> None:
    coordinator(SumsKnown(HeldEvaluations(PEERS[:3], frozenset())))
    (refused,) = coordinator.hears("lakeside", AskedEvaluation())
    assert "the same peers: north, harbour, valley" in refused.message.reason
    coordinator.hears("valley", Leaving())
    (refused,) = coordinator.hears("north", AskedEvaluation())
    assert "has the same peers" in refused.message.reason
    book = coordinator.state.evaluations.record.but(number=9)
    evaluated = replace(coordinator.state.evaluations, record=book)
    coordinator.state = replace(coordinator.state, evaluations=evaluated)
    (refused,) = coordinator.hears("north", AskedEvaluation())
    assert "all were held" in refused.message.reason


# Evaluations at a peer.

OPENED = OpenedEvaluation(0, 1, PEERS)
ATTEMPT = EvaluationId(0, 1)


def ended(actions: tuple[Action, ...]) -> SottovoceError:
    (end,) = [action for action in actions if isinstance(action, EndEvaluating)]
    assert end.error is not None
    return end.error


def test_a_peer_takes_part_once_and_keeps_the_attempt_until_delivered(north: Told) -> None:
    tell, news, wake = north(EvaluationWanted(1500.0))
    assert tell == Tell((COORDINATOR,), AskedEvaluation())
    assert news.news.whom == tuple(peer for peer in PEERS if peer != "north")
    assert wake == WakeAt(1500.0)
    assert north.hears(COORDINATOR, OPENED) == (RunEvaluation(ATTEMPT, PEERS),)
    assert north(ConversationEnded(ATTEMPT)) == (Deliver(ATTEMPT),)
    north(EvaluationDelivered())
    assert not north.state.conversations


def test_a_peer_goes_on_after_a_crash_and_says_again_that_it_is_ready(north: Told) -> None:
    north(EvaluationWanted(1500.0))
    north.hears(COORDINATOR, OPENED)
    # By now our book knows its sums: what goes on is not refused.
    north(held(0))
    north.restarted()
    north(held(0))
    assert north(EvaluationWanted(1500.0)) == (RunEvaluation(ATTEMPT, PEERS),)
    assert north(ConversationGoesOn(ATTEMPT)) == (Tell((COORDINATOR,), AskedEvaluation()),)
    # It was given up meanwhile: another one is asked for.
    actions = north.hears(COORDINATOR, RefusedEvaluation(0, 1, "it ended"))
    assert told_by(actions, AskedEvaluation)
    assert north.state.evaluating.phase is evaluating.EvaluatingPhase.READY


@pytest.mark.parametrize("wanted", ["before", "after"])
def test_an_evaluation_that_was_held_is_refused_before_anything_is_sent(
    north: Told, wanted: str
) -> None:
    north(held(0))
    if wanted == "before":
        north(EvaluationWanted(1500.0))
        actions = north.hears(COORDINATOR, OPENED)
    else:
        assert north.hears(COORDINATOR, OPENED) == ()
        actions = north(EvaluationWanted(1500.0))
    assert "not held yet, found number 1 again" in str(ended(actions))
    assert not [action for action in actions if isinstance(action, RunEvaluation)]


def test_a_peer_names_whom_it_waited_for(north: Told) -> None:
    north(EvaluationWanted(1500.0))
    assert north(Tick(), after=100.0) == (WakeAt(1500.0),)
    error = ended(north(Tick(), after=500.0))
    assert isinstance(error, AbsenceError)
    assert error.party == COORDINATOR
    north(EvaluationWanted(2500.0))
    north.hears(COORDINATOR, OPENED)
    error = ended(north(ConversationOverdue(ATTEMPT, "valley", "waited 40 s")))
    assert "valley: does not answer: waited 40 s" in str(error)
    assert north.state.evaluating.phase is evaluating.EvaluatingPhase.OPENED


def test_a_peer_hears_that_there_is_none_with_it_or_that_one_failed(north: Told) -> None:
    north(EvaluationWanted(1500.0))
    again = north.hears(COORDINATOR, RefusedEvaluation(0, 3, "it ended"))
    assert again == (Tell((COORDINATOR,), AskedEvaluation()),)
    assert "all were held" in str(
        ended(north.hears(COORDINATOR, RefusedEvaluation(0, 0, "all were held")))
    )
    north(EvaluationWanted(1500.0))
    north.hears(COORDINATOR, OPENED)
    assert "too late" in str(ended(north(ConversationEnded(ATTEMPT, late=True))))


# A helper.


def test_a_helper_refuses_an_evaluation_that_was_held_and_its_people_hear_of_it(
    evaluator: Told,
) -> None:
    assert evaluator.hears(COORDINATOR, OPENED) == (RunEvaluation(ATTEMPT, PEERS),)
    evaluator(held(0))
    # What it began it goes on with, and what is begun again it refuses.
    run, *_ = evaluator.restarted()
    assert run == RunEvaluation(ATTEMPT, PEERS)
    evaluator(held(0))
    actions = evaluator.hears(COORDINATOR, OpenedEvaluation(0, 2, PEERS))
    (note,) = [action for action in actions if isinstance(action, NoteRefusal)]
    (news,) = [action.news for action in actions if isinstance(action, Emit)]
    assert isinstance(news, Refused)
    assert note.reason == news.reason
    assert not evaluator.state.conversations
