"""Below the line: what import-linter cannot see, read from the source itself."""

import ast
from pathlib import Path

import pytest

import sottovoce

ROOT = Path(sottovoce.__file__).parent
PROJECT = Path(__file__).parents[1]
PURE = ["numbers", "wire", "paillier", "rados", "text", "protocols", "attacks", "study", "course"]
FORBIDDEN_CALLS = {"open", "print", "input", "breakpoint", "exec", "eval"}
# Seedable generators may be made from a caller's seed; the module's global one may not be used.
ALLOWED_OF_NUMPY_RANDOM = {"Generator", "default_rng", "PCG64", "SeedSequence", "RandomState"}


def offences(tree: ast.AST) -> list[str]:
    collected = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in FORBIDDEN_CALLS:
                collected.append(f"line {node.lineno}: {node.func.id}()")
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and isinstance(node.value.value, ast.Name)
            and (node.value.value.id, node.value.attr) == ("np", "random")
            and node.attr not in ALLOWED_OF_NUMPY_RANDOM
        ):
            collected.append(f"line {node.lineno}: np.random.{node.attr}")
    return collected


@pytest.mark.parametrize("layer", PURE)
def test_pure_layers_do_no_io_and_own_no_generator(layer: str) -> None:
    by_name = {
        str(path.relative_to(ROOT)): bad
        for path in sorted((ROOT / layer).rglob("*.py"))
        if (bad := offences(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not by_name


def test_the_scan_sees_what_it_forbids() -> None:
    code = "import numpy as np\nopen('x')\nnp.random.rand(3)\nnp.random.default_rng(1)\n"
    assert offences(ast.parse(code)) == ["line 2: open()", "line 3: np.random.rand"]


# Names that say nothing of what they hold.
EMPTY_NAMES = {"one", "found", "told"}


def empty_names(tree: ast.AST) -> list[str]:
    collected = []
    for node in ast.walk(tree):
        match node:
            case (
                ast.Name(id=name, ctx=ast.Store())
                | ast.Attribute(attr=name, ctx=ast.Store())
                | ast.arg(arg=name)
                | ast.ExceptHandler(name=name)
                | ast.MatchAs(name=name)
                | ast.FunctionDef(name=name)
            ) if name in EMPTY_NAMES:
                collected.append(f"line {node.lineno}: {name}")
    return collected


def test_names_say_what_they_hold() -> None:
    code = "def told(one):\n    self.found = [found for found in one]\n    two = one\n"
    lines = ["line 1: told", "line 1: one", "line 2: found", "line 2: found"]
    assert sorted(empty_names(ast.parse(code))) == sorted(lines)
    by_name = {
        str(path.relative_to(PROJECT)): bad
        for folder in ("src", "tests", "benchmarks", "docs")
        for path in sorted((PROJECT / folder).rglob("*.py"))
        if (bad := empty_names(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not by_name


def test_modules_of_tests_stay_short() -> None:
    long = {
        str(path.relative_to(PROJECT)): lines
        for path in sorted((PROJECT / "tests").rglob("*.py"))
        if (lines := path.read_text(encoding="utf-8").count("\n")) > 500
    }
    assert not long


def test_modules_stay_short_and_say_what_they_are() -> None:
    long, nameless, silent = [], [], []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        name = str(path.relative_to(ROOT))
        if source.count("\n") > 500:
            long.append(name)
        if path.stem in {"utils", "util", "helpers", "helper", "common", "misc", "manager"}:
            nameless.append(name)
        if not ast.get_docstring(ast.parse(source)):
            silent.append(name)
    assert not long
    assert not nameless
    assert not silent


def test_architecture_names_every_package() -> None:
    text = (ROOT.parent.parent / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    assert packages
    assert [name for name in packages if f"**`{name}`**" not in text] == []
