"""Approval of a site's outgoing messages: by nobody, a person, or a program of the site."""

import os
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.node.approval import Gate, LetterQuestion


class PersonGate:
    """Shows a person each outgoing message, and asks."""

    def __init__(self, watch: "Watch") -> None:
        """The progress bars of `watch` are hidden while it asks."""
        self._watch = watch

    def ask(self, question: "LetterQuestion") -> bool:
        """The person's answer; anything but yes refuses, and the site leaves the study."""
        from sottovoce.cli.consent import asked

        question.check_wanted()
        request = question.request
        self._watch.paused()
        screen.say(
            f"\n{request.stage}: {request.kind} to {request.recipient}, "
            f"{request.bytes:,} bytes (SHA-256 {request.digest[:16]}…)\n"
            f"  seen by: {request.seen_by}\n  reveals: {request.reveals}\n"
            f"  assuming: {request.assuming}",
            err=True,
        )
        try:
            return asked("Let it go?", yes=None)
        finally:
            self._watch.resumed()


def gate_name(approve: str | None) -> None:
    """Refuse a value that is neither `each` nor a program, before anything else is done."""
    if approve is None or approve == "each":
        return
    if not Path(approve).is_file():
        raise InputError(
            f"--approve: expected `each` or a program of this site, found {approve!r}",
            hints=("--approve each",),
        )
    if not os.access(approve, os.X_OK):
        raise InputError(
            f"--approve: expected a program, found {approve}, which cannot be run",
            hints=(f"chmod +x {quote(approve)}",),
        )


def gate_of(approve: str | None, watch: "Watch") -> "Gate":
    """Return the gate of outgoing messages: nobody, a person, or a program of the site."""
    from sottovoce.node.approval import OpenGate, ScriptGate

    gate_name(approve)
    if approve is None:
        return OpenGate()
    if approve == "each":
        return PersonGate(watch)
    return ScriptGate(Path(approve).absolute())
