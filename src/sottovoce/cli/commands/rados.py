"""`sottovoce rados …`: encrypted rados as files, for a third party that learns from them."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.commands.keys import PassphraseFd, PassphraseFile, read_passphrase
from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen

app = typer.Typer(
    no_args_is_help=True, help="Write encrypted rados to files, and learn from such files."
)

StudyFile = Annotated[
    Path, typer.Argument(metavar="STUDY", help="study.toml, the same everywhere.")
]
Rows = Annotated[
    int,
    typer.Option(
        "--rows", metavar="NUMBER", min=1, help="Rows of all sites together, rounded up; public."
    ),
]
PublicFile = Annotated[Path, typer.Option("--key", metavar="FILE", help="public.key")]
_OTHER_NAME = ("--replace", "or another name")


@app.callback()
def root() -> None:
    """Write encrypted rados to files, and learn from such files."""


@app.command(short_help="Write this site's encrypted rados to a file.")
def write(
    study: StudyFile,
    out: options.OutFile,
    data: Annotated[
        Path, typer.Option("--data", metavar="SOURCE", help="Labelled rows: a file or a folder.")
    ],
    key: PublicFile,
    rows: Rows,
    text: options.TextColumns = None,
    label: options.LabelColumns = None,
    label_map: options.LabelMapping = None,
    replace: options.Replace = False,
    as_json: AsJson = False,
) -> None:
    """Write the encrypted rados of your rows to FILE, for a third party without the key.

    The holder of the key must never get the file: both together give documents away. STUDY
    has learner = "rado-descent", and columns or given words. Nothing is sent.

    \b
    Example:
      sottovoce rados write study.toml north.rados --data rows.csv --text none
        --label outcome --key public.key --rows 200
    """
    from sottovoce.cli.source_choice import SourceChoice
    from sottovoce.config.study_file import load_study
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles import keys, storage
    from sottovoce.keyfiles.rado_files import write_rados
    from sottovoce.study.stages.encrypted.exported_rados import export_rados

    if not replace:
        storage.check_absent(out, hints=_OTHER_NAME)
    storage.remove_parts(out)
    described = load_study(study)
    public = keys.read_public(key)
    columns, labels = options.several(text), options.several(label)
    choice = SourceChoice(str(data), columns, labels, label_map=label_map)
    documents = list(choice.read(described.plan))
    exported = export_rados(
        described.rehearsed(), documents, public, rows=rows, entropy=SystemEntropy()
    )
    write_rados(out, exported, public, replace=replace)
    facts = {"out": str(out), "rados": described.plan.rados, "rows": len(documents)}
    screen.tell(
        f"{out}: {described.plan.rados} rados of {len(documents)} rows, encrypted under "
        f"{public.fingerprint}; never for the holder of that key",
        {**facts, "fingerprint": public.fingerprint},
        as_json=as_json,
    )


@app.command(
    short_help="Learn from files of encrypted rados, with answers from the holder of the key."
)
def learn(
    study: StudyFile,
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Files of `rados write`.")],
    key: PublicFile,
    answers: Annotated[
        str,
        typer.Option(
            "--answers",
            metavar="COMMAND",
            help="What runs `sottovoce rados answer` where the secret key is, as over ssh.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Add the rados of all FILEs up and learn from them, without reading any.

    Masked questions go to COMMAND, which answers on its standard output; the model goes there,
    too, encrypted, and stands in a file there afterwards.

    \b
    Example:
      sottovoce rados learn study.toml north.rados harbour.rados --key public.key
        --answers "ssh holder sottovoce rados answer study.toml model.json
        --key secret.key --passphrase-file passphrase --rows 200"
    """
    import shlex
    import subprocess

    from sottovoce.config.study_file import load_study
    from sottovoce.entropy import SystemEntropy
    from sottovoce.errors import AbsenceError, InputError
    from sottovoce.keyfiles import keys
    from sottovoce.keyfiles.rado_files import read_rados
    from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
    from sottovoce.study.stages.encrypted.exported_rados import (
        added_rados,
        learn_exported,
        plan_digest,
    )
    from sottovoce.transport.pipes import Pipe, converse_over

    terms = load_study(study).rehearsed()
    public = keys.read_public(key)
    for path in files:
        if files.count(path) > 1:
            raise InputError(f"{path}: expected every file once, found it more often")
    exported = {str(path): read_rados(path, public) for path in files}
    numbers, sums = added_rados(terms, exported, public)
    program = learn_exported(numbers, sums, entropy=SystemEntropy())
    command = shlex.split(answers)
    with subprocess.Popen(  # noqa: S603 - the command that the user gave
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as answering:
        assert answering.stdin is not None
        assert answering.stdout is not None
        pipe = Pipe(KEY_HOLDER, answering.stdout, answering.stdin)
        session, codec = plan_digest(terms), terms.codec(public)
        converse_over(pipe, program, name=EVALUATOR, session=session, codec=codec)
        answering.stdin.close()
        code = answering.wait()
    if code:
        raise AbsenceError(f"{command[0]}: expected exit code 0, found {code}", party=KEY_HOLDER)
    counted = "1 file" if len(exported) == 1 else f"{len(exported)} files"
    screen.tell(
        f"learnt from {counted}; the model is where the key is",
        {"files": [str(path) for path in files], "rados": numbers.descent.rados},
        as_json=as_json,
    )


@app.command(short_help="Answer masked questions with the secret key, and keep the model.")
def answer(
    study: StudyFile,
    out: Annotated[Path, typer.Argument(metavar="MODEL", help="The model's file.")],
    key: Annotated[Path, typer.Option("--key", metavar="FILE", help="secret.key")],
    rows: Rows,
    passphrase_file: PassphraseFile = None,
    passphrase_fd: PassphraseFd = None,
    replace: options.Replace = False,
    as_json: AsJson = False,
) -> None:
    """Answer the questions of `sottovoce rados learn` on standard input, and write its MODEL.

    Every question is noise to this machine. `sottovoce.ReleasedClassifier.load(MODEL)` labels.
    Answers go to standard output, what there is to say to standard error.

    \b
    Example:
      sottovoce rados answer study.toml model.json --key secret.key --rows 200
        --passphrase-file passphrase
    """
    import sys

    from sottovoce.config.study_file import load_study
    from sottovoce.entropy import SystemEntropy
    from sottovoce.keyfiles import keys, storage
    from sottovoce.keyfiles.released_models import ReleasedModel, write_released
    from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
    from sottovoce.study.stages.encrypted.exported_rados import (
        answer_exported,
        export_terms,
        plan_digest,
    )
    from sottovoce.transport.pipes import Pipe, converse_over

    if not replace:
        storage.check_absent(out, hints=_OTHER_NAME)
    described = load_study(study)
    terms = described.rehearsed()
    secret = keys.read_secret(key, read_passphrase(passphrase_file, passphrase_fd))
    _, prepared = export_terms(terms, rows)
    assert prepared.space is not None
    program = answer_exported(terms, secret, rows=rows, entropy=SystemEntropy())
    pipe = Pipe(EVALUATOR, sys.stdin.buffer, sys.stdout.buffer)
    session, codec = plan_digest(terms), terms.codec(secret.public)
    weights = converse_over(pipe, program, name=KEY_HOLDER, session=session, codec=codec)
    plan = described.plan
    model = ReleasedModel(
        plan.name, plan.labels, plan.labels.names, prepared.space, prepared.key, weights
    )
    write_released(out, model, replace=replace)
    facts = {"out": str(out), "columns": plan.width, "labels": list(plan.labels.names)}
    screen.tell(f"{out}: the model, for this site alone to read", facts, as_json=as_json, err=True)
