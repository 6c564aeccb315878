"""Writes predictions for annotation tools, so that people see the least certain ones first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec

from sottovoce.sources.options import Format
from sottovoce.text.documents import Document, Label, NestedJson
from sottovoce.text.labels import label_name

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A document with the label or the spans that a model gave it, and how certain it was."""

    document: Document
    certainty: float | None = field(default=None, repr=False)


def least_certain_first(predictions: Iterable[Prediction]) -> list[Prediction]:
    """Return the predictions by rising certainty; those without one keep their order."""
    return sorted(
        predictions,
        key=lambda prediction: 0.0 if prediction.certainty is None else prediction.certainty,
    )


def write_predictions(
    predictions: Iterable[Prediction], file: BinaryIO, kind: Format, *, model: str
) -> int:
    """Write tasks for the tool `kind`, made by `model`; return their number."""
    encoder, record = msgspec.json.Encoder(), _RECORDS[kind]
    is_array = kind is Format.LABEL_STUDIO
    file.write(b"[" if is_array else b"")
    written = 0
    for prediction in predictions:
        file.write(b",\n" if is_array and written else b"")
        file.write(encoder.encode(record(prediction, model)))
        file.write(b"" if is_array else b"\n")
        written += 1
    file.write(b"]\n" if is_array else b"")
    return written


def _label_studio(prediction: Prediction, model: str) -> Record:
    document = prediction.document
    result: list[Record] = [
        _region("labels", {"start": start, "end": end, "text": text, "labels": [kind]})
        for start, end, kind, text in _places(document)
    ]
    if document.label is not None:
        result.append(_region("choices", {"choices": _names(document)}))
    made: Record = {"model_version": model, "result": result}
    if prediction.certainty is not None:
        made["score"] = prediction.certainty
    return {"data": {**_further(document), "text": document.text}, "predictions": [made]}


def _region(kind: str, value: Record) -> Record:
    return {"from_name": "label", "to_name": "text", "type": kind, "value": value}


def _prodigy(prediction: Prediction, model: str) -> Record:
    document = prediction.document
    task: Record = {"text": document.text, "meta": {**_further(document), "model": model}}
    if isinstance(document.label, tuple):
        task["accept"] = _names(document)
    elif document.label is not None:
        task["label"] = label_name(document.label)
    else:
        task["spans"] = [
            {"start": start, "end": end, "label": kind} for start, end, kind, _ in _places(document)
        ]
    if prediction.certainty is not None:
        task["score"] = prediction.certainty
    return task


def _doccano(prediction: Prediction, model: str) -> Record:
    document = prediction.document
    places = [[start, end, kind] for start, end, kind, _ in _places(document)]
    label = places if document.label is None else _names(document)
    return {**_further(document), "text": document.text, "label": label, "model": model}


_RECORDS: dict[Format, Callable[[Prediction, str], Record]] = {
    Format.LABEL_STUDIO: _label_studio,
    Format.PRODIGY: _prodigy,
    Format.DOCCANO: _doccano,
}
TOOLS = frozenset(_RECORDS)


def _further(document: Document) -> Record:
    """The columns beside text and label, among them an id: whoever imports tasks needs it."""
    return {
        name: msgspec.Raw(value.encode()) if isinstance(value, NestedJson) else value
        for name, value in {**document.columns, **document.kept}.items()
    }


def _names(document: Document) -> list[str]:
    label = document.label
    given: tuple[Label, ...] = (
        label if isinstance(label, tuple) else () if label is None else (label,)
    )
    return [label_name(name) for name in given]


def _places(document: Document) -> list[tuple[int, int, str, str]]:
    return [
        (place.start, place.end, span.type, document.text[place.start : place.end])
        for span in document.spans
        for place in span.fragments
    ]
