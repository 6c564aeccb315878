"""Labels and groups of a folder's files: from its subfolders, or from the rows of a sheet."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from sottovoce.errors import InputError
from sottovoce.sources.columns import Header
from sottovoce.sources.formats.delimited import DelimitedReader
from sottovoce.sources.options import Format, SourceOptions, named
from sottovoce.sources.problems import ProblemKind, SourceProblem, shown
from sottovoce.sources.rows import ColumnSelection, Row, RowReader, plain, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin, Span
from sottovoce.text.labels import label_name

_TEXT = "text of the file"
_FOLDER = "name of the subfolder"
_NAME_COLUMNS = ("name", "file", "filename", "path", "document", "id")


class Sheet:
    """A labels file with a row for each text file, in memory because files are in any order."""

    def __init__(self, path: Path, options: SourceOptions, findings: Findings) -> None:
        tab = path.suffix.lower() in {".tsv", ".tab"}
        reader = DelimitedReader(path, options, format=Format.TSV if tab else Format.CSV)
        self.path = path
        self._header = reader.header()
        self.columns = self._header.columns
        folded = {column.casefold(): column for column in reversed(self.columns)}
        self.key = next((folded[n] for n in _NAME_COLUMNS if n in folded), self.columns[0])
        self.problems: list[SourceProblem] = []
        self._rows: dict[str, tuple[Origin, Row]] = {}
        # Progress in the sheet does not count as progress in the folder.
        own = Findings()
        for origin, row in reader.rows(own):
            self._take(origin, row)
        for note in own.notes:
            findings.note(f"{path.name}: {note}")
        self._unseen = dict.fromkeys(self._rows)

    def _take(self, origin: Origin, row: Row | SourceProblem) -> None:
        if isinstance(row, SourceProblem):
            self.problems.append(row)
            return
        value = plain(row[self.key])
        name = "" if value is None else label_name(value)
        if name in self._rows:
            first = self._rows[name][0]
            reason = f"its file is on {first.unit} {first.position} already"
            self.problems.append(SourceProblem(origin, ProblemKind.MALFORMED, reason))
        else:
            self._rows[name] = (origin, row)

    def row(self, name: str) -> Row | None:
        """Return the row of the file `name`, which the sheet may write without its suffix."""
        for written in (name, str(PurePosixPath(name).with_suffix(""))):
            if written in self._rows:
                self._unseen.pop(written, None)
                return self._rows[written][1]
        return None

    @property
    def others(self) -> Header:
        """Return the columns other than the file's name."""
        others = tuple(column for column in self.columns if column != self.key)
        return replace(self._header, columns=others)

    def left_over(self) -> Iterator[SourceProblem]:
        """Yield a problem for each row whose file was not found."""
        for name in self._unseen:
            origin = self._rows[name][0]
            yield SourceProblem(
                origin, ProblemKind.UNPAIRED, "expected a file of that name, found none"
            )


class FileRows:
    """Makes documents from files' texts and what is known about the files."""

    def __init__(
        self, options: SourceOptions, findings: Findings, *, root: Path, nested: bool
    ) -> None:
        """Take labels from the labels file, or without one from subfolders if it is `nested`."""
        self._sheet: Sheet | None = None
        if options.labels_file is not None:
            self._sheet = Sheet(options.labels_file, options, findings)
            selection = _from_sheet(self._sheet, options)
        else:
            selection = _from_folders(options, root=root, nested=nested)
        self._rows = RowReader(selection, options)
        self._labelled = bool(selection.label)

    def read(
        self, name: str, text: str, *, spans: tuple[Span, ...] = ()
    ) -> Document | SourceProblem:
        """Return the document of the file `name` (its path below the root) with this `text`."""
        row: dict[str, object] = {
            _TEXT: text,
            _FOLDER: name.partition("/")[0] if "/" in name else None,
        }
        if self._sheet is not None:
            known = self._sheet.row(name)
            if known is None and self._labelled:
                reason = f"expected a row in {self._sheet.path.name}, found none"
                return SourceProblem(Origin(name), ProblemKind.NO_LABEL, reason)
            row.update(known or {})
        return self._rows.read(row, Origin(name), spans=spans)

    def left_over(self) -> Iterator[SourceProblem]:
        """Yield the problems of the labels file, and its files that were not found."""
        if self._sheet is not None:
            yield from self._sheet.problems
            yield from self._sheet.left_over()


def _from_sheet(sheet: Sheet, options: SourceOptions) -> ColumnSelection:
    header, label = sheet.others, options.label
    if label is None and "label" not in header.columns:
        if len(header.columns) != 1:
            raise header.missing("label", option="--label")
        label = header.columns
    selection = select(header, replace(options, text=(), label=label))
    return replace(selection, text=(_TEXT,))


def _from_folders(options: SourceOptions, *, root: Path, nested: bool) -> ColumnSelection:
    asked = (*named(options.group), *options.categorical, *options.numeric)
    label = named(options.label)
    if asked or label not in {(), ("label",)}:
        wanted = (*label, *asked)[0]
        raise InputError(
            f"{root}: a folder of texts has no column {shown(wanted)}; "
            "labels are its subfolders, or stand in a labels file",
            hints=("--labels-file labels.csv (columns: name, label, and what else is known)",),
        )
    if options.unlabelled or not nested:
        return ColumnSelection((_TEXT,), (), (), (), ())
    return ColumnSelection((_TEXT,), (_FOLDER,), (), (), ())
