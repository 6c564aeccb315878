import numpy as np
import pytest

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Origin
from sottovoce.text.labels import Labels, label_name


def test_one_label_has_one_name_whatever_its_type() -> None:
    assert [label_name(label) for label in (1, 1.0, "1", " 1 ")] == ["1"] * 4
    assert [label_name(label) for label in (True, False, 0.5)] == ["true", "false", "0.5"]


def test_labels_are_found_and_sorted() -> None:
    assert Labels.distinct(["spam", "ham", "spam"]).names == ("ham", "spam")
    assert Labels.distinct([1, 0, 1.0]).names == ("0", "1")


def test_only_one_label_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 different labels, found spam"):
        Labels.distinct(["spam", "spam"])
    with pytest.raises(InputError, match="at least 2 different labels, found none"):
        Labels.distinct([])


def test_mixed_kinds_of_labels_are_refused() -> None:
    with pytest.raises(InputError, match=r"one kind, found number and text"):
        Labels.distinct([1, "yes"])
    with pytest.raises(InputError, match="truth value"):
        Labels.distinct([True, 1])


def test_a_label_that_the_study_does_not_have_is_refused_with_its_place_and_the_nearest() -> None:
    labels = Labels(("pneumonia", "fracture"))
    with pytest.raises(InputError, match=r"notes\.csv row 7: .*found one 'pnuemonia'") as caught:
        labels.classes(Document("x", "pnuemonia", origin=Origin("notes.csv", 7)))
    assert caught.value.hints == ("map it to the study's name: --label-map pnuemonia=pneumonia",)


@pytest.mark.parametrize(("label", "shown"), [(None, "none"), (("a", "b"), "2"), ((), "none")])
def test_exclusive_classes_want_exactly_one_label(label: object, shown: str) -> None:
    with pytest.raises(InputError, match=f"expected one label, found {shown}"):
        Labels(("a", "b")).classes(Document("x", label))  # type: ignore[arg-type]


def test_names_must_differ() -> None:
    with pytest.raises(InputError, match="expected different names"):
        Labels(("a", "a"))


def test_many_labels_are_not_all_listed() -> None:
    labels = Labels(tuple(f"l{number}" for number in range(40)))
    with pytest.raises(InputError, match="and 28 more"):
        labels.require("x", where="here")


def test_two_exclusive_classes_have_one_column_and_its_sign_decides() -> None:
    labels = Labels(("ham", "spam"))
    membership = labels.membership([("ham",), ("spam",)])
    assert labels.width == 1
    assert labels.targets(membership).tolist() == [[-1], [1]]
    assert labels.decide(np.array([[-0.1], [0.0], [0.2]])) == [("ham",), ("ham",), ("spam",)]


def test_more_classes_have_a_column_each_and_ties_go_to_the_lower() -> None:
    labels = Labels(("a", "b", "c"))
    assert labels.targets(labels.membership([("b",)])).tolist() == [[-1, 1, -1]]
    assert labels.decide(np.array([[0.0, 2.0, 2.0]])) == [("b",)]


def test_overlapping_classes_are_decided_one_by_one() -> None:
    labels = Labels(("a", "b"), exclusive=False)
    assert labels.classes(Document("x", ("b", "a"))) == ("b", "a")
    assert labels.classes(Document("x", ())) == ()
    assert labels.targets(labels.membership([("a", "b"), ()])).tolist() == [[1, 1], [-1, -1]]
    assert labels.decide(np.array([[1.0, -1.0], [2.0, 3.0]])) == [("a",), ("a", "b")]


def test_order_and_kind_change_the_fingerprint() -> None:
    prints = {
        Labels(("a", "b")).fingerprint,
        Labels(("b", "a")).fingerprint,
        Labels(("a", "b"), exclusive=False).fingerprint,
    }
    assert len(prints) == 3
