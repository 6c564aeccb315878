"""The plan of the rooms: one name for one class, no flat folder, no circle of imports."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
SOURCES = (ROOT / "src", ROOT / "benchmarks")
MOST_MODULES = 24


def python_files() -> Iterator[Path]:
    for folder in SOURCES:
        yield from sorted(folder.rglob("*.py"))


def class_names(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            yield node.name


def owners(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The files in which each class name is defined, once for each definition."""
    files = defaultdict(list)
    for path, source in sources.items():
        for name in class_names(source):
            files[name].append(path)
    return dict(files)


def circles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach each other (Tarjan), without the trivial ones."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups: list[set[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        stack.append(module)
        for imported in graph.get(module, set()):
            if imported not in order:
                visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in stack:
                lowest[module] = min(lowest[module], order[imported])
        if lowest[module] == order[module]:
            place = stack.index(module)
            group = set(stack[place:])
            del stack[place:]
            if len(group) > 1:
                groups.append(group)

    for module in graph:
        if module not in order:
            visit(module)
    return groups


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
    modules: dict[str, int] = defaultdict(int)
    for path in python_files():
        modules[str(path.parent.relative_to(ROOT))] += path.name != "__init__.py"
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


def test_no_imports_go_in_a_circle() -> None:
    graph = grimp.build_graph("sottovoce", cache_dir=None)
    imported = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(imported) > 300
    assert circles(imported) == []


def test_the_scan_sees_a_circle() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()}
    assert circles(graph) == [{"b", "c"}]
