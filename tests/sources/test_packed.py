"""Packed files: read as what is inside, refused by name where that cannot be."""

import gzip
import zipfile
from pathlib import Path

import pytest

from sottovoce.errors import InputError
from sottovoce.sources import Format, Source, SourceOptions, open_source, packed

ROWS = "text,label\r\nfever,x\r\nwell,y\r\n"


def gzipped(folder: Path, content: bytes, name: str = "notes.csv.gz") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content))
    return path


def zipped(folder: Path, members: dict[str, str]) -> Path:
    path = folder / "notes.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def pairs(source: Source) -> list[tuple[str, object]]:
    return [(document.text, document.label) for document in source.documents()]


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("notes.csv.gz", ROWS, Format.CSV),
        ("notes.tsv.gz", ROWS.replace(",", "\t"), Format.TSV),
        ("notes.gz", ROWS, Format.CSV),
        (
            "notes.jsonl.gz",
            '{"text":"fever","label":"x"}\n{"text":"well","label":"y"}\n',
            Format.JSONL,
        ),
    ],
)
def test_gzip_is_read_as_what_is_inside(
    tmp_path: Path, name: str, content: str, kind: Format
) -> None:
    source = open_source(gzipped(tmp_path, content.encode(), name))
    assert source.format is kind
    for _ in range(2):
        assert pairs(source) == [("fever", "x"), ("well", "y")]


def test_a_zip_with_one_file_is_read_as_that_file(tmp_path: Path) -> None:
    litter = {"__MACOSX/._notes.csv": "?", "data/.DS_Store": "?", "data/notes.csv": ROWS}
    source = open_source(zipped(tmp_path, litter))
    assert source.format is Format.CSV
    assert pairs(source) == [("fever", "x"), ("well", "y")]
    assert str(next(source.documents()).origin) == "notes.zip line 2"


def encrypted(folder: Path) -> Path:
    """A zip whose header says that its content needs a password."""
    path = zipped(folder, {"notes.csv": ROWS})
    data = bytearray(path.read_bytes())
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + place] |= 1
    path.write_bytes(data)
    return path


def test_bad_archives_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"notes\.zip: the archive needs a password"):
        open_source(encrypted(tmp_path))
    with pytest.raises(InputError, match="expected one file in the archive, found 2"):
        open_source(zipped(tmp_path, {"a.csv": ROWS, "b.csv": ROWS}))
    with pytest.raises(InputError, match="expected one file in the archive, found none"):
        open_source(zipped(tmp_path, {}))
    path = tmp_path / "other.zip"
    path.write_bytes(b"PK but nothing else")
    with pytest.raises(InputError, match=r"other\.zip: expected a whole zip file"):
        open_source(path)
    with pytest.raises(InputError, match="expected a packed table of text, found parquet"):
        open_source(gzipped(tmp_path, b"PAR1", "notes.parquet.gz"))


@pytest.mark.parametrize("cut", [5, 30, -6])
def test_a_file_that_is_cut_short_is_said_to_be(tmp_path: Path, cut: int) -> None:
    path = gzipped(tmp_path, ROWS.encode() * 50)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match=r"notes\.csv\.gz: expected a whole gz file") as caught:
        list(open_source(path).documents())
    assert caught.value.hints == (f"gzip -t {path}",)


def test_what_grows_past_all_measure_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "UNPACKED_FREE", 2**16)
    path = gzipped(tmp_path, b"text,label\n" + b"aaaaaaaaaaaaa,x\n" * 2**18)
    assert path.stat().st_size * packed.UNPACKED_RATIO < 2**22
    with pytest.raises(InputError, match=r"bytes once unpacked, found more"):
        list(open_source(path, SourceOptions()).documents())
