"""Attaches labels to documents, to rows, or as spans."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MismatchError
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.explanations import CarryingWord, Explanation
from sottovoce.text.documents import Document, Fragment, Span, Value
from sottovoce.text.labelling import OUTSIDE, Scheme
from sottovoce.text.labels import Classes
from sottovoce.text.reading import Level

NO_SINGLE_WORD = "no single word"

Found = list[tuple[Fragment, Classes]]
"""The rows of one document: their positions and classes."""


def by_document(
    documents: Sequence[Document], classes: Sequence[Classes], plan: StudyPlan
) -> list[tuple[Document, Found]]:
    """The labelled rows, document by document."""
    remaining = iter(classes)
    answers = []
    for document in documents:
        places = [row.place for row in plan.reading.rows(document)]
        mine = [(place, next(remaining, None)) for place in places]
        if any(answer is None for _, answer in mine):
            raise MismatchError(f"{document.origin}: expected a label for every row, found fewer")
        answers.append(
            (document, [(place, answer) for place, answer in mine if answer is not None])
        )
    if next(remaining, None) is not None:
        raise MismatchError("labels: there are more than rows")
    return answers


def as_table(answers: Sequence[tuple[Document, Found]], plan: StudyPlan) -> Iterator[Document]:
    """One row for each document with its label; parts of documents name the part."""
    for number, (document, rows) in enumerate(answers, 1):
        for place, classes in rows:
            label = classes[0] if plan.labels.exclusive else classes
            if plan.level is Level.DOCUMENT:
                yield replace(document, label=label, spans=())
                continue
            own: dict[str, Value] = {
                "document": number,
                "start": place.start,
                "end": place.end,
                **document.columns,
            }
            text = document.text[place.start : place.end]
            yield replace(document, text=text, label=label, columns=own, spans=())


def remarked(
    rows: Sequence[Document], column: str, remarks: Mapping[int, str | float]
) -> Iterator[Document]:
    """The rows of a table with one more column."""
    for number, row in enumerate(rows):
        if column in row.columns or column in row.kept:
            raise MismatchError(f"{row.origin}: there is already a column {column!r}")
        yield replace(row, columns={**row.columns, column: remarks.get(number, "")})


def margins(scores: NDArray[np.float64], plan: StudyPlan) -> NDArray[np.float64]:
    """The distance of each row's scores from another decision."""
    point = np.array(plan.operating_point or (0.0,) * plan.labels.width)
    if plan.labels.exclusive and plan.labels.width > 1:
        ordered = np.sort(scores - point, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])
    return np.asarray(np.abs(scores - point).min(axis=1))


def certainties(
    answers: Sequence[tuple[Document, Found]], scores: NDArray[np.float64] | None, plan: StudyPlan
) -> list[float | None]:
    """The certainty of each document: the smallest margin of its rows."""
    if scores is None:
        return [None] * len(answers)
    ends = np.cumsum([len(rows) for _, rows in answers])
    parts = np.split(margins(scores, plan), ends[:-1])
    return [float(part.min()) if part.size else None for part in parts]


def as_spans(answers: Sequence[tuple[Document, Found]], plan: StudyPlan) -> Iterator[Document]:
    """Every document with its labels as annotated spans."""
    for document, rows in answers:
        spans = tuple(_spans(rows, plan))
        yield replace(document, label=None, spans=spans)


def _spans(rows: Found, plan: StudyPlan) -> Iterator[Span]:
    """Runs of neighbouring rows of one class; a `B-` begins a new run."""
    joins = plan.level is Level.TOKEN
    for name in dict.fromkeys(_type(span) for _, classes in rows for span in classes):
        if name is None:
            continue
        run: Fragment | None = None
        for place, classes in rows:
            here = [span for span in classes if _type(span) == name]
            begins = not joins or (_bio(plan) and any(span.startswith("B-") for span in here))
            if run is not None and (not here or begins):
                yield _span(name, run)
                run = None
            if here:
                run = Fragment(run.start if run else place.start, place.end)
        if run is not None:
            yield _span(name, run)


def _bio(plan: StudyPlan) -> bool:
    return plan.labelled.scheme is Scheme.BIO


def _type(name: str) -> str | None:
    """The entity type of a class, or None for the class without entity."""
    if name in {OUTSIDE, "outside"}:
        return None
    return name[2:] if name.startswith(("B-", "I-")) else name


def _span(name: str, place: Fragment) -> Span:
    # BRAT's types have no spaces.
    return Span("_".join(name.split()), (place,))


def explained(because: Explanation) -> str:
    """The words that decided a label, as a cell of a table."""
    if because is None:
        return ""
    return ", ".join(_carried(word) for word in because) or NO_SINGLE_WORD


def _carried(word: CarryingWord) -> str:
    if word.fall is not None:
        return f"{word.word} ({word.fall:.2f})"
    return f"{word.word} (else {' and '.join(word.without) or 'none'})"
