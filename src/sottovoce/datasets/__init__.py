"""Data to try things on: the paper's table, and synthetic clinical notes."""

from sottovoce.datasets.ionosphere import Ionosphere, Table, load_ionosphere
from sottovoce.datasets.notes import ClinicalNotes, Note, clinical_notes, write_notes

__all__ = [
    "ClinicalNotes",
    "Ionosphere",
    "Note",
    "Table",
    "clinical_notes",
    "load_ionosphere",
    "write_notes",
]
