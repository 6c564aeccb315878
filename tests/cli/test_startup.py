"""Short commands load what they need and nothing heavy; which, not how fast, is tested."""

import json
import pkgutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest

import sottovoce
from sottovoce.node.invitations import Invitation

HEAVY = {"aiohttp", "asyncio", "gmpy2", "numpy", "rich", "scipy", "sklearn", "joblib", "pandas"}
LAZY = ("cli", "ledger", "paillier", "rados", "study", "wire")
SAY = """
import json, os, sys
from sottovoce.cli import program
from sottovoce.cli.terminal import screen
first = screen.say
def say(*words, **style):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
    sys.stderr.flush()
    os._exit(0)
if sys.argv[1] == "join":
    screen.say = say
code = program.run(program.program_of(program.named(sys.argv[1:])), name="sottovoce")
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def loaded(*words: str, folder: Path) -> set[str]:
    """The packages that a command loaded until it ended; `join`, until it said its first words."""
    done = subprocess.run(
        [sys.executable, "-c", SAY, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    modules = json.loads(done.stderr.splitlines()[-1])
    return {module.partition(".")[0] for module in modules}


def invitation(address: str = "https://127.0.0.1:9") -> str:
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    seats = ("north",)
    return Invitation(
        address, bytes(32), "s-1", "A study", "North", seats, bytes(32), tomorrow
    ).line


def test_help_loads_nothing_heavy(tmp_path: Path) -> None:
    assert not loaded("--help", folder=tmp_path) & HEAVY


def test_the_first_words_of_join_and_status_come_before_anything_heavy(tmp_path: Path) -> None:
    assert not loaded("join", invitation(), "--home", "site", folder=tmp_path) & HEAVY
    assert not loaded("status", "--home", "site", folder=tmp_path) & {*HEAVY, "msgspec"}
    assert not loaded("status", "--home", "site", "--json", folder=tmp_path) & HEAVY


def test_status_of_a_coordinator_loads_nothing_heavy(tmp_path: Path) -> None:
    for words in ("study create --example > study.toml", "study create study.toml --home cate"):
        command = f"{sys.executable} -m sottovoce {words}"
        subprocess.run(command, shell=True, cwd=tmp_path, check=True, capture_output=True)  # noqa: S602 - our words
    assert not loaded("status", "--home", "cate", folder=tmp_path) & HEAVY


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_package_gives_every_name_that_it_lists(name: str) -> None:
    package = import_module(f"sottovoce.{name}")
    assert sorted(package.__all__) == sorted(dir(package))
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)}
    # A module of the same name would stand in the name's place once it is loaded.
    assert not modules & set(package.__all__)
    for listed in package.__all__:
        assert getattr(package, listed)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing


def test_the_version_stands_in_one_place() -> None:
    text = Path(sottovoce.__file__).read_text(encoding="utf-8")
    assert f'__version__ = "{sottovoce.__version__}"' in text
    project = Path(sottovoce.__file__).parents[2] / "pyproject.toml"
    assert sottovoce.__version__ not in project.read_text(encoding="utf-8")


def test_asking_for_labels_loads_no_linear_algebra() -> None:
    asking = "import sottovoce.node.site.asking, sottovoce.cli.answers.large_questions, sys"
    words = [sys.executable, "-c", f"{asking}; print('scipy.linalg' in sys.modules)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
