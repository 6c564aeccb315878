"""ARCHITECTURE.md and CONTRIBUTING.md name files, functions and tests that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sottovoce"
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
STATIONS = re.findall(r"^\| [^|]+ \| `([\w/]+\.py)` \| `([\w.]+)` \|$", ARCHITECTURE, re.MULTILINE)
EXAMPLES = CONTRIBUTING.split("## Five worked examples")[1].split("By contributing")[0]


def defined(path: Path) -> set[str]:
    """The functions of a module, and the methods of its classes as Class.method."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
                    names.add(f"{node.name}.{inner.name}")
    return names


def test_the_way_of_a_document_has_its_stations() -> None:
    assert len(STATIONS) >= 20


@pytest.mark.parametrize(("file", "function"), STATIONS)
def test_every_station_exists(file: str, function: str) -> None:
    assert function in defined(PACKAGE / file)


def test_the_examples_name_files_that_exist_or_are_new() -> None:
    named = re.findall(r"^\d\. `([\w/.]+)`( \(new\))?", EXAMPLES, re.MULTILINE)
    assert len(named) >= 14
    for file, new in named:
        assert (ROOT / file).exists() != bool(new), file


def test_no_example_takes_more_files_than_agreed() -> None:
    most = {"file source": 4, "release mode": 4, "selection rule": 3, "message": 3, "page": 4}
    parts = [part for part in EXAMPLES.split("\n**") if re.search(r"^\d\. ", part, re.MULTILINE)]
    assert len(parts) == len(most)
    for part, (what, limit) in zip(parts, most.items(), strict=True):
        assert what in part.splitlines()[0]
        assert len(re.findall(r"^\d\. ", part, re.MULTILINE)) <= limit


@pytest.mark.parametrize("page", [ARCHITECTURE, CONTRIBUTING], ids=["architecture", "contributing"])
def test_every_path_in_the_guides_exists(page: str) -> None:
    for path in re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]*(?:\.py|\.md)?)`(?! \(new\))", page):
        assert any((root / path).exists() for root in (ROOT, PACKAGE)), path


def test_the_glossary_has_every_word_of_the_screen() -> None:
    glossary = ARCHITECTURE.split("## Glossary")[1].split("## Two habits")[0]
    words = re.findall(r"^\| ([^|]+) \| [^|]+ \|$", glossary, re.MULTILINE)[1:]
    assert words == sorted(words)
    assert len(words) > 35
