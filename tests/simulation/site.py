"""One seat as a process that can be killed: its journal is its disk, the rest is memory.

It decides nothing: it carries the deciders of `sottovoce.course`, as a node of the network does.
The record of a decider, the letters of a step and how far the mailbox was read are one commit.
Everything else that a step asks for waits in `todo` until the world lets the seat work.
"""

from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from harness.entropy import SeededEntropy
from simulation.parts import Made, Noting, Parts
from sottovoce.course.control import Leaving, read_control
from sottovoce.course.phases import Phase
from sottovoce.course.training import training_coordinator, training_participant
from sottovoce.course.training.actions import (
    Action,
    AskConsent,
    CleanUp,
    DropAll,
    DropSession,
    Keep,
    KeepResult,
    LeaveOut,
    RecallAttempt,
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
    Seen,
    Started,
    SumsAgreed,
    Tick,
    Withdrew,
)
from sottovoce.course.training.participant_record import SEAT, ParticipantRecord, Participation
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import TRAINING, Training
from sottovoce.entropy import Expansion
from sottovoce.errors import JournalError, SottovoceError, ViolationError
from sottovoce.node.seat.decider_carrier import KEPT, read_record
from sottovoce.node.seat.durable_seat import _ENTROPY, DurableSeat, SeatSession
from sottovoce.protocols.conversation import Gather, Receive
from sottovoce.protocols.messages import Message
from sottovoce.storage.opened_sums import OpenedSumsBook
from sottovoce.storage.records import Outgoing
from sottovoce.study.attempts import Attempt
from sottovoce.study.relay import Letter
from sottovoce.study.study import Study
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

KEY = bytes(32)
COORDINATOR = "coordinator"
CONTROL = b"control"
_OVER = {Phase.STOPPED, Phase.CLOSED, Phase.LEFT, Phase.WITHDRAWN}


