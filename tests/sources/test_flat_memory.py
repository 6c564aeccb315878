"""A source of any size is read in the memory of one document."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sottovoce.sources import ProblemKind, SourceLimits, SourceOptions, open_source
from sottovoce.sources.inspection import inspect

ROW = "the quick brown fox jumps over the lazy dog " * 10
MEGABYTE = 2**20


def write_csv(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("text,label\n")
        for i in range(rows):
            file.write(f'"{i} {ROW}\n{ROW}",{i % 2}\n')


def write_jsonl(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for i in range(rows):
            file.write(json.dumps({"text": f"{i} {ROW}\n{ROW}", "label": i % 2}) + "\n")


def write_parquet(path: Path, rows: int) -> None:
    schema = pa.schema([("text", pa.string()), ("label", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, rows, 1000):
            numbers = range(begin, min(begin + 1000, rows))
            texts = [f"{i} {ROW}\n{ROW}" for i in numbers]
            writer.write_table(pa.table([texts, [i % 2 for i in numbers]], schema=schema))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "notes.csv": write_csv,
    "notes.jsonl": write_jsonl,
    "notes.parquet": write_parquet,
}


def peak(read: Callable[[], object]) -> int:
    """The most memory that Python held during `read`, beyond what it held before."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        read()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def check(folder: Path, name: str, *, rows: int) -> None:
    path = folder / name
    WRITERS[name](path, rows)
    source = open_source(path)

    def read() -> None:
        assert sum(1 for _ in source.documents()) == rows

    read()
    # The head that is looked at, one batch of rows, and nothing that grows with the file.
    assert peak(read) < 6 * MEGABYTE


@pytest.mark.parametrize("name", WRITERS)
def test_nine_megabytes(tmp_path: Path, name: str) -> None:
    check(tmp_path, name, rows=10_000)


@pytest.mark.soak
@pytest.mark.parametrize("name", WRITERS)
def test_fifty_megabytes(tmp_path: Path, name: str) -> None:
    check(tmp_path, name, rows=57_000)


def test_a_row_group_is_not_read_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "notes.parquet"
    sample = Random(7)
    texts = [sample.randbytes(1500).hex() for _ in range(10_000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=10_000, use_dictionary=False)
    del texts
    before = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() for _ in open_source(path).documents()) - before
    assert path.stat().st_size > 15 * MEGABYTE
    assert most < 8 * MEGABYTE


def long_line(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(b"text,label\nfirst,a\n")
        for _ in range(size // MEGABYTE):
            file.write(b"x" * MEGABYTE)
        file.write(b",b\nlast,c\n")


def check_long_line(path: Path, size: int, limit: int) -> None:
    long_line(path, size)
    source = open_source(path, SourceOptions(limits=SourceLimits(document_bytes=limit)))

    def read() -> None:
        assert [d.text for d in source.documents()] == ["first", "last"]

    assert peak(read) < 4 * limit + 4 * MEGABYTE
    (problem,) = source.problems
    assert (problem.kind, problem.origin.position) == (ProblemKind.TOO_LONG, 3)


def test_one_line_of_twenty_megabytes(tmp_path: Path) -> None:
    check_long_line(tmp_path / "notes.csv", 20 * MEGABYTE, limit=MEGABYTE)


@pytest.mark.soak
def test_one_line_of_two_hundred_megabytes(tmp_path: Path) -> None:
    check_long_line(tmp_path / "notes.csv", 200 * MEGABYTE, limit=16 * MEGABYTE)


@pytest.mark.soak
def test_inspecting_a_million_documents_costs_forty_bytes_each() -> None:
    class Many:
        def __iter__(self) -> Iterator[tuple[str, str]]:
            return ((f"text {i}", str(i % 3)) for i in range(1_000_000))

    # The final sort of the hashes takes their space once more.
    assert peak(lambda: inspect(open_source(Many()))) < 120 * MEGABYTE
