"""`python -m benchmarks members`: what one member of a quorum needs, in a process of its own."""

from typing import Annotated

import typer

from sottovoce.cli.terminal import screen


def members(
    features: Annotated[int, typer.Option(min=16, help="Features of the study.")] = 8192,
    documents: Annotated[int, typer.Option(min=300, help="Of all sites together.")] = 30_000,
    labels: Annotated[int, typer.Option(min=1, help="Labels that one site asks for.")] = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A study of three sites in processes of their own, over TLS: memory and CPU of each.

    \b
    Examples:
      python -m benchmarks members
      python -m benchmarks members --features 2048 --documents 10000 --json
    """
    from benchmarks.studies.members import MemberTrial, measure
    from sottovoce.cli.terminal.measurements import show

    trial = MemberTrial(features, documents, labels)
    with screen.console(err=True).status("") as status:
        facts, rows = measure(trial, status.update)
    show(facts, rows, title="members of a quorum", as_json=as_json)
