"""The README was executed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = 75
"""One and a half screens of fifty lines."""
COLUMNS = 120


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_python_session_works(capsys: pytest.CaptureFixture[str]) -> None:
    (session,) = blocks("python")
    exec(session, {"__name__": "readme"})  # noqa: S102 - our own page, so that it cannot lie
    labels, accuracy = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\['(urgent|routine)' '(urgent|routine)'\]", labels)
    assert float(accuracy.rpartition(" ")[2]) > 0.7


def test_it_stands_on_a_screen_and_a_half() -> None:
    lines = TEXT.splitlines()
    assert len(lines) <= LINES
    assert all(len(line) <= COLUMNS for line in lines if not line.startswith("|"))
    assert "](docs/demo.svg)" in TEXT, "the demo's picture"


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make (demo|test|docs)\b", TEXT.replace("\n", " ")))
    assert named == {"demo", "test", "docs"}
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in named)


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), f"{page} links to {target}"
