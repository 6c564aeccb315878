"""What is released: built twice it is the same, it is whole, and its licences are known."""

import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import sottovoce

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RELEASED = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "src")
ALLOWED = re.compile(
    r"(3-Clause )?BSD.*|0BSD|MIT.*|Apache.*|ISC.*|PSF-2\.0|Python Software Foundation License"
    r"|Zlib|CC0-1\.0|MPL-2\.0|LGPL-3\.0-(only|or-later)"
)
"""Ours is Apache-2.0. MPL and LGPL are of libraries that are loaded as they are, never changed."""
MOVES = {"cryptography"}
"""Its fixes must reach every site, and its major versions come every few weeks: no upper bound."""


@pytest.fixture(scope="module")
def sbom() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_sbom", ROOT / "deploy" / "make_sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(folder: Path) -> dict[str, Path]:
    """Wheel and sdist, from a copy of the sources in this folder."""
    source = folder / "source"
    source.mkdir(parents=True)
    for name in RELEASED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-t", "sdist"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", "PYTHONHASHSEED": folder.name}
    subprocess.run(
        [*words, "-d", str(folder / "dist")],
        cwd=source,
        env=environment,
        check=True,
        capture_output=True,
    )
    return {path.suffix: path for path in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    pytest.importorskip("hatchling")
    return build(tmp_path_factory.mktemp("build") / "1")


def test_built_twice_it_is_the_same_to_the_byte(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path / "2")
    assert set(built) == set(again) == {".whl", ".gz"}
    for kind, path in built.items():
        first, second = (hashlib.sha256(file.read_bytes()) for file in (path, again[kind]))
        assert first.hexdigest() == second.hexdigest(), path.name


def test_the_wheel_holds_every_file_of_the_package_and_its_types(built: dict[str, Path]) -> None:
    package = ROOT / "src" / "sottovoce"
    files = (path for path in package.rglob("*") if path.is_file())
    expected = {
        path.relative_to(ROOT / "src").as_posix()
        for path in files
        if "__pycache__" not in path.parts
    }
    names = set(zipfile.ZipFile(built[".whl"]).namelist())
    assert {name for name in names if not name.startswith("sottovoce-")} == expected
    assert "sottovoce/py.typed" in names
    assert built[".whl"].name == f"sottovoce-{sottovoce.__version__}-py3-none-any.whl"


def test_the_wheel_alone_is_a_command(built: dict[str, Path], tmp_path: Path) -> None:
    """Its dependencies are those of this environment; an empty one is in the soak tests."""
    with zipfile.ZipFile(built[".whl"]) as wheel:
        wheel.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "--version"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"sottovoce {sottovoce.__version__}\n"


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_an_empty_environment_needs_the_wheel_and_an_index(
    built: dict[str, Path], version: str, tmp_path: Path
) -> None:
    python = shutil.which(f"python{version}")
    asked = [python or "", "-c", "import sys; print(sys.version_info[:2])"]
    if python is None or subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip(f"python{version} is not installed")
    subprocess.run([python, "-m", "venv", str(tmp_path / "venv")], check=True)
    binaries = tmp_path / "venv" / "bin"
    subprocess.run([binaries / "pip", "install", "--quiet", str(built[".whl"])], check=True)
    subprocess.run([binaries / "pip", "check"], check=True)
    printed = subprocess.run(
        [binaries / "sottovoce", "demo", "--help"], capture_output=True, text=True, check=True
    )
    assert "sottovoce demo" in printed.stdout
    fit = (
        "from sottovoce import LocalFederation, TextClassifier\n"
        "words = [('fever and cough', 'ill'), ('all is well', 'well')] * 20\n"
        "texts, labels = zip(*words)\n"
        "sites = {name: (texts, labels) for name in ('alice', 'bob', 'carol')}\n"
        "model = TextClassifier(features=16).fit(LocalFederation(sites))\n"
        "print(*model.predict(['a fever']))\n"
    )
    done = subprocess.run(
        [binaries / "python", "-c", fit], capture_output=True, text=True, check=True
    )
    assert done.stdout == "ill\n"


def test_every_dependency_is_bounded() -> None:
    for line in PROJECT["dependencies"]:
        assert ">=" in line, line
        assert "<" in line or re.match(r"[a-z0-9-]+", line)[0] in MOVES, line


def test_the_pythons_that_are_named_are_those_that_are_allowed() -> None:
    named = {line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if ":: 3." in line}
    assert named == {"3.11", "3.12", "3.13"}
    assert PROJECT["requires-python"] == ">=3.11"


def test_every_licence_is_one_that_we_may_ship_beside_ours(sbom: ModuleType) -> None:
    for name, distribution in sbom.components().items():
        licence = sbom.licence_of(distribution)
        parts = re.split(r" AND | OR ", licence)
        unknown = [part for part in parts if not ALLOWED.fullmatch(part)]
        # Where a package offers a choice, one that suits is enough.
        assert not unknown or (" OR " in licence and len(unknown) < len(parts)), (name, licence)


def test_the_bill_of_materials_has_what_every_extra_of_the_product_brings(
    sbom: ModuleType,
) -> None:
    not_the_product = {"bench", "corpora", "dev", "docs"}
    assert set(sbom.EXTRAS) == set(PROJECT["optional-dependencies"]) - not_the_product
    # One that is an extra of an extra: `psycopg[binary]`.
    assert {"psycopg", "psycopg-binary", "fsspec"} <= set(sbom.components())


def test_the_bill_of_materials_is_whole(sbom: ModuleType) -> None:
    bill = sbom.bill()
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    root = bill["metadata"]["component"]
    assert (root["name"], root["version"]) == ("sottovoce", sottovoce.__version__)
    names = {part["name"] for part in bill["components"]}
    assert {re.match(r"[a-z0-9-]+", line)[0] for line in PROJECT["dependencies"]} <= names
    refs = {part["bom-ref"] for part in (root, *bill["components"])}
    assert {link["ref"] for link in bill["dependencies"]} == refs
    assert {reference for link in bill["dependencies"] for reference in link["dependsOn"]} <= refs
    assert json.dumps(bill) == json.dumps(sbom.bill())
