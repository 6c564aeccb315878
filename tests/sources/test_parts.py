"""Parts of files hold together exactly what the whole file holds, wherever they are cut."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sottovoce.errors import InputError
from sottovoce.sources import SourceOptions, open_source
from sottovoce.sources.parting import stretches
from sottovoce.sources.parting.parts import (
    ListedSource,
    SourcePart,
    list_part,
    list_parts,
    parts_of,
)
from sottovoce.text.documents import Document

OPTIONS = SourceOptions(text=("note",), label=("kind",))
CELLS = st.sampled_from(
    ["plain", "two\nlines", 'a "quoted" word', "comma, comma", "", "x,y\nz,w\n", '"', "ü\r\nü"]
)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of a few bytes."""
    monkeypatch.setattr(stretches, "SMALLEST_BYTES", 16)


def listed(path: Path, options: SourceOptions = OPTIONS) -> ListedSource:
    return list_parts(parts_of(str(path), options), map)


def assert_same_as_whole(path: Path, options: SourceOptions = OPTIONS) -> ListedSource:
    source = open_source(path, options)
    whole = [outcome for outcome in source.outcomes() if isinstance(outcome, Document)]
    result = listed(path, options)
    in_parts = [document for part in result.parts for document in part.documents()]
    assert in_parts == whole  # with the lines that they lie on
    assert result.documents == len(whole)
    assert list(map(str, result.problems)) == list(map(str, source.problems))
    assert result.problems.counts == source.problems.counts
    return result


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"'


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=30), step=st.integers(1, 90))
def test_a_table_cut_anywhere_is_the_same_table(
    rows: list[tuple[str, str]], step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretches, "SMALLEST_BYTES", step)
    path = tmp_path / "notes.csv"
    lines = ["note,kind", *(f"{quoted(note)},{quoted(kind)}" for note, kind in rows)]
    path.write_text("\n".join(lines) + "\n", newline="")
    if rows:
        assert_same_as_whole(path)


def test_broken_records_cost_the_same_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    rows = [f'note {number},"a' if number % 9 == 4 else f"note {number},b" for number in range(60)]
    path.write_text("note,kind\n" + "\n\n".join(rows) + "\n")
    result = assert_same_as_whole(path)
    assert len(result.problems) > 3


LINES = st.sampled_from(
    [
        b"plain,a\n",
        b'"two\nlines",b\n',
        b"\n",
        b"a NUL \0 byte,a\n",
        b"no UTF-8 \xff,a\n",
        b'never closed",a\n',
        b'"opened,b\n',
        b"carriage\rreturn,b\n",
        b"far too long for the limit that this table has,b\n",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(rows=st.lists(LINES, min_size=1, max_size=30), run=st.integers(1, 60))
def test_lines_read_at_once_are_the_same_records_as_lines_read_singly(
    rows: list[bytes], run: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sottovoce.sources.lines._CHUNK", run)
    monkeypatch.setattr(stretches, "SMALLEST_BYTES", 120)
    path = tmp_path / "notes.csv"
    path.write_bytes(b"note,kind\n" + b"".join(rows))
    limits = replace(OPTIONS.limits, document_bytes=45)
    assert_same_as_whole(path, replace(OPTIONS, encoding="utf-8", limits=limits))


def test_lines_of_json_and_tables_of_tabs(tmp_path: Path) -> None:
    objects = tmp_path / "notes.jsonl"
    lines = [f'{{"note": "n {number}", "kind": "a"}}' for number in range(40)]
    lines[7] = '{"note": '
    objects.write_text("\n".join(lines))
    assert len(assert_same_as_whole(objects).parts) > 10
    table = tmp_path / "notes.tsv"
    table.write_text("note\tkind\n" + "".join(f"n {n}\ta\n" for n in range(40)))
    assert len(assert_same_as_whole(table).parts) > 10


def test_row_groups_and_files_of_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({"note": [f"n {n}" for n in range(50)], "kind": ["a"] * 50})
    parquet.write_table(table, tmp_path / "notes.parquet", row_group_size=7)
    assert len(assert_same_as_whole(tmp_path / "notes.parquet").parts) == 8
    monkeypatch.setattr("sottovoce.sources.formats.folders._FEWEST_FILES", 4)
    for number in range(11):
        place = tmp_path / "folder" / "ab"[number % 2] / f"{number}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"text {number}")
    assert len(assert_same_as_whole(tmp_path / "folder", SourceOptions()).parts) == 3


@pytest.mark.parametrize("name", ["notes.json", "wide.csv", "notes.csv.gz"])
def test_what_cannot_be_cut_is_read_as_a_whole(name: str, tmp_path: Path) -> None:
    import gzip

    path = tmp_path / name
    table = "note,kind\nn,a\nm,b\n"
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(table.encode()))
    elif name.startswith("wide"):
        path.write_bytes(table.encode("utf-16"))
    else:
        path.write_text('[{"note": "n", "kind": "a"}]')
    assert parts_of(str(path), OPTIONS) == ()


def test_a_part_travels_and_notices_that_its_file_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("note,kind\n" + "".join(f"note {n},a\n" for n in range(9)))
    part: SourcePart = pickle.loads(pickle.dumps(listed(path).parts[2]))  # noqa: S301 - our own
    assert list(part.documents())
    path.write_text(path.read_text().replace("note 3,a", "note 3,\n"[:-1] + "a", 1).upper())
    with pytest.raises(InputError, match=r"column|changed"):
        list(part.documents())
    path.write_text("note,kind\n")
    with pytest.raises(InputError, match="the file was changed"):
        list(part.documents())


def test_a_wrong_guess_is_listed_again(tmp_path: Path) -> None:
    # One column: every line of a quoted text looks like a record.
    path = tmp_path / "notes.csv"
    path.write_text("note\n" + "".join(f'"{n}\nthe rest of it\nand more"\n' for n in range(30)))
    options = replace(OPTIONS, label=())
    assert_same_as_whole(path, options)
    guesses = [list_part(part).began for part in parts_of(str(path), options)]
    assert guesses != [part.stretch.start for part in listed(path, options).parts]
