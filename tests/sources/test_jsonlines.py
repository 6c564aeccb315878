"""JSON Lines: an object a line, and lines that are none."""

import json
from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import ProblemKind, Source, SourceLimits, SourceOptions, open_source


def source_of(folder: Path, content: bytes | str, **options: object) -> Source:
    path = folder / "notes.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return open_source(path, SourceOptions(**options))  # type: ignore[arg-type]


def test_objects_become_documents(tmp_path: Path) -> None:
    content = (
        '{"text": "one", "label": 1, "age": 54, "ward": "A", "patient": 7}\r\n'
        "\n"
        '{"label": 0, "patient": "8", "text": "two\\nlines 🩻", "ward": null}\n'
    )
    source = source_of(tmp_path, content, group="patient", numeric=("age",), categorical=("ward",))
    first, second = source.documents()
    assert (first.text, first.label, first.group) == ("one", 1, "7")
    assert first.columns == {"ward": "A", "age": 54}
    assert (second.text, second.label, second.group) == ("two\nlines 🩻", 0, "8")
    assert second.columns == {"ward": None, "age": None}
    assert str(second.origin) == "notes.jsonl line 3"


def test_lists_are_many_labels(tmp_path: Path) -> None:
    content = '{"text":"a","label":["x","y","x"]}\n{"text":"b","label":[]}\n'
    labels = [document.label for document in source_of(tmp_path, content).documents()]
    assert labels == [("x", "y"), ()]


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        (b'{"text": "a", ', ProblemKind.MALFORMED, "truncated"),
        (b"not json", ProblemKind.MALFORMED, "malformed"),
        (b"[1, 2]", ProblemKind.MALFORMED, "expected a JSON object, found list"),
        (b'"text"', ProblemKind.MALFORMED, "expected a JSON object, found str"),
        (b'{"text": 5, "label": 1}', ProblemKind.WRONG_TYPE, "expected text in 'text', found int"),
        (b'{"text": {"a": 1}, "label": 1}', ProblemKind.WRONG_TYPE, "found one of type dict"),
        (b'{"label": 1}', ProblemKind.EMPTY_TEXT, "expected text, found none"),
        (b'{"text": "a"}', ProblemKind.NO_LABEL, "expected a label in 'label', found none"),
        (b'{"text": "a", "label": null}', ProblemKind.NO_LABEL, "found none"),
        (b'{"text": "a", "label": {"x": 1}}', ProblemKind.WRONG_TYPE, "found one of type dict"),
        (b'{"text": "a", "label": [["x"]]}', ProblemKind.WRONG_TYPE, "found one of type list"),
        (b'{"text": "a\\u0000", "label": 1}', ProblemKind.NUL, "NUL character at character 1"),
        (
            b'{"text": "a\xff", "label": 1}',
            ProblemKind.ENCODING,
            "byte 0xff at byte 27 of the file",
        ),
        (b'{"text": "\\ud800", "label": 1}', ProblemKind.MALFORMED, ""),
        (b'{"text": "a", "label": 1e999}', ProblemKind.MALFORMED, "out of range"),
        (b"[" * 100_000, ProblemKind.MALFORMED, "nested too deeply"),
    ],
)
def test_a_broken_line_costs_only_itself(
    tmp_path: Path, line: bytes, kind: ProblemKind, words: str
) -> None:
    good = '{"text":"é","label":1}'.encode()
    content = b"\n".join([good[:-1] + b"}", line, good])
    offset = content.index(line) + line.index(b"\xff") if b"\xff" in line else 0
    source = source_of(tmp_path, content, encoding="utf-8")
    assert [document.text for document in source.documents()] == ["é", "é"]
    (problem,) = source.problems
    assert (problem.kind, problem.origin.position) == (kind, 2)
    assert words.replace("byte 27", f"byte {offset}") in problem.reason


def test_one_array_is_read_object_by_object(tmp_path: Path) -> None:
    texts = ['a "b" [c], {d}', "e\\", "", '\\"f' * 30_000]
    content = json.dumps([{"text": text, "label": [1], "x": {"y": [2]}} for text in texts])
    source = source_of(tmp_path, f" {content}\n", numeric=())
    assert [document.text for document in source.documents()] == [texts[0], texts[1], texts[3]]
    assert [str(problem.origin) for problem in source.problems] == ["notes.jsonl object 3"]


@pytest.mark.parametrize(
    ("content", "texts", "kind"),
    [
        ('[{"text": "a"}, {"text": "b"', ["a"], ProblemKind.MALFORMED),
        ('[{"text": "a"}, 5, {"text": "b"}]', ["a", "b"], ProblemKind.MALFORMED),
        ('[{"text": "a"}, {"text": b}, {"text": "c"}]', ["a", "c"], ProblemKind.MALFORMED),
        (f'[{{"text": "{"x" * 99}"}}, {{"text": "b"}}]', ["b"], ProblemKind.TOO_LONG),
    ],
)
def test_a_broken_member_of_an_array_costs_only_itself(
    tmp_path: Path, content: str, texts: list[str], kind: ProblemKind
) -> None:
    source = source_of(tmp_path, content, limits=SourceLimits(document_bytes=60))
    assert [document.text for document in source.documents()] == texts
    assert source.problems.counts == {kind: 1}


def test_an_array_in_another_encoding_is_refused_by_its_byte(tmp_path: Path) -> None:
    content = b'[{"text": "\xe9"}]'
    with pytest.raises(InputError, match="expected UTF-8 in a JSON array, found byte 0xe9"):
        list(source_of(tmp_path, content, encoding="utf-8").documents())


def test_a_column_may_appear_late_but_not_never(tmp_path: Path) -> None:
    content = '{"text":"a"}\n' * 50 + '{"text":"b","label":"x"}\n'
    source = source_of(tmp_path, content)
    assert [document.text for document in source.documents()] == ["b"]
    with pytest.raises(InputError, match="expected a column 'labels', found 'text', 'label'"):
        list(source_of(tmp_path, content, label="labels").documents())


def test_a_line_that_is_too_long_costs_only_itself(tmp_path: Path) -> None:
    content = '{"text":"' + "x" * 5000 + '"}\n{"text":"b"}\n'
    source = source_of(tmp_path, content, limits=SourceLimits(document_bytes=1000))
    assert [document.text for document in source.documents()] == ["b"]
    assert source.problems.counts == {ProblemKind.TOO_LONG: 1}


def test_labels_keep_their_type(tmp_path: Path) -> None:
    values = ["1", '"1"', "true", "1.0"]
    content = "".join(f'{{"text":"a","label":{value}}}\n' for value in values)
    labels = [document.label for document in source_of(tmp_path, content).documents()]
    assert [(type(label), label) for label in labels] == [
        (int, 1),
        (str, "1"),
        (bool, True),
        (float, 1.0),
    ]


def test_utf16_lines_are_read(tmp_path: Path) -> None:
    content = '{"text":"größe"}\n{"text":"b"}\n'.encode("utf-16")
    assert [document.text for document in source_of(tmp_path, content).documents()] == [
        "größe",
        "b",
    ]
