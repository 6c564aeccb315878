"""The command itself: version, help, and how a mistake looks."""

import subprocess
import sys

import pytest

import sottovoce
from sottovoce import cli
from sottovoce.errors import InputError


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sottovoce", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"sottovoce {sottovoce.__version__}\n")


def test_no_words_show_the_help() -> None:
    done = run()
    assert "Usage" in done.stdout + done.stderr
    assert "bench" in done.stdout + done.stderr


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
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "[]\n"


def test_a_mistake_is_one_line_and_hints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise InputError("column 'txet' is not in notes.csv", hints=("try --text text",))

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == (
        "error: column 'txet' is not in notes.csv\nhint: try --text text\n"
    )
