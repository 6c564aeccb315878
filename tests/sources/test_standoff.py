"""The lines of an .ann file: each kind, each way of being broken, each way of counting."""

import pytest

from sottovoce.sources.annotations.offsets import TextFrame
from sottovoce.sources.annotations.standoff import (
    Annotations,
    Argument,
    Attribute,
    BratEvent,
    BratNote,
    Equivalence,
    Normalization,
    Relation,
    parse,
)
from sottovoce.sources.problems import ProblemKind
from sottovoce.text.documents import Fragment, Span

TEXT = "fever and chills in the left or right arm"


def parsed(*lines: str, text: str = TEXT, marked: bool = False) -> Annotations:
    return parse(enumerate(lines, 1), TextFrame(text, marked))


def test_each_kind_of_line_is_understood() -> None:
    result = parsed(
        "T1\tSign_symptom 0 5\tfever",
        "T2\tBiological_structure 24 28;38 41\tleft arm",
        "",
        "E1\tSign_symptom:T1 Place:T2 ",
        "R1\tMODIFY Arg1:T1 Arg2:E1\t",
        "*\tOVERLAP T1 T2 E1",
        "A1\tPOLARITY E1 NEG",
        "M1\tSpeculation T1",
        "N1\tReference T1 TERMS:A:1\tFever, high",
        "#1\tAnnotatorNotes T1\ta note\twith a tab",
        "#\tAnnotatorNotes T2\tno number",
    )
    assert result.flaws == ()
    assert result.spans == (
        Span("Sign_symptom", (Fragment(0, 5),), "T1"),
        Span("Biological_structure", (Fragment(24, 28), Fragment(38, 41)), "T2"),
    )
    assert result.others == (
        BratEvent("E1", "Sign_symptom", "T1", (Argument("Place", "T2"),)),
        Relation("R1", "MODIFY", (Argument("Arg1", "T1"), Argument("Arg2", "E1"))),
        Equivalence("OVERLAP", ("T1", "T2", "E1")),
        Attribute("A1", "POLARITY", "E1", "NEG"),
        Attribute("M1", "Speculation", "T1", None),
        Normalization("N1", "Reference", "T1", "TERMS", "A:1"),
        BratNote("#1", "AnnotatorNotes", "T1", "a note\twith a tab"),
        BratNote("#", "AnnotatorNotes", "T2", "no number"),
    )


def test_names_may_be_used_before_they_are_given() -> None:
    assert parsed("E1\tX:T1", "T1\tX 0 5\tfever").flaws == ()


