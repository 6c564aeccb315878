"""What is written is read back, whatever the text; and a stream says what a whole reading says."""

import csv
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sottovoce.sources import DelimitedFormat, Format, SourceOptions, open_source
from sottovoce.sources.encodings import find_encoding
from sottovoce.sources.lines import Lines
from sottovoce.sources.writing import write_documents
from sottovoce.text.documents import Document, Fragment, Span
from sottovoce.wire.formula_guard import unguarded

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
TEXTS = st.text(CHARACTERS, min_size=1, max_size=40).filter(lambda text: text.strip())
AWKWARD = st.text(st.sampled_from("a,;\t|\"'\r\n\u2028\x85\ufeff🩺é ="), min_size=1, max_size=20)
LABELS = st.text(CHARACTERS, min_size=1, max_size=8).map(str.strip).filter(bool)
ANY_TEXTS = st.one_of(TEXTS, AWKWARD.filter(lambda text: text.strip()))


@contextmanager
def place(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / name


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    grouped = draw(st.booleans())
    return [
        Document(
            draw(ANY_TEXTS),
            draw(LABELS),
            draw(LABELS) if grouped else None,
            {"age": draw(st.none() | st.floats(allow_nan=False, allow_infinity=False))},
        )
        for _ in range(draw(st.integers(1, 5)))
    ]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl"])
@given(written=documents())
def test_tables(suffix: str, written: list[Document]) -> None:
    group = "group" if written[0].group is not None else None
    table = DelimitedFormat(delimiter="," if suffix == ".csv" else None)
    options = SourceOptions(group=group, numeric=("age",), table=table)
    with place(f"out{suffix}") as path:
        write_documents(written, path)
        source = open_source(path, options)
        result = list(source.documents())
        assert [(d.text, d.label, d.group, d.columns) for d in result] == [
            (d.text, d.label, d.group, d.columns) for d in written
        ]
        assert len(source.problems) == 0
        assert list(source.documents()) == result


@given(
    labels=st.lists(
        st.one_of(LABELS, st.integers(), st.booleans(), st.floats(allow_nan=False, width=32)),
        max_size=4,
    ).map(tuple)
)
def test_labels_of_every_type_in_json(labels: tuple[object, ...]) -> None:
    finite = tuple(label for label in labels if label not in {float("inf"), float("-inf")})
    expected = tuple(dict.fromkeys(finite))
    with place("out.jsonl") as path:
        write_documents([Document("a", finite)], path)  # type: ignore[arg-type]
        (document,) = open_source(path).documents()
    assert document.label == expected


@st.composite
def annotated(draw: st.DrawFn) -> Document:
    text = draw(ANY_TEXTS)
    spans = []
    for number in range(draw(st.integers(0, 4))):
        fragments = draw(
            st.lists(
                st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text)))
                .filter(lambda pair: pair[0] < pair[1])
                .map(lambda pair: Fragment(*pair)),
                min_size=1,
                max_size=3,
            )
        )
        kind = draw(st.sampled_from(["Sign", "Größe_🩺", "a:b"]))
        spans.append(Span(kind, tuple(sorted(fragments)), f"T{number + 1}"))
    return Document(text, spans=tuple(spans))


@given(written=st.lists(annotated(), min_size=1, max_size=3))
def test_brat(written: list[Document]) -> None:
    with place("out") as path:
        write_documents(written, path, format=Format.BRAT)
        source = open_source(path)
        result = list(source.documents())
        assert [(d.text, d.spans) for d in result] == [(d.text, d.spans) for d in written]
        assert len(source.problems) == 0


@given(texts=st.lists(ANY_TEXTS, min_size=1, max_size=4))
def test_folders(texts: list[str]) -> None:
    with place("out") as path:
        write_documents([Document(text, "x") for text in texts], path, format=Format.FOLDER)
        assert [d.text for d in open_source(path).documents()] == texts


