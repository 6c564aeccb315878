"""Waiting for a boundary of a stage: what a coordinator told before it was killed counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.processes.machines import Machine, Village
from harness.processes.scenes import COORDINATOR, WHERE, Scene

ENDED = '{"event": "stage-ended", "stage": "training"}\n'


def village(root: Path) -> Village:
    forks = subprocess.Popen(["true"], text=True)
    forks.wait()
    made = Village(Scene(), root, forks)
    made.starts[COORDINATOR] = 2
    (root / f"{COORDINATOR}.1.jsonl").write_text('{"event": "serving"}\n')
    return made


def test_a_boundary_that_passed_before_the_kill_counts(tmp_path: Path) -> None:
    """Whoever looks late kills late: the next life never tells of it again."""
    place = village(tmp_path)
    (tmp_path / f"{COORDINATOR}.0.jsonl").write_text(ENDED)
    place.boundary("stage-ended", "training", seconds=1)
    with pytest.raises(AssertionError, match="no stage-ended dictionary"):
        place.boundary("stage-ended", "dictionary", seconds=0.05)


def test_a_machine_that_failed_ends_the_wait_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = village(tmp_path)
    log = tmp_path / "alice.0.jsonl"
    # We get the signal that asks where everybody is, too.
    monkeypatch.setattr(Machine, "signal", lambda machine, number: None)
    log.write_text('{"event": "result", "error": "AbsenceError", "message": "no answer"}\n')
    place.machines["alice"] = Machine("alice", os.getpid(), log)
    place.machines["bob"] = Machine("bob", os.getpid(), tmp_path / "bob.0.jsonl")
    for wait in (
        lambda: place.result("bob", seconds=60),
        lambda: place.boundary("stage-ended", "training", seconds=60),
    ):
        with pytest.raises(AssertionError, match=r"(?s)alice failed.*no answer"):
            wait()


def test_one_that_waits_in_vain_says_where_everybody_is(tmp_path: Path) -> None:
    place = village(tmp_path)
    script = (
        "import signal, sys, time\n"
        "def tell(*_): print('waits for bob', file=sys.stderr, flush=True)\n"
        f"signal.signal({int(WHERE)}, tell)\n"
        "print('ready', flush=True)\n"
        "time.sleep(60)\n"
    )
    log = tmp_path / "alice.0.jsonl"
    with (
        (tmp_path / "alice.0.jsonl.err").open("w") as errors,
        subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as alice,
    ):
        assert alice.stdout is not None
        assert alice.stdout.readline() == "ready\n"
        place.machines["alice"] = Machine("alice", alice.pid, log)
        with pytest.raises(AssertionError, match="== alice\nwaits for bob"):
            place.boundary("stage-ended", "training", seconds=0.05)
        alice.kill()
