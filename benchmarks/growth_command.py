"""`python -m benchmarks growth`: how cost grows, with a picture of each axis."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError


def growth(
    axes: Annotated[
        list[str] | None,
        typer.Option(
            "--axis", help="documents, features, classes, peers or workers; all by default."
        ),
    ] = None,
    most_documents: Annotated[
        int, typer.Option("--documents", min=10**4, help="Documents at most.")
    ] = 10**5,
    most_features: Annotated[
        int, typer.Option("--features", min=512, help="Features at most.")
    ] = 4096,
    most_peers: Annotated[int, typer.Option("--peers", min=3, help="Peers at most.")] = 100,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for a picture of each axis, as SVG.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Seconds and memory on every axis, and the fitted exponent beside the expected one.

    \b
    Examples:
      python -m benchmarks growth
      python -m benchmarks growth --axis documents --documents 10000000 --out pictures
    """
    from benchmarks.studies.growth import AXES, measure
    from sottovoce.cli.terminal.measurements import show

    known = {axis.name: axis for axis in AXES}
    for name in axes or ():
        if name not in known:
            raise InputError(f"--axis: expected one of {', '.join(known)}, found {name!r}")
    most = {"documents": most_documents, "features": most_features, "peers": most_peers}
    asked = [known[name].upto(most.get(name, 10**9)) for name in axes or known]
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    with screen.console(err=True).status("") as status:
        facts, rows = measure(asked, out, status.update)
    show(facts, rows, title="growth", as_json=as_json)
