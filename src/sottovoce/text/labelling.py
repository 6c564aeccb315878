"""How a row gets its classes: from the document's label, or from entities marked in it.

`label`   every row of a document has the document's label
`levels`  both in one model: a row has the document's label, and each entity type that touches it
`types`   a row belongs to each entity type that touches it (none, one or several)
`inside`  is this token part of an entity of one of the types?
`single`  one class a token: the type of the shortest entity around it, else `O`
`bio`     as `single`, and `B-` begins an entity where `I-` goes on with it
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Fragment, Span
from sottovoce.text.fingerprints import fingerprint
from sottovoce.text.labels import Classes, Labels
from sottovoce.text.reading import Level

OUTSIDE = "O"


class Scheme(StrEnum):
    """The schemes of the module's table."""

    LABEL = "label"
    LEVELS = "levels"
    TYPES = "types"
    INSIDE = "inside"
    SINGLE = "single"
    BIO = "bio"


@dataclass(frozen=True, slots=True)
class Labelling:
    """A scheme and, where it looks at entities, the entity types that count."""

    labels: Labels
    scheme: Scheme = Scheme.LABEL
    types: tuple[str, ...] = ()

    @classmethod
    def by_entity(cls, scheme: Scheme, types: Sequence[str]) -> "Labelling":
        """Return the labelling whose classes follow from the entity `types`."""
        if scheme is Scheme.LABEL or not types:
            raise InputError(
                f"labelling {scheme}: expected a scheme over entities and at least one type, "
                f"found {', '.join(types) or 'no type'}",
                setting="labelling",
            )
        names = {
            Scheme.TYPES: tuple(types),
            Scheme.INSIDE: ("outside", "inside"),
            Scheme.SINGLE: (OUTSIDE, *types),
            Scheme.BIO: (OUTSIDE, *(f"{mark}-{kind}" for kind in types for mark in "BI")),
        }[scheme]
        return cls(Labels(names, exclusive=scheme is not Scheme.TYPES), scheme, tuple(types))

    @classmethod
    def by_levels(cls, types: Sequence[str], names: Sequence[str]) -> "Labelling":
        """Return the labelling by the document's label and by entity `types` in one model.

        All classes share one dictionary and one second moment; each class has its own targets.
        """
        both = next((name for name in names if name in types), None)
        if both is not None or not types or not names:
            given = f"{both!r} as both" if both is not None else "none of one of them"
            raise InputError(
                f"labelling {Scheme.LEVELS}: expected entity types and labels of documents, each "
                f"with names of their own, found {given}"
            )
        return cls(Labels((*types, *names), exclusive=False), Scheme.LEVELS, tuple(types))

    @property
    def document_names(self) -> tuple[str, ...]:
        """The classes that a document's own label can name."""
        if self.scheme is Scheme.LABEL:
            return self.labels.names
        levels = self.scheme is Scheme.LEVELS
        return tuple(name for name in self.labels.names if levels and name not in self.types)

    @property
    def fingerprint(self) -> str:
        """64 hexadecimal digits that name this way of labelling."""
        return fingerprint("sottovoce/labelling/v1", self)

    def check(self, level: Level) -> None:
        """Refuse a scheme that does not apply to rows of this level."""
        if self.scheme in {Scheme.INSIDE, Scheme.SINGLE, Scheme.BIO} and level is not Level.TOKEN:
            raise InputError(
                f"labelling {self.scheme}: expected level token, found {level}",
                hints=("entities of documents and sentences: labelling types",),
                setting="labelling",
            )

    def classes(self, document: Document, places: Sequence[Fragment]) -> list[Classes]:
        """Return the classes of each row of a document; `places` are sorted and do not overlap."""
        if self.scheme is Scheme.LABEL:
            return [self.labels.classes(document)] * len(places)
        touching: list[list[tuple[Span, bool]]] = [[] for _ in places]
        for span in document.spans:
            if span.type in self.types:
                for count, row in enumerate(_rows_of(span, places)):
                    touching[row].append((span, count == 0))
        if self.scheme is Scheme.LEVELS:
            own = Labels(self.document_names, exclusive=False).classes(document)
            return [(*self._types_of(spans), *own) for spans in touching]
        return [self._chosen(spans) for spans in touching]

    def _types_of(self, spans: list[tuple[Span, bool]]) -> Classes:
        present = {span.type for span, _ in spans}
        return tuple(kind for kind in self.types if kind in present)

    def _chosen(self, spans: list[tuple[Span, bool]]) -> Classes:
        if self.scheme is Scheme.TYPES:
            return self._types_of(spans)
        if self.scheme is Scheme.INSIDE:
            return ("inside" if spans else "outside",)
        if not spans:
            return (OUTSIDE,)
        innermost, begins = min(spans, key=self._rank)
        if self.scheme is Scheme.SINGLE:
            return (innermost.type,)
        return (f"{'B' if begins else 'I'}-{innermost.type}",)

    def _rank(self, candidate: tuple[Span, bool]) -> tuple[int, int, int]:
        """Rank the shortest first, then the leftmost, then by the order of the types."""
        span = candidate[0]
        length = sum(fragment.end - fragment.start for fragment in span.fragments)
        return length, span.fragments[0].start, self.types.index(span.type)


def _rows_of(span: Span, places: Sequence[Fragment]) -> Iterator[int]:
    """Yield the rows that share a character with the span, in order, each once."""
    seen = -1
    for fragment in sorted(span.fragments):
        low = bisect_right(places, fragment.start, key=attrgetter("end"))
        while low < len(places) and places[low].start < fragment.end:
            if low > seen and places[low].overlaps(fragment):
                seen = low
                yield low
            low += 1
