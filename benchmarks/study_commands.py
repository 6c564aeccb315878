"""The benchmarks of whole studies: training, and asking the trained model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from benchmarks.text_commands import DATA, place_of
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.study.choices import Engine


def train(
    data: Annotated[
        Path | None, typer.Option(help="Any labelled source; else made-up documents.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    features: Annotated[
        str, typer.Option(help="Features of engine shares, with commas; empty for none.")
    ] = "512,1024,2048,4096",
    paillier: Annotated[
        str, typer.Option(help="Features of engine paillier, with commas; empty for none.")
    ] = "32,64",
    quorum: Annotated[
        str, typer.Option(help="Features of engine quorum, with commas; empty for none.")
    ] = "2048",
    members: Annotated[str, typer.Option(help="Members of engine quorum, with commas.")] = "3,5",
    documents: Annotated[
        str, typer.Option(help="Documents of all peers together, with commas.")
    ] = "10000,100000",
    rows: Annotated[str, typer.Option(help="Which engines: shares, quorum, paillier.")] = (
        "shares,quorum,paillier"
    ),
    rounds: Annotated[int, typer.Option(min=1, help="Turns that each takes.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Sealed training beside plaintext training on pooled documents, CPU of all parties added.

    Four peers (in engine quorum as many as there are members), a key of 3072 bits, made before
    the clock starts. Engines quorum and paillier learn from the fewest documents
    only. `member_ratio` is what one member spends, beside plaintext. `peak_mb` is the most
    memory that all parties of the sealed training had together, in one process.

    \b
    Examples:
      python -m benchmarks train
      python -m benchmarks train --features 512,1024 --rows shares --json
      python -m benchmarks train --features 8192 --documents 10000 --rows shares
      python -m benchmarks train --quorum 2048 --members 3,5 --documents 10000 --rows quorum
      python -m benchmarks train --paillier 32 --documents 10000 --rows paillier
      python -m benchmarks train --data reviews.csv --text text --label label --documents 10000
    """
    from benchmarks.studies.train import (
        KEY_BITS,
        PEERS,
        LabelledText,
        TrainTrial,
        measure,
        trials,
    )
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.sources import SourceOptions
    from sottovoce.study.choices import Engine

    sizes, engines = _numbers("documents", documents), _engines("rows", rows)
    fewest = sorted(sizes)[:1]
    source = LabelledText.read(data, SourceOptions(text=text, label=label)) if data else None
    like = TrainTrial(Engine.SHARES, 1, 1, rounds=rounds, source=source)
    wanted = [
        trial
        for engine, widths, counts, peers in (
            (Engine.SHARES, _numbers("features", features), sizes, (PEERS,)),
            (Engine.QUORUM, _numbers("quorum", quorum), fewest, _numbers("members", members)),
            (Engine.PAILLIER, _numbers("paillier", paillier), fewest, (PEERS,)),
        )
        for trial in trials(engine, features=widths, documents=counts, peers=peers, like=like)
        if engine in engines
    ]
    measured = []
    with screen.console(err=True).status("") as status:
        for row in measure(wanted, progress=status.update):
            measured.append(row)
            status.console.print(
                f"{row['engine']} {row['features']} features, {row['documents']:,} documents: "
                f"{row['ratio']:.2f} times plaintext"
            )
    facts = {"bits": KEY_BITS, "peers": PEERS, "rounds": rounds}
    show(facts, measured, title="sealed training beside plaintext, CPU seconds", as_json=as_json)


