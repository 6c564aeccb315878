"""A site's folder from a backup, or a copy of it elsewhere, between processes over TLS.

The attack: a home was brought back from a backup and one document had been edited since. The seat
put the masks of before over other values, and a coordinator that only looked read the difference:
the words of that document. What the server's process reads here is written down before anybody
could refuse it. No two bodies must ever be of one place and differ.
"""

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.processes.forked import ReadBody
from harness.processes.machines import Village
from sottovoce.ledger import read_ledger

Founded = Callable[..., Village]
SITE, HOME, WAIT_SECONDS = "valley", "valley-hospital", 300.0


def until(happened: Callable[[], bool], place: Village) -> None:
    """Wait for something that a process does."""
    ends = time.monotonic() + WAIT_SECONDS
    while not happened():
        assert time.monotonic() < ends, "\n".join(
            machine.story() for machine in place.machines.values()
        )
        time.sleep(0.02)


@dataclass
class Backup:
    """A copy of a site's home, made before the keys of one stage left it."""

    place: Village
    stage: str
    folder: Path

    def made(self) -> None:
        """Let everybody join, copy the home, and go on until masked numbers have left it."""
        script, held, hold = (self.folder / name for name in ("approve", "held", "hold"))
        self.folder.mkdir()
        hold.touch()
        waits = f'touch "{held}"; while [ -e "{hold}" ]; do sleep 0.05; done'
        keys = f'*\'"stage":"{self.stage}","kind":"round-keys"\'*'
        script.write_text(f'#!/bin/sh\ncase "$(cat)" in {keys}) {waits};; esac\n')
        script.chmod(0o700)
        self.place.start("coordinator", "north", "harbour")
        self.place.start(SITE, approve=script)
        until(held.exists, self.place)
        shutil.copytree(self.place.root / HOME, self.folder / HOME)
        hold.unlink()

    def masked_left(self) -> bool:
        """Whether numbers under masks left the home in this stage."""
        lines = read_ledger(self.place.root / HOME / SITE / "ledger.jsonl")
        sent = {(line.stage, line.kind) for line in lines if line.what == "sent"}
        return (self.stage, "masked-parts") in sent and self._is_read()

    def _is_read(self) -> bool:
        return bool([body for body in self.place.bodies() if body.sender == SITE])

    def restored(self) -> None:
        """The disk is lost, and the copy takes its place."""
        shutil.rmtree(self.place.root / HOME)
        shutil.copytree(self.folder / HOME, self.place.root / HOME)


def check_one_body_a_place(bodies: list[ReadBody]) -> None:
    """No place has two bodies: nothing was ever under one mask twice."""
    first: dict[tuple[str, ...], str] = {}
    for body in bodies:
        assert first.setdefault((body.sender, *body.place), body.digest) == body.digest, body


def restore(founded: Founded, tmp_path: Path, dictionary: str, stage: str, *, edited: bool) -> None:
    place = founded(dictionary=dictionary, stage="5 minutes")
    backup = Backup(place, stage, tmp_path / "backup")
    backup.made()
    until(backup.masked_left, place)
    place[SITE].kill()
    backup.restored()
    before = len(place.bodies())
    place.start(SITE, edited=edited)
    result = place[SITE].result(seconds=WAIT_SECONDS)
    assert result["error"] in {"CopyError", "ReplayError", "JournalError"}
    assert "nothing was sent" in result["message"]
    bodies = place.bodies()
    assert not [body for body in bodies[before:] if body.sender == SITE]
    check_one_body_a_place(bodies)


def test_a_home_from_a_backup_with_an_edited_document_sends_nothing(
    founded: Founded, tmp_path: Path
) -> None:
    restore(founded, tmp_path, "given", "training", edited=True)


@pytest.mark.soak
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("stage", ["dictionary", "training"])
@pytest.mark.parametrize("dictionary", ["given", "hashed", "joint"])
def test_a_home_from_a_backup_sends_nothing(
    founded: Founded, tmp_path: Path, dictionary: str, stage: str, *, edited: bool
) -> None:
    restore(founded, tmp_path, dictionary, stage, edited=edited)


@pytest.mark.soak
@pytest.mark.parametrize("edited", [False, True])
@pytest.mark.parametrize("dictionary", ["given", "hashed", "joint"])
def test_of_a_home_and_its_copy_elsewhere_one_is_found_out(
    founded: Founded, tmp_path: Path, dictionary: str, *, edited: bool
) -> None:
    place = founded(dictionary=dictionary, stage="5 minutes")
    backup = Backup(place, "training", tmp_path / "backup")
    backup.made()
    original = place[SITE]
    place.start(SITE, edited=edited, root=backup.folder)
    results = [machine.result(seconds=WAIT_SECONDS) for machine in (original, place[SITE])]
    errors = [result["error"] for result in results if "error" in result]
    assert len(errors) >= 1
    assert set(errors) <= {"CopyError", "ReplayError", "JournalError", "StoppedError"}
    check_one_body_a_place(place.bodies())
    place.machines["original"] = original
