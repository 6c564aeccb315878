"""BRAT folders: our own small corpus always, and MACCROBAT where SOTTOVOCE_DATA leads to it."""

import os
from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import (
    Format,
    LabelMap,
    Loss,
    ProblemKind,
    SourceLimits,
    SourceOptions,
    open_source,
)
from sottovoce.text.documents import Fragment
from sottovoce.text.labelling import Labelling, Scheme

OWN = Path(__file__).parent.parent / "data" / "brat"
MACCROBAT = Path(os.environ.get("SOTTOVOCE_DATA", "")) / "maccrobat_brat"

CORPORA = {
    OWN: (3, {
        "contiguous spans": 9, "discontinuous spans": 1, "events": 2, "relations": 1,
        "equivalences (*)": 1, "attributes": 2, "normalizations": 1, "notes": 1,
    }),
    MACCROBAT: (200, {
        "contiguous spans": 25_145, "discontinuous spans": 44, "events": 14_368,
        "relations": 16_307, "equivalences (*)": 2_023, "attributes": 1_416, "notes": 335,
    }),
}  # fmt: skip


@pytest.mark.parametrize("path", [path for path in CORPORA if path.is_dir()], ids=lambda p: p.name)
def test_every_offset_of_a_corpus_matches(path: Path) -> None:
    count, annotations = CORPORA[path]
    source = open_source(path)
    documents = list(source.documents())
    assert source.format is Format.BRAT
    assert len(documents) == count
    assert dict(source.findings.annotations) == annotations
    assert len(source.problems) == 0
    spans = sum(len(document.spans) for document in documents)
    assert spans == annotations["contiguous spans"] + annotations["discontinuous spans"]


def test_spans_cover_the_text_that_they_name() -> None:
    first, second, third = open_source(OWN).documents()
    covered = [
        (span.type, " … ".join(first.text[f.start : f.end] for f in span.fragments))
        for span in first.spans
    ]
    assert covered == [
        ("Age", "54-year-old"),
        ("Sign_symptom", "fever and chills"),
        ("Sign_symptom", "fever"),
        ("Sign_symptom", "rash"),
        ("Biological_structure", "left … arm"),
        ("Biological_structure", "right arm"),
        ("Sign_symptom", "chills.\nNo"),
    ]
    assert "🩻" in second.text
    assert second.text[second.spans[1].fragments[0].start :].startswith("naïve T-cell")
    assert third.spans == ()
    assert [str(d.origin) for d in (first, second, third)] == [
        "case1.txt",
        "ward/case2.txt",
        "ward/case3.txt",
    ]


def pair(root: Path, name: str, text: bytes | str, annotation: bytes | str) -> None:
    (root / f"{name}.txt").write_bytes(text.encode() if isinstance(text, str) else text)
    content = annotation.encode() if isinstance(annotation, str) else annotation
    (root / f"{name}.ann").write_bytes(content)


def test_a_broken_line_is_named_by_file_and_line(tmp_path: Path) -> None:
    pair(
        tmp_path,
        "a",
        "fever",
        b"T1\tX 0 5\tfever\r\nT2\tX 0 9\tfever\r\nbad\r\nT3\tX 0 1\t\xff\r\n"
        + "T4\tX 0 5\tfever\r\n#1\tNote T1\tgröße\r\n".encode(),
    )
    source = open_source(tmp_path)
    (document,) = source.documents()
    assert [span.name for span in document.spans] == ["T1", "T4"]
    assert [(str(p.origin), p.kind, p.cost) for p in source.problems] == [
        ("a.ann line 2", ProblemKind.WRONG_OFFSET, Loss.ANNOTATION),
        ("a.ann line 3", ProblemKind.MALFORMED_ANNOTATION, Loss.ANNOTATION),
        ("a.ann line 4", ProblemKind.ENCODING, Loss.ANNOTATION),
    ]
    assert (source.problems.documents, source.problems.annotations) == (0, 3)


def test_half_a_pair_is_reported(tmp_path: Path) -> None:
    pair(tmp_path, "a", "fever", "")
    pair(tmp_path, "b", "fever", "")
    pair(tmp_path, "c", "fever", "")
    (tmp_path / "b.txt").unlink()
    (tmp_path / "c.ann").unlink()
    source = open_source(tmp_path)
    assert [str(d.origin) for d in source.documents()] == ["a.txt"]
    assert [str(p) for p in source.problems] == [
        "b.ann: expected b.txt beside it, found none",
        "c.txt: expected c.ann beside it, found none",
    ]
    to_classify = open_source(tmp_path, SourceOptions(label=()))
    assert [str(d.origin) for d in to_classify.documents()] == ["a.txt", "c.txt"]


