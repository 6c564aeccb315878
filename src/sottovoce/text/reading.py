"""How a document is read into rows: the level, the tokens and the n-grams."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from sottovoce.errors import InputError
from sottovoce.hints import PlanSetting
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.tokenizing.sentences import sentences
from sottovoce.text.tokenizing.tokens import Tokenizer, WordTokenizer
from sottovoce.text.tokenizing.windows import Window

FEWEST_LETTERS = 3
"""Of fewer letters of a word hardly anything is left."""


class Level(StrEnum):
    """The unit that a row stands for."""

    DOCUMENT = "document"
    SENTENCE = "sentence"
    TOKEN = "token"  # noqa: S105 - a word of the text, no secret


@dataclass(frozen=True, slots=True)
class NGrams:
    """The lengths of sequences that are features: `words` (1, 2) means words and word pairs.

    `characters` (3, 5) adds stretches of three to five characters inside words, for scripts without
    spaces and misspelt text. Of a longer word only the first `letters` count: with 6, "computing"
    and "computers" are one word.
    """

    words: tuple[int, int] = (1, 1)
    characters: tuple[int, int] | None = None
    letters: int | None = None

    def __post_init__(self) -> None:
        _check_range("ngrams", "word n-grams", self.words, most=5)
        if self.letters is not None and self.letters < FEWEST_LETTERS:
            raise InputError(
                f"letters: expected at least {FEWEST_LETTERS} of a word, found {self.letters}",
                hints=(PlanSetting("letters", 7),),
                setting="letters",
            )
        if self.characters is not None:
            _check_range("characters", "character n-grams", self.characters, most=10)


def _check_range(setting: str, called: str, bounds: tuple[int, int], *, most: int) -> None:
    low, high = bounds
    if not 1 <= low <= high <= most:
        raise InputError(
            f"{called}: expected 1 <= low <= high <= {most}, found {low} and {high}",
            setting=setting,
        )


class TextRow(NamedTuple):
    """The part of a document that one row stands for, and its pieces."""

    place: Fragment
    pieces: list[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings of reading; `fingerprint` proves that all sites of a study read alike."""

    level: Level = Level.DOCUMENT
    ngrams: NGrams = field(default_factory=NGrams)
    tokenizer: Tokenizer = field(default_factory=WordTokenizer)
    window: Window = field(default_factory=Window)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of reading."""
        seen = self.window if self.level is Level.TOKEN else self.ngrams
        return fingerprint("sottovoce/reading/v1", self.level, seen, self.tokenizer.fingerprint)

    def rows(self, document: Document) -> list[TextRow]:
        """Return the rows of a document, in order."""
        text = document.text
        if self.level is Level.DOCUMENT:
            return [TextRow(Fragment(0, len(text)), self.tokenizer.pieces(text))]
        if self.level is Level.SENTENCE:
            places = sentences(text)
            return [TextRow(at, self.tokenizer.pieces(text[at.start : at.end])) for at in places]
        tokens = self.tokenizer.locate(text)
        return [
            TextRow(Fragment(token.start, token.end), pieces)
            for token, pieces in zip(tokens, self.window.pieces(text, tokens), strict=True)
        ]

    def seen_from(
        self, documents: Sequence[Document], places: Sequence[Sequence[Fragment]]
    ) -> Iterator[str]:
        """Yield the text of each row, for an encoder; for a token, the text of its window."""
        reach = self.window.reach if self.level is Level.TOKEN else 0
        for document, rows in zip(documents, places, strict=True):
            for number in range(len(rows)):
                first, last = rows[max(0, number - reach)], rows[min(len(rows) - 1, number + reach)]
                yield document.text[first.start : last.end]

    def fold(self, piece: str) -> tuple[str, ...]:
        """Return what counts of the tokens of a piece; at token level, as in `whole`."""
        tokens = self.whole(piece)
        return tokens if self.letters is None else tuple(map(self.cut, tokens))

    def whole(self, piece: str) -> tuple[str, ...]:
        """Return the tokens of a piece; at token level, the features of one item in the window."""
        if self.level is Level.TOKEN:
            return self.window.fold(piece, self.tokenizer)
        return self.tokenizer.fold(piece)

    def cut(self, token: str) -> str:
        """Return what counts of a token: all of it, or its first letters."""
        return token[: self.letters]

    @property
    def letters(self) -> int | None:
        """The number of a word's first letters that count, if not all of them do."""
        return None if self.level is Level.TOKEN else self.ngrams.letters

    def entry(self, words: str) -> list[str]:
        """Return the tokens of an entry of a word list; at token level, a feature of `fold`."""
        if self.level is Level.TOKEN:
            return [words]
        return [token for piece in self.tokenizer.pieces(words) for token in self.fold(piece)]

    @property
    def has_parts(self) -> bool:
        """Whether character n-grams count as features."""
        return self.ngrams.characters is not None and self.level is not Level.TOKEN

    def parts(self, token: str) -> list[str]:
        """Return the character n-grams of a token, with its edges marked."""
        low, high = self.ngrams.characters or (1, 0)
        edged = f"\x02{token}\x03"
        return [
            edged[start : start + size]
            for size in range(low, high + 1)
            for start in range(len(edged) - size + 1)
        ]

    @property
    def longest(self) -> int:
        """The number of words of the longest feature."""
        return 1 if self.level is Level.TOKEN else self.ngrams.words[1]

    @property
    def shortest(self) -> int:
        """The number of words of the shortest feature."""
        return 1 if self.level is Level.TOKEN else self.ngrams.words[0]
