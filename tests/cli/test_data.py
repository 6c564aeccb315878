"""`sottovoce data inspect`: what it says, what it never shows, and how its mistakes read."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from sottovoce import cli
from sottovoce.cli.terminal import progress

BRAT = Path(__file__).parent.parent / "data" / "brat"
SECRET = "confidential words"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    rows = [f"{SECRET} {i},{'yes' if i % 3 else 'no'},p{i % 4},{i}" for i in range(20)]
    bad = [",yes,p1,1", f"{SECRET},yes", f"{SECRET},maybe,p1,1", "caf\u00e9,yes,p2,3"]
    path.write_text("\n".join(["note,sick,patient,age", *rows, *bad]) + "\n", encoding="utf-8")
    return path


def run(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(cli.app, ["data", "inspect", *words], env={"COLUMNS": "200"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def test_a_table_is_described_without_its_text(notes: Path) -> None:
    code, output = run(
        str(notes),
        "--text",
        "note",
        "--label",
        "sick",
        "--group",
        "patient",
        "--numeric",
        "age",
        "--label-map",
        "yes=1,no=0",
    )
    assert code == 0
    assert "21 usable, 3 skipped" in output
    assert re.search(r"1 +│ +14 │ 66.7%", output)
    assert "4, the largest of" in output
    assert "notes.csv line 22: expected text, found none" in output
    assert "notes.csv line 23: expected 4 fields, found 2" in output
    assert "notes.csv line 24: label of 5 characters is not in the label map" in output
    assert SECRET not in output


def test_json_for_scripts(notes: Path) -> None:
    code, output = run(str(notes), "--text", "note", "--label", "sick", "--json")
    facts = json.loads(output)
    assert code == 0
    assert (facts["documents"], facts["skipped"]) == (22, 2)
    assert facts["columns"] == ["note", "sick", "patient", "age"]
    assert facts["labels"][0] == {"label": "yes", "documents": 14, "spans": 0}
    assert facts["words"]["longest"] == 3
    assert SECRET not in output


def test_a_brat_folder_shows_its_annotations() -> None:
    code, output = run(str(BRAT))
    assert code == 0
    for words in ("contiguous spans", "discontinuous spans", r"equivalences \(\*\)"):
        assert re.search(rf"{words} +\d", output)
    assert re.search(r"Sign_symptom +│ +2 │ 66.7% │ +5", output)


def test_encoding_trouble_is_shown_by_line(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_bytes("text,label\nnaïve é,a\n".encode() + b"\xff,b\n" + "größe,b\n".encode())
    _, output = run(str(path))
    assert "1 × bytes outside the encoding" in output
    assert "notes.csv line 3: byte 0xff at byte 23 of the file is not UTF-8" in output
    path.write_bytes(b"text,label\ncaf\xe9,a\nx,b\n")
    _, output = run(str(path))
    assert "read as cp1252" in output


def test_options_of_tables(tmp_path: Path) -> None:
    path = tmp_path / "table.data"
    path.write_text("1\t0.5\tg\n2\t-0.5\tb\n")
    code, output = run(
        str(path),
        "--no-header",
        "--no-quotes",
        "--delimiter",
        "tab",
        "--label",
        "3",
        "--numeric",
        "*",
        "--format",
        "csv",
        "--encoding",
        "utf-8",
    )
    assert code == 0
    assert "2 usable, 0 skipped" in output


def test_options_of_folders(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.note").write_text("hello")
    (texts / "b.note").write_text("x" * 500)
    sheet = tmp_path / "labels.csv"
    sheet.write_text("name,label,ward\na,x,W\nb,y,W\n")
    code, output = run(
        str(texts),
        "--labels-file",
        str(sheet),
        "--pattern",
        "*.note",
        "--longest",
        "100",
        "--categorical",
        "ward",
        "--labels",
        "x, y",
    )
    assert code == 0
    assert "b.note: expected at most 100 bytes, found 500" in output
    assert "only one label ('x')" in output


def test_many_problems_are_counted_and_some_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("text,label\nok,a\nfine,b\n" + ",a\n" * 50)
    _, output = run(str(path), "--problems", "3")
    assert "50 × empty text" in output
    assert output.count("expected text, found none") == 3
    assert "… and 47 more" in output


def terminal(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", "data", "inspect", *words],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_a_mistake_is_one_line_and_hints(notes: Path) -> None:
    done = terminal(str(notes), "--text", "notes")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"error: {notes}: expected a column 'notes', found 4 columns, none of them of that name\n"
        "hint: if the first row holds data and not names: --no-header\n"
        f"hint: to see the names that it has: head -n 1 {notes}\n"
    )


def test_a_source_without_a_usable_document_is_described_and_fails(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("text,label\n,a\n,b\n")
    done = terminal(str(path), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["warnings"] == ["no document can be used"]
    assert "all 2 were skipped (2 × empty text)" in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--format", "odt"], "format: expected one of csv, tsv, jsonl"),
        (["--encoding", "utf-9"], "encoding 'utf-9': there is no text encoding of that name"),
        (["--label-map", "nonsense"], "label map nonsense cannot be read"),
        (["--delimiter", "--"], "delimiter: expected one character"),
    ],
)
def test_a_bad_option_is_named(notes: Path, words: list[str], error: str) -> None:
    from sottovoce.errors import InputError

    with pytest.raises(InputError, match=re.escape(error)):
        run(str(notes), "--text", "note", *words)


def test_help_has_examples() -> None:
    code, output = run("--help")
    assert code == 0
    assert "sottovoce data inspect notes.csv --text note --label diagnosis" in output


@pytest.mark.parametrize(
    ("pace", "terminal", "shown"), [(1.0, True, True), (0.0, True, False), (1.0, False, False)]
)
def test_progress_shows_on_a_terminal_after_two_seconds(
    pace: float, *, terminal: bool, shown: bool
) -> None:
    screen = io.StringIO()
    seconds = iter(range(1000))
    items = progress.watched(
        range(640),
        title="reading",
        position=lambda: (5, 10),
        clock=lambda: pace * next(seconds),
        console=Console(file=screen, force_terminal=terminal),
    )
    assert list(items) == list(range(640))
    assert ("reading" in screen.getvalue()) == shown
