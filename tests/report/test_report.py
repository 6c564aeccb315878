"""A report has every part that it promises, fetches nothing, and tells no more than it may."""

import re
from dataclasses import replace
from html import unescape
from typing import Any

import numpy as np
import pytest

from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import DamagedFileError
from sottovoce.node.site.shown_card import card_of
from sottovoce.pictures.charts import Flow
from sottovoce.pictures.quality import _reliability, by_class, figures_text
from sottovoce.report.card_page import card_page
from sottovoce.report.facts import LedgerHeadFact, ReportFacts, StageCost
from sottovoce.report.report import report
from sottovoce.study.card.card import StudyCard
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation, figures
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.evaluations.roc import Roc
from sottovoce.study.totals import Totals
from sottovoce.text.labels import Labels

PARTS = (
    "How good the model is",
    "Time and bytes",
    "What each party saw",
    "Settings",
    "Ledger",
    "How to reproduce",
    "Model card",
    "For a data protection impact assessment",
    "The study card",
)


def evaluation(**changes: Any) -> Evaluation:
    labels = Labels(("routine", "urgent"))
    whole = Evaluation.of(labels, np.array([[50, 10], [2, 38]]), ("north", "harbour"), fewest=3)
    curve = Roc((0.5, 0.0), (0.0, 0.1, 0.3, 1.0), (0.0, 0.6, 0.9, 1.0))
    return replace(whole, roc={"urgent": curve}, **changes)


def facts(**changes: Any) -> ReportFacts:
    card = card_of(parse_study(example()), "Northfield Hospital")
    joint = evaluation()
    whole = ReportFacts(
        card,
        "Northfield Hospital",
        "1.2.3",
        evaluations={"all sites": joint},
        compared={"north, alone": 0.7, "all sites": joint.accuracy, "pooled": 0.9},
        stages=(StageCost("training", 12.5, 2_000_000),),
        flows=(Flow("north", "coordinator", 7, 21_000_000),),
        ledgers=(LedgerHeadFact("north", 17, "17-abcdef"),),
        reproduce=("sottovoce serve",),
        documents={"north": 300},
        chosen="1 was chosen of 0.3, 1",
    )
    return replace(whole, **changes)


def words(html: str) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html))


def test_every_part_stands_in_the_report() -> None:
    page = report(facts())
    for part in PARTS:
        assert f">{part}</h2>" in page
    text = words(page)
    for said in (
        "north, alone",
        "Accuracy 88.9%",
        "17-abcdef",
        "sottovoce serve",
        "1 was chosen of 0.3, 1",
        "Intended use",
        "Legal basis",
        "two years after the study is closed. Numbers of the computation",
        "north: 300 documents",
        "has not been audited",
        "training 12.5 s",
        "No learning curve over sites",
        "Reliability, all sites: urgent",
    ):
        assert said in text, said
    assert page.count("<svg") == 7
    assert "<script" not in page


def test_a_learning_curve_stands_where_documents_lie_side_by_side() -> None:
    page = report(facts(growth={1: 0.6, 2: 0.7, 3: 0.75}))
    assert "Learning curve over sites" in words(page)
    assert "sites 2: 0.700" in words(page)
    (drawn,) = re.findall(r"<figure><figcaption>Learning curve.*?</figure>", page, re.DOTALL)
    assert "chance" not in drawn, "no diagonal is to be reached here"
    assert re.findall(r'class="axis middle">([^<]+)<', drawn) == ["1", "2", "3"]


def test_reliability_follows_from_the_points_of_the_roc() -> None:
    # 40 rows of the class and 60 others: (0, 0), (.1, .6) at .5, (.3, .9) at 0, (1, 1).
    curve = evaluation().roc["urgent"]
    assert _reliability(curve, 40, 60) == [(-0.5, 0.087), (0.25, 0.5), (0.75, 0.8)]


