import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "text.md"


def test_the_documentation_says_what_happens() -> None:
    failed, tried = doctest.testfile(str(DOCS), module_relative=False, encoding="utf-8")
    assert tried > 20
    assert not failed
