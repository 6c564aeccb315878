"""A process that starts again runs what is over for its result alone: late letters find nobody."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.letters import Noise
from harness.network import toy_key
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.sealing import X25519Key
from sottovoce.roles import InsecureToyPlan
from sottovoce.roles.attempts import Attempt, Stage
from sottovoce.roles.course import Course
from sottovoce.roles.relay import Letter
from sottovoce.roles.roster import draw_roster
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent
from sottovoce.service.chairs import Waits
from sottovoce.service.conductor import Conductor
from sottovoce.service.control import COORDINATOR, Begin, Declined, Seating
from sottovoce.service.journal import Journal
from sottovoce.service.seat_book import SeatBook
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.sitter import Sitter
from sottovoce.service.study_book import StudyBook
from sottovoce.text.labels import Labels
from sottovoce.wire import Codec

FOUR = ("north", "harbour", "valley", "lakeside")
THREE = FOUR[:3]
AGREED = Attempt(Stage.AGREEMENT, 1, FOUR)
FIRST, SECOND = Attempt(Stage.DICTIONARY, 1, FOUR), Attempt(Stage.DICTIONARY, 2, THREE)


class Silent:
    def __getattr__(self, _: str) -> Any:
        return lambda *_: None


@dataclass
class Place:
    """The evaluator's or the coordinator's seat of a small study, with toy programs."""

    folder: Path
    name: str
    study: Study
    keys: SeatKeys

    @property
    def other(self) -> str:
        return "evaluator" if self.name == COORDINATOR else COORDINATOR

    @contextmanager
    def started(self, *begins: Attempt) -> Iterator[Any]:
        """A process that heard, or decided on, these attempts."""
        seating = Seating.of(1, self.study.roster)
        told = tuple(Begin.of(1, one) for one in begins)
        with Journal(self.folder / "journal.db", key=bytes(32)) as journal:
            agent = Agent(
                self.name,
                "study",
                journal=journal,
                post=Silent(),
                witness=Silent(),
                control=lambda _: b"control",
                waits=Waits(9, 9),
            )
            if self.name == COORDINATOR:
                book = StudyBook("training", (seating,), told)
                journal.commit(notes=book.notes())
                given = SimpleNamespace(study=lambda _: self.study, key=toy_key())
                chair: Any = Conductor(agent, self.keys, given, entropy=SeededEntropy(1))
            else:
                journal.commit(notes=SeatBook((seating,), told).notes())
                journal.commit(notes={f"consent/{self.study.digest.hex()}": b""})
                house = SimpleNamespace(seated=lambda _: self.study)
                chair = Sitter(agent, house, self.keys, entropy=SeededEntropy(1))
            agent.chair = chair
            yield chair
            agent._thread.shutdown()

    def letter(self, attempt: Attempt) -> Letter:
        """What opens the sum of an attempt."""
        session, body = attempt.session(self.study), Codec().encode(Noise(b"open"))
        return Letter(session, self.other, self.name, 0, body)

    def steps(self, chair: Any, attempt: Attempt) -> int:
        return len(list(chair.agent.journal.steps(attempt.session(self.study))))


@pytest.fixture(params=[COORDINATOR, "evaluator"])
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    roster, identities = draw_roster(FOUR, entropy=SeededEntropy(2))
    plan = InsecureToyPlan("study", Labels(("a", "b")), key_bits=768)
    keys = SeatKeys(identities[request.param], X25519Key(bytes(range(32))))

    def program(self: Course, attempt: Attempt, *, entropy: Entropy, **_: Any) -> Party[None]:
        if attempt.stage is Stage.AGREEMENT:
            return
        desk = self.desk.at(attempt, entropy=entropy)
        this = desk.round("preparation", attempt.peers)
        other = "evaluator" if desk.name == COORDINATOR else COORDINATOR
        desk.book.begin(this)
        yield from receive(other, Noise)
        desk.book.spend(this, attempt.peers)
        yield Send(other, Noise(entropy.read(8)))
        yield from receive(other, Noise)

    monkeypatch.setattr(Course, "program", program)
    return Place(tmp_path, request.param, Study(plan, roster), keys)


async def caught_up(chair: Any) -> None:
    """Everything that a process does on its own when it starts."""
    if isinstance(chair, Conductor):
        chair._sit()
        await chair._catch_up()
        await chair._run(chair.book.begins[-1].attempt())
    else:
        await chair._catch_up()


def opened(chair: Any) -> list[bytes]:
    """The sessions in which something was sent."""
    return [one.letter.session for one in chair.agent.journal.pending() if one.kind == "noise"]


@pytest.mark.parametrize("when", ["before the later one opened", "after it opened"])
def test_a_late_letter_wakes_no_attempt_that_is_over(place: Place, when: str) -> None:
    """It would open the sum over another set, or leave a journal that cannot be run again."""
    study = place.study

    async def story() -> None:
        with place.started(AGREED) as chair:
            await caught_up(chair)
        with place.started(AGREED, FIRST) as chair:
            await caught_up(chair)
            assert place.steps(chair, FIRST) == 1
        with place.started(AGREED, FIRST, SECOND) as chair:
            await caught_up(chair)
            if when == "after it opened":
                await chair.agent._take(1, place.letter(SECOND))
        for _ in range(2):
            with place.started(AGREED, FIRST, SECOND) as chair:
                # The server still has it, and hands it over before anything has begun here.
                await chair.agent._take(1, place.letter(FIRST))
                await caught_up(chair)
                await chair.agent._take(2, place.letter(FIRST))
                assert place.steps(chair, FIRST) == 1
                await chair.agent._take(3, place.letter(SECOND))
                assert opened(chair) == [SECOND.session(study)]

    asyncio.run(story())


@pytest.mark.parametrize("place", ["evaluator"], indirect=True)
def test_a_coordinator_that_goes_back_to_an_earlier_attempt_is_left(place: Place) -> None:
    async def story() -> None:
        for back in (AGREED, FIRST, SECOND):
            with place.started(AGREED, FIRST, SECOND) as chair:
                effect = await chair.heard(COORDINATOR, Begin.of(1, back))
                assert chair.book.phase == "left"
                assert [message for _, message in effect.letters] == [Declined(0)]
                with pytest.raises(ViolationError, match="expected what follows attempt 2 at the"):
                    await chair.follow()

    asyncio.run(story())


@pytest.mark.parametrize("place", ["evaluator"], indirect=True)
def test_a_table_under_the_number_of_another_is_left(place: Place) -> None:
    """We would sit at the first, and believe that what begins is agreed at the second."""

    async def story() -> None:
        with place.started(AGREED) as chair:
            await chair.heard(COORDINATOR, Seating.of(1, place.study.roster))
            with pytest.raises(ViolationError, match="expected a table after number 1, found 1"):
                await chair.follow()
        with place.started(AGREED) as chair:
            await chair.heard(COORDINATOR, Seating.of(2, place.study.roster))
            assert chair.book.phase == ""

    asyncio.run(story())