def test_a_report_without_anything_measured_says_so() -> None:
    bare = facts(evaluations={}, compared={}, stages=(), flows=(), ledgers=(), chosen="")
    text = words(report(bare))
    assert "No evaluation was held" in text
    assert "No stage was measured here" in text
    assert "There is no ledger" in text


def test_a_model_has_the_columns_of_one_kernel_and_of_the_words_that_were_chosen() -> None:
    settings = "features = 256\ntail = 256\nkernel = 128\nkernel_width = [0.5, 1]"
    card = card_of(parse_study(re.sub(r"(?m)^features = .*", settings, example())))
    text = words(report(facts(card=card, chosen="")))
    assert "A linear classifier of at most 641 columns" in text
    assert "penalty one of 1 with kernel width 0.5, 1 with kernel width 1, trained" in text
    totals = Totals(960, (480, 480), ("north", "harbour", "stanmore"), absent=56)
    text = words(report(facts(card=replace(card, totals=totals), chosen="1")))
    assert "A linear classifier of 585 columns, closed form, penalty 1, trained" in text


def test_figures_by_class_follow_from_the_table() -> None:
    routine, urgent = by_class(evaluation())
    # The cell of 2 is left out, and counts as half the minimum of 3.
    assert (routine.precision, routine.recall) == (round(50 / 51, 3), round(50 / 60, 3))
    assert (urgent.precision, urgent.recall, urgent.rows) == (
        round(38 / 48, 3),
        round(38 / 39, 3),
        39,
    )
    assert "urgent" in figures_text(evaluation())


def test_overlapping_classes_have_a_small_table_each() -> None:
    labels = Labels(("a", "b"), exclusive=False)
    table = np.array([[[50, 10], [9, 31]], [[60, 12], [8, 20]]])
    both = Evaluation.of(labels, table, ("north",), fewest=3)
    page = report(facts(evaluations={"all": both}))
    assert "Confusion, all: a" in page
    assert "Confusion, all: b" in page


def test_the_card_is_a_page_to_print_and_sign() -> None:
    page = card_page(card_of(parse_study(example()), "Northfield Hospital"))
    assert "<script" not in page
    assert "No text leaves. Numbers do" in words(page)
    assert page.index('class="page"') < page.index("Who takes part") < page.index('class="sign"')


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a & b <img src=x onerror=y>"])
def test_hostile_names_of_organisations_are_shown_harmlessly(name: str) -> None:
    text = example().replace("Stanmore Practice", name)
    card = card_of(parse_study(text), name)
    for page in (card_page(card), report(facts(card=card))):
        assert "<script" not in page
        assert "<img" not in page
        assert name in words(page).replace("\\", "")


def test_a_kept_evaluation_comes_back_as_it_was() -> None:
    kept = KeptEvaluation(1.5, evaluation(), evaluation(peers=("a", "b", "c")))
    again = KeptEvaluation.decode(kept.encode(), name="file")
    assert again.encode() == kept.encode()
    assert again.joint is not None
    assert again.joint.peers == ("a", "b", "c")
    assert figures(again.joint) == figures(kept.joint or evaluation())


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"[1]", b'{"version": 2}', b'{"version": 1, "at": 0}']
)
def test_a_damaged_evaluation_is_refused(data: bytes) -> None:
    with pytest.raises(DamagedFileError, match="expected an evaluation that was kept"):
        KeptEvaluation.decode(data, name="file")


def test_an_evaluation_shows_itself_in_a_notebook() -> None:
    result = evaluation()
    assert repr(result) == (
        "Evaluation(accuracy=0.889, worst F1 0.874 (urgent), over north, harbour)"
    )
    assert "<svg" in result._repr_html_()
    assert "<svg" in result.plot_roc()._repr_html_()
    assert "AUC 0.8" in repr(result.plot_roc())
    assert "<svg" in result.plot_confusion()._repr_html_()
    assert "precision" in repr(result.report())


def test_the_cards_of_the_report_and_of_the_terminal_are_one() -> None:
    card = facts().card
    assert isinstance(card, StudyCard)
    assert card.code in words(report(facts()))
