"""Cuts a text into sentences by rules for clinical notes, without a model or a language setting.

The end of a line ends a sentence unless the line was only wrapped. A full stop ends a sentence
unless it belongs to an abbreviation, an initial, a number or a list's enumerator. Every sentence is
a fragment of its text.
"""

import re
import unicodedata
from collections.abc import Iterator
from itertools import pairwise

from sottovoce.text.documents import Fragment

# A full stop after these never ends a sentence, because they introduce something.
TITLES = frozenset(
    """
    dr drs mr mrs ms mx prof rev hon st gen col maj capt lt sgt fr sen gov messrs
    cf viz vs e.g i.e dept pt pts hx dx rx tx sx fx resp approx ca bzw z.b d.h u.a
    """.split()  # noqa: SIM905 - a list of words is read as words
)
# A full stop after these belongs to them if a number follows ("No. 5", "Sept. 3").
COUNTERS = frozenset(
    """
    no nos nr fig figs vol pp p ed ref refs sec eq art ch par tab cap al ext tel temp wt ht bp hr
    jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()  # noqa: SIM905 - as above
)

_BULLET = r"(?:[-*•‣▪◦●○·–—+>]|\(?(?:[0-9]{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)])(?=\s)"
_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MARK = re.compile(_BULLET)
_HEADING = re.compile(r"[^.!?]{1,60}:$")
# "Doctor:", "History of present illness:" at the start of a line.
_SPEAKER = re.compile(r"[^\s0-9:][^:.!?\r\n]{0,40}:(?=\s|$)")
_INK = re.compile(r"\S")
_CLOSERS = "\"'”’»)\\]}›"
_END = re.compile(rf"[.!?…]+[{_CLOSERS}]*(?=\s)|[。！？｡]+[{_CLOSERS}」』）】]*")
_OPENERS = "\"'“‘«([{‹¿¡"
# A line of this length was probably wrapped by an editor, not ended by its writer.
_FULL_LINE = 60


def sentences(text: str) -> list[Fragment]:
    """Return the sentences of a text, in order, without the white space around them."""
    result = []
    for start, end in _paragraphs(text):
        pairs = pairwise([start, *_stops(text, start, end), end])
        result += [piece for first, last in pairs if (piece := _trimmed(text, first, last))]
    return result


def _trimmed(text: str, start: int, end: int) -> Fragment | None:
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip())
    return Fragment(first, last) if first < last else None


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield runs of lines that belong together: a new one starts if a line was not wrapped."""
    open_start, open_end = -1, -1
    for match in _LINE.finditer(text):
        ink = _INK.search(match.group())
        if ink is None:
            continue
        start = match.start() + ink.start()
        if open_start < 0:
            open_start = start
        elif not _wrapped(text, open_start, open_end, start):
            yield open_start, open_end
            open_start = start
        open_end = match.end()
    if open_start >= 0:
        yield open_start, open_end


def _wrapped(text: str, start: int, end: int, following: int) -> bool:
    """Return whether the line that starts at `following` continues the one that ends at `end`."""
    gap = text[end:following]
    if gap.replace("\r\n", "\n").count("\n") > 1 or gap.strip(" \t\r\n"):
        return False
    line = text[max(text.rfind("\n", start, end) + 1, start) : end].strip()
    rest = text[following : following + 64]
    if _MARK.match(rest) or _SPEAKER.match(rest) or _HEADING.match(line):
        return False
    if _END.search(line + " ", len(line.rstrip(_CLOSERS.replace("\\", ""))) - 1):
        return _is_lower(rest[0]) or _is_abbreviation(line, rest)
    return _is_lower(rest[0]) or line[-1] in ",;-–(/&" or len(line) >= _FULL_LINE


def _stops(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of sentences inside a paragraph."""
    mark = _MARK.match(text, start, end)
    for match in _END.finditer(text, mark.end() if mark else start, end):
        if match.group()[0] in "。！？｡" or _ends(text, match, end):
            yield match.end()


def _ends(text: str, match: re.Match[str], end: int) -> bool:
    rest = text[match.end() : min(end, match.end() + 64)].lstrip()
    if not rest:
        return True
    head = rest.lstrip(_OPENERS)
    if head and _is_lower(head[0]):
        return False
    stop = match.group()
    if not stop.startswith(".") or stop.startswith(".."):
        return True
    return not _is_abbreviation(text[max(0, match.start() - 32) : match.start() + 1], head)


def _is_abbreviation(before: str, following: str) -> bool:
    """Return whether the full stop at the end of `before` belongs to the word before it."""
    words = before.removesuffix(".").split()
    if not words or not before.endswith("."):
        return False
    word = words[-1].lstrip(_OPENERS + "-–/")
    if word.casefold() in TITLES:
        return True
    if word.casefold() in COUNTERS:
        return following[:1].isdigit()
    # An initial, unless it is a unit ("38.5 C.") or the word I.
    initial = len(word) == 1 and word.isalpha() and not _is_lower(word) and word != "I"
    return initial and not "".join(words[-2:-1])[-1:].isdigit()


def _is_lower(character: str) -> bool:
    # Only cased scripts below U+0590, whose properties have not changed in twenty years.
    return character < "\u0590" and unicodedata.category(character) == "Ll"
