"""The page about sources is executed."""

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "sources.md"


def test_the_page_says_what_happens() -> None:
    failed, tried = doctest.testfile(str(DOCS), module_relative=False, encoding="utf-8")
    assert tried > 15
    assert not failed
