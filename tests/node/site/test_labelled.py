"""Labels that came back stand where they belong."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import MismatchError
from sottovoce.node.site.labelled import as_spans, as_table, by_document
from sottovoce.study.plan import StudyPlan
from sottovoce.text.documents import Document, Fragment
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading

DOCUMENTS = [Document("No fever. Rash seen."), Document("Took aspirin and warm tea", group="p1")]


def plan(level: Level, labelling: Labelling | None = None, **settings: object) -> StudyPlan:
    labels = labelling.labels if labelling else Labels(("no", "yes"))
    return StudyPlan("p", labels, reading=Reading(level), labelling=labelling, **settings)


def test_a_document_gets_its_label() -> None:
    here = plan(Level.DOCUMENT)
    answers = by_document(DOCUMENTS, [("no",), ("yes",)], here)
    assert [row.label for row in as_table(answers, here)] == ["no", "yes"]
    assert [row.group for row in as_table(answers, here)] == [None, "p1"]
    spans = [span.spans[0] for span in as_spans(answers, here)]
    assert [(span.type, span.fragments[0].end) for span in spans] == [("no", 20), ("yes", 25)]


def test_labels_that_overlap_stay_together() -> None:
    here = StudyPlan("p", Labels(("a", "b c"), exclusive=False))
    answers = by_document(DOCUMENTS, [("a", "b c"), ()], here)
    assert [row.label for row in as_table(answers, here)] == [("a", "b c"), ()]
    assert [[span.type for span in document.spans] for document in as_spans(answers, here)] == [
        ["a", "b_c"],
        [],
    ]


def test_a_sentence_is_a_row_of_its_own_that_says_where_it_stood() -> None:
    here = plan(Level.SENTENCE)
    rows = list(as_table(by_document(DOCUMENTS, [("no",), ("yes",), ("no",)], here), here))
    assert [row.text for row in rows] == ["No fever.", "Rash seen.", DOCUMENTS[1].text]
    assert [dict(row.columns) for row in rows][1] == {"document": 1, "start": 10, "end": 20}
    spans = list(as_spans(by_document(DOCUMENTS, [("no",), ("no",), ("no",)], here), here))
    assert len(spans[0].spans) == 2


BIO = Labelling.by_entity(Scheme.BIO, ("Drug",))


@pytest.mark.parametrize(
    ("classes", "expected"),
    [
        ("O B O O O", ["aspirin"]),
        ("O B I I O", ["aspirin and warm"]),
        ("O B O B I", ["aspirin", "warm tea"]),
        ("B B B O O", ["Took", "aspirin", "and"]),
        ("O I I O O", ["aspirin and"]),
        ("O O O O O", []),
    ],
)
def test_tokens_become_entities(classes: str, expected: list[str]) -> None:
    here = plan(Level.TOKEN, BIO)
    names = [(word if word == "O" else f"{word}-Drug",) for word in classes.split()]
    (spans,) = as_spans(by_document(DOCUMENTS[1:], names, here), here)
    text = DOCUMENTS[1].text
    pieces = [text[span.fragments[0].start : span.fragments[0].end] for span in spans.spans]
    assert pieces == expected
    assert all(span.type == "Drug" for span in spans.spans)


@given(st.lists(st.sampled_from(["O", "B-Drug", "I-Drug"]), min_size=5, max_size=5))
def test_entities_cover_just_the_tokens_that_were_found(names: list[str]) -> None:
    here = plan(Level.TOKEN, BIO)
    (pair,) = by_document(DOCUMENTS[1:], [(name,) for name in names], here)
    (spans,) = as_spans([pair], here)
    covered = [span.fragments[0] for span in spans.spans]
    for place, (name,) in pair[1]:
        inside = any(
            fragment.start <= place.start and place.end <= fragment.end for fragment in covered
        )
        assert inside == (name != "O")
    assert len(covered) >= names.count("B-Drug")


def test_the_types_of_a_sentence() -> None:
    here = plan(Level.SENTENCE, Labelling.by_entity(Scheme.TYPES, ("Drug", "Sign")))
    classes = [("Sign",), ("Drug", "Sign"), ()]
    first, second = as_spans(by_document(DOCUMENTS, classes, here), here)
    assert [(span.type, span.fragments[0]) for span in first.spans] == [
        ("Sign", Fragment(0, 9)),
        ("Sign", Fragment(10, 20)),
        ("Drug", Fragment(10, 20)),
    ]
    assert second.spans == ()


def test_too_few_or_too_many_labels_are_refused() -> None:
    here = plan(Level.DOCUMENT)
    with pytest.raises(MismatchError, match="expected a label for every row, found fewer"):
        by_document(DOCUMENTS, [("no",)], here)
    with pytest.raises(MismatchError, match="there are more than rows"):
        by_document(DOCUMENTS, [("no",)] * 3, here)
