import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import InputError
from sottovoce.text.documents import Document, Fragment, Span
from sottovoce.text.labelling import Labelling, Scheme
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading
from sottovoce.text.tokenizing.tokens import WordTokenizer

TEXT = "acute renal failure and severe chest pain today"
TYPES = ("Disease", "Symptom")


def span(kind: str, *fragments: str) -> Span:
    results = [TEXT.index(words) for words in fragments]
    pairs = zip(results, fragments, strict=True)
    return Span(kind, tuple(Fragment(at, at + len(words)) for at, words in pairs))


def token_classes(scheme: Scheme, *spans: Span) -> list[str]:
    places = [Fragment(t.start, t.end) for t in WordTokenizer().locate(TEXT)]
    labelling = Labelling.by_entity(scheme, TYPES)
    rows = labelling.classes(Document(TEXT, spans=spans), places)
    return ["+".join(classes) for classes in rows]


def test_inside_and_outside() -> None:
    marked = token_classes(Scheme.INSIDE, span("Disease", "renal failure"), span("Other", "today"))
    assert marked == ["outside", "inside", "inside"] + ["outside"] * 5


def test_bio_begins_and_goes_on() -> None:
    marked = token_classes(Scheme.BIO, span("Disease", "acute renal failure"))
    assert marked == ["B-Disease", "I-Disease", "I-Disease"] + ["O"] * 5


def test_the_shortest_of_nested_entities_gives_the_single_class() -> None:
    outer, inner = span("Disease", "severe chest pain"), span("Symptom", "pain")
    assert token_classes(Scheme.SINGLE, outer, inner)[4:7] == ["Disease", "Disease", "Symptom"]
    assert token_classes(Scheme.SINGLE, inner, outer)[4:7] == ["Disease", "Disease", "Symptom"]


def test_a_discontinuous_entity_begins_once() -> None:
    marked = token_classes(Scheme.BIO, span("Symptom", "severe", "pain"))
    assert marked[4:7] == ["B-Symptom", "O", "I-Symptom"]


def test_an_entity_inside_a_word_marks_the_word() -> None:
    assert token_classes(Scheme.INSIDE, span("Symptom", "ain"))[6] == "inside"


def test_equal_entities_are_told_apart_by_the_order_of_types() -> None:
    pair = span("Symptom", "pain"), span("Disease", "pain")
    assert token_classes(Scheme.SINGLE, *pair)[6] == "Disease"


def test_types_mark_documents_and_sentences_with_all_that_touch_them() -> None:
    text = "He has asthma. He coughs."
    spans = (
        Span("Disease", (Fragment(7, 13),)),
        Span("Symptom", (Fragment(18, 24),)),
        Span("Other", (Fragment(0, 2),)),
    )
    document = Document(text, spans=spans)
    labelling = Labelling.by_entity(Scheme.TYPES, TYPES)
    for level, expected in {
        Level.DOCUMENT: [("Disease", "Symptom")],
        Level.SENTENCE: [("Disease",), ("Symptom",)],
    }.items():
        places = [row.place for row in Reading(level).rows(document)]
        assert labelling.classes(document, places) == expected


def test_every_row_of_a_document_has_its_label() -> None:
    labelling = Labelling(Labels(("a", "b")))
    document = Document("One. Two.", "b")
    assert labelling.classes(document, [Fragment(0, 4), Fragment(5, 9)]) == [("b",), ("b",)]


@pytest.mark.parametrize("scheme", [Scheme.INSIDE, Scheme.SINGLE, Scheme.BIO])
def test_token_schemes_are_refused_at_other_levels(scheme: Scheme) -> None:
    labelling = Labelling.by_entity(scheme, TYPES)
    labelling.check(Level.TOKEN)
    with pytest.raises(InputError, match=f"labelling {scheme}: expected level token"):
        labelling.check(Level.SENTENCE)


def test_a_scheme_without_types_is_refused() -> None:
    with pytest.raises(InputError, match=r"labelling bio: .*no type"):
        Labelling.by_entity(Scheme.BIO, ())
    with pytest.raises(InputError, match="labelling label: "):
        Labelling.by_entity(Scheme.LABEL, TYPES)


@given(st.lists(st.tuples(st.integers(0, 46), st.integers(1, 12), st.sampled_from(TYPES))))
def test_a_token_is_inside_exactly_if_it_shares_a_character(
    drawn: list[tuple[int, int, str]],
) -> None:
    spans = [Span(kind, (Fragment(at, min(at + size, 47)),)) for at, size, kind in drawn]
    places = [Fragment(t.start, t.end) for t in WordTokenizer().locate(TEXT)]
    expected = [
        "inside" if any(span.fragments[0].overlaps(place) for span in spans) else "outside"
        for place in places
    ]
    assert token_classes(Scheme.INSIDE, *spans) == expected


def test_levels_have_the_label_of_the_document_beside_the_types_of_its_rows() -> None:
    labelling = Labelling.by_levels(TYPES, ("routine", "urgent"))
    assert labelling.labels.names == (*TYPES, "routine", "urgent")
    assert not labelling.labels.exclusive
    assert labelling.document_names == ("routine", "urgent")
    half = len(TEXT) // 2
    places = [Fragment(0, half), Fragment(half, len(TEXT))]
    document = Document(TEXT, "urgent", spans=(span("Disease", "renal failure"),))
    assert labelling.classes(document, places) == [("Disease", "urgent"), ("urgent",)]


@pytest.mark.parametrize(("types", "names"), [((), ("a",)), (("A",), ()), (("A",), ("A", "b"))])
def test_levels_need_names_of_their_own(types: tuple[str, ...], names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="expected entity types and labels of documents, each"):
        Labelling.by_levels(types, names)
