"""Plays a newcomer and says how long each first result takes: python -m benchmarks.newcomer.

Three ways in: from a clone to the demo's report in a browser, from one's own CSV files to a joint
model in a notebook, and three machines (as terminals on this one).
"""

import ast
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NOTEBOOK = ROOT / "docs" / "notebooks" / "own_csv_and_encoder.py"
TERMINALS = "tests/test_readme_terminals.py"


@contextmanager
def timed(what: str, limit: str) -> Iterator[None]:
    """Say how long something took, beside what was promised."""
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.0f} s ({limit})", flush=True)  # noqa: T201


def run(*words: str | Path, folder: Path) -> str:
    """Run a command to its end; what it printed."""
    done = subprocess.run(  # noqa: S603 - our own commands
        [str(word) for word in words], cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr}"
        )
    return done.stdout


def from_clone(folder: Path) -> None:
    """Clone, `make demo`, and the report in a browser."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    with timed("clone, demo and its report in a browser", "at most 180 s"):
        run("git", "clone", "--quiet", ROOT, folder / "clone", folder=folder)
        run("make", "demo", folder=folder / "clone")
        report = folder / "clone" / "sottovoce-demo.html"
        if browser is None:
            print("no browser on this machine: the report was not opened")  # noqa: T201
            return
        words = (browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom")
        if "How good the model is" not in run(*words, report.as_uri(), folder=folder):
            raise SystemExit("the report does not say how good the model is")


def from_csv(folder: Path) -> None:
    """The notebook's cells up to the first joint model; how many statements that takes."""
    cells = NOTEBOOK.read_text(encoding="utf-8").split("# %%")
    first, own = [cell for cell in cells if cell.startswith("\n") and cell.strip()][:2]
    imports = (ast.Import, ast.ImportFrom)
    statements = [node for node in ast.parse(own).body if not isinstance(node, imports)]
    with timed(f"own CSV to a joint model, {len(statements)} statements", "at most 5"):
        run(sys.executable, "-c", first + own, folder=folder)


def from_terminals(_: Path) -> None:
    """Three terminals, as the README has them."""
    with timed("three machines", "at most 600 s"):
        run(sys.executable, "-m", "pytest", "-q", "-n", "0", TERMINALS, folder=ROOT)


def main() -> None:
    """Every way in."""
    ways: tuple[Callable[[Path], None], ...] = (from_csv, from_terminals, from_clone)
    for way in ways:
        with tempfile.TemporaryDirectory() as folder:
            way(Path(folder))


if __name__ == "__main__":
    main()
