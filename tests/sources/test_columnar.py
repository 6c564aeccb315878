"""Parquet, Arrow and data frames."""

import sys
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from sottovoce.errors import InputError
from sottovoce.sources import Format, ProblemKind, SourceLimits, SourceOptions, open_source

ROWS = 1200
COLUMNS = {
    "note": [f"text {i}" for i in range(ROWS)],
    "label": [["a", "b", None][i % 3] for i in range(ROWS)],
    "age": [float("nan") if i % 5 == 0 else float(i) for i in range(ROWS)],
    "unused": [b"\x00\xff"] * ROWS,
}
OPTIONS = SourceOptions(text="note", numeric=("age",), limits=SourceLimits(batch_rows=100))


def check(source: object) -> None:
    opened = open_source(source, OPTIONS)  # type: ignore[arg-type]
    documents = list(opened.documents())
    assert len(documents) == 800
    assert opened.problems.counts == {ProblemKind.NO_LABEL: 400}
    assert [document.text for document in documents[:3]] == ["text 0", "text 1", "text 3"]
    assert [document.columns["age"] for document in documents[:3]] == [None, 1.0, 3.0]
    assert documents[2].origin.position == 4
    assert opened.columns == tuple(COLUMNS)
    assert list(opened.documents()) == documents


def test_parquet_is_read_in_batches(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    pq.write_table(pa.table(COLUMNS), path, row_group_size=250)
    check(path)


@pytest.mark.parametrize("suffix", [".arrow", ".feather", ".ipc"])
def test_arrow_files_are_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"notes{suffix}"
    pyarrow.feather.write_feather(pa.table(COLUMNS), str(path), chunksize=350)
    check(path)


def test_arrow_streams_are_read(tmp_path: Path) -> None:
    path = tmp_path / "notes.arrow"
    table = pa.table(COLUMNS)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=350)
    check(path)


def test_frames_are_read() -> None:
    check(pd.DataFrame(COLUMNS))
    check(pl.DataFrame(COLUMNS, nan_to_null=False))
    check(pa.table(COLUMNS))


def test_pandas_missing_values_are_missing() -> None:
    frame = pd.DataFrame(
        {
            "text": pd.array(["a", pd.NA, "c"], dtype="string"),
            "label": pd.Categorical(["x", "y", None]),
            "n": pd.array([1, None, 3], dtype="Int64"),
        },
        index=[10, 10, 12],
    )
    source = open_source(frame, SourceOptions(numeric=("n",)), name="frame")
    (document,) = source.documents()
    assert (document.text, document.label, document.columns) == ("a", "x", {"n": 1})
    assert [str(p.origin) for p in source.problems] == ["frame row 2", "frame row 3"]


def test_lists_and_dictionaries_of_arrow_are_labels(tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    table = pa.table({"text": ["a", "b"], "label": [["x", "y"], []]})
    pq.write_table(table, path)
    assert [d.label for d in open_source(path).documents()] == [("x", "y"), ()]
    table = pa.table({"text": ["a", "b"], "label": pa.array(["x", "y"]).dictionary_encode()})
    assert [d.label for d in open_source(table).documents()] == ["x", "y"]


def test_a_frame_with_columns_of_one_name_is_refused_if_they_are_used() -> None:
    frame = pd.DataFrame([["a", "b", "x"]], columns=["text", "text", "label"])
    with pytest.raises(InputError, match="expected one column 'text', found 2"):
        list(open_source(frame).documents())
    (document,) = open_source(frame, SourceOptions(text="label", label=())).documents()
    assert document.text == "x"


def test_an_empty_frame_has_no_documents() -> None:
    frame = pd.DataFrame({"text": [], "label": []})
    with pytest.raises(InputError, match="there is no document in it"):
        list(open_source(frame).documents())


def test_a_lazy_frame_has_to_be_collected() -> None:
    with pytest.raises(InputError, match="found a polars LazyFrame") as caught:
        open_source(pl.LazyFrame({"text": ["a"]}))  # type: ignore[arg-type]
    assert "collect()" in caught.value.hints[0]


@pytest.mark.parametrize("kind", [Format.PARQUET, Format.ARROW])
@pytest.mark.parametrize("content", [b"text,label\na,b\n", b"PAR1 but broken", b"ARROW1\0\0junk"])
def test_what_is_no_columnar_file_is_refused(tmp_path: Path, kind: Format, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"expected {kind.value}, found a file that cannot be"):
        list(open_source(path, SourceOptions(format=kind)).documents())


def test_a_truncated_parquet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    pq.write_table(pa.table(COLUMNS), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match="expected parquet, found a file that cannot be read"):
        list(open_source(path).documents())


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    path.touch()
    with pytest.raises(InputError, match="expected parquet, found an empty file"):
        list(open_source(path).documents())


def test_feather_version_1_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.feather"
    path.write_bytes(b"FEA1" + b"\0" * 40 + b"FEA1")
    with pytest.raises(InputError, match="found Feather, version 1"):
        list(open_source(path).documents())


def test_without_pyarrow_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match="need the package pyarrow") as caught:
        list(open_source(path).documents())
    assert caught.value.hints == ("pip install 'sottovoce[frames]'",)
