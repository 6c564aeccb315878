"""Synthetic notes as files: CSV, JSON Lines or BRAT standoff, one file or folder a site."""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Literal, get_args

from sottovoce.datasets.notes.records import ClinicalNotes, Note
from sottovoce.errors import InputError

Format = Literal["csv", "jsonl", "brat"]

ORIGIN = "synthetic"
_SAYS = """\
# Synthetic clinical notes

The notes in this folder are made up by `sottovoce notes`: put together by rule and chance from
invented sentences. They describe no real patient, visit or hospital, and no
figure measured on them says anything about medicine.
"""


def write_notes(notes: ClinicalNotes, folder: Path, *, kind: Format = "csv") -> list[Path]:
    """Write every site's notes below `folder` and say beside them that they are synthetic.

    `csv` and `jsonl` give a file a site; `brat` a folder a site, with a `.txt` and an `.ann` a
    note and the labels of all of them in `labels.csv`. What was written is returned.
    """
    if kind not in get_args(Format):
        raise InputError(f"notes: expected a format of {get_args(Format)}, found {kind!r}")
    targets = {
        site: folder / (site if kind == "brat" else f"{site}.{kind}") for site in notes.sites
    }
    for target in targets.values():
        if target.exists():
            raise InputError(
                f"{target}: already exists",
                hints=("write to another folder, or remove this one first",),
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "SYNTHETIC.md").write_text(_SAYS, encoding="utf-8")
        for site, target in targets.items():
            _write_whole(_WRITERS[kind], notes.at(site), target)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise InputError(f"{folder}: expected a folder to write to, found: {reason}") from error
    return list(targets.values())


def _write_whole(
    write: Callable[[ClinicalNotes, Path], None], notes: ClinicalNotes, target: Path
) -> None:
    """Write `target` whole or not at all: a part of a file looks like a file."""
    part = target.with_name(f".{target.name}.part")
    _remove(part)
    try:
        write(notes, part)
        part.rename(target)
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _columns(note: Note) -> dict[str, str | int]:
    return {
        "diagnosis": note.diagnosis,
        "urgency": note.urgency,
        "patient": note.patient.number,
        "sex": note.patient.sex,
        "age": note.patient.age,
        "site": note.site,
        "origin": ORIGIN,
    }


def _write_table(rows: list[dict[str, str | int]], target: Path) -> None:
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _write_csv(notes: ClinicalNotes, target: Path) -> None:
    _write_table([{"text": note.text, **_columns(note)} for note in notes], target)


def _write_jsonl(notes: ClinicalNotes, target: Path) -> None:
    with target.open("w", encoding="utf-8", newline="\n") as file:
        for note in notes:
            levels = {
                "sentences": [
                    {"section": span.section, "start": span.start, "end": span.end}
                    for span in note.sentences
                ],
                "entities": [
                    {
                        "type": span.type,
                        "start": span.start,
                        "end": span.end,
                        "negated": span.negated,
                    }
                    for span in note.entities
                ],
            }
            file.write(json.dumps({"text": note.text, **_columns(note), **levels}) + "\n")


def _write_brat(notes: ClinicalNotes, target: Path) -> None:
    target.mkdir()
    rows: list[dict[str, str | int]] = []
    for number, note in enumerate(notes, 1):
        name = f"{note.site}-{number:05}.txt"
        (target / name).write_bytes(note.text.encode())
        (target / name).with_suffix(".ann").write_bytes(_standoff(note).encode())
        rows.append({"file": name, **_columns(note)})
    _write_table(rows, target / "labels.csv")


def _standoff(note: Note) -> str:
    lines = [
        f"T{index}\t{entity.type} {entity.start} {entity.end}\t"
        f"{note.text[entity.start : entity.end]}"
        for index, entity in enumerate(note.entities, 1)
    ]
    negated = [index for index, entity in enumerate(note.entities, 1) if entity.negated]
    lines += [f"A{number}\tNegated T{index}" for number, index in enumerate(negated, 1)]
    if lines:
        lines.append(f"#1\tAnnotatorNotes T1\t{ORIGIN} note: no such patient")
    return "".join(f"{line}\n" for line in lines)


_WRITERS: Mapping[Format, Callable[[ClinicalNotes, Path], None]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "brat": _write_brat,
}
