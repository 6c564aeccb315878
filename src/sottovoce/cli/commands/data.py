"""`sottovoce data …`: look at a source before it becomes part of a study."""

from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson
from sottovoce.cli.terminal import screen

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.sources import SourceOptions
    from sottovoce.sources.inspection import Inspection

app = typer.Typer(no_args_is_help=True, help="Look at a source before it becomes part of a study.")

_LABELS_SHOWN = 30
_WITHOUT_LABELS = {"folder": "none: --labels-file FILE, or a subfolder a label", "brat": "none"}


@app.callback()
def root() -> None:
    """Look at a source before it becomes part of a study."""


@app.command(short_help="Summarise a source without showing any text.")
@options.grouped
def inspect(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file, or a folder of texts or BRAT pairs.")
    ],
    text: options.TextColumns = None,
    columns: options.ColumnFlags = options.ColumnFlags(),
    labels: options.StudyLabels = None,
    group: options.GroupColumn = None,
    categorical: options.CategoricalColumns = None,
    numeric: options.NumericColumns = None,
    file: options.FileFlags = options.FileFlags(),
    problems: Annotated[
        int, typer.Option(help="How many problems to show; all are counted.", min=1)
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Summarise SOURCE: documents, labels, lengths, duplicates, and what would be skipped.

    No text is shown, and nothing leaves this machine.

    \b
    Examples:
      sottovoce data inspect notes.csv --text note --label diagnosis
      sottovoce data inspect notes.parquet --text note --group patient
      sottovoce data inspect messages.jsonl --label-map spam=1,ham=0
      sottovoce data inspect reports/ --labels-file labels.csv
      sottovoce data inspect corpus/ --format brat --json
    """
    from dataclasses import replace

    from sottovoce.cli.source_choice import SourceChoice
    from sottovoce.sources import SourceLimits

    asked = replace(
        SourceChoice.of(source, text, group, columns=columns, file=file).typed(),
        labels=options.listed(labels),
        categorical=tuple(categorical or ()),
        numeric=tuple(numeric or ()),
        limits=SourceLimits(document_bytes=file.longest, problems=max(problems, 100)),
    )
    _inspect(source, asked, problems=problems, as_json=as_json)


def _inspect(place: str, asked: "SourceOptions", *, problems: int, as_json: bool) -> None:
    from sottovoce.cli.terminal.progress import watched
    from sottovoce.sources import open_source
    from sottovoce.sources.inspection import Inspector

    source = open_source(place, asked)
    inspector = Inspector(source)
    for _ in watched(
        inspector.outcomes(),
        title="inspecting",
        position=lambda: (source.findings.done, source.findings.total),
    ):
        pass
    _show(inspector.result(), problems=problems, as_json=as_json)
    if inspector.documents == 0:
        error = source.nothing_usable()
        error.hints = error.hints[:1]  # the other hint is this very command
        raise error


def _show(inspection: "Inspection", *, problems: int, as_json: bool) -> None:
    import msgspec

    if as_json:
        screen.say_json_text(msgspec.json.encode(inspection).decode())
        return
    console = screen.console()
    _show_facts(inspection, console)
    _show_labels(inspection, console)
    for title, lines in (
        ("skipped", _skipped(inspection, problems)),
        ("notes", inspection.notes),
        ("warnings", inspection.warnings),
    ):
        if lines:
            console.print(f"\n{title}", style="bold")
            for line in lines:
                console.print(f"  {line}", soft_wrap=True)


def _show_facts(inspection: "Inspection", console: "Console") -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _facts(inspection):
        table.add_row(name, value)
    console.print(table)


def _facts(inspection: "Inspection") -> list[tuple[str, str]]:
    facts = [
        ("source", f"{inspection.source} ({inspection.format.value})"),
        ("columns", ", ".join(inspection.columns[:20]) + (" …" if inspection.columns[20:] else "")),
        ("documents", f"{inspection.documents:,} usable, {inspection.skipped:,} skipped"),
    ]
    for name, lengths in (("characters", inspection.characters), ("words", inspection.words)):
        if lengths and lengths.longest:
            words = f"median {lengths.median:,.0f}, 95 % at most {lengths.p95:,.0f}"
            facts.append((name, f"{words}, longest {lengths.longest:,}"))
    facts.append(("duplicates", _duplicates(inspection)))
    if inspection.empty:
        facts.append(("empty texts", f"{inspection.empty:,}"))
    if inspection.documents and not inspection.distinct_labels:
        facts.append(
            ("labels", _WITHOUT_LABELS.get(inspection.format.value, "none: --label COLUMN"))
        )
    if inspection.groups:
        count, largest = inspection.groups.count, inspection.groups.largest
        facts.append(("groups", f"{count:,}, the largest of {largest:,} documents"))
    facts.extend((name, f"{count:,}") for name, count in inspection.annotations.items())
    if inspection.annotations:
        facts.append(("skipped annotations", f"{inspection.skipped_annotations:,}"))
    facts.extend((f"without {column}", f"{n:,}") for column, n in inspection.missing.items())
    return facts


def _duplicates(inspection: "Inspection") -> str:
    repeats = inspection.duplicates.repeats
    if not repeats:
        return "none"
    return f"{repeats:,} document{'s repeat' if repeats > 1 else ' repeats'} an earlier one"


def _show_labels(inspection: "Inspection", console: "Console") -> None:
    from rich.table import Table

    if not inspection.labels:
        return
    by_span = any(count.spans for count in inspection.labels)
    table = Table(title="labels", title_justify="left", title_style="bold", caption_justify="left")
    table.add_column("entity type" if by_span else "label")
    table.add_column("documents", justify="right")
    table.add_column("share", justify="right")
    if by_span:
        table.add_column("spans", justify="right")
    for count in inspection.labels[:_LABELS_SHOWN]:
        share = f"{count.documents / inspection.documents:.1%}"
        spans = [f"{count.spans:,}"] if by_span else []
        name = count.label if len(count.label) <= 60 else f"{count.label[:59]}…"
        table.add_row(name, f"{count.documents:,}", share, *spans)
    if inspection.distinct_labels > _LABELS_SHOWN:
        table.caption = f"and {inspection.distinct_labels - _LABELS_SHOWN:,} more"
    console.print()
    console.print(table)


def _skipped(inspection: "Inspection", problems: int) -> list[str]:
    lines = [f"{count:,} × {kind}" for kind, count in inspection.problem_counts.items()]
    lines.extend(f"  {p.where}: {p.reason}" for p in inspection.problems[:problems])
    total = sum(inspection.problem_counts.values())
    if total > problems:
        lines.append(f"  … and {total - min(problems, len(inspection.problems)):,} more")
    return lines
