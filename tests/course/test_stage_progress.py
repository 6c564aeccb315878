"""How long a stage still takes, as every screen says it."""

from dataclasses import replace
from pathlib import Path

import pytest

from sottovoce.config.study_file import example, parse_study
from sottovoce.course.phases import Phase
from sottovoce.course.stage_progress import StageProgress, time_left
from sottovoce.node.coordinator.study_statuses import read_status, write_status
from sottovoce.node.events import Moved
from sottovoce.node.memberships import StudyStatus
from sottovoce.study.attempts import Stage
from sottovoce.study.card.stage_bytes import stage_bytes

MOVED = Moved("s", "coordinator", "training", 3, 250)


def test_bytes_say_how_long_until_steps_are_known() -> None:
    progress = StageProgress(100.0, expected=1000)
    assert progress.seconds_left(110.0) is None, "nothing moved yet"
    progress.note(MOVED, 110.0)
    assert (progress.share, progress.seconds_left(110.0)) == (0.25, 30.0)
    progress.note(replace(MOVED, steps_left=40), 120.0)
    assert progress.seconds_left(120.0) is None, "no step was made yet"
    progress.note(replace(MOVED, steps_left=30), 130.0)
    assert (progress.share, progress.seconds_left(130.0)) == (0.25, 30.0)
    progress.note(replace(MOVED, steps_left=0), 160.0)
    assert progress.seconds_left(160.0) == 0.0


def test_whoever_waits_for_others_says_nothing() -> None:
    progress = StageProgress(0.0, expected=200)
    progress.note(MOVED, 10.0)
    assert progress.share is None
    assert StageProgress(0.0).seconds_left(5.0) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "about 5 seconds left"),
        (31.0, "about 30 seconds left"),
        (55.0, "about 1 minute left"),
        (600.0, "about 10 minutes left"),
        (3600.0, "about 1 hour left"),
        (9000.0, "about 2 hours left"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_is(seconds: float, said: str) -> None:
    assert time_left(seconds) == said


def test_the_disk_keeps_how_far_a_stage_is(tmp_path: Path) -> None:
    (tmp_path / "seats").mkdir()
    status = StudyStatus(tmp_path.name, "name", Phase.TRAINING, 1, (), ("north",), "", ())
    write_status(tmp_path, replace(status, done=0.25, ends=1234.0))
    seats = read_status(tmp_path)
    assert seats is not None
    assert (seats.done, seats.ends) == (0.25, 1234.0)


def test_every_seat_of_a_quorum_has_bytes_in_the_stage_in_which_it_moves_them() -> None:
    study = parse_study(example().replace('features = "auto"', "features = 64")).rehearsed()
    moved = stage_bytes(study)
    contributions, training = str(Stage.CONTRIBUTIONS), str(Stage.TRAINING)
    for peer in study.roster.peers:
        assert moved[peer, contributions] > 0
        assert moved[peer, training] == 0, "a peer waits while members solve"
    first, *others = study.quorum.members
    assert 0 < moved[first, contributions] < min(moved[other, contributions] for other in others)
    assert moved["coordinator", str(Stage.DICTIONARY)] > 10**6
