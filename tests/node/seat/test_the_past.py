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
from sottovoce.course.control import COORDINATOR, Begin, Declined, Seating
from sottovoce.course.phases import Phase
from sottovoce.course.seat_course import SeatCourse
from sottovoce.course.terms import Terms, WaitingLimits, planned
from sottovoce.course.training.inputs import Started
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import TRAINING
from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.node.coordinator.training_coordinator import TrainingConditions, TrainingCoordinator
from sottovoce.node.seat.deciders import Waits
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.seat.training_participant import Afterwards, TrainingParticipant
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.sealing import X25519Key
from sottovoce.storage.journal import Journal
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study import InsecureToyPlan
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.policy import Policy
from sottovoce.study.relay import Letter
from sottovoce.study.roster import draw_roster
from sottovoce.study.study import Study
from sottovoce.text.labels import Labels
from sottovoce.wire import Codec

FOUR = ("north", "harbour", "valley", "lakeside")
THREE = FOUR[:3]
AGREED = Attempt(Stage.AGREEMENT, 1, FOUR)
FIRST, SECOND = Attempt(Stage.DICTIONARY, 1, FOUR), Attempt(Stage.DICTIONARY, 2, THREE)


async def never(*_: Any) -> None:
    """Nothing is cleaned up here."""


class Silent:
    def held_back(self) -> float:
        return 0.0

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

    @property
    def terms(self) -> Terms:
        seats = planned(self.study.roster.participants)
        return Terms("study", self.study.plan, seats, WaitingLimits(9, 9, 9, 9, 9))

    @contextmanager
    def started(self, *begins: Attempt) -> Iterator[Any]:
        """A process that heard, or decided on, these attempts."""
        seating = Seating.of(1, self.study.roster)
        heard = tuple(Begin.of(1, begin) for begin in begins)
        with Journal(self.folder / "journal.db", key=bytes(32)) as journal:
            agent = SeatRuntime(
                self.name,
                "study",
                journal=journal,
                post=Silent(),
                audit=Silent(),
                control=lambda _: b"control",
                waits=Waits(9, 9),
            )
            if self.name == COORDINATOR:
                phase = str(Phase.of(begins[-1].stage))
                record = TrainingRecord(phase, 0, (seating,), heard)
                journal.commit(notes={TRAINING: Codec().encode(record)})
                given = TrainingConditions(self.terms, {}, toy_key(), never)
                decider: Any = TrainingCoordinator(
                    agent, self.keys, given, entropy=SeededEntropy(1)
                )
            else:
                phase = str(Phase.of(begins[-1].stage))
                mine = ParticipantRecord(phase, (seating,), heard, consented=(self.study.digest,))
                journal.commit(notes={SEAT: Codec().encode(mine)})
                publics = {self.name: self.keys.identity.public}
                context: Any = SimpleNamespace(terms=self.terms, publics=publics, policy=Policy())
                after = Afterwards(never, never)
                decider = TrainingParticipant(
                    agent, context, self.keys, after, entropy=SeededEntropy(1)
                )
            agent.decider = decider
            yield decider
            agent._thread.shutdown()

    def letter(self, attempt: Attempt) -> Letter:
        """What opens the sum of an attempt."""
        session, body = attempt.session(self.study), Codec().encode(Noise(b"open"))
        return Letter(session, self.other, self.name, 0, body)

    def steps(self, decider: Any, attempt: Attempt) -> int:
        return len(list(decider.agent.journal.steps(attempt.session(self.study))))


@pytest.fixture(params=[COORDINATOR, "evaluator"])
def place(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    roster, identities = draw_roster(FOUR, entropy=SeededEntropy(2))
    plan = InsecureToyPlan("study", Labels(("a", "b")), key_bits=768)
    keys = SeatKeys(identities[request.param], X25519Key(bytes(range(32))))

    def program(self: SeatCourse, attempt: Attempt, *, entropy: Entropy, **_: Any) -> Party[None]:
        if attempt.stage is Stage.AGREEMENT:
            return
        party = self.party.at(attempt, entropy=entropy)
        this = party.round("preparation", attempt.peers)
        other = "evaluator" if party.name == COORDINATOR else COORDINATOR
        party.book.begin(this)
        yield from receive(other, Noise)
        party.book.spend(this, attempt.peers)
        yield Send(other, Noise(entropy.read(8)))
        yield from receive(other, Noise)

    monkeypatch.setattr(SeatCourse, "program", program)
    return Place(tmp_path, request.param, Study(plan, roster), keys)


async def caught_up(decider: Any) -> None:
    """Everything that a process does on its own when it starts."""
    await decider.take(Started())
    while decider._actions or decider._happened or getattr(decider, "_asking", None):
        if decider._actions:
            await decider.perform(decider._actions.popleft())
        elif decider._happened:
            await decider.take(decider._happened.popleft())
        else:
            await decider._asking
            decider._asking = None


def opened(decider: Any) -> list[bytes]:
    """The sessions in which something was sent."""
    return [
        letter.letter.session
        for letter in decider.agent.journal.pending()
        if letter.kind == "noise"
    ]


@pytest.mark.parametrize("when", ["before the later one opened", "after it opened"])
def test_a_late_letter_wakes_no_attempt_that_is_over(place: Place, when: str) -> None:
    """It would open the sum over another set, or leave a journal that cannot be run again."""
    study = place.study

    async def story() -> None:
        with place.started(AGREED) as decider:
            await caught_up(decider)
        with place.started(AGREED, FIRST) as decider:
            await caught_up(decider)
            assert place.steps(decider, FIRST) == 1
        with place.started(AGREED, FIRST, SECOND) as decider:
            await caught_up(decider)
            if when == "after it opened":
                await decider.agent._take(1, place.letter(SECOND))
        for _ in range(2):
            with place.started(AGREED, FIRST, SECOND) as decider:
                # The server still has it, and hands it over before anything has begun here.
                await decider.agent._take(1, place.letter(FIRST))
                await caught_up(decider)
                await decider.agent._take(2, place.letter(FIRST))
                assert place.steps(decider, FIRST) == 1
                await decider.agent._take(3, place.letter(SECOND))
                assert opened(decider) == [SECOND.session(study)]

    asyncio.run(story())


@pytest.mark.parametrize("place", ["evaluator"], indirect=True)
def test_a_coordinator_that_goes_back_to_an_earlier_attempt_is_left(place: Place) -> None:
    async def story() -> None:
        for back in (AGREED, FIRST, SECOND):
            with place.started(AGREED, FIRST, SECOND) as decider:
                await decider.hear(COORDINATOR, Begin.of(1, back), {})
                assert decider.state.phase is Phase.LEFT
                *_, last = decider.agent.journal.pending()
                assert last.letter.body == Codec().encode(Declined(1))
                with pytest.raises(ViolationError, match="expected what follows attempt 2 at the"):
                    await decider.follow()

    asyncio.run(story())


@pytest.mark.parametrize("place", ["evaluator"], indirect=True)
def test_a_table_under_the_number_of_another_is_left(place: Place) -> None:
    """We would sit at the first, and believe that what begins is agreed at the second."""

    async def story() -> None:
        with place.started(AGREED) as decider:
            await decider.hear(COORDINATOR, Seating.of(1, place.study.roster), {})
            with pytest.raises(
                ViolationError, match="expected a roster after number 1, found number 1"
            ):
                await decider.follow()
        with place.started(AGREED) as decider:
            await decider.hear(COORDINATOR, Seating.of(2, place.study.roster), {})
            assert decider.state.phase is Phase.CONSENT

    asyncio.run(story())
