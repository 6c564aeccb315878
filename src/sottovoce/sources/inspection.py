"""Figures about a source that show none of its text.

It takes one pass. Besides the counts it keeps some 40 bytes a document (lengths and 64-bit hashes),
so that a laptop can inspect ten million documents.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from sottovoce.sources.columns import is_name, shown_column
from sottovoce.sources.options import Format
from sottovoce.sources.problems import ProblemKind, SourceProblem, label_map_option
from sottovoce.sources.source import Source
from sottovoce.text.documents import Document, Label
from sottovoce.text.labels import (
    LABEL_WORDS,
    folded_label,
    is_label,
    label_name,
    shown_label,
)

_MANY_LABELS = 1000
_MAPPED_LABELS = 30
"""The most labels in a proposed map."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """The lengths of documents: their median, and the length that 95 % do not exceed."""

    median: float
    p95: float
    longest: int


@dataclass(frozen=True, slots=True)
class LabelCount:
    """The number of documents with a label, or (BRAT) of spans."""

    label: str
    documents: int
    spans: int = 0


@dataclass(frozen=True, slots=True)
class Duplicates:
    """How many texts occur more than once, their further documents, and contradictory labels."""

    texts: int
    repeats: int
    contradictory: int


@dataclass(frozen=True, slots=True)
class Groups:
    """The number of groups, and of the documents of the largest one."""

    count: int
    largest: int


@dataclass(frozen=True, slots=True)
class ProblemLine:
    """One problem in words."""

    where: str
    kind: ProblemKind
    reason: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """Everything that `sottovoce data inspect` shows."""

    source: str
    format: Format
    columns: tuple[str, ...]
    documents: int
    skipped: int
    skipped_annotations: int
    labels: tuple[LabelCount, ...]
    distinct_labels: int
    unlabelled: int
    characters: Lengths | None
    words: Lengths | None
    empty: int
    duplicates: Duplicates
    groups: Groups | None
    missing: dict[str, int]
    annotations: dict[str, int]
    problem_counts: dict[str, int]
    problems: tuple[ProblemLine, ...]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


class Inspector:
    """Counts the findings of a pass over a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.documents = 0
        self._empty = 0
        self._textual = False
        self._unlabelled = 0
        self._labels: Counter[str] = Counter()
        self._spans: Counter[str] = Counter()
        self._types: Counter[str] = Counter()
        self._given: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._characters, self._words = array("Q"), array("Q")
        self._texts, self._labelled, self._groups = array("Q"), array("Q"), array("Q")

    def outcomes(self) -> Iterator[Document | SourceProblem]:
        """Read the source and count; yield the outcomes, for a progress bar."""
        for outcome in self._source.outcomes():
            if isinstance(outcome, Document):
                self._add(outcome)
            yield outcome

    def _add(self, document: Document) -> None:
        self.documents += 1
        self._empty += not document.text.strip()
        self._textual = self._textual or bool(document.text) or not document.columns
        self._characters.append(len(document.text))
        self._words.append(len(document.text.split()))
        labels = self._add_labels(document)
        content = document.text or repr(sorted(document.columns.items()))
        self._texts.append(_digest(content))
        self._labelled.append(_digest("\0".join((content, *sorted(labels)))))
        if document.group is not None:
            self._groups.append(_digest(document.group))
        self._missing.update(name for name, value in document.columns.items() if value is None)

    def _add_labels(self, document: Document) -> list[str]:
        label = document.label
        labels: tuple[Label, ...] = (
            label if isinstance(label, tuple) else () if label is None else (label,)
        )
        self._unlabelled += label is None
        self._given.update(_kind(item) for item in labels)
        names = [label_name(item) for item in labels]
        self._labels.update(names)
        self._spans.update(span.type for span in document.spans)
        self._types.update({span.type for span in document.spans})
        return names

    def result(self) -> Inspection:
        """Return the findings of the pass."""
        source, findings = self._source, self._source.findings
        by_label = self._labels or self._types
        return Inspection(
            source=source.name,
            format=source.format,
            columns=self._columns(),
            documents=self.documents,
            skipped=findings.problems.documents,
            skipped_annotations=findings.problems.annotations,
            labels=self._balance(by_label),
            distinct_labels=len(by_label),
            unlabelled=self._unlabelled,
            characters=_lengths(self._characters),
            words=_lengths(self._words),
            empty=(self._empty if self._textual else 0)
            + findings.problems.counts[ProblemKind.EMPTY_TEXT],
            duplicates=self._duplicates(),
            groups=self._grouped(),
            missing={self._named(name): count for name, count in self._missing.items()},
            annotations=dict(findings.annotations),
            problem_counts={kind.value: n for kind, n in findings.problems.counts.most_common()},
            problems=tuple(ProblemLine(str(p.origin), p.kind, p.reason) for p in findings.problems),
            notes=source.notes,
            warnings=tuple(self._warnings()),
        )

    def _columns(self) -> tuple[str, ...]:
        """Return the columns' names, or their numbers if the first row may be data."""
        header = self._source.header if self._source.format is not Format.MEMORY else None
        if header is None or header.certain:
            return tuple(map(self._named, header.columns if header else ()))
        return tuple(str(number) for number in range(1, len(header.columns) + 1))

    def _named(self, column: str) -> str:
        """Return a column's name, or its number if the name could be text."""
        header = self._source.header if self._source.format is not Format.MEMORY else None
        if is_name(column) or header is None or column not in header.columns:
            return column if is_name(column) else shown_column(column)
        return str(header.columns.index(column) + 1)

    def _balance(self, by_label: Counter[str]) -> tuple[LabelCount, ...]:
        """Return the labels by frequency; none are named if they look like texts."""
        if _like_text(by_label, self.documents):
            return ()
        ordered = sorted(by_label.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            LabelCount(
                label if is_label(label) else shown_label(label),
                count,
                0 if self._labels else self._spans[label],
            )
            for label, count in ordered[:_MANY_LABELS]
        )

    def _duplicates(self) -> Duplicates:
        _, counts = np.unique(np.frombuffer(self._texts, np.uint64), return_counts=True)
        with_labels = np.unique(np.frombuffer(self._labelled, np.uint64)).size
        return Duplicates(
            texts=int((counts > 1).sum()),
            repeats=int(counts.sum()) - counts.size,
            contradictory=with_labels - counts.size if self._labels else 0,
        )

    def _grouped(self) -> Groups | None:
        if not self._groups:
            return None
        _, counts = np.unique(np.frombuffer(self._groups, np.uint64), return_counts=True)
        return Groups(counts.size, int(counts.max()))

    def _warnings(self) -> Iterator[str]:
        """Yield warnings to look at before the source becomes part of a study."""
        if self.documents == 0:
            yield "no document can be used"
            return
        yield from self._label_warnings()
        yield from self._content_warnings()

    def _label_warnings(self) -> Iterator[str]:
        if len(self._labels) == 1:
            yield f"only one label ({shown_label(next(iter(self._labels)))}): nothing can be learnt"
        if _like_text(self._labels, self.documents):
            yield f"{len(self._labels):,} different labels: is that column a text?"
        if len(self._given) > 1:
            kinds = ", ".join(f"{count:,} × {kind}" for kind, count in self._given.most_common())
            yield f"labels of mixed types ({kinds}), give them names: --label-map 1=yes,0=no"
        yield from self._spellings()
        options = self._source.options
        expected = {*options.labels}
        if options.label_map is not None:
            expected.update(options.label_map.names.values())
        for label in sorted(expected - {*self._labels, *self._spans}):
            yield f"no document has the label {shown_label(label)}"

    def _spellings(self) -> Iterator[str]:
        """Yield labels that differ only in case or space, and a map that makes them one."""
        by_folded: dict[str, list[str]] = {}
        for name, _ in self._labels.most_common():
            by_folded.setdefault(folded_label(name), []).append(name)
        alike = [
            names for names in by_folded.values() if len(names) > 1 and all(map(is_label, names))
        ]
        for names in alike:
            written = ", ".join(map(repr, names))
            yield f"labels that differ only in case or space: {written}"
        known = {*self._source.options.labels}
        if alike and len(by_folded) <= _MAPPED_LABELS and all(map(is_label, self._labels)):
            pairs = [
                (name, next((name for name in names if name in known), names[0]))
                for names in by_folded.values()
                for name in names
            ]
            targets = {meant for names, meant in pairs if names != meant}
            yield "to make them one: " + label_map_option(
                (name, meant) for name, meant in pairs if name != meant or name not in targets
            )
        yield from list(self._source.problems.sentences())[1:]

    def _content_warnings(self) -> Iterator[str]:
        for column, count in self._missing.items():
            if count == self.documents:
                named = repr(column) if is_name(column) else self._named(column)
                yield f"column {named} has no value in any document"
        duplicates = self._duplicates()
        if duplicates.contradictory:
            yield f"{duplicates.contradictory:,} texts occur under different labels"
        if 2 * duplicates.repeats > self.documents:
            yield "more than half of the documents repeat another one"
        if 2 * self._source.problems.documents > self.documents:
            yield "a large part of the source is skipped"


def inspect(source: Source) -> Inspection:
    """Read `source` once and return figures about it."""
    inspector = Inspector(source)
    for _ in inspector.outcomes():
        pass
    return inspector.result()


def _like_text(labels: Counter[str], documents: int) -> bool:
    """Return whether nearly every document has its own label: the column is probably wrong."""
    wordy = sum(len(name.split()) for name in labels) > LABEL_WORDS * len(labels)
    return len(labels) > documents // 2 and (wordy or len(labels) > 50)


def _kind(label: Label) -> str:
    if isinstance(label, bool):
        return "truth value"
    return "text" if isinstance(label, str) else "number"


def _digest(content: str) -> int:
    raw = blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(raw, "little")


def _lengths(values: "array[int]") -> Lengths | None:
    if not values:
        return None
    lengths = np.frombuffer(values, np.uint64)
    median, p95 = np.quantile(lengths, (0.5, 0.95))
    return Lengths(float(median), float(p95), int(lengths.max()))
