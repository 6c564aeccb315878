"""Sentences of cards that a hostile reader once refuted."""

import re

import pytest

from harness.entities import fitted
from harness.entropy import SeededEntropy
from harness.examples.arrangements import BY_NAME
from harness.network import read_toy
from harness.studies import BINARY
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.card.card import StudyCard
from sottovoce.study.card.first_page import LONGEST
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


OF_TABLES = [name for name, toy in BY_NAME.items() if not read_toy(toy.text).plan.has_text]


@pytest.mark.parametrize("name", OF_TABLES)
def test_a_table_is_said_to_have_no_words(name: str) -> None:
    study = read_toy(BY_NAME[name].text).rehearsed()
    text = StudyCard(study).markdown()
    pools = text.split("## What must hold")[1].split("## What is ")[0].lower()
    assert not {"dictionary", "word", "texts", "documents"} & set(re.findall(r"\w+", pools))
    assert "`dictionary-key-box`" not in text


@pytest.mark.parametrize("name", ["intermediary", "two-peers", "feature-lists"])
def test_where_nobody_is_the_dealer_none_is_named(name: str) -> None:
    study = read_toy(BY_NAME[name].text).rehearsed()
    assert study.roster.dealer is None
    agreed = StudyCard(study).markdown()
    assert "evaluator and dealer" not in agreed
    assert "and the dealer" not in agreed


def test_everybody_reads_that_those_who_answer_learn_who_is_asked_about() -> None:
    study = read_toy(BY_NAME["features-full-shares"].text).rehearsed()
    for organisation in {participant.organisation for participant in study.roster.participants}:
        page = " ".join(StudyCard(study, organisation=organisation).first_page().split())
        assert "The organisations that answer learn whom " in page, organisation


def test_only_a_peer_with_an_intermediary_is_said_to_send_it_rows() -> None:
    study = read_toy(BY_NAME["intermediary-texts"].text).rehearsed()
    rows = "documents as encrypted numbers"
    pages = {
        organisation: StudyCard(study, organisation=organisation).first_page()
        for organisation in {participant.organisation for participant in study.roster.participants}
    }
    assert [name for name, page in pages.items() if rows in " ".join(page.split())] == [
        "Northfield Hospital"
    ]
    assert "To Blue Cloud, about" in pages["Northfield Hospital"]
    built = " ".join(pages["Blue Cloud"].split())
    assert "To Northfield Hospital: what you made of its documents, encrypted." in built
    assert "Nothing of any" not in built


@pytest.mark.parametrize("name", BY_NAME)
def test_the_first_page_of_every_arrangement_has_sixty_lines(name: str) -> None:
    study = read_toy(BY_NAME[name].text).rehearsed()
    for organisation in {participant.organisation for participant in study.roster.participants}:
        page = StudyCard(study, organisation=organisation).first_page()
        assert len(page.splitlines()) <= LONGEST, organisation


def test_a_coordinator_is_not_said_to_send_sums_alone() -> None:
    study = read_toy(BY_NAME["intermediary-texts"].text).rehearsed()
    page = " ".join(StudyCard(study, organisation="Institute").first_page().split())
    assert "to those who compute, numbers that look random." in page


@pytest.mark.parametrize(
    ("name", "learns"),
    [
        ("outsourced", "that the solve came out right"),
        ("descent-outsourced", "before each step one bit, that its numbers are in range"),
    ],
)
def test_what_a_lent_machine_learns_stands_on_both_pages(name: str, learns: str) -> None:
    study = read_toy(BY_NAME[name].text).rehearsed()
    page, details = StudyCard(study).markdown().split("## Who takes part")
    assert "how much they vary (one rounded number)" in " ".join(page.split())
    assert "the upper end of their spectrum (rounded up), and " + learns in details


def test_a_lone_owners_card_says_who_works_and_every_penalty_that_is_tried() -> None:
    text = BY_NAME["outsourced"].text.replace("features = 0", "features = 0\nalpha = [0.5, 2.0]")
    page = " ".join(StudyCard(read_toy(text).rehearsed()).markdown().split())
    assert "Northfield Hospital trains one program that tells well and sick apart" in page
    assert "apart, and Blue Cloud computes for it." in page
    assert "penalty 0.5, 2; exact moments." in page
    assert "north chooses among the penalties at home, and tells nobody which." in page


def everybodys_pages(name: str) -> dict[str, str]:
    """The first page of each organisation, in one line."""
    study = read_toy(BY_NAME[name].text).rehearsed()
    return {
        organisation: " ".join(StudyCard(study, organisation=organisation).first_page().split())
        for organisation in {participant.organisation for participant in study.roster.participants}
    }


