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
    SottovoceError,
)
from sottovoce.ledger import Seat
from sottovoce.paillier import SecretKey
from sottovoce.protocols.messages import Message
from sottovoce.roles.attempts import Attempt, Stage, Stop
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.relay import Relay
from sottovoce.roles.roster import Role
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent
from sottovoce.service.api import StudyDescribed
from sottovoce.service.chairs import Effect, Running
from sottovoce.service.complaints import ABSENCE, believed, complaints, judged
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
    LedgerHead,
    RefusedEvaluation,
    RefusedQuery,
    Rejoined,
    Seating,
    Stopped,
)
from sottovoce.service.durable import Sitting
from sottovoce.service.events import AttemptFailed, StageBegan, StageEnded
from sottovoce.service.judging import has_opened, leavers, missing_after, unreported
from sottovoce.service.opened_sums import OpenedSums
from sottovoce.service.reasons import (
    DECLINED,
    StopSignal,
    disputed,
    known_kind,
    no_attempt,
    no_table,
    waited,
)
from sottovoce.service.receipts import take_head
from sottovoce.service.seat_keys import SeatKeys
from sottovoce.service.study_book import LATE, Report, StudyBook

# A stage that came to nothing so often will not come to anything.
MOST_ATTEMPTS = 5
# How often a complaint is held against who was seen.
_LOOK_SECONDS = 0.5


class _Reseat(Exception):  # noqa: N818 - a decision
    """The table is laid anew, without who stays away."""


