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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Peers that join and contribute to one coordinator, beside a bare aiohttp echo over TLS.

    A trip is a letter on its way: from the sender's post, durable at the coordinator, to the
    recipient's waiting fetch. Every contribution is compared by its digest.

    \b
    Examples:
      python -m benchmarks serve
      python -m benchmarks serve --peers 20 --features 2048 --json
    """
    from benchmarks.port.load import Load, measure
    from sottovoce.cli.terminal.measurements import show

    load = Load(peers=peers, features=features, trips=trips)
    with screen.console(err=True).status("") as status:
        facts, rows = measure(load, progress=status.update)
    show(facts, rows, title="many peers at one coordinator", as_json=as_json)
