"""The documentation as a site: every page has its place, links lead somewhere, commands run."""

import asyncio
import importlib
import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import typer

from harness.commands import call
from harness.network import QuickPlan
from harness.processes.homes import Homes, homes
from sottovoce.cli.program import app
from sottovoce.config.study_file import parse_study

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TYPED = [page for page in PAGES if "```console" in page.read_text(encoding="utf-8")]
MADE = {"reference/command-help.md", "reference/settings.md", "reference/python.md"}
BESIDE = {"SECURITY.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"}


def named(page: Path) -> str:
    return str(page.relative_to(DOCS))


def test_every_page_has_its_place_in_the_site() -> None:
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    placed = re.findall(r": (\S+\.md)$", config, re.MULTILINE)
    assert sorted(placed) == sorted({named(page) for page in PAGES} | MADE | BESIDE)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {"-".join(re.sub(r"[^\w\s-]", "", title.lower()).split()) for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
        file = (page.parent / target) if target else page
        if MADE & {named(page), target}:
            continue
        assert file.exists(), f"{named(page)} links to {target}"
        if anchor:
            assert anchor in anchors(file), f"{named(page)} links to {target}#{anchor}"


def made(name: str) -> dict[Path, object]:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(vars(module)["PAGES"])


def test_the_reference_has_every_command_setting_and_class() -> None:
    pages = {str(place): make() for place, make in made("make_reference").items()}  # type: ignore[operator]
    assert set(pages) == MADE
    assert "## sottovoce ledger verify" in pages["reference/command-help.md"]
    assert "query_budget" in pages["reference/settings.md"]
    python = pages["reference/python.md"]
    for name in ("TextClassifier", "LocalFederation.of_frame", "Evaluation.f1"):
        assert re.search(rf"^##+ {name}$", python, re.MULTILINE), name
    # Types are shown as people write them.
    assert not re.search(r"typing\.|collections\.abc|numpy\.|<factory>|\(self\b", python)
    assert max(map(len, re.findall(r"^    .*,$", python, re.MULTILINE))) <= 110


@contextmanager
def toy_plans() -> Iterator[pytest.MonkeyPatch]:
    """Studies are read with keys that were drawn before, and are small."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(parse_study.__kwdefaults__, "plan_type", QuickPlan)
        yield patch


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Homes:
    """A study between three homes that was trained and evaluated."""
    with toy_plans() as patch:
        net = homes(tmp_path_factory.mktemp("homes"), patch, features="8", stage="5 minutes")

        async def story() -> None:
            async with net.serving():
                await net.join_all("north", "harbour", "valley")
                async with net.staying("north", "harbour"):
                    sites = ("north", "harbour", "valley")
                    await asyncio.gather(*(net.evaluate(site) for site in sites))

        asyncio.run(asyncio.wait_for(story(), 500))
    return net


def typed(page: Path) -> Iterator[tuple[str, str]]:
    """Who types what: the words after `console`, and each line."""
    text = page.read_text(encoding="utf-8")
    for who, block in re.findall(r"```console ?([^\n]*)\n(.*?)```", text, re.DOTALL):
        for line in block.splitlines():
            assert line.startswith("$ "), line
            yield who, line[2:]


@pytest.mark.parametrize("page", TYPED, ids=named)
def test_every_command_was_run(
    page: Path, finished: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"at a site": "valley-practice", "at the coordinator": "institute"}
    for who, line in typed(page):
        if who.startswith("terminal "):
            continue  # tests/test_readme_terminals.py types these
        command, _, into = line.partition(" > ")
        words = shlex.split(command)
        assigned = [word for word in words if re.match(r"[A-Z_]+=", word)]
        given = dict(word.split("=", 1) for word in assigned)
        home = finished.root / places[who] if who else tmp_path / "home"
        if "storage.key" in words:
            shutil.copy(home / "storage.key", tmp_path)  # its copy is kept apart
        with toy_plans() if who else nullcontext():
            output = call(*words[len(assigned) + 1 :], SOTTOVOCE_HOME=str(home), **given)
        assert words[len(assigned)] == "sottovoce"
        if into:
            Path(into).write_text(output, encoding="utf-8")


def test_every_command_that_a_sentence_names_exists() -> None:
    """Inline commands, of which a reader types a part: their words and options are real ones."""
    program: Any = typer.main.get_command(app)
    named = {
        command
        for page in (*PAGES, ROOT / "README.md", ROOT / "SECURITY.md")
        for command in re.findall(r"`sottovoce\s([^`]+)`", page.read_text(encoding="utf-8"))
    }
    assert len(named) > 40
    for command in named:
        words, known = command.split(), program
        while words and hasattr(known, "commands") and not words[0].startswith("-"):
            assert words[0] in known.commands, command
            known = known.commands[words.pop(0)]
        options = {name for param in known.params for name in (*param.opts, *param.secondary_opts)}
        asked = {word.split("=")[0] for word in words if word.startswith("--")}
        assert asked <= options | {"--help", "--install-completion", "--show-completion"}, command


@pytest.mark.parametrize("page", [pytest.param("first-study", marks=pytest.mark.soak), "table"])
def test_the_python_of_the_tutorials_works(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if page == "first-study":
        call("notes", "--sites", "3", "--documents", "120", "--out", "site-notes")
    text = (DOCS / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    scope: dict[str, object] = {"__name__": page}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, scope)  # noqa: S102 - our own page, so that it cannot lie


def test_the_policy_of_the_page_is_a_policy(tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "policy.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "sottovoce.toml").write_text(text, encoding="utf-8")
    assert "no study here" in call("study", "list", "--home", home)


def test_every_block_of_a_page_is_one_in_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever types a block is its title there; other words would make it running text."""
    monkeypatch.syspath_prepend(str(DOCS))
    laid_out = importlib.import_module("make_site").laid_out
    titles = []
    for page in (*PAGES, *(ROOT / name for name in BESIDE)):
        for fence in re.findall(
            r"^```(.+)$", laid_out(page.read_text("utf-8"), page), re.MULTILINE
        ):
            assert re.fullmatch(r'\w+( title="[\w ]+")?', fence), f"{page.name}: {fence}"
            titles += re.findall('"(.+)"', fence)
    assert {"terminal 1", "at a site"} <= set(titles)


def test_the_site_is_built(tmp_path: Path) -> None:
    """Where mkdocs is installed (`make docs` installs it), with links and anchors checked."""
    pytest.importorskip("material", reason="make docs installs mkdocs-material")

    for command in (["docs/make_site.py"], ["-m", "mkdocs", "build", "--strict", "--quiet"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    site = ROOT / "build/site"
    assert "TextClassifier" in (site / "reference/python.html").read_text("utf-8")
    assert not [page for page in site.rglob("*.html") if "```" in page.read_text("utf-8")]


def test_an_exported_ledger_is_held_against_another_sites(finished: Homes, tmp_path: Path) -> None:
    theirs = tmp_path / "harbour.jsonl"
    harbour, valley = (finished.root / name for name in ("harbour-clinic", "valley-practice"))
    with toy_plans():
        call("ledger", "export", "--out", theirs, "--seat", "harbour", "--home", harbour)
        output = call("ledger", "verify", "--beside", theirs, "--home", valley)
    assert str(theirs.name) in output.replace("\n", "")
