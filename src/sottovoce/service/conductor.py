"""The coordinator's decisions: who sits, which stage begins, who is gone, when to stop.

    enrolment ──▶ roster ──▶ agreement ──▶ dictionary ──▶ training ──▶ finished
                    ▲            │             │              │
                    └── without ─┘             └─── again, ───┘──▶ stopped
                        who stays away             without who left

Every decision is on disk, together with the letters that tell it, before anybody hears of it. A
restarted coordinator reads them, runs its own programs again from the journal, and goes on.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.errors import (
    AbsenceError,
    InputError,
    JournalError,
    ReplayError,
    SottovoceError,
    TheirError,
)
from sottovoce.paillier import SecretKey
from sottovoce.protocols.messages import Message
from sottovoce.roles.attempts import Attempt, Stage, Stop
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import Trained
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.relay import Relay
from sottovoce.roles.roster import Role
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent, Effect, Running
from sottovoce.service.control import (
    COORDINATOR,
    AskedEvaluation,
    AskedQuery,
    Begin,
    Declined,
    Done,
    Failed,
    Finished,
    Gone,
    Leaving,
    RefusedQuery,
    Seating,
    Stopped,
)
from sottovoce.service.durable import Sitting
from sottovoce.service.events import AttemptFailed, StageBegan, StageEnded
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.study_book import Report, StudyBook

# A stage that came to nothing so often will not come to anything.
MOST_ATTEMPTS = 5
_DECLINED = "declined"
_FAULTS = ("ViolationError", "MalformedError")


class StopSignal(Exception):  # noqa: N818 - a decision, not a mistake
    """The study stops: why, for everybody to hear."""

    def __init__(self, kind: str, party: str, reason: str) -> None:
        """Keep the kind of failure, whose it was, and a sentence without content."""
        super().__init__(reason)
        self.kind, self.party, self.reason = kind, party, reason


class _Reseat(Exception):  # noqa: N818 - a decision
    """The table is laid anew, without who stays away."""


@dataclass(frozen=True)
class Conditions:
    """What a conductor is given: who enrolled, who was seen, the key, and how long it waits."""

    publics: Callable[[], Mapping[str, bytes]]
    study: Callable[[Mapping[str, bytes]], Study]
    unseen: Callable[[Collection[str]], set[str]]
    key: SecretKey | None = field(repr=False)
    patience: float


class Conductor:
    """The chair of the coordinator's own seat, and of the study."""

    def __init__(
        self, agent: Agent, keys: SeatKeys, conditions: Conditions, *, entropy: Entropy
    ) -> None:
        """Go on from what the coordinator's journal remembers."""
        self.agent = agent
        self.book = StudyBook.read(agent.journal)
        self.course: Course | None = None
        self._keys = keys
        self._given = conditions
        self._entropy = entropy
        self.changed = asyncio.Event()
        self.followed = asyncio.Event()
        self._ends: deque[Running] = deque()
        self._late: list[str] = []

    # What the agent tells.

    async def heard(self, sender: str, message: Message) -> Effect:
        """Write down what a seat reports; decisions are taken in `conduct`."""
        book = self.book
        match message:
            case Done(session, kept):
                report = Report(session, sender, "" if kept else "late", "")
            case Failed(session, kind, party):
                report = Report(session, sender, kind, party)
            case Declined() | Leaving():
                report = Report(b"", sender, _DECLINED, "")
            case AskedQuery() | AskedEvaluation():
                return await self._too_early(sender, message)
            case _:
                return Effect()
        self.book = book.but(reports=(*book.reports, report))
        return Effect(self.book.notes())

    async def _too_early(self, sender: str, message: Message) -> Effect:
        """A query before we answer any; it waits if the model is there already."""
        if self.book.phase not in {"finished", "trained"}:
            number = message.number if isinstance(message, AskedQuery) else 0
            return Effect({}, [(sender, RefusedQuery(number, 0, "there is no model yet"))])
        await self.followed.wait()
        return await self.agent.chair.heard(sender, message)

    def settled(self) -> None:
        """What came of a letter is on disk: go on."""
        self.changed.set()

    def ended(self, running: Running) -> None:
        """Our own program is at its end."""
        self._ends.append(running)
        self.changed.set()

    def overdue(self, running: Running, party: str) -> None:
        """Our own program waits too long for somebody."""
        del running
        self._late.append(party)
        self.changed.set()

    # The study.

    async def conduct(self) -> Course:
        """From the first roster to the trained model; raises `StopSignal`."""
        while True:
            try:
                if not self.book.seating:
                    await self._seat()
                self._sit()
                await self._catch_up()
                for stage in Stage:
                    await self._stage(stage)
            except _Reseat:
                await self._seat()
            else:
                assert self.course is not None
                return self.course

    async def _seat(self) -> None:
        """Propose a roster of everybody that enrolled and did not stay away since."""
        publics = {
            name: public
            for name, public in self._given.publics().items()
            if name not in self.book.gone
        }
        publics[COORDINATOR] = self._keys.identity.public
        try:
            study = self._given.study(publics)
            first = Attempt.first(study, Stage.AGREEMENT)
        except (InputError, AbsenceError) as error:
            raise StopSignal(type(error).__name__, "", error.message) from error
        for session in tuple(self.agent.running):
            await self.agent.drop(session)
        number = self.book.seating[0].number + 1 if self.book.seating else 1
        seating, begin = Seating.of(number, study.roster), Begin.of(number, first)
        self.book = self.book.but(phase="training", seating=(seating,), begins=(begin,))
        await self._tell(study.roster.names, seating, begin)

    def _sit(self) -> None:
        roster = self.book.seating[0].roster()
        study = self._given.study({one.name: one.public for one in roster.participants})
        first = Attempt.first(study, Stage.AGREEMENT)
        desk = Desk(study, self._keys.identity, self._entropy, self._keys.box, first)
        self.course = Course(desk, key=self._given.key)

    async def _catch_up(self) -> None:
        """Run attempts that are over again: what they kept, and what they may not do twice."""
        course = self._course
        begins = [one.attempt() for one in self.book.begins]
        for attempt, following in pairwise(begins):
            running = await self._run(attempt)
            if following.stage is not attempt.stage:
                course.keep(attempt, running.seat.result)
            else:
                await self.agent.drop(running.sitting.session)
        self._ends.clear()

    async def _stage(self, stage: Stage) -> None:
        """Try a stage until it succeeds, with those that are there."""
        last = self.book.begins[-1].attempt()
        if list(Stage).index(last.stage) > list(Stage).index(stage):
            return
        course = self._course
        if last.stage is stage:
            attempt = last
        else:
            attempt = self._first(stage)
            await self._announce(attempt)
        while True:
            began = time.monotonic()
            running = await self._run(attempt)
            missing = await self._outcome(attempt, running)
            if missing is None:
                break
            await self.agent.drop(running.sitting.session)
            attempt = await self._again(attempt, missing)
        course.keep(attempt, running.seat.result)
        seconds = time.monotonic() - began
        self.agent.tell_watcher(
            StageEnded(self.agent.study, COORDINATOR, stage, attempt.number, seconds)
        )

    def _first(self, stage: Stage) -> Attempt:
        course = self._course
        peers = [one for one in course.peers if one not in self.book.gone]
        try:
            return Attempt.first(course.desk.study, stage, peers=peers)
        except AbsenceError as error:
            raise StopSignal("AbsenceError", error.party, error.message) from error

    async def _announce(self, attempt: Attempt) -> None:
        begin = Begin.of(self.book.seating[0].number, attempt)
        self.book = self.book.but(begins=(*self.book.begins, begin))
        await self._tell(self._course.desk.study.roster.names, begin)

    async def _again(self, failed: Attempt, missing: Collection[str]) -> Attempt:
        course = self._course
        self.agent.tell_watcher(
            AttemptFailed(
                self.agent.study,
                COORDINATOR,
                failed.stage,
                failed.number,
                f"missing {', '.join(missing) or 'nobody'}",
                tuple(missing),
            )
        )
        if failed.number >= MOST_ATTEMPTS:
            raise StopSignal(
                "AbsenceError", "", f"the {failed.stage} came to nothing {MOST_ATTEMPTS} times"
            )
        self._mark_gone(missing)
        if failed.stage is Stage.AGREEMENT and all(
            one in course.desk.study.roster.peers for one in missing
        ):
            raise _Reseat
        try:
            attempt = course.following(failed, missing=missing)
        except AbsenceError as error:
            raise StopSignal("AbsenceError", error.party, error.message) from error
        await self._announce(attempt)
        return attempt

    async def _run(self, attempt: Attempt) -> Running:
        course, study = self._course, self._course.desk.study
        session = attempt.session(study)
        self._late.clear()
        sitting = Sitting(
            COORDINATOR,
            session,
            tuple(one for one in attempt.parties(study) if one != COORDINATOR),
            Relay(course.desk, course.agreement),
            course.codec(),
            head=f"{attempt.stage} {attempt.number} {','.join(attempt.peers)}".encode(),
        )
        self.agent.tell_watcher(
            StageBegan(self.agent.study, COORDINATOR, attempt.stage, attempt.number, attempt.peers)
        )
        label = (str(attempt.stage), attempt.number)
        return await self.agent.begin(sitting, partial(_program, course, attempt), label=label)

    async def _outcome(self, attempt: Attempt, running: Running) -> set[str] | None:
        """None when the attempt succeeded, else who is missing; raises where the study stops."""
        finished_at: float | None = None
        while True:
            self.changed.clear()
            left = await self._judge_reports(attempt, running)
            if left:
                return left
            if running.seat.failure is not None:
                return self._missing(attempt, running.seat.failure)
            if self._late:
                return self._missing(attempt, AbsenceError("silent", party=self._late.pop()))
            absent = self._reported_absent(running.sitting.session)
            if absent is not None:
                return self._missing(attempt, AbsenceError("reported", party=absent))
            seconds = None
            if running.seat.finished:
                finished_at = finished_at or time.monotonic()
                waited = self._unreported(attempt, running)
                seconds = finished_at + self._given.patience - time.monotonic()
                if not waited or seconds <= 0:
                    self._mark_gone(waited)
                    return None
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.changed.wait()

    async def _judge_reports(self, attempt: Attempt, running: Running) -> set[str]:
        """Stop for a violation; let those go that cannot or will not go on.

        Before a sum was agreed on, all begins anew without them (who is returned): what they
        sent so far is never unmasked. Afterwards their part is in the sum, and the rest goes on.
        """
        roster, session = self._course.desk.study.roster, running.sitting.session
        fresh: list[str] = []
        for one in self.book.reports:
            if (
                one.session not in {b"", session}
                or one.seat in self.book.gone
                or one.kind == "late"
            ):
                continue
            if one.kind in _FAULTS:
                own = one.party == one.seat
                reason = "sent what cannot be followed" if own else "refused what it was sent"
                raise StopSignal(one.kind, one.party or one.seat, f"{one.seat} {reason}")
            if one.kind and one.kind != "AbsenceError":
                if one.seat not in roster.peers:
                    raise StopSignal(one.kind, one.seat, f"{one.seat} cannot go on")
                fresh.append(one.seat)
        if fresh and attempt.stage is not Stage.AGREEMENT and self._opened(attempt):
            self._mark_gone(fresh)
            await self._tell(roster.names, Gone(session, tuple(fresh)))
            await self.agent.leave(session, fresh)
            return set()
        return set(fresh)

    def _opened(self, attempt: Attempt) -> bool:
        """Whether a sum of this stage was agreed on: we sign every set before all others do."""
        desk = self._course.desk
        spent = {name for digest, name in desk.book.spent if digest == desk.study.digest.hex()}
        return bool(spent & attempt.stage.opened_sums)

    def _reported_absent(self, session: bytes) -> str | None:
        reports = self.book.of(session).values()
        return next((one.party for one in reports if one.kind == "AbsenceError"), None)

    def _unreported(self, attempt: Attempt, running: Running) -> list[str]:
        """Who is in the result, or helped to it, and has not said yet that it finished."""
        here = self.book.of(running.sitting.session)
        match running.seat.result:
            case Prepared(totals):
                peers = totals.peers
            case Trained(peers=found):
                peers = found
            case _:
                peers = attempt.peers
        left_out = set(attempt.peers) - set(peers)
        return [
            one
            for one in attempt.parties(self._course.desk.study)
            if one not in {COORDINATOR, *here, *self.book.gone, *left_out}
        ]

    def _missing(self, attempt: Attempt, error: SottovoceError) -> set[str]:
        """Who is missing after a failure; other failures than absence stop the study."""
        if isinstance(error, JournalError | ReplayError):
            raise error
        if not isinstance(error, AbsenceError):
            party = error.party if isinstance(error, TheirError) else COORDINATOR
            raise StopSignal(type(error).__name__, party, error.message)
        parties = [one for one in attempt.parties(self._course.desk.study) if one != COORDINATOR]
        missing = self._given.unseen(parties) | (set(parties) & set(self.book.gone))
        return missing or ({error.party} & set(parties))

    def _mark_gone(self, names: Collection[str]) -> None:
        gone = (*self.book.gone, *(one for one in names if one not in self.book.gone))
        self.book = self.book.but(gone=gone)

    async def _tell(self, names: Collection[str], *messages: Message) -> None:
        """Put the book and letters to all others on disk, together."""
        letters = [(one, each) for one in names if one != COORDINATOR for each in messages]
        await self.agent.commit(Effect(self.book.notes(), letters))

    @property
    def _course(self) -> Course:
        assert self.course is not None
        return self.course

    # The end.

    async def finish(self, notes: Mapping[str, bytes]) -> None:
        """Everybody hears that the model is there; `notes` are what we keep of it."""
        trained = self._course.trained
        assert trained is not None
        self.book = self.book.but(phase="finished")
        names = [one for one in self._course.desk.study.roster.names if one != COORDINATOR]
        letters = [(one, Finished(trained.peers)) for one in names]
        await self.agent.commit(Effect({**self.book.notes(), **notes}, letters))

    async def stop(self, signal: StopSignal) -> None:
        """Everybody that enrolled hears that the study is over, and why."""
        last = self.book.begins[-1].attempt() if self.book.begins else None
        stage, number = (last.stage, last.number) if last else (Stage.AGREEMENT, 0)
        stopped = Stopped.of(Stop(stage, number, signal.kind, signal.party), signal.reason)
        for session in tuple(self.agent.running):
            await self.agent.drop(session)
        self.book = self.book.but(phase="stopped", stopped=(stopped,))
        await self._tell(tuple(self._given.publics()), stopped)

    def is_peer(self, name: str) -> bool:
        """Whether a seat of the roster is a peer's."""
        roster = self._course.desk.study.roster
        return any(one.name == name and one.role is Role.PEER for one in roster.participants)


def _program(course: Course, attempt: Attempt, entropy: Entropy) -> Any:
    return course.program(attempt, entropy=entropy)
