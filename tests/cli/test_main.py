"""The command itself: version, help, and how a mistake looks."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

import sottovoce
from sottovoce import cli
from sottovoce.cli import program
from sottovoce.errors import (
    AbsenceError,
    InputError,
    OpenPermissionsError,
    SottovoceError,
    StoppedError,
    WithdrawnError,
)


def run(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"sottovoce {sottovoce.__version__}\n")


def test_no_words_show_the_help() -> None:
    done = run()
    assert "Usage" in done.stdout + done.stderr
    assert "ledger" in done.stdout + done.stderr


def test_an_unknown_command_is_named() -> None:
    done = run("frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr


def test_help_loads_no_heavy_library() -> None:
    code = (
        "import sys; from sottovoce.cli import app; "
        "print(sorted({'sklearn', 'scipy', 'pandas', 'pyarrow'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout == "[]\n"


def test_a_mistake_is_one_line_and_hints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: str) -> None:
        raise InputError("column 'txet' is not in notes.csv", hints=("try --text text",))

    monkeypatch.setattr(program, "program_of", lambda _: fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "error: column 'txet' is not in notes.csv\nhint: try --text text\n"
    )


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (InputError("no such column", hints=("--text text",)), "input", 1),
        (OpenPermissionsError("open"), "open-permissions", 1),
        (AbsenceError("left", party="north"), "absence", 3),
        (StoppedError("over"), "stopped", 3),
        (WithdrawnError("no part"), "withdrawn", 4),
        (typer.BadParameter("no port"), "usage", 2),
        (OSError(28, "No space left on device", "out.csv"), "file", 1),
        (KeyboardInterrupt(), "interrupted", 130),
    ],
    ids=repr,
)
def test_scripts_get_an_error_as_one_object(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    kind: str,
    code: int,
) -> None:
    def fail(**_: str) -> None:
        raise error

    monkeypatch.setattr(program, "program_of", lambda _: fail)
    # The one that closes standard output must not close that of the tests.
    monkeypatch.setattr(program.os, "dup2", lambda *_: None)
    monkeypatch.setattr(program.sys, "stdout", io.TextIOWrapper(io.BytesIO()))
    monkeypatch.setattr(program.sys.stdout, "fileno", lambda: 1, raising=False)
    monkeypatch.setattr(sys, "argv", ["sottovoce", "status", "--json"])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    (line,) = capsys.readouterr().err.splitlines()
    parsed = json.loads(line)["error"]
    assert (parsed["kind"], parsed["exit_code"], stop.value.code) == (kind, code, code)
    assert set(parsed) == {"kind", "message", "hints", "party", "exit_code"}
    if isinstance(error, SottovoceError):
        assert parsed["hints"] == list(error.hints)
        assert parsed["message"] == str(error)


def test_json_in_the_environment_asks_for_json_errors(tmp_path: Path) -> None:
    done = run("status", "--home", str(tmp_path / "home"), SOTTOVOCE_STATUS_JSON="1")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(done.stderr)["error"]["kind"] == "input"


def test_a_wrong_option_is_one_line_and_a_hint() -> None:
    done = run("join", "--lable", "x")
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first.startswith("error: no such option: --lable")
    assert second == "hint: sottovoce join --help"


def test_a_terminal_without_these_characters_gets_question_marks() -> None:
    done = run("attack", "--on", "blocks", "--documents", "10", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "on blocks ? documents 10" in done.stdout


@pytest.mark.parametrize("words", [("--help",), ("notes", "--out", "notes", "--documents", "3")])
def test_a_full_disk_behind_the_output_is_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sottovoce", *words],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
            cwd=tmp_path,
        )
    assert done.returncode == 1
    assert done.stderr == "error: output: cannot be read or written (no space left on device)\n"


@pytest.mark.parametrize("end", [KeyboardInterrupt(), typer.Abort(), None], ids=repr)
def test_an_interrupt_is_one_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: BaseException | None
) -> None:
    def interrupted(**_: str) -> int:
        if end is not None:
            raise end
        return 130

    monkeypatch.setattr(program, "program_of", lambda _: interrupted)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert (stop.value.code, capsys.readouterr().err) == (130, "stopped\n")


def walk(command: object, *words: str) -> list[tuple[str, ...]]:
    """Every command and every group of commands, by the words that call it."""
    below = getattr(command, "commands", {})
    return [words, *(path for name in below for path in walk(below[name], *words, name))]


@pytest.mark.parametrize("words", walk(get_command(cli.app)), ids=" ".join)
def test_every_help_fits_and_every_command_has_an_example(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli.app, [*words, "--help"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert max(map(len, lines)) <= 80
    commands = lines[lines.index("Commands:") :] if "Commands:" in lines else []
    assert not any(line.endswith("...") for line in commands)
    assert commands or f" sottovoce {' '.join(words)}" in done.output.partition("Example")[2]
