"""Reads Python iterables: texts, (text, label) pairs, rows as dicts, or documents."""

from collections.abc import Iterable, Iterator, Mapping, Sized
from itertools import chain, islice
from typing import Any

from sottovoce.errors import InputError, MisuseError
from sottovoce.sources.columns import Header
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import ProblemKind, SourceProblem
from sottovoce.sources.rows import Row, RowReader, select
from sottovoce.sources.source import Findings
from sottovoce.text.documents import Document, Origin

_HEAD_ROWS = 100


class IterableReader:
    """Reads any iterable; one that can be read only once is refused the second time."""

    format = Format.MEMORY

    def __init__(self, items: Iterable[Any], options: SourceOptions, *, name: str) -> None:
        self._items = items
        self._options = options
        self._spent = False
        self.name = name

    def header(self) -> Header:
        """Return the names in the first hundred rows, or `text` and `label` if rows have none."""
        if isinstance(self._items, Iterator):
            raise MisuseError(
                f"{self.name}: the columns of something that can be read only once are not known",
                hints=("give a list instead of a generator",),
            )
        return Header(self.name, _names(list(islice(self._items, _HEAD_ROWS))))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield one document for each item."""
        head, items = self._begin()
        if isinstance(self._items, Sized):
            findings.total = len(self._items)
        rows: RowReader | None = None
        for number, item in enumerate(items, 1):
            findings.done = number
            if isinstance(item, Document):
                yield item
                continue
            origin = Origin(self.name, number, "item")
            row = _row(item)
            if row is None:
                yield SourceProblem(origin, ProblemKind.WRONG_TYPE, _unexpected(item))
                continue
            header = Header(self.name, _names(head))
            rows = rows or RowReader(select(header, self._options), self._options)
            yield rows.read(row, origin)

    def _begin(self) -> tuple[list[Any], Iterator[Any]]:
        if self._spent:
            raise MisuseError(
                f"{self.name}: it is an iterator that was read to its end already",
                hints=("give a list, or a generator's items once only",),
            )
        self._spent = isinstance(self._items, Iterator)
        items = iter(self._items)
        head = list(islice(items, _HEAD_ROWS))
        return head, chain(head, items)


def _names(head: list[Any]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for item in head:
        names.update(dict.fromkeys(str(name) for name in _row(item) or ()))
    return tuple(names)


def _row(item: Any) -> Row | None:
    if isinstance(item, str):
        return {"text": item}
    if isinstance(item, Mapping):
        return item
    if isinstance(item, tuple | list) and len(item) == 2 and isinstance(item[0], str):
        return {"text": item[0], "label": item[1]}
    return None


def _unexpected(item: object) -> str:
    return (
        "expected a text, a (text, label) pair, a row by name or a Document, "
        f"found {type(item).__name__}"
    )


def refuse_text_as_items(thing: object) -> None:
    """Refuse bytes, which are iterable but never meant as items."""
    if isinstance(thing, bytes | bytearray | memoryview) or not isinstance(thing, Iterable):
        raise InputError(
            f"expected a path, an iterable or a data frame, found {type(thing).__name__}",
            hints=("open_source('notes.csv', SourceOptions(text='note'))",),
        )
