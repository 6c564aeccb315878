"""Every command that the program, its pages or its hints name is one that it understands."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.commands import call
from harness.processes.parsing import commands_in, is_known, mentioned, options_of, parsed
from sottovoce.errors import SottovoceError

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACEHOLDER = "X1"


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOTTOVOCE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def texts(node: ast.AST) -> Iterator[str]:
    """Every text below a node, a value that it fills in replaced by a word."""
    if isinstance(node, ast.JoinedStr):
        parts = (
            value.value if isinstance(value, ast.Constant) else PLACEHOLDER for value in node.values
        )
        yield "".join(map(str, parts))
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Hint":
        yield "".join(text for piece in node.args for text in texts(piece))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts(child)


def hints_of(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "hints":
            yield from texts(node.value)


def test_every_hint_in_the_source_that_names_a_command_can_be_typed() -> None:
    sources = (source for path in SOURCES if "hints" in (source := path.read_text("utf-8")))
    hints = (hint for source in sources for hint in hints_of(ast.parse(source)))
    results = [command for hint in hints for command in commands_in(hint)]
    assert [result for result in results if not understood(parsed, result)] == []
    assert len(results) > 25


def test_every_command_in_the_source_exists() -> None:
    said = (text for path in SOURCES for text in texts(ast.parse(path.read_text("utf-8"))))
    results = [command for text in said for command in commands_in(text) if is_known(command)]
    assert [result for result in results if not understood(mentioned, result)] == []
    assert len(results) > 120


def test_no_text_shows_an_expression_of_the_code() -> None:
    """A text of several lines in which the line with the value is no f-string."""
    said = (text for path in SOURCES for text in texts(ast.parse(path.read_text("utf-8"))))
    shown = {text for text in said if re.search(r"\{\w+\.\w", text)}
    assert shown == {"{task.description}"}, "that one is filled in by rich"


def understood(read: Callable[[str], None], command: str) -> bool:
    try:
        read(command)
    except Exception:  # noqa: BLE001 - whatever a parser says of a command that it refuses
        return False
    return True


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"```console[^\n]*\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            for command in commands_in(line.partition(" # ")[0]):
                parsed(command)
    for command in commands_in(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        if is_known(command):
            mentioned(command)


SITUATIONS: list[tuple[str, ...]] = [
    ("join",),
    ("join", "nosuch"),
    ("join", "sottovoce-1-abc"),
    ("join", "sent"),
    ("join", "sent/nort"),
    ("join", "sent/north", "--approve", "nosuch"),
    ("join", "sent/north", "--data", "nosuch.csv"),
    ("join", "sent/north", "--data", "notes.csv"),
    ("join", "sent/north", "--data", "notes.csv", "--text", "note", "--label", "x"),
    ("join", "sent/north", "--text", "note", "--data", "notes.csv", "--format", "xls"),
    ("join", "--label", "x"),
    ("status",),
    ("withdraw",),
    ("hand", "north"),
    ("evaluate",),
    ("classify", "notes.csv", "--out", "labelled.csv"),
    ("ledger", "show"),
    ("ledger", "show", "--what", "nothing"),
    ("ledger", "verify"),
    ("ledger", "export", "--out", "x.csv"),
    ("data", "inspect", "nosuch.csv"),
    ("data", "inspect", "notes.csv"),
    ("data", "inspect", "."),
    ("keys", "show", "nosuch.key"),
    ("keys", "generate", "--out", "keys", "--bits", "1000"),
    ("study", "create", "nosuch.toml"),
    ("study", "create", "notes.csv"),
    ("study", "create", "study.toml", "--address", "foo"),
    ("study", "create", "study.toml", "--name", "x"),
    ("study", "create", "study.toml", "--from", "x"),
    ("study", "show", "--home", "cate"),
    ("study", "show", "nosuch", "--home", "cate"),
    ("study", "cancel", "--home", "cate"),
    ("study", "close", "--home", "cate"),
    ("study", "invite", "north", "--home", "cate"),
    ("study", "invite", "nosuch", "--study", "urgency", "--home", "cate"),
    ("study", "show"),
    ("study", "cancel"),
    ("study", "close"),
    ("study", "invite", "north"),
    ("demo", "--folder", "sent"),
]


def test_every_hint_of_a_mistake_can_be_typed(
    tmp_path: Path, coordinator_home: Path, study: Path
) -> None:
    Path("notes.csv").write_text("note,dx\nshe fell,flu\n", encoding="utf-8")
    call("study", "create", study, "--home", coordinator_home)  # two studies: which one is meant?
    hinted = 0
    for words in SITUATIONS:
        with pytest.raises(SottovoceError) as caught:
            call(*words)
        for hint in caught.value.hints:
            commands = commands_in(hint)
            for command in commands:
                parsed(command)
            if not commands:
                named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", hint))
                assert named <= options_of(words), (words, hint)
            hinted += 1
    assert hinted > len(SITUATIONS) // 2
