"""The state diagrams in ARCHITECTURE.md are those of the tables."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def make_course() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs/make_course.py"))


def test_the_page_shows_the_tables_as_they_are(make_course: dict[str, Any]) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert make_course["BEGIN"] in text
    assert make_course["page"](text) == text, "run python docs/make_course.py"


def test_an_arrow_that_is_missing_is_seen(make_course: dict[str, Any]) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    less = text.replace("enrolment --> agreement", "enrolment --> training", 1)
    assert less != text
    assert make_course["page"](less) != less
