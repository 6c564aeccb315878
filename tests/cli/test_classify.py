"""What classify reads and writes around the question itself."""

import csv
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from typer.testing import CliRunner

from sottovoce import cli
from sottovoce.cli.answers import large_questions
from sottovoce.cli.commands import classify as command
from sottovoce.cli.source_choice import SourceChoice, check_brings_text, recall, remember
from sottovoce.config.study_file import example, parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import DamagedFileError, InputError
from sottovoce.node.api import Classified
from sottovoce.node.invitations import Invitation
from sottovoce.node.kept_facts import keep_alone, keep_evaluation
from sottovoce.node.site.site_folder import Site, open_site
from sottovoce.sources import open_source
from sottovoce.study.choices import Verdict
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation
from sottovoce.study.evaluations.figures import Evaluation
from sottovoce.study.queries.explanations import CarryingWord
from sottovoce.text.documents import Document

ROWS = 'note,age,label\n"fever, rash",40,x\nwell,,y\n,50,z\n'


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return joined(tmp_path / "home", example())


def joined(home: Path, text: str) -> Site:
    """A site that joined one study, of this text."""
    result = open_site(home, entropy=SystemEntropy())
    expires = datetime(2030, 1, 1, tzinfo=UTC)
    invitation = Invitation(
        "https://a:1", bytes(32), "s-1", "urgency", "north", ("north",), bytes(32), expires
    )
    study = result.accept(invitation)
    study.keep_text(text)
    remember(result, study, SourceChoice("/data/notes.csv", text=("note",), label=("dx",)))
    return result


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[Document]]:
    """Everybody is urgent, and what was asked is kept."""
    kept: list[Sequence[Document]] = []

    def ask(
        _: object,
        documents: Sequence[Document],
        deliver: Callable[[Any], None],
        thresholds: object = None,
        *,
        as_json: bool,
        explain: bool,
    ) -> object:
        kept.append(documents)
        bare = tuple(at for at, document in enumerate(documents) if not document.text)
        classes = [("urgent",)] * len(documents)
        words = (CarryingWord("fever", ("routine",)), CarryingWord("rash", ("routine",), 0.25))
        because = (words, (), *[None] * (len(documents) - 2)) if explain else ()
        answer = Classified(
            classes, 7, verdict=Verdict.DGK, charged=16, wordless=bare, because=because
        )
        deliver(answer)
        return answer

    monkeypatch.setattr(command, "_ask", ask)
    return kept


