"""One study at its coordinator: mailbox, journal, ledger and course."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

from sottovoce.config.study_file import StudyDescription
from sottovoce.course.control import CONTROL, COORDINATOR, Failed, control_session
from sottovoce.course.news import StageBegan, StageEnded, StudyStopped
from sottovoce.course.phases import OVER, STAGES, Phase, admits
from sottovoce.course.stage_progress import StageProgress
from sottovoce.course.training.inputs import Order, Ordered, SeatTaken, Seen, Started
from sottovoce.course.training.training_record import TrainingRecord
from sottovoce.course.training.training_state import TRAINING, Training
from sottovoce.course.view import CourseView, view_of
from sottovoce.entropy import Entropy
from sottovoce.errors import DamagedJournalError, InputError, LostSeatError
from sottovoce.keyfiles import storage
from sottovoce.ledger import LineKind, Receipt, SiteLedger
from sottovoce.node.approval import OpenGate
from sottovoce.node.coordinator.local_letters import LocalLetterSender, letters_of, once_back
from sottovoce.node.coordinator.query_coordinator import QueryConditions, QueryCoordinator
from sottovoce.node.coordinator.receipts import kept_receipt
from sottovoce.node.coordinator.registry import Registry, Ticket
from sottovoce.node.coordinator.training_coordinator import TrainingConditions, TrainingCoordinator
from sottovoce.node.course_terms import terms_of
from sottovoce.node.events import Enrolled, Event, Moved, OnEvent, SeatLost
from sottovoce.node.memberships import StudyStatus
from sottovoce.node.phone_words import in_words
from sottovoce.node.seat.after_training import (
    SHARE_OVER,
    AfterTraining,
    kept_training,
)
from sottovoce.node.seat.decider_carrier import read_record
from sottovoce.node.seat.deciders import Effect, Waits
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.paillier import SecretKey
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys, key_path, study_key
from sottovoce.study.card.stage_bytes import stage_bytes
from sottovoce.study.relay import largest_letter
from sottovoce.study.roster import Role
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.mailbox.mailbox_tables import Place

# Seconds between two looks for orders that a command left.
_LOOK_SECONDS = 1.0
# The times at which seats were last seen are written to disk this often, in seconds.
_SEEN_SECONDS = 1.0


class StudyRunner:
    """One study that this coordinator runs."""

    def __init__(
        self,
        registry: Registry,
        described: StudyDescription,
        *,
        at_rest: bytes,
        entropy: Entropy,
        on_event: OnEvent,
        database: str = "",
    ) -> None:
        """Open the study's files in the registry's folder, and its letters."""
        self.registry = registry
        self.described = described
        self.publics = {seat.name: seat.public for seat in registry.seats().values()}
        self.mailbox = Mailbox(letters_of(registry, database), largest=self._largest_letter)
        self.terms = terms_of(registry.id, described)
        self._waiting = Training(self.terms, TrainingRecord(), self.publics)
        self._entropy = entropy
        self._on_event = on_event
        self._expected = stage_bytes(described.rehearsed())
        self._progress: StageProgress | None = None
        kept = registry.status(described)
        self._seen_before = dict(kept.seen)
        self._versions = dict(kept.versions)
        self._files = SealedFiles(registry.folder, at_rest)
        storage.make_folder(registry.folder / COORDINATOR)
        self._keys = SeatKeys.open(self._files, COORDINATOR, entropy=entropy)
        ledger = SiteLedger(registry.folder / COORDINATOR / "ledger.jsonl", self._keys.identity)
        self._audit = LetterAudit(ledger, OpenGate(), study=registry.id)
        journal = Journal(
            registry.folder / COORDINATOR / "journal.db",
            key=self._files.key_for("journal coordinator"),
            entropy=entropy,
        )
        limits = self.terms.limits
        self._stage_seconds = limits.gather
        self.agent = SeatRuntime(
            COORDINATOR,
            registry.id,
            journal=journal,
            post=LocalLetterSender(self.mailbox, journal),
            audit=self._audit,
            control=lambda seat: control_session(registry.id, self.publics.get(seat, b"")),
            waits=Waits(limits.gather, limits.receive, people=limits.enrolment),
            on_event=self._watched,
        )
        self.agent.early.most_bytes = 2 * largest_letter(described.plan)

    def _largest_letter(self, place: Place) -> int:
        """The most bytes of a letter: control letters are small, the plan bounds the others."""
        seat = place.recipient if place.sender == COORDINATOR else place.sender
        if place.session == control_session(self.registry.id, self.publics.get(seat, b"")):
            return CONTROL.limit
        return largest_letter(self.described.plan)

    # Called by the server.

    def seen(self, seat: str, version: str) -> None:
        """Note that a seat made a request, with this version of the program."""
        self._versions[seat] = version
        if self._trains:
            self.training.see(Seen(seat))
            if self.training.followed.is_set():
                self.queries.tell(Seen(seat))
        else:
            self._seen_before[seat] = time.time()

    async def lose(self, seat: str) -> None:
        """A seat lost what it needs to continue; reported once during the training."""
        kind = DamagedJournalError.__name__
        if not self._trains:
            return
        if self.training.state.phase is Phase.FINISHED:
            await self._let_go(seat, "its journal is damaged")
        if self.training.state.phase not in STAGES:
            return
        if kind not in {
            report.kind for report in self.training.state.record.reports if report.seat == seat
        }:
            await self.training.hear(seat, Failed(b"", kind, seat), {})

    async def enrol(self, seat: str, public: bytes, ticket: Ticket) -> None:
        """Pin a seat's identity, before there is a roster or again after the training."""
        phase = self.training.state.phase if self._trains else Phase.ENROLMENT
        if phase is Phase.FINISHED:
            await self.training.followed.wait()
        again = phase is Phase.FINISHED and seat in self.queries.trained.peers
        if not admits(phase, enrolled=seat in self.publics):
            raise InputError(
                f"study {self.registry.id}: it has begun, and {seat!r} cannot enrol any more",
                hints=("ask the coordinator for another study",),
            )
        enrolling = phase is Phase.ENROLMENT
        try:
            self.registry.enrol(seat, public, ticket, replacing=again or enrolling)
        except LostSeatError:
            if phase is Phase.FINISHED:
                await self._let_go(seat, "its disk was lost")
            raise
        known = self.publics.get(seat)
        if known != public:
            if known is not None:
                await self._void(seat, known)
            self.publics[seat] = public
            self._on_event(Enrolled(self.registry.id, seat))
        if self._trains:
            # Also if it asks again: perhaps we crashed before our answer reached it.
            await self.training.take(SeatTaken(seat, public))
        if again:
            await self.queries.reseat(seat, public)

    async def _let_go(self, seat: str, reason: str) -> None:
        """After the training: no query waits for this seat until it is seen again."""
        await self.training.followed.wait()
        await self.queries.lose(seat)
        self._on_event(SeatLost(self.registry.id, seat, reason))

    async def _void(self, seat: str, public: bytes) -> None:
        """End the conversations that a seat had under its earlier key."""
        await self.agent.drop(control_session(self.registry.id, public))
        await self.mailbox.acknowledge(seat, 2**62)
        await self.mailbox.forget_sender(seat)

    def _watched(self, event: Event) -> None:
        """Keep how far our own part of the stage is, for whoever asks how long it takes."""
        match event:
            case StageBegan(_, seat, stage):
                self._progress = StageProgress(time.time(), self._expected.get((seat, stage), 0))
            case Moved() if self._progress is not None:
                self._progress.note(event, time.time())
            case StageEnded() | StudyStopped():
                self._progress = None
        self._on_event(event)

    def view(self) -> CourseView:
        """The study's current phase, and who is waited for until when."""
        state = self.training.state if self._trains else self._waiting
        return view_of(state)

    async def views(self) -> AsyncIterator[CourseView]:
        """The current view, and a new one after every change: a read-only subscription."""
        last: CourseView | None = None
        async for state in self.training.states():
            view = view_of(state)
            if view != last:
                yield view
            last = view

    def status(self) -> StudyStatus:
        """The study's current status."""
        view = self.view()
        seen = {seat.name: seat.seen for seat in view.seats if seat.seen is not None}
        wait, progress, now = view.wait, self._progress, time.time()
        left = progress.seconds_left(now) if progress is not None else None
        return StudyStatus(
            self.registry.id,
            view.name,
            view.phase,
            view.attempt,
            tuple(self.publics),
            tuple(seat.name for seat in view.seats),
            view.reason,
            tuple((self._seen_before | seen).items()),
            waits_for=wait.whom if wait else (),
            waits_what=wait.what if wait else "",
            waits_until=wait.until if wait else 0.0,
            words=in_words(view.fingerprint) if view.fingerprint else (),
            reported=tuple((seat.name, seat.reported) for seat in view.seats if seat.reported),
            versions=tuple(self._versions.items()),
            done=round(progress.share or 0.0, 3) if progress is not None else 0.0,
            ends=round(now + left) if left is not None else 0.0,
        )

    async def receipt(self, seat: str) -> Receipt | None:
        """The receipt of a seat's ledger."""
        return await self.agent.do(kept_receipt, self.agent.journal, self.publics.get(seat, b""))

    # The course.

    async def run(self) -> None:
        """Run the study until cancelled."""
        record = read_record(self.agent.journal, TRAINING, TrainingRecord)
        key, keyless = None, any(seat.role is Role.MEMBER for seat in self.terms.seats)
        if record.phase not in OVER and not keyless:
            # After its deletion no new key is made.
            plan, entropy = self.described.plan, self._entropy
            key = await asyncio.to_thread(study_key, self._files, plan, entropy=entropy)
        self._key = key
        conditions = TrainingConditions(self.terms, self.publics, key, self._clean_up)
        self.training = TrainingCoordinator(
            self.agent, self._keys, conditions, entropy=self._entropy
        )
        self.agent.decider = self.training
        opened = frozenset(self.training.sums.book.spent)
        await self.training.take(Started(opened))
        self._trains = True
        for seat, public in tuple(self.publics.items()):
            # Seats that enrolled while the key was made or read.
            if self.training.state.publics.get(seat) != public:
                await self.training.take(SeatTaken(seat, public))
        await self._compact()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.agent.run())
            tasks.create_task(self.training.run())
            tasks.create_task(self._compact_later())
            answering = tasks.create_task(self._answer())
            tasks.create_task(self._look_for_orders(answering))
            tasks.create_task(self._keep_status())

    async def _answer(self) -> None:
        """Answer queries once there is a model, until the study is closed."""
        await self.training.serving.wait()
        await self._open_queries()
        await self.queries.serve()

    async def _open_queries(self) -> None:
        roster, journal = self.training.state.record.seating[0].roster(), self.agent.journal
        study = self.terms.seated(
            {participant.name: participant.public for participant in roster.participants}
        )
        standing = await self.agent.do(AfterTraining.read, journal, study, self._keys)
        trained = await self.agent.do(kept_training, journal, study, self._key)
        training = self.training.state
        around = QueryConditions(
            training.record.seating[0], lambda: self.publics, training.seen, self.terms.limits
        )
        self.queries = QueryCoordinator(self.agent, standing, trained, around)
        self.agent.decider = self.queries
        self.training.followed.set()

    async def _clean_up(self) -> None:
        """Delete what must not stay after the end; repeated after a crash."""
        await self.agent.drained()
        match self.training.state.phase:
            case Phase.FINISHED:
                await self._note_end("the training ended, with a model")
                await self._forget()
            case Phase.STOPPED:
                await self._note_end("the study ended without a model")
                await self._forget()
                await self._delete_key()
            case Phase.CLOSED:
                await self._forget()
                await self.agent.commit(Effect(SHARE_OVER))
                await self._delete_key()

    async def _note_end(self, note: str) -> None:
        await self.agent.do(self._audit.note, LineKind.END, note)

    async def _forget(self) -> None:
        """Delete seeds, shares and masks of all finished sessions; the ledger records it."""
        journal = self.agent.journal
        sessions = journal.sessions()
        for session in tuple(self.agent.running):
            await self.agent.drop(session)
        await self.agent.do(journal.forget, *sessions)
        for session in sessions:
            await once_back(partial(self.mailbox.take, COORDINATOR, session))
        # Received letters must not stay in free pages of the file either.
        await once_back(self.mailbox.compact)
        await self.agent.settle_known()
        note = f"deleted seeds and steps of {len(sessions)} sessions"
        await self.agent.do(self._audit.note, LineKind.DELETION, note)

    async def _look_for_orders(self, answering: "asyncio.Task[None]") -> None:
        """Read the orders that commands left as files; follow the one that fits the phase."""
        while (phase := self.training.state.phase) not in OVER:
            order = Order.CLOSE if phase is Phase.FINISHED else Order.CANCEL
            reason = self.registry.ordered(order)
            ready = phase is not Phase.FINISHED or self.training.followed.is_set()
            if reason is not None and ready:
                if order is Order.CLOSE:
                    answering.cancel()
                await self.training.take(Ordered(order, reason))
                self.agent.decider = self.training
            await asyncio.sleep(_LOOK_SECONDS)

    async def _delete_key(self) -> None:
        """Delete the key of a closed study; repeated after a crash."""
        key = key_path(self._files)
        if key.exists():
            await self.agent.do(self._files.erase, key)
            await self.agent.do(self._audit.note, LineKind.DELETION, "deleted the Paillier key")

    async def _keep_status(self) -> None:
        """Keep the status file up to date: the phase, and when each seat was seen."""
        written: StudyStatus | None = None
        try:
            async for _ in self.training.states():
                status = self.status()
                if written is not None and _lasting(status) == _lasting(written):
                    # Who was seen and how far a stage is: now and then; all else at once.
                    await asyncio.sleep(_SEEN_SECONDS)
                    status = self.status()
                if status != written:
                    # Here and not in a thread: an older status must not replace a newer one.
                    self.registry.write_status(status)
                    written = status
        finally:
            # A server that ends during the wait above still writes the last status.
            if self.status() != written:
                self.registry.write_status(self.status())

    async def _compact(self) -> None:
        """After the training, erase the remains of letters that were taken or came late."""
        if self._trains and self._is_over:
            journal = self.agent.journal
            for session in set(journal.sessions()) - set(journal.remembered()):
                await once_back(partial(self.mailbox.take, COORDINATOR, session))
            await once_back(self.mailbox.compact)

    async def _compact_later(self) -> None:
        """Compact after the training, once everybody had a stage's time for its last letters."""
        while not self._is_over:  # noqa: ASYNC110 - this can last for days
            await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.sleep(self._stage_seconds)
        await self._compact()

    @property
    def _is_over(self) -> bool:
        """Whether the training is over and its secrets are deleted."""
        record = self.training.state.record
        return record.phase in OVER or (record.phase is Phase.FINISHED and record.cleaned)

    async def close(self) -> None:
        """Close all files; the study continues when it is opened again."""
        await self._compact()
        await self.agent.close()
        await self.mailbox.close()
        self._audit.ledger.close()

    training: TrainingCoordinator
    queries: QueryCoordinator
    _key: SecretKey | None
    _trains = False


def _lasting(status: StudyStatus) -> StudyStatus:
    """A status without what changes from second to second."""
    return replace(status, seen=(), done=0.0, ends=0.0)
