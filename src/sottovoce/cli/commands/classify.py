"""`sottovoce classify`: labels for new documents, which nobody but this site learns."""

from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sottovoce.cli.answers.answer_writer import AnswerWriter
    from sottovoce.cli.answers.large_questions import LargeQuestion
    from sottovoce.cli.source_choice import SourceChoice
    from sottovoce.node.api import Classified
    from sottovoce.sources import Source
    from sottovoce.study.plan import StudyPlan
    from sottovoce.study.queries.thresholds import Floats
    from sottovoce.text.documents import Document

ALL = "*"
BECAUSE = "because"


@options.grouped
def classify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Documents without labels: a file or a folder.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="PLACE",
            help="Output: .csv, .tsv, .jsonl, .parquet, .arrow, a folder, or - (stdout).",
        ),
    ],
    out_format: Annotated[
        str | None,
        typer.Option(
            "--out-format",
            metavar="NAME",
            help="folder or brat; jsonl or tsv, for -; label-studio, prodigy or doccano.",
        ),
    ] = None,
    text: options.TextColumns = None,
    group: options.GroupColumn = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            metavar="COLUMN",
            help="Column to copy to the output; all by default, of CSV, TSV and JSON.",
        ),
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option("--label-column", metavar="NAME", help="Name of the new column."),
    ] = None,
    remark_column: Annotated[
        str | None,
        typer.Option(
            "--remark-column",
            metavar="NAME",
            help="Add a column that marks rows without a known word.",
        ),
    ] = None,
    score_column: Annotated[
        str | None,
        typer.Option(
            "--score-column",
            metavar="NAME",
            help="Add a column with the margin of each label, if the study releases scores.",
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Add a column with the words that decided the label; costs nothing extra.",
        ),
    ] = False,
    own: Annotated[
        bool,
        typer.Option(
            "--own",
            help="Label at this site's class frequencies, or by its own model if clearly better.",
        ),
    ] = False,
    file_flags: options.FileFlags = options.FileFlags(),
    encoder: options.EncoderPlace = None,
    cluster: options.ClusterName = "local",
    replace: options.Replace = False,
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Label FILE with a trained study. Only this site learns the labels.

    The coordinator learns that this site asks, and for how many documents, rounded up to whole
    batches; this number is charged to the site's budget. If the command is stopped and run again,
    it continues and is charged once. A row without any known word gets the label that the bias
    alone gives; the screen says how many there are. By default the text columns are those with
    which this site joined.

    A file of more than 16,384 documents is asked about in slices of that many, and none of them is
    kept in memory. Each slice is counted by itself. If such a command is stopped and run again, it
    asks only for the labels that it does not have. --cluster chooses the workers that turn
    documents into rows, as in `join`.

    For an annotation tool the rows are tasks with predictions, the least certain ones first where
    the study releases scores.

    With --own, after `evaluate`, a class that is more frequent among this site's documents than
    elsewhere is predicted more often here. Where a model of this site's documents alone was still
    better on its held-out documents by more than a standard error, that model answers. To compare,
    the held-out documents are asked about once, and counted, unless the joint model is ahead
    anyway. Only this site learns its thresholds.

    With --explain the free places of the last batch, which are charged anyway, hold copies of rows
    with one word left out: a word is named if the label changes without it.

    \b
    Examples:
      sottovoce classify new.csv --out labelled.csv
      sottovoce classify new.parquet --out labelled.jsonl --text note
      sottovoce classify new.csv --out labelled.csv --score-column certainty
      sottovoce classify corpus/ --out found/ --out-format brat
      sottovoce classify new.csv --out tasks.json --out-format label-studio
      sottovoce classify new.csv --out - --out-format jsonl | jq .label
    """
    from sottovoce.cli.answers.answer_writer import STDOUT, AnswerColumns, AnswerWriter, kind_of
    from sottovoce.cli.answers.large_questions import SLICE, LargeQuestion
    from sottovoce.cli.exit_states import check_goes_on, check_trained
    from sottovoce.cli.source_choice import SourceChoice, recall

    site = open_home(home, passphrase_file)
    joined_study = site.study(study)
    check_goes_on(joined_study, asking=True)
    check_trained(joined_study)
    described = joined_study.description
    if described is None:
        raise InputError(f"study {joined_study.id}: this site never joined it")
    known = recall(site, joined_study)
    choice = SourceChoice(
        str(file),
        options.several(text) or (known.text if known else None),
        group=group,
        **vars(file_flags),
        encoder=encoder or (known.encoder if known else None),
    )
    kind = kind_of(out, out_format, described.plan)
    if str(out) == STDOUT and as_json:
        raise InputError("--json needs --out FILE, not --out -: both write to stdout")
    columns = AnswerColumns(label_column, remark_column, BECAUSE if explain else None, score_column)
    columns.check(described.plan)
    if own and explain:
        raise InputError("--own and --explain do not go together: only the joint model explains")
    shown = (choice.text or ("text",)) if described.plan.has_text else ()
    writer = AnswerWriter(out, kind, columns, names=(shown, group), replace=replace)
    mine = joined_study.organisation(described).peer
    source = _opened(choice, described.plan, keep, peer=mine)
    writer.check(source.options.kept)
    reading = _documents(source, described.plan)
    documents = list(islice(reading, SLICE + 1))
    sliced = len(documents) > SLICE and not (own or explain) and file.is_file()
    if sliced and writer.takes_slices(described.plan):
        question = LargeQuestion.about(
            site,
            joined_study,
            lambda: _documents(source, described.plan),
            source=file,
            asked=(choice, keep),
        )
        _ask_in_slices(question, writer, out, cluster=cluster, as_json=as_json)
        _tell_lost(source)
        return
    documents += reading
    _tell_lost(source)
    written = 0

    def deliver(answer: "Classified") -> None:
        # Inside the query: until the labels are in the file, a restart delivers them again.
        nonlocal written
        written = writer.write(documents, answer, described.plan)

    ask = partial(_ask, joined_study.membership, as_json=as_json, explain=explain)
    by_own = False
    if own and known is not None:
        # Imported only here: it loads scikit-learn, which takes longer than asking for a label.
        from sottovoce.cli.answers.alone import OwnAnswers

        learnt_from = known.read(described.plan, peer=mine)
        answers = OwnAnswers.of(joined_study, described.plan, learnt_from)
        answer, by_own = answers.label(documents, deliver, ask)
    else:
        answer = ask(documents, deliver)
    done = _Labelled(joined_study.id, out, written, answer, own=by_own, explain=explain)
    _say(done, len(documents), as_json=as_json)


@dataclass(frozen=True)
class _Labelled:
    """The result of a question: how many rows were labelled, by which model, at what cost."""

    study: str
    out: Path
    written: int
    answer: "Classified"
    own: bool
    explain: bool

    @property
    def _explained(self) -> int:
        return sum(words is not None for words in self.answer.because)

    def facts(self, documents: int) -> dict[str, Any]:
        """Everything, for scripts."""
        answer = self.answer
        return {
            "study": self.study,
            "documents": documents,
            "model": "own" if self.own else "joint",
            "verdict": answer.verdict,
            "written": self.written,
            "counted": answer.charged,
            "left": None if self.own else answer.left,
            "wordless": len(answer.wordless),
            "explained": self._explained,
            "out": str(self.out),
        }

    def tell(self, *, err: bool) -> None:
        """Show it on the screen, or on standard error if standard output has the table."""
        answer, rows = self.answer, f"{self.written:,} rows labelled"
        if self.own:
            said = "by this site's own model, which was better on its held-out documents"
            asked = f"{answer.charged:,} labels were counted to compare"
            cost = asked if answer.charged else "nothing was asked"
            screen.say(f"{self.out}: {rows} {said}; {cost}", err=err)
            return
        screen.say(
            f"{self.out}: {rows}, counted as {answer.charged:,}; "
            f"{answer.left:,} labels left in the budget",
            err=err,
        )
        if self.explain:
            screen.say(
                f"{self._explained:,} of {len(answer.because):,} rows are explained, in the free "
                f"places of the last batch",
                err=True,
            )
        if answer.wordless:
            screen.say(
                f"{len(answer.wordless):,} of {len(answer.classes):,} rows have no word that the "
                f"model knows; their text says nothing about their label",
                err=True,
            )


def _ask(
    membership: Any,
    documents: "Sequence[Document]",
    deliver: "Callable[[Classified], None]",
    thresholds: "Floats | None" = None,
    *,
    as_json: bool,
    explain: bool,
) -> "Classified":
    from sottovoce.cli.running import run
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.api import AskOptions
    from sottovoce.node.site.asking import classify as ask

    with Watch(quiet=as_json) as watch:
        asked = AskOptions(parse_study, on_event=watch.on_event)
        return run(
            ask(
                membership,
                documents,
                options=asked,
                deliver=deliver,
                explain=explain,
                thresholds=thresholds,
            ),
            afterwards="run the same command again to continue; it is charged once",
        )


def _ask_in_slices(
    question: "LargeQuestion", writer: "AnswerWriter", out: Path, *, cluster: str, as_json: bool
) -> None:
    from sottovoce.clusters import open_cluster
    from sottovoce.text.chunks import working_with

    study = question.study
    assert study.description is not None
    ask = partial(_ask, study.membership, as_json=as_json, explain=False)
    with open_cluster(cluster) as workers, working_with(workers):
        answer = question.ask(ask, progress=None if as_json else _told)
    written = writer.write_slices(question.answered(), study.description.plan)
    question.forget()
    done = _Labelled(study.id, out, written, answer, own=False, explain=False)
    _say(done, len(answer.classes), as_json=as_json)


def _say(labelled: _Labelled, documents: int, *, as_json: bool) -> None:
    if as_json:
        screen.say_json(labelled.facts(documents))
        return
    labelled.tell(err=str(labelled.out) == "-")


def _told(documents: int) -> None:
    screen.say(f"{documents:,} documents have their labels", err=True)


def _opened(
    choice: "SourceChoice", plan: "StudyPlan", keep: list[str] | None, *, peer: str = ""
) -> "Source":
    """The documents, with the columns that are copied to the output; the encoder is opened too."""
    from dataclasses import replace

    from sottovoce.sources import Format, open_source
    from sottovoce.sources.options import named

    choice.open_encoder(plan)
    asked = choice.options(plan, peer=peer, learning=False)
    source = open_source(choice.data, asked)
    text = (choice.text or ("text",)) if plan.has_text else ()
    if source.columns:
        # A table without the text would be labelled too, as empty documents are.
        source.header.find(text, option="--text")
    kept = tuple(keep or ())
    if ALL in kept or (keep is None and source.format in {Format.CSV, Format.TSV, Format.JSONL}):
        kept = source.columns if len(source.columns) > 1 else ()
    read = (*asked.categorical, *asked.numeric, *named(asked.group))
    copied = tuple(name for name in dict.fromkeys((*read, *kept)) if name not in text)
    return open_source(choice.data, replace(asked, kept=copied))


def _documents(source: "Source", plan: "StudyPlan") -> "Iterator[Document]":
    """Every document, also an empty one."""
    from dataclasses import replace

    from sottovoce.text.columns import ROW

    for document in source.documents():
        yield document if plan.has_text else replace(document, text=ROW)


def _tell_lost(source: "Source") -> None:
    lost = source.problems.documents
    if lost:
        screen.say(
            f"{source.name}: {lost:,} documents were skipped ({source.problems.summary()})",
            err=True,
        )
