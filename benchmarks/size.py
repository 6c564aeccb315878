"""Counts the package's files and lines, and checks its plan: python -m benchmarks.size [REVISION].

Prints files, lines by kind, the fullest folder, import cycles, class names with two owners, and the
lines of every room; with a REVISION also the share of them that was written since.
`benchmarks.visited` counts the modules that one command visits.
"""

import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

import sottovoce

PACKAGE = Path(sottovoce.__file__).parent
MOST_MODULES = 22
# Shorter lines, such as brackets and blank ones, stand in every tree.
SHORT = 25
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
    """The groups of modules that import each other, without single modules."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    place = {module: at for at, module in enumerate(graph)}
    pairs = [(place[importer], place[other]) for importer in graph for other in graph[importer]]
    starts, ends = zip(*pairs, strict=True)
    edges = coo_array((np.ones(len(pairs)), (starts, ends)), shape=(len(graph), len(graph)))
    _, group_of = connected_components(edges, connection="strong")
    groups: defaultdict[int, set[str]] = defaultdict(set)
    for module, at in place.items():
        groups[group_of[at]].add(module)
    return [group for group in groups.values() if len(group) > 1]


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


def rooms(package: Path, earlier: str) -> Iterator[tuple[str, int, float]]:
    """Every folder with its lines, and the share of its longer lines that an earlier tree lacks."""
    stood = {line.strip() for line in earlier.splitlines()}
    for folder in sorted({path.parent for path in package.rglob("*.py")}):
        lines = [line for path in folder.glob("*.py") for line in path.read_text().splitlines()]
        telling = [line.strip() for line in lines if len(line.strip()) > SHORT]
        since = sum(line not in stood for line in telling) / max(1, len(telling))
        yield str(folder.relative_to(package.parent)), len(lines), since


def earlier_text(revision: str) -> str:
    """The package's modules in a revision of this repository, one after the other."""
    root = PACKAGE.parents[1]
    archive = ("git", "archive", revision, "src/sottovoce")
    packed = subprocess.run(archive, cwd=root, capture_output=True, check=True).stdout  # noqa: S603
    with tarfile.open(fileobj=io.BytesIO(packed)) as files:
        modules = (files.extractfile(member) for member in files if member.name.endswith(".py"))
        return "\n".join(module.read().decode() for module in modules if module is not None)


if __name__ == "__main__":
    for name, figure in report(PACKAGE).items():
        sys.stdout.write(f"{name:32} {figure:>7,}\n")
    text = earlier_text(sys.argv[1]) if sys.argv[1:] else ""
    for room, count, since in rooms(PACKAGE, text):
        sys.stdout.write(f"{room:32} {count:>7,}" + (f" {since:>7.0%}" if text else "") + "\n")
