"""A fingerprint as words that people read to each other by phone.

The list is the PGP word list (Juola and Zimmermann, 1995): even places have words of two
syllables, odd places of three, so that people hear a missing or swapped word.
"""

from functools import cache
from importlib.resources import files

from sottovoce.errors import MisuseError

# An attacker who chooses keys could search for two rosters with the same words: 2^64 trials at 16.
WORDS = 16
_GROUP = 4


def in_words(fingerprint: bytes, *, count: int = WORDS) -> tuple[str, ...]:
    """The first `count` bytes, one word for each."""
    if len(fingerprint) < count:
        raise MisuseError(f"words: expected at least {count} bytes, found {len(fingerprint)}")
    table = _table()
    return tuple(table[byte][place % 2] for place, byte in enumerate(fingerprint[:count]))


def in_lines(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words, four in a line."""
    return tuple(" ".join(words[start : start + _GROUP]) for start in range(0, len(words), _GROUP))


@cache
def _table() -> tuple[tuple[str, str], ...]:
    """The two words of every byte, for an even and an odd position."""
    text = files("sottovoce.node").joinpath("words.txt").read_text(encoding="ascii")
    pairs = (line.split() for line in text.splitlines())
    return tuple((even, odd) for even, odd in pairs)
