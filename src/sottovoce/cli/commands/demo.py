"""`sottovoce demo`: the first five minutes, on made-up notes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.demo.hospitals import Result

_FEWEST = 300
"""With fewer notes a diagnosis is too rare for a study to accept it."""


def demo(
    documents: Annotated[int, typer.Option(min=_FEWEST, help="Synthetic notes in all.")] = 1500,
    features: Annotated[int, typer.Option(min=16, help="Words selected jointly.")] = 512,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="FOLDER", help="Keep all files in this folder."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE.html",
            help="File for the page with pictures; sottovoce-demo.html by default.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Three hospitals train one classifier on synthetic notes, sealed, over TLS.

    A coordinator and three hospitals run as processes of their own on this machine, each
    with its own folder, from the invitation to a labelled file. Shows what each hospital
    alone would reach, what the sealed study reaches, what pooling all text would reach, how
    long each stage took, and what each party saw; and writes the same as a page with pictures.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --documents 3000 --features 1024
      sottovoce demo --folder demo
      sottovoce demo --json
    """
    from sottovoce.demo.hospitals import run

    if folder is not None and folder.exists() and any(folder.iterdir()):
        raise InputError(f"{folder}: expected an empty or new folder, found files in it")
    console = screen.console(err=True)
    with console.status("") as status:
        announce = status.update if console.is_terminal else console.print
        result = run(documents=documents, features=features, announce=announce, folder=folder)
    page = report or (folder or Path()) / "sottovoce-demo.html"
    page.write_text(result.report, encoding="utf-8")
    if as_json:
        screen.say_json(result.as_json() | {"report": str(page)})
    else:
        _show(result, screen.console())
        screen.say(f"\nthe same with pictures, as a web page: {page.resolve()}")


def _show(result: "Result", console: "Console") -> None:
    from rich.table import Column, Table

    console.print(
        f"{result.documents:,} synthetic notes of {len(result.local)} hospitals, eight diagnosis "
        f"groups, {result.features:,} words and word pairs, engine {result.engine}; "
        "figures on notes that nobody trained on\n"
    )
    _titled(console, "accuracy")
    table = Table("who learnt", Column("accuracy", justify="right"))
    for site, share in result.local.items():
        table.add_row(f"{site}, alone", f"{share:.1%}")
    table.add_row("all three, sealed", f"{result.joint:.1%}", style="bold")
    table.add_row("all text in one place, in plaintext", f"{result.pooled:.1%}")
    console.print(table)
    _titled(console, "\nthe study, all parties at once on this machine")
    table = Table("stage", Column("seconds", justify="right"))
    for stage, seconds in result.seconds.items():
        table.add_row(stage, f"{seconds:.1f}")
    console.print(table)
    _titled(console, "\nwhat each saw")
    numbers = (Column(name, justify="right") for name in ("messages", "MB"))
    table = Table("party", *numbers, "learns")
    for seen in result.seen:
        table.add_row(seen.party, f"{seen.messages:,}", f"{seen.megabytes:.1f}", seen.learns)
    console.print(table)
    console.print(
        f"\nWhy all this: from rados sent in the clear, an observer reconstructs {result.exposed}. "
        "`sottovoce attack --on rados` shows how."
    )


def _titled(console: "Console", title: str) -> None:
    console.print(title, style="bold")
