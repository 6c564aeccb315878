"""Spans in JSON Lines: the fields `entities` and `sentences` as `sottovoce notes` writes them.

    "entities": [{"type": "Drug", "start": 10, "end": 17, "negated": false}, …]
    "sentences": [{"section": "history", "start": 0, "end": 31}, …]

A sentence is a span whose type is its section. If qualified spans are asked for, every other true
field of an entity gives one more span of the same place, `Drug:Negated`, as in BRAT.
"""

from collections.abc import Iterator

from sottovoce.sources.annotations.marks import Mark, whole_mark
from sottovoce.sources.rows import Row


def marks_in(record: Row, *, qualified: bool) -> tuple[Mark, ...]:
    """Return the marks of an object; none if its fields hold something else."""
    entities = tuple(_entities(record.get("entities"), qualified=qualified))
    return (*entities, *_sentences(record.get("sentences")))


def _entities(listed: object, *, qualified: bool) -> Iterator[Mark]:
    for entity in _objects(listed):
        mark = whole_mark(entity.get("start"), entity.get("end"), entity.get("type"))
        if mark is None:
            continue
        yield mark
        for name, value in entity.items() if qualified else ():
            if value is True:
                yield Mark(mark.start, mark.end, f"{mark.type}:{name.capitalize()}")


def _sentences(listed: object) -> Iterator[Mark]:
    for sentence in _objects(listed):
        mark = whole_mark(sentence.get("start"), sentence.get("end"), sentence.get("section"))
        if mark is not None:
            yield mark


def _objects(listed: object) -> Iterator[Row]:
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, dict):
            yield item
