"""The plan of the rooms: one name for one class, no flat folder, no cycle of imports."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.size import (
    MOST_MODULES,
    import_cycles,
    imports_of,
    line_kinds,
    modules_by_folder,
    owners,
)

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", ROOT / "benchmarks")
SMALL = 40


def python_files() -> Iterator[Path]:
    for folder in SOURCES:
        yield from sorted(folder.rglob("*.py"))


def test_no_two_classes_share_a_name() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in python_files()}
    files = owners(sources)
    assert len(files) > 500
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_the_scan_sees_a_name_with_two_owners() -> None:
    assert owners({"a.py": "class A: ...", "b.py": "class A: ...\nclass B: ..."}) == {
        "A": ["a.py", "b.py"],
        "B": ["b.py"],
    }


def test_no_folder_is_flat() -> None:
    modules = modules_by_folder(python_files())
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


def test_no_folder_of_tests_is_flat() -> None:
    modules = modules_by_folder((ROOT / "tests").rglob("*.py"))
    assert {folder.name: count for folder, count in modules.items() if count > 40} == {}


def small_functions_of_one(sources: Mapping[str, str]) -> list[str]:
    """Modules of one function that one other imports when it is loaded itself, and nobody else."""
    importers: dict[str, list[str]] = {name: [] for name in sources}
    for path, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ImportFrom) and node.module in sources:
                importers[node.module].append(path)
    small = []
    for name, source in sources.items():
        kinds = [type(node) for node in ast.parse(source).body]
        functions = kinds.count(ast.FunctionDef) + kinds.count(ast.AsyncFunctionDef)
        if functions == 1 and ast.ClassDef not in kinds and source.count("\n") <= SMALL:
            small += [name] * (len(importers[name]) == 1)
    return small


def test_no_module_is_one_small_function_for_one_other() -> None:
    package = ROOT / "src"
    sources = {
        ".".join(path.relative_to(package).with_suffix("").parts): path.read_text("utf-8")
        for path in package.rglob("*.py")
    }
    assert small_functions_of_one(sources) == []


def test_the_scan_sees_a_small_function_of_one() -> None:
    one_function = "def f(): ...\n"
    sources = {"a": one_function, "b": "from a import f\n", "c": one_function}
    assert small_functions_of_one(sources) == ["a"]
    assert small_functions_of_one({**sources, "b": "def g():\n    from a import f\n"}) == []


def test_a_module_passes_no_names_of_others_on() -> None:
    """Only a package may: everything else is imported from where it is defined."""
    passing = [path for path in python_files() if "\n__all__" in path.read_text("utf-8")]
    assert len(passing) > 10
    assert [str(path) for path in passing if path.name != "__init__.py"] == []


def test_an_option_of_one_meaning_is_spelled_once() -> None:
    helps: Counter[str] = Counter()
    for path in (ROOT / "src/sottovoce/cli").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Attribute(attr="Option" | "Argument"), keywords=keywords):
                    texts = [keyword.value for keyword in keywords if keyword.arg == "help"]
                    helps.update(ast.unparse(text) for text in texts)
    assert len(helps) > 100
    assert [words for words, count in helps.items() if count > 1] == []


def test_no_imports_go_in_a_cycle() -> None:
    imported = imports_of("sottovoce")
    assert len(imported) > 300
    assert import_cycles(imported) == []


def test_the_scan_sees_a_cycle() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert import_cycles(graph) == [{"b", "c"}]


def test_every_line_counts_once() -> None:
    text = '"""Says what.\n\nAnd why.\n"""\n\n'
    source = f'{text}import os  # why\n\n# A comment.\nX = os.sep\n"""Its use."""\n'
    kinds = line_kinds(source)
    assert kinds == {"docstrings": 5, "imports": 1, "comments": 1, "code": 1, "blank": 2}
    assert kinds.total() == len(source.splitlines())
