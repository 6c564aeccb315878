"""The keys, connections, journals and ledgers of a site's seats in one study."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sottovoce.config.deadlines import LINE_STAGES
from sottovoce.config.study_file import StudyDescription
from sottovoce.course.control import control_session
from sottovoce.course.news import SeatWaiting
from sottovoce.entropy import Entropy
from sottovoce.errors import (
    InputError,
    JournalInUseError,
    LedgerInUseError,
    SottovoceError,
    WithdrawnError,
)
from sottovoce.keyfiles import storage
from sottovoce.ledger import LineKind, SiteLedger
from sottovoce.node.api import AskOptions
from sottovoce.node.course_terms import poll_seconds
from sottovoce.node.events import JournalDeleted
from sottovoce.node.kept_facts import FactKeeper
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.deciders import Waits
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.seat.retrying_line import LOST_SECONDS, RetryingLine
from sottovoce.node.seat.seat_runtime import SeatRuntime
from sottovoce.node.site.seat_status import is_withdrawn
from sottovoce.node.site.status_file import StatusFile
from sottovoce.protocols.identities import Identity
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys
from sottovoce.study.relay import largest_letter
from sottovoce.study.roster import Role
from sottovoce.transport.client import CoordinatorLine

MODEL = "model"
LONGEST_TEXT = 2**23
# A process that was just killed may still be ending when the next one starts.
ENDING_SECONDS = 5.0
# A site with a model asks in other processes, which may take long.
ASKING_SECONDS = math.inf
_LOOK_SECONDS = 0.1
IN_USE = (JournalInUseError, LedgerInUseError)
"""The errors of a seat that another process runs."""
# Seconds for which a seat that cannot continue tries to report it before it ends.
_LAST_SECONDS = 10.0


@dataclass(frozen=True)
class SiteStudy:
    """One site in one study, for any of its seats."""

    membership: Membership
    described: StudyDescription
    options: AskOptions
    entropy: Entropy = field(repr=False)

    @classmethod
    async def open(
        cls, membership: Membership, options: AskOptions, *, entropy: Entropy
    ) -> "SiteStudy":
        """Open the study: its text from the disk, or fetched with the invitation."""
        path = membership.folder / "study.toml"
        if not path.exists():
            text = await describe(membership)
            storage.write_whole(path, text.encode(), mode=storage.SECRET_MODE)
        text = storage.read_whole(path, limit=LONGEST_TEXT).data.decode()
        return cls(membership, options.read(text), options, entropy)

    @property
    def stage_seconds(self) -> float:
        """The seconds that a stage waits for a silent party."""
        return self.described.deadlines.stage.total_seconds()

    def folder(self, seat: str) -> Path:
        """A seat's folder."""
        return self.membership.folder / seat

    def keys(self, seat: str) -> SeatKeys:
        """A seat's keys; made on first use."""
        return SeatKeys.open(self._files, seat, entropy=self.entropy)

    @property
    def peer(self) -> str:
        """The seat of this site that holds text."""
        planned = {seat.name for seat in self.described.seats if seat.role == Role.PEER}
        for seat in self.membership.seats:
            if seat in planned:
                return seat
        raise InputError(
            f"study {self.membership.study!r}: expected a peer's seat at this site, found "
            f"{', '.join(self.membership.seats)}"
        )

    @asynccontextmanager
    async def agent(
        self, keys: SeatKeys, *, ending: float = ENDING_SECONDS
    ) -> AsyncIterator[tuple[SeatRuntime, LetterAudit, RetryingLine]]:
        """A seat's runtime, one process at a time; waits so long for the earlier process to end."""
        seat, study = keys.identity.name, self.membership.study
        ledger, journal = await self._opened(keys, ending)
        with ledger:
            audit = LetterAudit(ledger, self.options.gate, study=study)
            kept = FactKeeper(self.folder(seat), self.options.on_event)
            on_event = StatusFile(self.folder(seat), study, seat, kept)
            async with self._line(keys.identity, journal) as raw:
                retry_seconds = LINE_STAGES * self.stage_seconds
                line = RetryingLine(
                    raw, study=study, retry_seconds=retry_seconds, on_event=on_event
                )
                agent = SeatRuntime(
                    seat,
                    study,
                    journal=journal,
                    post=line,
                    audit=audit,
                    control=lambda _: control_session(study, keys.identity.public),
                    waits=Waits(self.stage_seconds, retry_seconds),
                    on_event=on_event,
                )
                agent.early.most_bytes = 2 * largest_letter(self.described.plan)
                agent.poll = poll_seconds(self.stage_seconds)
                agent.may_send = self.check_consent
                try:
                    yield agent, audit, line
                finally:
                    await agent.close()

    async def _opened(self, keys: SeatKeys, ending: float) -> tuple[SiteLedger, Journal]:
        """The seat's ledger and journal, once the earlier process has closed them."""
        until, seat = time.monotonic() + ending, keys.identity.name
        announced = False
        while True:
            try:
                return self.open_books(keys)
            except IN_USE as error:
                if time.monotonic() >= until:
                    reason = f"{error.message}; waited {ending:.0f} s for it to end"
                    raise type(error)(reason, hints=error.hints) from None
            if not announced:
                what = "another process of this site to end"
                wall = 0.0 if math.isinf(ending) else time.time() + ending
                self.options.on_event(SeatWaiting(self.membership.study, seat, what, (seat,), wall))
                announced = True
            await asyncio.sleep(_LOOK_SECONDS)

    def open_books(self, keys: SeatKeys) -> tuple[SiteLedger, Journal]:
        """Open the seat's ledger and journal, which one process uses at a time."""
        seat = keys.identity.name
        ledger = SiteLedger(self.folder(seat) / "ledger.jsonl", keys.identity)
        try:
            key = self._files.key_for(f"journal {seat}")
            journal = Journal(self.folder(seat) / "journal.db", key=key, entropy=self.entropy)
        except BaseException:
            ledger.close()
            raise
        return ledger, journal

    def check_consent(self) -> None:
        """Raise if this site withdrew, perhaps by another process."""
        if is_withdrawn(self.membership):
            raise WithdrawnError(f"study {self.membership.study!r}: this site withdrew from it")

    def _line(self, identity: Identity, journal: Journal) -> CoordinatorLine:
        return CoordinatorLine(
            self.membership.address,
            fingerprint=self.membership.fingerprint,
            study=self.membership.study,
            identity=identity,
            retry_seconds=LOST_SECONDS,
            past=journal.check_past,
            largest=largest_letter(self.described.plan),
        )

    async def lose(self, identity: Identity) -> None:
        """Try to tell the others that a seat cannot continue, so that they do not wait for it."""
        line = CoordinatorLine(
            self.membership.address,
            fingerprint=self.membership.fingerprint,
            study=self.membership.study,
            identity=identity,
            retry_seconds=_LAST_SECONDS,
        )
        with suppress(SottovoceError):
            async with line:
                await line.lose()

    @property
    def _files(self) -> SealedFiles:
        return SealedFiles(self.membership.folder, self.membership.at_rest)


async def describe(membership: Membership) -> str:
    """Fetch the study's text with an invitation; nothing else is sent."""
    nobody = Identity("invited", bytes(32))
    async with CoordinatorLine(
        membership.address,
        fingerprint=membership.fingerprint,
        study=membership.study,
        identity=nobody,
        retry_seconds=30.0,
    ) as line:
        return (await line.invitation(membership.token)).decode()


async def forget_sessions(
    agent: SeatRuntime, audit: LetterAudit, notes: Mapping[str, bytes] | None = None
) -> None:
    """Delete seeds, shares and masks of all sessions; the ledger records it.

    The notes go to disk in the same transaction: a crash leaves both or neither.
    """
    sessions = await agent.do(agent.journal.remembered)
    note = f"deletes seeds, shares and masks of {len(sessions)} sessions"
    await agent.do(audit.note, LineKind.DELETION, note)
    for session in sessions:
        await agent.drop(session)
    await agent.do(agent.journal.discard, *sessions)
    await agent.do(lambda: agent.journal.forget(*sessions, notes=notes or {}))
    await agent.settle_known()
    agent.tell_watcher(JournalDeleted(agent.study, agent.name))
