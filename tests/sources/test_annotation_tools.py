"""Exports of Label Studio, Prodigy and doccano: what people decided, and what is no decision."""

import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.sources import (
    Format,
    LabelMap,
    ProblemKind,
    Source,
    SourceOptions,
    SourceProblem,
    open_source,
)
from sottovoce.sources.annotations.predictions import (
    TOOLS,
    Prediction,
    least_certain_first,
    write_predictions,
)
from sottovoce.text.documents import Document, Fragment, NestedJson, Span


def lines(folder: Path, records: list[Any], **options: Any) -> Source:
    path = folder / "export.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return open_source(path, SourceOptions(**options))


def array(folder: Path, records: list[Any], **options: Any) -> Source:
    path = folder / "export.json"
    path.write_text(json.dumps(records, indent=1), encoding="utf-8")
    return open_source(path, SourceOptions(**options))


def decided(source: Source) -> list[tuple[str, object]]:
    return [(document.text, document.label) for document in source.documents()]


def spans(source: Source) -> list[tuple[str, str]]:
    return [
        (span.type, document.text[place.start : place.end])
        for document in source.documents()
        for span in document.spans
        for place in span.fragments
    ]


def prodigy(text: str, answer: str = "accept", **more: Any) -> dict[str, Any]:
    return {"text": text, "_input_hash": 1, "_task_hash": 2, "answer": answer, **more}


def test_prodigy_s_rejected_answers_are_no_labels(tmp_path: Path) -> None:
    source = lines(
        tmp_path,
        [
            prodigy("good day", label="POS"),
            prodigy("bad day", "reject", label="POS"),
            prodigy("a day", "ignore", label="POS"),
            prodigy("two", accept=["A", "B"], options=[{"id": "A"}, {"id": "B"}]),
            prodigy("one", accept=["A"], patient="p1"),
            prodigy("none", accept=[]),
        ],
    )
    assert source.format is Format.PRODIGY
    assert decided(source) == [("good day", "POS"), ("two", ("A", "B")), ("one", "A")]
    assert source.problems.counts == {ProblemKind.REJECTED: 2, ProblemKind.NO_LABEL: 1}
    assert "expected answer accept, found reject" in str(next(iter(source.problems)))


def test_prodigy_s_answers_count_where_its_hashes_were_taken_out(tmp_path: Path) -> None:
    records = [
        {"text": "good day", "label": "POS", "answer": "accept"},
        {"text": "bad day", "label": "POS", "answer": "reject"},
    ]
    source = lines(tmp_path, records)
    assert source.format is Format.PRODIGY
    assert decided(source) == [("good day", "POS")]
    plain = lines(tmp_path, [{"text": "may I?", "answer": "accept"}], label=("answer",))
    assert decided(plain) == [("may I?", "accept")]


def test_what_was_rejected_can_still_be_asked_about(tmp_path: Path) -> None:
    records = [prodigy("bad day", "reject", label="POS"), prodigy("good day", label="POS")]
    assert decided(lines(tmp_path, records, label=())) == [("bad day", None), ("good day", None)]


def test_prodigy_s_spans(tmp_path: Path) -> None:
    marks = [
        {"start": 0, "end": 4, "label": "DRUG"},
        {"start": 5, "end": 99, "label": "DRUG"},
        {"start": 5, "end": 9, "label": "DOSE"},
    ]
    source = lines(tmp_path, [prodigy("ass 10 mg", spans=marks)], label=())
    assert spans(source) == [("DRUG", "ass "), ("DOSE", "0 mg")]
    assert source.problems.counts == {ProblemKind.WRONG_OFFSET: 1}
    assert source.problems.documents == 0
    mapped = SourceOptions(label=(), label_map=LabelMap({"DRUG": "Drug"}))
    assert spans(open_source(tmp_path / "export.jsonl", mapped)) == [("Drug", "ass ")]


def test_doccano_s_classes_and_spans(tmp_path: Path) -> None:
    classes = [
        {"id": 1, "text": "a", "label": ["x"], "Comments": []},
        {"id": 2, "text": "b", "label": ["x", "y"], "Comments": []},
        {"id": 3, "text": "c", "label": [], "Comments": []},
    ]
    source = lines(tmp_path, classes)
    assert source.format is Format.DOCCANO
    assert decided(source) == [("a", "x"), ("b", ("x", "y"))]
    assert source.problems.counts == {ProblemKind.NO_LABEL: 1}
    old = lines(tmp_path, [{"id": 1, "text": "ass 10 mg", "label": [[0, 3, "DRUG"]]}])
    assert old.format is Format.DOCCANO
    assert spans(old) == [("DRUG", "ass")]
    new = {"id": 1, "text": "ass 10 mg", "relations": [], "cats": ["order"]}
    new["entities"] = [{"id": 7, "label": "DOSE", "start_offset": 4, "end_offset": 9}]
    assert spans(lines(tmp_path, [new])) == [("DOSE", "10 mg")]
    assert decided(lines(tmp_path, [new])) == [("ass 10 mg", "order")]


