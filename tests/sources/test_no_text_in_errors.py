"""No error, no report and no JSON of a source quotes a document, whatever mistake was made.

Every document is made of canaries, words that nothing else holds; every way to misread a file is
tried on every kind of file, and what the command prints is searched for them.
"""

import gzip
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest

from sottovoce import cli
from sottovoce.cli.source_choice import SourceChoice
from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import SottovoceError
from sottovoce.sources import DelimitedFormat, SourceLimits, SourceOptions, open_source
from sottovoce.sources.columns import is_name
from sottovoce.sources.inspection import inspect
from sottovoce.study.stages.holdings import EntityTable, _place
from sottovoce.text.columns import Categorical
from sottovoce.text.documents import Document

CANARY = re.compile(r"zqx[a-z]+", re.IGNORECASE)
LABELS = ("routine", "urgent")


def texts(count: int = 6, *, words: int = 9, seed: int = 1) -> list[str]:
    rng = Random(seed)
    made = ("zqx" + "".join(rng.choices("aeiou", k=5)) for _ in range(count * words))
    return [" ".join(next(made) for _ in range(words)) for _ in range(count)]


def rows(delimiter: str = ",", *, header: bool, quotes: str = '"', short: bool = False) -> str:
    shown = texts(words=1 if short else 9)
    lines = [f"{quotes}{text}{quotes}{delimiter}{LABELS[i % 2]}" for i, text in enumerate(shown)]
    return "\n".join(([f"text{delimiter}label"] if header else []) + lines) + "\n"


