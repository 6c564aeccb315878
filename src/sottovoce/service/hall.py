"""One study at its coordinator: its mailbox, its journal, its ledger, and its course."""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError
from sottovoce.keyfiles import storage
from sottovoce.ledger import Receipt, SiteLedger, What
from sottovoce.paillier import SecretKey
from sottovoce.roles.relay import Letter
from sottovoce.roles.roster import Participant, Roster
from sottovoce.roles.study import Study
from sottovoce.service.agent import Agent
from sottovoce.service.api import StudyDescribed, StudyStatus
from sottovoce.service.approval import OpenGate
from sottovoce.service.chairs import Effect, Waits
from sottovoce.service.clerk import Clerk, Surroundings
from sottovoce.service.conductor import Conditions, Conductor
from sottovoce.service.control import COORDINATOR, control_session
from sottovoce.service.deadlines import DECISION_STAGES
from sottovoce.service.events import (
    Enrolled,
    OnEvent,
    StudyClosed,
    StudyFinished,
    StudyStopped,
    Waiting,
)
from sottovoce.service.journal import Journal
from sottovoce.service.phases import Phase
from sottovoce.service.reasons import StopSignal
from sottovoce.service.receipts import kept_receipt
from sottovoce.service.registry import CANCEL, CLOSE, Registry, Ticket
from sottovoce.service.sealed_files import SealedFiles
from sottovoce.service.seat_keys import SeatKeys, key_path, study_key
from sottovoce.service.standing import (
    Standing,
    agreement_notes,
    kept_training,
    training_notes,
)
from sottovoce.service.study_book import StudyBook
from sottovoce.service.witness import LedgerWitness
from sottovoce.transport.limits import LONGEST_WAIT
from sottovoce.transport.mailbox import Mailbox

# How often the server looks whether a command left an order.
_LOOK_SECONDS = 1.0
# How old the times may be at which seats were seen last, as the disk has them.
_SEEN_SECONDS = 1.0
_OVER = frozenset({"trained", "stopped", "closed"})


class LocalPost:
    """The coordinator's own way to its mailboxes: it stands beside them."""

    def __init__(self, mailbox: Mailbox) -> None:
        """Use this study's mailbox."""
        self._mailbox = mailbox

    async def post(self, letter: Letter) -> int:
        """Leave a letter."""
        return await self._mailbox.post(letter)

    async def fetch(self, after: int, *, wait: float) -> Sequence[tuple[int, Letter]]:
        """The coordinator's own letters."""
        return await self._mailbox.letters(COORDINATOR, after=after, wait=wait)

    async def acknowledge(self, position: int) -> None:
        """These are on our disk."""
        await self._mailbox.acknowledge(COORDINATOR, position)