def classify(
    words: Annotated[str, typer.Option(help="Words of a document, with commas.")] = "30,100",
    features: Annotated[str, typer.Option(help="Features of the model, with commas.")] = "2048",
    bits: Annotated[int, typer.Option(help="Size of the key: 2048, 3072, 4096.")] = 3072,
    documents: Annotated[int, typer.Option(min=1, help="Documents of one query.")] = 1_000,
    rounds: Annotated[int, typer.Option(min=1, help="Turns that each takes.")] = 3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Private labels beside scores with phe: documents per CPU second of all parties.

    Ours is a whole query, private verdict included; phe decrypts one score a document and
    hides neither scores nor labels from whoever has the key.

    \b
    Examples:
      python -m benchmarks classify
      python -m benchmarks classify --words 50 --documents 200 --bits 2048 --json
    """
    from benchmarks.studies.classify import ClassifyTrial, measure
    from sottovoce.cli.terminal.measurements import show

    wanted = [
        ClassifyTrial(documents, length, width, rounds)
        for width in _numbers("features", features)
        for length in _numbers("words", words)
    ]
    with screen.console(err=True).status("") as status:
        rows = list(measure(wanted, bits=bits, progress=status.update))
    facts = {"documents": documents, "rounds": rounds}
    show(facts, rows, title="private labels, documents per CPU second", as_json=as_json)


def sealed(
    data: Annotated[
        Path | None,
        typer.Option(
            help="sms_spam.csv, mts_dialog.jsonl, maccrobat_brat (by token), a folder of these, or "
            f"any labelled source; else ${DATA}."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    features: Annotated[int, typer.Option(min=1, help="Size of the joint dictionary.")] = 2048,
    peers: Annotated[int, typer.Option(min=3, help="How many peers to simulate.")] = 4,
    engine: Annotated[str, typer.Option(help="quorum, shares, paillier, or auto.")] = "auto",
    splits: Annotated[int, typer.Option(min=1, help="Splits of a set that has none.")] = 3,
    tail: Annotated[int, typer.Option(min=0, help="Columns of a tail.")] = 0,
    kernel: Annotated[int, typer.Option(min=0, help="Kernel columns.")] = 0,
    encoder: Annotated[
        str | None, typer.Option(metavar="PLACE", help="A frozen encoder: a folder or a package.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A whole sealed study on real text beside the same learner in plaintext, label by label.

    Classes with too few documents for a study are left out, and counted. Engine paillier is
    practical up to about a hundred features.

    \b
    Examples:
      python -m benchmarks sealed --data datasets/
      python -m benchmarks sealed --data sms.csv --engine paillier --features 64
      python -m benchmarks sealed --data datasets/ --engine quorum --json
      python -m benchmarks sealed --data datasets/ --tail 2048 --encoder wordllama --kernel 512
      python -m benchmarks sealed --data notes.csv --text note --label diagnosis --json
    """
    from dataclasses import replace

    from benchmarks.accuracy.accuracy import AccuracySetting
    from benchmarks.accuracy.sealed import known_tasks, measure, source_task
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.encoders import find_encoder, ready
    from sottovoce.sources import SourceOptions
    from sottovoce.text.blocks import Blocks

    wanted = _engines("engine", engine)[0]
    place = place_of(data, "bench sealed")
    setting = AccuracySetting(features=features, peers=peers)
    options = SourceOptions(text=text, label=label)
    name = find_encoder(encoder or "none")
    ready(name)
    beside = Blocks(tail=tail, encoder=name, kernel=kernel)
    with screen.console(err=True).status("reading") as status:
        tasks = list(known_tasks(place, setting, splits=splits))
        tasks = tasks or [source_task(place, options, setting, splits=splits)]
        tasks = [replace(task, engine=wanted, beside=beside) for task in tasks]
        rows = [measure(task, progress=status.update) for task in tasks]
    facts = {"bits": 3072, "peers": peers}
    show(facts, rows, title="sealed beside plaintext, label by label", as_json=as_json)


def contributions(
    data: Annotated[
        Path | None,
        typer.Option(
            help="sms_spam.csv, mts_dialog.jsonl, a folder of these, or any labelled source; "
            "else made-up notes."
        ),
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of the text.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of the label.")] = None,
    rados: Annotated[str, typer.Option(help="Rados of every peer, with commas.")] = (
        "64,256,1024,4096"
    ),
    features: Annotated[int, typer.Option(min=1, help="Size of the joint dictionary.")] = 256,
    peers: Annotated[int, typer.Option(min=3, help="How many peers to simulate.")] = 4,
    seeds: Annotated[int, typer.Option(min=1, help="Studies of each kind; medians count.")] = 5,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Studies of n sampled rados a peer beside exact moments, and plaintext on pooled documents.

    Accuracy on documents that none of them saw, CPU seconds of all parties of a training, and the
    steps of its sealed solve. Every seed has other notes (or another split) and other signatures.

    \b
    Examples:
      python -m benchmarks contributions
      python -m benchmarks contributions --data datasets/ --rados 1024,8192 --json
      python -m benchmarks contributions --data notes.csv --text note --label diagnosis
    """
    from benchmarks.accuracy.accuracy import AccuracySetting
    from benchmarks.studies.contributions import KEY_BITS, known_or_named, measure, notes_task
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.sources import SourceOptions

    numbers, setting = _numbers("rados", rados), AccuracySetting(features=features, peers=peers)
    options = SourceOptions(text=text, label=label)
    with screen.console(err=True).status("reading") as status:
        if data is None:
            tasks = [notes_task(setting, seeds=seeds)]
        else:
            place = place_of(data, "bench contributions")
            tasks = known_or_named(place, options, setting, seeds=seeds)
        rows = [row for task in tasks for row in measure(task, numbers, progress=status.update)]
    facts = {"bits": KEY_BITS, "peers": peers, "seeds": seeds}
    show(facts, rows, title="sampled rados beside exact moments, medians", as_json=as_json)


def steps(
    data: Annotated[
        Path | None,
        typer.Option(help="sms_spam.csv, mts_dialog.jsonl, or a folder of these; else made-up."),
    ] = None,
    features: Annotated[str, typer.Option(help="Features, with commas.")] = "512,1024,2048,4096",
    tail: Annotated[int, typer.Option(min=0, help="Columns for words that were not chosen.")] = 0,
    documents: Annotated[int, typer.Option(min=100, help="Made-up documents.")] = 10_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Steps of a sealed solve with rows measured from the joint mean, a guess of it, and zero.

    Steps follow from what peers tell of their moments: nothing is sealed for this. Sets of tokens,
    which are measured from zero, are left out.

    \b
    Examples:
      python -m benchmarks steps
      python -m benchmarks steps --data datasets/ --features 512,2048 --tail 2048 --json
    """
    from benchmarks.accuracy.accuracy import AccuracySetting
    from benchmarks.accuracy.sealed import known_tasks
    from benchmarks.studies.steps import StepsCase, measure
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.study.stages.centring import is_moved

    widths = _numbers("features", features)
    with screen.console(err=True).status("reading") as status:
        if data is None:
            cases = (StepsCase.made_up(width, documents) for width in widths)
        else:
            tasks = [
                task
                for width in widths
                for task in known_tasks(data, AccuracySetting(features=width), splits=1)
            ]
            if not tasks:
                raise InputError(
                    f"{data}: expected sms_spam.csv or mts_dialog.jsonl, found neither",
                    hints=("python -m benchmarks steps",),
                )
            cases = (StepsCase.of(task) for task in tasks)
        with_tail = (case.with_tail(tail) for case in cases if is_moved(case.plan))
        rows = list(measure(with_tail, progress=status.update))
    show({"tail": tail}, rows, title="steps of a sealed solve", as_json=as_json)


def arrangements(
    rows: Annotated[int, typer.Option(min=60, help="Rows of all peers together.")] = 60,
    only: Annotated[str, typer.Option(help="Only arrangements whose name has this in it.")] = "",
    bits: Annotated[int, typer.Option(help="Size of the key: 2048, 3072, 4096.")] = 3072,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """A training and ten labels in each of the paper's arrangements, beside the usual study.

    CPU seconds of all parties; `ratio` is to peers with rows of their own and the same engine,
    which are always measured. Intermediaries and an outsourcing owner grow with rows times columns;
    descents take minutes each at 3072 bits. Each row is told when it is there.

    \b
    Examples:
      python -m benchmarks arrangements
      python -m benchmarks arrangements --only intermediary --bits 2048 --json
    """
    from benchmarks.studies.arrangements import measure
    from sottovoce.cli.terminal.measurements import show

    measured = []
    with screen.console(err=True).status("") as status:
        for row in measure(rows, only=only, key_bits=bits, progress=status.update):
            measured.append(row)
            status.console.print(f"{row['arrangement']}: {row['seconds']:.1f} s of CPU")
    facts = {"bits": bits, "peers": 3}
    show(facts, measured, title="arrangements beside peers with rows, CPU seconds", as_json=as_json)


def table_settings(
    seeds: Annotated[int, typer.Option(min=1, help="Draws of the table, for its test rows.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Settings of the paper's table, chosen by five folds of its training rows.

    `error in folds` is what they were chosen by; `error on test rows` is looked at afterwards, and
    so is `of the table's`, the same with the settings that the table and studies have.

    \b
    Examples:
      python -m benchmarks table-settings
      python -m benchmarks table-settings --seeds 5 --json
    """
    from benchmarks.accuracy import table_settings as settings
    from sottovoce.cli.terminal.measurements import show

    with screen.console(err=True).status("learning …"):
        every = (*settings.SETTINGS, *settings.SCHEDULES)
        rows = list(settings.measure(every, seeds=seeds))
    show({"seeds": seeds}, rows, title="settings from the training rows", as_json=as_json)


def remote_parts(
    seeds: Annotated[int, typer.Option(min=1, help="Rados that an error is averaged over.")] = 20,
    sealed: Annotated[int, typer.Option(min=0, help="Rows of each asker asked sealed.")] = 2,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """The paper's Protocol 3 as printed beside what studies put in place of others' features.

    Ionosphere, its columns at three peers, θ learnt from all of them: misclassification of the 151
    test rows by what stands for the columns that the asker does not hold.

    \b
    Examples:
      python -m benchmarks remote-parts
      python -m benchmarks remote-parts --seeds 5 --sealed 1 --json
    """
    from benchmarks.studies.remote_parts import measure
    from sottovoce.cli.terminal.measurements import show
    from sottovoce.entropy import SystemEntropy
    from sottovoce.paillier import generate

    with screen.console(err=True).status("asking …"):
        key = generate(2048, entropy=SystemEntropy())
        rows = list(measure(key, seeds=seeds, sealed=sealed))
    facts = {"bits": 2048, "peers": 3, "seeds": seeds}
    show(facts, rows, title="Protocol 3: what stands for others' features", as_json=as_json)


def _engines(what: str, text: str) -> "list[Engine]":
    """Engines with commas between them."""
    from sottovoce.study.choices import Engine

    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts or [text]:
        if part not in set(Engine):
            raise InputError(
                f"--{what}: expected {', '.join(Engine)}, found {part!r}",
                hints=(f"--{what} {Engine.SHARES}",),
            )
    return [Engine(part) for part in parts]


def _numbers(what: str, text: str) -> list[int]:
    """Whole numbers with commas between them."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not part.isdecimal() or int(part) < 1:
            raise InputError(
                f"--{what}: expected whole numbers with commas, found {part!r}",
                hints=(f"--{what} 512,1024",),
            )
    return [int(part) for part in parts]
