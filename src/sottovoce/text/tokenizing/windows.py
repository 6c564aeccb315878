"""The features of a token in its context: its neighbours, affixes, shape and case.

A *piece* here is one item of the window (`0|Diabetes` is the token itself, `-1|of` the token before
it). It folds to features that depend on the piece alone, so folding can be cached.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sottovoce.errors import InputError
from sottovoce.text.tokenizing.tokens import Token, Tokenizer

EDGE = "\N{START OF HEADING}"
_LONGEST_SHAPE = 8
_LONGEST_GAP = 8


@dataclass(frozen=True, slots=True)
class Window:
    """A token's context: `reach` tokens on either side, affixes of up to `affix` characters."""

    reach: int = 2
    affix: int = 4
    pairs: bool = True
    gaps: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.reach <= 8 and 0 <= self.affix <= 8):
            raise InputError(
                f"window: expected a reach and affixes from 0 to 8, "
                f"found {self.reach} and {self.affix}",
                setting="reach",
            )

    def pieces(self, text: str, tokens: Sequence[Token]) -> Iterator[list[str]]:
        """Yield the pieces of the window around each token."""
        words = [text[token.start : token.end] for token in tokens]
        padded = [EDGE] * self.reach + words + [EDGE] * self.reach
        gaps = self._gaps(text, tokens)
        offsets = range(-self.reach, self.reach + 1)
        for index in range(len(words)):
            seen = [f"{k}|{padded[index + self.reach + k]}" for k in offsets]
            if self.pairs and self.reach:
                before, word, after = padded[index + self.reach - 1 : index + self.reach + 2]
                seen += [f"<|{before}|{word}", f">|{word}|{after}"]
            if self.gaps:
                seen += [f"(|{gaps[index]}", f")|{gaps[index + 1]}"]
            yield seen

    def fold(self, piece: str, tokenizer: Tokenizer) -> tuple[str, ...]:
        """Return the features of one item in the window."""
        where, _, seen = piece.partition("|")
        if where in {"<", ">"}:
            return (f"{where}{' '.join(_word(part, tokenizer) for part in seen.split('|'))}",)
        if where in {"(", ")"}:
            return (f"{where}{seen}",)
        word = _word(seen, tokenizer)
        features = [f"{where}={word}"]
        if seen == EDGE:
            return tuple(features)
        features += [f"{where}shape={shape(seen)}"]
        if where == "0":
            sizes = range(1, min(self.affix, len(word)) + 1)
            features += [f"0^{word[:size]}" for size in sizes]
            features += [f"0${word[-size:]}" for size in sizes]
        elif self.affix:
            features += [f"{where}${word[-min(self.affix, 3) :]}"]
        return tuple(features)

    def _gaps(self, text: str, tokens: Sequence[Token]) -> list[str]:
        """Return the characters between tokens, without white space: one item more than tokens."""
        starts = [token.start for token in tokens] + [len(text)]
        ends = [0] + [token.end for token in tokens]
        gaps = (text[end:start] for end, start in zip(ends, starts, strict=True))
        return ["".join(gap[:64].split())[:_LONGEST_GAP] for gap in gaps]


def _word(seen: str, tokenizer: Tokenizer) -> str:
    return seen if seen == EDGE else " ".join(tokenizer.fold(seen))


def shape(word: str) -> str:
    """Return a word's shape without repeats: `McDonald` is XxXx, `COVID-19` is X-0."""
    signs = [_sign(character) for character in word]
    kept = [sign for index, sign in enumerate(signs) if index == 0 or sign != signs[index - 1]]
    return "".join(kept)[:_LONGEST_SHAPE] + ("" if len(word) > 1 else "1")


def _sign(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Lu", "Lt"}:
        return "X"
    return {"L": "x", "N": "0", "M": "x"}.get(category[0], character)
