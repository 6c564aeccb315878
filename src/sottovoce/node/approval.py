"""A site's veto: a letter waits until a person or a script approves it.

After a refusal all seats of the site leave the study. The letter is not sent, and after it only the
notice that the site leaves. Approvals and refusals are written down first, so a restart asks about
none of them again.
"""

import subprocess
import threading
from concurrent.futures import CancelledError
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
    """An outgoing letter as a person sees it: everything but its content."""

    study: str
    stage: str
    kind: str
    recipient: str
    bytes: int
    digest: str
    seen_by: str
    reveals: str
    assuming: str


@dataclass
class LetterQuestion:
    """One letter that waits for its approval, until nobody waits for the answer any longer."""

    request: Request
    _given_up: bool = field(default=False, init=False, repr=False)
    _program: "subprocess.Popen[bytes] | None" = field(default=None, init=False, repr=False)
    # Either `give_up` knows the program, or the program is not started any more.
    _starting: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def start(self, command: Path) -> "subprocess.Popen[bytes]":
        """Run the program that answers, unless nobody waits for it any longer."""
        with self._starting:
            self.check_wanted()
            self._program = subprocess.Popen(  # noqa: S603 - the site's own command, without a shell
                [command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
            )
            return self._program

    def check_wanted(self) -> None:
        """Raise if nobody waits for the answer any longer."""
        if self._given_up:
            raise CancelledError

    def give_up(self) -> None:
        """End the program that answers, also one that is about to start."""
        with self._starting:
            self._given_up = True
            if self._program is not None:
                self._program.kill()


class Gate(Protocol):
    """Decides about one letter after the other, in its own time."""

    def ask(self, question: LetterQuestion) -> bool:
        """Whether the letter may leave."""


class OpenGate:
    """Approves every letter: the consent to the study card covers them all."""

    def ask(self, question: LetterQuestion) -> bool:
        """Yes."""
        del question
        return True


@dataclass(frozen=True)
class ScriptGate:
    """Asks a program of the site: JSON on its input; exit code 0 approves, 1 refuses."""

    command: Path
    seconds: float = SCRIPT_SECONDS

    def ask(self, question: LetterQuestion) -> bool:
        """The program's answer; any other exit code is an error, and nothing is sent."""
        try:
            with question.start(self.command) as running:
                try:
                    content = msgspec.json.encode(asdict(question.request))
                    running.communicate(content, timeout=self.seconds)
                finally:
                    running.kill()
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = getattr(error, "strerror", None) or f"no answer in {self.seconds:g} s"
            raise InputError(f"approval by {self.command}: {reason.lower()}") from None
        if running.returncode not in {_ALLOW, _REFUSE}:
            question.check_wanted()
            raise InputError(
                f"approval by {self.command}: expected exit code {_ALLOW} (approved) or {_REFUSE} "
                f"(refuse), found {running.returncode}"
            )
        return running.returncode == _ALLOW


class Gatekeeper:
    """Asks the gate about every letter of one seat, and writes the approvals down."""

    def __init__(self, gate: Gate, ledger: SiteLedger, *, study: str) -> None:
        self._gate = gate
        self._ledger = ledger
        self._study = study

    @property
    def asks(self) -> bool:
        """Whether anybody is asked."""
        return not isinstance(self._gate, OpenGate)

    def question(self, outgoing: Outgoing, *, stage: str) -> LetterQuestion:
        """The gate's question about a letter."""
        return LetterQuestion(_request(self._entry(outgoing, stage)))

    def lets_go(self, outgoing: Outgoing, *, stage: str, question: LetterQuestion) -> bool:
        """Whether this letter may leave; a refusal is final and is written down."""
        entry = self._entry(outgoing, stage)
        if self._ledger.has_left:
            return False
        if self._ledger.has(entry):
            return True
        if self._gate.ask(question):
            if self.asks:
                self._ledger.append(entry)
            return True
        note = f"{entry.kind} to {entry.party} was refused, and was not sent"
        self._ledger.append(Entry(self._study, LineKind.WITHDRAWAL, stage=stage, note=note))
        return False

    def _entry(self, outgoing: Outgoing, stage: str) -> Entry:
        return Entry.of_letter(
            LineKind.APPROVAL, outgoing.letter, study=self._study, stage=stage, kind=outgoing.kind
        )


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
