"""Documents behind an address: the same ones as of a local file, whoever reads them."""

import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sottovoce.cli.source_choice import SourceChoice
from sottovoce.clusters import LocalCores
from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions, open_source
from sottovoce.sources.files import address_of
from sottovoce.sources.options import Format
from sottovoce.sources.parting.parts import list_parts, parts_of
from sottovoce.text.chunks import Workers, working_with
from sottovoce.text.parts import PartedDocuments, PartTask, mapped

OPTIONS = SourceOptions(text=("note",), label=("kind",))
LINES = [f"fever {n},{n % 2}" for n in range(300)]


@pytest.fixture
def memory() -> str:
    """A folder of fsspec's own store in this process."""
    import fsspec

    store = fsspec.filesystem("memory")
    store.pipe("/notes/all.csv", "\n".join(["note,kind", *LINES]).encode())
    store.pipe("/notes/all.csv.gz", b"packed")
    return "memory://notes"


@pytest.mark.parametrize(
    ("written", "address"),
    [
        ("s3://bucket/a/notes.csv", "s3://bucket/a/notes.csv"),
        ("file:///srv/notes.csv", "file:///srv/notes.csv"),
        ("notes.csv", None),
        ("/srv/s3:/notes.csv", None),
        ("c:/notes.csv", None),
        ("s3:", None),
    ],
)
def test_a_path_keeps_its_address(written: str, address: str | None) -> None:
    assert address_of(Path(written)) == address


SECRETS = [
    "ftp://user:hidden@host/notes.csv",
    "sftp://user:hid@den@host/notes.csv",
    "https://hidden@host/notes.csv",
    "https://host/notes.csv?X-Amz-Signature=hidden",
    "s3://bucket/a/notes.csv?token=hidden#hidden",
    "abfs://container@account.host/notes.csv?sig=hidden",
]


@pytest.mark.parametrize("typed", SECRETS)
@pytest.mark.parametrize("format", [None, "csv", "folder"])
def test_an_address_with_a_secret_is_refused_and_not_shown(typed: str, format: str | None) -> None:  # noqa: A002
    """It would stand in errors, logs, and the site's own record of what it joined with."""
    options = replace(OPTIONS, format=None if format is None else Format(format))
    for place in (typed, Path(typed)):
        with pytest.raises(InputError, match="expected an address without a password") as refused:
            open_source(place, options)
        shown = "\n".join((refused.value.message, *refused.value.hints))
        assert not {"hid", "den", "hidden", "user"} & set(re.split(r"[^a-z0-9]", shown))
        assert "host" in shown or "bucket" in shown
    with pytest.raises(InputError, match="expected an address without a password"):
        SourceChoice(typed).absolute()


def test_who_reads_and_which_container_may_stand_in_an_address() -> None:
    for typed in ("sftp://user@host/notes.csv", "abfs://container@account.host/notes.csv"):
        assert address_of(Path(typed)) == typed
    assert address_of(Path("file:///srv/what?.csv")) == "file:///srv/what?.csv"


def test_documents_are_those_of_a_local_file(memory: str, tmp_path: Path) -> None:
    local = tmp_path / "all.csv"
    local.write_text("\n".join(["note,kind", *LINES]))
    expected = [
        (document.text, document.label) for document in open_source(local, OPTIONS).documents()
    ]
    assert len(expected) == len(LINES)
    for place in (f"{memory}/all.csv", f"file://{local}"):
        documents = open_source(place, OPTIONS).documents()
        assert [(document.text, document.label) for document in documents] == expected


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_are_read_from_an_address(suffix: str, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    path = tmp_path / f"notes.{suffix}"
    frame = pandas.DataFrame({"note": ["fever", "calm"], "kind": ["1", "0"]})
    frame.to_parquet(path) if suffix == "parquet" else frame.to_feather(path)
    documents = open_source(f"file://{path}", OPTIONS).documents()
    assert [document.text for document in documents] == ["fever", "calm"]
    if suffix == "parquet":
        (part,) = parts_of(f"file://{path}", OPTIONS)
        assert [document.text for document in list_parts((part,), mapped).parts[0].documents()] == [
            "fever",
            "calm",
        ]


def test_workers_read_parts_behind_an_address(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("\n".join(["note,kind", *LINES]))
    with LocalCores(2) as cores, working_with(Workers(lambda: cores, ahead=2)):
        listed = list_parts(parts_of(f"file://{path}", OPTIONS), mapped)
        documents = PartedDocuments(PartTask(listed.parts), length=listed.documents)
        assert [document.text for document in documents] == [
            line.partition(",")[0] for line in LINES
        ]
    path.write_text("note,kind\nfever,1\n")
    with pytest.raises(InputError, match="the file was changed since this site joined"):
        list(documents)


def test_what_cannot_be_read_is_named(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, says in (
        (f"{memory}/none.csv", r"memory://notes/none.csv: expected a file, found nothing"),
        (memory, "memory://notes: expected a file, found a folder"),
        (f"{memory}/all.csv.gz", "expected a file that is not packed"),
        ("nosuch://a/b.csv", r"nosuch://a/b.csv cannot be read \(ValueError\)"),
        ("abfs://a/b.csv", "a package that reads abfs:// is not installed"),
    ):
        with pytest.raises(InputError, match=says):
            list(open_source(place, OPTIONS).documents())
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(InputError, match="needs the package fsspec") as refused:
        open_source(f"{memory}/all.csv", OPTIONS)
    assert refused.value.hints == ("pip install 'sottovoce[remote]'",)
