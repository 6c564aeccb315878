"""Turns text into tokens, the same on every machine, in every locale, under every Python.

A *piece* is the text between two white spaces. It folds to zero or more tokens, which depend on the
piece alone, so folding can be cached:

    "Dr. Müller's (12.5mg)"  ->  pieces  Dr.  Müller's  (12.5mg)
                             ->  tokens  dr   müller's   00.0mg

Words are runs of the letters, marks and numerals in `characters`; an apostrophe
between letters and a point, comma, colon, slash or hyphen between digits stay
inside. An ideograph or hiragana letter is a token of its own (word pairs then have the role of
words), and so is a symbol, because £ and 🙂 help to tell classes apart.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple, Protocol

from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.tokenizing.characters import (
    ALONE,
    DIGITS,
    LETTERS,
    MARKS,
    NUMERALS,
    SYMBOLS,
    character_class,
)

# Invisible characters that may be inside a word: soft hyphen, zero-width (non-)joiner, word joiner,
# variation selectors. Folding removes them.
JOINERS = "\u00ad\u200c\u200d\u2060\ufe00-\ufe0f"
APOSTROPHES = "'\u2019"
# Characters around a word that are not tokens; the dollar sign is a token.
_AROUND = "!\"#%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# A longer run of digits is cut to this length, because more digits tell nothing more.
LONGEST_RUN = 12
# A word that starts with a letter keeps up to this many digits (b12, h1n1).
KEPT_DIGITS = 3


class DigitHandling(StrEnum):
    """What happens to digits: `shape` folds each to 0, `keep` leaves them unchanged."""

    SHAPE = "shape"
    KEEP = "keep"


class Token(NamedTuple):
    """A token at its place in a text, text[start:end], and its folded form."""

    start: int
    end: int
    folded: tuple[str, ...]


class Tokenizer(Protocol):
    """The interface of a tokenizer; pass your own to read text differently.

    `fold(piece)` must depend on the piece alone, and `fingerprint` must change whenever any result
    of `fold` does.
    """

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of reading."""

    def pieces(self, text: str) -> list[str]:
        """Return the text cut into pieces, each of which folds independently."""

    def fold(self, piece: str) -> tuple[str, ...]:
        """Return the tokens of a piece, in order."""

    def locate(self, text: str) -> list[Token]:
        """The tokens of a text with their offsets, in code points."""


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """The default tokenizer of studies."""

    fold_case: bool = True
    numbers: DigitHandling = DigitHandling.SHAPE
    symbols: bool = True

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of reading."""
        return fingerprint("sottovoce/tokens/v1 unicode 14.0", self)

    def pieces(self, text: str) -> list[str]:
        """Split a text at white space."""
        return text.split()

    def fold(self, piece: str) -> tuple[str, ...]:
        """Return the tokens of a piece: normalised (NFKC), case folded, digits folded to shapes."""
        if piece.isascii():
            # Most pieces are one plain word, which needs no table.
            word = piece.strip(_AROUND)
            if word.isalpha():
                return (word.lower() if self.fold_case else word,)
        words = _pattern(symbols=self.symbols).findall(piece)
        return tuple(token for raw in words for token in self._tokens(raw))

    def locate(self, text: str) -> list[Token]:
        """The tokens of a text with their offsets, in code points."""
        return [
            Token(match.start(), match.end(), self._tokens(match.group()))
            for match in _pattern(symbols=self.symbols).finditer(text)
        ]

    def _tokens(self, raw: str) -> tuple[str, ...]:
        if raw.isascii():
            return (self._digits(raw.lower() if self.fold_case else raw),)
        word = _normal(raw, fold_case=self.fold_case)
        # One character can stand for several words (½, ﷺ), so these are searched again.
        return tuple(map(self._digits, _pattern(symbols=self.symbols).findall(word)))

    def _digits(self, word: str) -> str:
        if self.numbers is DigitHandling.KEEP or word.isalpha():
            return word
        digit = _digit()
        if digit.match(word) or len(digit.findall(word)) > KEPT_DIGITS:
            return _long_run().sub("0" * LONGEST_RUN, digit.sub("0", word))
        return word


def _normal(raw: str, *, fold_case: bool) -> str:
    """Return NFKC without invisible joiners and, if asked, case; it is stable when repeated."""
    word = unicodedata.normalize("NFKC", _joiners().sub("", raw).replace("\u2019", "'"))
    if not fold_case:
        return word
    # Folding can undo normal form, and normalising can bring back case (K, ῌ), so do it twice.
    for _ in range(2):
        word = unicodedata.normalize("NFKC", word.casefold())
    return word


@cache
def _pattern(*, symbols: bool) -> re.Pattern[str]:
    digit = f"[{character_class(DIGITS)}]"
    base = f"[{character_class(LETTERS, DIGITS, NUMERALS)}]"
    word = f"[{character_class(LETTERS, DIGITS, NUMERALS, MARKS)}]"
    single = f"[{character_class(ALONE, SYMBOLS) if symbols else character_class(ALONE)}]"
    return re.compile(
        rf"{digit}+(?:[.,:/\-]{digit}+)+{word}*"
        rf"|{base}{word}*(?:(?:[{APOSTROPHES}]|[{JOINERS}]+){word}+)*"
        rf"|{single}"
    )


@cache
def _digit() -> re.Pattern[str]:
    return re.compile(f"[{character_class(DIGITS)}]")


@cache
def _long_run() -> re.Pattern[str]:
    return re.compile(f"0{{{LONGEST_RUN},}}")


@cache
def _joiners() -> re.Pattern[str]:
    return re.compile(f"[{JOINERS}]+")
