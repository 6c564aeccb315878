"""`TextClassifier` with several kernel widths: one is chosen, and comparisons use that one."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from sottovoce import LocalFederation
from sottovoce.cli.shown_study import chosen, show_study
from sottovoce.cli.terminal import screen
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.node.known_studies import KnownStudy, site_chosen
from sottovoce.study.candidates import Candidate
from sottovoce.study.card.card import StudyCard

TEXTS = [f"{word} pain number{n}" for n in range(30) for word in ("heart", "bone")]
LABELS = ["heart", "bone"] * 30


def test_the_chosen_width_is_that_of_the_comparison_too(tmp_path: Path) -> None:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    model = TextClassifier(48, kernel=8, kernel_width=(0.5, 1.0), query_budget=4000)
    assert model.fit(LocalFederation(parts)).kernel_width_ in {0.5, 1.0}
    width = model.kernel_width_
    assert model.study_.trained.candidate == Candidate(1.0, width)
    assert model._settled_plan.beside.kernel_width == width
    assert model._settled_plan.width == model.study_.study.plan.width - 8
    assert model.predict(["heart pain", "bone pain"]).tolist() == ["heart", "bone"]
    assert model.compare_alone().joint == 1.0
    candidate = str(Candidate(1.0, width))
    both = "1 with kernel width 0.5, 1 with kernel width 1"
    assert f"{candidate} was chosen of {both}" in model.report(alone=False).html
    check_shown(tmp_path, model)


def check_shown(folder: Path, model: TextClassifier) -> None:
    """A site reads from its part which width was chosen; a damaged part says nothing."""
    (folder / "alice").mkdir(mode=0o700)
    path = folder / "alice" / "model"
    model.save(path, peer="alice")
    described = SimpleNamespace(plan=model.study_.study.plan)
    invited = SimpleNamespace(seats=("dealer", "alice"))
    joined: Any = SimpleNamespace(folder=folder, described=described, invitation=invited)
    card = StudyCard(model.study_.study)
    known = KnownStudy("s", joined.described, card, (), joined, site_chosen(joined))
    assert known.chosen == model.study_.trained.candidate
    assert known.told_model.startswith(f"{known.chosen} was chosen of 1 with kernel width 0.5,")
    with patch.object(screen, "say") as say:
        show_study(known)
    assert any(known.told_model in str(call) for call in say.call_args_list)
    numbers = {"alpha": 1.0, "kernel_width": model.kernel_width_}
    numbers |= {"kernel_weight": None, "own_weight": None}
    assert chosen(known) == {"chosen": numbers}
    path.write_bytes(b"damaged")
    assert site_chosen(joined) is None
    path.unlink()
    assert site_chosen(joined) is None
    assert chosen(replace(known, chosen=None)) == {"chosen": None}


def test_without_a_list_no_width_was_chosen() -> None:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    model = TextClassifier(12, kernel=8, query_budget=4000).fit(LocalFederation(parts))
    assert model.kernel_width_ is None
