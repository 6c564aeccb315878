"""What commands show again later is kept as events pass by."""

from pathlib import Path

import numpy as np
import pytest

from sottovoce.course.news import StageEnded
from sottovoce.course.phases import Phase
from sottovoce.errors import DamagedFileError
from sottovoce.node.events import Enrolled, EvaluationHeld, Event, Moved, TotalsPublished
from sottovoce.node.kept_facts import FactKeeper, kept_costs, kept_evaluations, kept_totals
from sottovoce.node.site.seat_status import NAME, kept_status
from sottovoce.node.site.shown_card import kept_consent
from sottovoce.node.site.status_file import StatusFile
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.plan import StudyPlan
from sottovoce.study.totals import Totals
from sottovoce.text.labels import Labels


def evaluation(*peers: str) -> Evaluation:
    table = np.array([[40, 5], [6, 30]])
    return Evaluation.of(Labels(("routine", "urgent")), table, peers, fewest=3)


def held(kept: KeptEvaluation) -> EvaluationHeld:
    return EvaluationHeld("s", "north", ("north",), 0.9, kept.encode().decode())


def test_own_figures_make_room_for_the_joint_ones(tmp_path: Path) -> None:
    heard: list[Event] = []
    keeper = FactKeeper(tmp_path, heard.append)
    keeper(held(KeptEvaluation(1.0, evaluation("north"))))
    assert [evaluation.joint for evaluation in kept_evaluations(tmp_path)] == [None]
    keeper(held(KeptEvaluation(2.0, evaluation("north"), evaluation("north", "harbour"))))
    (only,) = kept_evaluations(tmp_path)
    assert only.joint is not None
    assert only.joint.peers == ("north", "harbour")
    keeper(held(KeptEvaluation(3.0, evaluation("north"))))
    assert [evaluation.at for evaluation in kept_evaluations(tmp_path)] == [2.0, 3.0]
    assert len(heard) == 3


def test_seconds_and_bytes_of_stages_add_up_over_attempts(tmp_path: Path) -> None:
    keeper = FactKeeper(tmp_path, lambda _: None)
    keeper(Moved("s", "north", "training", 3, 700))
    keeper(StageEnded("s", "north", "training", 1, 2.0))
    keeper(StageEnded("s", "north", "training", 2, 3.0))
    costs = kept_costs(tmp_path)
    assert costs.seconds == {"training": 5.0}
    assert costs.bytes == {"training": 700}


def test_what_the_first_sums_showed_is_kept(tmp_path: Path) -> None:
    plan = StudyPlan("study", Labels(("never", "routine", "urgent")), features=2_048)
    totals = Totals(960, (0, 900, 60), ("north", "harbour", "valley"), absent=438)
    event = TotalsPublished.of("s", "north", plan, totals)
    assert (event.words, event.by_class, event.joined) == (1_610, (0, 900, 60), False)
    others = StudyPlan("study", Labels(("never", "other", "urgent")), features=2_048, rare="other")
    assert TotalsPublished.of("s", "north", others, totals).joined
    FactKeeper(tmp_path, lambda _: None)(event)
    assert kept_totals(tmp_path) == totals


def test_nothing_kept_is_nothing_shown(tmp_path: Path) -> None:
    assert kept_evaluations(tmp_path) == ()
    assert kept_costs(tmp_path).seconds == {}
    assert kept_consent(tmp_path) is None


def test_a_damaged_consent_is_named(tmp_path: Path) -> None:
    (tmp_path / "consent.json").write_text("{")
    with pytest.raises(DamagedFileError, match=r"consent\.json"):
        kept_consent(tmp_path)


@pytest.mark.parametrize("damage", ["half", "folder"])
def test_a_damaged_informational_file_stops_no_study(tmp_path: Path, damage: str) -> None:
    """The files only tell people what was; a study that reads or writes one goes on without it."""
    heard: list[Event] = []
    keeper = FactKeeper(tmp_path, heard.append)
    keeper(held(KeptEvaluation(1.0, evaluation("north"), evaluation("north", "harbour"))))
    for name in ("costs.json", "evaluations/0001.json"):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if damage == "half":
            path.write_text('{"seconds": ')
        else:
            (path / "in the way").mkdir(parents=True)
    keeper(StageEnded("s", "north", "training", 1, 2.0))
    keeper(held(KeptEvaluation(2.0, evaluation("north"))))
    assert len(heard) == 3
    assert [evaluation.at for evaluation in kept_evaluations(tmp_path)] == [2.0]
    assert kept_costs(tmp_path).seconds == ({"training": 2.0} if damage == "half" else {})


@pytest.mark.parametrize("damage", ["{", "[]", '{"phase": "asleep"}', "\0"])
def test_a_damaged_status_is_said_and_written_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / NAME
    path.write_text(damage)
    damaged = kept_status(path, "s", "north")
    assert damaged.phase == Phase.INVITED
    assert "cannot be read" in damaged.reason
    StatusFile(tmp_path, "s", "north", lambda _: None)(Enrolled("s", "north"))
    assert kept_status(path, "s", "north").phase == Phase.ENROLMENT


def test_evaluations_that_cannot_be_kept_stop_no_study(tmp_path: Path) -> None:
    heard: list[Event] = []
    (tmp_path / "evaluations").write_text("a file in the way")
    FactKeeper(tmp_path, heard.append)(held(KeptEvaluation(1.0, evaluation("north"))))
    assert len(heard) == 1
