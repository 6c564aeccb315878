"""The README was executed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def test_the_python_session_works(capsys: pytest.CaptureFixture[str]) -> None:
    (session,) = blocks("python")
    exec(session, {"__name__": "readme"})  # noqa: S102 - our own page, so that it cannot lie
    labels, accuracy = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\['(urgent|routine)' '(urgent|routine)'\]", labels)
    assert float(accuracy.rpartition(" ")[2]) > 0.7


def test_the_commands_work(tmp_path: Path) -> None:
    lines = [line[2:] for block in blocks("console") for line in block.splitlines()]
    commands = [shlex.split(line) for line in lines if line.startswith("sottovoce")]
    assert len(commands) == 2
    for command in commands:
        done = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"make (demo|test|soak|bench|setup|lint)\b", TEXT.replace("\n", " ")))
    assert {"demo", "test", "soak", "bench"} <= named
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in named)


@pytest.mark.parametrize(
    "page", ["README.md", "ARCHITECTURE.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (ROOT / target).exists(), f"{page} links to {target}"
