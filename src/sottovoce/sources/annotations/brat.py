"""BRAT standoff: a folder of `.txt` files, each with an `.ann` file that annotates it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePath

from sottovoce.errors import InputError
from sottovoce.sources.annotations import standoff
from sottovoce.sources.annotations.offsets import TextFrame
from sottovoce.sources.annotations.standoff import (
    Annotations,
    Attribute,
    BratEvent,
    NumberedFlaw,
    Relation,
)
from sottovoce.sources.columns import Header
from sottovoce.sources.encodings import find_encoding
from sottovoce.sources.files import open_file
from sottovoce.sources.lines import Lines, too_long
from sottovoce.sources.options import Format, SourceOptions
from sottovoce.sources.problems import Loss, ProblemKind, SourceProblem
from sottovoce.sources.sheets import FileRows
from sottovoce.sources.source import Findings
from sottovoce.sources.tree import Folder, read_text, walk
from sottovoce.text.documents import Document, Origin, Span

TEXT, ANNOTATION = ".txt", ".ann"
_PLURALS: dict[type, str] = {
    BratEvent: "events",
    Relation: "relations",
    standoff.Equivalence: "equivalences (*)",
    Attribute: "attributes",
    standoff.Normalization: "normalizations",
    standoff.BratNote: "notes",
}


class BratReader:
    """Reads every pair of a folder in a fixed order; spans are the documents' annotation."""

    format = Format.BRAT

    def __init__(self, path: Path, options: SourceOptions) -> None:
        self._path = path
        self._options = options
        self.name = str(path)

    def header(self) -> Header:
        """Return `text` and `spans`: BRAT has no columns, and each pair is one text."""
        return Header(self.name, ("text", "spans"))

    def read(self, findings: Findings) -> Iterator[Document | SourceProblem]:
        """Yield one document for each pair."""
        nested = self._options.label is not None
        rows = FileRows(self._options, findings, root=self._path, nested=nested)
        for place in walk(self._path):
            if isinstance(place, SourceProblem):
                yield place
                continue
            stems = {name[:-4] for name in place.files if name.endswith((TEXT, ANNOTATION))}
            for stem in sorted(stems):
                findings.done += 1
                yield from self._pair(place, stem, rows, findings)
        if findings.done == 0:
            raise InputError(
                f"{self._path}: there is no pair of .txt and .ann files",
                hints=("--format folder reads a folder of texts without annotation",),
            )
        yield from rows.left_over()

    def _pair(
        self, place: Folder, stem: str, rows: FileRows, findings: Findings
    ) -> Iterator[Document | SourceProblem]:
        shown = place.below(stem + TEXT)
        if stem + TEXT not in place.files:
            shown = place.below(stem + ANNOTATION)
            reason = f"expected {stem}{TEXT} beside it, found none"
            yield SourceProblem(Origin(shown), ProblemKind.UNPAIRED, reason)
            return
        annotated = stem + ANNOTATION in place.files
        if not annotated and not self._options.unlabelled:
            reason = f"expected {stem}{ANNOTATION} beside it, found none"
            yield SourceProblem(Origin(shown), ProblemKind.UNPAIRED, reason)
            return
        text = read_text(place.path / (stem + TEXT), shown, self._options)
        if isinstance(text, SourceProblem):
            yield text
            return
        findings.note(f"{shown}: {text.note}" if text.note else "")
        annotations = Annotations(frame=TextFrame(text.text, text.marked))
        if annotated:
            annotation = place.below(stem + ANNOTATION)
            read = self._annotations(
                place.path / (stem + ANNOTATION), annotation, annotations.frame
            )
            if isinstance(read, SourceProblem):
                yield read
                return
            annotations = read
            yield from _problems(annotations.flaws, annotation)
        findings.note(f"{shown}: {annotations.frame.note}" if annotations.frame.note else "")
        findings.annotations.update(counted(annotations))
        further = qualified_spans(annotations) if self._options.qualified else ()
        spans = self._wanted((*annotations.spans, *further))
        yield rows.read(shown, annotations.frame.text, spans=spans)

    def _annotations(self, path: Path, shown: str, frame: TextFrame) -> Annotations | SourceProblem:
        limit = self._options.limits.document_bytes
        broken: list[NumberedFlaw] = []

        def lines() -> Iterator[tuple[int, str]]:
            for line in Lines(file, encoding, limit=limit):
                if line.flaw:
                    broken.append(NumberedFlaw(line.number, line.flaw))
                else:
                    yield line.number, line.text.rstrip("\r\n")

        try:
            with open_file(path) as file:
                head = file.read(limit + 1)
                if len(head) > limit:
                    size = too_long(path.stat().st_size, limit)
                    return SourceProblem(Origin(shown), ProblemKind.TOO_LONG, size)
                encoding = find_encoding(head, stated=self._options.encoding, name=shown)
                annotations = standoff.parse(lines(), frame)
        except InputError as error:
            return SourceProblem(Origin(shown), ProblemKind.UNREADABLE, error.message)
        return replace(annotations, flaws=tuple(sorted((*annotations.flaws, *broken))))

    def _wanted(self, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        known = self._options.label_map
        return spans if known is None else known.spans(spans)


def counted(annotations: Annotations) -> Counter[str]:
    """The number of usable annotations of each kind."""
    counts = Counter(_PLURALS[type(other)] for other in annotations.others)
    whole = sum(len(span.fragments) == 1 for span in annotations.spans)
    counts["contiguous spans"] = whole
    counts["discontinuous spans"] = len(annotations.spans) - whole
    return counts


def _problems(flaws: tuple[NumberedFlaw, ...], shown: str) -> Iterator[SourceProblem]:
    for flaw in flaws:
        origin = Origin(shown, flaw.line, "line")
        yield SourceProblem(origin, flaw.flaw.kind, flaw.flaw.reason, Loss.ANNOTATION)


def has_annotations(path: Path) -> bool:
    """Whether there is an `.ann` file anywhere below `path`."""
    return any(
        PurePath(name).suffix == ANNOTATION
        for place in walk(path)
        if isinstance(place, Folder)
        for name in place.files
    )


def qualified_spans(annotations: Annotations) -> tuple[Span, ...]:
    """Return attributes, relations and events as spans, each once, so that they can be labels.

        T1 Disease 0 8 · A1 Negated T1            Disease:Negated at T1
        A2 Certainty T1 high                      Disease:Certainty=high at T1
        R1 Treats Drug:T2 Disorder:T1             Treats:Drug at T2, Treats:Disorder at T1
        E1 Admission:T3 Where:T4                  Admission:Where at T4 (T3 is an entity already)

    An argument that is an event stands for its trigger.
    """
    places = {span.name: span for span in annotations.spans}
    for other in annotations.others:
        if isinstance(other, BratEvent) and other.trigger in places:
            places[other.name] = places[other.trigger]
    return tuple(dict.fromkeys(_further(annotations, places)))


def _further(annotations: Annotations, places: Mapping[str, Span]) -> Iterator[Span]:
    for other in annotations.others:
        if isinstance(other, Attribute) and other.target in places:
            place = places[other.target]
            value = "" if other.value is None else f"={other.value}"
            yield Span(f"{place.type}:{other.type}{value}", place.fragments)
        if isinstance(other, Relation | BratEvent):
            for argument in other.arguments:
                if argument.target in places:
                    yield Span(f"{other.type}:{argument.role}", places[argument.target].fragments)
