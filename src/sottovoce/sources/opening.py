"""Opens every kind of source: a path, an iterable, or a data frame."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from shlex import quote
from typing import Any

from sottovoce.errors import InputError
from sottovoce.sources.annotations.brat import BratReader, has_annotations
from sottovoce.sources.annotations.doccano import Doccano
from sottovoce.sources.annotations.label_studio import LabelStudio
from sottovoce.sources.annotations.prodigy import Prodigy
from sottovoce.sources.annotations.tool_reader import Tool, ToolReader
from sottovoce.sources.files import kind_of, look_at, open_file
from sottovoce.sources.formats.columnar import ColumnarFileReader, FrameReader, is_frame, is_lazy
from sottovoce.sources.formats.delimited import DelimitedReader
from sottovoce.sources.formats.folders import FolderReader
from sottovoce.sources.formats.json_records import JsonRecords
from sottovoce.sources.formats.jsonlines import JsonLinesReader
from sottovoce.sources.formats.memory import IterableReader, refuse_text_as_items
from sottovoce.sources.formats.workbooks import WorkbookReader
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.packed import inner_name, is_packed
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.source import Findings, Reader, Source

_SUFFIXES = {
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSONL,
    ".parquet": Format.PARQUET,
    ".pq": Format.PARQUET,
    ".arrow": Format.ARROW,
    ".feather": Format.ARROW,
    ".ipc": Format.ARROW,
    ".xlsx": Format.XLSX,
}
_TOOLS: dict[Format, Tool] = {tool.format: tool for tool in (LabelStudio(), Prodigy(), Doccano())}
_UNPACKED_ALONE = {Format.PARQUET, Format.ARROW, Format.XLSX}
"""Formats with their own compression, which are not read from a packed file."""

Place = str | os.PathLike[str]


def open_source(
    place: Place | Iterable[Any], options: SourceOptions | None = None, *, name: str = "data"
) -> Source:
    """Return the source at `place`: a path, or an object in memory that messages call `name`.

    The path is checked now, so that a wrong one is reported at once; its content is read by
    `documents()`.
    """
    options = options or SourceOptions()
    if isinstance(place, Source):
        return place
    if isinstance(place, str | os.PathLike):
        return Source(_reader_of_path(Path(place), options), options)
    if is_lazy(place):
        raise InputError(
            f"{name}: expected a data frame, found a polars LazyFrame",
            hints=("open_source(frame.collect(), …)",),
        )
    if is_frame(place):
        return Source(FrameReader(place, options, name=name), options)
    refuse_text_as_items(place)
    return Source(IterableReader(place, options, name=name), options)


def _reader_of_path(path: Path, options: SourceOptions) -> Reader:
    format = find_format(path, options)  # noqa: A001 - the word for it
    if format in _TOOLS:
        return ToolReader(path, options, _TOOLS[format])
    return _plain_reader(path, options, format)


def _plain_reader(path: Path, options: SourceOptions, format: Format) -> Reader:  # noqa: A002 - the word for it; a line a format
    match format:
        case Format.CSV | Format.TSV:
            return DelimitedReader(path, options, format=format)
        case Format.JSONL:
            return JsonLinesReader(path, options)
        case Format.PARQUET | Format.ARROW:
            return ColumnarFileReader(path, options, format=format)
        case Format.XLSX:
            return WorkbookReader(path, options)
        case Format.FOLDER:
            return FolderReader(path, options)
        case Format.BRAT:
            return BratReader(path, options)
        case _:
            raise InputError(f"{path}: expected the format of a file or a folder, found {format}")


def find_format(path: Path, options: SourceOptions) -> Format:
    """Return the stated format, else one by the path's kind, suffix or first bytes."""
    mode = look_at(path).st_mode
    if options.format is not None:
        _check_kind(path, mode, options.format)
        return _packed_once(path, options.format)
    if stat.S_ISDIR(mode):
        return Format.BRAT if has_annotations(path) else Format.FOLDER
    inner = inner_name(path)
    by_look = format_of_name(inner) or _by_first_bytes(path, inner)
    if by_look is Format.JSONL:
        return _tool_of(path, options) or by_look
    return _packed_once(path, by_look)


def _by_first_bytes(path: Path, inner: Path) -> Format:
    with open_file(path) as file:
        head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    if head.startswith((b"PAR1", b"ARROW1")):
        return Format.PARQUET if head.startswith(b"PAR1") else Format.ARROW
    if inner.suffix.lower() == ".txt" and b"\t" in head.partition(b"\n")[0]:
        return Format.TSV
    return Format.JSONL if head.startswith((b"{", b"[")) else Format.CSV


def _tool_of(path: Path, options: SourceOptions) -> Format | None:
    """Return the annotation tool that wrote a JSON file, judged by its first object."""
    try:
        first = next(JsonRecords(path, options).read(Findings()), None)
    except InputError:
        return None  # the reader reports what is wrong with the file
    if first is None or isinstance(first[1], SourceProblem):
        return None
    return next((name for name, tool in _TOOLS.items() if tool.wrote(first[1])), None)


def _packed_once(path: Path, format: Format) -> Format:  # noqa: A002 - the word for it
    if is_packed(path) and format in _UNPACKED_ALONE:
        raise InputError(
            f"{path}: expected a packed table of text, found {format.value}, which packs itself",
            hints=(f"{'gunzip' if path.suffix.lower() == '.gz' else 'unzip'} {quote(str(path))}",),
        )
    return format


def format_of_name(path: Path) -> Format | None:
    """Return the format that belongs to a suffix; None if it has none."""
    return _SUFFIXES.get(path.suffix.lower())


def _check_kind(path: Path, mode: int, format: Format) -> None:  # noqa: A002 - the word for it
    wants_folder = format in {Format.FOLDER, Format.BRAT}
    if wants_folder != stat.S_ISDIR(mode):
        what = "a folder" if wants_folder else "a file"
        raise InputError(
            f"{path}: format {format.value} expects {what}, found {kind_of(mode)}",
            hints=("leave --format out: the path shows the format",),
        )
