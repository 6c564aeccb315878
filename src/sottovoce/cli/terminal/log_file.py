"""A log file with timed lines, which a service manager can rotate."""

import json
import logging
import os
import time
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

import typer

from sottovoce.cli.hangups import at_hangup, release_hangups
from sottovoce.errors import InputError
from sottovoce.keyfiles import unix
from sottovoce.wire.printable import escaped

_MODE = 0o600


class LogLines(StrEnum):
    """The format of a log line."""

    TEXT = "text"
    JSON = "json"


LogFormat = Annotated[
    LogLines,
    typer.Option(
        "--log-format",
        help="Lines of the log: text, or one JSON object each.",
        case_sensitive=False,
    ),
]


def _without_log(path: Path | None) -> Path | None:
    """A command without a log ends at a hang-up, as others do."""
    if path is None:
        release_hangups()
    return path


LogPath = Annotated[
    Path | None,
    typer.Option(
        "--log",
        callback=_without_log,
        metavar="FILE",
        dir_okay=False,
        help="Append every line, with its time, to this file too; SIGHUP reopens it.",
    ),
]


def _object(words: str, severity: str = "INFO") -> str:
    """A line of a log as one object, its fields named as OpenTelemetry's log records are."""
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    return json.dumps({"timestamp": at, "severity_text": severity, "body": escaped(words)})


class _ObjectFormatter(logging.Formatter):
    """Warnings of the program in the same form."""

    def format(self, record: logging.LogRecord) -> str:
        return _object(record.getMessage(), record.levelname)


def stamped(line: str) -> str:
    """Words as one line of a log, with the time."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {escaped(line)}"


class LogFile:
    """Appends lines to a file that only its owner can read; after a rename it starts a new one."""

    def __init__(self, path: Path, lines: LogLines = LogLines.TEXT) -> None:
        self._path = path
        self._as_objects = lines is LogLines.JSON
        self._descriptor = self._opened()
        self._handler = logging.StreamHandler(self)
        self._handler.setFormatter(_ObjectFormatter() if self._as_objects else _formatter())
        self._deaf = at_hangup(self.reopen)

    def __enter__(self) -> Self:
        logging.getLogger("sottovoce").addHandler(self._handler)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("sottovoce").removeHandler(self._handler)
        self._deaf()
        os.close(self._descriptor)

    def line(self, text: str) -> None:
        """Append one line."""
        self.write((_object(text) if self._as_objects else stamped(text)) + "\n")

    def write(self, text: str) -> int:
        """Append text; on a full disk log lines are lost, and nothing else."""
        try:
            return os.write(self._descriptor, text.encode(errors="replace"))
        except OSError:
            return 0

    def reopen(self) -> None:
        """Continue in a new file if the old one was renamed."""
        try:
            opened = self._opened()
        except InputError:
            return
        # Under the same number: a hang-up may come between a line and its writing.
        os.dup2(opened, self._descriptor, inheritable=False)
        os.close(opened)

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | unix.CLOEXEC
        try:
            return os.open(self._path, flags, _MODE)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise InputError(
                f"{self._path}: cannot be written as a log ({reason})",
                hints=("name another file: --log FILE",),
            ) from None


def time_warnings() -> None:
    """Warnings on standard error carry their times too."""
    logger = logging.getLogger("sottovoce")
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_formatter())
        logger.addHandler(handler)


def _formatter() -> logging.Formatter:
    formatter = logging.Formatter("%(asctime)sZ %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    return formatter
