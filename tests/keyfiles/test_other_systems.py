"""Where there is no Unix the package imports, studies in memory run, and the rest says why not."""

import subprocess
import sys
from pathlib import Path

import pytest

# As Windows has it: no such modules, no such functions, no such flags.
WITHOUT = """
import os, signal, sys
import asyncio, subprocess, tempfile  # which have imported what they need of Unix before
for name in ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"):
    sys.modules[name] = None
for name in (
    "fchmod", "fork", "getegid", "geteuid", "getgid", "getuid", "killpg", "sched_getaffinity",
    "setsid", "umask", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
):
    delattr(os, name)
for name in ("SIGHUP", "SIGKILL", "SIGUSR1"):
    delattr(signal, name)
"""


def run(source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + source],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


# By default the study below imports what it needs.
@pytest.mark.soak
def test_every_module_imports(tmp_path: Path) -> None:
    done = run(
        "import pkgutil, sottovoce\n"
        "for module in pkgutil.walk_packages(sottovoce.__path__, 'sottovoce.'):\n"
        "    if not module.name.endswith('__main__'):\n"
        "        __import__(module.name)\n"
        "print('all')\n",
        tmp_path,
    )
    assert done.stdout == "all\n", done.stderr


def test_a_study_in_memory_runs_and_a_home_is_refused_by_name(tmp_path: Path) -> None:
    done = run(
        "from sottovoce import LocalFederation, TextClassifier\n"
        "from sottovoce.datasets import clinical_notes\n"
        "from sottovoce.study import InsecureToyPlan\n"
        "TextClassifier._plan_type = InsecureToyPlan\n"
        "notes = clinical_notes(90, sites=['a', 'b', 'c'])\n"
        "parts = {site: notes.at(site).documents('urgency') for site in notes.sites}\n"
        "model = TextClassifier(features=8, key_bits=768).fit(LocalFederation(parts))\n"
        "print(len(model.predict(['Routine review.'], peer='a')))\n"
        "from sottovoce.cli.program import app, run\n"
        "sys.argv = ['sottovoce', 'data', 'inspect', 'x.csv', '--text', 'text']\n"
        "open('x.csv', 'w').write('text\\nfever\\n')\n"
        "print(run(app, name='sottovoce'))\n"
        "sys.argv = ['sottovoce', 'status', '--home', 'home']\n"
        "print(run(app, name='sottovoce'))\n",
        tmp_path,
    )
    lines = done.stdout.splitlines()
    assert lines[0] == "1", done.stderr
    assert lines[-2:][1] == "1", done.stderr
    assert "0" in lines
    assert "a site's folder: expected a Unix system" in done.stderr
    assert "WSL" in done.stderr
