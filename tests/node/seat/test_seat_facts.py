"""What a site's status says beside its phase: who runs, and what is left of the budget."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sottovoce.course.news import QueryPriced, StageBegan
from sottovoce.node.events import Enrolled, Event
from sottovoce.node.kept_facts import keep_alone, keep_totals, kept_alone, kept_joint, kept_totals
from sottovoce.node.site.seat_status import is_running, kept_status
from sottovoce.node.site.status_file import StatusFile
from sottovoce.study.totals import Totals


def status_after(folder: Path, *events: Event) -> StatusFile:
    file = StatusFile(folder, "study", "north", lambda _: None)
    for event in events:
        file(event)
    return file


def test_the_process_and_the_labels_left_are_written_down(tmp_path: Path) -> None:
    status_after(tmp_path, Enrolled("study", "north"), QueryPriced("study", "north", 7, 10, 100))
    kept = kept_status(tmp_path / "status.json", "study", "north")
    assert kept.process == os.getpid()
    assert kept.labels_left == 90
    assert is_running(kept)


def test_a_seat_that_starts_again_later_waits_for_nobody_to_join(tmp_path: Path) -> None:
    begun = StageBegan("study", "north", "training", 1, ("north",))
    status_after(tmp_path, Enrolled("study", "north", 99.0), begun)
    status_after(tmp_path, Enrolled("study", "north", 99.0))
    assert kept_status(tmp_path / "status.json", "study", "north").waits_for == ()


def test_a_process_that_ended_does_not_run(tmp_path: Path) -> None:
    status_after(tmp_path, Enrolled("study", "north"))
    kept = kept_status(tmp_path / "status.json", "study", "north")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    assert not is_running(replace(kept, process=ended.pid))
    assert not is_running(replace(kept, process=0))


def test_what_a_site_reaches_alone_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert kept_alone(tmp_path) is None
    keep_alone(tmp_path, 0.75)
    assert (kept_alone(tmp_path), kept_joint(tmp_path)) == (0.75, None)
    keep_alone(tmp_path, 0.75, joint=0.5)
    assert (kept_alone(tmp_path), kept_joint(tmp_path)) == (0.75, 0.5)
    (tmp_path / "alone.json").write_text("[]", encoding="utf-8")
    assert kept_alone(tmp_path) is None
    assert "left out" in caplog.text


def test_the_totals_of_a_study_are_kept(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert kept_totals(tmp_path) is None
    totals = Totals(160, (120, 40), ("north", "harbour", "valley"), absent=438)
    keep_totals(tmp_path, totals)
    assert kept_totals(tmp_path) == totals
    (tmp_path / "totals.json").write_text('["x"]', encoding="utf-8")
    assert kept_totals(tmp_path) is None
    assert "left out" in caplog.text
