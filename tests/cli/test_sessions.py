"""Sessions as text: what is typed after `$`, and what the terminal then shows, at 80 columns.

`[exit 1]` stands below a command that fails. A line that does not call sottovoce goes to the shell.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sottovoce import cli

SESSIONS = sorted((Path(__file__).parent / "sessions").glob("*.txt"))


def commands(session: str) -> list[str]:
    return [line.removeprefix("$ ") for line in session.splitlines() if line.startswith("$ ")]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_the_terminal_shows_what_the_session_says(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("SOTTOVOCE_DATA", raising=False)
    session = path.read_text(encoding="utf-8")
    shown = []
    for command in commands(session):
        shown.append(f"$ {command}")
        words = shlex.split(command)
        if words[0] != "sottovoce":
            subprocess.run(["/bin/sh", "-c", command], check=True, timeout=300)
            continue
        monkeypatch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        shown += [line.rstrip() for line in (printed.out + printed.err).splitlines()]
        if end.value.code:
            shown.append(f"[exit {end.value.code}]")
    assert "\n".join(shown) + "\n" == session


def test_there_are_sessions() -> None:
    assert len(SESSIONS) >= 2
    assert all(commands(path.read_text(encoding="utf-8")) for path in SESSIONS)
