"""Runs a whole study in memory, with the same course as over a network.

    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=entropy)
    outcome = run_study(Study(plan, roster), documents, identities=identities, entropy=entropy)
    outcome.classify("alice", documents).classes

Nothing is decided here. The deciders of all seats run side by side, their letters are delivered at
once, and the programs of an attempt run together. Time is a number that grows when nobody has
anything to do.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sottovoce.course.phases import Phase
from sottovoce.course.queries.memory import QueriesInMemory
from sottovoce.course.reasons import stopped_error
from sottovoce.course.seat_course import SeatCourse, counted
from sottovoce.course.terms import Failing, Terms, WaitingLimits, planned
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training import training_coordinator, training_participant
from sottovoce.course.training.actions import (
    Action,
    AskConsent,
    CleanUp,
    Keep,
    KeepResult,
    RunAttempt,
    TakeSeat,
    Tell,
    WakeAt,
)
from sottovoce.course.training.inputs import (
    CleanedUp,
    ConsentGiven,
    Failure,
    Heard,
    Overdue,
    ProgramEnded,
    SeatTaken,
    Seen,
    Started,
    SumsAgreed,
    Tick,
)
from sottovoce.course.training.participant_record import ParticipantRecord, Participation
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import Training
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, SottovoceError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Conversation
from sottovoce.protocols.view import View
from sottovoce.study.attempts import Attempt
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Record, Setting
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.entities import HeldEntities
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.roster import Role, answerer_of
from sottovoce.study.stages.holdings import labelled
from sottovoce.study.study import Study
from sottovoce.text.documents import Document

# Nobody really waits here: the clock only orders the deadlines.
_LIMITS = WaitingLimits(gather=10.0, receive=30.0, unseen=5.0, silent=10.0, enrolment=60.0)
_MOMENT = 11.0
"""Longer than any seat that is present stays unseen."""


def run_study(
    study: Study,
    documents: Mapping[str, Sequence[Document]],
    *,
    identities: Mapping[str, Identity],
    entropy: Entropy,
    setting: "Setting | None" = None,
) -> StudyOutcome:
    """Train one sealed model from every peer's documents."""
    setting = setting or Setting()
    policies = setting.policies or {}
    parties = {
        name: replace(
            PartyContext.open(study, identities[name], entropy=entropy), policy=policies.get(name)
        )
        for name in study.roster.names
    }
    return StudyRun(study, documents, parties, setting).run(entropy)