def test_spans_may_nest_and_overlap() -> None:
    result = parsed("T1\tX 0 16\tfever and chills", "T2\tX 0 5\tfever", "T3\tX 6 16\tand chills")
    assert len(result.spans) == 3


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        ("T2\tX 0 5", ProblemKind.MALFORMED_ANNOTATION, "T2: expected 'type start end'"),
        ("T2 X 0 5 fever", ProblemKind.MALFORMED_ANNOTATION, "a tab behind the name"),
        ("T2\tX 0\tfever", ProblemKind.MALFORMED_ANNOTATION, "expected 'type start end'"),
        ("T2\tX 0 5;\tfever", ProblemKind.MALFORMED_ANNOTATION, "expected 'type start end'"),
        ("T2\tX -1 5\tfever", ProblemKind.MALFORMED_ANNOTATION, "expected 'type start end'"),
        (
            "T2\tX 5 5\t",
            ProblemKind.MALFORMED_ANNOTATION,
            "expected start before end, found 5 and 5",
        ),
        ("T2\tX 5 0\tfever", ProblemKind.MALFORMED_ANNOTATION, "found 5 and 0"),
        (
            "T\tX 0 5\tfever",
            ProblemKind.MALFORMED_ANNOTATION,
            "expected a name such as T1, found 'T'",
        ),
        ("T1\tX 0 5\tfever", ProblemKind.MALFORMED_ANNOTATION, "'T1' stands on line 1 already"),
        ("Q1\tX 0 5\tfever", ProblemKind.MALFORMED_ANNOTATION, "expected T, E, R, A, M, N, * or #"),
        (
            "E1\tX",
            ProblemKind.MALFORMED_ANNOTATION,
            "E1: expected role:name, found words without a colon",
        ),
        ("E1\t", ProblemKind.MALFORMED_ANNOTATION, "E1: expected role:name behind it"),
        ("R1\tX Arg1:T1", ProblemKind.MALFORMED_ANNOTATION, "expected a type and two arguments"),
        ("*\tX T1", ProblemKind.MALFORMED_ANNOTATION, "two names or more, found 1"),
        ("*\t", ProblemKind.MALFORMED_ANNOTATION, "two names or more, found 0"),
        (
            "A1\tX",
            ProblemKind.MALFORMED_ANNOTATION,
            "expected a type, a name and at most one value",
        ),
        ("N1\tReference T1 nowhere\tx", ProblemKind.MALFORMED_ANNOTATION, "resource:entry"),
        ("#1\tNote", ProblemKind.MALFORMED_ANNOTATION, "#1: expected a type and a name"),
        ("E1\tX:T9", ProblemKind.DANGLING, "expected a line that is named 'T9', found none"),
        ("R1\tX Arg1:T1 Arg2:T9", ProblemKind.DANGLING, "'T9'"),
        ("*\tX T1 T9", ProblemKind.DANGLING, "'T9'"),
        ("A1\tX T9 NEG", ProblemKind.DANGLING, "'T9'"),
        ("#1\tNote T9\tx", ProblemKind.DANGLING, "'T9'"),
        (
            "T2\tX 0 500\tfever",
            ProblemKind.WRONG_OFFSET,
            "offset 500 is past the end of the text (41",
        ),
        (
            "T2\tX 2 7\tfever",
            ProblemKind.WRONG_OFFSET,
            "text at 2 7 is not the annotated one, which stands 2 characters earlier",
        ),
        ("T2\tX 0 6\tchills", ProblemKind.WRONG_OFFSET, "which stands 10 characters later"),
        ("T2\tX 0 5\tcough", ProblemKind.WRONG_OFFSET, "the text at 0 5 is not the annotated one"),
        ("T2\tX 0 5;6 9\tfever but", ProblemKind.WRONG_OFFSET, "the text at 0 5;6 9 is not"),
    ],
)
def test_a_broken_line_is_reported_and_costs_only_itself(
    line: str, kind: ProblemKind, words: str
) -> None:
    result = parsed("T1\tX 0 5\tfever", line, "A9\tX T1 yes")
    (flaw,) = result.flaws
    assert (flaw.line, flaw.flaw.kind) == (2, kind)
    assert words in flaw.flaw.reason
    assert "cough" not in flaw.flaw.reason
    assert [span.name for span in result.spans] == ["T1"]
    assert [type(other) for other in result.others] == [Attribute]


def test_what_refers_to_a_broken_line_stays() -> None:
    result = parsed("T1\tX 900 905\tfever", "E1\tX:T1", "A1\tNEG E1")
    assert [flaw.line for flaw in result.flaws] == [1]
    assert len(result.others) == 2


def test_breaks_in_the_text_are_spaces_in_the_annotation() -> None:
    result = parsed("T1\tX 0 7\tone two", "T2\tX 4 12\ttwo three", text="one\ntwo\r\nthree")
    assert [flaw.line for flaw in result.flaws] == [2]
    result = parsed("T1\tX 0 7\tone two", "T2\tX 4 14\ttwo  three", text="one\ntwo\r\nthree")
    assert result.flaws == ()


def test_offsets_that_count_a_line_end_as_one_are_recognised() -> None:
    text = "one\r\ntwo\r\nthree four"
    result = parsed("T1\tX 4 7\ttwo", "T2\tX 14 18\tfour", text=text)
    assert result.flaws == ()
    assert result.frame.text == "one\ntwo\nthree four"
    assert result.frame.note == "offsets count CR LF as one character"


def test_offsets_that_count_every_character_are_preferred() -> None:
    result = parsed("T1\tX 5 8\ttwo", text="one\r\ntwo")
    assert (result.flaws, result.frame.note) == ((), "")


def test_offsets_that_count_the_mark_are_recognised() -> None:
    result = parsed("T1\tX 5 8\ttwo", text="one two", marked=True)
    assert result.flaws == ()
    assert result.frame.text[5:8] == "two"


def test_offsets_in_code_points_pass_characters_outside_the_basic_plane() -> None:
    result = parsed("T1\tX 3 6\tecg", "T2\tX 0 1\t🩺", text="🩺🩻 ecg")
    assert result.flaws == ()


def test_offsets_in_utf16_units_are_recognised_and_refused() -> None:
    result = parsed("T1\tX 5 8\tecg", text="🩺🩻 ecg was normal")
    (flaw,) = result.flaws
    assert "but is if offsets count UTF-16 units" in flaw.flaw.reason
    past = parsed("T1\tX 5 8\tecg", text="🩺🩻 ecg")
    assert "past the end" in past.flaws[0].flaw.reason
    assert "UTF-16" in past.flaws[0].flaw.reason


def test_fragments_out_of_order_are_put_in_order() -> None:
    result = parsed("T1\tX 38 41;24 28\tarm left")
    assert result.spans[0].fragments == (Fragment(24, 28), Fragment(38, 41))