def test_where_feature_lists_are_shown_to_the_coordinator_every_first_page_says_so() -> None:
    pages = everybodys_pages("feature-lists")
    for page in pages.values():
        assert "The coordinator learns which of the columns each peer's rows have." in page
    sent = re.search(r"- To Institute, about .*?: (.*?)\. ", pages["Northfield Hospital"])
    assert sent is not None
    assert "which of the columns your rows have" in sent[1]
    assert "which of the columns" not in everybodys_pages("ring")["Northfield Hospital"]


def test_two_peers_are_promised_no_joint_evaluation_and_told_what_subtracting_gives() -> None:
    study = read_toy(BY_NAME["two-peers"].text).rehearsed()
    assert study.plan.evaluations > 0
    card = " ".join(StudyCard(study).markdown().split())
    assert "Of two peers each has the other's by subtracting its own." in card
    assert "may be opened once" not in card
    assert "No evaluation over all sites, which takes 3 peers or more" in card
    assert "joint table of an evaluation" not in card
    assert "`joint-confusion`" not in card


def test_neighbours_in_rings_are_said_to_need_the_key_alone() -> None:
    card = " ".join(StudyCard(read_toy(BY_NAME["ring"].text).rehearsed()).markdown().split())
    assert "with the coordinator, who has the key, they could" in card


@pytest.mark.parametrize("name", ["intermediary", "two-peers", "ring", "feature-lists"])
def test_where_nobody_is_dealer_the_evaluator_is_named_as_the_one_that_deals(name: str) -> None:
    card = StudyCard(read_toy(BY_NAME[name].text).rehearsed()).markdown()
    assert "- Nobody is dealer of this study: the evaluator is the dealer of every query" in card


def test_that_any_peer_could_tell_the_coordinator_words_is_on_the_first_page() -> None:
    page = " ".join(card(dictionary="joint").split("## Who takes part")[0].split())
    assert "A peer can test whether a word was chosen, and could tell it." in page


@pytest.mark.parametrize("engine", ["quorum", "shares", "paillier"])
def test_how_far_the_mean_lies_is_said_to_be_published_only_where_it_is(engine: str) -> None:
    """Engine paillier opens one end of the spectrum, and so does everybody with a table."""
    helped = engine != "quorum"
    roster, _ = draw_roster(
        ("a", "b", "c"), entropy=SeededEntropy(2), with_dealer=helped, with_evaluator=helped
    )
    plan = InsecureToyPlan("true", BINARY, features=32, key_bits=768, engine=engine)
    text = " ".join(StudyCard(Study(plan, roster)).markdown().split())
    assert "the upper end of the spectrum" in text
    assert ("how far the mean lies" in text) == (engine != "paillier")
    table = StudyCard(read_toy(BY_NAME["features-zero-shares"].text).rehearsed()).markdown()
    assert "how far the mean lies" not in table


def text_card(*, engine: str = "", dealer: bool = False, **settings: object) -> str:
    """The card of a small study of text, on one line."""
    engine = engine or ("shares" if dealer else "paillier")
    roster, _ = draw_roster(("a", "b", "c"), entropy=SeededEntropy(2), with_dealer=dealer)
    plan = InsecureToyPlan("true", BINARY, features=32, key_bits=768, engine=engine, **settings)  # type: ignore[arg-type]
    return " ".join(StudyCard(Study(plan, roster)).markdown().split())


@pytest.mark.parametrize("dealer", [True, False])
def test_where_every_peer_has_the_model_nobody_is_said_to_ask_or_to_hold_it_encrypted(
    *, dealer: bool
) -> None:
    text = text_card(dealer=dealer, release="peers")
    assert "peers keep the model, the coordinator the key" in text
    assert "that the peer holds encrypted" not in text
    assert "the dealer of a query" not in text
    assert "For each query" not in text
    assert "single scores stay with their site" in text


@pytest.mark.parametrize("dealer", [True, False])
def test_where_scores_are_told_they_are_not_counted_as_labels(*, dealer: bool) -> None:
    text = text_card(dealer=dealer, release="margin")
    assert "scores of documents, all told" in text
    assert "some 32 scores of chosen documents are one a feature, and give it" in text
    assert "labels of chosen documents" not in text.lower()
    assert "no more than the asker's labels" not in text
    assert "comparisons stay shared" not in text


def test_an_asker_that_always_deals_for_itself_is_not_said_to_learn_labels_alone() -> None:
    helped, alone = (text_card(dealer=True, verdict=verdict) for verdict in ("fss", "dgk"))
    assert "no more than the asker's labels" in helped
    assert "no more than the asker's labels" not in alone
    assert "an asker that deals for itself" in alone
    assert "an asker that deals for itself" not in helped


def test_a_nonce_is_on_the_card_of_who_sends_one() -> None:
    assert "`holder-nonce`" in text_card(dealer=True)
    assert "`holder-nonce`" not in text_card()
