"""Every hint that sends people to a command or to a file is done by a test, here or elsewhere."""

import ast
import json
import re
import shutil
import socket
import sqlite3
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeGuard

import pytest

from harness.commands import call
from harness.entropy import SeededEntropy
from harness.processes.parsing import commands_in
from sottovoce import errors
from sottovoce.datasets import clinical_notes, write_notes
from sottovoce.errors import DamagedFileError, InputError, JournalError, LedgerError
from sottovoce.keyfiles.keytext import KeyText
from sottovoce.ledger import Entry, LineKind, SiteLedger
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.site_folder import Site, open_site
from sottovoce.protocols.identities import Identity
from sottovoce.sources.writing import write_documents
from sottovoce.storage.journal import Journal
from sottovoce.text.documents import Document

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src" / "sottovoce").rglob("*.py"))
HERE = "tests/cli/test_hints_are_done.py::"
BACKUP = "tests/docs/test_backup.py::"
STUDIES = "tests/cli/test_study_commands.py::"
KEYS = "tests/keyfiles/test_cli.py::"
WHOLE = "tests/e2e/test_commands.py::test_commands_that_are_killed_go_on_and_label_a_file"

# What touches files, by the words of a hint; a value that is filled in is a `…`.
FILES = {
    "restore the file and storage.key from the same backup": f"{HERE}test_a_sealed_file",
    "restore the file from a backup: without it no sealed file can be opened": (
        f"{HERE}test_the_key_of_a_site"
    ),
    "restore the file from a backup": f"{HERE}test_a_key_file",
    "sed -i 's/\\r//' …": f"{HERE}test_a_key_file",
    "restore the whole ledger from a copy": f"{HERE}test_a_ledger",
    "restore the file from a copy": f"{HERE}test_the_text_of_a_study",
    "the file was changed; when a copy of the folder helps: docs/backup.md": (
        f"{HERE}test_a_journal"
    ),
    "the way back after a restore is in docs/backup.md": (
        "tests/node/site/test_restored.py::test_a_restored_site_sends_nothing"
    ),
    "put back the documents and settings that the study began with": (
        f"{BACKUP}test_documents_that_are_put_back_let_the_study_go_on"
    ),
    "put back the documents, settings and version that the study began with": (
        f"{BACKUP}test_documents_that_are_put_back_let_the_study_go_on"
    ),
    "go on with the newest copy of the folder, which has all that was sent": (
        "tests/node/site/test_restored.py::test_a_copy_that_went_on_is_the_one_that_counts"
    ),
    "ask the coordinator for the newest copy of its folder, or for another study": (
        f"{BACKUP}test_a_coordinator_comes_back_whole_and_with_its_key"
    ),
    "restore the newest copy of the whole folder, including the journal": (
        f"{BACKUP}test_a_coordinator_comes_back_whole_and_with_its_key"
    ),
    "put … back from a copy of its folder": (
        "tests/study/test_own_scores.py::test_a_missing_or_damaged_own_model_is_named"
    ),
    "rename one of them in the first line of the file": f"{HERE}test_a_table",
    "remove the blank line": f"{HERE}test_a_table",
    "name another place, or move it away first": f"{HERE}test_a_file_in_the_way",
    "write to another folder, or remove this one first": f"{HERE}test_notes_in_the_way",
}
TOUCHING = re.compile(
    r"\b(touch|move|delete|erase|restore|rename|remove|put back|sed -i)\b"
    r"|\bcopy of (the|its) folder"
)
NO_FILE = {"or remove the column means first"}

# What runs each command that a hint names, by its first words.
COMMANDS = {
    "attack": "tests/cli/test_attack.py::test_a_dictionary_of_few_documents_is_refused",
    "study create": f"{STUDIES}test_without_a_file_an_example_is_printed",
    "study create --from": f"{STUDIES}test_a_study_is_made_again_under_another_name",
    "study list": f"{STUDIES}test_a_study_is_made_again_under_another_name",
    "study invite": f"{STUDIES}test_a_new_invitation_differs",
    "study cancel": f"{STUDIES}test_stopping_a_study_is_asked_for",
    "study close": f"{STUDIES}test_scripts_read_what_was_ordered",
    "join": WHOLE,
    "serve": WHOLE,
    "ledger verify": WHOLE,
    "ledger show": f"{BACKUP}test_the_page_names_every_file_of_a_home_and_none_that_is_not_there",
    "ledger export": f"{BACKUP}test_the_page_names_every_file_of_a_home_and_none_that_is_not_there",
    "status": (
        "tests/cli/test_joining.py::"
        "test_a_study_that_is_over_says_what_happened_and_what_can_be_done"
    ),
    "classify": (
        "tests/node/studies/test_quorum_study.py::test_three_sites_train_and_use_a_model_that_nobody_holds"
    ),
    "evaluate": (
        "tests/node/studies/test_whole_study.py::test_peers_evaluate_together_and_each_sees_its_own_table"
    ),
    "keys generate": f"{KEYS}test_generate_show_check_and_change",
    "keys public": f"{KEYS}test_the_public_half_is_written_again",
    "data inspect": f"{HERE}test_a_table",
    "console": f"{HERE}test_a_console_whose_port_is_taken",
    "encoder inspect": (
        "tests/encoders/test_encoders.py::test_inspecting_an_encoder_prints_its_name"
    ),
}


