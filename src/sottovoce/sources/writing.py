"""Writes documents in formats that `open_source` reads: labelled results, predicted spans."""

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from sottovoce.errors import InputError, MismatchError
from sottovoce.sources.corpora import write_brat, write_folder
from sottovoce.sources.drafts import draft_file
from sottovoce.sources.formats.columnar import arrow
from sottovoce.sources.opening import format_of_name
from sottovoce.sources.options import Format
from sottovoce.sources.problems import shown
from sottovoce.text.documents import Document, NestedJson
from sottovoce.text.labels import label_name
from sottovoce.wire.formula_guard import guarded

_BATCH = 512

Record = dict[str, Any]
Sink = Callable[[Record], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """The columns of a written table; None leaves one out. `separator` separates CSV's labels."""

    text: str | None = "text"
    label: str | None = "label"
    group: str | None = "group"
    origin: str | None = None
    separator: str = "|"


def write_documents(
    documents: Iterable[Document],
    path: str | os.PathLike[str],
    *,
    format: Format | None = None,  # noqa: A002 - the word for it
    layout: TableLayout | None = None,
    replace: bool = False,
) -> int:
    """Write `documents` to `path`, completely or not at all, and return their number.

    Without a stated format, the name's suffix decides. Groups are written if the first document has
    one; the same holds for further columns.
    """
    place = Path(path)
    layout = layout or TableLayout()
    format = format or format_of_name(place)  # noqa: A001 - as above
    match format:
        case Format.FOLDER:
            return write_folder(documents, place)
        case Format.BRAT:
            return write_brat(documents, place)
        case Format.CSV | Format.TSV | Format.JSONL | Format.PARQUET | Format.ARROW:
            return _write_table(documents, place, format, layout, replace=replace)
        case _:
            raise InputError(
                f"{place}: the format to write is not named",
                hints=("name it .csv, .tsv, .jsonl, .parquet or .arrow, or state the format",),
            )


def _write_table(
    documents: Iterable[Document],
    path: Path,
    kind: Format,
    layout: TableLayout,
    *,
    replace: bool,
) -> int:
    if kind in {Format.PARQUET, Format.ARROW}:
        arrow(str(path))
    with draft_file(path, replace=replace) as file:
        return write_stream(documents, file, kind, layout)


def write_stream(
    documents: Iterable[Document], file: BinaryIO, kind: Format, layout: TableLayout
) -> int:
    """Write a table of documents to an open file, and return the number of rows."""
    remaining = iter(documents)
    first = next(remaining, None)
    columns = _columns(first, layout)
    written = 0
    with _sink(file, kind, columns, layout) as put:
        while first is not None:
            record = _record(first, layout, columns)
            try:
                put(record)
            except UnicodeEncodeError as error:
                raise InputError(
                    f"{first.origin}: expected text that UTF-8 can hold, "
                    f"found half of a surrogate pair at character {error.start}"
                ) from error
            written += 1
            first = next(remaining, None)
    return written


def _columns(first: Document | None, layout: TableLayout) -> tuple[str, ...]:
    grouped = first is not None and first.group is not None
    own = [layout.origin, layout.text, layout.label, layout.group if grouped else None]
    names = [name for name in own if name is not None]
    if first is not None:
        known = {layout.group} if grouped and layout.group in first.kept else set()
        further = dict.fromkeys((*first.columns, *first.kept))
        names.extend(name for name in further if name not in known)
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"expected columns of different names, found {shown(name)} twice",
                hints=("Layout(text=…, label=…, group=…) names them",),
            )
    return tuple(names)


def _record(document: Document, layout: TableLayout, columns: tuple[str, ...]) -> Record:
    label = document.label
    own = {
        layout.origin: str(document.origin),
        layout.text: document.text,
        layout.label: list(label) if isinstance(label, tuple) else label,
    }
    if document.group is not None or layout.group in columns:
        own[layout.group] = document.group
    record = {name: value for name, value in own.items() if name is not None}
    record.update(document.columns)
    record.update(document.kept)  # as it was typed, if the column holds the number that was read
    if record.keys() != set(columns):
        odd = next(iter(record.keys() ^ set(columns)))
        raise MismatchError(
            f"{document.origin}: expected the columns of the first document, "
            f"found a difference in {shown(odd)}"
        )
    return record


