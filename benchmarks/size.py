"""Counts the package's files and lines, and checks its plan: python -m benchmarks.size.

Prints files, lines by kind, the fullest folder, import cycles, and class names with two owners.
`benchmarks.visited` counts the modules that one command visits.
"""

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import sottovoce

PACKAGE = Path(sottovoce.__file__).parent
MOST_MODULES = 24
KINDS = ("code", "docstrings", "imports", "comments", "blank")


def line_kinds(source: str) -> Counter[str]:
    """The number of lines of each kind; every line counts once."""
    tree = ast.parse(source)
    docstrings = _lines_of(_docstrings(tree))
    imports = _lines_of(
        node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
    )
    kinds: Counter[str] = Counter()
    for number, line in enumerate(source.splitlines(), start=1):
        if number in docstrings:
            kinds["docstrings"] += 1
        elif number in imports:
            kinds["imports"] += 1
        elif not line.strip():
            kinds["blank"] += 1
        elif line.lstrip().startswith("#"):
            kinds["comments"] += 1
        else:
            kinds["code"] += 1
    return kinds


def _docstrings(tree: ast.AST) -> Iterator[ast.stmt]:
    """Docstrings, and the texts that explain a constant."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(ast.Constant(str())):
                yield node


def _lines_of(nodes: Iterable[ast.stmt]) -> set[int]:
    return {
        line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def owners(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The files in which each class name is defined, once for each definition."""
    files = defaultdict(list)
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                files[node.name].append(path)
    return dict(files)


def import_cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that import each other (Tarjan), without single modules."""
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


def imports_of(package: str) -> dict[str, set[str]]:
    """Which modules every module of an installed package imports."""
    import grimp

    graph = grimp.build_graph(package, cache_dir=None)
    return {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}


def modules_by_folder(paths: Iterable[Path]) -> Counter[Path]:
    """The number of modules in each folder, `__init__` left out."""
    return Counter(path.parent for path in paths if path.name != "__init__.py")


def report(package: Path) -> dict[str, int]:
    """Every figure, by name."""
    sources = {str(path): path.read_text("utf-8") for path in sorted(package.rglob("*.py"))}
    kinds = sum((line_kinds(source) for source in sources.values()), Counter[str]())
    folders = modules_by_folder(map(Path, sources))
    shared = [name for name, files in owners(sources).items() if len(files) > 1]
    return {
        "files": len(sources),
        "lines": sum(kinds.values()),
        **{kind: kinds[kind] for kind in KINDS},
        "modules in the fullest folder": max(folders.values()),
        f"folders with more than {MOST_MODULES}": sum(
            count > MOST_MODULES for count in folders.values()
        ),
        "import cycles": len(import_cycles(imports_of(package.name))),
        "class names with two owners": len(shared),
    }


if __name__ == "__main__":
    for name, figure in report(PACKAGE).items():
        sys.stdout.write(f"{name:32} {figure:>7,}\n")
