"""Reads the data of a federation's peers from the forms that notebooks use."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from os import PathLike
from typing import Any

from sottovoce.errors import InputError
from sottovoce.estimators.tables import NamedColumns, is_table, kind_of
from sottovoce.sources import Source, SourceOptions, open_source
from sottovoce.sources.formats.columnar import is_frame, is_lazy
from sottovoce.text.documents import Document, Origin


class LeftOutWarning(UserWarning):
    """Rows of a peer's source that take no part."""


def read_part(peer: str, part: Any) -> list[Document]:
    """The documents of a peer's part: lists, frames, a source, a path, or documents."""
    if isinstance(part, str | PathLike):
        return _of_source(peer, open_source(part))
    if isinstance(part, Source):
        return _of_source(peer, part)
    if hasattr(part, "documents"):
        part = part.documents() if callable(part.documents) else part.documents
    part = _collected(part)
    if isinstance(part, tuple) and len(part) > 1 and not isinstance(part[0], Document):
        return _of_tuple(peer, part)
    if isinstance(part, Mapping) or (hasattr(part, "columns") and not isinstance(part, tuple)):
        return _of_columns(peer, part)
    return _of_items(peer, part)


def _collected(part: Any) -> Any:
    """A frame that was not computed yet (polars' LazyFrame) as the frame that it will be."""
    if isinstance(part, tuple):
        return tuple(map(_collected, part))
    return part.collect() if is_lazy(part) else part


def _of_tuple(peer: str, part: tuple[Any, ...]) -> list[Document]:
    """(texts, labels), (texts, labels, groups), or a frame and the names of these columns."""
    if len(part) > 3 + is_frame(part[0]):
        raise _unexpected(peer, f"{len(part)} things")
    if hasattr(part[0], "columns") and all(isinstance(column, str) for column in part[1:]):
        return _of_columns(peer, part[0], part[1:])
    if is_table(part[0]):
        return as_rows(part[0], *part[1:], who=peer)
    return as_documents(part[0], *part[1:], who=peer)


def _of_columns(peer: str, frame: Any, names: Sequence[str] = ("text", "label")) -> list[Document]:
    """The documents of a frame, or of lists by their name, with a text and a label column."""
    known = _names(frame)
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"federation: expected columns {' and '.join(names)} in the frame of {peer!r}, "
            f"found {', '.join(known) or 'none'}",
            hints=(
                f'LocalFederation({{"{peer}": (frame, "note", "diagnosis"), …}})',
                f'LocalFederation({{"{peer}": (frame["note"], frame["diagnosis"]), …}})',
            ),
        )
    wanted = (*names, "group") if len(names) == 2 and "group" in known else names
    columns = [_values(frame[name]) for name in wanted]
    return as_documents(*columns, who=peer)


def _names(frame: Any) -> list[str]:
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    # An Arrow table's `columns` are values, its `column_names` are names.
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def _values(column: Any) -> Any:
    return column.to_pylist() if hasattr(column, "to_pylist") else column


def _of_items(peer: str, part: Any) -> list[Document]:
    """Documents, (text, label) pairs or rows by name; a flaw is refused by its place."""
    items = list(part) if isinstance(part, Iterable) else [part]
    if not items:
        raise _unexpected(peer, "nothing")
    if all(isinstance(item, Document) for item in items):
        return items
    for item in items:
        if not isinstance(item, Document | Mapping | tuple | list):
            raise _unexpected(peer, kind_of(item))
    source = open_source(items, SourceOptions(), name=peer)
    documents = list(source.documents())
    for problem in source.problems:
        raise InputError(f"federation: {problem}")
    return documents


def _of_source(peer: str, source: Source) -> list[Document]:
    documents = list(source.documents())
    lost = source.problems
    if lost.documents:
        warnings.warn(
            f"{peer}: {source.name}: {'; '.join(lost.sentences())}", LeftOutWarning, stacklevel=2
        )
    return documents


def _unexpected(peer: str, kind: str) -> InputError:
    return InputError(
        f"federation: expected (texts, labels) or documents of {peer!r}, found {kind}",
        hints=(
            f'LocalFederation({{"{peer}": (texts, labels), …}})',
            f'LocalFederation({{"{peer}": "notes.csv", …}}) with columns text and label',
        ),
    )


def as_documents(
    texts: Any,
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    *,
    who: str = "predict",
) -> list[Document]:
    """Texts (or documents) with their labels and groups, each as long as the texts."""
    if isinstance(texts, str):
        raise InputError(
            f"{who}: expected a list of texts, found one text", hints=("predict([text])",)
        )
    items = _listed(texts, who)
    columns = [_column(values, len(items), what, who) for values, what in _named(labels, groups)]
    return [
        _document(item, label, group, Origin(who, number))
        for number, (item, label, group) in enumerate(zip(items, *columns, strict=True), start=1)
    ]


def _listed(texts: Any, who: str) -> list[Any]:
    """The texts in their order; what has none, or would give names in their place, is refused."""
    if hasattr(texts, "columns"):
        raise InputError(
            f"{who}: expected a list of texts, found a table",
            hints=('its column of texts: frame["text"]',),
        )
    if isinstance(texts, Mapping | AbstractSet) or not isinstance(texts, Iterable):
        raise InputError(f"{who}: expected a list of texts, found {kind_of(texts)}")
    return list(_values(texts))


def as_rows(
    table: Any,
    labels: Iterable[Any] | None = None,
    groups: Iterable[Any] | None = None,
    *,
    who: str = "predict",
    names: Sequence[str] | None = None,
) -> list[Document]:
    """The rows of a table (with the columns `names`, if told) with their labels and groups."""
    read = NamedColumns.of(table, who=who, names=names)
    count = len(read.rows)
    columns = [_column(values, count, what, who) for values, what in _named(labels, groups)]
    return read.documents(*columns, who=who)


def _named(
    labels: Iterable[Any] | None, groups: Iterable[Any] | None
) -> tuple[tuple[Iterable[Any] | None, str], ...]:
    return (labels, "labels"), (groups, "groups")


def _column(values: Iterable[Any] | None, length: int, what: str, who: str) -> list[Any]:
    if values is None:
        return [None] * length
    column = [_plain(value) for value in _values(values)]
    if len(column) != length:
        raise InputError(f"{who}: expected {length} {what}, one a text, found {len(column)}")
    return column


def _plain(value: Any) -> Any:
    """Python's own type of a numpy scalar; several labels at once as a tuple."""
    if isinstance(value, list | tuple | set | frozenset):
        return tuple(_plain(member) for member in sorted(value, key=str))
    return value.item() if hasattr(value, "item") else value


def _document(item: Any, label: Any, group: Any, origin: Origin) -> Document:
    if isinstance(item, Document):
        return item
    if not isinstance(item, str):
        missing = item is None or item != item  # noqa: PLR0124 - NaN, as frames say it
        raise InputError(
            f"{origin}: expected a text, found {kind_of(item)}",
            hints=("leave such rows out: frame.dropna(subset=[…])",) if missing else (),
        )
    return Document(item, label, None if group is None else str(group), origin=origin)
