import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from sottovoce.text.tokenizing import characters
from sottovoce.text.tokenizing.characters import character_class

TABLES = ("LETTERS", "DIGITS", "NUMERALS", "MARKS", "ALONE", "SYMBOLS")
MAKER = Path(__file__).parents[1] / "vectors" / "make_characters.py"


def points(table: str) -> set[int]:
    characters: set[int] = set()
    for span in table.split():
        first, _, last = span.partition("-")
        characters |= set(range(int(first, 16), int(last or first, 16) + 1))
    return characters


def test_the_tables_share_no_character() -> None:
    sizes = [len(points(getattr(characters, name))) for name in TABLES]
    union = set().union(*(points(getattr(characters, name)) for name in TABLES))
    assert len(union) == sum(sizes) == 142_354


def test_every_listed_character_exists_in_this_python() -> None:
    listed = (p for name in TABLES for p in points(getattr(characters, name)))
    assert not [point for point in listed if unicodedata.category(chr(point)) == "Cn"]


def test_the_tables_are_what_their_generator_writes() -> None:
    made = subprocess.run([sys.executable, MAKER], capture_output=True, text=True, check=False)
    if unicodedata.unidata_version == "14.0.0":
        source = Path(characters.__file__).read_text(encoding="utf-8")
        assert made.stdout in source
    else:
        assert "expected Unicode 14.0.0" in made.stderr


@pytest.mark.parametrize(
    ("character", "table"),
    [("é", "LETTERS"), ("٣", "DIGITS"), ("½", "NUMERALS"), ("\u0301", "MARKS"), ("病", "ALONE")],
)
def test_a_class_matches_its_characters_and_no_others(character: str, table: str) -> None:
    pattern = re.compile(f"[{character_class(getattr(characters, table))}]")
    assert pattern.fullmatch(character)
    assert not pattern.fullmatch("!")