class StudyRun:
    """Runs the deciders and programs of all seats, until there is a model or a stop.

    `gone` are the parties that left; `stops` are the errors of the other seats after the
    coordinator stopped the study.
    """

    def __init__(
        self,
        study: Study,
        documents: Mapping[str, Sequence[Document]],
        parties: Mapping[str, PartyContext],
        setting: Setting,
    ) -> None:
        """Refuse documents of anybody but the peers, and plans beyond a peer's policy."""
        _check_documents(study, documents)
        for name, policy in (setting.policies or {}).items():
            try:
                policy.check(study)
            except InputError as error:
                raise InputError(f"{name}: {error.message}", hints=error.hints) from error
        self.study = study
        self.record = Record(setting.views)
        self.gone: set[str] = set()
        self.attempts: list[Attempt] = []
        self.stops: dict[str, SottovoceError] = {}
        self.courses: dict[str, SeatCourse] = {}
        self._parties, self._documents, self._setting = parties, documents, setting
        self._coordinator = study.roster.coordinator
        self._states = {name: self._state(name) for name in study.roster.names}
        self._due: deque[tuple[str, object]] = deque()
        self._running: dict[str, Attempt] = {}
        self._results: dict[str, Any] = {}
        self._failure: SottovoceError | None = None
        self._now, self._wake_at = 0.0, 0.0

    def _state(self, name: str) -> Any:
        seats = planned(self.study.roster.participants)
        terms = Terms(self.study.plan.name, self.study.plan, seats, _LIMITS, Failing.STOPS)
        publics = {seat.name: seat.public for seat in self.study.roster.participants}
        mine = {name: publics[name]}
        if name == self._coordinator:
            return Training(terms, TrainingRecord(), mine)
        return Participation(terms, name, mine, ParticipantRecord())

    def run(self, entropy: Entropy) -> StudyOutcome:
        """Carry letters and programs until the coordinator's course is over."""
        self._setting.on_stage("keys")
        key = None
        if self.study.engine is not Engine.QUORUM:
            key = self._setting.key or self.study.plan.generate(entropy=entropy)
        self.courses = {name: self._course(name, key) for name in self.study.roster.names}
        for name in self.study.roster.names:
            self._due.append((name, Started()))
        for seat in self.study.roster.participants:
            if seat.name != self._coordinator:
                self._due.append((self._coordinator, SeatTaken(seat.name, seat.public)))
        while self._deciding.phase not in {Phase.FINISHED, Phase.STOPPED} or self._due:
            if self._due:
                self._step(*self._due.popleft())
            elif self._running:
                self._converse(entropy)
            else:
                self._let_time_pass()
        if self._deciding.phase is Phase.STOPPED:
            raise self._error()
        return self._outcome()

    @property
    def _deciding(self) -> Training:
        state = self._states[self._coordinator]
        assert isinstance(state, Training)
        return state

    def _course(self, name: str, key: SecretKey | None) -> SeatCourse:
        given = key if name == self._coordinator else None
        documents = _learnt(self.study, self._documents, name)
        return SeatCourse(self._parties[name], documents=documents, key=given)

    # Deciders and letters.

    def _step(self, name: str, happened: object) -> None:
        """Take one step of one seat; a party that left decides nothing any longer."""
        if name in self.gone:
            return
        decider: Any = training_participant
        if name == self._coordinator:
            decider = training_coordinator
            opened = SumsAgreed(frozenset(self._parties[name].book.spent))
            self._states[name], _ = decider.step(self._states[name], opened, now=self._now)
        self._states[name], actions = decider.step(self._states[name], happened, now=self._now)
        for action in actions:
            self._perform(name, action)

    def _perform(self, name: str, action: Action) -> None:
        match action:
            case Tell(recipients, message):
                self._post(name, recipients, message)
            case AskConsent(number, study):
                self._due.append((name, ConsentGiven(number, study)))
            case RunAttempt(attempt):
                self._running[name] = attempt
            case KeepResult(attempt) | Keep(_, attempt) if name in self._results:
                self.courses[name].keep(attempt, self._results.pop(name))
            case CleanUp():
                self._due.append((name, CleanedUp()))
            case WakeAt(when):
                self._wake_at = when
            case TakeSeat(study) if study.digest != self.study.digest:
                raise InputError("study: the roster is not the one that was given")

    def _post(self, name: str, recipients: Sequence[str], message: Message) -> None:
        self._due.extend((recipient, Heard(name, message)) for recipient in recipients)

    def _let_time_pass(self) -> None:
        """Move the clock to the next moment for which the coordinator waits."""
        self._now = max(self._now, self._wake_at)
        self._see_everybody()
        self._due.append((self._coordinator, Tick()))

    def _see_everybody(self) -> None:
        for name in self.study.roster.names:
            if name not in self.gone:
                self._step(self._coordinator, Seen(name))

    # Programs.

    def _converse(self, entropy: Entropy) -> None:
        """Run the programs of an attempt to their end, or until one of them fails."""
        attempt = self._running[self._coordinator]
        self._running.clear()
        self.attempts.append(attempt)
        self._setting.on_stage(attempt.stage)
        names = attempt.parties(self.study)
        on_stage = self._setting.on_stage
        table = Conversation(
            {
                name: self.courses[name].program(attempt, entropy=entropy, on_stage=on_stage)
                for name in names
            },
            session=attempt.session(self.study),
            codec=self.courses[self._coordinator].codec(),
            meddler=self._setting.meddler,
            recorded=self.record.keeps_views,
            on_steps=self._setting.on_steps,
        )
        error: SottovoceError | None = None
        results: Mapping[str, Any] = {}
        try:
            results = table.run().results
        except SottovoceError as failure:
            error = failure
        finally:
            self.record.add(table.views, table.traffic, stage=attempt.stage)
        self.gone.update(table.gone)
        # A crashed party makes no more requests, everybody else does.
        self._now += _MOMENT
        self._see_everybody()
        if error is None:
            self._results, self._failure = dict(results), None
            self._succeed(attempt, names)
        else:
            self._fail(attempt, table.failed, error)

    def _succeed(self, attempt: Attempt, names: Sequence[str]) -> None:
        session = attempt.session(self.study)
        for name in names:
            if name in self._results:
                result = self._results[name]
                peer = self.courses[name].role is Role.PEER
                peers = counted(result) if name == self._coordinator else ()
                kept = result is not None or not peer
                self._due.append((name, ProgramEnded(session, None, peers, kept)))

    def _fail(self, attempt: Attempt, failed: str, error: SottovoceError) -> None:
        """One program failed, and the others wait in vain for the parties that left."""
        self._failure, session = error, attempt.session(self.study)
        parties = attempt.parties(self.study)
        party = getattr(error, "party", "")
        missing = [name for name in parties if name in {*self.gone, party}]
        failure = Failure.of(error)
        if isinstance(error, AbsenceError) and not missing:
            # If nobody left, another attempt would end in the same way.
            failure = Failure(failure.kind, failure.party)
        seat = failed or self._coordinator
        self._due.append((seat, ProgramEnded(session, failure)))
        if failure.absent and seat != self._coordinator:
            self._due.append((self._coordinator, Overdue(session, missing[0])))

    # The end.

    def _error(self) -> SottovoceError:
        """The error to raise: that of the failed program, or the coordinator's reason."""
        stopped = self._deciding.record.stopped[0]
        here = [name for name in self.study.roster.names if name not in self.gone]
        self.stops = {name: stopped_error(stopped) for name in here}
        failure = self._failure
        if failure is None:
            return AbsenceError(stopped.reason, party=stopped.party)
        failure.__cause__ = stopped_error(stopped)
        return failure

    def _outcome(self) -> StudyOutcome:
        study = self.study
        models = {
            name: course.model for name, course in self.courses.items() if course.model is not None
        }
        trained = self.courses[self._coordinator].trained
        assert trained is not None
        views = {name: View(name, list(view.received)) for name, view in self.record.views.items()}
        labels_told = dict(trained.labels_told)
        carrier = QueriesInMemory(
            study, self._parties, trained.peers, labels_told=labels_told, limits=_LIMITS
        )
        held = {
            name: course.held for name, course in self.courses.items() if course.held is not None
        }
        shared = {name: share for name, share in held.items() if isinstance(share, MemberShare)}
        half = held.get(study.roster.evaluator) if study.roster.helped else None
        assert not isinstance(half, MemberShare)
        seats = (self._parties, views, self.record, carrier)
        entities = {
            answerer_of(peer): HeldEntities(peer, model, self._documents[peer])
            for peer, model in models.items()
            if peer in study.plan.arrangement.answerers and isinstance(model, PeerModel)
        }
        return StudyOutcome(
            study, models, trained, *seats, entities=entities, held=half, shared=shared
        )


def _learnt(
    study: Study, documents: Mapping[str, Sequence[Document]], name: str
) -> Sequence[Document] | None:
    """A peer's training documents; None for anybody else."""
    return labelled(study, documents[name]) if name in documents else None


def _check_documents(study: Study, documents: Mapping[str, Sequence[Document]]) -> None:
    expected, given = set(study.roster.peers), set(documents)
    if expected != given:
        raise InputError(
            f"study {study.plan.name!r}: expected documents of {', '.join(sorted(expected))}, "
            f"found those of {', '.join(sorted(given)) or 'nobody'}"
        )