def call(site: Site, *words: object) -> str:
    given = ["classify", *map(str, words), "--home", str(site.home)]
    done = CliRunner().invoke(cli.app, given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_every_row_comes_back_with_its_columns(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    said = call(site, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert "3 rows labelled, counted as 16; 7 labels left" in said
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["note"] for row in rows] == ["fever, rash", "well", ""]
    assert [row["label"] for row in rows] == ["x", "y", "z"]
    assert [row["predicted_label"] for row in rows] == ["urgent"] * 3
    assert [row["age"] for row in rows] == ["40", "", "50"]


TABLE = """
[study]
name = "urgency"
coordinator = "Institute"
labels = ["routine", "urgent"]
features = 0

[columns]
pulse = { low = 0, high = 200 }
ward = ["eye", "heart"]

[peers]
north = "North"
south = "South"
west = "West"

[roles]
evaluator = "trust"

[helpers]
trust = "Trust"
"""


def test_cells_that_are_computed_with_come_back_as_typed(
    asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    site = joined(tmp_path / "home", TABLE)
    typed = "pulse,ward,id,bed\r\n118,eye,007,+3\r\n 1e2 , heart,8,\r\nNA,,9.0,x\r\n"
    (tmp_path / "new.csv").write_text(typed, encoding="utf-8", newline="")
    given = ("--text", "none", "--group", "id")
    call(site, tmp_path / "new.csv", "--out", tmp_path / "out.csv", *given)
    assert [document.columns["pulse"] for document in asked[0]] == [118.0, 100.0, None]
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "new.csv").open(encoding="utf-8", newline="") as file:
        expected = list(csv.DictReader(file))
    assert [row.pop("label") for row in rows] == ["urgent"] * 3
    assert rows == expected


@pytest.mark.parametrize("out", ["out.jsonl", "out.parquet"])
@pytest.mark.parametrize("name", ["new.jsonl", "new.parquet", "new.arrow"])
def test_values_that_are_computed_with_keep_their_type(
    asked: list[Sequence[Document]], tmp_path: Path, name: str, out: str
) -> None:
    site = joined(tmp_path / "home", TABLE)
    table = [{"pulse": 118, "ward": "eye", "id": 7}, {"pulse": 60, "ward": "heart", "id": 8}]
    if name.endswith(".jsonl"):
        text = "".join(f"{json.dumps(row)}\n" for row in table)
        (tmp_path / name).write_text(text, encoding="utf-8")
    else:
        written = pa.Table.from_pylist(table)
        if name.endswith(".parquet"):
            parquet.write_table(written, tmp_path / name)
        else:
            feather.write_feather(written, str(tmp_path / name))
    call(site, tmp_path / name, "--out", tmp_path / out, "--text", "none", "--group", "id")
    if out.endswith(".jsonl"):
        lines = (tmp_path / out).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
    else:
        rows = parquet.read_table(tmp_path / out).to_pylist()
    assert [row.pop("label") for row in rows] == ["urgent"] * 2
    assert repr(sorted(rows[0].items())) == repr(sorted(table[0].items()))
    assert repr(sorted(rows[1].items())) == repr(sorted(table[1].items()))


def test_objects_keep_what_else_they_hold(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    given = [
        {"note": "a b", "ward": {"floor": 2, "beds": [1, 2]}, "age": 40},
        {"note": "c", "seen": True, "age": None, "by": " Dr. O "},
    ]
    text = "".join(f"{json.dumps(row)}\n" for row in given)
    (tmp_path / "new.jsonl").write_text(text, encoding="utf-8")
    call(site, tmp_path / "new.jsonl", "--out", tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    for row, line in zip(given, lines, strict=True):
        labelled = json.loads(line)
        assert {name: labelled[name] for name in row} == row
        assert labelled["label"] == "urgent"


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.jsonl", "out.parquet", "out.arrow"])
def test_every_table_can_be_read_again(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path, name: str
) -> None:
    (tmp_path / "new.jsonl").write_text('{"note": "a b"}\n{"note": "c"}\n', encoding="utf-8")
    call(site, tmp_path / "new.jsonl", "--out", tmp_path / name, "--label-column", "found")
    from sottovoce.sources import SourceOptions

    again = open_source(tmp_path / name, SourceOptions(text="note", label="found"))
    assert [(document.text, document.label) for document in again] == [
        ("a b", "urgent"),
        ("c", "urgent"),
    ]


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl"])
def test_standard_output_gets_the_table_and_nothing_else(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path, kind: str
) -> None:
    (tmp_path / "new.jsonl").write_text('{"note": "a b"}\n{"note": ""}\n', encoding="utf-8")
    words = ("--out", "-", "--remark-column", "remark", "--out-format", kind)
    said = call(site, tmp_path / "new.jsonl", *words)
    if kind == "jsonl":
        rows = [json.loads(line) for line in said.splitlines()]
    else:
        rows = list(csv.DictReader(said.splitlines(), delimiter="," if kind == "csv" else "\t"))
    assert [row["label"] for row in rows] == ["urgent", "urgent"]
    assert [row["remark"] for row in rows] == ["", "no known word"]
    assert not (Path.cwd() / "-").exists()


def test_rows_without_a_known_word_are_counted_and_marked_only_where_asked_for(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    given = ["classify", tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--home", site.home]
    done = CliRunner().invoke(cli.app, [str(argument) for argument in given])
    assert "1 of 3 rows have no word that the model knows; their text says nothing" in done.stderr
    assert "known word" not in (tmp_path / "out.csv").read_text(encoding="utf-8")
    facts = json.loads(call(site, tmp_path / "new.csv", "--out", tmp_path / "two.csv", "--json"))
    assert facts["wordless"] == 1


def test_an_explanation_is_a_column(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    words = (tmp_path / "new.csv", "--out", tmp_path / "out.jsonl", "--explain", "--json")
    assert json.loads(call(site, *words))["explained"] == 2
    rows = [
        json.loads(text_line) for text_line in (tmp_path / "out.jsonl").read_text().splitlines()
    ]
    expected = ["fever (else routine), rash (0.25)", "no single word", ""]
    assert [row["because"] for row in rows] == expected


def test_an_annotation_tool_gets_tasks_the_least_certain_first(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    given = (tmp_path / "new.csv", "--out-format", "label-studio", "--out")
    call(site, *given, tmp_path / "sealed.json")
    tasks = json.loads((tmp_path / "sealed.json").read_text(encoding="utf-8"))
    assert [task["data"]["text"] for task in tasks] == ["fever, rash", "well", ""]
    assert tasks[0]["predictions"][0]["result"][0]["value"] == {"choices": ["urgent"]}

    def ask(*words: Any, **more: Any) -> object:
        scores = np.array([[0.75], [0.25], [-0.5]])
        answer = Classified([("urgent",), ("urgent",), ("routine",)], 7, scores)
        words[2](answer)
        return answer

    monkeypatch.setattr(command, "_ask", ask)
    call(site, *given, tmp_path / "margins.json")
    tasks = json.loads((tmp_path / "margins.json").read_text(encoding="utf-8"))
    assert [task["data"]["text"] for task in tasks] == ["well", "", "fever, rash"]
    assert [task["predictions"][0]["score"] for task in tasks] == [0.25, 0.5, 0.75]


def test_a_column_says_how_far_each_label_is_from_another_one(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    given = (tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--score-column", "certainty")
    with pytest.raises(InputError, match="--score-column: this study releases labels only"):
        call(site, *given)
    released = example().replace('# release = "sealed" ', 'release = "margin"')
    site = joined(tmp_path / "other", released)

    def ask(*words: Any, **more: Any) -> object:
        scores = np.array([[0.75], [0.25], [-0.5]])
        answer = Classified([("urgent",), ("urgent",), ("routine",)], 7, scores)
        words[2](answer)
        return answer

    monkeypatch.setattr(command, "_ask", ask)
    call(site, *given)
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        assert [row["certainty"] for row in csv.DictReader(file)] == ["0.7500", "0.2500", "0.5000"]
    call(site, *given[:2], tmp_path / "out.parquet", *given[3:])
    assert parquet.read_table(tmp_path / "out.parquet")["certainty"].to_pylist() == [
        0.75,
        0.25,
        0.5,
    ]


@pytest.mark.parametrize(
    ("alone", "before", "says", "times"),
    [
        (1.0, None, "own", 1),
        (1.0, 0.5, "own", 0),
        (1.0, 0.96, "joint", 1),
        (0.85, None, "joint", 1),
    ],
    ids=["compared", "compared before", "joint was as good", "joint is ahead anyway"],
)
def test_the_better_one_of_the_own_and_the_joint_model_answers(
    site: Site,
    asked: list[Sequence[Document]],
    tmp_path: Path,
    alone: float,
    before: float | None,
    says: str,
    times: int,
) -> None:
    rows = [
        f"{word} case {index},{label}\n"
        for index in range(20)
        for word, label in (("fever", "routine"), ("fall", "urgent"))
    ]
    (tmp_path / "notes.csv").write_text("note,dx\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "new.csv").write_text("note\nfever again\n", encoding="utf-8")
    study = site.study(None)
    source = SourceChoice(str(tmp_path / "notes.csv"), text=("note",), label=("dx",))
    remember(site, study, source)
    given = (tmp_path / "new.csv", "--out", tmp_path / "out.csv", "--own", "--json")
    with pytest.raises(InputError, match="--own: study s-1 was not evaluated"):
        call(site, *given)
    labels = parse_study(example()).plan.labels
    keep_alone(study.folder, alone, joint=before)
    own = Evaluation.of(labels, np.array([[8, 2], [2, 8]]), ("north",), fewest=1)
    keep_evaluation(study.folder / study.invitation.seats[0], KeptEvaluation(0.0, own, own))
    facts = json.loads(call(site, *given))
    assert (facts["model"], facts["counted"]) == (says, 16 * times)
    assert len(asked) == times
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    # The joint model of this test says "urgent" of everything.
    assert row["label"] == ("routine" if says == "own" else "urgent")


def test_folders_and_brat(site: Site, asked: list[Sequence[Document]], tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text("fever", encoding="utf-8")
    call(site, tmp_path / "texts", "--text", "text", "--out", tmp_path / "labelled")
    assert (tmp_path / "labelled" / "urgent" / "one.txt").read_text() == "fever"
    words = ("--out", tmp_path / "brat", "--out-format", "brat", "--json")
    facts = json.loads(call(site, tmp_path / "texts", "--text", "text", *words))
    assert facts == {
        "study": "s-1", "documents": 1, "model": "joint", "verdict": "dgk",
        "written": 1, "counted": 16, "left": 7, "wordless": 0, "explained": 0,
        "out": str(tmp_path / "brat"),
    }  # fmt: skip
    assert (tmp_path / "brat" / "one.ann").read_text() == "T1\turgent 0 5\tfever\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("new.csv", "--out", "out.docx"), r"--out: expected \.csv.* found 'out.docx'"),
        (("new.csv", "--out", "new.csv"), "new.csv: already exists; nothing was asked"),
        (("new.csv", "--out", "none/out.csv"), "its folder does not exist"),
        (("none.csv", "--out", "out.csv"), "none.csv"),
        (("new.csv", "--out", "out.csv", "--text", "nte"), "nte"),
        (("new.csv", "--out", "out.csv", "--keep", "aeg"), "aeg"),
        (
            ("new.csv", "--out", "out.csv", "--label-column", "age"),
            "--label-column: the input has a column 'age' already; nothing was asked",
        ),
        (
            ("new.csv", "--out", "out.csv", "--remark-column", "age"),
            "--remark-column: the input has a column 'age' already; nothing was asked",
        ),
        (("new.csv", "--out", "out.csv", "--study", "other"), "this site knows s-1, found"),
        (("new.csv", "--out", "out", "--out-format", "odt"), "format: expected one of"),
        (("new.csv", "--out", "-", "--out-format", "parquet"), "--out -: expected csv, tsv or"),
        (("new.csv", "--out", "-", "--json"), "both write to stdout"),
        (
            ("new.csv", "--out", "out", "--out-format", "brat", "--remark-column", "r"),
            "--remark-column: expected a table to write, found brat",
        ),
        (
            ("new.csv", "--out", "out", "--out-format", "folder", "--explain"),
            "--explain: expected a table to write, found folder",
        ),
        (
            ("new.csv", "--out", "out.csv", "--own", "--explain"),
            "--own and --explain do not go together",
        ),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    site: Site,
    asked: list[Sequence[Document]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    with pytest.raises(InputError, match=says):
        call(site, *words)
    assert not asked


def test_a_table_without_the_text_is_refused_before_anything_is_asked(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("id,words\n1,fever\n2,rash\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected a column 'note', found 2 columns, none"):
        call(site, tmp_path / "new.csv", "--out", tmp_path / "out.csv")
    assert asked == []


def test_a_label_column_over_the_text_is_refused_before_anything_is_asked(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text(ROWS, encoding="utf-8")
    given = ("--out", tmp_path / "out.csv", "--label-column", "note")
    with pytest.raises(InputError, match="'note' is already the column of the text or the group"):
        call(site, tmp_path / "new.csv", *given)
    assert asked == []


def test_what_a_site_joined_with_is_remembered_sealed(site: Site) -> None:
    study = site.study()
    assert recall(site, study) == SourceChoice("/data/notes.csv", ("note",), ("dx",))
    stored = (study.folder / "source").read_bytes()
    assert b"notes.csv" not in stored
    site.files.write(study.folder / "source", b"[]", entropy=site.entropy, replace=True)
    with pytest.raises(DamagedFileError, match="not what was written"):
        recall(site, study)
    (study.folder / "source").unlink()
    assert recall(site, study) is None


def test_who_brings_text() -> None:
    choice = SourceChoice("notes.csv")
    check_brings_text(("north", "evaluator"), ("north",), choice)
    check_brings_text(("evaluator",), ("north",), None)
    with pytest.raises(InputError, match="north: a peer needs --data with its documents"):
        check_brings_text(("north",), ("north",), None)
    with pytest.raises(InputError, match="--data: evaluator brings no documents"):
        check_brings_text(("evaluator",), ("north",), choice)


def test_what_is_read_follows_from_the_plan() -> None:
    text = example() + '\n[columns]\nsex = ["f"]\nage = { low = 0, high = 9 }\n'
    plan = parse_study(text).plan
    learning = SourceChoice("notes.csv", label=("dx",), group="p").options(plan)
    assert (learning.labels, learning.label) == (("routine", "urgent"), ("dx",))
    assert (learning.categorical, learning.numeric, learning.group) == (("sex",), ("age",), "p")
    asking = SourceChoice("notes.csv", label=("dx",)).options(plan, learning=False)
    assert (asking.labels, asking.unlabelled) == ((), True)


def test_a_large_file_is_asked_about_in_slices_and_goes_on_after_a_crash(
    site: Site, asked: list[Sequence[Document]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large_questions, "SLICE", 4)
    file, study = tmp_path / "new.csv", site.study(None)
    file.write_text("note,age\n" + "".join(f"fever {n},{n}\n" for n in range(10)) + ",9\n")
    ask = command._ask

    def dies(*words: Any, **how: Any) -> object:
        if len(asked) == 2:
            raise RuntimeError("the machine went away")
        return ask(*words, **how)

    words = (file, "--out", tmp_path / "out.csv", "--remark-column", "remark")
    with pytest.raises(InputError, match="cluster: expected local, none or the address"):
        call(site, *words, "--cluster", "nowhere")
    assert not asked
    with monkeypatch.context() as patch:
        patch.setattr(command, "_ask", dies)
        with pytest.raises(RuntimeError, match="went away"):
            call(site, *words)
    assert [len(documents) for documents in asked] == [4, 4]
    assert not (tmp_path / "out.csv").exists()
    (kept,) = (study.folder / "labelling").iterdir()
    assert b"urgent" not in b"".join(piece.read_bytes() for piece in kept.iterdir())
    said = call(site, *words)
    assert [len(documents) for documents in asked] == [4, 4, 3]
    assert "11 rows labelled, counted as 48; 7 labels left" in said
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    assert [row["age"] for row in rows] == [*map(str, range(10)), "9"]
    assert [row["remark"] for row in rows] == [""] * 10 + ["no known word"]
    assert not list((study.folder / "labelling").iterdir())
    # A file that was changed is asked about anew; one that is small enough, all at once.
    file.write_text("note,age\nfever,1\n")
    call(site, *words, "--replace")
    assert len(asked[-1]) == 1
