"""`sottovoce demo`: the first five minutes, on made-up notes."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.demo.hospitals import Result


def demo(
    documents: Annotated[int, typer.Option(min=120, help="Synthetic notes in all.")] = 1500,
    features: Annotated[int, typer.Option(min=16, help="Words selected jointly.")] = 512,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Three hospitals train one classifier on synthetic notes, sealed, in this process.

    Shows what each hospital alone would reach, what the sealed study reaches, what pooling
    all text would reach, how long each stage took, and what each party saw.

    \b
    Examples:
      sottovoce demo
      sottovoce demo --documents 3000 --features 1024
      sottovoce demo --json
    """
    from rich.console import Console

    from sottovoce.demo.hospitals import run

    with Console(stderr=True).status("") as status:
        result = run(documents=documents, features=features, told=status.update)
    if as_json:
        typer.echo(json.dumps(result.as_json()))
    else:
        _show(result, Console())


def _show(result: "Result", console: "Console") -> None:
    from rich.table import Table

    console.print(
        f"{result.documents:,} synthetic notes of {len(result.local)} hospitals, eight diagnosis "
        f"groups, {result.features:,} words and word pairs, engine {result.engine}, "
        f"{result.key_bits}-bit key; figures on notes that nobody trained on\n"
    )
    table = Table("who learnt", "accuracy", title="accuracy", title_justify="left")
    for site, share in result.local.items():
        table.add_row(f"{site}, alone", f"{share:.1%}")
    table.add_row("all three, sealed", f"{result.joint:.1%}", style="bold")
    table.add_row("all text in one place, in plaintext", f"{result.pooled:.1%}")
    console.print(table)
    console.print(f"sealed and plaintext labels agree on {result.agreement:.1%} of the notes\n")
    table = Table("stage", "seconds", title="sealed training, all parties", title_justify="left")
    for stage, seconds in result.seconds.items():
        table.add_row(stage, f"{seconds:.1f}")
    console.print(table)
    table = Table("party", "messages", "MB", "learns", title="what each saw", title_justify="left")
    for one in result.seen:
        table.add_row(one.party, str(one.messages), f"{one.megabytes:.1f}", one.learns)
    console.print(table)
    console.print(
        "\nWhy all this: of rados sent in the clear, "
        f"an onlooker gets back {result.exposed}.\nsottovoce attack shows how.",
        soft_wrap=True,
    )
