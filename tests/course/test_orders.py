"""The coordinator's course of a training: restarts, orders, and what people are shown."""

from harness.examples.courses import Told
from sottovoce.course.control import Closed
from sottovoce.course.phases import Phase
from sottovoce.course.training.actions import (
    CleanUp,
    DropSession,
    Emit,
    RecallAttempt,
    RunAttempt,
    Serve,
    TakeSeat,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    Order,
    Ordered,
    ProgramWaits,
    Seen,
    Started,
)
from sottovoce.course.view import view_of
from sottovoce.study.attempts import Stage

PEERS = ("north", "harbour", "valley", "lakeside")
OTHERS = ("evaluator", "dealer", *PEERS)


def test_a_restart_does_what_is_still_to_be_done(training: Told) -> None:
    training.everybody()
    training.stage()
    training.fails("valley", "InputError")
    actions = training(Started())
    first = Stage.DICTIONARY
    kinds = [type(action) for action in actions]
    assert kinds == [TakeSeat, RecallAttempt, DropSession, Emit, RunAttempt]
    assert actions[4] == RunAttempt(training.state.attempt)
    assert training.state.attempt.stage is first
    training.stage()
    training.stage()
    assert training(Started()) == (CleanUp(),)
    training(CleanedUp())
    assert training(Started()) == (Serve(),)


def test_orders_are_obeyed_where_they_fit(training: Told) -> None:
    training.everybody()
    assert training(Ordered(Order.CLOSE)) == ()
    for _ in Stage.of(training.study):
        training.stage()
    # Before the journals are deleted nothing is closed, and a model is not cancelled.
    assert training(Ordered(Order.CLOSE)) == training(Ordered(Order.CANCEL)) == ()
    training(CleanedUp())
    actions = training(Ordered(Order.CLOSE))
    assert training.tells(Closed)[0].recipients == OTHERS
    assert actions[-1] == CleanUp()
    assert view_of(training.state).phase is Phase.FINISHED
    training(CleanedUp())
    assert view_of(training.state).phase is Phase.CLOSED


def test_a_view_says_who_said_what(training: Told) -> None:
    training.everybody()
    training(Seen("north"))
    training.reports("north")
    training.fails("harbour", "AbsenceError", "valley")
    training(ProgramWaits(training.state.session, "signed-consent", ("valley",), 1030.0))
    view = view_of(training.state)
    seats = {seat.name: seat for seat in view.seats}
    assert (view.phase, view.attempt, view.peers) == (Phase.AGREEMENT, 1, PEERS)
    assert (seats["north"].reported, seats["north"].seen) == ("done", 1000.0)
    assert seats["harbour"].reported == "AbsenceError"
    assert [name for name, seat in seats.items() if seat.waited_for] == ["valley"]
