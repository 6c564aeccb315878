"""What inspection says of a source, and what it never shows."""

import shlex
from pathlib import Path

import msgspec
import pytest

from sottovoce.sources import LabelMap, SourceOptions, open_source
from sottovoce.sources.inspection import Duplicates, Groups, LabelCount, Lengths, inspect
from sottovoce.text.documents import Document

OWN = Path(__file__).parent.parent / "data" / "brat"


def test_figures_of_a_table() -> None:
    rows = [
        {"text": "one two", "label": "a", "p": 1},
        {"text": "one two", "label": "a", "p": 1},
        {"text": "one two", "label": "b", "p": 2},
        {"text": "three", "label": "a", "p": 3},
        {"text": " ", "label": "a", "p": 3},
    ]
    inspected = inspect(open_source(rows, SourceOptions(group="p"), name="rows"))
    assert (inspected.documents, inspected.skipped, inspected.empty) == (4, 1, 1)
    assert inspected.labels == (LabelCount("a", 3), LabelCount("b", 1))
    assert inspected.characters == Lengths(7.0, 7.0, 7)
    assert inspected.words == Lengths(2.0, 2.0, 2)
    assert inspected.duplicates == Duplicates(texts=1, repeats=2, contradictory=1)
    assert inspected.groups == Groups(count=3, largest=2)
    assert inspected.problem_counts == {"empty text": 1}
    assert inspected.problems[0].where == "rows item 5"
    assert inspected.warnings == ("1 texts occur under different labels",)


def test_figures_of_a_brat_corpus() -> None:
    inspected = inspect(open_source(OWN))
    assert inspected.documents == 3
    assert inspected.labels[0] == LabelCount("Sign_symptom", 2, 5)
    assert inspected.annotations["contiguous spans"] == 9
    assert inspected.annotations["discontinuous spans"] == 1
    assert inspected.annotations["equivalences (*)"] == 1
    assert inspected.unlabelled == 3


@pytest.mark.parametrize(
    ("rows", "options", "warning"),
    [
        ([("a", "x"), ("b", "x")], SourceOptions(), "only one label ('x'): nothing can be learnt"),
        ([("a", 1), ("b", "no"), ("c", True)], SourceOptions(),
         "labels of mixed types (1 × number, 1 × text, 1 × truth value)"),
        ([("a", "x"), ("b", "y")], SourceOptions(labels=("x", "y", "z")),
         "no document has the label 'z'"),
        ([("a", "x"), ("b", "y")], SourceOptions(label_map=LabelMap.parse("x=1,y=0,z=2")),
         "no document has the label '2'"),
        ([(f"{i}", f"label {i}") for i in range(99)], SourceOptions(),
         "99 different labels: is that column a text?"),
        ([{"text": "a", "n": None}, {"text": "b", "n": float("nan")}],
         SourceOptions(numeric=("n",)), "column 'n' has no value in any document"),
        ([("a", "x")] * 4 + [("b", "y")], SourceOptions(),
         "more than half of the documents repeat another one"),
        ([("a", "x"), ("", "y"), ("", "y")], SourceOptions(),
         "a large part of the source is skipped"),
        ([("", "x")], SourceOptions(), "no document can be used"),
    ],
)  # fmt: skip
def test_warnings(rows: list[object], options: SourceOptions, warning: str) -> None:
    inspected = inspect(open_source(rows, options))
    assert any(words.startswith(warning) for words in inspected.warnings), inspected.warnings


def test_a_healthy_source_has_no_warnings() -> None:
    inspected = inspect(open_source([("a", "x"), ("b", "y"), ("c", "x")]))
    assert inspected.warnings == ()
    assert inspected.duplicates == Duplicates(0, 0, 0)


def test_labels_that_look_like_texts_are_not_shown() -> None:
    rows = [(f"a{i}", f"the confidential sentence number {i}") for i in range(200)]
    inspected = inspect(open_source(rows))
    assert inspected.labels == ()
    assert inspected.distinct_labels == 200
    assert b"confidential sentence number 7" not in msgspec.json.encode(inspected)


def test_many_labels_a_document_are_counted_each() -> None:
    inspected = inspect(
        open_source([Document("a", ("x", "y")), Document("b", ("x",)), Document("c", ())])
    )
    assert inspected.labels == (LabelCount("x", 2), LabelCount("y", 1))


def test_a_table_without_text_has_no_empty_texts() -> None:
    rows = [{"n": 1, "label": "a"}, {"n": 2, "label": "b"}, {"n": 1, "label": "a"}]
    inspected = inspect(open_source(rows, SourceOptions(numeric=("n",))))
    assert inspected.empty == 0
    assert inspected.duplicates == Duplicates(1, 1, 0)


def test_labels_that_differ_only_in_case_or_space_are_named_with_a_map(tmp_path: Path) -> None:
    rows = ["a,Urgent", "b,urgent", "c,urgent", "d,not  urgent", "e,not urgent", "f,other"]
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["text,label", *rows]), encoding="utf-8")
    warnings = inspect(open_source(path)).warnings
    assert "labels that differ only in case or space: 'urgent', 'Urgent'" in warnings
    (proposed,) = [warning for warning in warnings if warning.startswith("to make them one")]
    _, given = shlex.split(proposed.removeprefix("to make them one: "))
    mapped = inspect(open_source(path, SourceOptions(label_map=LabelMap.of(given))))
    assert {label.label: label.documents for label in mapped.labels} == {
        "urgent": 3, "not  urgent": 2, "other": 1
    }  # fmt: skip
    assert not [warning for warning in mapped.warnings if "case or space" in warning]
