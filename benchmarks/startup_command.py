"""`python -m benchmarks startup`: short commands beside a Python that does nothing."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def startup(
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each.")] = 5,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Train a small study here, and label one document.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How long the first words of short commands take, beside `python -c pass` in the same run.

    \b
    Examples:
      python -m benchmarks startup
      python -m benchmarks startup --loopback --json
    """
    from benchmarks.port.startup import measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        facts, rows = measure(repeats, loopback=loopback, progress=status.update)
    show(facts, rows, title="start-up", as_json=as_json)
