"""A synthetic note and a collection of them: text, labels of three levels, site and patient."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args, overload

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Fragment, Origin, Span, Value

EntityType = Literal["Drug", "Symptom", "Disease", "Name", "Date"]
Section = Literal["complaint", "history", "examination", "medication", "plan"]
Task = Literal["diagnosis", "urgency"]

DIAGNOSES = (
    "cardiac",
    "digestive",
    "endocrine",
    "infectious",
    "musculoskeletal",
    "neurological",
    "renal",
    "respiratory",
)
URGENCIES = ("routine", "urgent")


@dataclass(frozen=True, slots=True)
class Entity:
    """A stretch of a note that names a drug, a symptom, a disease, a person or a day."""

    type: EntityType
    start: int
    end: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or bullet, labelled by the section in which it stands."""

    section: Section
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Patient:
    """An invented patient; the number is unique over all sites, the name need not be."""

    number: str
    name: str
    sex: Literal["female", "male"]
    age: int


@dataclass(frozen=True, slots=True)
class Note:
    """One synthetic note. No such patient, and no such visit, ever was."""

    text: str
    site: str
    patient: Patient
    diagnosis: str
    urgency: str
    sentences: tuple[Sentence, ...]
    entities: tuple[Entity, ...]

    def label(self, task: Task) -> str:
        """The label for a task: `diagnosis` (eight groups) or `urgency` (routine, urgent)."""
        return self.diagnosis if task == "diagnosis" else self.urgency

    def document(self, task: Task = "diagnosis", *, origin: Origin | None = None) -> Document:
        """The note as sources would hand it over: grouped by patient, with its spans."""
        spans = tuple(
            Span(entity.type, (Fragment(entity.start, entity.end),), f"T{index}")
            for index, entity in enumerate(self.entities, 1)
        )
        columns: dict[str, Value] = {
            "site": self.site,
            "sex": self.patient.sex,
            "age": self.patient.age,
        }
        where = origin or Origin(f"synthetic note of {self.patient.number}")
        return Document(self.text, self.label(task), self.patient.number, columns, spans, where)


@dataclass(frozen=True)
class ClinicalNotes(Sequence[Note]):
    """Synthetic notes of several sites, in the order in which the sites wrote them."""

    notes: tuple[Note, ...]
    sites: tuple[str, ...]

    def __len__(self) -> int:
        """The number of notes."""
        return len(self.notes)

    @overload
    def __getitem__(self, index: int) -> Note: ...
    @overload
    def __getitem__(self, index: slice) -> "ClinicalNotes": ...
    def __getitem__(self, index: int | slice) -> "Note | ClinicalNotes":
        """One note, or some of them."""
        if isinstance(index, slice):
            return ClinicalNotes(self.notes[index], self.sites)
        return self.notes[index]

    def __iter__(self) -> Iterator[Note]:
        """The notes in order."""
        return iter(self.notes)

    def at(self, site: str) -> "ClinicalNotes":
        """The notes of one site."""
        if site not in self.sites:
            raise InputError(f"notes: expected one of the sites {self.sites}, found {site!r}")
        return ClinicalNotes(tuple(note for note in self.notes if note.site == site), (site,))

    @property
    def texts(self) -> list[str]:
        """The text of every note."""
        return [note.text for note in self.notes]

    def labels(self, task: Task = "diagnosis") -> list[str]:
        """The label of every note for a task."""
        if task not in get_args(Task):
            raise InputError(f"notes: expected a task of {get_args(Task)}, found {task!r}")
        return [note.label(task) for note in self.notes]

    @property
    def groups(self) -> list[str]:
        """The patient of every note: a patient's notes belong on one side of a split."""
        return [note.patient.number for note in self.notes]

    def documents(self, task: Task = "diagnosis") -> tuple[Document, ...]:
        """The notes as documents that may be read any number of times."""
        return tuple(
            note.document(task, origin=Origin(f"synthetic notes of {note.site}", number))
            for number, note in enumerate(self.notes, 1)
        )
