"""`TextClassifier` with several kernel widths: one is chosen, and comparisons use that one."""

from sottovoce import LocalFederation
from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.study.candidates import Candidate

TEXTS = [f"{word} pain number{n}" for n in range(30) for word in ("heart", "bone")]
LABELS = ["heart", "bone"] * 30


def test_the_chosen_width_is_that_of_the_comparison_too() -> None:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    model = TextClassifier(48, kernel=8, kernel_width=(0.5, 1.0), query_budget=4000)
    assert model.fit(LocalFederation(parts)).kernel_width_ in {0.5, 1.0}
    chosen = model.kernel_width_
    assert model.study_.trained.candidate == Candidate(1.0, chosen)
    assert model._settled_plan.beside.kernel_width == chosen
    assert model._settled_plan.width == model.study_.study.plan.width - 8
    assert model.predict(["heart pain", "bone pain"]).tolist() == ["heart", "bone"]
    assert model.compare_alone().joint == 1.0
    page = str(model.report(alone=False))
    assert page


def test_without_a_list_no_width_was_chosen() -> None:
    parts = dict.fromkeys(("alice", "bob", "carol"), (TEXTS, LABELS))
    model = TextClassifier(12, kernel=8, query_budget=4000).fit(LocalFederation(parts))
    assert model.kernel_width_ is None
