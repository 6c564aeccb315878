"""Copies of a site's folder: taken at a chosen letter, brought back, or run beside the original."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.processes.lives import KilledError
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.transport.server.bodies import BodyReader


@dataclass
class Copying:
    """Copies the folder of a seat's site before its first letter of a stage leaves.

    With `kills` the process ends once it has sent a letter that the copy does not know, with
    `kills_early` before the first such letter. Everything happens in the seat's own thread, so the
    copy is of one moment.
    """

    seat: str
    stage: str
    folder: Path
    backup: Path
    kills: bool = True
    kills_early: bool = False
    sent: list[int] = field(default_factory=list)
    known: int = 0
    dead: bool = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While the block runs."""
        real = LetterAudit.left

        def left(audit: LetterAudit, outgoing: Any, stage: str) -> None:
            if audit.ledger.seat.name == self.seat and not self.dead:
                self._leaves(outgoing.position, stage)
            real(audit, outgoing, stage)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LetterAudit, "left", left)
            yield

    def _leaves(self, position: int, stage: str) -> None:
        if not self.sent and stage != self.stage:
            return
        if not self.sent:
            shutil.copytree(self.folder, self.backup)
            self.known = _letters_made(self.backup / self.seat / "journal.db")
        elif self._is_time(position):
            self.dead = True
            raise KilledError
        self.sent.append(position)

    def _is_time(self, position: int) -> bool:
        next_is_new, last_was_new = position > self.known, self.sent[-1] > self.known
        return (self.kills and last_was_new) or (self.kills_early and next_is_new)

    def restore(self) -> None:
        """The disk is lost, and the copy takes its place."""
        shutil.rmtree(self.folder)
        shutil.copytree(self.backup, self.folder)


def _letters_made(journal: Path) -> int:
    """How many letters a journal has ever made; they are numbered, and no number comes twice."""
    database = sqlite3.connect(journal)
    try:
        (made,) = database.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"
        ).fetchone()
    finally:
        database.close()
    return int(made)


@contextmanager
def bodies_read() -> Iterator[list[bytes]]:
    """Every body that the server's process read while the block ran, empty ones left out."""
    read: list[bytes] = []
    real: Callable[..., Any] = BodyReader.read

    async def noted(bodies: BodyReader, request: Any, limit: int, digest: Any) -> bytes:
        body: bytes = await real(bodies, request, limit, digest)
        read.extend([body] if body else [])
        return body

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BodyReader, "read", noted)
        yield read
