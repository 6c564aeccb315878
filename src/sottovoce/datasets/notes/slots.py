"""Words for the gaps of a sentence: a site's words for one case.

Evidence for the label is mixed with what real notes are full of: negated findings, other
people's diseases, old diagnoses and drugs for something else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sottovoce.datasets.notes import people
from sottovoce.datasets.notes.dialect import Concept, Dialect, Group
from sottovoce.datasets.notes.draw import Draw, Menu
from sottovoce.datasets.notes.records import DIAGNOSES, EntityType, Patient

_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_UNITS = (("day", "7", "d"), ("week", "52", "w"), ("month", "12", "m"))
_DOSES = ("2.5 mg", "5 mg", "10 mg", "20 mg", "25 mg", "40 mg", "50 mg", "75 mg", "80 mg",
          "100 mg", "150 mg", "200 mg", "250 mg", "400 mg", "500 mg", "1 g")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """A patient, the place of the visit, and the subject of the note."""

    dialect: Dialect
    patient: Patient
    diagnosis: str
    urgency: str
    year: int
    job: str


@dataclass(frozen=True, slots=True)
class SlotFiller:
    """The site's words for one case, drawn one after the other."""

    case: Case
    draw: Draw

    def own(self, likely: float) -> Group:
        """The words of the diagnosis, or, now and then, of something else."""
        groups = self.case.dialect.groups
        if self.draw.chance(likely):
            return groups[self.case.diagnosis]
        return groups[self.draw.pick(DIAGNOSES)]

    def other(self) -> Group:
        """The words of a diagnosis that the note is not about."""
        place = DIAGNOSES.index(self.case.diagnosis)
        step = self.draw.between(1, len(DIAGNOSES) - 1)
        return self.case.dialect.groups[DIAGNOSES[(place + step) % len(DIAGNOSES)]]

    def say(self, menu: Menu[Concept]) -> str:
        """One thing of the menu, in one of its forms."""
        return menu.draw(self.draw).draw(self.draw)

    def listed(self, kind: str) -> str:
        """One of the words that the site lists under `kind`."""
        return self.case.dialect.lists[kind].draw(self.draw)

    def pronoun(self, female: str, male: str) -> str:
        """The one that fits the patient."""
        return female if self.case.patient.sex == "female" else male

    def date(self) -> str:
        """A day of the note's year, as the site writes days."""
        day, month = self.draw.between(1, 28), self.draw.between(1, 12)
        return self.case.dialect.date.format(d=day, m=month, M=_MONTHS[month - 1], y=self.case.year)

    def duration(self) -> str:
        """Some days, weeks or months, as the site writes them."""
        unit, code, letter = self.draw.pick(_UNITS)
        number = self.draw.between(2, 9)
        return self.case.dialect.duration.format(n=number, unit=unit, code=code, letter=letter)

    def vitals(self) -> str:
        """Blood pressure, pulse and temperature."""
        draw = self.draw
        pressure = f"{draw.between(90, 190)}/{draw.between(50, 110)}"
        return f"BP {pressure} HR {draw.between(48, 130)} T {draw.between(355, 399) / 10}°C"


@dataclass(frozen=True, slots=True)
class Slot:
    """The words in a slot, and their kind of entity."""

    write: Callable[[SlotFiller], str]
    type: EntityType | None = None
    negated: bool = False


def misspelt(word: str, draw: Draw) -> str:
    """The word with two letters swapped, one lost, or one doubled."""
    if len(word) < 4:
        return word
    place = draw.between(1, len(word) - 3)
    kind = draw.below(3)
    if kind == 0:
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return word[:place] + word[place] * (2 * kind - 2) + word[place + 1 :]


def _phrases(kind: str) -> Callable[[SlotFiller], str]:
    return lambda filler: filler.listed(kind)


SLOTS: Mapping[str, Slot] = {
    "symptom": Slot(lambda v: v.say(v.own(0.8).symptoms), "Symptom"),
    "sign": Slot(lambda v: v.say(v.own(0.7).symptoms), "Symptom"),
    "nosymptom": Slot(lambda v: v.say(v.other().symptoms), "Symptom", negated=True),
    "disease": Slot(lambda v: v.say(v.own(0.8).diseases), "Disease"),
    "past": Slot(lambda v: v.say(v.own(0.1).diseases), "Disease"),
    "nodisease": Slot(lambda v: v.say(v.other().diseases), "Disease", negated=True),
    "term": Slot(lambda v: v.own(0.6).terms.draw(v.draw), "Disease"),
    "drug": Slot(lambda v: v.say(v.own(0.6).drugs), "Drug"),
    "test": Slot(lambda v: v.say(v.own(0.6).tests)),
    "name": Slot(lambda v: v.case.patient.name, "Name"),
    "doctor": Slot(lambda v: people.surname(v.draw), "Name"),
    "date": Slot(SlotFiller.date, "Date"),
    "dose": Slot(lambda v: v.draw.pick(_DOSES)),
    "freq": Slot(lambda v: v.say(v.case.dialect.frequency)),
    "acuity": Slot(lambda v: v.say(v.case.dialect.acuity[v.case.urgency])),
    "duration": Slot(SlotFiller.duration),
    "vitals": Slot(SlotFiller.vitals),
    "town": Slot(lambda v: people.town(v.draw)),
    "year": Slot(lambda v: str(v.draw.between(1985, v.case.year))),
    "age": Slot(lambda v: str(v.case.patient.age)),
    "Age": Slot(lambda v: f"{v.case.patient.age}y"),
    "sex": Slot(lambda v: v.pronoun("woman", "man")),
    "he": Slot(lambda v: v.pronoun("she", "he")),
    "He": Slot(lambda v: v.pronoun("She", "He")),
    "him": Slot(lambda v: v.pronoun("her", "him")),
    "His": Slot(lambda v: v.pronoun("Her", "His")),
    "job": Slot(lambda v: v.case.job),
    **{
        kind: Slot(_phrases(kind))
        for kind in ("living", "body", "severity", "state", "result", "contact", "told", "ward")
    },
}