def _texts(node: ast.AST) -> Iterator[str]:
    """Every text below a node; a value that it fills in is a `…`."""
    if isinstance(node, ast.JoinedStr):
        parts = (value.value if isinstance(value, ast.Constant) else "…" for value in node.values)
        yield "".join(map(str, parts))
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Hint":
        yield "".join(text for piece in node.args for text in _texts(piece))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _texts(child)


def _given(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Whatever becomes hints of an error, and of which: an argument, set later, or listed."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            yield from (
                (called, keyword.value) for keyword in node.keywords if keyword.arg == "hints"
            )
            if called.startswith("hints."):
                yield from (("", arg) for arg in node.args)
        elif isinstance(node, ast.Assign):
            targets = (target for target in node.targets if isinstance(target, ast.Attribute))
            yield from (("", node.value) for target in targets if target.attr == "hints")


def _assigned(tree: ast.AST) -> dict[str, list[ast.expr]]:
    """What each name of a module is set to, anywhere in it."""
    by_option: dict[str, list[ast.expr]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            names = {name.id for at in node.targets for name in ast.walk(at) if _is_name(name)}
            for name in names:
                by_option.setdefault(name, []).append(node.value)
    return by_option


def _is_name(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _hints_of(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """All hints of a module and their errors, those that have a name of their own included."""
    assigned = _assigned(tree)
    for called, given in _given(tree):
        names = {node.id for node in ast.walk(given) if _is_name(node)}
        values = [value for name in names for value in assigned.get(name, [])]
        for value in (given, *values):
            yield from ((hint, called) for hint in _texts(value))


def _hints() -> dict[str, set[str]]:
    """Every hint of the source, with the names of all errors that it may come with."""
    by_command: dict[str, set[str]] = {}
    for path in SOURCES:
        for hint, called in _hints_of(ast.parse(path.read_text(encoding="utf-8"))):
            kind = getattr(errors, called, errors.SottovoceError)
            by_command.setdefault(hint, set()).update(base.__name__ for base in kind.__mro__)
    return by_command


def _source_of(name: str) -> str:
    """The text of the test of this name."""
    path, _, test = name.partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    matches = [
        function
        for function in tree.body
        if isinstance(function, ast.FunctionDef) and function.name == test
    ]
    assert matches, name
    return ast.unparse(matches[0])


def test_every_hint_that_touches_a_file_is_done_by_a_test() -> None:
    hints = _hints()
    assert {hint for hint in hints if TOUCHING.search(hint)} - NO_FILE == set(FILES)
    for hint, name in FILES.items():
        awaited = re.findall(r"\w+Error\b", _source_of(name))
        assert set(awaited) & hints[hint], (hint, name)


def test_every_command_in_a_hint_is_run_by_a_test() -> None:
    named = {_first_words(command) for hint in _hints() for command in commands_in(hint)}
    assert named == set(COMMANDS)
    for words, name in COMMANDS.items():
        source = _source_of(name)
        for word in words.split():
            # As a word of a command, or as the function behind it; `keys` is said once for all.
            said = f"'{word}'" in source or f".{word}(" in source
            assert said or word == "keys", (words, name)


def _first_words(command: str) -> str:
    words = command.split()[1:]
    group = words[0] in {"study", "ledger", "keys", "data", "encoder"}
    return " ".join(words[: 3 if "--from" in words else 2] if group else words[:1])


@pytest.fixture
def site(tmp_path: Path) -> Site:
    result = open_site(tmp_path / "home", entropy=SeededEntropy(1))
    until = datetime(2030, 1, 2, tzinfo=UTC)
    who = ("north", ("north",), bytes(32), until)
    result.accept(Invitation("https://127.0.0.1:8443", bytes(32), "k3j4", "urgency", *who))
    return result


def _said(error: Exception) -> str:
    return " / ".join(getattr(error, "hints", ()))


def test_a_sealed_file(site: Site, tmp_path: Path) -> None:
    shutil.copytree(site.home, tmp_path / "backup")
    path = site.home / "studies" / "k3j4" / "membership"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedFileError) as caught:
        _ = open_site(site.home, entropy=SeededEntropy(2)).study().invitation
    assert "restore the file and storage.key from the same backup" in _said(caught.value)
    for name in ("storage.key", "studies/k3j4/membership"):
        shutil.copy(tmp_path / "backup" / name, site.home / name)
    again = open_site(site.home, entropy=SeededEntropy(2)).study().invitation
    assert again.title == "urgency"


def test_the_key_of_a_site(site: Site, tmp_path: Path) -> None:
    path = site.home / "storage.key"
    kept = path.read_bytes()
    path.write_bytes(kept[:-9])
    with pytest.raises(DamagedFileError) as caught:
        _ = open_site(site.home, entropy=SeededEntropy(2)).files
    assert "restore the file from a backup" in _said(caught.value)
    path.write_bytes(kept)
    assert open_site(site.home, entropy=SeededEntropy(2)).study().invitation.title == "urgency"


def test_a_key_file(tmp_path: Path) -> None:
    good = json.loads((ROOT / "tests" / "vectors" / "keyfiles.json").read_text())["good"]["public"]
    path = tmp_path / "my public.key"
    path.write_bytes(good.replace("\n", "\r\n").encode())
    with pytest.raises(DamagedFileError) as caught:
        KeyText.parse(path.read_bytes(), name=str(path))
    command, backup = caught.value.hints
    assert backup == "restore the file from a backup"
    subprocess.run(["sh", "-c", command], check=True)
    assert path.read_text() == good
    KeyText.parse(path.read_bytes(), name=str(path))


def test_a_ledger(tmp_path: Path) -> None:
    path, north = tmp_path / "ledger.jsonl", Identity.draw("north", SeededEntropy(1))
    with SiteLedger(path, north) as ledger:
        for note in ("one", "two", "three"):
            ledger.append(Entry("s1", LineKind.REPAIR, note=note))
    copies = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:1]))
    with pytest.raises(LedgerError) as caught:
        SiteLedger(path, north)
    assert _said(caught.value) == "restore the whole ledger from a copy"
    for name, data in copies.items():
        (tmp_path / name).write_bytes(data)
    with SiteLedger(path, north) as ledger:
        assert ledger.verify().lines == 3


