"""One seat's word that another keeps it waiting throws nobody out and leaves its teller seated."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.examples.absence import Absence
from harness.network import Network, described, network, study_text
from sottovoce.course.control import COORDINATOR, Failed
from sottovoce.course.news import AttemptFailed
from sottovoce.course.training.complaints import Judgement, believed, complaints, judged
from sottovoce.course.training.training_record import Report, TrainingRecord
from sottovoce.errors import AbsenceError, StoppedError
from sottovoce.node.seat.deciders import Effect, RunningProgram
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.training_participant import TrainingParticipant
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.roster import Participant, Role, Roster
from sottovoce.study.study import Study

HELPERS = '[helpers]\ntrust = "Trust"\n'


@pytest.fixture(scope="module")
def study() -> Study:
    """Three peers; the second organisation also deals, a third party evaluates."""
    seats = [
        ("coordinator", "Institute", Role.COORDINATOR),
        ("evaluator", "Trust", Role.EVALUATOR),
        ("dealer", "Harbour Clinic", Role.DEALER),
        ("north", "Northfield Hospital", Role.PEER),
        ("harbour", "Harbour Clinic", Role.PEER),
        ("valley", "Valley Practice", Role.PEER),
    ]
    keys = SeededEntropy(1)
    plan = described(study_text(helpers=HELPERS, evaluator="trust")).plan
    return Study(plan, Roster(tuple(Participant(*seat, keys.seed()) for seat in seats)))


def training(study: Study) -> Attempt:
    return Attempt.first(study, Stage.TRAINING)


def told_by(study: Study, *words: tuple[str, str, str]) -> TrainingRecord:
    session = training(study).session(study)
    return TrainingRecord(reports=tuple(Report(session, *word) for word in words))


def test_a_seat_s_last_word_counts_and_only_about_parties_of_the_attempt(study: Study) -> None:
    book = told_by(
        study,
        ("north", "AbsenceError", "valley"),
        ("north", "AbsenceError", "evaluator"),
        ("harbour", "AbsenceError", "valley"),
        ("harbour", "", ""),
        ("valley", "AbsenceError", "somebody else"),
        ("dealer", "AbsenceError", COORDINATOR),
        ("evaluator", "AbsenceError", "evaluator"),
    )
    assert complaints(book, study, training(study)) == {"north": "evaluator"}


def test_only_who_is_away_is_given_up_at_once() -> None:
    accused_by = {"north": "valley", "valley": "evaluator"}
    assert believed(accused_by, away=()) == set()
    assert believed(accused_by, away=("valley", "harbour")) == {"valley"}


@pytest.mark.parametrize(
    ("accusations", "verdict"),
    [
        ({}, Judgement(("north",))),
        # Nobody whom we wait for has an excuse in another's complaint about a third.
        ({"harbour": "valley"}, Judgement(("north",))),
        ({"north": "valley"}, Judgement(("north", "valley"), "north")),
        # Along the chain to the last that is accused.
        (
            {"north": "evaluator", "evaluator": "valley"},
            Judgement(("evaluator", "valley"), "evaluator"),
        ),
        # Two organisations are believed; two seats of one are one word.
        ({"north": "valley", "evaluator": "valley"}, Judgement(("valley",))),
        ({"north": "dealer", "harbour": "dealer"}, Judgement(("north", "dealer"), "north")),
        ({"north": "harbour", "dealer": "harbour"}, Judgement(("north", "harbour"), "north")),
        # A ring of complaints has somebody in it who lies.
        ({"north": "valley", "valley": "north"}, Judgement(("valley", "north"), "valley")),
        # Who waits behind the ring does not know who: else a liar would have north thrown out.
        (
            {"north": "valley", "valley": "north", "harbour": "north", "evaluator": "north"},
            Judgement(("valley", "north"), "valley"),
        ),
        (
            {"north": "valley", "valley": "evaluator", "evaluator": "north", "harbour": "north"},
            Judgement(("valley", "evaluator", "north"), "evaluator"),
        ),
        # North is not of the ring behind which it waits.
        (
            {"north": "valley", "valley": "evaluator", "evaluator": "valley"},
            Judgement(("evaluator", "valley"), "evaluator"),
        ),
    ],
)
def test_who_goes_when_we_wait_for_north_in_vain(
    study: Study, accusations: dict[str, str], verdict: Judgement
) -> None:
    assert judged(accusations, study, waited="north") == verdict


def complaining(monkeypatch: pytest.MonkeyPatch, seat: str, about: str) -> None:
    """This seat complains about another as soon as it is told to begin the training."""
    first = TrainingParticipant._run

    async def run(self: TrainingParticipant, attempt: Attempt) -> None:
        if self.agent.name == seat and attempt.stage is Stage.TRAINING:
            assert self.study is not None
            session = attempt.session(self.study)
            failed = Failed(session, AbsenceError.__name__, about)
            await self.agent.commit(Effect({}, [(COORDINATOR, failed)]))
        await first(self, attempt)

    monkeypatch.setattr(TrainingParticipant, "_run", run)


def test_a_complaint_about_one_that_is_there_throws_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, sites=4, documents=160, features="8")
    complaining(monkeypatch, "valley", "lakeside")

    async def story() -> list[Any]:
        async with net.serving():
            return await net.join_all(*net.documents)

    joined = asyncio.run(story())
    assert all(outcome.model is not None for outcome in joined)
    assert [event for event in net.events if isinstance(event, AttemptFailed)] == []


def test_a_helper_that_stalls_and_blames_a_peer_stops_the_study_and_is_named_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, documents=160, features="8", helpers=HELPERS, evaluator="trust")
    complaining(monkeypatch, "evaluator", "valley")
    stall(monkeypatch, "evaluator", Absence(monkeypatch))

    async def story() -> list[Any]:
        async with net.serving():
            joining = [net.join(seat) for seat in (*net.documents, "evaluator")]
            return await asyncio.gather(*joining, return_exceptions=True)

    for error in asyncio.run(story()):
        assert isinstance(error, StoppedError)
        assert error.party == "evaluator or valley"
        assert "evaluator says that it waits for valley, which was there" in error.message
    assert_nobody_was_left_behind(net)


def stall(monkeypatch: pytest.MonkeyPatch, seat: str, absence: Absence) -> None:
    """This seat's program of the training never begins; its agent asks for letters all the same.

    From then on every wait for it has lasted long enough.
    """
    first = SeatRuntime.begin

    async def begin(
        self: SeatRuntime, sitting: Any, program: Any, *, label: tuple[str, int]
    ) -> RunningProgram:
        if self.name == seat and label[0] == Stage.TRAINING:
            absence.of(seat)
            return None  # type: ignore[return-value]
        return await first(self, sitting, program, label=label)

    monkeypatch.setattr(SeatRuntime, "begin", begin)


def assert_nobody_was_left_behind(net: Network) -> None:
    failed = [event for event in net.events if isinstance(event, AttemptFailed)]
    assert failed == []