class Hall:
    """One study that this coordinator runs."""

    def __init__(
        self,
        registry: Registry,
        described: StudyDescribed,
        *,
        at_rest: bytes,
        entropy: Entropy,
        on_event: OnEvent,
    ) -> None:
        """Open everything of the study in the registry's folder."""
        self.registry = registry
        self.described = described
        self.publics = {one.name: one.public for one in registry.seats().values()}
        self.mailbox = Mailbox(registry.folder / "mailbox.db")
        self.phase = ""
        self._entropy = entropy
        self._on_event = on_event
        self._seen: dict[str, float] = {}
        self._opened = time.monotonic()
        self._seen_before = dict(registry.status(described).seen)
        self._enrolled = asyncio.Event()
        self._files = SealedFiles(registry.folder, at_rest)
        storage.make_folder(registry.folder / COORDINATOR)
        self._keys = SeatKeys.open(self._files, COORDINATOR, entropy=entropy)
        ledger = SiteLedger(registry.folder / COORDINATOR / "ledger.jsonl", self._keys.identity)
        self._witness = LedgerWitness(ledger, OpenGate(), study=registry.id)
        journal = Journal(
            registry.folder / COORDINATOR / "journal.db",
            key=self._files.key_for("journal coordinator"),
            entropy=entropy,
        )
        stage = described.deadlines.stage.total_seconds()
        self._stage_seconds = stage
        self.agent = Agent(
            COORDINATOR,
            registry.id,
            journal=journal,
            post=LocalPost(self.mailbox),
            witness=self._witness,
            control=lambda seat: control_session(registry.id, self.publics.get(seat, b"")),
            waits=Waits(stage, DECISION_STAGES * stage),
            on_event=on_event,
        )

    # What the front desk asks.

    def seen(self, seat: str) -> None:
        """A seat made a request."""
        self._seen[seat] = time.monotonic()

    async def enrol(self, seat: str, public: bytes, ticket: Ticket) -> None:
        """Pin a seat's identity: before there is a roster, or again after the training."""
        phase = self.conductor.book.phase if self._conducts else "enrolment"
        if phase == "trained":
            await self.conductor.followed.wait()
        again = phase == "trained" and seat in self.clerk.trained.peers
        if phase != "enrolment" and seat not in self.publics:
            raise InputError(
                f"study {self.registry.id}: expected seats before it began, found {seat!r} "
                "after that",
                hints=("ask the coordinator for another study",),
            )
        self.registry.enrol(seat, public, ticket, replacing=again or phase == "enrolment")
        known = self.publics.get(seat)
        if known != public:
            if known is not None:
                await self._void(seat, known)
            self.publics[seat] = public
            self._on_event(Enrolled(self.registry.id, seat))
            self._enrolled.set()
        if again:
            await self.clerk.reseat(seat, public)

    async def _void(self, seat: str, public: bytes) -> None:
        """What was under way with the key that a seat had before is over."""
        await self.agent.drop(control_session(self.registry.id, public))
        await self.mailbox.acknowledge(seat, 2**62)

    def status(self) -> StudyStatus:
        """How far the study is now."""
        book = self.conductor.book if self._conducts else None
        attempt = book.begins[-1] if book and book.begins else None
        stage = attempt.stage if attempt and book and book.phase == "training" else self.phase
        reason = book.stopped[0].reason if book and book.stopped else ""
        began = time.time() - time.monotonic()
        since = {name: began + when for name, when in self._seen.items()}
        return StudyStatus(
            self.registry.id,
            self.described.plan.name,
            stage or "enrolment",
            attempt.number if attempt else 0,
            tuple(self.publics),
            self._expected,
            reason,
            tuple((self._seen_before | since).items()),
        )

    async def receipt(self, seat: str) -> Receipt | None:
        """How long we were told that a seat's ledger is."""
        return await self.agent.do(kept_receipt, self.agent.journal, self.publics.get(seat, b""))

    @property
    def _expected(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.described.seats if one.name != COORDINATOR)

    # The course.

    async def run(self) -> None:
        """Run the study until cancelled."""
        key = None
        if StudyBook.read(self.agent.journal).phase not in {"stopped", "closed"}:
            # Once it is deleted, no other takes its place.
            plan, entropy = self.described.plan, self._entropy
            key = await asyncio.to_thread(study_key, self._files, plan, entropy=entropy)
        self._key = key
        if StudyBook.read(self.agent.journal).phase == "closed":
            await self._delete_key()
        conditions = Conditions(
            self.described,
            lambda: self.publics,
            self._study,
            self._unseen,
            self._silent,
            key,
            self.agent.waits.receive,
        )
        self.conductor = Conductor(self.agent, self._keys, conditions, entropy=self._entropy)
        self._conducts = True
        self.agent.chair = self.conductor
        await self._compact()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.agent.run())
            tasks.create_task(self._compact_later())
            course = tasks.create_task(self._course())
            tasks.create_task(self._look_for_orders(course))
            tasks.create_task(self._keep_seen())

    async def _course(self) -> None:
        conductor = self.conductor
        try:
            self._enter(conductor.book.phase)
            if conductor.book.phase == "enrolment":
                await self._wait_for_everybody()
            if conductor.book.phase in {"enrolment", "training"}:
                self._enter("training")
                course = await conductor.conduct()
                await conductor.finish({**agreement_notes(course), **training_notes(course)})
            if conductor.book.phase == "finished":
                await self._finish()
            if conductor.book.phase == "trained":
                self._enter("finished")
                await self._answer()
            if conductor.book.phase == "stopped":
                await self._clean()
        except StopSignal as signal:
            await self._stop(signal)
        except asyncio.CancelledError:
            if not self._obeying:
                raise
            asyncio.current_task().uncancel()  # type: ignore[union-attr]  # we run in one
            await self._obey()

    async def _wait_for_everybody(self) -> None:
        """Until every seat is taken, or the time is up and enough are."""
        until = await self._enrolment_ends()
        while missing := [one for one in self._expected if one not in self.publics]:
            self._on_event(
                Waiting(self.registry.id, COORDINATOR, "enrolment", tuple(missing), until)
            )
            self._enrolled.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(until - time.time()):
                    await self._enrolled.wait()
            if time.time() >= until:
                break

    async def _enrolment_ends(self) -> float:
        """The deadline of enrolment, which a restart does not move."""
        journal = self.agent.journal
        noted = await self.agent.do(journal.note, "enrolment/until")
        if noted is not None:
            return float(int.from_bytes(noted))
        until = int(time.time() + self.described.deadlines.enrolment.total_seconds()) + 1
        notes = {"enrolment/until": until.to_bytes(8)}
        await self.agent.do(lambda: journal.commit(notes=notes))
        return float(until)

    async def _finish(self) -> None:
        self._enter("finished")
        await self.agent.drained()
        await self.agent.do(self._witness.note, What.END, "the training ended, with a model")
        await self._forget()
        self.conductor.book = self.conductor.book.but(phase="trained")
        await self.agent.commit(Effect(self.conductor.book.notes()))
        self._on_event(StudyFinished(self.registry.id, COORDINATOR))

    async def _answer(self) -> None:
        """Answer queries until the study is closed."""
        await self._open_clerk()
        await self.clerk.serve()

    async def _open_clerk(self) -> None:
        roster, journal = self.conductor.book.seating[0].roster(), self.agent.journal
        study = self._study({one.name: one.public for one in roster.participants})
        standing = await self.agent.do(Standing.read, journal, study, self._keys)
        assert self._key is not None
        trained = await self.agent.do(kept_training, journal, study.plan, self._key)
        around = Surroundings(lambda: self.publics, self._unseen, self._stage_seconds)
        self.clerk = Clerk(self.agent, standing, trained, around)
        self.clerk.seating = self.conductor.book.seating[0]
        self.agent.chair = self.clerk
        self.conductor.followed.set()

    async def _stop(self, signal: StopSignal) -> None:
        await self.conductor.stop(signal)
        self._enter("stopped")
        await self.agent.do(self._witness.note, What.END, "the study ended without a model")
        told = f"{signal.reason}{signal.here}"
        self._on_event(StudyStopped(self.registry.id, COORDINATOR, told, signal.party))
        await self._clean()

    async def _clean(self) -> None:
        """Nothing of a stopped study stays, also where a crash came in between."""
        if await self.agent.do(self.agent.journal.note, "cleaned") is None:
            await self.agent.drained()
            await self._forget()
            await self._delete_key()
            await self.agent.commit(Effect({"cleaned": b""}))

    async def _forget(self) -> None:
        """Delete seeds, shares and masks of all sessions that are over; the ledger says so."""
        journal = self.agent.journal
        sessions = journal.sessions()
        for session in tuple(self.agent.running):
            await self.agent.drop(session)
        await self.agent.do(journal.forget, *sessions)
        for session in sessions:
            await self.mailbox.take(COORDINATOR, session)
        # What we were sent must not lie about in free pages of the file either.
        await self.mailbox.compact()
        await self.agent.settle_known()
        note = f"deleted seeds and steps of {len(sessions)} sessions"
        await self.agent.do(self._witness.note, What.DELETION, note)

    async def _look_for_orders(self, course: "asyncio.Task[None]") -> None:
        """Commands leave orders as files; whichever fits the study's phase is obeyed."""
        while not course.done():
            trained = self.conductor.book.phase == "trained"
            order = CLOSE if trained else CANCEL
            if self.conductor.book.phase != "closed" and self.registry.ordered(order) is not None:
                self._obeying = True
                course.cancel()
                return
            await asyncio.sleep(_LOOK_SECONDS)

    async def _obey(self) -> None:
        if self.conductor.book.phase != "trained":
            reason = self.registry.ordered(CANCEL) or "the coordinator cancelled the study"
            await self._stop(StopSignal("StoppedError", COORDINATOR, reason))
            return
        if not self.conductor.followed.is_set():
            # The order lay there before we began to answer.
            await self._open_clerk()
        await self.clerk.close()
        await self.agent.drained()
        await self._forget()
        self.conductor.book = self.conductor.book.but(phase="closed")
        await self.agent.commit(Effect(self.conductor.book.notes()))
        await self._delete_key()
        self._enter("closed")
        self._on_event(StudyClosed(self.registry.id, COORDINATOR))

    async def _delete_key(self) -> None:
        """Delete the key of a study that is closed, also where a crash came in between."""
        key = key_path(self._files)
        if key.exists():
            await self.agent.do(key.unlink)
            await self.agent.do(self._witness.note, What.DELETION, "deleted the Paillier key")

    async def _keep_seen(self) -> None:
        """Whoever asks for the status on this disk finds the attempt, and who was seen when."""
        written: dict[str, float] = {}
        while True:
            await asyncio.sleep(_SEEN_SECONDS)
            if self._seen != written:
                # Here and not in a thread: an older status must not come after a newer one.
                written = dict(self._seen)
                self.registry.write_status(self.status())

    def _enter(self, phase: str) -> None:
        # Whether the journal is deleted already is this process' business alone.
        self.phase = Phase.FINISHED if phase == "trained" else Phase(phase)
        self.registry.write_status(self.status())

    def _study(self, publics: Mapping[str, bytes]) -> Study:
        """The study of those who came, in the order of the text."""
        here = (one for one in self.described.seats if one.name in publics)
        participants = tuple(
            Participant(one.name, one.organisation, one.role, publics[one.name]) for one in here
        )
        return Study(self.described.plan, Roster(participants))

    def _unseen(self, seats: Collection[str]) -> set[str]:
        """Who made no request for longer than a waiting one lasts."""
        return self._unseen_for(poll_seconds(self._stage_seconds) * 2 + 1.0, seats)

    def _silent(self, seats: Collection[str]) -> set[str]:
        """Who made no request for a stage's time."""
        return self._unseen_for(max(self._stage_seconds, 1.0), seats)

    def _unseen_for(self, seconds: float, seats: Collection[str]) -> set[str]:
        # A server that has just begun has not waited for anybody yet.
        since = time.monotonic() - seconds
        return {one for one in seats if self._seen.get(one, self._opened) < since}

    async def _compact(self) -> None:
        """Once the training is over, leave no remains of letters that were taken or late since."""
        if self._conducts and self.conductor.book.phase in _OVER:
            journal = self.agent.journal
            for session in set(journal.sessions()) - set(journal.remembered()):
                await self.mailbox.take(COORDINATOR, session)
            await self.mailbox.compact()

    async def _compact_later(self) -> None:
        """When the training is over, and everybody had a stage's time to take its last letters."""
        while self.conductor.book.phase not in _OVER:  # noqa: ASYNC110 - it lasts days
            await asyncio.sleep(_LOOK_SECONDS)
        await asyncio.sleep(self._stage_seconds)
        await self._compact()

    async def close(self) -> None:
        """Let go of all files; the study goes on when it is opened again."""
        await self._compact()
        await self.agent.close()
        await self.mailbox.close()
        self._witness.ledger.close()

    conductor: Conductor
    clerk: Clerk
    _key: SecretKey | None
    _conducts = False
    _obeying = False


def poll_seconds(stage: float) -> float:
    """How long a seat's request for letters waits: shorter where stages are."""
    return min(LONGEST_WAIT, max(0.5, stage / 4))
