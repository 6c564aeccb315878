"""What people read about deviating parties is said in one place, and every page says the same."""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.adversaries import CARD, FACTS, POOLS, Fact
from sottovoce.study.card.card import StudyCard
from sottovoce.study.roster import draw_roster
from sottovoce.text.blocks import Blocks

ROOT = Path(__file__).parents[2]


def script(name: str) -> dict[str, Any]:
    """The names that a script of docs/ defines, with those that it imports from beside it."""
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(ROOT / "docs")
        return runpy.run_path(str(ROOT / "docs" / f"{name}.py"))


DEVIATIONS, ROLES = (script("make_adversaries")[name] for name in ("DEVIATIONS", "ROLES"))


@pytest.fixture
def make_adversaries() -> dict[str, Any]:
    """The script that writes the page."""
    return script("make_adversaries")


def flat(text: str) -> str:
    """Without line breaks, and without the signs of comments and quotes."""
    return " ".join(re.sub(r"(?m)^\s*[#>]+ ?", "", text).split())


def card(**settings: object) -> StudyCard:
    roster, _ = draw_roster(("north", "harbour", "valley"), entropy=SeededEntropy(2))
    plan = InsecureToyPlan("page", BINARY, features=64, key_bits=768, **settings)  # type: ignore[arg-type]
    return StudyCard(Study(plan, roster))


def test_the_page_is_what_the_code_says(make_adversaries: dict[str, Any]) -> None:
    made = make_adversaries["page"]()
    written = (ROOT / "docs" / "adversaries.md").read_text(encoding="utf-8")
    assert made == written, "run: python docs/make_adversaries.py"


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: fact.says[:40])
def test_a_fact_stands_where_people_read_it(fact: Fact) -> None:
    assert fact.stands_in
    for place in fact.stands_in:
        if place == CARD:
            shown = card(beside=Blocks(kernel=64, own_weight=0.5))
            assert fact.applies(shown.study)
            assert f"- {fact.says}\n" in shown.markdown()
        else:
            page = (ROOT / place).read_text(encoding="utf-8")
            assert fact.says in flat(page), place


def quorum_card(**settings: object) -> StudyCard:
    roster, _ = draw_roster(
        ("north", "harbour", "valley"),
        entropy=SeededEntropy(2),
        with_dealer=False,
        with_evaluator=False,
    )
    plan = InsecureToyPlan("page", BINARY, features=64, key_bits=768, **settings)  # type: ignore[arg-type]
    return StudyCard(Study(plan, roster))


def test_pools_stand_in_security_and_on_the_card(make_adversaries: dict[str, Any]) -> None:
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert make_adversaries["security_page"](security) == security, (
        "run: python docs/make_adversaries.py"
    )
    cards = [
        card(engine="shares"),
        card(engine="shares", labels_on="paillier"),
        card(engine="paillier"),
        quorum_card(),
        quorum_card(verdict="fss"),
    ]
    for pool in POOLS:
        applies = [pool.applies(shown.study) for shown in cards]
        assert any(applies), pool.who
        for shown, said in zip(cards, applies, strict=True):
            assert (f"- If they pool, {pool.who}: {pool.gets}." in shown.markdown()) == said


def test_every_test_that_is_named_exists() -> None:
    named = [test for row in (*DEVIATIONS, *POOLS) for test in row.tests]
    assert named
    for test in named:
        path, _, name = test.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        assert re.search(rf"def {re.escape(name)}\(", source), test


def test_what_is_said_to_be_stopped_has_a_test() -> None:
    assert {deviation.role for deviation in DEVIATIONS} <= set(ROLES)
    for deviation in DEVIATIONS:
        assert bool(deviation.stops) == bool(deviation.tests), deviation.does
        assert deviation.remains
