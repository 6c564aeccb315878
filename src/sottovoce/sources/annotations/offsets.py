"""Checks that an annotation's offsets lead to the text that it states.

Offsets count code points of the text as it stands in its file. Two conventions in which tools
differ are tried before an offset is called wrong: whether a byte order mark counts, and whether CR
LF counts as one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_BREAKS = str.maketrans("\r\n", "  ")
_SPACES = re.compile(r" +")
_NEARBY = 2000


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity as a line states it: places in the text, and the words at these places."""

    line: int
    name: str
    type: str
    places: tuple[tuple[int, int], ...]
    covered: str


@dataclass(frozen=True, slots=True)
class TextFrame:
    """A text in which offsets are counted, and how it was changed for that."""

    text: str
    marked: bool = False
    note: str = ""

    def mismatch(self, mention: Mention) -> str:
        """Return why the offsets are wrong, without quoting the text; empty if they are right."""
        end = max(end for _, end in mention.places)
        if end > len(self.text):
            return (
                f"offset {end} is past the end of the text ({len(self.text):,} characters)"
                + self._as_utf16(mention)
            )
        if covers(self.text, mention):
            return ""
        start = mention.places[0][0]
        return f"the text at {_words(mention)} is not the annotated one" + (
            self._as_utf16(mention) or self._elsewhere(mention, start)
        )

    def _elsewhere(self, mention: Mention, start: int) -> str:
        if len(mention.places) > 1 or not mention.covered:
            return ""
        low = max(0, start - _NEARBY)
        window = self.text[low : start + _NEARBY + len(mention.covered)].translate(_BREAKS)
        starts = [
            low + at.start() for at in re.finditer(f"(?={re.escape(mention.covered)})", window)
        ]
        if not starts:
            return ""
        shift = min((at - start for at in starts), key=abs)
        return f", which stands {abs(shift)} characters {'later' if shift > 0 else 'earlier'}"

    def _as_utf16(self, mention: Mention) -> str:
        """Return a note if the offsets fit in UTF-16 units, which some tools count."""
        if self.text.isascii() or max(self.text) <= "\uffff":
            return ""
        units = self.text.encode("utf-16-le", "surrogatepass")
        pieces = [
            units[2 * start : 2 * end].decode("utf-16-le", "replace")
            for start, end in mention.places
        ]
        same = " ".join(pieces).translate(_BREAKS) == mention.covered.translate(_BREAKS)
        return ", but is if offsets count UTF-16 units" if same else ""


def covers(text: str, mention: Mention) -> bool:
    """Return whether `mention`'s places hold its words; line breaks count as spaces."""
    covered = " ".join(text[start:end] for start, end in mention.places).translate(_BREAKS)
    stated = mention.covered.translate(_BREAKS)
    return (
        covered == stated or _SPACES.sub(" ", covered).strip() == _SPACES.sub(" ", stated).strip()
    )


def best_frame(text: TextFrame, mentions: Sequence[Mention]) -> TextFrame:
    """Return the way of counting under which most mentions match; by default the plain one."""

    def wrong(frame: TextFrame) -> int:
        return sum(not _fits(frame.text, mention) for mention in mentions)

    if not wrong(text):
        return text
    return min((text, *_others(text)), key=wrong)


def _fits(text: str, mention: Mention) -> bool:
    return max(end for _, end in mention.places) <= len(text) and covers(text, mention)


def _others(frame: TextFrame) -> list[TextFrame]:
    """Return other ways of counting that the file allows, the likelier first."""
    others = []
    if frame.marked:
        kept = "\ufeff" + frame.text
        others.append(replace(frame, text=kept, note="offsets count the byte order mark"))
    if "\r\n" in frame.text:
        joined = frame.text.replace("\r\n", "\n")
        others.append(replace(frame, text=joined, note="offsets count CR LF as one character"))
    return others


def _words(mention: Mention) -> str:
    return ";".join(f"{start} {end}" for start, end in mention.places)
