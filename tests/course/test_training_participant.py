"""A participant's course of a training: every input in every phase, and what follows."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from sottovoce.course.control import (
    COORDINATOR,
    Begin,
    Closed,
    Declined,
    Done,
    Failed,
    Finished,
    Gone,
    OpenedEvaluation,
    OpenedQuery,
    RefusedEvaluation,
    RefusedQuery,
    Rejoining,
    Reseated,
    Seating,
    Stopped,
)
from sottovoce.course.phases import Phase
from sottovoce.course.terms import Terms
from sottovoce.course.training.actions import (
    Action,
    AskConsent,
    CleanUp,
    ComeBack,
    DropSession,
    EndCourse,
    KeepResult,
    LeaveOut,
    RecallAttempt,
    RunAttempt,
    Serve,
    Tell,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    ConsentGiven,
    ConsentRefused,
    Failure,
    Heard,
    Overdue,
    ProgramEnded,
    ProgramWaits,
    Started,
    Withdrew,
)
from sottovoce.course.training.participant_record import Helped, ParticipantRecord, Participation
from sottovoce.course.training.training_participant import (
    HEARS,
    PHASES,
    TABLE,
    step,
)
from sottovoce.errors import StoppedError, ViolationError
from sottovoce.protocols.messages import Message
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.stages.agreement import AgreedStudy, SignedConsent
from sottovoce.study.study import Study
from sottovoce.wire import Codec

T = TypeVar("T")
STOPPED = Stopped("training", 1, "AbsenceError", "north", "north is gone")
PEERS = ("north", "harbour", "valley", "lakeside")


@dataclass
class Seat:
    """Valley's decider, step by step."""

    study: Study
    terms: Terms
    actions: list[Action] = field(default_factory=list)
    now: float = 1000.0

    def __post_init__(self) -> None:
        public = next(
            participant.public
            for participant in self.study.roster.participants
            if participant.name == "valley"
        )
        self.state = Participation(self.terms, "valley", {"valley": public}, ParticipantRecord())

    def __call__(self, happened: object) -> tuple[Action, ...]:
        self.state, actions = step(self.state, happened, now=self.now)
        self.actions += actions
        return actions

    def hears(self, *messages: Message) -> tuple[Action, ...]:
        return [self(Heard(COORDINATOR, message)) for message in messages][-1]

    def agrees(self) -> None:
        ask = self.did(AskConsent)[-1]
        self(ConsentGiven(ask.number, ask.study))

    def seated(self) -> "Seat":
        self.hears(Seating.of(1, self.study.roster))
        self.agrees()
        return self

    def begins(self, stage: Stage, number: int = 1, peers: tuple[str, ...] = PEERS) -> Attempt:
        attempt = Attempt(stage, number, peers)
        self.hears(Begin.of(1, attempt))
        return attempt

    def did(self, kind: type[T]) -> list[T]:
        return [action for action in self.actions if isinstance(action, kind)]

    @property
    def said(self) -> list[Message]:
        return [tell.message for tell in self.did(Tell)]

    def again(self) -> "Seat":
        """A process that begins with what this one wrote."""
        data = Codec().encode(self.state.record)
        other = Seat(self.study, self.terms)
        record = Codec().decode(data, ParticipantRecord)
        other.state = Participation(self.terms, "valley", self.state.publics, record)
        other(Started())
        return other


@pytest.fixture
def seat(study: Study, terms: Terms) -> Seat:
    return Seat(study, terms)


def in_phase(seat: Seat, phase: Phase) -> Seat:
    """A seat that is in this phase."""
    if phase is Phase.ENROLMENT:
        return seat
    if phase is Phase.RESEATED:
        seat.hears(_reseated(seat.study))
        return seat
    seat.hears(Seating.of(1, seat.study.roster))
    if phase is Phase.CONSENT:
        return seat
    seat.agrees()
    for stage in Stage:
        seat.begins(stage)
        if phase is Phase.of(stage):
            return seat
    ends = {
        Phase.FINISHED: Heard(COORDINATOR, Finished(PEERS)),
        Phase.STOPPED: Heard(COORDINATOR, STOPPED),
        Phase.CLOSED: Heard(COORDINATOR, Closed()),
        Phase.WITHDRAWN: Withdrew(),
        Phase.LEFT: Heard(COORDINATOR, Begin.of(1, Attempt(Stage.AGREEMENT, 1, PEERS))),
    }
    seat(ends[phase])
    return seat


_CONSENT = SignedConsent("valley", bytes(32), bytes(32), bytes(64))


def _reseated(study: Study) -> Reseated:
    seating = Seating.of(1, study.roster)
    return Reseated(seating, seating, AgreedStudy((), b"", b"", b""), PEERS)


