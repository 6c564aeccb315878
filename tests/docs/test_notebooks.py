"""The notebooks hold what their sources say, have their output, and run again without an error."""

import ast
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from sottovoce.estimators.text_classifier import TextClassifier
from sottovoce.study import InsecureToyPlan

DOCS = Path(__file__).parents[2] / "docs"
SOURCES = sorted((DOCS / "notebooks").glob("*.py"))
spec = importlib.util.spec_from_file_location("make_notebooks", DOCS / "make_notebooks.py")
assert spec is not None
assert spec.loader is not None
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)


def test_there_are_three() -> None:
    assert [source.stem for source in SOURCES] == [
        "first_joint_model",
        "own_csv_and_encoder",
        "tokens_with_brat",
    ]


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_holds_its_source_with_output(source: Path) -> None:
    book = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    held = [(cell["cell_type"], "".join(cell["source"])) for cell in book["cells"]]
    assert held == made.cells(source.read_text(encoding="utf-8"))
    code = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    shown = [output for cell in code for output in cell["outputs"]]
    assert not any(output["output_type"] == "error" for output in shown)
    assert any(
        "<svg" in "".join(output.get("data", {}).get("text/html", ())) for output in shown
    ) or (source.stem != "first_joint_model")


def run_cell(source: str, scope: dict[str, Any]) -> Any:
    """Run a cell; what its last line is worth."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), scope)  # noqa: S102 - our own notebook
    if isinstance(last, ast.Expr):
        return eval(compile(ast.Expression(last.value), "cell", "eval"), scope)  # noqa: S307
    return None


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_a_notebook_runs(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small keys: what is computed, and what is shown, is the same.
    monkeypatch.setattr(TextClassifier, "_plan_type", InsecureToyPlan)
    monkeypatch.setitem(TextClassifier.__init__.__kwdefaults__, "key_bits", 768)
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": source.stem}
    for kind, text in made.cells(source.read_text(encoding="utf-8")):
        if kind == "code":
            shown = run_cell(text, scope)
            assert len(repr(shown)) < 3000


def test_the_picture_of_the_readme_is_the_notebooks() -> None:
    spec = importlib.util.spec_from_file_location("make_picture", DOCS / "make_picture.py")
    assert spec is not None
    assert spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    held = (DOCS / "demo.svg").read_text(encoding="utf-8")
    for name, share in picture.compared().items():
        assert f">{share}%<" in held, name