def test_predictions_are_tasks_and_no_labels(tmp_path: Path) -> None:
    span = Span("DRUG", (Fragment(0, 3),))
    kept = {"id": "A7", "seen": NestedJson('{"by": [1]}'), "text": "other"}
    rows = [
        Prediction(Document("sure", "x", columns={"ward": "A"}), 0.9),
        Prediction(Document("unsure", "y", columns={"ward": "B"}, kept=kept), 0.1),
        Prediction(Document("ass 10 mg", spans=(span,)), 0.5),
        Prediction(Document("both", ("x", "y")), 0.6),
    ]
    made = {}
    for kind in TOOLS:
        with (tmp_path / kind).open("wb") as file:
            ordered = least_certain_first(rows)
            assert write_predictions(ordered, file, kind, model="notes") == 4
        source = open_source(tmp_path / kind, SourceOptions(format=kind, label=()))
        texts = [document.text for document in source.documents()]
        assert texts == ["unsure", "ass 10 mg", "both", "sure"]
        made[kind] = (tmp_path / kind).read_text(encoding="utf-8")
    assert not decided_in(tmp_path / Format.PRODIGY, Format.PRODIGY)
    assert not decided_in(tmp_path / Format.LABEL_STUDIO, Format.LABEL_STUDIO)
    unsure, _, both, _ = (task["predictions"][0] for task in json.loads(made[Format.LABEL_STUDIO]))
    assert (unsure["score"], unsure["model_version"]) == (0.1, "notes")
    assert both["result"][0]["value"] == {"choices": ["x", "y"]}
    # Who imports tasks knows them by their own columns.
    further = {"ward": "B", "id": "A7", "seen": {"by": [1]}}
    data = json.loads(made[Format.LABEL_STUDIO])[0]["data"]
    assert data == {**further, "text": "unsure"}
    tasks = [json.loads(line) for line in made[Format.PRODIGY].splitlines()]
    assert tasks[0]["meta"].items() >= {**further, "model": "notes"}.items()
    first = json.loads(made[Format.DOCCANO].splitlines()[0])
    assert first == {**further, "text": "unsure", "label": ["y"], "model": "notes"}
    assert tasks[1]["spans"] == [{"start": 0, "end": 3, "label": "DRUG"}]
    assert (tasks[0]["label"], tasks[0]["score"]) == ("y", 0.1)
    doccano = [json.loads(line)["label"] for line in made[Format.DOCCANO].splitlines()]
    assert doccano == [["y"], [[0, 3, "DRUG"]], ["x", "y"], ["x"]]


def decided_in(path: Path, kind: Format) -> list[object]:
    source = open_source(path, SourceOptions(format=kind))
    return [
        outcome
        for outcome in source.outcomes()
        if not isinstance(outcome, SourceProblem) and outcome.label
    ]


def choice(*names: str, **more: Any) -> dict[str, Any]:
    region = {"type": "choices", "from_name": "c", "value": {"choices": list(names)}}
    return {"result": [region], **more}


def task(text: str, *annotations: dict[str, Any]) -> dict[str, Any]:
    return {"id": 1, "data": {"text": text, "ward": "A"}, "annotations": list(annotations)}


def test_label_studio_s_annotators_must_agree(tmp_path: Path) -> None:
    records = [
        task("one", choice("x")),
        task("agreed", choice("x"), choice("x"), choice("y", was_cancelled=True)),
        task("split", choice("x"), choice("y")),
        task("settled", choice("x"), choice("y", ground_truth=True)),
        task("both", choice("x", "y")),
        task("nobody"),
        task("skipped", choice("y", was_cancelled=True)),
    ]
    source = array(tmp_path, records, categorical=("ward",))
    assert source.format is Format.LABEL_STUDIO
    assert decided(source) == [
        ("one", "x"), ("agreed", "x"), ("settled", "y"), ("both", ("x", "y"))
    ]  # fmt: skip
    assert source.problems.counts == {ProblemKind.DISAGREEMENT: 1, ProblemKind.NO_LABEL: 2}
    assert next(source.documents()).columns == {"ward": "A"}


def test_label_studio_s_places_may_count_utf_16_units(tmp_path: Path) -> None:
    def marked(start: int, end: int, covered: str) -> dict[str, Any]:
        value = {"start": start, "end": end, "text": covered, "labels": ["DRUG"]}
        return {"result": [{"type": "labels", "value": value}]}

    text = "🩻 ass 🩻 mg"
    records = [task(text, marked(2, 5, "ass")), task(text, marked(3, 6, "ass"))]
    source = array(tmp_path, [*records, task(text, marked(0, 3, "ass"))], label=())
    assert [document.spans[0].fragments for document in source.documents() if document.spans] == [
        (Fragment(2, 5),), (Fragment(2, 5),)
    ]  # fmt: skip
    assert source.problems.counts == {ProblemKind.WRONG_OFFSET: 1}


@pytest.mark.parametrize("kind", [Format.LABEL_STUDIO, Format.PRODIGY, Format.DOCCANO])
@pytest.mark.parametrize(
    "odd",
    [
        {}, {"text": None}, {"text": "a", "label": 3}, {"data": 5, "annotations": 7},
        {"data": {"text": "a"}, "annotations": [5, {"result": 5}, {"result": [5, {"value": 5}]}]},
        {"text": "a", "spans": 5, "label": None, "accept": 5},
        {"text": "a", "label": [[1], [1, 2]]},
        {"text": "a", "label": [[True, 2, "x"], ["a", "b", "c"], [0, 1, 5], [0, 1, " "]]},
    ],
)  # fmt: skip
def test_odd_objects_cost_at_most_themselves(tmp_path: Path, kind: Format, odd: Any) -> None:
    whole = {
        "text": "whole", "label": "x", "data": {"text": "whole"}, "annotations": [choice("x")],
        "answer": "accept",
    }  # fmt: skip
    source = lines(tmp_path, [whole, odd], format=kind)
    assert decided(source)[0] == ("whole", "x")