def with_file(name: str, content: str | bytes) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def with_folder(files: dict[str, str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        for name, content in files.items():
            path = folder / "texts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return folder / "texts"

    return make


def columnar(kind: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import pyarrow as pa
        from pyarrow import feather, parquet

        shown = texts()
        table = pa.table({"text": shown, "label": [LABELS[i % 2] for i in range(len(shown))]})
        path = folder / f"notes.{kind}"
        (parquet.write_table if kind == "parquet" else feather.write_feather)(table, str(path))
        return path

    return make


def sideways(folder: Path) -> Path:
    """A table whose names are texts."""
    import pyarrow as pa
    from pyarrow import parquet

    path = folder / "notes.parquet"
    parquet.write_table(pa.table({text: ["urgent"] for text in texts()}), str(path))
    return path


def workbook(*, header: bool) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from openpyxl import Workbook

        book = Workbook()
        for row in [("text", "label")] * header + [(t, "urgent") for t in texts()]:
            book.active.append(row)
        book.save(folder / "notes.xlsx")
        return folder / "notes.xlsx"

    return make


def packed(name: str, content: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / name
        if name.endswith(".gz"):
            path.write_bytes(gzip.compress(content.encode())[:-2])
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr(name.removesuffix(".zip"), content)
        return path

    return make


def objects(values: list[object]) -> str:
    return "".join(f"{json.dumps(value)}\n" for value in values)


T = texts()
FILES: dict[str, Callable[[Path], Path]] = {
    "csv": with_file("notes.csv", rows(header=True)),
    "csv without header": with_file("notes.csv", rows(header=False)),
    "csv of single words without header": with_file("notes.csv", rows(header=False, short=True)),
    "csv with one column": with_file("notes.csv", "\n".join(T)),
    "csv whose first row stands twice": with_file("notes.csv", f"{T[0]},{T[0]}\n{T[1]},{T[2]}\n"),
    "semicolons": with_file("notes.csv", rows(";", header=False)),
    "tsv": with_file("notes.tsv", rows("\t", header=False)),
    "open quotes": with_file("notes.csv", 'text,label\n"' + "\n".join(T)),
    "quotes inside": with_file("notes.csv", f'text,label\n"{T[0]}"{T[1]},urgent\n{T[2]},urgent\n'),
    "ragged": with_file("notes.csv", "text,label\n" + "\n".join(f"{t},{t},{t}" for t in T)),
    "swapped columns": with_file("notes.csv", "label,text\n" + "\n".join(f"{t},urgent" for t in T)),
    "nul": with_file("notes.csv", f"text,label\n{T[0]}\0{T[1]},urgent\n"),
    "latin": with_file("notes.csv", f"text,label\n{T[0]} \xe9,urgent\n".encode("latin-1")),
    "utf-16": with_file("notes.csv", rows(header=False).encode("utf-16")),
    "jsonl": with_file("notes.jsonl", objects([{"text": t, "label": "urgent"} for t in T])),
    "jsonl of lists": with_file("notes.jsonl", objects([[t, "urgent"] for t in T])),
    "jsonl of texts": with_file("notes.jsonl", objects(list(T))),
    "jsonl cut": with_file("notes.jsonl", f'{{"text": "{T[0]}", "lab'),
    "jsonl without quotes": with_file("notes.jsonl", f"{{text: {T[0]}}}\n{{{T[1]}}}\n"),
    "jsonl of objects": with_file("notes.jsonl", objects([{"text": {"a": t}} for t in T])),
    "jsonl with texts as names": with_file("notes.jsonl", objects([{t: "urgent"} for t in T])),
    "json of texts and labels": with_file("notes.json", json.dumps(dict.fromkeys(T, "urgent"))),
    "jsonl with a text as a label": with_file(
        "notes.jsonl", objects([{"text": t, "label": T[0]} for t in T])),
    "json array": with_file("notes.jsonl", json.dumps([{"text": t} for t in T])),
    "csv as jsonl": with_file("notes.jsonl", rows(header=False)),
    "csv as parquet": with_file("notes.parquet", rows(header=False)),
    "csv as arrow": with_file("notes.arrow", rows(header=False)),
    "jsonl as csv": with_file("notes.csv", objects([{"text": t} for t in T])),
    "workbook": workbook(header=True),
    "workbook without header": workbook(header=False),
    "gzip cut short": packed("notes.csv.gz", rows(header=False)),
    "zip": packed("notes.csv.zip", rows(header=False)),
    "prodigy": with_file("notes.jsonl", objects([
        {"text": t, "answer": a, "label": T[1], "_task_hash": 1, "spans": [
            {"start": 0, "end": 999, "label": T[2]}, {"start": t, "end": t, "label": t}]}
        for t, a in zip(T, ("accept", "reject", T[3]), strict=False)])),
    "doccano": with_file("notes.jsonl", objects([
        {"id": 1, "text": t, "label": [[0, 999, T[2]], [t, t, t], t], "entities": [{"label": t}]}
        for t in T])),
    "label studio": with_file("notes.json", json.dumps([
        {"data": {"text": t}, "annotations": [{"result": [
            {"value": {"start": 0, "end": 4, "text": T[1], "labels": [T[2]]}},
            {"value": {"choices": [t, {"a": t}]}}, t]}, t]} for t in T])),
    "parquet": columnar("parquet"),
    "parquet on its side": sideways,
    "arrow": columnar("arrow"),
    "folder": with_folder({f"{LABELS[i % 2]}/{i}.txt": t for i, t in enumerate(T)}),
    "brat": with_folder(
        {"1.txt": T[0], "1.ann": f"T1\tDrug 0 5\t{T[1]}\nT2\tDrug 900 950\t{T[2]}\n"}
    ),
    "brat of prose": with_folder(
        {"1.txt": T[0], "1.ann": f"{T[1]}\nT{T[2]}\t{T[3]}\nR{T[3]}\t{T[4]}\nE1\t{T[1]}:{T[2]}\n"
         f"A1\t{T[3]}\nN1\t{T[3]}\nR1\tx Arg1:{T[4].split()[0]} Arg2:T1\n*\t{T[5]}\n#1\t{T[4]}\n"
         f"T1\tx 0 4\t{T[0][:4]}\n{T[1]}\n"},
    ),
}  # fmt: skip

MISTAKES: tuple[tuple[str, ...], ...] = (
    (),
    ("--text", "note"),
    ("--text", "txt", "--label", "lable"),
    ("--text", "text", "--label", "diagnosis"),
    ("--text", "label", "--label", "text"),
    ("--text", "text", "--label", "text"),
    ("--label", "text"),
    ("--group", "text"),
    ("--group", "patient"),
    ("--numeric", "text"),
    ("--numeric", "*"),
    ("--categorical", "*"),
    ("--categorical", "z*"),
    ("--labels", "routine,urgent", "--label", "text", "--text", "label"),
    ("--label-map", "a=b", "--text", "label", "--label", "text"),
    ("--label-separator", " ", "--labels", "routine", "--label", "text", "--text", "label"),
    ("--text", "1", "--label", "2", "--no-header"),
    ("--text", "2", "--label", "1", "--no-header", "--labels", "routine,urgent"),
    ("--text", "note", "--no-header"),
    ("--delimiter", ";", "--text", "x"),
    ("--delimiter", "a"),
    ("--no-quotes",),
    ("--encoding", "utf-16"),
    ("--encoding", "ascii"),
    ("--longest", "12"),
    ("--format", "csv"),
    ("--format", "tsv"),
    ("--format", "jsonl"),
    ("--format", "parquet"),
    ("--format", "arrow"),
    ("--format", "folder"),
    ("--format", "brat"),
    ("--format", "xlsx"),
    ("--format", "label-studio"),
    ("--format", "prodigy"),
    ("--format", "doccano"),
    ("--pattern", "*.ann"),
    ("--label-map", "ITSELF"),
    ("--labels-file", "ITSELF"),
)


def said(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Everything that a command says, as its own process would."""
    capsys.readouterr()
    before = sys.argv
    sys.argv = ["sottovoce", *words]
    try:
        cli.main()
    except SystemExit:
        pass
    finally:
        sys.argv = before
    captured = capsys.readouterr()
    return captured.out + captured.err


@pytest.mark.parametrize("kind", FILES)
def test_no_report_and_no_error_quotes_a_document(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOTTOVOCE_HOME", str(tmp_path / "home"))
    path = FILES[kind](tmp_path)
    itself = path if path.is_file() else next(file for file in path.rglob("*") if file.is_file())
    for number, mistake in enumerate(MISTAKES):
        as_json = ("--json",) if (number + len(kind)) % 2 else ()
        words = [str(itself) if word == "ITSELF" else word for word in mistake]
        output = said(["data", "inspect", str(path), *words, *as_json], capsys)
        assert output, mistake
        assert not CANARY.search(output), (kind, mistake, as_json, output)


def attempts(path: Path) -> Iterator[Callable[[], object]]:
    """The ways in which Python callers, `join` and `classify` read a file."""
    plan = parse_study(example()).plan
    for text, label in product((None, ("text",), ("label",)), repeat=2):
        choice = SourceChoice(str(path), text, label)
        yield choice.check
        yield lambda choice=choice: choice.read(plan)
        for header in (True, False):
            options = SourceOptions(
                text=text,
                label=label,
                labels=LABELS,
                table=DelimitedFormat(header=header),
                limits=SourceLimits(problems=100),
            )
            yield lambda options=options: inspect(open_source(str(path), options))
            yield lambda options=options: list(open_source(str(path), options).documents())


@pytest.mark.parametrize("kind", FILES)
def test_no_exception_of_a_reader_quotes_a_document(kind: str, tmp_path: Path) -> None:
    path = FILES[kind](tmp_path)
    for attempt in attempts(path):
        output = tell(attempt)
        assert not CANARY.search(output), (kind, output)


def tell(attempt: Callable[[], object]) -> str:
    """What a caller sees of what came, or of the error."""
    try:
        return repr(attempt())
    except SottovoceError as error:
        return "\n".join((str(error), error.message, *error.hints))


def test_a_table_without_a_header_is_helped_and_not_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = FILES["csv without header"](tmp_path)
    output = said(["data", "inspect", str(path), "--text", "text"], capsys)
    assert "expected a column 'text', found 2 columns, none of them of that name" in output
    assert "--no-header" in output
    again = said(
        ["data", "inspect", str(path), "--no-header", "--text", "1", "--label", "2"], capsys
    )
    assert "6 usable, 0 skipped" in again


def test_a_first_row_that_is_nearly_what_was_asked_for_is_not_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A text of one word that resembles the name of a column is a text all the same."""
    path = tmp_path / "short.csv"
    path.write_text("tests,urgent\nfever,routine\n", encoding="utf-8")
    assert "tests" not in said(["data", "inspect", str(path), "--json"], capsys)
    # Case alone tells nothing that was not typed.
    path.write_text("Text,urgent\nfever,routine\n", encoding="utf-8")
    assert "--text Text" in said(["data", "inspect", str(path), "--text", "text"], capsys)


def test_a_file_of_prose_is_no_label_map(tmp_path: Path) -> None:
    path = tmp_path / "notes.csv"
    path.write_text("".join(f"{T[0]},{text}\n" for text in T), encoding="utf-8")
    with pytest.raises(SottovoceError, match=r"notes.csv line 2: expected one label for each"):
        SourceChoice(str(path), label_map=str(path)).check()


def test_no_error_names_an_entity_or_quotes_its_columns() -> None:
    """In partition `features` a row is somebody, and its group is that person's name."""
    rows = [Document("", columns={"ward": T[0]}, group=T[1]) for _ in range(2)]
    column = Categorical("ward", ("eye", "heart"))
    for attempt in (
        lambda: EntityTable.of("north", rows),
        lambda: _place(column, rows[0], "north"),
    ):
        output = tell(attempt)
        assert "north" in output
        assert not CANARY.search(output), output


def with_keys(folder: Path, format_name: str, key: str) -> Path:
    """Documents with one more column, whose name may be a text."""
    rows = [{"text": "a note", key: "1", "label": label} for label in LABELS]
    path = folder / f"notes.{format_name}"
    match format_name:
        case "csv" | "tsv":
            between = "," if format_name == "csv" else "\t"
            lines = [list(rows[0]), *(list(row.values()) for row in rows)]
            path.write_text("".join(f"{between.join(line)}\n" for line in lines), "utf-8")
        case "jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
        case "json":
            path.write_text(json.dumps(rows), "utf-8")
        case "parquet" | "arrow":
            import pyarrow as pa
            from pyarrow import feather, parquet

            write = parquet.write_table if format_name == "parquet" else feather.write_feather
            write(pa.Table.from_pylist(rows), str(path))
        case "xlsx":
            from openpyxl import Workbook

            book = Workbook()
            for line in [list(rows[0]), *(list(row.values()) for row in rows)]:
                book.active.append(line)
            book.save(path)
    return path


@pytest.mark.parametrize(
    ("format_name", "key"),
    [(name, T[0][:14]) for name in ("csv", "tsv", "jsonl", "json", "parquet", "arrow", "xlsx")]
    + [("csv", "患者主诉发热三天"), ("json", "患者主诉发热三天")],
)
def test_a_name_of_a_column_that_could_be_text_is_given_by_its_number(
    format_name: str, key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = with_keys(tmp_path, format_name, key)
    asked = ["data", "inspect", str(path), "--text", "text"]
    for more in ((), ("--label", "lable"), ("--label", "label", "--numeric", "*")):
        for as_json in ((), ("--json",)):
            output = said([*asked, *more, *as_json], capsys)
            assert key not in output, (more, output)
            assert not CANARY.search(output), (more, output)
    output = said([*asked, "--label", "lable"], capsys)
    assert "found 'text', number 2, 'label'" in output
    assert "--label label" in output
    # What was typed may be shown: it tells nothing.
    assert "'Ward number'" in said([*asked, "--label", "Ward number"], capsys)


def test_names_that_look_like_identifiers_are_quoted() -> None:
    for name in ("label", "ICD-10", "note.text", "Diagnóstico", "диагноз", "3", "诊断"):
        assert is_name(name), name
    for text in ("no fever", "Fever.Then cough", "fever!", "", "x" * 33, "患者主诉发热三天"):
        assert not is_name(text), text
