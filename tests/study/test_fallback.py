"""Who is not there in a query: the dealer, and labels are found without it; or the asker itself."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.meddling import Crashing
from harness.studies import Case
from sottovoce.errors import AbsenceError, InputError, MisuseError
from sottovoce.paillier import decrypt_residues
from sottovoce.protocols.shares.labels.row_scores import AskedRows
from sottovoce.study.card.card import StudyCard
from sottovoce.study.choices import Verdict
from sottovoce.study.plan import KNOWN_QUERIES_PER_FEATURE, StudyPlan
from sottovoce.study.queries.classification import Answer, MaskedScores, VerdictWarning


@pytest.fixture(scope="module")
def small(binary: Case) -> Case:
    return binary.changed(features=12, thresholds=())


@pytest.fixture(scope="module")
def small_on_ciphertexts(small: Case) -> Case:
    return small.changed(labels_on="paillier")


def test_without_the_dealer_the_same_labels_are_found_counted_once_and_said(small: Case) -> None:
    outcome, few = small.run(), small.documents["north"][:5]
    batch, left = outcome.trained.scores.batch, outcome.queries.left("north")
    dealt = outcome.classify("north", few)
    assert dealt.verdict is Verdict.FSS
    outcome.leave("dealer")
    with pytest.warns(VerdictWarning, match=r"north: 'dealer' does not answer: .*dgk instead of"):
        answer = outcome.classify("north", few)
    assert (answer.classes, answer.verdict) == (dealt.classes, Verdict.DGK)
    assert answer.left == left - 2 * batch == outcome.queries.left("north")
    outcome.come_back("dealer")
    assert outcome.classify("north", few).verdict is Verdict.FSS
    with pytest.raises(InputError, match=r"expected one of its seats .*found 'dealers'"):
        outcome.leave("dealers")


def asked_while_the_dealer_leaves(
    case: Case, step: int, party: str, kind: Any
) -> tuple[Answer, list[Any]]:
    """What north is answered, charged once, and what a party then sees of a kind."""
    outcome = case.outcome
    left, before = outcome.queries.left("north"), len(list(outcome.views[party].of(kind)))
    outcome.meddler = Crashing({"dealer": step})
    try:
        with pytest.warns(VerdictWarning):
            answer = outcome.classify("north", case.documents["north"][:5])
    finally:
        outcome.meddler = None
    assert outcome.queries.left("north") == left - outcome.trained.scores.batch
    return answer, list(outcome.views[party].of(kind))[before:]


@pytest.mark.parametrize("step", range(6))
def test_a_dealer_that_leaves_at_any_time_costs_nothing_but_time(
    small_on_ciphertexts: Case, step: int
) -> None:
    """Whatever was opened before, everything that comes after is drawn anew."""
    case = small_on_ciphertexts
    answer, seen = asked_while_the_dealer_leaves(case, step, "coordinator", MaskedScores)
    assert answer.classes == case.plain(case.documents["north"][:5])
    scores = [message.scores for message in seen]
    assert len(scores) == 2
    first, second = (decrypt_residues(case.key, score) for score in scores)
    assert not set(first) & set(second)
    assert scores[0].layout == scores[1].layout  # it learns no more about how many were asked


@pytest.mark.parametrize("step", range(8))
def test_on_shares_a_dealer_that_leaves_at_any_time_costs_nothing_but_time(
    small: Case, step: int
) -> None:
    """The rows of both queries are under masks that have nothing in common."""
    answer, rows = asked_while_the_dealer_leaves(small, step, "evaluator", AskedRows)
    assert answer.classes == small.plain(small.documents["north"][:5])
    seen = [message.words.array().ravel() for message in rows]
    assert len(seen) == 1 + (step > 4)
    together = np.concatenate(seen).tolist()
    assert len(set(together)) > 0.99 * len(together)


def test_a_plan_for_a_dealer_alone_goes_on_without_it_never(small: Case) -> None:
    outcome = small.changed(verdict="fss").run()
    outcome.leave("dealer")
    with pytest.raises(AbsenceError, match="dealer"):
        outcome.classify("north", small.documents["north"][:5])
    assert outcome.queries.left("north") == small.plan.budget
    with pytest.raises(MisuseError, match="verdict fss allows fss for 'north', found dgk"):
        outcome.study.verdict_for("north", Verdict.DGK)


def test_somebody_else_who_is_away_is_no_reason_to_do_without_the_dealer(small: Case) -> None:
    outcome = small.run()
    outcome.leave("coordinator")
    with pytest.raises(AbsenceError, match="coordinator"):
        outcome.classify("north", small.documents["north"][:5])


@pytest.mark.parametrize("verdict", ["fss", "dgk"])
def test_an_asker_that_leaves_is_not_counted_unless_it_was_told(small: Case, verdict: str) -> None:
    """At every step; the coordinator goes on serving others, and the same asker later."""
    outcome, few = small.changed(verdict=verdict).run(), small.documents["north"][:5]
    batch, charged = outcome.trained.scores.batch, 0
    labels = outcome.classify("harbour", few).classes
    for step in range(20):
        before = outcome.queries.left("north")
        outcome.meddler = Crashing({"north": step})
        try:
            outcome.classify("north", few)
        except (AbsenceError, KeyError):
            counted = before - outcome.queries.left("north")
            assert counted in {0, batch}
            charged += counted == batch
        else:
            break
        outcome.meddler = None
        assert outcome.classify("harbour", few).classes == labels
    outcome.meddler = None
    # What the coordinator told is counted, whether or not the asker stayed to hear it.
    assert 1 <= charged <= 2
    assert outcome.classify("north", few).classes == labels


CARDS = {
    "auto": "If it does not answer, the query begins anew without one (`dgk`)",
    "fss": "(`fss`) and in no other way: where it does not answer, a query ends with an error",
    "dgk": "Labels are found without a dealer (`dgk`)",
}


@pytest.mark.parametrize("verdict", CARDS)
def test_the_card_says_which_verdict_holds_and_what_falls_back_to_what(
    small: Case, verdict: str
) -> None:
    card = StudyCard(small.changed(verdict=verdict).study)
    page = " ".join(card.markdown().split())
    assert CARDS[verdict] in page
    assert not any(text in page for name, text in CARDS.items() if name != verdict)
    names = {line.name for line in card.lines}
    assert ("digit-tests" in names) == (verdict != "fss")
    assert ("verdict-share" in names) == (verdict != "dgk")
    assert "masked-counts" not in names  # without thresholds nothing is counted


def test_the_card_names_who_has_no_dealer(small: Case) -> None:
    plan = replace(small.plan, engine="paillier")
    page = StudyCard(Case(small.documents, plan, small.key, OWN_DEALER).study).markdown()
    assert "For north nobody of another organisation deals" in page


OWN_DEALER = {"with_dealer": False, "evaluator_at": "north"}


# What a budget protects.


@pytest.mark.parametrize(
    ("features", "budget", "said"),
    [
        (2048, None, ""),
        (256, None, ""),
        (255, None, "is above two labels a feature"),
        (33, None, "is above two labels a feature"),
        (32, None, "does not keep the model from a peer"),
        (8, None, "does not keep the model from a peer"),
        (8, 16, ""),
        (2048, 2048 * KNOWN_QUERIES_PER_FEATURE, "does not keep the model from a peer"),
    ],
)
def test_the_card_says_from_where_on_a_budget_does_not_protect_the_model(
    small: Case, features: int, budget: int | None, said: str
) -> None:
    plan = StudyPlan("budget", small.plan.labels, features=features, query_budget=budget)
    study = Case(small.documents, plan, small.key).study
    page = StudyCard(study).markdown()
    texts = ("is above two labels a feature", "does not keep the model from a peer")
    assert [text for text in texts if text in page] == ([said] if said else [])
