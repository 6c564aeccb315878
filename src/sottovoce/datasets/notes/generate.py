"""Synthetic clinical notes of several sites: labelled, grouped by patient, and nobody's."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from sottovoce.datasets.notes import people
from sottovoce.datasets.notes.author import Author
from sottovoce.datasets.notes.dialect import Dialect, dialect_of
from sottovoce.datasets.notes.draw import Draw
from sottovoce.datasets.notes.records import ClinicalNotes, Note
from sottovoce.datasets.notes.slots import Case
from sottovoce.errors import InputError

SITES = (
    "north", "harbour", "valley", "lakeside", "castle", "meadow", "bridge", "abbey", "hillside",
    "quarry", "orchard", "station",
)  # fmt: skip
_FAITHFUL = 0.6
_RETURNS = 0.45


def clinical_notes(
    documents: int = 1000, *, sites: int | Sequence[str] = 3, random_state: int = 0
) -> ClinicalNotes:
    """Made-up notes of `sites` hospitals, dealt evenly: `documents` in all.

    Each site has its own words, abbreviations, spelling, headings and share of diagnoses, so
    that a classifier of one site's notes is clearly worse elsewhere than one of all sites'.
    Every note has a diagnosis group, an urgency, a section for each sentence and the exact
    offsets of drugs, symptoms, diseases, names and dates. The same arguments give the same
    notes on every machine; asking for more notes keeps the first ones of each site.

    They are **synthetic**: put together by rule and chance from invented sentences. Nobody's
    record went into them, and no figure measured on them says anything about patients.
    """
    names = _names(sites)
    if documents < len(names):
        raise InputError(
            f"clinical notes: expected at least one document a site ({len(names)}), "
            f"found {documents}"
        )
    if random_state < 0:
        raise InputError(f"clinical notes: expected random_state >= 0, found {random_state}")
    share, rest = divmod(documents, len(names))
    notes: list[Note] = []
    for index, name in enumerate(names):
        written = _written(dialect_of(name, random_state), random_state)
        notes += islice(written, share + (index < rest))
    return ClinicalNotes(tuple(notes), names)


def _names(sites: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(sites, int):
        if sites < 1:
            raise InputError(f"clinical notes: expected at least one site, found {sites}")
        more = (f"site-{number}" for number in range(len(SITES) + 1, sites + 1))
        return (*SITES[:sites], *more)
    names = tuple(sites)
    if not names or len(set(names)) < len(names):
        raise InputError(f"clinical notes: expected distinct names of sites, found {names}")
    for name in names:
        # Names become file names, so nothing may lead out of the folder.
        if not re.fullmatch(r"[A-Za-z0-9][\w-]*", name):
            raise InputError(
                f"clinical notes: expected a site of letters, digits, - and _, found {name!r}"
            )
    return names


def _written(dialect: Dialect, seed: int) -> Iterator[Note]:
    draw = Draw(f"sottovoce/notes/site/v1/{seed}/{dialect.site}")
    number = 0
    while True:
        number += 1
        patient = people.patient(f"{dialect.site}-{number:05}", draw)
        usual, year = dialect.balance.draw(draw), draw.between(2015, 2024)
        job = dialect.lists["job"].draw(draw)
        while True:
            faithful = draw.chance(_FAITHFUL)
            diagnosis = usual if faithful else dialect.balance.draw(draw)
            urgency = "urgent" if draw.chance(dialect.urgent_rate) else "routine"
            yield Author(Case(dialect, patient, diagnosis, urgency, year, job), draw).note()
            if not draw.chance(_RETURNS):
                break
