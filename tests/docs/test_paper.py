"""The page about the paper: every link leads somewhere, and nothing of the paper is missing."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from harness.examples.arrangements import BY_NAME

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
LINKS = sorted(set(re.findall(r"`([\w/.-]+\.py::[\w.]+)(?:\[[\w-]+\])?`", PAGE)))

# Everything that the paper defines, states, prints as a protocol, or lists in its table.
ITEMS = (
    *(f"Definition {number}" for number in range(1, 6)),
    *(f"equation ({number})" for number in range(1, 7)),
    *(f"Protocol {number}" for number in range(1, 5)),
    "equation (J)",
    "equation (θ*)",
    "equation (b)",
    "equation (∂ℓ/∂θ)",
    "Lemma (Rado Learning)",
    "Problem 1",
    "S.Mult, S.InnerProd, S.OuterProd",
    "S.MatProd",
    "S.local.innerProd",
    "SM.Add",
    "secure exponential",
    "secure logarithm",
    "Damgård and Jurik",
    "Zhou 2004",
    "common extra rado",
    "First row",
    "Shur",
    ".049, .13 s",
    ".12, 1.4 s",
    ".20, .069 s",
    ".089, .12 s",
    ".10, 75 s",
    ".085, 87 s",
)


@cache
def names_in(path: str) -> set[str]:
    """Top-level names of a module, and the methods of its classes."""
    collected = set()
    for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            collected.add(node.name)
        if isinstance(node, ast.ClassDef):
            collected |= {
                f"{node.name}.{m.name}" for m in node.body if isinstance(m, ast.FunctionDef)
            }
    return collected


@pytest.mark.parametrize("link", LINKS)
def test_every_link_is_a_name_in_a_file_of_this_repository(link: str) -> None:
    path, name = link.split("::")
    assert (ROOT / path).is_file(), path
    assert name in names_in(path), link


def test_every_case_that_is_named_is_an_arrangement_of_the_list() -> None:
    named = re.findall(r"whoever_is_killed\[([\w-]+)\]", PAGE)
    assert len(named) > 12
    assert set(named) <= {*BY_NAME}


@pytest.mark.parametrize("item", ITEMS)
def test_everything_of_the_paper_is_there(item: str) -> None:
    assert item in PAGE


def rows() -> list[list[str]]:
    page = PAGE[: PAGE.index("<!-- reach")] + PAGE[PAGE.index("<!-- end of reach") :]
    cells = [
        line.strip().strip("|").split("|") for line in page.splitlines() if line.startswith("| ")
    ]
    return [row for row in cells if row[0].strip() != "in the paper" and "row of" not in row[0]]


def test_every_row_says_where_it_stands_and_what_proves_it_or_why_it_was_left_out() -> None:
    assert len(rows()) > 40
    for item, code, shown, reading in rows():
        if code.strip() == "none":
            assert "left out" in reading, item
        else:
            assert "`src/" in code, item
            assert "`tests/" in shown, item
            assert reading.strip(), item


def test_links_are_to_code_on_the_left_and_to_tests_on_the_right() -> None:
    for _, code, shown, _ in rows():
        assert "`tests/" not in code
        assert "`src/" not in shown
