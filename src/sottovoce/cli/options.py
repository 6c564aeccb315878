"""The options that several commands share, such as those that describe a source."""

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.sources import DelimitedFormat, Format, LabelMap

LONGEST = 16 * 2**20

TextColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column of the text; several are joined; none: a table without.",
    ),
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column of the label; several are yes/no columns, one for each label.",
    ),
]
LabelMapping = Annotated[
    str | None,
    typer.Option(
        "--label-map",
        metavar="MAP",
        help="spam=1,ham=0 (or *=0 for all others), or a file that says so.",
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        "--label-separator", metavar="TEXT", help="Separator of several labels in one field."
    ),
]
StudyLabels = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAMES",
        help="The study's labels, separated by commas; other labels are reported.",
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option("--group", metavar="COLUMN", help="Column of the group (patient, author)."),
]
CategoricalColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical", metavar="COLUMN", help="Further column of names; '*' takes all others."
    ),
]
NumericColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric", metavar="COLUMN", help="Further column of numbers; '*' takes all others."
    ),
]
FormatName = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Its format, such as csv, jsonl or brat; detected by default.",
    ),
]
EncodingName = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding, e.g. utf-8, cp1252, utf-16; detected by default.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHARACTER", help="Separator of fields; detected by default."
    ),
]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header",
        help="Whether the first row names the columns; otherwise they are 1, 2, 3.",
    ),
]
Quotes = Annotated[
    bool,
    typer.Option(
        "--quotes/--no-quotes",
        help="Whether quotes enclose a field, or are plain characters.",
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        "--labels-file", metavar="FILE", help="For a folder: a table of file names and labels."
    ),
]
EncoderPlace = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="PLACE",
        help="Folder or package with the study's encoder, if it has one.",
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace a file that already exists.")]
OutFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")]
NotesSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the synthetic notes.")]
Unasked = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Notify = Annotated[
    str | None,
    typer.Option(
        "--notify",
        metavar="PROGRAM|URL",
        help="Notify a program (one JSON object) or an https address when people are needed.",
    ),
]
ClusterName = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="local|none|ADDRESS",
        help="What reads many documents: all cores of this machine, this process alone, "
        "or a dask scheduler such as tcp://10.0.0.5:8786.",
    ),
]
Pattern = Annotated[
    str, typer.Option("--pattern", metavar="PATTERN", help="For a folder: which files are texts.")
]
Longest = Annotated[
    int,
    typer.Option("--longest", metavar="BYTES", help="The most bytes of one document.", min=1),
]


@dataclass(frozen=True)
class ColumnFlags:
    """The options that name columns and the form of their labels."""

    label: LabelColumns = None
    label_map: LabelMapping = None
    label_separator: LabelSeparator = None
    labels_file: LabelsFile = None


@dataclass(frozen=True)
class FileFlags:
    """The format of a source."""

    format: FormatName = None
    encoding: EncodingName = None
    delimiter: Delimiter = None
    header: Header = True
    quotes: Quotes = True
    pattern: Pattern = "*.txt"
    longest: Longest = LONGEST


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of every group of flags in its parameters."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    spread: list[Parameter] = []
    for name, parameter in signature(command).parameters.items():
        if name in groups:
            fields_of = signature(groups[name]).parameters.values()
            more = get_type_hints(groups[name], include_extras=True)
            spread += [each.replace(annotation=more[each.name]) for each in fields_of]
        else:
            spread.append(parameter.replace(annotation=hints[name]))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    spread = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in spread]
    run.__signature__ = Signature(spread)  # type: ignore[attr-defined]  # as inspect reads it
    run.__annotations__ = {each.name: each.annotation for each in spread}
    return run


def several(names: list[str] | None) -> tuple[str, ...] | None:
    """The columns, or None if there are none."""
    return tuple(names) if names else None


def listed(names: str | None) -> tuple[str, ...]:
    """The names in a list separated by commas."""
    return tuple(name.strip() for name in names.split(",")) if names else ()


def label_map(given: str | None) -> "LabelMap | None":
    """The label map, given directly or in a file."""
    from sottovoce.sources import LabelMap

    return LabelMap.of(given) if given else None


def format_named(name: str | None) -> "Format | None":
    """The format of that name."""
    from sottovoce.sources import Format

    if name is None:
        return None
    try:
        return Format(name.lower())
    except ValueError:
        known = ", ".join(kind for kind in Format if kind is not Format.MEMORY)
        raise InputError(
            f"format: expected one of {known}, found {name!r}", hints=("--format csv",)
        ) from None


def table(delimiter: str | None, *, quotes: bool, header: bool) -> "DelimitedFormat":
    """The form of a delimited file; a tab is hard to type, so it may be given as \t."""
    from sottovoce.sources import DelimitedFormat

    written_out = {"\\t": "\t", "tab": "\t"}
    given = written_out.get(delimiter, delimiter) if delimiter else delimiter
    return DelimitedFormat(delimiter=given, quoted=quotes, header=header)
