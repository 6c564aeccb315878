"""Sentences of cards that a hostile reader once refuted."""

import pytest

from harness.entities import fitted
from harness.entropy import SeededEntropy
from harness.studies import BINARY
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.card.card import StudyCard
from sottovoce.study.roster import draw_roster


def card(*, dealer: bool = True, **settings: object) -> str:
    roster, _ = draw_roster(("a", "b", "c"), entropy=SeededEntropy(2), with_dealer=dealer)
    plan = InsecureToyPlan("true", BINARY, features=32, key_bits=768, engine="paillier", **settings)  # type: ignore[arg-type]
    return StudyCard(Study(plan, roster)).markdown()


@pytest.mark.parametrize("dealer", [True, False])
def test_the_first_page_names_every_pair_that_could_read_the_model(*, dealer: bool) -> None:
    page, details = card(dealer=dealer).split("## Who takes part")
    assert "the coordinator with any peer" in page
    # Without a dealer the evaluator deals for queries.
    assert f"the {'dealer' if dealer else 'evaluator'} with one that asks" in " ".join(page.split())
    assert "the dealer of a query and whoever asks" in details


def test_where_nobody_deals_no_dealer_is_said_to_read_the_model() -> None:
    assert "with one that asks" not in card(verdict="dgk")


@pytest.mark.parametrize("budget", [512, 513])
def test_as_many_labels_as_give_the_model_are_not_called_more(budget: int) -> None:
    text = card(query_budget=budget)
    assert f"of the {budget} labels, 512 give it" in text
    assert "labels are more than" not in text


def test_a_descent_is_not_said_to_send_moments_or_steps_of_a_solve() -> None:
    text = card(learner="rado-descent", contribution="rados", rados=64)
    assert "sums of random halves of them" in " ".join(text.split())
    assert "how words stand together" not in text
    assert "own-direction" not in text
    assert "nobody knows beforehand" not in text


@pytest.mark.parametrize("engine", ["shares", "paillier"])
def test_columns_of_one_holder_are_not_said_to_be_nobodys(engine: str) -> None:
    study = fitted("wards", engine=engine, alpha=5.0, remote="full").study_.study
    text = " ".join(StudyCard(study).markdown().split())
    assert "sums over blocks of entities" in text
    assert "say whose they are" in text
    assert "not say whose" not in text
    assert "though not whose" not in text
    # A table has no dictionary that could cost anything.
    assert "Which dictionary" not in text
