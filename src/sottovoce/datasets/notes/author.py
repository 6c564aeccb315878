"""Writes one note: sentences in a site's style, filled in for a patient and a diagnosis."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sottovoce.datasets.notes.dialect import Remark, Template, remarks
from sottovoce.datasets.notes.draw import Draw
from sottovoce.datasets.notes.records import Entity, Note, Section, Sentence
from sottovoce.datasets.notes.slots import SLOTS, Case, SlotFiller, misspelt

_SECTIONS: tuple[tuple[Section, float, int], ...] = (
    # section, how likely it stands in a note, most sentences
    ("complaint", 1.0, 3),
    ("history", 0.75, 2),
    ("examination", 0.85, 2),
    ("medication", 0.75, 3),
    ("plan", 0.9, 2),
)


@dataclass(slots=True)
class Page:
    """A growing text, and the offsets of the names in it."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    entities: list[Entity] = field(default_factory=list)
    sentences: list[Sentence] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Append `text`."""
        self.parts.append(text)
        self.length += len(text)

    def replace_last(self, text: str) -> None:
        """Write `text` in place of what was written last, which was as long."""
        self.parts[-1] = text


class Author:
    """Fills the slots of sentences for one case."""

    def __init__(self, case: Case, draw: Draw) -> None:
        self._case = case
        self._draw = draw
        self._filler = SlotFiller(case, draw)
        self._page = Page()

    def note(self) -> Note:
        """The whole note."""
        case, draw, page = self._case, self._draw, self._page
        manner = case.dialect.manners.draw(draw)
        if manner == "letter":
            self._line(("Dear Dr ", "doctor", ","))
        for section, likely, most in _SECTIONS:
            if draw.chance(likely):
                self._section(section, remarks()[manner][section], draw.between(1, most), manner)
        if manner == "letter":
            self._line(("Yours sincerely, Dr ", "doctor", ""))
        text = "".join(page.parts)
        return Note(
            text=text,
            site=case.dialect.site,
            patient=case.patient,
            diagnosis=case.diagnosis,
            urgency=case.urgency,
            sentences=tuple(page.sentences),
            entities=tuple(page.entities),
        )

    def _section(
        self, section: Section, choices: Sequence[Remark], count: int, manner: str
    ) -> None:
        page, dialect = self._page, self._case.dialect
        bullets = dialect.bullets and manner != "letter"
        if manner != "letter":
            page.write(f"{dialect.headings[section]}:\n")
        first = self._draw.below(len(choices))
        for index in range(count):
            page.write("- " if bullets else "")
            for sentence in choices[(first + 2 * index) % len(choices)]:
                start = page.length
                self._fill(sentence, capital=manner != "brief")
                page.sentences.append(Sentence(section, start, page.length))
                page.write(" ")
            page.replace_last("\n" if bullets or index == count - 1 else " ")

    def _line(self, template: Template) -> None:
        self._fill(template, capital=False)
        self._page.write("\n")

    def _fill(self, template: Template, *, capital: bool) -> None:
        for index, piece in enumerate(template):
            if index % 2:
                text = self._slot(piece, capital=capital)
            else:
                text = self._mistyped(piece)
                self._page.write(text)
            capital = capital and not text

    def _slot(self, name: str, *, capital: bool) -> str:
        slot = SLOTS[name]
        text = slot.write(self._filler)
        if slot.type not in {"Name", "Date"}:
            text = self._mistyped(text)
        if capital:
            text = text[:1].upper() + text[1:]
        start = self._page.length
        self._page.write(text)
        if slot.type is not None:
            self._page.entities.append(Entity(slot.type, start, self._page.length, slot.negated))
        return text

    def _mistyped(self, text: str) -> str:
        if len(text) < 5 or not self._draw.chance(self._case.dialect.typo_rate):
            return text
        words = text.split(" ")
        place = self._draw.below(len(words))
        words[place] = misspelt(words[place], self._draw)
        return " ".join(words)
