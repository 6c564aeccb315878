"""`python -m benchmarks site`: a site with many documents, from its file to a trained study."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def site(
    documents: Annotated[int, typer.Option("--documents", min=10**4, help="At one site.")] = 10**5,
    features: Annotated[int, typer.Option("--features", min=16)] = 512,
    processes: Annotated[
        int, typer.Option("--processes", min=0, help="Who read; all cores unless told.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Seconds of listing, rehearsing and training, and the memory of each process.

    \b
    Examples:
      python -m benchmarks site
      python -m benchmarks site --documents 10000000 --processes 2
    """
    from benchmarks.studies.site import LargeSite, measure
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("") as status:
        facts, rows = measure(LargeSite(documents, features, processes), status.update)
    show(facts, rows, title="site", as_json=as_json)
