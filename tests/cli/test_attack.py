"""`sottovoce attack` and `sottovoce notes`: what they print, and how their mistakes read."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sottovoce import cli
from sottovoce.errors import InputError


def run(*words: str) -> str:
    done = CliRunner().invoke(cli.app, words, env={"COLUMNS": "120"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    ("on", "least"),
    [("rados", {"unknown": 75, "known": 80}), ("moments", {"all": 80, "pruned": 60})],
)
def test_most_notes_come_back_and_none_from_behind_masks(on: str, least: dict[str, int]) -> None:
    facts = json.loads(run("attack", "--on", on, "--documents", "80", "--rados", "120", "--json"))
    assert facts["on"] == on
    assert facts["documents"] == 80
    assert len(facts["rows"]) == 3
    for row, (name, matched) in zip(facts["rows"], least.items(), strict=False):
        assert name in row["seen"]
        assert row["matched"] >= matched
        assert row["precision"] > 0.9
    assert facts["rows"][-1]["seen"].startswith("masked")
    assert facts["rows"][-1]["recovered"] == 0
    assert "So " in facts["explanation"]


def test_single_blocks_come_back_and_larger_ones_do_not() -> None:
    facts = json.loads(run("attack", "--on", "blocks", "--documents", "120", "--json"))
    alone, larger, masked = facts["rows"]
    assert alone["word_for_word"] == alone["labels_right"] == alone["recovered"] > 5
    assert larger["recovered"] == masked["recovered"] == 0


def test_people_get_a_table_and_an_explanation() -> None:
    result = run("attack", "--on", "rados", "--documents", "20", "--rados", "40")
    assert "signatures unknown" in result
    assert "word for word" in result
    assert "one rado more than there are documents" in " ".join(result.split())


def test_a_dictionary_of_few_documents_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 labels of 50 documents, found 0") as refused:
        run("attack", "--on", "dictionary", "--documents", "60")
    (hint,) = refused.value.hints
    assert "of frequent" in run(*str(hint).split()[1:])


@pytest.mark.parametrize(
    "words", [("--on", "thoughts"), (), ("--on", "rados", "--documents", "3")], ids=str
)
def test_wrong_words_are_refused(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli.app, ["attack", *words])
    assert done.exit_code == 2


def test_notes_are_written_and_told(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    facts = json.loads(
        run("notes", "--sites", "2", "--documents", "30", "--out", str(folder), "--json")
    )
    assert facts["origin"] == "synthetic"
    assert [(row["site"], row["notes"]) for row in facts["rows"]] == [
        ("north", 15),
        ("harbour", 15),
    ]
    assert all(Path(row["written"]).is_file() for row in facts["rows"])
    with pytest.raises(InputError, match=r"north\.csv: already exists"):
        run("notes", "--sites", "2", "--documents", "30", "--out", str(folder))
    run("notes", "--sites", "1", "--documents", "5", "--format", "brat", "--out", str(folder))
    assert len(list((folder / "north").glob("*.ann"))) == 5
