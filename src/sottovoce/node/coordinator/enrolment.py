"""Answers the server's questions: who may enrol, whose key is whose, where letters go."""

import json
import time
from collections.abc import Collection, Mapping
from dataclasses import asdict

from sottovoce.course.control import COORDINATOR
from sottovoce.course.phases import Phase
from sottovoce.node.coordinator.study_runner import StudyRunner
from sottovoce.transport.answers import CODEC, Admitted
from sottovoce.transport.mailbox.mailbox import Mailbox
from sottovoce.transport.problems import Refusal


class Enrolment:
    """Answers the requests of a server with several studies."""

    def __init__(self, runners: Mapping[str, StudyRunner], failed: Collection[str] = ()) -> None:
        """Serve these studies; both mappings may grow while the server runs."""
        self._runners = runners
        self._failed = failed

    async def invitation(self, study: str, token: bytes) -> bytes:
        """The study's text, for the holder of an invitation."""
        runner = self._runner(study)
        runner.registry.admitted(token, now=time.time())
        return runner.registry.text.encode()

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        """Take a seat: the request is the token, and its signature proves the key."""
        runner = self._runner(study)
        ticket = runner.registry.admitted(request, now=time.time())
        await runner.enrol(seat, key, ticket)
        view = runner.view()
        waits = view.wait if view.phase is Phase.ENROLMENT else None
        return CODEC.encode(Admitted(int(waits.until) if waits else 0))

    async def describe(self, study: str, seat: str) -> bytes:
        """The study's text."""
        del seat
        return self._runner(study).registry.text.encode()

    async def status(self, study: str, seat: str) -> bytes:
        """The study's status and the receipt of this seat's ledger, as JSON."""
        runner = self._runner(study)
        receipt = await runner.receipt(seat)
        kept = None if receipt is None else receipt.encoded().decode()
        return json.dumps(asdict(runner.status()) | {"receipt": kept}).encode()

    def identity_of(self, study: str, seat: str) -> bytes | None:
        """The public identity of a seat that enrolled."""
        self._check(study)
        runner = self._runners.get(study)
        return None if runner is None else runner.publics.get(seat)

    def seen(self, study: str, seat: str, version: str) -> None:
        """Note that a seat made an authenticated request."""
        self._runner(study).seen(seat, version)

    async def lose(self, study: str, seat: str) -> None:
        """A seat cannot continue: tell its study, as if the seat had written."""
        await self._runner(study).lose(seat)

    def takes_letters(self, study: str, seat: str) -> bool:
        """Whether letters may be left for this seat."""
        runner = self._runners.get(study)
        return runner is not None and (seat == COORDINATOR or seat in runner.publics)

    def mailbox(self, study: str) -> Mailbox:
        """The mailbox of a study."""
        return self._runner(study).mailbox

    def _check(self, study: str) -> None:
        """The study; one that failed may be repaired, so its seats are asked to wait."""
        if study in self._failed:
            raise Refusal(
                503,
                "study-down",
                f"study {study!r}: its coordinator cannot run it at the moment",
                hints=("ask the coordinator what its server says; nothing is lost",),
            )

    def _runner(self, study: str) -> StudyRunner:
        self._check(study)
        runner = self._runners.get(study)
        if runner is None:
            raise Refusal(404, "no-study", f"no study {study!r} at this server")
        return runner
