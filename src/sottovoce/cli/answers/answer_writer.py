"""Writers of labelled documents: to a table, a folder, standard output, or an annotation tool."""

from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from sottovoce.cli import options
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sottovoce.node.api import Classified
    from sottovoce.node.site.labelled import Found
    from sottovoce.sources import Format
    from sottovoce.study.plan import StudyPlan
    from sottovoce.text.documents import Document

STDOUT = "-"
_WORDLESS = "no known word"


def kind_of(out: Path, named: str | None, plan: "StudyPlan") -> "Format":
    """The format of the labelled documents: as given, by the suffix, or a folder."""
    from sottovoce.sources import Format
    from sottovoce.sources.opening import format_of_name
    from sottovoce.text.reading import Level

    stated = options.format_named(named)
    if str(out) == STDOUT:
        kind = stated or Format.CSV
        if kind not in {Format.CSV, Format.TSV, Format.JSONL}:
            raise InputError(
                f"--out -: expected csv, tsv or jsonl, found {kind}", hints=("--out FILE",)
            )
        return kind
    if stated is not None:
        return stated
    by_suffix = format_of_name(out)
    if by_suffix is not None:
        return by_suffix
    if out.suffix:
        raise InputError(
            f"--out: expected .csv, .tsv, .jsonl, .parquet, .arrow or a folder, found {out.name!r}",
            hints=("--out labelled.csv", "--out folder --out-format brat"),
        )
    return Format.FOLDER if plan.level is Level.DOCUMENT else Format.BRAT


@dataclass(frozen=True)
class AnswerColumns:
    """The names of a table's new columns; a column without a name is left out."""

    label: str | None = None
    remark: str | None = None
    because: str | None = None
    score: str | None = None

    @property
    def beside(self) -> tuple[tuple[str, str | None], ...]:
        """The columns other than the label, each with the option that asks for it."""
        return (
            ("--remark-column", self.remark),
            ("--explain", self.because),
            ("--score-column", self.score),
        )

    def check(self, plan: "StudyPlan") -> None:
        """Refuse a column that the plan cannot fill."""
        from sottovoce.study.release import Opens

        if self.score is not None and plan.release.opens is Opens.LABELS:
            raise InputError(
                "--score-column: this study releases labels only, no scores; nothing was asked",
            )


