"""The coordinator's side of the commands: make studies, invite people, and serve them all."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from sottovoce.config.study_file import parse_study
from sottovoce.course.control import COORDINATOR
from sottovoce.course.news import StudyStopped
from sottovoce.course.phases import OVER
from sottovoce.course.training.inputs import Order
from sottovoce.entropy import Entropy, SystemEntropy
from sottovoce.errors import InputError, SottovoceError, TheirError
from sottovoce.hints import ShellCommand
from sottovoce.keyfiles import storage, unix
from sottovoce.keyfiles.storage import SECRET_MODE
from sottovoce.node.api import ReadStudy
from sottovoce.node.coordinator.enrolment import Enrolment
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.node.coordinator.study_statuses import studies, study_folders
from sottovoce.node.events import Listening, OnEvent, StandingBy, unheard
from sottovoce.node.kept_facts import FactKeeper
from sottovoce.node.memberships import CoordinatorPlace, InvitationToken, StudyStatus
from sottovoce.node.seat.deciders import one_error
from sottovoce.transport.certificates import fingerprint_of, make_certificate, server_context
from sottovoce.transport.mailbox.mailbox_database import AWAY
from sottovoce.transport.problems import Refusal
from sottovoce.transport.server.server import build_app, serve

# Seconds between two looks for studies that were made while the server runs.
_LOOK_SECONDS = 1.0
# Seconds between two tries of a process that stands by.
_LOCK_SECONDS = 0.25
_LOCK = "serving.lock"
_CERTIFICATE, _KEY = "certificate.pem", "certificate.key"
_LARGEST = 2**16
# Every open study has files, threads and letters of its own.
MOST_STUDIES = 64
_log = logging.getLogger("sottovoce.coordinator")


def create_study(
    place: CoordinatorPlace,
    text: str,
    *,
    address: str = "",
    read: ReadStudy = parse_study,
    entropy: Entropy | None = None,
) -> tuple[InvitationToken, ...]:
    """Make a study, and a token for the invitation of every organisation in it."""
    described = read(text)
    entropy = entropy or SystemEntropy()
    open_ones = [study for study in studies(place, read=read) if study.phase not in OVER]
    if len(open_ones) >= MOST_STUDIES:
        raise InputError(
            f"studies: expected fewer than {MOST_STUDIES} open studies at one coordinator, found "
            f"{len(open_ones)}",
            hints=(
                ShellCommand("sottovoce study list"),
                ShellCommand("sottovoce study close STUDY"),
            ),
        )
    folder = place.folder / "studies"
    registry = Registry.create(folder, text, address=address, entropy=entropy)
    expires = time.time() + described.deadlines.enrolment.total_seconds()
    organisations = dict.fromkeys(
        seat.organisation for seat in described.seats if seat.name != COORDINATOR
    )
    tokens = tuple(
        registry.invite(described, organisation, expires=expires, entropy=entropy)
        for organisation in organisations
    )
    registry.write_status(registry.status(described))
    registry.opened(folder)
    return tokens


def invite_again(
    place: CoordinatorPlace,
    study: str,
    organisation: str,
    *,
    read: ReadStudy = parse_study,
    entropy: Entropy | None = None,
) -> InvitationToken:
    """Make a new token for an organisation that lost its invitation; the old one becomes void."""
    registry = registry_of(place, study)
    described = read(registry.text)
    expires = time.time() + described.deadlines.enrolment.total_seconds()
    return registry.invite(
        described, organisation, expires=expires, entropy=entropy or SystemEntropy()
    )


def certificate_fingerprint(place: CoordinatorPlace) -> bytes:
    """The fingerprint of the certificate, which invitations pin; it is made on first use."""
    path = place.folder / _CERTIFICATE
    if not path.exists():
        made = make_certificate("sottovoce coordinator", now=datetime.now(UTC))
        storage.write_whole(place.folder / _KEY, made.key, mode=storage.SECRET_MODE, replace=True)
        storage.write_whole(path, made.certificate, mode=storage.PUBLIC_MODE)
    storage.read_whole(place.folder / _KEY, limit=_LARGEST).check_private()
    return fingerprint_of(storage.read_whole(path, limit=_LARGEST).data)


def registries(place: CoordinatorPlace) -> list[Registry]:
    """Every study of this coordinator."""
    return [Registry(folder) for folder in study_folders(place)]


def registry_of(place: CoordinatorPlace, study: str) -> Registry:
    """One study of this coordinator."""
    for registry in registries(place):
        if registry.id == study:
            return registry
    known = ", ".join(registry.id for registry in registries(place)) or "none"
    raise InputError(
        f"study: expected one of this coordinator ({known}), found {study!r}",
        hints=(ShellCommand("sottovoce study list"),),
    )


def study_status(
    place: CoordinatorPlace, study: str, *, read: ReadStudy = parse_study
) -> StudyStatus:
    """The status of one study."""
    registry = registry_of(place, study)
    return registry.status(read(registry.text))


def cancel_study(place: CoordinatorPlace, study: str, *, reason: str) -> None:
    """Stop a study that is not finished; the server tells everybody when it next looks."""
    registry_of(place, study).order(Order.CANCEL, reason)


def close_study(place: CoordinatorPlace, study: str) -> None:
    """Delete the key of a finished study; no query is answered after that."""
    registry_of(place, study).order(Order.CLOSE)


async def run_coordinator(
    place: CoordinatorPlace,
    *,
    read: ReadStudy = parse_study,
    on_event: OnEvent = unheard,
    until: asyncio.Event | None = None,
    entropy: Entropy | None = None,
) -> None:
    """Serve all studies of this coordinator at one port, until stopped."""
    fingerprint = certificate_fingerprint(place)
    context = server_context(place.folder / _CERTIFICATE, place.folder / _KEY)
    runners: dict[str, StudyRunner] = {}
    opening = _Opening(place, runners, read, on_event, entropy or SystemEntropy())
    app = build_app(Enrolment(runners, opening.failed), fingerprint=fingerprint)
    server = await serve(app, host=place.host, port=place.port, context=context)
    try:
        with one_error():
            async with asyncio.TaskGroup() as tasks:
                opening.look(tasks)
                address = f"https://{place.host}:{server.port}"
                on_event(Listening(address, fingerprint, tuple(runners)))
                looking = tasks.create_task(opening.keep_looking(tasks))
                if until is not None:
                    await until.wait()
                    looking.cancel()
                    for running in opening.running:
                        running.cancel()
    finally:
        for runner in runners.values():
            runner.mailbox.hurry()
        await server.close()
        for runner in runners.values():
            await runner.close()


class _Opening:
    """Starts a runner for every study, including those made while the server runs."""

    def __init__(
        self,
        place: CoordinatorPlace,
        runners: dict[str, StudyRunner],
        read: ReadStudy,
        on_event: OnEvent,
        entropy: Entropy,
    ) -> None:
        self._place = place
        self._runners = runners
        self._read = read
        self._on_event = on_event
        self._entropy = entropy
        self.failed: set[str] = set()
        self.running: list[asyncio.Task[None]] = []

    def look(self, tasks: asyncio.TaskGroup) -> None:
        """Start the studies that do not run yet."""
        for registry in registries(self._place):
            if registry.id in self._runners or registry.id in self.failed:
                continue
            try:
                runner = StudyRunner(
                    registry,
                    self._read(registry.text),
                    at_rest=self._place.at_rest,
                    database=self._place.database,
                    entropy=self._entropy,
                    on_event=FactKeeper(registry.folder, self._on_event),
                )
            except Refusal as problem:
                if problem.kind != AWAY:
                    raise
                _log.warning("%s", problem.detail)
                continue  # the database is away: it is looked for again
            except Exception as error:  # noqa: BLE001 - one study's error must not end the others
                self._fails(registry.id, error)
                continue
            self._runners[registry.id] = runner
            self.running.append(tasks.create_task(self._run(runner)))

    async def _run(self, runner: StudyRunner) -> None:
        """Run a study; its failure does not end the others."""
        try:
            with one_error():
                await runner.run()
        except Exception as error:  # noqa: BLE001 - one study's error must not end the others
            self._fails(runner.registry.id, error)

    def _fails(self, study: str, error: Exception) -> None:
        """Report that a study failed; the server ends only if no study is left."""
        self.failed.add(study)
        if self.failed >= {registry.id for registry in registries(self._place)}:
            raise error
        # Our own error messages are safe to log; others may hold content or paths.
        known = isinstance(error, SottovoceError)
        words = error.message if isinstance(error, SottovoceError) else type(error).__name__
        party = error.party if isinstance(error, TheirError) else ""
        if not known:
            _log.error("study %s failed: %s", study, type(error).__name__)
        self._on_event(StudyStopped(study, COORDINATOR, words, party))

    async def keep_looking(self, tasks: asyncio.TaskGroup) -> None:
        """Look for new studies until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self.look(tasks)


@asynccontextmanager
async def serving_alone(
    place: CoordinatorPlace, *, stand_by: bool, on_event: OnEvent
) -> AsyncIterator[None]:
    """Hold the folder's lock as long as the block lasts; a process that stands by waits for it.

    The system lets go of a lock when its process ends, however it ends. The process that stood by
    then continues from the same journals, as the one that ended would have done.
    """
    flags = os.O_RDWR | os.O_CREAT | unix.CLOEXEC
    descriptor = os.open(place.folder / _LOCK, flags, SECRET_MODE)
    try:
        if not unix.lock_alone(descriptor):
            if not stand_by:
                raise InputError(
                    f"{place.folder}: another process serves it already",
                    hints=(ShellCommand("sottovoce serve --stand-by"),),
                )
            on_event(StandingBy(str(place.folder)))
            while not unix.lock_alone(descriptor):  # noqa: ASYNC110 - another process lets go
                await asyncio.sleep(_LOCK_SECONDS)
        yield
    finally:
        os.close(descriptor)