def inputs(seat: Seat) -> list[Any]:
    study = seat.study
    training = Attempt(Stage.TRAINING, 2, PEERS)
    session = Attempt(Stage.DICTIONARY, 1, PEERS).session(study)
    messages = [
        Seating.of(2, study.roster),
        Begin.of(1, training),
        Gone(session, ("north",)),
        STOPPED,
        Finished(PEERS),
        Closed(),
        _reseated(study),
        Rejoining(Seating.of(1, study.roster), _CONSENT),
        OpenedQuery("north", 3, ("dealer",)),
        OpenedEvaluation(0, 1, PEERS),
        RefusedQuery(0, 0, "no"),
        RefusedEvaluation(0, 0, "no"),
    ]
    return [
        Started(),
        ConsentGiven(1, study),
        ConsentRefused(1),
        ProgramEnded(session),
        ProgramEnded(session, Failure("InputError", ours=True)),
        ProgramWaits(session, "noise", ("north",), 5.0),
        Overdue(session, "north"),
        CleanedUp(),
        Withdrew(),
        *(Heard(COORDINATOR, message) for message in messages),
    ]


def test_the_table_says_something_about_every_input_in_every_phase() -> None:
    assert set(TABLE) == set(PHASES)
    every = set().union(*TABLE.values())
    assert every >= {*HEARS}
    for phase in PHASES:
        assert set(TABLE[phase]) == every


@pytest.mark.parametrize("phase", PHASES)
def test_every_input_in_every_phase_leads_where_the_table_says(seat: Seat, phase: Phase) -> None:
    in_phase(seat, phase)
    assert seat.state.phase is phase
    kinds = set()
    for happened in inputs(seat):
        after, _ = step(seat.state, happened, now=seat.now)
        kind = type(happened.message) if isinstance(happened, Heard) else type(happened)
        kinds.add(kind)
        assert after.phase in TABLE[phase][kind].to
    assert kinds == set(TABLE[phase])


def test_a_study_in_which_nothing_happens(seat: Seat) -> None:
    seat.seated()
    for stage in Stage:
        attempt = seat.begins(stage)
        seat(ProgramEnded(attempt.session(seat.study)))
    seat.hears(Finished(PEERS))
    assert [action.attempt.stage for action in seat.did(RunAttempt)] == list(Stage)
    assert [action.attempt.stage for action in seat.did(KeepResult)] == list(Stage)
    assert all(isinstance(message, Done) for message in seat.said)
    assert seat.actions[-1] == CleanUp()
    assert seat(CleanedUp()) == (Serve(),)
    assert seat.again().actions == [Serve()]


def test_what_begins_while_the_person_thinks_begins_afterwards(seat: Seat) -> None:
    seat.hears(Seating.of(1, seat.study.roster))
    attempt = seat.begins(Stage.AGREEMENT)
    assert seat.did(RunAttempt) == []
    seat.agrees()
    assert seat.did(RunAttempt) == [RunAttempt(attempt)]
    # The person is asked once, also over restarts.
    assert seat.again().did(AskConsent)[0].known


def test_who_does_not_consent_says_so_and_leaves(seat: Seat) -> None:
    seat.hears(Seating.of(1, seat.study.roster))
    assert seat(ConsentRefused(1)) == (Tell((COORDINATOR,), Declined(1)), EndCourse(None))
    assert seat.state.phase is Phase.LEFT


def test_a_late_answer_about_an_earlier_roster_changes_nothing(seat: Seat) -> None:
    seat.hears(Seating.of(1, seat.study.roster))
    first = seat.did(AskConsent)[-1]
    seat.hears(Seating.of(2, seat.study.roster))
    for late in (ConsentGiven(1, first.study), ConsentRefused(1)):
        assert seat(late) == ()
    assert seat.state.phase is Phase.CONSENT


def test_a_roster_with_another_key_of_ours_is_refused(seat: Seat, study: Study) -> None:
    seats = tuple(
        type(seat)(seat.name, seat.organisation, seat.role, bytes(32))
        if seat.name == "valley"
        else seat
        for seat in Seating.of(1, study.roster).seats
    )
    actions = seat.hears(Seating(1, seats))
    error = next(action.error for action in actions if isinstance(action, EndCourse))
    assert isinstance(error, ViolationError)
    assert "expected our own key" in error.message
    assert seat.said == [Declined(1)]


@pytest.mark.parametrize(
    "back", [(Stage.AGREEMENT, 1), (Stage.DICTIONARY, 1), (Stage.DICTIONARY, 2)]
)
def test_nothing_leads_back_to_what_is_over(seat: Seat, back: tuple[Stage, int]) -> None:
    seat.seated()
    for stage, number in ((Stage.AGREEMENT, 1), (Stage.DICTIONARY, 1), (Stage.DICTIONARY, 2)):
        seat.begins(stage, number)
    seat.begins(*back)
    assert seat.state.phase is Phase.LEFT
    assert isinstance(seat.did(EndCourse)[0].error, ViolationError)


