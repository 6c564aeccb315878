"""Synthetic clinical notes: hospital-flavoured text with labels, and nobody's record."""

from sottovoce.datasets.notes.files import Format, write_notes
from sottovoce.datasets.notes.generate import clinical_notes
from sottovoce.datasets.notes.records import (
    DIAGNOSES,
    URGENCIES,
    ClinicalNotes,
    Entity,
    Note,
    Patient,
    Sentence,
)

__all__ = [
    "DIAGNOSES",
    "URGENCIES",
    "ClinicalNotes",
    "Entity",
    "Format",
    "Note",
    "Patient",
    "Sentence",
    "clinical_notes",
    "write_notes",
]
