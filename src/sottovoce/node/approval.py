"""A site's veto: a letter waits until a person or a script approves it.

After a refusal all seats of the site leave the study. The letter is not sent, and after it only the
notice that the site leaves. Approvals and refusals are written down first, so a restart asks about
none of them again.
"""

import subprocess
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from sottovoce.errors import InputError
from sottovoce.ledger import Entry, LineKind, SiteLedger
from sottovoce.ledger.entries import disclosed_by
from sottovoce.storage.records import Outgoing

SCRIPT_SECONDS = 24 * 3600
_ALLOW, _REFUSE = 0, 1


@dataclass(frozen=True)
class Request:
    """What a person sees of an outgoing letter: everything but its content."""

    study: str
    stage: str
    kind: str
    recipient: str
    bytes: int
    digest: str
    seen_by: str
    reveals: str
    assuming: str


class Gate(Protocol):
    """Decides about one letter after the other, in its own time."""

    def ask(self, request: Request) -> bool:
        """Whether the letter may leave."""


class OpenGate:
    """Approves every letter: the consent to the study card covers them all."""

    def ask(self, request: Request) -> bool:
        """Yes."""
        del request
        return True


@dataclass
class ScriptGate:
    """Asks a program of the site: JSON on its input; exit code 0 approves, 1 refuses."""

    command: Path
    seconds: float = SCRIPT_SECONDS
    _running: set["subprocess.Popen[bytes]"] = field(default_factory=set, init=False, repr=False)
    # A program that runs already must be known to `give_up`.
    _starting: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def ask(self, request: Request) -> bool:
        """The program's answer; any other exit code is an error, and nothing is sent."""
        try:
            with self._started() as running:
                try:
                    running.communicate(msgspec.json.encode(asdict(request)), timeout=self.seconds)
                finally:
                    running.kill()
                    self._running.discard(running)
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = getattr(error, "strerror", None) or f"no answer in {self.seconds:g} s"
            raise InputError(f"approval by {self.command}: {reason.lower()}") from None
        if running.returncode not in {_ALLOW, _REFUSE}:
            raise InputError(
                f"approval by {self.command}: expected exit code {_ALLOW} (approved) or {_REFUSE} "
                f"(refuse), found {running.returncode}"
            )
        return running.returncode == _ALLOW

    def _started(self) -> "subprocess.Popen[bytes]":
        with self._starting:
            running = subprocess.Popen(  # noqa: S603 - the site's own command, without a shell
                [self.command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
            self._running.add(running)
            return running

    def give_up(self) -> None:
        """End the program, because nobody waits for its answer any longer."""
        with self._starting:
            for running in tuple(self._running):
                running.kill()


class Gatekeeper:
    """Asks the gate about every letter of one seat, and writes the approvals down."""

    def __init__(self, gate: Gate, ledger: SiteLedger, *, study: str) -> None:
        """Ask this gate, and write to this ledger."""
        self._gate = gate
        self._ledger = ledger
        self._study = study

    @property
    def asks(self) -> bool:
        """Whether anybody is asked."""
        return not isinstance(self._gate, OpenGate)

    def give_up(self) -> None:
        """End a waiting question; a person's prompt stays open."""
        if isinstance(self._gate, ScriptGate):
            self._gate.give_up()

    def lets_go(self, outgoing: Outgoing, *, stage: str) -> bool:
        """Whether this letter may leave; a refusal is final and is written down."""
        letter = outgoing.letter
        entry = Entry.of_letter(
            LineKind.APPROVAL, letter, study=self._study, stage=stage, kind=outgoing.kind
        )
        if self._ledger.has_left:
            return False
        if self._ledger.has(entry):
            return True
        if self._gate.ask(_request(entry)):
            if self.asks:
                self._ledger.append(entry)
            return True
        note = f"{entry.kind} to {entry.party} was refused, and was not sent"
        self._ledger.append(Entry(self._study, LineKind.WITHDRAWAL, stage=stage, note=note))
        return False


def _request(entry: Entry) -> Request:
    tells = disclosed_by(entry.kind)
    return Request(
        entry.study,
        entry.stage,
        entry.kind,
        entry.party,
        entry.bytes,
        entry.digest,
        tells.seen_by,
        tells.reveals,
        tells.assuming,
    )
