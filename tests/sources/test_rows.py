"""Values of every kind in the columns of a row."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest

from sottovoce.errors import InputError, MisuseError
from sottovoce.sources import Empty, ProblemKind, SourceOptions, open_source
from sottovoce.text.documents import Document


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (2.5, 2.5),
        (" 3.5 ", 3.5),
        ("-1e3", -1000.0),
        (".5", 0.5),
        (True, True),
        (None, None),
        ("", None),
        ("NA", None),
        ("nan", None),
        (float("nan"), None),
        (np.float64(2.5), 2.5),
        (np.int64(3), 3),
        (Decimal("1.25"), 1.25),
    ],
)
def test_numbers(value: object, expected: object) -> None:
    source = open_source([{"text": "a", "x": value}], SourceOptions(numeric=("x",)))
    (document,) = source.documents()
    assert document.columns == {"x": expected}


@pytest.mark.parametrize("value", ["3,5", "1_000", "five", "inf", float("inf"), "٣", "0x10"])
def test_what_is_no_number_costs_its_row_and_is_not_quoted(value: object) -> None:
    rows = [{"text": "a", "x": 1}, {"text": "b", "x": value}]
    source = open_source(rows, SourceOptions(numeric=("x",)))
    assert [document.text for document in source.documents()] == ["a"]
    (problem,) = source.problems
    assert problem.kind is ProblemKind.NOT_A_NUMBER
    assert "five" not in problem.reason


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A", "A"),
        (" A ", "A"),
        ("", None),
        (None, None),
        (3, 3),
        (False, False),
        (date(2024, 5, 1), "2024-05-01"),
    ],
)
def test_categories(value: object, expected: object) -> None:
    source = open_source([{"text": "a", "x": value}], SourceOptions(categorical=("x",)))
    (document,) = source.documents()
    assert document.columns == {"x": expected}


@pytest.mark.parametrize(("value", "expected"), [("p1", "p1"), (7, "7"), (7.0, "7"), (" a ", "a")])
def test_groups_have_one_name(value: object, expected: str) -> None:
    source = open_source([{"text": "a", "p": value}], SourceOptions(group="p"))
    assert [document.group for document in source.documents()] == [expected]


@pytest.mark.parametrize("value", ["", "  ", None, float("nan")])
def test_a_row_without_its_group_is_not_used(value: object) -> None:
    rows = [{"text": "a", "p": 1}, {"text": "b", "p": value}]
    source = open_source(rows, SourceOptions(group="p"))
    assert [document.text for document in source.documents()] == ["a"]
    assert source.problems.counts == {ProblemKind.NO_GROUP: 1}


def test_empty_texts_are_skipped_to_learn_and_kept_to_classify() -> None:
    texts = ["a", "", " \n\t\u3000"]
    assert [d.text for d in open_source(texts).documents()] == ["a"]
    assert [d.text for d in open_source(texts, SourceOptions(empty=Empty.KEEP)).documents()] == (
        texts
    )


def test_patterns_take_the_columns_that_have_no_other_use() -> None:
    rows = [{"text": "a", "label": "x", "x1": 1, "x2": 2, "ward": "A"}]
    options = SourceOptions(numeric=("x*",), categorical=("*",))
    (document,) = open_source(rows, options).documents()
    assert document.columns == {"ward": "A", "x1": 1, "x2": 2}


def test_a_table_without_text_is_read_for_its_columns() -> None:
    rows = [{"a": 1, "b": 2, "label": "x"}]
    (document,) = open_source(rows, SourceOptions(numeric=("*",))).documents()
    assert (document.text, document.label) == ("", "x")
    assert document.columns == {"a": 1, "b": 2}


def test_labels_are_not_read_if_the_user_says_so() -> None:
    (document,) = open_source([("a", "x")], SourceOptions(label=())).documents()
    assert document.label is None


def test_a_mark_that_is_neither_yes_nor_no_costs_its_row() -> None:
    rows = [{"text": "a", "x": 1, "y": 0}, {"text": "b", "x": "maybe", "y": 0}]
    source = open_source(rows, SourceOptions(label=("x", "y")))
    assert [document.label for document in source.documents()] == [("x",)]
    (problem,) = source.problems
    assert (
        "expected yes or no (1, 0, true, false) in 'x', found one of 5 characters" in problem.reason
    )


def test_documents_pass_as_they_are() -> None:
    documents = [Document("a", "x"), Document("", None)]
    assert list(open_source(documents).documents()) == documents


def test_numpy_texts_and_labels_are_read() -> None:
    pairs = list(zip(np.array(["a", "b"]), np.array([1, 0]), strict=True))
    assert [d.label for d in open_source(pairs).documents()] == [1, 0]


def test_an_item_of_another_kind_costs_only_itself() -> None:
    source = open_source(["a", 5, ("b", "x", "y"), None])
    assert [document.text for document in source.documents()] == ["a"]
    assert source.problems.counts == {ProblemKind.WRONG_TYPE: 3}


def test_a_generator_is_read_once_and_refuses_a_second_time() -> None:
    source = open_source(str(i) for i in range(300))
    assert len(list(source.documents())) == 300
    with pytest.raises(MisuseError, match="an iterator that was read to its end"):
        list(source.documents())
    with pytest.raises(MisuseError, match="can be read only once"):
        _ = source.columns


@pytest.mark.parametrize("thing", [b"bytes", 5, None])
def test_what_is_no_source_is_refused(thing: object) -> None:
    with pytest.raises(InputError, match="expected a path, an iterable or a data frame"):
        open_source(thing)  # type: ignore[arg-type]


def test_a_source_is_its_own_source() -> None:
    source = open_source(["a"], name="mine")
    assert open_source(source) is source
    assert repr(source) == "Source('mine', format='memory')"
    assert source.columns == ("text",)


def test_a_label_that_is_no_number_is_no_label() -> None:
    source = open_source([("a", 1.0), ("b", float("inf"))])
    assert [document.label for document in source.documents()] == [1.0]
    assert source.problems.counts == {ProblemKind.NO_LABEL: 1}
