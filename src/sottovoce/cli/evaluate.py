"""`sottovoce evaluate`: how good the model is, at this site and over all sites."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.roles.figures import Evaluation
    from sottovoce.service.api import Evaluated


def evaluate(
    data: Annotated[
        Path | None,
        typer.Option("--data", metavar="SOURCE", help="Another place of the same documents."),
    ] = None,
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Accuracy, F1, confusion and ROC on the documents held out, here and over all sites.

    This site's own table stays here. The joint one is a blind sum, opened once enough peers
    run this command, and only over enough documents; it counts against the study's budget of
    evaluations.

    \b
    Examples:
      sottovoce evaluate
      sottovoce evaluate --study urgency --json
    """
    from dataclasses import replace

    from sottovoce.cli.ended import check_goes_on
    from sottovoce.cli.running import run
    from sottovoce.cli.source_choice import recall
    from sottovoce.cli.watching import Watch
    from sottovoce.service.api import AskOptions
    from sottovoce.service.query import evaluate as ask
    from sottovoce.service.study_file import parse_study

    site = open_home(home, passphrase_file)
    found = site.study(study)
    check_goes_on(found, asking=True)
    described, choice = found.description, recall(site, found)
    if described is None or choice is None:
        raise InputError(f"study {found.id}: expected documents that this site joined with")
    if data is not None:
        choice = replace(choice, data=str(data))
    documents = choice.read(described.plan)
    with Watch(quiet=as_json) as watch:
        asked = AskOptions(parse_study, on_event=watch.on_event)

        def deliver(came: "Evaluated") -> None:
            # Inside the evaluation: until it is shown, a restart brings it again.
            watch.paused()
            _tell(came, as_json=as_json)

        run(
            ask(found.membership, documents, options=asked, deliver=deliver),
            afterwards="`sottovoce evaluate` again goes on, and is charged once",
        )


def _tell(came: "Evaluated", *, as_json: bool) -> None:
    if as_json:
        import json

        typer.echo(json.dumps({"own": _figures(came.own), "joint": _figures(came.joint)}))
        return
    from rich.console import Console

    console = Console(highlight=False)
    _show("this site (stays here)", came.own, console)
    _show(f"all of {', '.join(came.joint.peers)}", came.joint, console)


def _figures(one: "Evaluation") -> dict[str, Any]:
    return {
        "accuracy": one.accuracy,
        "f1": one.f1,
        "confusion": one.counts.tolist(),
        "left_out": one.left_out.tolist(),
        "labels": list(one.labels.names),
        "peers": list(one.peers),
        "roc": {
            name: {
                "auc": curve.auc,
                "thresholds": curve.thresholds,
                "false_positive_rate": curve.false_positive_rate,
                "true_positive_rate": curve.true_positive_rate,
            }
            for name, curve in one.roc.items()
        },
    }


def _show(title: str, one: "Evaluation", console: "Console") -> None:
    from rich.table import Column, Table

    console.print(f"\n{title}: accuracy {one.accuracy:.1%}", markup=False, style="bold")
    names = one.labels.names
    exclusive = one.counts.ndim == 2
    found = [Column(f"as {name}", justify="right") for name in names] if exclusive else []
    numbers = [Column(title, justify="right") for title in ("F1", "AUC")]
    table = Table("label", *numbers, *found)
    for row, name in enumerate(names):
        area = f"{one.roc[name].auc:.3f}" if name in one.roc else ""
        cells = _cells(one, row) if exclusive else []
        table.add_row(name, f"{one.f1[name]:.2f}", area, *cells)
    console.print(table, markup=False)


def _cells(one: "Evaluation", row: int) -> list[str]:
    """How often this class was taken for each; small numbers are not shown."""
    numbers, hidden = one.counts[row].tolist(), one.left_out[row].tolist()
    few = f"under {one.fewest}"
    return [few if small else f"{count:,}" for count, small in zip(numbers, hidden, strict=True)]
