"""Write the tables of `text/tokenizing/characters.py`, from a Python that has Unicode 14.0 (3.11).

    python tests/vectors/make_characters.py > tables.txt

Provenance: the Unicode Character Database 14.0.0 as shipped inside CPython 3.11
(`unicodedata`). The tables never change afterwards: a later Unicode version has
more characters, and those separate words at every site alike.
"""

import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator

Test = Callable[[str, str], bool]

# Scripts written without spaces whose every character is a word of its own.
ALONE = ("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA LETTER")


def alone(character: str) -> bool:
    return unicodedata.name(character, "").startswith(ALONE)


TABLES: dict[str, Test] = {
    "LETTERS": lambda c, k: k[0] == "L" and not alone(c),
    "DIGITS": lambda _, k: k == "Nd",
    "NUMERALS": lambda _, k: k in {"Nl", "No"},
    # Variation selectors choose a glyph and enclosing marks draw around one: no letters.
    "MARKS": lambda c, k: k in {"Mn", "Mc"} and not unicodedata.name(c).startswith("VARIATION"),
    "ALONE": lambda c, k: k == "Lo" and alone(c),
    "SYMBOLS": lambda _, k: k in {"So", "Sc"},
}


def ranges(wanted: Test) -> Iterator[str]:
    start = None
    for point in range(sys.maxunicode + 2):
        character = chr(point) if point <= sys.maxunicode else ""
        inside = bool(character) and wanted(character, unicodedata.category(character))
        if inside and start is None:
            start = point
        elif not inside and start is not None:
            yield f"{start:x}-{point - 1:x}" if start < point - 1 else f"{start:x}"
            start = None


def table(name: str) -> str:
    lines = textwrap.wrap(" ".join(ranges(TABLES[name])), 100, break_on_hyphens=False)
    return "\n".join([f'{name} = """', *lines, '"""'])


if __name__ == "__main__":
    if unicodedata.unidata_version != "14.0.0":
        sys.exit(f"expected Unicode 14.0.0, found {unicodedata.unidata_version}")
    sys.stdout.write("\n\n".join(table(name) for name in TABLES) + "\n")
