"""`python -m benchmarks traffic`: a day's letters at one coordinator."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def traffic(
    seats: Annotated[int, typer.Option(min=2, help="Seats that write to each other.")] = 20,
    letters: Annotated[int, typer.Option(min=20, help="Letters of all of them.")] = 50_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Letters of many seats through one coordinator, as fast as they go, compared one by one.

    One of fifty is large. The coordinator's memory is looked at ten times: it grows with what
    waits, and not with what went through. `grown` is the last look over the second.

    \b
    Examples:
      python -m benchmarks traffic
      python -m benchmarks traffic --seats 10 --letters 2000 --json
    """
    from benchmarks.port.traffic import LetterTraffic, measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        facts, rows = measure(LetterTraffic(seats, letters), progress=status.update)
    show(facts, rows, title="a day's letters at one coordinator", as_json=as_json)