def _sink(
    file: BinaryIO,
    kind: Format,
    columns: tuple[str, ...],
    layout: TableLayout,
) -> AbstractContextManager[Sink]:
    if kind is Format.JSONL:
        return _json_lines(file)
    if kind in {Format.PARQUET, Format.ARROW}:
        return _columnar(file, kind, columns, layout)
    return _delimited(file, "\t" if kind is Format.TSV else ",", columns, layout)


class _Utf8:
    """The csv module's output; rows are encoded as a whole, so a bad row leaves no half behind."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, row: str) -> int:
        return self._file.write(row.encode())


@contextmanager
def _delimited(
    file: BinaryIO, delimiter: str, columns: tuple[str, ...], layout: TableLayout
) -> Iterator[Sink]:
    # CR LF, because only the characters of the line end make the csv module quote a field.
    writer = csv.writer(_Utf8(file), delimiter=delimiter, lineterminator="\r\n")
    writer.writerow([guarded(column) for column in columns])

    def put(record: Record) -> None:
        fields = (_field(record[name], layout.separator) for name in columns)
        writer.writerow([guarded(field) for field in fields])

    yield put


def _field(value: Any, separator: str) -> Any:
    if isinstance(value, bool):
        return label_name(value)
    if not isinstance(value, list):
        return value
    names = [label_name(label) for label in value]
    for name in names:
        if separator in name:
            raise InputError(
                f"label {shown(name)} holds {separator!r}, which stands between labels",
                hints=("Layout(separator=…)", "write JSON Lines, which needs no separator"),
            )
    return separator.join(names)


@contextmanager
def _json_lines(file: BinaryIO) -> Iterator[Sink]:
    encoder = msgspec.json.Encoder()

    def put(record: Record) -> None:
        whole = {
            name: msgspec.Raw(value.encode()) if isinstance(value, NestedJson) else value
            for name, value in record.items()
        }
        file.write(encoder.encode(whole) + b"\n")

    yield put


@contextmanager
def _columnar(
    file: BinaryIO,
    kind: Format,
    columns: tuple[str, ...],
    layout: TableLayout,
) -> Iterator[Sink]:
    """Write rows in batches; the first batch fixes the types; labels and texts are strings."""
    batch: list[Record] = []
    writer: Any = None
    schema: Any = None
    pyarrow = arrow("writing")

    def put(record: Record) -> None:
        named = record.get(layout.label) if layout.label else None
        if isinstance(named, list):
            record[layout.label or ""] = [label_name(label) for label in named]
        elif named is not None:
            record[layout.label or ""] = label_name(named)
        batch.append(record)
        if len(batch) == _BATCH:
            flush()

    def flush() -> None:
        nonlocal writer, schema
        if schema is None:
            schema = _schema(pyarrow, batch, columns)
            writer = _columnar_writer(pyarrow, file, kind, schema)
        try:
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))
        except pyarrow.ArrowException as error:
            raise MismatchError(f"expected columns of one type each: {error}") from error
        finally:
            batch.clear()

    try:
        yield put
    finally:
        # Also after an interruption, because a columnar file without its last part is unreadable.
        try:
            if batch or schema is None:
                flush()
        finally:
            if writer is not None:
                writer.close()


def _schema(pyarrow: Any, batch: list[Record], columns: tuple[str, ...]) -> Any:
    fields = []
    for name in columns:
        held = pyarrow.array([record[name] for record in batch]).type if batch else None
        absent = held is None or pyarrow.types.is_null(held)
        fields.append(pyarrow.field(name, pyarrow.string() if absent else held))
    return pyarrow.schema(fields)


def _columnar_writer(pyarrow: Any, file: BinaryIO, kind: Format, schema: Any) -> Any:
    if kind is Format.PARQUET:
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(file, schema)
    return pyarrow.ipc.new_file(file, schema)
