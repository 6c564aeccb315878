"""Turns one row of named values into a document, or into the reason why it is unusable."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite

import msgspec

from sottovoce.errors import InputError
from sottovoce.sources.columns import AGREED, Header, shown_column
from sottovoce.sources.options import Empty, SourceOptions, named
from sottovoce.sources.problems import ProblemKind, SourceProblem, shown
from sottovoce.text.documents import Document, Label, NestedJson, Origin, Span, Value
from sottovoce.text.labels import label_name, respelt, unknown_label

Row = Mapping[str, object]

_REMEMBERED_LABELS = 1_024

_MARKS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False, "": False}
_MISSING_NUMBERS = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class _Unusable(Exception):  # noqa: N818 - a reason on its way to becoming a Problem
    """A value that makes its row unusable."""

    def __init__(
        self, kind: ProblemKind, reason: str, spelling: tuple[str, str] | None = None
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.spelling = spelling


@dataclass(frozen=True, slots=True)
class ColumnSelection:
    """The columns of one source that make up a document."""

    text: tuple[str, ...]
    label: tuple[str, ...]
    group: tuple[str, ...]
    categorical: tuple[str, ...]
    numeric: tuple[str, ...]
    kept: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return every column that is read, once."""
        named = (*self.text, *self.label, *self.group)
        return tuple(dict.fromkeys((*named, *self.categorical, *self.numeric, *self.kept)))


def select(header: Header, options: SourceOptions) -> ColumnSelection:
    """Find the columns that `options` ask for among those that a source has."""
    further = bool(options.categorical or options.numeric)
    text = _asked(header, options.text, default="text", option="--text")
    if options.text is None and not text:
        if len(header.columns) == 1 and not further:
            text = header.columns
        elif not further:
            raise header.missing("text", option="--text")
    label = _asked(header, options.label, default="label", option="--label")
    for column in label:
        if column in text:
            raise InputError(
                f"{header.name}: one column is named for both text and label",
                hints=("--label COLUMN names another column, or leave it out",),
            )
    group = header.find(named(options.group), option="--group")
    taken = {*text, *label, *group}
    numbers, values = (AGREED, AGREED) if options.agreed else ("--numeric", "--categorical")
    numeric = _further(header, options.numeric, taken, option=numbers)
    categorical = _further(header, options.categorical, taken | {*numeric}, option=values)
    kept = header.find(options.kept, option="--keep")
    chosen = ColumnSelection(text, label, group, categorical, numeric, kept)
    header.check_unique(chosen.columns)
    return chosen


def asks_for(columns: tuple[str, ...], options: SourceOptions) -> bool:
    """Return whether one of the requested (or default) columns is among these."""
    text = ("text",) if options.text is None else named(options.text)
    label = ("label",) if options.label is None else named(options.label)
    further = (*named(options.group), *options.categorical, *options.numeric)
    return any(column in columns for column in (*text, *label, *further))


def _asked(
    header: Header, asked: str | tuple[str, ...] | None, *, default: str, option: str
) -> tuple[str, ...]:
    if asked is None:
        return (default,) if default in header.columns else ()
    return header.find(named(asked), option=option)


def _further(
    header: Header, asked: tuple[str, ...], taken: set[str], *, option: str
) -> tuple[str, ...]:
    """Return columns by name; a name with `*` matches every column that has no other use."""
    names: dict[str, None] = {}
    for wanted in asked:
        if "*" in wanted and wanted not in header.columns:
            matches = [c for c in header.columns if fnmatchcase(c, wanted) and c not in taken]
        else:
            matches = list(header.find((wanted,), option=option))
        if not matches:
            raise header.missing(wanted, option=option)
        names.update(dict.fromkeys(matches))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class RowReader:
    """Turns rows into documents according to a source's options."""

    selection: ColumnSelection
    options: SourceOptions
    _known_before: dict[str, Label] = field(default_factory=dict, init=False, repr=False)

    def read(
        self, row: Row, origin: Origin, *, spans: tuple[Span, ...] = ()
    ) -> Document | SourceProblem:
        """Return the document of `row`, or the problem that makes the row unusable."""
        try:
            return Document(
                text=self._text(row),
                label=self._label(row),
                group=self._group(row),
                columns=self._columns(row),
                spans=spans,
                origin=origin,
                kept={column: _as_it_is(row, column) for column in self.selection.kept},
            )
        except _Unusable as problem:
            return SourceProblem(origin, problem.kind, problem.reason, spelling=problem.spelling)

    def _text(self, row: Row) -> str:
        parts = [_text(row, column) for column in self.selection.text]
        text = parts[0] if len(parts) == 1 else "\n".join(part for part in parts if part)
        if "\0" in text:
            at = text.index("\0")
            raise _Unusable(ProblemKind.NUL, f"NUL character at character {at} of the text")
        if not text.strip() and self.selection.text and self.options.empty is Empty.SKIP:
            raise _Unusable(ProblemKind.EMPTY_TEXT, "expected text, found none")
        return text

    def _label(self, row: Row) -> Label | tuple[Label, ...] | None:
        columns = self.selection.label
        if not columns:
            return None
        if len(columns) > 1:
            marked: tuple[Label, ...] = tuple(c for c in columns if _marked(row, c))
            return tuple(self._known(label) for label in marked)
        value = row.get(columns[0])
        if isinstance(value, str) and self.options.label_separator is None:
            return self._written(value, columns[0])
        if isinstance(value, list | tuple):  # JSON and columnar files can have these
            labels = tuple(_label(item, columns[0]) for item in value)
            return tuple(dict.fromkeys(self._known(label) for label in labels))
        if self.options.label_separator is not None and (isinstance(value, str) or value is None):
            names = (name.strip() for name in (value or "").split(self.options.label_separator))
            return tuple(dict.fromkeys(self._known(name) for name in names if name))
        return self._known(_label(value, columns[0]))

    def _written(self, value: str, column: str) -> Label:
        """Return the label in a cell, cached because most labels occur often."""
        label = self._known_before.get(value)
        if label is None:
            label = self._known(_label(value, column))
            if len(self._known_before) < _REMEMBERED_LABELS:
                self._known_before[value] = label
        return label

    def _known(self, label: Label) -> Label:
        """Return the study's label for the source's label."""
        known, own = self.options.labels, self.options.label_map
        if own is not None:
            mapped = own[label]
            if mapped is None and label_name(label) not in known:
                wanted = {*own.names, *known}
                reason = f"label {unknown_label(label, wanted)} is not in the label map"
                raise _unknown(label, wanted, reason)
            label = label if mapped is None else mapped
        if known and label_name(label) not in known:
            reason = (
                f"expected one of the study's labels ({', '.join(map(shown, known))}), "
                f"found one {unknown_label(label, known)}"
            )
            raise _unknown(label, known, reason)
        return label

    def _group(self, row: Row) -> str | None:
        for column in self.selection.group:
            value = plain(row.get(column))
            name = "" if value is None else label_name(value)
            if not name:
                raise _Unusable(
                    ProblemKind.NO_GROUP, f"expected a group in {shown(column)}, found none"
                )
            return name
        return None

    def _columns(self, row: Row) -> dict[str, Value]:
        if not self.selection.categorical and not self.selection.numeric:
            return {}
        values: dict[str, Value] = {c: _category(row, c) for c in self.selection.categorical}
        values.update((c, _number(row, c)) for c in self.selection.numeric)
        return values


