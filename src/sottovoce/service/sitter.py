"""A participant's way through a study: it follows the coordinator's letters, within its consent.

    Seating ──▶ are these the people and the plan of the study's text? ──▶ consent
    Begin   ──▶ the seat's program of this stage, from the journal or anew ──▶ Done, or Failed
    Stopped ──▶ everything deleted         Finished ──▶ the model kept, everything else deleted

A stage is over when the coordinator begins the next: until then its result may be of an attempt
that failed elsewhere.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.errors import (
    AbsenceError,
    InputError,
    JournalError,
    OurError,
    ReplayError,
    SottovoceError,
    StoppedError,
    TheirError,
    ViolationError,
    WithdrawnError,
)
from sottovoce.ledger import What
from sottovoce.protocols.messages import Message
from sottovoce.roles.attempts import Attempt, Stage, Stop
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import SealedModel
from sottovoce.roles.relay import Relay
from sottovoce.roles.roster import Role
from sottovoce.roles.study import Study, grouped
from sottovoce.service.agent import Agent
from sottovoce.service.chairs import Effect, Running
from sottovoce.service.control import (
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
    Rejoining,
    Reseated,
    Seating,
    Stopped,
)
from sottovoce.service.durable import Sitting
from sottovoce.service.events import StageBegan, StageEnded
from sottovoce.service.house import House
from sottovoce.service.opened_sums import OpenedSums
from sottovoce.service.seat_book import SeatBook
from sottovoce.service.seat_keys import SeatKeys

_ENDED = ("stopped", "closed", "left", "withdrawn")
"""Phases of the book in which a seat has nothing more to do, whoever runs it again."""
_TELLING = (AbsenceError.__name__, InputError.__name__, WithdrawnError.__name__)
"""Kinds of failure whose reason says all; with others, what was wrong is said first."""


class Sitter:
    """The chair of one participant's seat."""

    def __init__(self, agent: Agent, house: House, keys: SeatKeys, *, entropy: Entropy) -> None:
        """Go on from what the seat's journal remembers."""
        self.agent = agent
        self.book = SeatBook.read(agent.journal)
        self._sums = OpenedSums.read(agent.journal)
        self.course: Course | None = None
        self._house = house
        self._keys = keys
        self._entropy = entropy
        self._changed = asyncio.Event()
        self._ends: deque[Running] = deque()
        self._overdue: deque[tuple[Running, str]] = deque()
        self._seated = 0
        self._begun = 0
        self._last: tuple[Attempt, Any] | None = None
        self._error: SottovoceError | None = None

    # What the agent tells.

    async def heard(self, sender: str, message: Message) -> Effect:
        """Follow a letter of the coordinator; nobody else gives directions."""
        if sender != COORDINATOR:
            raise ViolationError("expected control letters of the coordinator alone", party=sender)
        if isinstance(message, Gone):
            await self.agent.leave(message.session, message.seats)
            return Effect()
        wrong = "" if self.book.over else self._out_of_order(message)
        if wrong:
            self._error = ViolationError(wrong, party=COORDINATOR)
            self.book = self.book.but(phase="left")
            return Effect(self.book.notes(), [(COORDINATOR, Declined(self._seated))])
        self.book = self._after(message)
        return Effect(self.book.notes())

    def _out_of_order(self, message: Message) -> str:
        """What is wrong with a letter that would lead back to what is over; nothing, if empty."""
        begun = [one.attempt() for one in self.book.begins]
        match message:
            case Seating() if any(one.stage.opened_sums for one in begun):
                # Among other peers our book of opened sums would not know the sums again.
                return "expected no new table once sums are opened, found one"
            case Seating(number) if [number] <= [one.number for one in self.book.seating]:
                return (
                    f"expected a table after number {self.book.seating[0].number}, found {number}"
                )
            case Begin(seating) if [seating] == [one.number for one in self.book.seating]:
                now = message.attempt()
                if begun and not now.follows(begun[-1]):
                    last = f"attempt {begun[-1].number} at the {begun[-1].stage}"
                    return f"expected what follows {last}, found {now.number} at the {now.stage}"
        return ""

    def _after(self, message: Message) -> SeatBook:
        book = self.book
        match message:
            case OpenedQuery() | OpenedEvaluation():
                book = book.with_help(message)
            case Rejoining():
                book = book.with_rejoining(message)
            case Reseated() if not book.over:
                book = book.but(phase="reseated", reseated=(message,))
            case Closed():
                book = book.but(phase="closed")
            case _ if book.over:
                pass
            case Seating():
                book = book.but(seating=(message,), begins=())
            case Begin(seating) if [seating] == [one.number for one in book.seating]:
                book = book.but(begins=(*book.begins, message))
            case Stopped():
                book = book.but(phase="stopped", stopped=(message,))
            case Finished(peers):
                book = book.but(phase="finished", peers=peers)
        return book

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self._changed.set()

    def ended(self, running: Running) -> None:
        """A program is at its end."""
        self._ends.append(running)
        self._changed.set()

    def overdue(self, running: Running, party: str) -> None:
        """Somebody keeps us waiting: the coordinator decides."""
        self._overdue.append((running, party))
        self._changed.set()

    # The way.

    async def follow(self) -> Course | None:
        """Follow the study to its end; the course, from which the model is taken.

        None when the training ended before this process began. Raises what stopped the study,
        here or elsewhere.
        """
        if self.book.phase in _ENDED:
            raise self._error or self._stop_error()
        while self.book.phase not in {"trained", "reseated"}:
            self._changed.clear()
            await self._catch_up()
            if self._error is not None and not isinstance(self._error, TheirError):
                raise self._error
            if self.book.phase in _ENDED:
                raise self._error or self._stop_error()
            if self.book.phase == "finished" and self._begun == len(self.book.begins):
                self._keep()
                return self.course
            await self._changed.wait()
        return None

    async def _catch_up(self) -> None:
        """Do whatever letters and programs ask for, until there is nothing left to do."""
        while True:
            if self.book.seating and self._seated != self.book.seating[0].number:
                await self._sit(self.book.seating[0])
            elif self._ends:
                await self._after_end(self._ends.popleft())
            elif self._overdue:
                running, party = self._overdue.popleft()
                await self._report(running, AbsenceError("does not answer", party=party))
            elif self.course is not None and self._begun < len(self.book.begins):
                self._begun += 1
                await self._begin(self.book.begins[self._begun - 1])
            else:
                return

    async def _sit(self, seating: Seating) -> None:
        """Take a seat at the proposed table, if it is the one that was agreed to."""
        for session in tuple(self.agent.running):
            await self.agent.drop(session)
        self._seated, self._begun, self._last, self.course = seating.number, 0, None, None
        try:
            study = self._house.seated(seating)
            await self._consent(study)
            self.course = await self._opened(study)
        except (JournalError, ReplayError):
            raise
        except SottovoceError as error:
            await self._refuse(seating, error)

    async def _consent(self, study: Study) -> None:
        """Ask this site's person once, also over restarts."""
        key = f"consent/{study.digest.hex()}"
        if await self.agent.do(self.agent.journal.note, key) is not None:
            return
        if not await self._house.consents(study, self.agent.name):
            raise WithdrawnError("this site did not consent to the study")
        people = ", ".join(study.roster.names)
        note = f"to the study with the fingerprint {grouped(study.digest)}, among {people}"
        await self.agent.do(self.agent.witness.note, What.CONSENT, note)
        await self.agent.commit(Effect({key: b""}))

    async def _opened(self, study: Study) -> Course:
        role = next(one.role for one in study.roster.participants if one.name == self.agent.name)
        documents = await self._house.documents() if role is Role.PEER else None
        first = Attempt.first(study, Stage.AGREEMENT)
        book = self._sums.book
        desk = Desk(study, self._keys.identity, self._entropy, self._keys.box, first, book)
        return Course(desk, documents=documents)

    async def _refuse(self, seating: Seating, error: SottovoceError) -> None:
        self._error = error
        self.book = self.book.but(phase="left")
        await self.agent.commit(
            Effect(self.book.notes(), [(COORDINATOR, Declined(seating.number))])
        )

    async def _begin(self, begin: Begin) -> None:
        course = self.course
        assert course is not None
        study, attempt = course.desk.study, begin.attempt()
        session = attempt.session(study)
        self._keep(before=attempt.stage)
        for other in tuple(self.agent.running):
            await self.agent.drop(other)
        if not course.takes_part(attempt):
            await self.agent.drop(session)
        elif self._begun < len(self.book.begins):
            await self._recall(attempt)
        else:
            await self._run(attempt)

    async def _recall(self, attempt: Attempt) -> None:
        """An attempt that is over: for what it left, if the coordinator went on to a later stage.

        Nothing reaches it any more. Which sums it opened, the book of sums knows.
        """
        course = self.course
        assert course is not None
        session = attempt.session(course.desk.study)
        following = self.book.begins[self._begun].attempt()
        if following.stage is attempt.stage or not self.agent.journal.has_begun(session):
            await self.agent.drop(session)
            return
        running = await self.agent.recall(*self._sitting(attempt), label=_label(attempt))
        if running.seat.finished and running.seat.failure is None:
            self._last = (attempt, running.seat.result)

    def _sitting(self, attempt: Attempt) -> tuple[Sitting, Callable[[Entropy], Any]]:
        """Where we sit in an attempt, and what we run there."""
        course = self.course
        assert course is not None
        study = course.desk.study
        parties = attempt.parties(study)
        sitting = Sitting(
            self.agent.name,
            attempt.session(study),
            tuple(one for one in parties if one != self.agent.name),
            Relay(course.desk, course.agreement),
            course.codec(),
            head=f"{attempt.stage} {attempt.number} {','.join(attempt.peers)}".encode(),
            sums=self._sums,
        )
        return sitting, partial(_program, course, attempt)

    async def _run(self, attempt: Attempt) -> None:
        self.agent.tell_watcher(
            StageBegan(
                self.agent.study, self.agent.name, attempt.stage, attempt.number, attempt.peers
            )
        )
        sitting, program = self._sitting(attempt)
        try:
            await self.agent.begin(sitting, program, label=_label(attempt))
        except (JournalError, ReplayError):
            raise
        except SottovoceError as error:
            await self._fail(sitting.session, error)

    async def _after_end(self, running: Running) -> None:
        """A program returned or failed: say so, but not what its error said."""
        course = self.course
        attempt = self._attempt_of(running.sitting.session)
        if course is None or attempt is None:
            return
        error = running.seat.failure
        if error is not None:
            await self._fail(running.sitting.session, error)
            return
        result = running.seat.result
        self._last = (attempt, result)
        self.agent.tell_watcher(
            StageEnded(
                self.agent.study,
                self.agent.name,
                attempt.stage,
                attempt.number,
                time.monotonic() - running.began,
            )
        )
        kept = result is not None or course.role is not Role.PEER
        await self._once(
            f"done/{running.sitting.session.hex()}", Done(running.sitting.session, kept)
        )

    async def _fail(self, session: bytes, error: SottovoceError) -> None:
        party = error.party if isinstance(error, TheirError) else ""
        report = Failed(session, type(error).__name__, party)
        if not isinstance(error, AbsenceError):
            self._error = error
        if isinstance(error, OurError):
            self.book = self.book.but(phase="left")
        await self._once(f"done/{session.hex()}", report)

    async def _report(self, running: Running, error: AbsenceError) -> None:
        session = running.sitting.session
        key = f"overdue/{session.hex()}/{error.party}"
        await self._once(key, Failed(session, type(error).__name__, error.party))

    async def _once(self, key: str, message: Message) -> None:
        """Tell the coordinator, though a process that comes after us finds out the same."""
        if await self.agent.do(self.agent.journal.note, key) is None:
            notes = {**self.book.notes(), key: b""}
            await self.agent.commit(Effect(notes, [(COORDINATOR, message)]))

    def _keep(self, before: Stage | None = None) -> None:
        """Keep the last result, if the coordinator went on to a later stage, or finished."""
        if self._last is None or self.course is None:
            return
        attempt, result = self._last
        if before is None or attempt.stage is not before:
            self.course.keep(attempt, result)
        self._last = None

    def _attempt_of(self, session: bytes) -> Attempt | None:
        assert self.course is not None
        study = self.course.desk.study
        attempts = (begin.attempt() for begin in self.book.begins)
        return next((one for one in attempts if one.session(study) == session), None)

    def _stop_error(self) -> SottovoceError:
        """What ended the study at this seat, in words that need no other line beside them."""
        match self.book.phase:
            case "withdrawn":
                return WithdrawnError(f"{self.agent.name}: this site takes no part in the study")
            case "left":
                return OurError(f"{self.agent.name}: this site left the study, and cannot go on")
            case "closed":
                return StoppedError("closed the study: its key is deleted", party=COORDINATOR)
        told = self.book.stopped[0]
        error = Stop(Stage(told.stage), told.attempt, told.kind, told.party).error()
        if told.kind == StoppedError.__name__:
            error.message = f"stopped the study: {told.reason}"
        elif told.kind in _TELLING and told.reason:
            error.message = f"the study was stopped in its {told.stage}: {told.reason}"
        elif told.reason:
            error.message = f"{error.message} ({told.reason})"
        return error

    @property
    def model(self) -> SealedModel | None:
        """The sealed model, at a peer that was in time."""
        return None if self.course is None else self.course.model

    @property
    def study(self) -> Study | None:
        """The study, once it is agreed on who takes part."""
        return None if self.course is None else self.course.desk.study


def _label(attempt: Attempt) -> tuple[str, int]:
    return str(attempt.stage), attempt.number


def _program(course: Course, attempt: Attempt, entropy: Entropy) -> Any:
    return course.program(attempt, entropy=entropy)
