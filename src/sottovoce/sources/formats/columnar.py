"""Parquet, Arrow and data frames: columns by name, a few hundred rows at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.files import address_of, open_file
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.parting.stretches import Stretch, grouped_stretches
from sottovoce.sources.problems import SourceProblem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin


def arrow(what: str) -> ModuleType:
    """Return the module pyarrow, which the extra `frames` installs."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise InputError(
            f"{what}: Parquet and Arrow need the package pyarrow, which is not installed",
            hints=("pip install 'sottovoce[frames]'",),
        ) from error
    return pa  # type: ignore[no-any-return]


class ColumnarFileReader:
    """Reads one Parquet or Arrow (Feather 2) file."""

    def __init__(self, path: Path, options: SourceOptions, *, format: Format) -> None:  # noqa: A002 - the word for it
        self._path = path
        self._options = options
        self.format = format
        self.name = str(path)

    def header(self) -> Header:
        """Return the names in the file's schema."""
        with self._opened() as (schema, _, _):
            return Header(self.name, tuple(schema.names))

    def stretches(self) -> tuple[Stretch, ...]:
        """Return the row groups of Parquet; an Arrow file is read as a whole."""
        if self.format is not Format.PARQUET:
            return ()
        from pyarrow.parquet import ParquetFile

        with self._opened(), _for_arrow(self._path) as source, ParquetFile(source) as file:
            groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
            return grouped_stretches([(group.num_rows, group.total_byte_size) for group in groups])

    def read(
        self, findings: Findings, stretch: Stretch | None = None
    ) -> Iterator[Document | SourceProblem]:
        """Yield one document for each row; only used columns are read."""
        with self._opened() as (schema, count, batches):
            findings.total = count
            rows = _rows(Header(self.name, tuple(schema.names)), self._options, findings)
            number, chosen = 0, {}
            if stretch is not None:
                number = stretch.before
                findings.began, findings.ended = stretch.start, stretch.stop
                chosen = {"row_groups": list(range(stretch.start, stretch.stop))}
            for batch in batches(rows.selection.columns, **chosen):
                for row in _slices(batch, self._options.limits.batch_rows):
                    number += 1
                    yield rows.read(row, Origin(self._path.name, number, "row"))
                findings.done = number

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, int | None, Any]]:
        """Yield the schema, the number of rows if known, and a function that gives batches."""
        pyarrow = arrow(self.name)
        with open_file(self._path) as file:
            empty = not file.read(1)
        if empty:
            raise InputError(f"{self.name}: expected {self.format.value}, found an empty file")
        try:
            if self.format is Format.PARQUET:
                with _parquet(self._path, self._options.limits.batch_rows) as opened:
                    yield opened
            else:
                with _ipc(self._path, self.name) as opened:
                    yield opened
        except (pyarrow.ArrowException, OSError) as error:
            # The library's message could quote the file's content.
            raise InputError(
                f"{self.name}: expected {self.format.value}, found a file that cannot be read "
                f"as such ({type(error).__name__})",
                hints=("--format says what the file is: csv, tsv, jsonl, parquet, arrow",),
            ) from error


@contextmanager
def _for_arrow(path: Path) -> Iterator[Path | BinaryIO]:
    """Yield a local path, which Arrow opens itself; of a remote path its open file."""
    if address_of(path) is None:
        yield path
        return
    with open_file(path) as file:
        yield file


@contextmanager
def _parquet(path: Path, batch_rows: int) -> Iterator[tuple[Any, int | None, Any]]:
    from pyarrow.parquet import ParquetFile

    # Without a buffer, or if it is filled ahead, Arrow would read a whole row group.
    with (
        _for_arrow(path) as source,
        ParquetFile(source, buffer_size=2**20, pre_buffer=False) as file,
    ):

        def batches(columns: tuple[str, ...], **chosen: list[int]) -> Iterator[Any]:
            return file.iter_batches(batch_size=batch_rows, columns=list(columns), **chosen)  # type: ignore[no-any-return]

        yield file.schema_arrow, file.metadata.num_rows, batches


@contextmanager
def _ipc(path: Path, name: str) -> Iterator[tuple[Any, int | None, Any]]:
    """Open Arrow's file format, or its stream format if the file has no such head."""
    pyarrow = arrow(name)
    with (
        _for_arrow(path) as place,
        pyarrow.memory_map(str(path)) if place is path else pyarrow.PythonFile(place) as source,
    ):
        head = source.read(6)
        source.seek(0)
        if head.startswith(b"FEA1"):
            raise InputError(
                f"{name}: expected Arrow (Feather 2), found Feather, version 1",
                hints=("write it again as Arrow or Parquet",),
            )
        if head == b"ARROW1":
            file = pyarrow.ipc.open_file(source)
            parts: Any = (file.get_batch(i) for i in range(file.num_record_batches))
        else:
            file = pyarrow.ipc.open_stream(source)
            parts = file

        def batches(columns: tuple[str, ...]) -> Iterator[Any]:
            return (part.select(list(columns)) for part in parts)

        yield file.schema, None, batches


class FrameReader:
    """Reads a pandas or polars data frame or an Arrow table that is in memory."""

    format = Format.MEMORY

    def __init__(self, frame: Any, options: SourceOptions, *, name: str) -> None:
        self._frame = frame
        self._options = options
        self.name = name

    def header(self) -> Header:
        """Return the frame's column names."""
        arrow_table = is_arrow_table(self._frame)
        names = self._frame.schema.names if arrow_table else self._frame.columns
        return Header(self.name, tuple(map(str, names)))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield one document for each row."""
        rows = _rows(self.header(), self._options, findings)
        findings.total = len(self._frame)
        for number, row in enumerate(self._values(rows.selection.columns), 1):
            findings.done = number
            yield rows.read(row, Origin(self.name, number, "row"))

    def _values(self, columns: tuple[str, ...]) -> Iterator[Row]:
        step = self._options.limits.batch_rows
        known = self.header().columns
        places = [known.index(column) for column in columns]
        for start in range(0, len(self._frame), step):
            if is_arrow_table(self._frame):
                part = self._frame.slice(start, step).select(places)
                values: Any = [part.column(i).to_pylist() for i in range(len(places))]
            elif _library(self._frame) == "polars":
                part = self._frame.slice(start, step)
                values = [part.to_series(place).to_list() for place in places]
            else:
                part = self._frame.iloc[start : start + step]
                values = [part.iloc[:, place].tolist() for place in places]
            if values:
                yield from (
                    dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)
                )


def is_frame(thing: object) -> bool:
    """Whether `thing` is a data frame of pandas or polars, or an Arrow table."""
    return (
        type(thing).__name__ == "DataFrame" and _library(thing) in {"pandas", "polars"}
    ) or is_arrow_table(thing)


def is_lazy(thing: object) -> bool:
    """Whether `thing` is a polars frame that has not been computed yet."""
    return type(thing).__name__ == "LazyFrame" and _library(thing) == "polars"


def is_arrow_table(thing: object) -> bool:
    """Whether `thing` is an Arrow table."""
    return type(thing).__name__ == "Table" and _library(thing) == "pyarrow"


def _library(thing: object) -> str:
    return type(thing).__module__.split(".", 1)[0]


def _rows(header: Header, options: SourceOptions, findings: Findings) -> RowReader:
    findings.note(header.repeated)
    return RowReader(select(header, options), options)


def _slices(batch: Any, step: int) -> Iterator[Row]:
    for start in range(0, batch.num_rows, step):
        yield from batch.slice(start, step).to_pylist()