def test_no_new_roster_once_sums_are_opened(seat: Seat) -> None:
    seat.seated()
    seat.begins(Stage.AGREEMENT)
    seat.begins(Stage.DICTIONARY)
    seat.hears(Seating.of(2, seat.study.roster))
    assert seat.state.phase is Phase.LEFT


def test_a_program_s_end_is_said_once_and_without_its_words(seat: Seat) -> None:
    seat.seated()
    session = seat.begins(Stage.AGREEMENT).session(seat.study)
    failure = Failure("ViolationError", "north")
    seat(ProgramEnded(session, failure))
    seat(ProgramEnded(session, failure))
    seat(Overdue(session, "harbour"))
    seat(Overdue(session, "harbour"))
    assert seat.said == [
        Failed(session, "ViolationError", "north"),
        Failed(session, "AbsenceError", "harbour"),
    ]
    assert seat.state.phase is Phase.AGREEMENT
    again = seat.again()
    again.agrees()
    again(ProgramEnded(session, failure))
    assert again.said == []


def test_an_error_of_our_own_is_said_and_we_leave(seat: Seat) -> None:
    seat.seated()
    session = seat.begins(Stage.AGREEMENT).session(seat.study)
    actions = seat(ProgramEnded(session, Failure("InputError", ours=True)))
    assert actions[-1] == EndCourse(None)
    assert seat.said == [Failed(session, "InputError", "")]
    assert seat.state.phase is Phase.LEFT


def test_a_result_counts_once_the_next_stage_begins(seat: Seat) -> None:
    seat.seated()
    seat.begins(Stage.AGREEMENT)
    seat.begins(Stage.DICTIONARY)
    seat.begins(Stage.DICTIONARY, 2)
    assert [action.attempt.stage for action in seat.did(KeepResult)] == [Stage.AGREEMENT]
    again = seat.again()
    again.agrees()
    assert [action.attempt.stage for action in again.did(RecallAttempt)] == [Stage.AGREEMENT]
    assert [action.attempt.number for action in again.did(RunAttempt)] == [2]
    assert len(again.did(DropSession)) == 1


def test_an_attempt_without_us_is_not_run(seat: Seat) -> None:
    seat.seated()
    seat.begins(Stage.AGREEMENT)
    attempt = seat.begins(Stage.DICTIONARY, 1, ("north", "harbour", "lakeside"))
    assert attempt not in [action.attempt for action in seat.did(RunAttempt)]
    assert DropSession(attempt.session(seat.study)) in seat.actions


def test_who_is_gone_is_gone_for_a_process_that_starts_again(seat: Seat) -> None:
    seat.seated()
    session = seat.begins(Stage.AGREEMENT).session(seat.study)
    seat.hears(Gone(session, ("north",)))
    again = seat.again()
    again.agrees()
    assert again.did(LeaveOut) == [LeaveOut(session, ("north",))]


def test_a_model_that_was_not_kept_before_a_crash_is_kept_after_it(seat: Seat) -> None:
    seat.seated()
    for stage in Stage:
        seat.begins(stage)
    seat.hears(Finished(PEERS))
    again = seat.again()
    again.agrees()
    assert [action.attempt.stage for action in again.did(RecallAttempt)] == list(Stage)
    assert again.actions[-1] == CleanUp()


def test_a_process_of_a_study_that_is_over_says_why(seat: Seat) -> None:
    seat.seated()
    seat.hears(STOPPED)
    error = seat.again().did(EndCourse)[0].error
    assert isinstance(error, StoppedError)
    assert error.party == "north"
    assert "north is gone" in error.message


def test_help_that_is_asked_for_meanwhile_is_not_forgotten(seat: Seat) -> None:
    seat.seated()
    helpers = ("dealer",)
    opened = (OpenedQuery("north", number, helpers) for number in (1, 2))
    seat.hears(*opened, OpenedEvaluation(0, 1, PEERS))
    assert seat.state.record.helping == (
        Helped("north", 2, 1, helpers),
        Helped("", 0, 1, PEERS),
    )


def test_who_lost_its_disk_comes_back(seat: Seat) -> None:
    reseated = _reseated(seat.study)
    assert seat.hears(reseated) == (ComeBack(reseated),)
    assert seat(Started()) == (ComeBack(reseated),)
    assert seat(CleanedUp()) == (Serve(),)
    assert (seat.state.phase, seat.state.record.cleaned) == (Phase.FINISHED, True)
