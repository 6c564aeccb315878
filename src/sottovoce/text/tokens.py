"""From text to tokens: the same ones on every machine, in every locale, under every Python.

A *piece* is the text between two white spaces. It folds to zero or more tokens that depend on
nothing around it, so folding can be remembered:

    "Dr. Müller's (12.5mg)"  ->  pieces  Dr.  Müller's  (12.5mg)
                             ->  tokens  dr   müller's   00.0mg

Words are runs of the letters, marks and numerals in `characters`; an apostrophe
between letters and a point, comma, colon, slash or hyphen between digits stay
inside. An ideograph or hiragana letter is a token of its own (word pairs then
do what words do elsewhere), and so is a symbol: £ and 🙂 tell classes apart.
"""

import re
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import NamedTuple, Protocol

from sottovoce.text.characters import (
    ALONE,
    DIGITS,
    LETTERS,
    MARKS,
    NUMERALS,
    SYMBOLS,
    character_class,
)
from sottovoce.text.fingerprints import fingerprint

# Invisible characters that may stand inside a word: soft hyphen, zero-width
# (non-)joiner, word joiner, variation selectors. Folding removes them.
JOINERS = "\u00ad\u200c\u200d\u2060\ufe00-\ufe0f"
APOSTROPHES = "'\u2019"
# Characters that may stand around a word and are no tokens; the dollar sign is a token.
_AROUND = "!\"#%&'()*+,-./:;<=>?@[\\]^_`{|}~"
# A run of digits longer than this says no more than one of this length.
LONGEST_RUN = 12
# A word that starts with a letter keeps up to this many digits (b12, h1n1).
KEPT_DIGITS = 3


class DigitHandling(StrEnum):
    """The treatment of digits: `shape` folds each to 0, `keep` leaves them as they are."""

    SHAPE = "shape"
    KEEP = "keep"


class Token(NamedTuple):
    """A token as it stands in a text: text[start:end], and what it folds to."""

    start: int
    end: int
    folded: tuple[str, ...]


class Tokenizer(Protocol):
    """The interface of a tokenizer; pass your own to read text differently.

    `fold(piece)` must not depend on anything but the piece, and `fingerprint`
    must change whenever any fold does.
    """

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of reading."""

    def pieces(self, text: str) -> list[str]:
        """The text cut into pieces, each of which folds by itself."""

    def fold(self, piece: str) -> tuple[str, ...]:
        """The tokens of a piece, in order."""

    def locate(self, text: str) -> list[Token]:
        """The tokens of a text with their offsets, in code points."""


@dataclass(frozen=True, slots=True)
class WordTokenizer:
    """The tokenizer that studies use unless they say otherwise."""

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
        """The tokens of a piece: normalised (NFKC), case folded, digits folded to shapes."""
        if piece.isascii():
            # The commonest piece is one plain word, and needs no table.
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
        # One character can stand for several words (½, ﷺ): those are found anew.
        return tuple(map(self._digits, _pattern(symbols=self.symbols).findall(word)))

    def _digits(self, word: str) -> str:
        if self.numbers is DigitHandling.KEEP or word.isalpha():
            return word
        digit = _digit()
        if digit.match(word) or len(digit.findall(word)) > KEPT_DIGITS:
            return _long_run().sub("0" * LONGEST_RUN, digit.sub("0", word))
        return word


def _normal(raw: str, *, fold_case: bool) -> str:
    """NFKC without invisible joiners and, if asked, without case: stable when repeated."""
    word = unicodedata.normalize("NFKC", _joiners().sub("", raw).replace("\u2019", "'"))
    if not fold_case:
        return word
    # Folding can undo normal form and normalising can bring back case (K, ῌ): twice settles it.
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
