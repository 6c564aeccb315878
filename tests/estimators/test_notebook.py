"""What a notebook shows of a federation, a study, a model and an evaluation is short and useful."""

import re
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sottovoce import LocalFederation, TextClassifier
from sottovoce.datasets import clinical_notes
from sottovoce.errors import MisuseError
from sottovoce.estimators.progress import FitProgress
from sottovoce.study import InsecureToyPlan


class Toy(TextClassifier):
    _plan_type: ClassVar[Any] = InsecureToyPlan


@pytest.fixture(scope="module")
def federation() -> LocalFederation:
    notes = clinical_notes(360, sites=["north", "harbour", "stanmore"], random_state=3)
    return LocalFederation({site: notes.at(site).documents("urgency") for site in notes.sites})


@pytest.fixture(scope="module")
def model(federation: LocalFederation) -> Toy:
    return Toy(features=48, key_bits=768, alpha=(0.5, 2.0), query_budget=4000).fit(federation)


def test_a_study_prints_as_a_line_not_as_a_book(model: Toy) -> None:
    assert len(repr(model.study_)) < 300
    assert "north, harbour, stanmore hold a sealed model of 49 columns" in repr(model.study_)
    assert "peers with a model" in model.study_._repr_html_()


def test_a_federation_shows_its_peers(federation: LocalFederation) -> None:
    shown = federation._repr_html_()
    assert "<table" in shown
    assert "urgent: " in shown
    assert "harbour" in shown


def test_which_penalty_was_chosen_is_known(model: Toy) -> None:
    assert model.alpha_ in {0.5, 2.0}


def test_own_figures_come_before_and_after_the_joint_ones(model: Toy) -> None:
    joint = model.evaluate()
    own = [model.evaluate(peer=peer) for peer in ("north", "harbour")]
    assert joint.peers == ("north", "harbour", "stanmore")
    assert [evaluation.peers for evaluation in own] == [("north",), ("harbour",)]


def test_alone_joint_and_pooled_are_compared_on_the_same_documents(model: Toy) -> None:
    result = model.compare_alone()
    assert set(result.alone) == {"north", "harbour", "stanmore"}
    assert 0.5 < result.joint <= 1
    assert "all, sealed" in repr(result)
    assert "<svg" in result._repr_html_()


def test_a_classifier_writes_its_report(model: Toy, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    shown = model.report(path)
    page = path.read_text(encoding="utf-8")
    assert "north, alone" in page
    assert "was chosen of 0.5, 2" in page
    assert "Seconds by stage" in page
    assert re.search(r"Bytes by stage\. agreement [\d.]+ kB; dictionary ", page)
    assert str(path) in repr(shown)
    documents = model.federation_.documents["north"]
    assert not any(document.text in page for document in documents)


def test_sentences_are_not_compared_alone() -> None:
    with pytest.raises(MisuseError, match="expected level document"):
        TextClassifier(level="sentence").compare_alone()


def test_progress_says_how_long_the_solve_still_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    shown: list[str] = []
    monkeypatch.setattr("time.monotonic", lambda: now)
    monkeypatch.setattr(FitProgress, "_show", lambda _, words: shown.append(words))
    progress = FitProgress()
    progress.enter("solve")
    for left in range(40, 0, -1):
        progress.stepped(left)
        progress.stepped(left + 9)  # a party that is behind
        now += 1.0
    assert shown[0] == "stage 1: solve (0 s so far)"
    assert shown[1] == "stage 1: solve, step 1 of 40 (0 s so far)"
    assert shown[21] == "stage 1: solve, step 21 of 40 (about 20 seconds left)"


def test_fit_hears_of_every_step(
    federation: LocalFederation, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    monkeypatch.setattr(FitProgress, "stepped", lambda _, left: heard.append(left))
    Toy(features=8, key_bits=768).fit(federation)
    assert len(heard) > 3
    assert min(heard) < heard[0]


def test_progress_is_silent_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with FitProgress() as progress:
        progress.enter("training")
    assert capsys.readouterr() == ("", "")
