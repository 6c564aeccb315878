"""doccano's JSON Lines: classes are lists of names, spans are lists of [start, end, name]."""

from collections.abc import Iterator

from sottovoce.sources.annotations.marks import Mark, whole_mark
from sottovoce.sources.annotations.tool_reader import Decided
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.rows import Row
from sottovoce.text.documents import Label

_CLASSES = ("label", "labels", "cats")
_SPANS = ("label", "labels", "entities")
_OWN = {*_CLASSES, *_SPANS, "relations", "Comments", "comments"}


class Doccano:
    """doccano's format: a list of names holds classes, a list of [start, end, name] holds spans."""

    format = Format.DOCCANO

    def wrote(self, record: Row) -> bool:
        """Return whether an object has spans or comments; lists of names are ordinary JSON."""
        return "text" in record and (
            next(_marks(record), None) is not None
            or any(name in record and "id" in record for name in ("Comments", "entities"))
        )

    def decided(self, record: Row, options: SourceOptions) -> Decided:
        """Return the names of classes, and the spans; `options` are not used."""
        del options
        fields = {name: value for name, value in record.items() if name not in _OWN}
        return Decided(fields, tuple(_classes(record)), tuple(_marks(record)))


def _classes(record: Row) -> Iterator[Label]:
    for name in _CLASSES:
        value = record.get(name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str | int | float | bool):
                yield item


def _marks(record: Row) -> Iterator[Mark]:
    for name in _SPANS:
        value = record.get(name)
        for item in value if isinstance(value, list) else ():
            if isinstance(item, list) and len(item) == 3:
                mark = whole_mark(*item)
            elif isinstance(item, dict):
                mark = whole_mark(
                    item.get("start_offset"), item.get("end_offset"), item.get("label")
                )
            else:
                continue
            if mark is not None:
                yield mark
