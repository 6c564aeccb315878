"""`sottovoce table1`: the paper's table, reproduced and measured beside its own figures."""

from typing import Annotated

import typer


def table1(
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, help="Random draws that each row is averaged over.")
    ] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The paper's table on Ionosphere: misclassification and seconds, its figures beside ours.

    The first 200 rows train and the last 151 test; rows are dealt to the peers at random,
    with 1,000 rados in all. Rows whose outcome does not depend on the draw are run once.

    \b
    Examples:
      sottovoce table1
      sottovoce table1 --seeds 5 --json
    """
    from rich.console import Console

    from sottovoce.bench.report import show
    from sottovoce.bench.table1 import PLAIN, for_people, for_scripts, measure

    rows = []
    with Console(stderr=True).status("learning …") as status:
        for row in measure(PLAIN, seeds=seeds):
            rows.append(for_scripts(row) if as_json else for_people(row))
            status.update(f"{len(rows)} of {len(PLAIN)} rows, the last one {row.learner} …")
    facts = {} if as_json else {"seeds": seeds}
    show(facts, rows, title="the paper's table, on Ionosphere", as_json=as_json)