class AnswerWriter:
    """Puts labelled documents where the user wants them."""

    def __init__(
        self,
        out: Path,
        kind: "Format",
        columns: AnswerColumns,
        *,
        names: tuple[tuple[str, ...], str | None],
        replace: bool,
    ) -> None:
        self._out = out
        self._kind = kind
        self._columns = columns
        text, self._group = names
        self._text = (text[0] if len(text) == 1 else "text") if text else None
        self._replace = replace

    def check(self, kept: "Sequence[str]") -> None:
        """Refuse a place or a name that is taken, before anything is asked and counted.

        `kept` are the columns that are copied from the input.
        """
        from sottovoce.sources import Format
        from sottovoce.sources.annotations.predictions import TOOLS

        label = self._columns.label
        if label is not None and label in {self._text, self._group}:
            raise InputError(
                f"--label-column: {label!r} is already the column of the text or the group; "
                "nothing was asked",
                hints=("--label-column label",),
            )
        for option, column in (("--label-column", label), *self._columns.beside):
            if column is not None and column in kept:
                raise InputError(
                    f"{option}: the input has a column {column!r} already; nothing was asked",
                    hints=("--keep COLUMN names the columns to copy; all are by default",),
                )
        for option, column in self._columns.beside:
            if column is None or self._kind not in {Format.BRAT, Format.FOLDER, *TOOLS}:
                continue
            raise InputError(
                f"{option}: expected a table to write, found {self._kind}",
                hints=("--out labelled.csv",),
            )
        if str(self._out) == STDOUT:
            return
        if self._out.exists() and not self._replace:
            raise InputError(
                f"{self._out}: already exists; nothing was asked",
                hints=("--replace", "or another --out"),
            )
        if not self._out.absolute().parent.is_dir():
            raise InputError(f"{self._out}: its folder does not exist")

    def write(
        self, documents: "Sequence[Document]", answer: "Classified", plan: "StudyPlan"
    ) -> int:
        """Write them; how many rows were labelled."""
        from sottovoce.node.site.labelled import as_spans, by_document
        from sottovoce.sources import Format
        from sottovoce.sources.annotations.predictions import TOOLS
        from sottovoce.sources.writing import write_documents

        if self._kind is Format.BRAT:
            answers = by_document(documents, answer.classes, plan)
            write_documents(as_spans(answers, plan), self._out, format=self._kind)
            return len(answer.classes)
        if self._kind in TOOLS:
            return self._write_tasks(by_document(documents, answer.classes, plan), answer, plan)
        return self.write_slices([(documents, answer)], plan)

    def takes_slices(self, plan: "StudyPlan") -> bool:
        """Whether documents can be written as they come: one a row, and in their order."""
        from sottovoce.sources import Format
        from sottovoce.sources.annotations.predictions import TOOLS
        from sottovoce.text.reading import Level

        return plan.level is Level.DOCUMENT and self._kind not in {Format.BRAT, *TOOLS}

    def write_slices(
        self, slices: "Iterable[tuple[Sequence[Document], Classified]]", plan: "StudyPlan"
    ) -> int:
        """Write a table of slices as they come; how many rows were labelled."""
        from sottovoce.sources.writing import TableLayout, write_documents, write_stream

        remaining = (row for part in slices for row in self._rows(*part, plan))
        first = next(remaining, None)
        rows = remaining if first is None else chain([first], remaining)
        taken = () if first is None else (*first.columns, *first.kept)
        column = self._columns.label or ("label" if "label" not in taken else "predicted_label")
        layout = TableLayout(text=self._text, label=column, group=self._group or "group")
        if str(self._out) == STDOUT:
            stream = typer.get_binary_stream("stdout")
            written = write_stream(rows, stream, self._kind, layout)
            stream.flush()
            return written
        return write_documents(
            rows, self._out, format=self._kind, layout=layout, replace=self._replace
        )

    def _rows(
        self, documents: "Sequence[Document]", answer: "Classified", plan: "StudyPlan"
    ) -> "list[Document]":
        from sottovoce.node.site.labelled import as_table, by_document, remarked

        rows = list(as_table(by_document(documents, answer.classes, plan), plan))
        for column, remarks in self._remarks(answer, plan):
            rows = list(remarked(rows, column, remarks))
        return rows

    def _remarks(
        self, answer: "Classified", plan: "StudyPlan"
    ) -> "Iterator[tuple[str, Mapping[int, str | float]]]":
        """Each further column with its values, by row number."""
        from sottovoce.node.site.labelled import explained, margins
        from sottovoce.sources import Format

        columns = self._columns
        if columns.remark is not None:
            yield columns.remark, dict.fromkeys(answer.wordless, _WORDLESS)
        if columns.because is not None:
            yield columns.because, dict(enumerate(map(explained, answer.because)))
        if columns.score is not None and answer.scores is not None:
            far = margins(answer.scores, plan).round(4).tolist()
            # Numbers have a type in JSON and Parquet; in text they have one length.
            typed = self._kind not in {Format.CSV, Format.TSV}
            written = far if typed else [f"{place:.4f}" for place in far]
            yield columns.score, dict(enumerate(written))

    def _write_tasks(
        self,
        answers: "Sequence[tuple[Document, Found]]",
        answer: "Classified",
        plan: "StudyPlan",
    ) -> int:
        """Tasks for an annotation tool, the least certain first where scores are known."""
        from sottovoce.node.site.labelled import as_spans, as_table, certainties
        from sottovoce.sources.annotations.predictions import (
            Prediction,
            least_certain_first,
            write_predictions,
        )
        from sottovoce.sources.drafts import draft_file
        from sottovoce.text.reading import Level

        is_whole = plan.level is Level.DOCUMENT
        documents = list(as_table(answers, plan) if is_whole else as_spans(answers, plan))
        by_document = certainties(answers, answer.scores, plan)
        ordered = least_certain_first(map(Prediction, documents, by_document))
        with draft_file(self._out, replace=self._replace) as file:
            return write_predictions(ordered, file, self._kind, model=plan.name)
