"""Reports of failed commands: an error line and hints for people, one object for scripts."""

import sys
from contextvars import ContextVar
from typing import Any

import typer

from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen
from sottovoce.errors import SottovoceError, TheirError, WithdrawnError
from sottovoce.wire.printable import escaped
from sottovoce.wire.tags import kebab

OURS, USAGE, THEIRS, REFUSED, INTERRUPTED = 1, 2, 3, 4, 130
"""The exit codes of failures: a mistake at this site, a wrong option, another party's fault or "
"a stopped study, no consent, interrupted at the keyboard."""

# typer keeps the class of all wrong options to itself.
UsageError: type[Any] = typer.BadParameter.__bases__[0]

_asked: ContextVar[bool] = ContextVar("json was asked for", default=False)


def note_json(asked: bool) -> bool:
    """Remember that the command was asked for JSON, from wherever its option came."""
    _asked.set(asked)
    return asked


def wants_json() -> bool:
    """Whether the command was asked for JSON; if its options cannot be parsed, by its words."""
    return _asked.get() or "--json" in sys.argv[1:]


def code_of(error: SottovoceError) -> int:
    """The exit code for this error."""
    if isinstance(error, WithdrawnError):
        return REFUSED
    return THEIRS if isinstance(error, TheirError) else OURS


def tell(error: SottovoceError) -> int:
    """Report the error; return the exit code."""
    kind = kebab(type(error).__name__).removesuffix("-error")
    party = getattr(error, "party", "")
    return tell_words(str(error), error.hints, kind=kind, code=code_of(error), party=party)


def tell_code(code: int) -> int:
    """Report a command that ended by itself without a message; return the exit code."""
    if code == INTERRUPTED and not wants_json():
        screen.say("stopped", err=True)
    elif code in {INTERRUPTED, REFUSED} and wants_json():
        kind = "interrupted" if code == INTERRUPTED else "refused"
        return tell_words("stopped" if code == INTERRUPTED else "not done", kind=kind, code=code)
    return code


def tell_usage(error: Any) -> int:
    """Report which word or option of the command is wrong; return the exit code."""
    if error.format_message().startswith("Usage: "):
        # A group of commands without one of them: its help is the answer.
        error.show()
        return USAGE
    said = " ".join(error.format_message().split()).rstrip(".")
    path = error.ctx.command_path if error.ctx is not None else "sottovoce"
    message = said[:1].lower() + said[1:]
    return tell_words(message, (f"{path} --help",), kind="usage", code=USAGE)


def tell_words(
    message: str, hints: tuple[str, ...] = (), *, kind: str, code: int, party: str = ""
) -> int:
    """Print on standard error, so that standard output holds only what scripts read."""
    hints = tuple(map(placed, hints))
    if wants_json():
        fields: dict[str, Any] = {"kind": kind, "message": message, "hints": list(hints)}
        fields |= {"party": party, "exit_code": code}
        screen.say_json({"error": fields}, err=True)
        return code
    screen.say(escaped(f"error: {message}"), err=True, fg=typer.colors.RED)
    for hint in hints:
        screen.say(escaped(f"hint: {hint}"), err=True)
    return code
