"""Text from outside: what may stand in a study, what may become a path, how the rest is shown.

A control character, or one that changes the direction of text, could make a
screen say what nobody wrote. So plans, rosters, invitations and messages hold printable characters
only, and whatever else reaches a screen is shown escaped.
"""

import re
import unicodedata
from collections.abc import Iterator

MAX_NAME = 120
"""Characters of a name, a label, an organisation: more could fill a screen with its own lines."""
MAX_WORDS = 400
"""Characters of a sentence, such as the approval of a study."""

# Marks over one letter: no script in use has more.
_MOST_MARKS = 4
_PATH_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
# Printable by Unicode's classes, but drawn as nothing or as empty space.
_INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}


def is_printable(character: str) -> bool:
    """Whether a screen draws this character in its place and does nothing else."""
    return character.isprintable() and character not in _INVISIBLE


def _judged(text: str) -> Iterator[tuple[str, bool]]:
    """Every character, and whether it stays in its place; a pile of marks reaches other lines."""
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.category(character)[0] == "M" else 0
        yield character, is_printable(character) and marks <= _MOST_MARKS


def unprintable_in(text: str) -> str | None:
    """The first character that may not stand in a text from outside, by number and place."""
    if text.isascii() and text.isprintable():
        return None
    for place, (character, harmless) in enumerate(_judged(text), 1):
        if not harmless:
            return f"U+{ord(character):04X} at character {place}"
    return None


def fault_in(text: str, *, most: int = MAX_NAME) -> str | None:
    """Why a text cannot stand in a study, as "expected …, found …"; None if it can."""
    unprintable = unprintable_in(text)
    if unprintable:
        return f"expected printable characters only, found {unprintable}"
    if len(text) > most:
        return f"expected at most {most} characters, found {len(text)}"
    if not text or text != " ".join(text.split()):
        return "expected words with single spaces between them, found other spaces"
    return None


def is_path_name(text: str) -> bool:
    """Whether a name from outside may become the name of a file or a folder."""
    return _PATH_NAME.fullmatch(text) is not None


def markdown(text: str) -> str:
    """The text as a Markdown page shows it, none of it read as a mark."""
    return re.sub(r"([\\`*\[\]<>|~&])", r"\\\1", escaped(text))


def escaped(text: str) -> str:
    r"""The text with every unprintable character written as \x1b, \u202e or \U000e0001."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if harmless else _code(character) for character, harmless in _judged(text)
    )


def escaped_lines(text: str) -> str:
    """As `escaped`, for text of several lines: line breaks stay."""
    return "\n".join(map(escaped, text.split("\n")))


def escaped_json(text: str) -> str:
    """A JSON text, which has such characters in strings only, with JSON's own escapes."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(
        character if character == "\n" or is_printable(character) else _json_code(character)
        for character in text
    )


def _code(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _json_code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
