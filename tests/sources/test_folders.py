"""Folders of texts: labels from subfolders or a labels file."""

from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import Format, ProblemKind, SourceLimits, SourceOptions, open_source


def fill(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def test_the_subfolder_is_the_label(tmp_path: Path) -> None:
    root = fill(tmp_path, {"spam/b.txt": "buy", "spam/deep/a.txt": "now", "ham/c.txt": "hi"})
    source = open_source(root)
    assert source.format is Format.FOLDER
    results = [(d.text, d.label, str(d.origin)) for d in source.documents()]
    assert results == [
        ("hi", "ham", "ham/c.txt"),
        ("buy", "spam", "spam/b.txt"),
        ("now", "spam", "spam/deep/a.txt"),
    ]


def test_a_flat_folder_has_no_labels(tmp_path: Path) -> None:
    root = fill(tmp_path, {"b.txt": "two", "a.txt": "one", "readme.md": "x"})
    source = open_source(root)
    assert [(d.text, d.label) for d in source.documents()] == [("one", None), ("two", None)]
    assert source.notes == ("files that do not match '*.txt': 1 × .md",)


def test_a_file_beside_the_subfolders_has_no_label(tmp_path: Path) -> None:
    root = fill(tmp_path, {"a.txt": "one", "spam/b.txt": "two"})
    source = open_source(root)
    assert [d.text for d in source.documents()] == ["two"]
    assert source.problems.counts == {ProblemKind.NO_LABEL: 1}
    unlabelled = open_source(root, SourceOptions(label=()))
    assert [d.text for d in unlabelled.documents()] == ["one", "two"]


def test_a_labels_file_gives_labels_groups_and_columns(tmp_path: Path) -> None:
    root = fill(tmp_path / "texts", {"a.txt": "one", "sub/b.txt": "two", "c.txt": "three"})
    sheet = tmp_path / "labels.csv"
    sheet.write_text("file,class,patient,age\na,x,p1,50\nsub/b.txt,y,p2,\nz.txt,x,p3,1\nbad\n")
    options = SourceOptions(labels_file=sheet, label="class", group="patient", numeric=("age",))
    source = open_source(root, options)
    results = [(d.text, d.label, d.group, dict(d.columns)) for d in source.documents()]
    assert results == [("one", "x", "p1", {"age": 50.0}), ("two", "y", "p2", {"age": None})]
    assert [str(problem) for problem in source.problems] == [
        "c.txt: expected a row in labels.csv, found none",
        "labels.csv line 5: expected 4 fields, found 1",
        "labels.csv line 4: expected a file of that name, found none",
    ]


def test_of_two_columns_the_second_is_the_label(tmp_path: Path) -> None:
    root = fill(tmp_path / "texts", {"a.txt": "one"})
    sheet = tmp_path / "labels.tsv"
    sheet.write_text("which\tverdict\na.txt\tx\na.txt\ty\n")
    source = open_source(root, SourceOptions(labels_file=sheet))
    assert [d.label for d in source.documents()] == ["x"]
    assert [str(p) for p in source.problems] == ["labels.tsv line 3: its file is on line 2 already"]


def test_which_column_is_the_label_must_be_clear(tmp_path: Path) -> None:
    root = fill(tmp_path / "texts", {"a.txt": "one"})
    sheet = tmp_path / "labels.csv"
    sheet.write_text("name,x,y\na.txt,1,2\n")
    with pytest.raises(InputError, match="expected a column 'label', found 2 columns, none"):
        list(open_source(root, SourceOptions(labels_file=sheet)).documents())


@pytest.mark.parametrize(
    "options", [SourceOptions(group="patient"), SourceOptions(label="diagnosis")]
)
def test_a_folder_alone_has_no_columns(tmp_path: Path, options: SourceOptions) -> None:
    root = fill(tmp_path, {"x/a.txt": "one"})
    with pytest.raises(InputError, match="a folder of texts has no column") as caught:
        list(open_source(root, options).documents())
    assert "--labels-file" in caught.value.hints[0]


def test_other_files_are_taken_by_pattern(tmp_path: Path) -> None:
    root = fill(tmp_path, {"news/1": "one", "news/2": "two"})
    with pytest.raises(InputError, match=r"files that match '\*.txt', found 1 × 1, 1 × 2"):
        list(open_source(root).documents())
    texts = [d.text for d in open_source(root, SourceOptions(pattern="*")).documents()]
    assert texts == ["one", "two"]


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found none at all"):
        list(open_source(tmp_path).documents())


def test_a_broken_file_costs_only_itself(tmp_path: Path) -> None:
    root = fill(
        tmp_path,
        {
            "x/a.txt": "good",
            "x/bad.txt": "größe\nna\u00efve ".encode() + b"\xff",
            "x/image.txt": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
            "x/long.txt": "y" * 2000,
            "x/nul.txt": "one\ntw\0o",
            "x/void.txt": " \n",
            "x/wide.txt": "größe".encode("utf-16"),
        },
    )
    source = open_source(root, SourceOptions(limits=SourceLimits(document_bytes=1000)))
    assert [d.text for d in source.documents()] == ["good", "größe"]
    assert [str(p) for p in source.problems] == [
        "x/bad.txt line 2: byte 0xff at byte 15 of the file is not UTF-8",
        "x/image.txt: expected text, found a PNG image",
        "x/long.txt: expected at most 1,000 bytes, found 2,000",
        "x/nul.txt line 2: NUL byte at byte 6 of the file",
        "x/void.txt: expected text, found none",
    ]


def test_many_notes_are_not_kept(tmp_path: Path) -> None:
    root = fill(tmp_path, {f"{i:03}.txt": b"caf\xe9" for i in range(50)})
    source = open_source(root)
    assert {d.text for d in source.documents()} == {"café"}
    assert len(source.notes) == 20
