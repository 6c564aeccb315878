"""`sottovoce notes`: synthetic clinical notes as files, to try a study without real records."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen


class NotesFormat(StrEnum):
    """The format of the notes."""

    CSV = "csv"
    JSONL = "jsonl"
    BRAT = "brat"


def notes(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; made if needed.")],
    sites: Annotated[int, typer.Option("--sites", min=1, max=1000, help="How many sites.")] = 3,
    documents: Annotated[
        int, typer.Option("--documents", min=1, help="Number of notes, over all sites.")
    ] = 1500,
    kind: Annotated[
        NotesFormat, typer.Option("--format", help="One file for each site, or one folder (brat).")
    ] = NotesFormat.CSV,
    seed: options.NotesSeed = 0,
    as_json: AsJson = False,
) -> None:
    """Write made-up clinical notes of several sites, with labels of every level.

    Columns: text, diagnosis (eight groups), urgency (routine, urgent), patient, sex, age, site,
    origin. JSON Lines and BRAT hold sections, drugs, symptoms, diseases, names and dates too.
    The notes are synthetic: they describe no real patient, and the files say so.

    \b
    Examples:
      sottovoce notes --sites 3 --documents 1500 --out notes
      sottovoce notes --format brat --out corpus
      sottovoce data inspect notes/north.csv --text text --label diagnosis
    """
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.datasets import clinical_notes, write_notes

    with screen.console(err=True).status("making up notes …"):
        made = clinical_notes(documents, sites=sites, random_state=seed)
        files = write_notes(made, out, kind=kind.value)
    rows = [
        {
            "site": site,
            "notes": len(made.at(site)),
            "patients": len(set(made.at(site).groups)),
            "urgent": made.at(site).labels("urgency").count("urgent"),
            "written": str(file),
        }
        for site, file in zip(made.sites, files, strict=True)
    ]
    facts = {"notes": len(made), "seed": seed, "origin": "synthetic"}
    show(facts, rows, title="synthetic notes", as_json=as_json)