@dataclass(frozen=True)
class Conditions:
    """What a conductor is given: who enrolled, who was seen, the key, and how long it waits.

    `unseen` made no request lately, `silent` none for a stage's time.
    """

    described: StudyDescribed
    publics: Callable[[], Mapping[str, bytes]]
    study: Callable[[Mapping[str, bytes]], Study]
    unseen: Callable[[Collection[str]], set[str]]
    silent: Callable[[Collection[str]], set[str]]
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
        self._sums = OpenedSums.read(agent.journal)
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
                report = Report(session, sender, "" if kept else LATE, "")
            case Failed(session, kind, party):
                # All of it is told to others: names and kinds that exist, and no other words.
                named = party if party in {COORDINATOR, *self._given.publics()} else ""
                report = Report(session, sender, known_kind(kind), named)
            case Leaving() | Rejoined() if self.book.phase in {"finished", "trained"}:
                # It waited for us to start: who answers queries must hear it, and write it down.
                await self.followed.wait()
                return await self.agent.chair.heard(sender, message)
            case Declined() | Leaving():
                report = Report(b"", sender, DECLINED, "")
            case LedgerHead():
                return await self._remember(sender, message)
            case AskedQuery() | AskedEvaluation():
                return await self._too_early(sender, message)
            case _:
                return Effect()
        self.book = book.but(reports=(*book.reports, report))
        return Effect(self.book.notes())

    async def _remember(self, sender: str, head: LedgerHead) -> Effect:
        seat, study = Seat(sender, self._given.publics()[sender]), self.agent.study
        take = partial(take_head, self.agent.journal, self._keys.identity, head)
        return await self.agent.do(partial(take, seat=seat, study=study))

    async def _too_early(self, sender: str, message: Message) -> Effect:
        """A query before we answer any; it waits if the model is there already."""
        if self.book.phase not in {"finished", "trained"}:
            reason = "there is no model yet"
            refused: Message = RefusedEvaluation(0, 0, reason)
            if isinstance(message, AskedQuery):
                refused = RefusedQuery(message.number, 0, reason)
            return Effect({}, [(sender, refused)])
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
            described = self._given.described
            raise no_table(self.book, described.plan, described.seats, publics) from error
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
        book = self._sums.book
        desk = Desk(study, self._keys.identity, self._entropy, self._keys.box, first, book)
        self.course = Course(desk, key=self._given.key)

    async def _catch_up(self) -> None:
        """Run attempts again that are over, for what they left; nothing reaches them any more."""
        course = self._course
        begins = [one.attempt() for one in self.book.begins]
        for attempt, following in pairwise(begins):
            if following.stage is attempt.stage:
                # It failed; which sums were opened in it, the book of sums knows.
                await self.agent.drop(attempt.session(course.desk.study))
                continue
            running = await self.agent.recall(*self._sitting(attempt), label=_label(attempt))
            course.keep(attempt, running.seat.result)

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
            study, last = course.desk.study, Attempt(stage, 1, tuple(peers))
            raise no_attempt(self.book, study, last, missing=(), opened=False) from error

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
            reason = f"the {failed.stage} came to nothing {MOST_ATTEMPTS} times"
            raise StopSignal(ABSENCE, "", reason)
        self._mark_gone(missing)
        if failed.stage is Stage.AGREEMENT and all(
            one in course.desk.study.roster.peers for one in missing
        ):
            raise _Reseat
        try:
            attempt = course.following(failed, missing=missing)
        except AbsenceError as error:
            desk = course.desk
            opened = has_opened(desk, failed.stage)
            signal = no_attempt(self.book, desk.study, failed, missing=missing, opened=opened)
            if signal.kind == ABSENCE:
                signal.reason += f"; {waited(self.agent.waits)}"
            raise signal from error
        await self._announce(attempt)
        return attempt

    async def _run(self, attempt: Attempt) -> Running:
        self._late.clear()
        self.agent.tell_watcher(
            StageBegan(self.agent.study, COORDINATOR, attempt.stage, attempt.number, attempt.peers)
        )
        return await self.agent.begin(*self._sitting(attempt), label=_label(attempt))

    def _sitting(self, attempt: Attempt) -> tuple[Sitting, Callable[[Entropy], Any]]:
        """Where we sit in an attempt, and what we run there."""
        course, study = self._course, self._course.desk.study
        sitting = Sitting(
            COORDINATOR,
            attempt.session(study),
            tuple(one for one in attempt.parties(study) if one != COORDINATOR),
            Relay(course.desk, course.agreement),
            course.codec(),
            head=f"{attempt.stage} {attempt.number} {','.join(attempt.peers)}".encode(),
            sums=self._sums,
        )
        return sitting, partial(_program, course, attempt)

    async def _outcome(self, attempt: Attempt, running: Running) -> set[str] | None:
        """None when the attempt succeeded, else who is missing; raises where the study stops."""
        finished_at: float | None = None
        while True:
            self.changed.clear()
            left = await self._let_go(attempt, running)
            if left:
                return left
            if running.seat.failure is not None:
                return self._missing(attempt, running.seat.failure)
            if self._late:
                return self._in_vain(attempt, self._late.pop())
            told = complaints(self.book, self._course.desk.study, attempt)
            absent = believed(told, away=self._given.silent(tuple(told.values())))
            if absent:
                return absent
            seconds = _LOOK_SECONDS if told else None
            if running.seat.finished:
                finished_at = finished_at or time.monotonic()
                late = unreported(self.book, self._course.desk.study, attempt, running)
                left_seconds = finished_at + self._given.patience - time.monotonic()
                if not late or left_seconds <= 0:
                    for one in late:
                        here = one not in self._given.unseen(late)
                        self._mark_gone({one, *(self._judged(attempt, one) if here else ())})
                    return None
                seconds = min(left_seconds, seconds or left_seconds)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self.changed.wait()

    def _in_vain(self, attempt: Attempt, party: str) -> set[str]:
        """Who goes after our own program waited for one in vain.

        One that is there is not excused by whoever just happens to be away.
        """
        away = self._away(attempt)
        return away if party in away else self._judged(attempt, party)

    def _judged(self, attempt: Attempt, party: str) -> set[str]:
        """Who goes of those that were seen; the rule stands in `complaints`."""
        study = self._course.desk.study
        verdict = judged(complaints(self.book, study, attempt), study, waited=party)
        if verdict.disputed and not set(verdict.missing) <= set(study.roster.peers):
            raise disputed(verdict)
        return set(verdict.missing)

    async def _let_go(self, attempt: Attempt, running: Running) -> set[str]:
        """Let those go that cannot or will not go on.

        Before a sum was agreed on, all begins anew without them (who is returned): what they
        sent so far is never unmasked. Afterwards their part is in the sum, and the rest goes on.
        """
        study, session = self._course.desk.study, running.sitting.session
        fresh = leavers(self.book, study, session)
        if fresh and has_opened(self._course.desk, attempt.stage):
            self._mark_gone(fresh)
            await self._tell(study.roster.names, Gone(session, tuple(fresh)))
            await self.agent.leave(session, fresh)
            return set()
        return set(fresh)

    def _missing(self, attempt: Attempt, error: SottovoceError) -> set[str]:
        parties = [one for one in attempt.parties(self._course.desk.study) if one != COORDINATOR]
        return missing_after(error, parties, away=self._away(attempt))

    def _away(self, attempt: Attempt) -> set[str]:
        """Who of an attempt is not there."""
        parties = [one for one in attempt.parties(self._course.desk.study) if one != COORDINATOR]
        return set(parties) & (self._given.unseen(parties) | set(self.book.gone))

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


def _label(attempt: Attempt) -> tuple[str, int]:
    return str(attempt.stage), attempt.number


def _program(course: Course, attempt: Attempt, entropy: Entropy) -> Any:
    return course.program(attempt, entropy=entropy)