def test_the_text_of_a_study(coordinator_home: Path) -> None:
    (path,) = (coordinator_home / "coordinator" / "studies").glob("*/study.toml")
    kept = path.read_bytes()
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(DamagedFileError) as caught:
        _ = Registry(path.parent).text
    assert _said(caught.value) == "restore the file from a copy"
    path.write_bytes(kept)
    assert Registry(path.parent).text.encode() == kept


def test_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with Journal(path, key=bytes(32)) as journal:
        journal.commit(notes={"n": b"what was known"})
    kept = path.read_bytes()
    database = sqlite3.connect(path)
    database.execute("UPDATE notes SET box = zeroblob(80)")
    database.commit()
    database.close()
    with Journal(path, key=bytes(32)) as journal, pytest.raises(JournalError) as caught:
        journal.note("n")
    assert "when a copy of the folder helps: docs/backup.md" in _said(caught.value)
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(JournalError) as caught:
        Journal(path, key=bytes(32))
    assert "when a copy of the folder helps: docs/backup.md" in _said(caught.value)
    assert "restore a seat's journal" in (ROOT / "docs" / "backup.md").read_text()
    path.write_bytes(kept)
    with Journal(path, key=bytes(32)) as journal:
        assert journal.note("n") == b"what was known"


@pytest.mark.parametrize(
    ("content", "mended", "hint"),
    [
        ("note,note\na,b\n", "note,other\na,b\n", "rename one of them in the first line"),
        (",\nnote,other\na,b\n", "note,other\na,b\n", "remove the blank line"),
    ],
)
def test_a_table(tmp_path: Path, content: str, mended: str, hint: str) -> None:
    path = tmp_path / "notes.csv"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        call("data", "inspect", path, "--text", "note")
    assert hint in _said(caught.value)
    path.write_text(mended)
    assert "(csv)" in call("data", "inspect", path, "--text", "note")


def test_a_file_in_the_way(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    path.write_text("precious")
    with pytest.raises(InputError) as caught:
        write_documents([Document("she fell")], path)
    assert _said(caught.value) == "name another place, or move it away first"
    write_documents([Document("she fell")], tmp_path / "other.csv")
    path.rename(tmp_path / "kept.csv")
    write_documents([Document("she fell")], path)
    assert (tmp_path / "kept.csv").read_text() == "precious"
    assert path.read_text() == (tmp_path / "other.csv").read_text()


def test_notes_in_the_way(tmp_path: Path) -> None:
    notes = clinical_notes(30, sites=("a", "b"))
    (tmp_path / "first").mkdir()
    path = tmp_path / "first" / f"{next(iter(notes.sites))}.csv"
    path.write_text("mine")
    with pytest.raises(InputError) as caught:
        write_notes(notes, path.parent)
    assert _said(caught.value) == "write to another folder, or remove this one first"
    write_notes(notes, tmp_path / "second")
    shutil.rmtree(path.parent)
    write_notes(notes, path.parent)
    assert path.read_text() == (tmp_path / "second" / path.name).read_text()


def test_a_console_whose_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(InputError) as caught:
            call("console", "--no-browser", "--port", port, "--home", tmp_path / "home")
    assert caught.value.hints[0] == "sottovoce console --port 0"