def test_line_ends_and_marks_of_windows(tmp_path: Path) -> None:
    text = "\ufefffever\r\nand 🩺 chills\r\n"
    pair(tmp_path, "as-it-stands", text, "T1\tX 13 19\tchills\r\n")
    pair(tmp_path, "counted-as-one", text, "T1\tX 12 18\tchills\n")
    pair(tmp_path, "with-mark", text, "\ufeffT1\tX 14 20\tchills\n")
    source = open_source(tmp_path)
    for document in source.documents():
        (span,) = document.spans
        (fragment,) = span.fragments
        assert document.text[fragment.start : fragment.end] == "chills"
    assert source.notes == (
        "counted-as-one.txt: offsets count CR LF as one character",
        "with-mark.txt: offsets count the byte order mark",
    )


def test_a_label_map_names_the_types_that_count() -> None:
    options = SourceOptions(label_map=LabelMap.parse("Sign_symptom=sign,Cell=cell"))
    types = [[span.type for span in d.spans] for d in open_source(OWN, options).documents()]
    assert types == [["sign"] * 4, ["cell", "sign"], []]


def test_documents_may_have_labels_beside_their_spans(tmp_path: Path) -> None:
    by_folder = open_source(OWN, SourceOptions(label="label"))
    assert [d.label for d in by_folder.documents()] == ["ward", "ward"]
    sheet = tmp_path / "labels.csv"
    sheet.write_text("name,label\ncase1,x\nward/case2,y\nward/case3,x\n")
    source = open_source(OWN, SourceOptions(labels_file=sheet))
    assert [(d.label, len(d.spans)) for d in source.documents()] == [("x", 7), ("y", 3), ("x", 0)]


def test_a_file_that_cannot_be_used_costs_its_pair(tmp_path: Path) -> None:
    pair(tmp_path, "a", "fever", "T1\tX 0 5\tfever\n")
    pair(tmp_path, "b", b"fe\0ver", "")
    pair(tmp_path, "c", "fever", b"\x89PNG\r\n\x1a\n\0\0")
    pair(tmp_path, "d", "fever" * 100, "")
    pair(tmp_path, "e", "fever", "T1\tX 0 5\tfever\n" * 20)
    source = open_source(tmp_path, SourceOptions(limits=SourceLimits(document_bytes=200)))
    assert [str(d.origin) for d in source.documents()] == ["a.txt"]
    assert [(str(p.origin), p.kind) for p in source.problems] == [
        ("b.txt line 1", ProblemKind.NUL),
        ("c.ann", ProblemKind.UNREADABLE),
        ("d.txt", ProblemKind.TOO_LONG),
        ("e.ann", ProblemKind.TOO_LONG),
    ]


def test_a_folder_without_pairs(tmp_path: Path) -> None:
    (tmp_path / "annotation.conf").touch()
    with pytest.raises(InputError, match=r"there is no pair of \.txt and \.ann files"):
        list(open_source(tmp_path, SourceOptions(format=Format.BRAT)).documents())
    assert open_source(tmp_path).format is Format.FOLDER
    assert open_source(OWN).columns == ("text", "spans")


def test_attributes_relations_and_events_are_spans_for_who_asks() -> None:
    plain = next(iter(open_source(OWN).documents()))
    document = next(iter(open_source(OWN, SourceOptions(qualified=True)).documents()))
    assert document.spans[: len(plain.spans)] == plain.spans
    further = [(span.type, span.fragments) for span in document.spans[len(plain.spans) :]]
    place = {span.name: span.fragments for span in plain.spans}
    assert further == [
        ("Sign_symptom:Location", place["T5"]),
        ("MODIFY:Arg1", place["T1"]),
        ("MODIFY:Arg2", place["T3"]),
        ("Sign_symptom:POLARITY=NEG", place["T4"]),
        ("Sign_symptom:Speculation", place["T3"]),
    ]
    labelling = Labelling.by_entity(Scheme.TYPES, ("Sign_symptom:POLARITY=NEG",))
    whole = (Fragment(0, len(document.text)),)
    assert labelling.classes(document, whole) == [("Sign_symptom:POLARITY=NEG",)]
    assert labelling.classes(plain, whole) == [()]
