"""CSV and TSV, written in all the ways that people write them."""

import csv
from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import (
    DelimitedFormat,
    Format,
    ProblemKind,
    Source,
    SourceLimits,
    SourceOptions,
    open_source,
)


def source_of(folder: Path, content: bytes | str, **options: object) -> Source:
    name = str(options.pop("name", "notes.csv"))
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, SourceOptions(**options))  # type: ignore[arg-type]


def read(source: Source) -> list[tuple[str, object]]:
    return [(document.text, document.label) for document in source.documents()]


TABLE = 'text,label\nhello,ham\n"a, b\nand ""c""",spam\n'
EXPECTED = [("hello", "ham"), ('a, b\nand "c"', "spam")]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"]
)
def test_an_encoding_is_found_by_its_mark_or_its_look(tmp_path: Path, encoding: str) -> None:
    assert read(source_of(tmp_path, TABLE.encode(encoding))) == EXPECTED


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "latin-1", "utf-16", "shift_jis", "cp037"])
def test_a_stated_encoding_is_believed(tmp_path: Path, encoding: str) -> None:
    assert read(source_of(tmp_path, TABLE.encode(encoding), encoding=encoding)) == EXPECTED


def test_cp1252_is_the_fallback_and_says_so(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text,label\nplain,a\ncafé “x”,b\n".encode("cp1252"))
    assert read(source) == [("plain", "a"), ("café “x”", "b")]
    (note,) = source.notes
    assert "not UTF-8 (byte 0xe9 at byte 22, line 3); read as cp1252" in note


def test_bytes_that_cp1252_does_not_have_are_read_as_latin_1(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"text,label\ncaf\xe9 \x81,b\n")
    assert read(source) == [("café \x81", "b")]
    assert "read as latin-1" in source.notes[0]


def test_one_bad_byte_among_good_utf8_costs_its_row(tmp_path: Path) -> None:
    content = "text,label\nnaïve café,a\n".encode() + b"bad \xff byte,b\n" + "größe,c\n".encode()
    source = source_of(tmp_path, content)
    assert read(source) == [("naïve café", "a"), ("größe", "c")]
    (problem,) = source.problems
    assert str(problem) == "notes.csv line 3: byte 0xff at byte 30 of the file is not UTF-8"
    assert content[30] == 0xFF


def test_a_mark_that_contradicts_the_stated_encoding_is_noted(tmp_path: Path) -> None:
    source = source_of(tmp_path, b"\xef\xbb\xbfx,text\n1,a\n", encoding="cp1252")
    assert read(source) == [("a", None)]
    assert source.notes == ("begins with the mark of UTF-8, read as cp1252",)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_may_end_in_any_way(tmp_path: Path, newline: str) -> None:
    content = newline.join(["text,label", "one,a", "two,b", ""])
    assert read(source_of(tmp_path, content)) == [("one", "a"), ("two", "b")]


def test_the_last_line_need_not_end(tmp_path: Path) -> None:
    assert read(source_of(tmp_path, "text,label\none,a")) == [("one", "a")]


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    source = source_of(tmp_path, "\n\ntext,label\n\none,a\n\n")
    assert [str(document.origin) for document in source.documents()] == ["notes.csv line 5"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    content = f'text{delimiter}label\n"x{delimiter} y"{delimiter}a\n'
    source = source_of(tmp_path, content)
    assert read(source) == [(f"x{delimiter} y", "a")]
    assert len(source.notes) == (delimiter != ",")


def test_the_columns_asked_for_decide_between_delimiters(tmp_path: Path) -> None:
    source = source_of(tmp_path, "a,b,c;text\nx,y,z;hello\n", text="text")
    assert read(source) == [("hello", None)]


def test_tsv_is_split_at_tabs_alone(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text\tlabel\na, b; c\tx\n", name="notes.tsv")
    assert source.format is Format.TSV
    assert read(source) == [("a, b; c", "x")]


def test_quotes_may_be_plain_characters(tmp_path: Path) -> None:
    table = DelimitedFormat(quoted=False)
    source = source_of(tmp_path, 'text\tlabel\n"5" pipe\tx\n', name="n.tsv", table=table)
    assert read(source) == [('"5" pipe', "x")]


def test_without_a_header_columns_are_numbered(tmp_path: Path) -> None:
    source = source_of(
        tmp_path,
        "hello,1.5,ham\nyou,2,spam\n",
        table=DelimitedFormat(header=False),
        text="1",
        label="3",
        numeric=("*",),
    )
    documents = list(source.documents())
    assert [d.columns for d in documents] == [{"2": 1.5}, {"2": 2.0}]
    assert [d.label for d in documents] == ["ham", "spam"]


def test_several_texts_are_joined_and_several_labels_are_marks(tmp_path: Path) -> None:
    content = "title,body,toxic,rude\nA,b,1,0\n,c,yes,TRUE\nD,,0,\n"
    source = source_of(tmp_path, content, text=("title", "body"), label=("toxic", "rude"))
    assert read(source) == [("A\nb", ("toxic",)), ("c", ("toxic", "rude")), ("D", ())]


def test_a_separator_makes_many_labels_of_one_field(tmp_path: Path) -> None:
    content = "text,label\na,x; y\nb,\nc,z;z\n"
    source = source_of(tmp_path, content, label_separator=";", table=DelimitedFormat(delimiter=","))
    assert read(source) == [("a", ("x", "y")), ("b", ()), ("c", ("z",))]


def test_a_row_with_a_stray_quote_costs_only_itself(tmp_path: Path) -> None:
    source = source_of(tmp_path, 'text,label\none,a\n"tw"o,b\nthree,c\n')
    assert read(source) == [("one", "a"), ("three", "c")]
    (problem,) = source.problems
    assert (problem.kind, problem.origin.position) == (ProblemKind.MALFORMED, 3)


def test_a_quote_that_never_closes_costs_only_its_line(tmp_path: Path) -> None:
    source = source_of(tmp_path, 'text,label\none,a\n"two,b\nthree,c\nfour,d\n')
    assert read(source) == [("one", "a"), ("three", "c"), ("four", "d")]
    (problem,) = source.problems
    assert str(problem) == ("notes.csv line 3: expected a closing quote, found the end of the file")


def test_ragged_rows_say_how_many_fields_they_have(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text,label\none\ntwo,b\nthree,c,d\n")
    assert read(source) == [("two", "b")]
    assert [str(problem) for problem in source.problems] == [
        "notes.csv line 2: expected 2 fields, found 1",
        "notes.csv line 4: expected 2 fields, found 3",
    ]


def test_a_nul_byte_is_named_by_its_place(tmp_path: Path) -> None:
    content = b"text,label\none,a\ntw\0o,b\nthree,c\n"
    source = source_of(tmp_path, content)
    assert read(source) == [("one", "a"), ("three", "c")]
    (problem,) = source.problems
    assert str(problem) == "notes.csv line 3: NUL byte at byte 19 of the file"
    assert content[19] == 0


def test_a_line_that_is_too_long_costs_only_itself(tmp_path: Path) -> None:
    content = f"text,label\none,a\n{'x' * 5000},b\nthree,c\n"
    source = source_of(tmp_path, content, limits=SourceLimits(document_bytes=1000))
    assert read(source) == [("one", "a"), ("three", "c")]
    (problem,) = source.problems
    assert str(problem) == "notes.csv line 3: expected at most 1,000 bytes, found 5,003"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_long_line_in_wide_characters_is_passed_over_too(tmp_path: Path, encoding: str) -> None:
    text = "\u0a41\u0100" * 50_000
    content = f"text,label\none,a\n{text},b\nthree,c\n".encode(encoding)
    source = source_of(
        tmp_path, content, limits=SourceLimits(document_bytes=1000), encoding=encoding
    )
    assert read(source) == [("one", "a"), ("three", "c")]
    assert source.problems.counts == {ProblemKind.TOO_LONG: 1}


def test_a_record_of_many_lines_is_bounded_too(tmp_path: Path) -> None:
    lines = "\n".join(["word,b"] * 400)
    content = f'text,label\none,a\n"{lines}\nthree,c\n'
    source = source_of(tmp_path, content, limits=SourceLimits(document_bytes=1000))
    texts = read(source)
    assert len(texts) == 401
    assert texts[-1] == ("three", "c")
    (problem,) = source.problems
    assert (problem.kind, problem.origin.position) == (ProblemKind.TOO_LONG, 3)


def test_a_text_longer_than_the_csv_module_allows_is_read(tmp_path: Path) -> None:
    csv.field_size_limit(131_072)
    text = "word " * 100_000
    assert read(source_of(tmp_path, f"text,label\n{text},a\n")) == [(text, "a")]


def test_a_header_that_is_too_long_is_fatal(tmp_path: Path) -> None:
    source = source_of(tmp_path, "x" * 5000, limits=SourceLimits(document_bytes=1000))
    with pytest.raises(InputError, match=r"header \(line 1\).*at most 1,000 bytes, found 5,000"):
        list(source.documents())


def test_columns_of_one_name_are_refused_if_used_and_noted_if_not(tmp_path: Path) -> None:
    content = "text,note,note\na,b,c\n"
    source = source_of(tmp_path, content)
    assert read(source) == [("a", None)]
    assert "columns of the same name, not used: 'note'" in source.notes
    with pytest.raises(InputError, match="expected one column 'note', found 2 of that name"):
        list(source_of(tmp_path, content, text="note").documents())


def test_a_source_can_be_read_again_and_counts_afresh(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text,label\none,a\n,b\n")
    assert read(source) == read(source) == [("one", "a")]
    assert source.problems.documents == 1
    assert source.columns == ("text", "label")


def test_two_passes_do_not_disturb_each_other(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text,label\none,a\ntwo,b\n")
    pairs = [(a.text, b.text) for a, b in zip(source, source, strict=True)]
    assert pairs == [("one", "one"), ("two", "two")]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_line_end_is_not_found_across_two_wide_characters(tmp_path: Path, encoding: str) -> None:
    text = "\u0100\u0a41\u0100"
    assert "\n".encode(encoding) in text.encode(encoding)
    content = f"text,label\n{text},a\n".encode(encoding)
    assert read(source_of(tmp_path, content, encoding=encoding)) == [(text, "a")]


def test_a_quoted_record_that_runs_into_a_long_line_costs_both(tmp_path: Path) -> None:
    content = f'text,label\n"one\n{"x" * 2000}",a\ntwo,b\n'
    source = source_of(tmp_path, content, limits=SourceLimits(document_bytes=1000))
    assert read(source) == [("two", "b")]
    assert [(p.origin.position, p.kind) for p in source.problems] == [
        (2, ProblemKind.MALFORMED),
        (3, ProblemKind.TOO_LONG),
    ]


def test_a_carriage_return_inside_a_line_costs_its_row(tmp_path: Path) -> None:
    source = source_of(tmp_path, "text,label\none\rtwo,a\nthree,b\n")
    assert read(source) == [("three", "b")]
    (problem,) = source.problems
    assert problem.reason == "expected the end of the line, found a carriage return inside it"