def plain(value: object) -> str | int | float | bool | None:
    """Return a value of the source as a plain Python value; a missing one becomes None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if value != value else value  # noqa: PLR0124 - NaN differs from itself
    if type(value).__name__ in {"NAType", "NaTType"}:
        return None
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return plain(item())
    if type(value).__name__ == "Decimal":
        return float(str(value))
    if type(value).__name__ in {"datetime", "date", "time", "Timestamp", "UUID"}:
        return str(value)
    raise _Unusable(
        ProblemKind.WRONG_TYPE, f"expected a single value, found one of type {type(value).__name__}"
    )


def _text(row: Row, column: str) -> str:
    value = row.get(column)
    if isinstance(value, str):
        return value
    value = plain(value)
    if value is None or isinstance(value, str):
        return value or ""
    raise _Unusable(
        ProblemKind.WRONG_TYPE, f"expected text in {shown(column)}, found {type(value).__name__}"
    )


def _unknown(label: Label, known: Collection[str], reason: str) -> _Unusable:
    """Return the problem of an unknown label, with a known label that may be meant."""
    name = label_name(label)
    meant = respelt(name, known)
    return _Unusable(ProblemKind.UNKNOWN_LABEL, reason, None if meant is None else (name, meant))


def _label(value: object, column: str) -> Label:
    label = plain(value)
    if isinstance(label, str):
        label = label.strip()
    if label is None or label == "":
        raise _Unusable(ProblemKind.NO_LABEL, f"expected a label in {shown(column)}, found none")
    if isinstance(label, float) and not isfinite(label):
        raise _Unusable(ProblemKind.NO_LABEL, f"expected a label in {shown(column)}, found {label}")
    return label


def _marked(row: Row, column: str) -> bool:
    value = plain(row.get(column))
    name = "" if value is None else label_name(value).lower()
    if name not in _MARKS:
        raise _Unusable(
            ProblemKind.UNKNOWN_LABEL,
            f"expected yes or no (1, 0, true, false) in {shown_column(column)}, "
            f"found one {unknown_label(name, _MARKS)}",
        )
    return _MARKS[name]


def _as_it_is(row: Row, column: str) -> Value:
    """Return the value of a column that is only copied; it may be a list or an object."""
    value = row.get(column)
    if isinstance(value, list | tuple | dict):
        return NestedJson(msgspec.json.encode(value).decode())
    return plain(value)


def _category(row: Row, column: str) -> Value:
    value = plain(row.get(column))
    if isinstance(value, str):
        return value.strip() or None
    return value


def _number(row: Row, column: str) -> int | float | None:
    value = plain(row.get(column))
    if isinstance(value, str):
        words = value.strip()
        if words.lower() in _MISSING_NUMBERS:
            return None
        if not _NUMBER.fullmatch(words):
            raise _Unusable(
                ProblemKind.NOT_A_NUMBER,
                f"expected a number in {shown_column(column)}, found {len(words)} characters "
                "that are none",
            )
        value = float(words)
    if value is not None and not isfinite(value):
        raise _Unusable(
            ProblemKind.NOT_A_NUMBER,
            f"expected a finite number in {shown_column(column)}, found {value}",
        )
    return value
