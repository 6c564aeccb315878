"""A site's veto: a letter waits until a person or a script has seen what it is, and lets it go.

Whoever refuses leaves the study; nothing of the letter, and nothing after it, is sent. What
was let go is written down before it goes, so a crash does not ask twice.
"""

import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from sottovoce.errors import InputError
from sottovoce.ledger import Entry, SiteLedger, What
from sottovoce.ledger.entries import disclosed_by
from sottovoce.service.journal import Outgoing

SCRIPT_SECONDS = 24 * 3600
_ALLOW, _REFUSE = 0, 1


@dataclass(frozen=True)
class Request:
    """What a person is shown of a letter that wants to leave: everything but its content."""

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
    """Decides about one letter after the other; may take its time."""

    def ask(self, request: Request) -> bool:
        """Whether the letter may leave."""


class OpenGate:
    """Lets everything go: the consent to the study card stands for every letter."""

    def ask(self, request: Request) -> bool:
        """Yes."""
        del request
        return True


@dataclass(frozen=True)
class ScriptGate:
    """Asks a program of the site: JSON on its input, exit code 0 lets go, 1 refuses."""

    command: Path
    seconds: float = SCRIPT_SECONDS

    def ask(self, request: Request) -> bool:
        """What the program says; any other end of it is an error, and nothing is sent."""
        try:
            found = subprocess.run(  # noqa: S603 - the site's own command, without a shell
                [self.command],
                input=msgspec.json.encode(asdict(request)),
                stdout=subprocess.DEVNULL,
                timeout=self.seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            reason = getattr(error, "strerror", None) or f"no answer in {self.seconds:g} s"
            raise InputError(f"approval by {self.command}: {reason.lower()}") from None
        if found.returncode not in {_ALLOW, _REFUSE}:
            raise InputError(
                f"approval by {self.command}: expected exit code {_ALLOW} (let go) or {_REFUSE} "
                f"(refuse), found {found.returncode}"
            )
        return found.returncode == _ALLOW


class Gatekeeper:
    """Stands before the line of one seat: asks the gate, and writes down what was let go."""

    def __init__(self, gate: Gate, ledger: SiteLedger, *, study: str) -> None:
        """Ask this gate, and write to this ledger."""
        self._gate = gate
        self._ledger = ledger
        self._study = study

    def lets_go(self, outgoing: Outgoing, *, stage: str) -> bool:
        """Whether this letter may leave; a refusal is final, and is written down as leaving."""
        letter = outgoing.letter
        entry = Entry.of_letter(
            What.APPROVAL, letter, study=self._study, stage=stage, kind=outgoing.kind
        )
        if self._ledger.has(entry):
            return True
        if self._gate.ask(_request(entry)):
            if not isinstance(self._gate, OpenGate):
                self._ledger.append(entry)
            return True
        note = f"{entry.kind} to {entry.party} was refused, and was not sent"
        self._ledger.append(Entry(self._study, What.WITHDRAWAL, stage=stage, note=note))
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
