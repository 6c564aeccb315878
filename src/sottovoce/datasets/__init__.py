"""Data to try things on: the paper's table, synthetic clinical notes, public corpora."""

from sottovoce.datasets.corpora import load_bbc_news, load_movie_reviews
from sottovoce.datasets.ionosphere import Ionosphere, LabelledTable, load_ionosphere
from sottovoce.datasets.notes import ClinicalNotes, Note, clinical_notes, write_notes

__all__ = [
    "ClinicalNotes",
    "Ionosphere",
    "LabelledTable",
    "Note",
    "clinical_notes",
    "load_bbc_news",
    "load_ionosphere",
    "load_movie_reviews",
    "write_notes",
]
