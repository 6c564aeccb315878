"""One seat's word that another keeps it waiting throws nobody out and leaves its teller seated."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.absence import Absence
from harness.entropy import SeededEntropy
from harness.network import Network, described, network, study_text
from sottovoce.errors import AbsenceError, StoppedError
from sottovoce.roles.attempts import Attempt, Stage
from sottovoce.roles.roster import Participant, Role, Roster
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent
from sottovoce.service.chairs import Effect, Running
from sottovoce.service.complaints import Verdict, believed, complaints, judged
from sottovoce.service.conductor import Conductor
from sottovoce.service.control import COORDINATOR, Begin, Failed
from sottovoce.service.events import AttemptFailed
from sottovoce.service.sitter import Sitter
from sottovoce.service.study_book import Report, StudyBook

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
    return Study(plan, Roster(tuple(Participant(*one, keys.seed()) for one in seats)))


def training(study: Study) -> Attempt:
    return Attempt.first(study, Stage.TRAINING)


def told_by(study: Study, *words: tuple[str, str, str]) -> StudyBook:
    session = training(study).session(study)
    return StudyBook(reports=tuple(Report(session, *one) for one in words))


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
    told = {"north": "valley", "valley": "evaluator"}
    assert believed(told, away=()) == set()
    assert believed(told, away=("valley", "harbour")) == {"valley"}


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({}, Verdict(("north",))),
        # Nobody whom we wait for has an excuse in another's complaint about a third.
        ({"harbour": "valley"}, Verdict(("north",))),
        ({"north": "valley"}, Verdict(("north", "valley"), "north")),
        # Along the chain to the last that is accused.
        (
            {"north": "evaluator", "evaluator": "valley"},
            Verdict(("evaluator", "valley"), "evaluator"),
        ),
        # Two organisations are believed; two seats of one are one word.
        ({"north": "valley", "evaluator": "valley"}, Verdict(("valley",))),
        ({"north": "dealer", "harbour": "dealer"}, Verdict(("north", "dealer"), "north")),
        ({"north": "harbour", "dealer": "harbour"}, Verdict(("north", "harbour"), "north")),
        # A ring of complaints has somebody in it who lies.
        ({"north": "valley", "valley": "north"}, Verdict(("valley", "north"), "valley")),
        # Who waits behind the ring does not know who: else a liar would have north thrown out.
        (
            {"north": "valley", "valley": "north", "harbour": "north", "evaluator": "north"},
            Verdict(("valley", "north"), "valley"),
        ),
        (
            {"north": "valley", "valley": "evaluator", "evaluator": "north", "harbour": "north"},
            Verdict(("valley", "evaluator", "north"), "evaluator"),
        ),
        # North is not of the ring behind which it waits.
        (
            {"north": "valley", "valley": "evaluator", "evaluator": "valley"},
            Verdict(("evaluator", "valley"), "evaluator"),
        ),
    ],
)
def test_who_goes_when_we_wait_for_north_in_vain(
    study: Study, told: dict[str, str], verdict: Verdict
) -> None:
    assert judged(told, study, waited="north") == verdict


@pytest.mark.parametrize(
    ("waited", "goes"), [("north", {"north"}), ("valley", {"valley", "harbour"})]
)
def test_who_is_there_and_silent_goes_and_not_who_is_away_for_a_moment(
    study: Study, waited: str, goes: set[str]
) -> None:
    conductor = Conductor.__new__(Conductor)
    conductor.book = StudyBook()
    conductor.course = SimpleNamespace(desk=SimpleNamespace(study=study))  # type: ignore[assignment]
    conductor._given = SimpleNamespace(unseen=lambda _: {"valley", "harbour"})  # type: ignore[assignment]
    assert conductor._in_vain(training(study), waited) == goes


def complaining(monkeypatch: pytest.MonkeyPatch, seat: str, about: str) -> None:
    """This seat complains about another as soon as it is told to begin the training."""
    first = Sitter._begin

    async def begin(self: Sitter, told: Begin) -> None:
        if self.agent.name == seat and told.stage == Stage.TRAINING:
            session = told.attempt().session(self._course_study())
            failed = Failed(session, AbsenceError.__name__, about)
            await self.agent.commit(Effect({}, [(COORDINATOR, failed)]))
        await first(self, told)

    monkeypatch.setattr(Sitter, "_begin", begin)
    monkeypatch.setattr(Sitter, "_course_study", lambda self: self.course.desk.study, raising=False)


def test_a_complaint_about_one_that_is_there_throws_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, sites=4, documents=240, features="8")
    complaining(monkeypatch, "valley", "lakeside")

    async def story() -> list[Any]:
        async with net.serving():
            return await net.join_all(*net.documents)

    joined = asyncio.run(story())
    assert all(one.model is not None for one in joined)
    assert [one for one in net.events if isinstance(one, AttemptFailed)] == []


def test_a_helper_that_stalls_and_blames_a_peer_stops_the_study_and_is_named_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, documents=240, features="8", helpers=HELPERS, evaluator="trust")
    complaining(monkeypatch, "evaluator", "valley")
    stall(monkeypatch, "evaluator", Absence(monkeypatch))

    async def story() -> list[Any]:
        async with net.serving():
            joining = [net.join(one) for one in (*net.documents, "evaluator")]
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
    first = Agent.begin

    async def begin(self: Agent, sitting: Any, program: Any, *, label: tuple[str, int]) -> Running:
        if self.name == seat and label[0] == Stage.TRAINING:
            absence.of(seat)
            return None  # type: ignore[return-value]
        return await first(self, sitting, program, label=label)

    monkeypatch.setattr(Agent, "begin", begin)


def assert_nobody_was_left_behind(net: Network) -> None:
    failed = [one for one in net.events if isinstance(one, AttemptFailed)]
    assert failed == []