class Site:
    """A seat, alive or down."""

    def __init__(
        self,
        name: str,
        parts: Parts,
        folder: Path,
        *,
        seed: int,
        clock: Callable[[], float],
        registry: dict[str, bytes],
    ) -> None:
        self.name, self.parts, self.path = name, parts, folder / f"{name}.journal"
        self.public = next(
            participant.public
            for participant in parts.study.roster.participants
            if participant.name == name
        )
        self.seeds: list[tuple[bytes, bytes]] = []
        # What was made of which one-time material. Two sessions may send the same bytes.
        self.made: dict[Letter, Made] = {}
        self.edition = 0
        self.found_out: Exception | None = None
        self.model: Any = None
        self.alive = self.dead = False
        self.boots = 0
        self.now, self.registry = clock, registry
        self._seed = seed
        self.boot()

    # Life and death.

    def boot(self) -> None:
        """Start the process: everything is made again from the disk."""
        self.boots += 1
        entropy = SeededEntropy(self._seed << 64 | crc32(self.name.encode()) << 32 | self.boots)
        self.journal = self.parts.journal(self.path, key=KEY, entropy=entropy)
        # Processes crash here, not the machine: there is no need to wait for a disk.
        self.journal._database.execute("PRAGMA synchronous = OFF")
        self.sums = OpenedSumsBook.read(self.journal)
        self.course: Any = None
        self.seat: DurableSeat[Any] | None = None
        self.session = b""
        self.held: list[tuple[Letter, int]] = []
        self.over: set[bytes] = set()
        self.results: dict[bytes, Any] = {}
        self.happened: deque[object] = deque()
        self.todo: deque[Action] = deque()
        self.wake_at: float | None = None
        self.since, self.waited = self.now(), None
        self.read = self.journal.cursor
        self.run: object = object()
        self.alive = True
        self.state = self._state()
        self.step(Started(frozenset(self.sums.book.spent)))

    def _state(self) -> Any:
        terms = self.parts.terms
        if self.name == COORDINATOR:
            record = read_record(self.journal, TRAINING, TrainingRecord)
            publics = {**self.registry, COORDINATOR: self.public}
            return Training(terms, record, publics)
        mine = read_record(self.journal, SEAT, ParticipantRecord)
        return Participation(terms, self.name, {self.name: self.public}, mine)

    def crash(self) -> None:
        """The process is gone; what it did not commit is lost."""
        self.alive = False
        self.journal._database.close()

    # How it stands.

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def finished(self) -> bool:
        return self.phase is Phase.FINISHED

    @property
    def withdrawn(self) -> bool:
        return self.phase is Phase.WITHDRAWN

    @property
    def stop(self) -> tuple[str, int, str, str] | None:
        stopped = self.state.record.stopped
        return None if not stopped else (*_fields(stopped[0]),)

    @property
    def gone(self) -> tuple[str, ...]:
        return self.state.record.gone

    def goes_on_with(self, name: str) -> bool:
        """At the coordinator: a seat has a place in the roster, and has not left."""
        seated = {seat.name for each in self.state.record.seating for seat in each.seats}
        return name in seated and name not in self.gone

    @property
    def ended(self) -> bool:
        return self.phase in _OVER or (self.finished and self.state.record.cleaned)

    @property
    def has_work(self) -> bool:
        return bool(self.happened or self.todo)

    @property
    def waiting(self) -> Receive | Gather | None:
        return None if self.seat is None or self.seat.finished else self.seat.waiting

    @property
    def awaited(self) -> tuple[str, ...]:
        """For whom its program waits."""
        match self.waiting:
            case Receive(sender, _):
                return (sender,)
            case Gather(_, senders):
                return senders
        return ()

    @property
    def due(self) -> float | None:
        """When time brings something to do here."""
        if self.ended:
            return None
        times = [] if self.wake_at is None else [self.wake_at]
        if self.waiting is not None:
            limits = self.parts.terms.limits
            gathers = isinstance(self.waiting, Gather)
            alone = limits.receive if self.name == COORDINATOR else limits.receive * 2 / 3
            times.append(self.since + (limits.gather if gathers else alone))
        return min(times, default=None)

    # What it does when it is let.

    def pending(self) -> list[Outgoing]:
        return list(self.journal.pending())

    def work(self) -> None:
        """Do one thing that is to be done."""
        if self.todo:
            self._perform(self.todo.popleft())
        else:
            self.step(self.happened.popleft())

    def step(self, happened: object, **notes: bytes) -> None:
        """One step of the decider, and what it writes, in one commit."""
        self._look()
        before = self.state.records
        actions = self._decide(happened)
        written = dict(notes)
        letters: list[Outgoing] = []
        for action in actions:
            if isinstance(action, KEPT):
                written |= self.kept(action)
            elif isinstance(action, Tell):
                letters += [self._letter(to, action.message, written) for to in action.recipients]
        for name, record in self.state.records.items():
            if record != before[name]:
                written[name] = Codec().encode(record)
        if written or letters:
            self.journal.commit(letters=letters, notes=written)
        dropped = [action for action in actions if isinstance(action, (DropSession, DropAll))]
        for action in dropped:
            # From the decision on, its letters change nothing.
            self._stop_programs(action)
        self.todo += [action for action in actions if not isinstance(action, (Tell, *KEPT))]

    def kept(self, action: Action) -> dict[str, bytes]:
        """What goes to disk with a record."""
        assert isinstance(action, Keep)
        self._keep(action.attempt)
        self.model = self.parts.model(self.course)
        return {}

    def _decide(self, happened: object) -> tuple[Action, ...]:
        decider: Any = training_coordinator if self.name == COORDINATOR else training_participant
        self.state, actions = decider.step(self.state, happened, now=self.now())
        return actions

    def _look(self) -> None:
        opened = frozenset(self.sums.book.spent)
        if self.name == COORDINATOR and not opened <= self.state.opened:
            self._decide(SumsAgreed(opened))

    def seen(self, name: str) -> None:
        """At the coordinator: a seat made a request."""
        self._decide(Seen(name))

    def pass_time(self) -> None:
        """Its time is up: it is woken, or its program waited long enough."""
        if self.wake_at is not None and self.wake_at <= self.now():
            self.wake_at = None
            self.happened.append(Tick())
            return
        self.expire()

    def expire(self) -> None:
        waiting, seat = self.waiting, self.seat
        assert seat is not None
        if isinstance(waiting, Gather):
            seat.expire()
            self._settle()
        elif isinstance(waiting, Receive):
            self.since = self.now()
            self.happened.append(Overdue(self.session, waiting.sender))

    def withdraw(self, posted: Callable[[Letter], bool]) -> None:
        """Take consent back: nothing leaves any more but this word, in the place of the first
        control letter that never left."""
        self._decide(Withdrew())
        waiting = [letter.letter for letter in self.pending() if letter.letter.session == CONTROL]
        left = [pending for pending in self.pending() if pending.letter.session == CONTROL]
        left = [pending for pending in left if posted(pending.letter)]
        numbers = [letter.number for letter in waiting if not posted(letter)]
        notes = {SEAT: Codec().encode(self.state.record)}
        if numbers:
            notes[f"told/{COORDINATOR}"] = min(numbers).to_bytes(8)
        word = self._letter(COORDINATOR, Leaving(), notes)
        self.journal.close_outbox([*left, word], notes=notes)
        self._drop_all()
        self.todo.clear()
        self.happened.clear()

    # Letters.

    def take(self, letter: Letter, position: int) -> None:
        """Deal with a letter of the mailbox."""
        seat = self.seat if letter.session == self.session else None
        known = seat is not None or letter.session in self.over or letter.session == CONTROL
        if not (known or self.ended):
            self.journal.arrived(position)
            self.held.append((letter, position))
            return
        with self.journal.handling(position):
            if letter.session == CONTROL:
                self._hear(letter)
            elif seat is not None:
                seat.deliver(letter)
        if seat is not None:
            self._settle()

    def _hear(self, letter: Letter) -> None:
        key = f"heard/{letter.sender}"
        expected = int.from_bytes(self.journal.note(key) or b"")
        if letter.number < expected:
            return
        if letter.number > expected:
            raise ViolationError(f"{self.name} misses a letter", party=letter.sender)
        message = read_control(letter.body, sender=letter.sender)
        heard = {key: (expected + 1).to_bytes(8)}
        self.step(Heard(letter.sender, message), **heard)

    def _letter(self, to: str, message: Message, notes: dict[str, bytes]) -> Outgoing:
        key, body = f"told/{to}", Codec().encode(message)
        number = int.from_bytes(notes.get(key) or self.journal.note(key) or b"")
        notes[key] = (number + 1).to_bytes(8)
        return Outgoing(Letter(CONTROL, self.name, to, number, body), tag_of(body))

    # What a step asks for.

    def _perform(self, action: Action) -> None:
        match action:
            case TakeSeat(study):
                self.course = self._opened(study)
            case AskConsent(number, study):
                self.course = self._opened(study)
                self.happened.append(ConsentGiven(number, study))
            case RunAttempt(attempt):
                if self.name != COORDINATOR or self.state.runs(attempt):
                    self._run(attempt)
                else:
                    self._drop(self._sitting(attempt)[0].session)
            case RecallAttempt(attempt):
                self._recall(attempt)
            case KeepResult(attempt):
                self._keep(attempt)
            case CleanUp():
                self._clean_up()
            case WakeAt(when):
                self.wake_at = when
            case _:
                self._stop_programs(action)

    def _opened(self, study: Study) -> Any:
        return self.parts.course(self.name, study, self.sums, self.edition)

    def _stop_programs(self, action: Action) -> None:
        match action:
            case DropSession(session):
                self._drop(session)
            case DropAll():
                self._drop_all()
            case LeaveOut(session, parties):
                self._leave(session, parties)

    def _clean_up(self) -> None:
        if self.name != COORDINATOR:
            # A process that cleaned up and fell before it could say so has the model on its disk.
            self.model = self.parts.model(self.course) or self.model
        self.happened.append(CleanedUp())

    def _sitting(self, attempt: Attempt) -> tuple[SeatSession, Callable[[Any], Any]]:
        study, session = self.course.party.study, attempt.session(self.course.party.study)
        packer = Noting(self.parts.relay(self.name, self.course), self.made)
        sitting = SeatSession(
            self.name,
            session,
            tuple(party for party in attempt.parties(study) if party != self.name),
            packer,
            self.course.codec(),
            head=repr(attempt).encode() + self.course.inputs,
            sums=self.sums,
        )
        return sitting, lambda entropy: self.course.program(attempt, entropy=entropy)

    def _run(self, attempt: Attempt) -> None:
        self._drop_all()
        sitting, program = self._sitting(attempt)
        self.session = sitting.session
        self.over.discard(self.session)
        opened = self.journal.open_session(self.session, sitting.head)
        self.seeds.append((self.session, opened.seed))
        assert isinstance(sitting.relay, Noting)
        stream = Expansion(opened.seed, _ENTROPY, self.session)
        sitting.relay.material = self.course.drawn(stream).read(16)
        try:
            self.seat = DurableSeat.begin(self.journal, sitting, program)
        except JournalError:
            raise
        except SottovoceError as error:
            self.happened.append(ProgramEnded(self.session, Failure.of(error)))
            return
        self._settle()
        self._let_in()

    def _let_in(self) -> None:
        """Hand letters over that came before their session began."""
        for early in [held for held in self.held if held[0].session == self.session]:
            if early in self.held:
                self.held.remove(early)
                self.take(*early)

    def _recall(self, attempt: Attempt) -> None:
        sitting, program = self._sitting(attempt)
        self._drop(sitting.session)
        if self.journal.has_begun(sitting.session):
            seat = DurableSeat.recall(self.journal, sitting, program)
            if seat.finished and seat.failure is None:
                self.course.keep(attempt, seat.result)

    def _keep(self, attempt: Attempt) -> None:
        session = attempt.session(self.course.party.study)
        if session in self.results:
            self.course.keep(attempt, self.results.pop(session))

    def _drop_all(self) -> None:
        if self.session:
            self._drop(self.session)

    def _drop(self, session: bytes) -> None:
        self.over.add(session)
        if self.seat is not None and session == self.session:
            self.seat.close()
            self.seat = None
        for early in [held for held in self.held if held[0].session == session]:
            self.held.remove(early)
            with self.journal.handling(early[1]):
                pass

    def _leave(self, session: bytes, parties: tuple[str, ...]) -> None:
        if self.seat is None or session != self.session:
            return
        for party in parties:
            if party in self.seat._sitting.partners and not self.seat.finished:
                self.seat.leave(party)
        self._settle()

    def _settle(self) -> None:
        """After a step of the program: start the clock of what it waits for, say if it ended."""
        seat = self.seat
        if seat is None:
            return
        if self.waiting is not self.waited:
            self.since, self.waited = self.now(), self.waiting
        if seat.finished:
            self.seat = None
            self.over.add(self.session)
            self._ended(seat)

    def _ended(self, seat: DurableSeat[Any]) -> None:
        if seat.failure is not None:
            self.happened.append(ProgramEnded(self.session, Failure.of(seat.failure)))
            return
        self.results[self.session] = seat.result
        peer = self.name in self.parts.study.roster.peers
        kept = seat.result is not None or not peer
        peers = self.parts.counted(seat.result) if self.name == COORDINATOR else ()
        self.happened.append(ProgramEnded(self.session, None, peers, kept))


def _fields(stopped: Any) -> tuple[str, int, str, str]:
    return stopped.stage, stopped.attempt, stopped.kind, stopped.party


Sites = Mapping[str, Site]
