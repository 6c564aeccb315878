"""The benchmarks of reading text: how fast it is, and how well what it gives is learnt from."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.errors import InputError

DATA = "SOTTOVOCE_DATA"


def accuracy(
    data: Annotated[
        Path | None,
        typer.Option(
            help=f"A folder of the sets known by name, or any labelled source; else ${DATA}."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    group: Annotated[str | None, typer.Option(help="Column of the group (patient, …).")] = None,
    types: Annotated[
        str | None, typer.Option(help="Entity types of a BRAT folder, with commas: token level.")
    ] = None,
    features: Annotated[int, typer.Option(min=1, help="Size of the joint dictionary.")] = 2048,
    peers: Annotated[int, typer.Option(min=1, help="How many peers to simulate.")] = 4,
    min_documents: Annotated[
        int, typer.Option(min=1, help="A word in fewer of a peer's documents does not leave it.")
    ] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Accuracy of learning together beside pooled logistic regression, on the same splits.

    Known by name are sms_spam.csv, mts_dialog.jsonl and the folder maccrobat_brat.

    \b
    Examples:
      sottovoce bench accuracy --data datasets/
      sottovoce bench accuracy --data notes.csv --text note --label diagnosis
      sottovoce bench accuracy --data annotated/ --types Disease,Symptom --json
    """
    from rich.console import Console

    from sottovoce.bench.accuracy import Setting
    from sottovoce.bench.corpora import compare_known, compare_source, known_sets
    from sottovoce.bench.report import show
    from sottovoce.sources import SourceOptions

    place = place_of(data, "bench accuracy")
    setting = Setting(features=features, peers=peers, min_documents=min_documents)
    with Console(stderr=True).status("learning together, and in one place"):
        if known_sets(place):
            found = list(compare_known(place, setting))
        else:
            options = SourceOptions(text=text, label=label, group=group)
            wanted = tuple(types.split(",")) if types else ()
            found = compare_source(place, options, setting, types=wanted)
    facts = {"features": features, "peers": peers, "min_documents": min_documents}
    rows = [one.figures() if as_json else one.row() for one in found]
    title = "learning together (ours) beside logistic regression on all text in one place (pooled)"
    show(facts, rows, title=title, as_json=as_json)


def place_of(data: Path | None, command: str) -> Path:
    """Where the labelled text lies: what was told, else what the environment says."""
    if data is not None:
        return data
    if os.environ.get(DATA):
        return Path(os.environ[DATA])
    raise InputError(
        f"{command}: expected labelled text, found neither --data nor ${DATA}",
        hints=(f"sottovoce {command} --data notes.csv --text note --label diagnosis",),
    )


def text(
    documents: Annotated[int, typer.Option(min=1_000, help="How many documents.")] = 60_000,
    features: Annotated[int, typer.Option(min=1, help="Size of the dictionary.")] = 2048,
    workers: Annotated[int, typer.Option(min=2, help="How many processes in parallel.")] = 2,
    rounds: Annotated[int, typer.Option(min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Documents per second from text to moments beside scikit-learn's hashing, and peak memory.

    \b
    Examples:
      sottovoce bench text
      sottovoce bench text --documents 100000 --workers 4 --json
    """
    from rich.console import Console

    from sottovoce.bench.report import show
    from sottovoce.bench.text import Trial, memory, throughput

    trial = Trial(documents, features, workers, rounds)
    facts: dict[str, object] = {"documents": documents, "features": features, "rounds": rounds}
    with Console(stderr=True).status("reading made-up documents"):
        rates = throughput(trial)
        peaks = memory()
    if as_json:
        show({**facts, "memory": peaks}, rates, title="", as_json=True)
        return
    show(facts, rates, title="from text to moments", as_json=False)
    show({"features": 2048}, peaks, title="peak memory of both passes", as_json=False)
