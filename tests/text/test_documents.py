import pytest

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Fragment, Origin, PackedDocuments, Span


def test_an_origin_reads_like_a_sentence() -> None:
    assert str(Origin("notes.csv", 12, "line")) == "notes.csv line 12"
    assert str(Origin("a/b.txt")) == "a/b.txt"


def test_fragments_that_only_touch_do_not_overlap() -> None:
    assert Fragment(0, 3).overlaps(Fragment(2, 5))
    assert not Fragment(0, 3).overlaps(Fragment(3, 5))


def test_a_fragment_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(InputError, match="expected 0 <= start <= end, found 5 and 3"):
        Fragment(5, 3)


def test_a_span_without_fragments_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="span T7: it has no fragment"):
        Span("Disease", (), name="T7")


def test_a_label_that_is_not_a_number_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match=r"notes\.csv row 3: expected a label, found nan"):
        Document("x", label=float("nan"), origin=Origin("notes.csv", 3))


def test_packed_documents_come_back_as_they_were() -> None:
    span = Span("Pain", (Fragment(0, 2), Fragment(5, 7)), "T1")
    documents = [
        Document("x", ("a", "b"), "g", {"age": 3.5, "ward": None}, (span,), Origin("f", 3, "line")),
        Document(""),
    ]
    assert PackedDocuments.of(documents).documents() == documents
    assert PackedDocuments.of(documents[1:]).documents() == documents[1:]
    assert PackedDocuments.of([]).documents() == []
