"""`python -m benchmarks serve`: many peers at one coordinator on this machine."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def serve(
    peers: Annotated[int, typer.Option("--peers", min=1, help="Peers that join at once.")] = 200,
    features: Annotated[
        int, typer.Option("--features", min=1, help="Features of each second moment.")
    ] = 512,
    trips: Annotated[int, typer.Option("--trips", min=10, help="Trips that are timed.")] = 300,
    letters: Annotated[
        int, typer.Option("--letters", min=0, help="Letters of the soak after it; 0 for none.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Peers that join and contribute to one coordinator, beside a bare aiohttp echo over TLS.

    A trip is a letter on its way: from the sender's post, durable at the coordinator, to the
    recipient's waiting fetch. Every contribution is compared by its digest. A soak is what
    `python -m benchmarks traffic` measures: letters that twenty seats write to each other through
    the same coordinator, compared one by one, and how its memory grew meanwhile.

    \b
    Examples:
      python -m benchmarks serve
      python -m benchmarks serve --peers 20 --features 2048 --json
      python -m benchmarks serve --peers 1000 --features 2048 --letters 40000
    """
    from benchmarks.port.load import Load, measure
    from benchmarks.port.traffic import LetterTraffic
    from sottovoce.cli.terminal.measurements import show

    load = Load(peers=peers, features=features, trips=trips)
    with screen.console(err=True).status("") as status:
        soak = LetterTraffic(letters=letters) if letters else None
        facts, rows = measure(load, soak, progress=status.update)
    show(facts, rows, title="many peers at one coordinator", as_json=as_json)
