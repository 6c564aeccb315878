"""`sottovoce data …`: look at a source before it becomes part of a study."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from sottovoce.sources import Format
    from sottovoce.sources.inspection import Inspection

app = typer.Typer(no_args_is_help=True, help="Look at a source before it becomes part of a study.")

_LABELS_SHOWN = 30


@app.callback()
def root() -> None:
    """Look at a source before it becomes part of a study."""


@app.command()
def inspect(
    source: Annotated[str, typer.Argument(help="A file, or a folder of texts or BRAT pairs.")],
    text: Annotated[
        list[str] | None, typer.Option(help="Column of the text; several are joined.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="Column of the label; several are yes/no marks, one a label."),
    ] = None,
    label_map: Annotated[
        str | None,
        typer.Option(help="spam=1,ham=0 (or *=0 for all others), or a file that says so."),
    ] = None,
    label_separator: Annotated[
        str | None, typer.Option(help="What stands between several labels in one field.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="The study's labels, with commas between; others are told.")
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of the group (patient, author).")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="Further column of names; '*' takes all others.")
    ] = None,
    numeric: Annotated[
        list[str] | None, typer.Option(help="Further column of numbers; '*' takes all others.")
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str | None,
        typer.Option(help="csv, tsv, jsonl, parquet, arrow, folder or brat; else by its look."),
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding, e.g. utf-8, cp1252, utf-16; else by its look.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between fields; else by its look.")
    ] = None,
    header: Annotated[
        bool, typer.Option(help="Whether the first row names the columns; else they are 1, 2, 3.")
    ] = True,
    quotes: Annotated[
        bool, typer.Option(help="Whether quotes hold a field together, or are plain characters.")
    ] = True,
    labels_file: Annotated[
        Path | None, typer.Option(help="For a folder: a table of file names and labels.")
    ] = None,
    pattern: Annotated[str, typer.Option(help="For a folder: which files are texts.")] = "*.txt",
    longest: Annotated[
        int, typer.Option(help="Bytes that the longest document may have.", min=1)
    ] = 16 * 2**20,
    problems: Annotated[
        int, typer.Option(help="How many problems to show; all are counted.", min=1)
    ] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")] = False,
) -> None:
    """Say what SOURCE holds: documents, labels, lengths, duplicates, and what would be skipped.

    No text is shown, and nothing leaves this machine.

    For example:

      sottovoce data inspect notes.csv --text note --label diagnosis --group patient

      sottovoce data inspect messages.jsonl --label-map spam=1,ham=0

      sottovoce data inspect reports/ --labels-file labels.csv

      sottovoce data inspect corpus/ --format brat --json
    """
    from sottovoce.cli.progress import watched
    from sottovoce.sources import LabelMap, Limits, SourceOptions, Table, open_source
    from sottovoce.sources.inspection import Inspector

    options = SourceOptions(
        text=tuple(text) if text else None,
        label=tuple(label) if label else None,
        label_map=LabelMap.of(label_map) if label_map else None,
        label_separator=label_separator,
        labels=tuple(name.strip() for name in labels.split(",")) if labels else (),
        group=group,
        categorical=tuple(categorical or ()),
        numeric=tuple(numeric or ()),
        format=_format(format),
        encoding=encoding,
        table=Table(delimiter=_delimiter(delimiter), quoted=quotes, header=header),
        labels_file=labels_file,
        pattern=pattern,
        limits=Limits(document_bytes=longest, problems=max(problems, 100)),
    )
    opened = open_source(source, options)
    inspector = Inspector(opened)
    for _ in watched(
        inspector.outcomes(),
        title="inspecting",
        position=lambda: (opened.findings.done, opened.findings.total),
    ):
        pass
    _show(inspector.result(), problems=problems, as_json=as_json)
    if inspector.documents == 0:
        raise opened.nothing_usable()


def _show(found: "Inspection", *, problems: int, as_json: bool) -> None:
    import msgspec
    from rich.console import Console

    if as_json:
        typer.echo(msgspec.json.encode(found))
        return
    console = Console(highlight=False)
    _show_facts(found, console)
    _show_labels(found, console)
    for title, lines in (
        ("skipped", _skipped(found, problems)),
        ("notes", found.notes),
        ("warnings", found.warnings),
    ):
        if lines:
            console.print(f"\n[bold]{title}[/bold]")
            for line in lines:
                console.print(f"  {line}", markup=False, soft_wrap=True)


def _show_facts(found: "Inspection", console: "Console") -> None:
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in _facts(found):
        table.add_row(name, value)
    console.print(table, markup=False)


def _facts(found: "Inspection") -> list[tuple[str, str]]:
    from rich.markup import escape

    facts = [
        ("source", escape(f"{found.source} ({found.format.value})")),
        ("columns", escape(", ".join(found.columns[:20]) + (" …" if found.columns[20:] else ""))),
        ("documents", f"{found.documents:,} usable, {found.skipped:,} skipped"),
    ]
    for name, lengths in (("characters", found.characters), ("words", found.words)):
        if lengths and lengths.longest:
            words = f"median {lengths.median:,.0f}, 95 % at most {lengths.p95:,.0f}"
            facts.append((name, f"{words}, longest {lengths.longest:,}"))
    repeated = found.duplicates
    facts.append(
        ("duplicates", f"{repeated.texts:,} texts occur again, in {repeated.repeats:,} documents")
    )
    facts.append(("empty texts", f"{found.empty:,}"))
    if found.groups:
        facts.append(
            ("groups", f"{found.groups.count:,}, the largest of {found.groups.largest:,} documents")
        )
    facts.extend((name, f"{count:,}") for name, count in found.annotations.items())
    if found.annotations:
        facts.append(("skipped annotations", f"{found.skipped_annotations:,}"))
    facts.extend((escape(f"no {column}"), f"{n:,}") for column, n in found.missing.items())
    return facts


def _show_labels(found: "Inspection", console: "Console") -> None:
    from rich.markup import escape
    from rich.table import Table

    if not found.labels:
        return
    by_span = any(count.spans for count in found.labels)
    table = Table(title="labels", title_justify="left", title_style="bold", caption_justify="left")
    table.add_column("entity type" if by_span else "label")
    table.add_column("documents", justify="right")
    table.add_column("share", justify="right")
    if by_span:
        table.add_column("spans", justify="right")
    for count in found.labels[:_LABELS_SHOWN]:
        share = f"{count.documents / found.documents:.1%}"
        spans = [f"{count.spans:,}"] if by_span else []
        name = count.label if len(count.label) <= 60 else f"{count.label[:59]}…"
        table.add_row(escape(name), f"{count.documents:,}", share, *spans)
    if found.distinct_labels > _LABELS_SHOWN:
        table.caption = f"and {found.distinct_labels - _LABELS_SHOWN:,} more"
    console.print()
    console.print(table)


def _skipped(found: "Inspection", problems: int) -> list[str]:
    lines = [f"{count:,} × {kind}" for kind, count in found.problem_counts.items()]
    lines.extend(f"  {p.where}: {p.reason}" for p in found.problems[:problems])
    total = sum(found.problem_counts.values())
    if total > problems:
        lines.append(f"  … and {total - min(problems, len(found.problems)):,} more")
    return lines


def _format(given: str | None) -> "Format | None":
    from sottovoce.errors import InputError
    from sottovoce.sources import Format

    if given is None:
        return None
    try:
        return Format(given.lower())
    except ValueError:
        raise InputError(
            f"format: expected one of {', '.join(Format)}, found {given!r}",
            hints=("--format csv",),
        ) from None


def _delimiter(given: str | None) -> str | None:
    """A tab is hard to type, so it may be written out."""
    return {"\\t": "\t", "tab": "\t"}.get(given, given) if given else given
