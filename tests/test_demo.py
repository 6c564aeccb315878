"""The demo tells a true story, and leaves no secret where it does not belong."""

import asyncio
import csv
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.processes.browser import browser, chromium
from harness.searching import first_held
from report.test_report import PARTS
from sottovoce.config.study_file import parse_study
from sottovoce.demo import hospitals
from sottovoce.demo.hospitals import ASKER, SITES, Demo, Result
from sottovoce.demo.processes import commands
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import AbsenceError
from sottovoce.estimators.plain_text import on_side
from sottovoce.keyfiles.models import read_model
from sottovoce.ledger import LedgerSeat, verify
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.known_studies import site_evaluations
from sottovoce.node.site.site_folder import open_site
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.storage.seat_keys import SeatKeys, key_path
from sottovoce.study.roster import member_of
from sottovoce.text.documents import Document
from sottovoce.text.splits import Side

DEMO_PARTS = (
    "northfield, alone",
    "all three, sealed",
    "all text in one place",
    "precision",
    "recall",
    "F1",
    "Confusion, all three",
    "ROC, all three",
    "Reliability, all three",
    "Learning curve over sites",
    "Seconds by stage",
    "evaluation on the notes held out",
    "Bytes by stage",
    "Who sent how much to whom",
    "member-stanmore",
    "Code of the plan",
    "make demo",
    "Intended use",
    "Legal basis",
)
"""What people look for in the demo's report, below its titles."""


@dataclass(frozen=True)
class Played:
    """A whole demo, and everything that it left."""

    folder: Path
    result: Result
    said: tuple[str, ...]

    def outside(self, site: str | None = None) -> Iterator[tuple[Path, bytes]]:
        """All files outside of one site's own folder; outside of every site's."""
        kept = SITES if site is None else (site,)
        for path in sorted(self.folder.rglob("*")):
            if path.is_file() and path.relative_to(self.folder).parts[0] not in kept:
                yield path, path.read_bytes()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    folder = tmp_path_factory.mktemp("demo")
    said: list[str] = []
    result = hospitals.run(documents=400, features=96, announce=said.append, folder=folder)
    return Played(folder, result, tuple(said))


def notes_of(played: Played, site: str) -> list[Document]:
    from sottovoce.datasets import clinical_notes

    notes = clinical_notes(played.result.documents, sites=SITES, random_state=7)
    return list(notes.at(site).documents("diagnosis"))


def test_sealed_is_better_than_alone_and_about_as_good_as_pooled(played: Played) -> None:
    result = played.result
    assert all(share < result.joint for share in result.local.values())
    assert abs(result.joint - result.pooled) <= 0.06
    assert result.exposed.startswith("100 of 100")
    assert all(view.messages for view in result.seen)
    assert "sealed: training" in played.said
    assert re.search(r"Bytes by stage\. [^<]*training [\d.]+ MB", result.report)


