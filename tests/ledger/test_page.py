"""The page's own check, which knows nothing of our code, agrees with ours."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature

from harness.entropy import SeededEntropy
from sottovoce.ledger import Entry, LineKind, SiteLedger
from sottovoce.protocols.identities import Identity
from sottovoce.study.relay import Letter

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
NORTH = Identity.draw("north", SeededEntropy(1))


@pytest.fixture
def check() -> Callable[[bytes, str, bytes], int]:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Callable[[bytes, str, bytes], int]] = {}
    exec(code, names)  # noqa: S102 - the page's own code
    return names["check"]


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    path = tmp_path / "ledger.jsonl"
    with SiteLedger(path, NORTH) as ledger:
        for number in range(5):
            letter = Letter(b"session", "north", "coordinator", number, b"body")
            ledger.append(
                Entry.of_letter(LineKind.SENT, letter, study="s", stage="agreement", kind="consent")
            )
        ledger.append(Entry("s", LineKind.DELETION, note='quoted "words" and é'))
    return path.read_bytes().splitlines(keepends=True)


def test_the_page_checks_a_whole_ledger(
    check: Callable[[bytes, str, bytes], int], lines: list[bytes]
) -> None:
    assert check(b"".join(lines), "north", NORTH.public) == 6


def test_the_page_finds_what_ours_finds(
    check: Callable[[bytes, str, bytes], int], lines: list[bytes]
) -> None:
    for bad, error in (
        ([*lines[:2], *lines[3:]], AssertionError),
        ([lines[1], lines[0], *lines[2:]], AssertionError),
        ([lines[0].replace(b'"bytes":4', b'"bytes":5'), *lines[1:]], InvalidSignature),
    ):
        with pytest.raises(error):
            check(b"".join(bad), "north", NORTH.public)
    other = Identity.draw("north", SeededEntropy(2))
    with pytest.raises(InvalidSignature):
        check(b"".join(lines), "north", other.public)


def test_the_page_names_every_sort_of_line() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [what for what in LineKind if f"`{what}`" not in text] == []
