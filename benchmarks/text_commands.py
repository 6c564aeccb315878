"""The benchmarks of reading text: how fast it is, and how well what it gives is learnt from."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from benchmarks.accuracy.contest import CorpusContest

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
    defaults: Annotated[
        bool,
        typer.Option(
            "--defaults", help="What a newcomer gets, beside one place and each site alone."
        ),
    ] = False,
    encoder: Annotated[
        str | None, typer.Option(metavar="PLACE", help="With --defaults: also with this encoder.")
    ] = None,
    askers: Annotated[
        bool,
        typer.Option(
            "--askers", help="With --defaults: how each site fares with documents of its own kind."
        ),
    ] = False,
    own_scores: Annotated[
        bool,
        typer.Option(
            "--own-scores", help="With --askers: also with scores of each site's own model."
        ),
    ] = False,
    splits: Annotated[int, typer.Option(min=1, help="With --defaults: over how many splits.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Accuracy of learning together beside pooled logistic regression, on the same splits.

    Known by name are sms_spam.csv, mts_dialog.jsonl and the folder maccrobat_brat. With
    --defaults, documents alone: accuracy and macro-F1 of a study with default settings, of
    logistic regression and a linear SVM with all text in one place, and of the sites alone, for
    documents that are spread by chance and by topic; corpora of installed packages, too.

    \b
    Examples:
      python -m benchmarks accuracy --data datasets/
      python -m benchmarks accuracy --data notes.csv --text note --label diagnosis
      python -m benchmarks accuracy --data annotated/ --types Disease,Symptom --json
      python -m benchmarks accuracy --data datasets/ --defaults --encoder wordllama
      python -m benchmarks accuracy --data notes.csv --defaults --splits 3
      python -m benchmarks accuracy --data notes.csv --defaults --askers --own-scores
    """
    if defaults:
        asked = {"text": text, "label": label, "group": group}
        sets = _contests(data, asked, peers=peers, encoder=encoder, splits=splits)
        sets = [replace(contest, own_scores=own_scores) for contest in sets]
        _show_contests(sets, peers=peers, askers=askers, as_json=as_json)
        return
    from benchmarks.accuracy.accuracy import AccuracySetting
    from benchmarks.accuracy.corpora import compare_known, compare_source, known_sets
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.sources import SourceOptions

    place = place_of(data, "bench accuracy")
    setting = AccuracySetting(features=features, peers=peers, min_documents=min_documents)
    with screen.console(err=True).status("learning together, and in one place"):
        if known_sets(place):
            results = list(compare_known(place, setting))
        else:
            options = SourceOptions(text=text, label=label, group=group)
            wanted = tuple(types.split(",")) if types else ()
            results = compare_source(place, options, setting, types=wanted)
    facts = {"features": features, "peers": peers, "min_documents": min_documents}
    rows = [result.figures() if as_json else result.row() for result in results]
    title = "learning together (ours) beside logistic regression on all text in one place (pooled)"
    show(facts, rows, title=title, as_json=as_json)


def _contests(
    data: Path | None,
    asked: dict[str, str | None],
    *,
    peers: int,
    encoder: str | None,
    splits: int,
) -> "list[CorpusContest]":
    """The corpora at hand: those named, else those of installed packages, too."""
    from benchmarks.accuracy.accuracy import SplitPair, split_pairs
    from benchmarks.accuracy.contest import CorpusContest
    from benchmarks.accuracy.corpora import document_sets
    from benchmarks.accuracy.packages import packaged_corpora
    from sottovoce.encoders import find_encoder, ready
    from sottovoce.sources import SourceOptions, open_source

    name = find_encoder(encoder or "none")
    ready(name)
    place = None if data is None and DATA not in os.environ else place_of(data, "bench accuracy")
    sets: list[tuple[str, list[SplitPair]]] = []
    if place is not None:
        sets += document_sets(place, splits=splits)
        if not sets:
            options = SourceOptions(**{key: value for key, value in asked.items() if value})  # type: ignore[arg-type]
            documents = list(open_source(place, options))
            sets = [(place.name, split_pairs(documents, splits=splits))]
    if place is None or len(sets) > 1:
        sets += [(title, split_pairs(some, splits=splits)) for title, some in packaged_corpora()]
    return [CorpusContest(title, pairs, peers, name) for title, pairs in sets]


def _show_contests(
    contests: "list[CorpusContest]", *, peers: int, askers: bool, as_json: bool
) -> None:
    from sottovoce.cli.terminal.measurements import show

    rows: list[dict[str, object]] = []
    for contest in contests:
        with screen.console(err=True).status(f"{contest.name}: together, in one place, and alone"):
            rows += contest.askers() if askers else contest.rows()
    title = "accuracy of a site's own kind of documents" if askers else "accuracy/macro-F1"
    show({"peers": peers}, rows, title=f"{title}, in per cent", as_json=as_json)


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
      python -m benchmarks text
      python -m benchmarks text --documents 100000 --workers 4 --json
    """
    from benchmarks.studies.text import TextTrial, memory, throughput
    from sottovoce.cli.terminal.measurements import show

    trial = TextTrial(documents, features, workers, rounds)
    facts: dict[str, object] = {"documents": documents, "features": features, "rounds": rounds}
    with screen.console(err=True).status("reading made-up documents"):
        rates = throughput(trial)
        peaks = memory()
    if as_json:
        show({**facts, "memory": peaks}, rates, title="", as_json=True)
        return
    show(facts, rates, title="from text to moments", as_json=False)
    show({"features": 2048}, peaks, title="peak memory of both passes", as_json=False)


def blocks(
    documents: Annotated[int, typer.Option(min=1_000, help="How many documents.")] = 10_000,
    features: Annotated[int, typer.Option(min=1, help="Size of the dictionary.")] = 2048,
    tail: Annotated[int, typer.Option(min=1, help="Columns of the tail.")] = 2048,
    kernel: Annotated[int, typer.Option(min=1, help="Columns of the kernel.")] = 2048,
    encoder: Annotated[
        str | None, typer.Option(metavar="PLACE", help="Also with this encoder.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """What each block of columns costs a site in CPU seconds and in bytes, beside words alone.

    \b
    Examples:
      python -m benchmarks blocks
      python -m benchmarks blocks --encoder wordllama --kernel 3072 --json
    """
    from benchmarks.studies.blocks import BlockTrial
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.encoders import find_encoder, ready

    name = find_encoder(encoder or "none")
    ready(name)
    trial = BlockTrial(documents, features, tail, kernel, name)
    with screen.console(err=True).status(
        "reading made-up documents, with one block more each time"
    ):
        rows = list(trial.rows())
    show({"documents": documents}, rows, title="what a block costs", as_json=as_json)