@given(
    text=st.text(CHARACTERS, max_size=200),
    encoding=st.sampled_from(["utf-8", "utf-16", "utf-16-be", "utf-32", "cp1252"]),
    limit=st.integers(1, 64),
)
def test_lines_are_the_lines_of_the_whole(text: str, encoding: str, limit: int) -> None:
    content = text.encode(encoding, "ignore")
    whole = content.decode(encoding)
    result = find_encoding(content, stated=encoding, name="x")
    lines = list(Lines(io.BytesIO(content), result, limit=10**6))
    assert "".join(line.text for line in lines) == whole.removeprefix(
        "\ufeff" if encoding == "utf-8" or encoding.endswith("-be") else ""
    )
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    for line in lines:
        assert content[line.offset :].startswith(line.text.encode(result.name))
    bounded = list(Lines(io.BytesIO(content), result, limit=limit))
    assert [(line.number, line.offset) for line in bounded] == [
        (line.number, line.offset) for line in lines
    ]
    for line, short in zip(lines, bounded, strict=True):
        too_long = len(line.text.encode(result.name)) > limit
        assert short.text == ("" if too_long and short.flaw else line.text)


@given(
    rows=st.lists(st.tuples(ANY_TEXTS, LABELS), min_size=1, max_size=6),
    newline=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
)
@example(rows=[("0", "'=")], newline="\n", quoting=csv.QUOTE_ALL)  # a guarded formula
def test_a_stream_of_csv_equals_a_whole_reading(
    rows: list[tuple[str, str]], newline: str, quoting: int
) -> None:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator=newline, quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([("text", "label"), *rows])
    with place("notes.csv") as path:
        path.write_bytes(buffer.getvalue().encode())
        results = [(d.text, d.label) for d in open_source(path).documents()]
    whole = [tuple(row) for row in csv.reader(io.StringIO(buffer.getvalue(), newline=""))][1:]
    assert results == [tuple(map(unguarded, row)) for row in whole]


@given(
    rows=st.lists(st.dictionaries(st.sampled_from(["text", "label", "x"]), ANY_TEXTS), max_size=6)
)
def test_a_stream_of_json_equals_a_whole_reading(rows: list[dict[str, str]]) -> None:
    rows = [{"text": "a", "label": "b"}, *rows]
    with place("notes.jsonl") as path:
        path.write_text("\n".join(json.dumps(row) for row in rows))
        source = open_source(path)
        results = [(d.text, d.label) for d in source.documents()]
    usable = [r for r in rows if r.get("text", "").strip() and r.get("label", "").strip()]
    assert results == [(row["text"], row["label"].strip()) for row in usable]
    assert len(source.problems) == len(rows) - len(usable)


@given(content=st.binary(max_size=300), name=st.sampled_from(["a.csv", "a.tsv", "a.jsonl"]))
def test_arbitrary_bytes_are_documents_problems_or_one_error(content: bytes, name: str) -> None:
    from sottovoce.errors import InputError

    with place(name) as path:
        path.write_bytes(b"text,label\n" * (name == "a.csv") + content)
        source = open_source(path)
        try:
            count = sum(1 for _ in source.documents())
        except InputError:
            count = 0
    assert count + len(source.problems) <= len(content) + 1


@given(content=st.binary(max_size=200), text=TEXTS)
def test_an_arbitrary_annotation_costs_no_more_than_itself(content: bytes, text: str) -> None:
    with place("corpus") as root:
        root.mkdir()
        (root / "a.txt").write_bytes(text.encode())
        (root / "a.ann").write_bytes(b"T1\tX 0 1\t" + text[:1].encode() + b"\n" + content)
        source = open_source(root, SourceOptions(encoding="utf-8"))
        result = list(source.outcomes())
    documents = [outcome for outcome in result if isinstance(outcome, Document)]
    if documents:
        assert documents[0].spans[0].name == "T1"