def test_labels_of_a_file_are_those_of_the_evaluation(played: Played) -> None:
    """One hospital had its held-out notes labelled, and knows their own classes."""
    with (played.folder / ASKER / "labelled.csv").open(encoding="utf-8", newline="") as file:
        labels = [row["label"] for row in csv.DictReader(file)]
    site = open_site(played.folder / ASKER / "home", entropy=SystemEntropy())
    own = site_evaluations(site.study())[-1].own
    assert own is not None
    plan = parse_study((played.folder / "study.toml").read_text(encoding="utf-8")).plan
    held_out = on_side(plan, notes_of(played, ASKER), Side.VALIDATION)
    right = sum(note.label == label for note, label in zip(held_out, labels, strict=True))
    assert (own.counts.sum(), own.counts.trace()) == (len(held_out), right)


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine: make browser")
def test_the_report_has_every_part_in_a_browser(played: Played, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(played.result.report, encoding="utf-8")

    async def shown() -> str:
        async with browser(tmp_path / "profile") as chrome:
            tab = await chrome.tab()
            await tab.goto(page.as_uri())
            return await tab.text()

    text = asyncio.run(asyncio.wait_for(shown(), 300))
    assert [part for part in (*PARTS, *DEMO_PARTS) if part not in text] == []


def test_nobody_is_there_who_could_learn_something_by_pooling_with_one_hospital(
    played: Played,
) -> None:
    seen = {view.party: view.learns for view in played.result.seen}
    assert set(seen) == {"coordinator", *SITES, *map(member_of, SITES)}
    assert all(seen[member_of(site)].startswith("rounded totals") for site in SITES)
    # The coordinator has no key, and no share of anything.
    place = open_site(played.folder / "coordinator", entropy=SystemEntropy()).coordinator_place()
    (registry,) = registries(place)
    assert not key_path(SealedFiles(registry.folder, place.at_rest)).exists()


def test_the_figures_for_scripts_are_as_promised(played: Played) -> None:
    figures = json.loads(json.dumps(played.result.as_json()))
    assert set(figures) >= {"accuracy", "seconds", "peers", "features", "engine"}
    assert set(figures["accuracy"]) == {"local", "joint", "pooled"}
    assert set(figures["accuracy"]["local"]) == set(SITES)
    assert (figures["peers"], figures["features"], figures["engine"]) == (3, 96, "quorum")
    stages = {"agreement", "dictionary", "contributions", "training"}
    assert stages <= set(figures["seconds"])


def test_no_text_lies_outside_its_site(played: Played) -> None:
    for site in SITES:
        others = "\0".join(
            note.text for other in SITES if other != site for note in notes_of(played, other)
        )
        pieces = [
            note.text[start : start + 32]
            for note in notes_of(played, site)
            for start in range(0, len(note.text) - 32, 96)
        ]
        # What made-up notes of two sites have in common tells nothing about either.
        own = [piece.encode() for piece in pieces if piece not in others]
        assert len(own) > 100
        for path, data in played.outside(site):
            assert first_held(data, own) is None, f"{path} holds text of {site}"


def test_no_label_lies_outside_but_in_the_studys_own_text(played: Played) -> None:
    names = {str(note.label).encode() for site in SITES for note in notes_of(played, site)}
    assert len(names) == 8
    # Shorter ones stand in tens of megabytes of noise by chance.
    telling = [name for name in names if len(name) >= 6]
    assert len(telling) >= 6
    for path, data in played.outside():
        # The joint table names the classes as the study's text does, and no note.
        if path.name != "study.toml" and path.parent.name != "evaluations":
            assert not any(name in data for name in telling), path


def test_no_key_lies_in_the_open(played: Played) -> None:
    secrets = [
        (name, form)
        for name, secret in _secrets(played)
        for form in (secret, secret.hex().encode())
    ]
    assert len(secrets) > 40
    # Every peer has the dictionary's key, in its own model; everybody its own storage key.
    dictionary = {form for name, form in secrets if name.endswith("dictionary key")}
    for path in sorted(played.folder.rglob("*")):
        if not path.is_file():
            continue
        own = {
            form
            for name, form in secrets
            if name.endswith("storage key") and name.split(" ")[0] in path.parts
        }
        allowed = {"model": dictionary, "storage.key": own}.get(path.name, set())
        result = first_held(path.read_bytes(), {form for _, form in secrets} - allowed)
        named = {name for name, form in secrets if form == result}
        assert result is None, f"{path} holds {named}"


def _secrets(played: Played) -> Iterator[tuple[str, bytes]]:
    """Every secret of everybody, by whose it is."""
    entropy, publics = SystemEntropy(), {}
    for site in SITES:
        home = open_site(played.folder / site / "home", entropy=entropy)
        joined = home.study()
        yield f"{site} storage key", home.files.key
        yield f"{site} token", joined.invitation.token
        yield f"{site} key at rest", joined.membership.at_rest
        files = SealedFiles(joined.folder, joined.membership.at_rest)
        for seat in joined.invitation.seats:
            keys = SeatKeys.open(files, seat, entropy=entropy)
            publics[seat] = keys.identity.public
            yield f"{site} identity of {seat}", keys.identity.secret
            yield f"{site} box key of {seat}", keys.box.secret
    cate = open_site(played.folder / "coordinator", entropy=entropy)
    place = cate.coordinator_place()
    (registry,) = registries(place)
    files = SealedFiles(registry.folder, place.at_rest)
    keys = SeatKeys.open(files, "coordinator", entropy=entropy)
    publics["coordinator"] = keys.identity.public
    yield "coordinator storage key", cate.files.key
    yield "coordinator identity", keys.identity.secret
    described = open_site(played.folder / SITES[0] / "home", entropy=entropy).study().description
    assert described is not None
    study = described.study(publics)
    for site in SITES:
        folder = open_site(played.folder / site / "home", entropy=entropy).study().folder
        _, model = read_model(folder / site / "model", study)
        yield f"{site} dictionary key", model.key.secret


def test_every_ledger_is_whole(played: Played) -> None:
    entropy = SystemEntropy()
    for site in SITES:
        joined = open_site(played.folder / site / "home", entropy=entropy).study()
        files = SealedFiles(joined.folder, joined.membership.at_rest)
        for seat in joined.invitation.seats:
            public = SeatKeys.open(files, seat, entropy=entropy).identity.public
            path = joined.folder / seat / "ledger.jsonl"
            assert verify(path, LedgerSeat(seat, public)).lines > 5


def test_whatever_is_left_of_a_site_is_its_owners_alone(played: Played) -> None:
    for site in SITES:
        for path in (played.folder / site / "home").rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path


def test_the_coordinator_of_a_quorum_makes_no_paillier_key(played: Played) -> None:
    assert not [path for path in played.folder.rglob("key") if path.is_file()]


def test_a_command_that_fails_is_told_by_name(tmp_path: Path) -> None:
    with commands(tmp_path) as running:
        machine = running.start("carol", "join", "sottovoce-1-abc", "--home", tmp_path / "home")
        with pytest.raises(AbsenceError, match=r"carol: failed: hint: copy the whole line"):
            machine.result(seconds=60)
        other = running.start("dave", "study", "list", "--home", tmp_path / "home", "--json")
        with pytest.raises(AbsenceError, match="dave: ended before 'listening'"):
            other.wait_for("listening", seconds=60)


def test_one_that_fails_is_named_also_while_another_is_waited_for(tmp_path: Path) -> None:
    with commands(tmp_path) as typed:
        server = typed.start("cate", "serve", "--home", tmp_path, "--port", "0", "--json")
        server.wait_for("listening", seconds=60)
        typed.start("south", "join", tmp_path / "nothing", "--home", tmp_path / "south")
        with pytest.raises(AbsenceError, match=r"south: failed: "):
            server.wait_for("stage-began", seconds=60)


def test_processes_end_with_the_demo(tmp_path: Path) -> None:
    """Interrupted in the middle, nothing of it runs on."""
    # A shell lets what it starts in the background ignore Ctrl-C, and all that comes of it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    demo = subprocess.Popen(
        [sys.executable, "-m", "sottovoce", "demo", "--documents", "300"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    signal.signal(signal.SIGINT, before)
    deadline = time.monotonic() + 60
    while not _children(demo.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    children = _children(demo.pid)
    assert children
    demo.send_signal(signal.SIGINT)
    said, _ = demo.communicate(timeout=300)
    assert (demo.returncode, said.splitlines()[-1]) == (130, b"stopped")
    assert not any(_runs(pid) for pid in children)
    assert not list(tmp_path.iterdir())


def _children(parent: int) -> list[int]:
    """The processes that a process started."""
    path = Path(f"/proc/{parent}/task/{parent}/children")
    return [int(word) for word in path.read_text().split()] if path.exists() else []


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_folder_with_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thing").write_text("", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "sottovoce", "demo", "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, "expected an empty or new folder" in done.stderr) == (1, True)


def test_notes_are_prepared_in_each_sites_own_folder(tmp_path: Path) -> None:
    demo, notes = Demo.prepared(tmp_path, documents=300, features=64)
    assert len(notes) == 300
    assert len(demo.test) == sum(len(demo.held_out(site)) for site in SITES)
    assert all((tmp_path / site / "notes.csv").exists() for site in SITES)
    header = (tmp_path / ASKER / "new.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header == "text"
