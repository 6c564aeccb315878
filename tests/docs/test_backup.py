"""The page about backups: what it tells people to do is done here, or in the test that is named."""

import asyncio
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from harness.commands import call
from harness.examples.absence import Absence
from harness.network import Network, network, read_toy
from harness.processes.copies import Copying, bodies_read
from harness.processes.homes import Homes, homes
from harness.processes.lives import KilledError
from sottovoce.cli.answers.large_questions import LargeQuestion
from sottovoce.cli.source_choice import SourceChoice, mark_begun, remember
from sottovoce.console.listening import console_tls
from sottovoce.console.work import labelled_path
from sottovoce.course.control import COORDINATOR
from sottovoce.course.news import StageBegan, StudyFinished
from sottovoce.course.training.training_state import Training
from sottovoce.errors import InputError, JournalError, SottovoceError, ViolationError
from sottovoce.node.api import Classified, ConsentQuestion, Joined
from sottovoce.node.events import Event, RosterKnown
from sottovoce.node.kept_facts import keep_alone
from sottovoce.node.site.shown_card import keep_consent
from sottovoce.study.card.card import StudyCard
from sottovoce.text.documents import Document

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "backup.md").read_text(encoding="utf-8")
SITES = ("north", "harbour", "valley")
REJOINING = "tests/node/site/test_rejoining.py::"
RESTORED = "tests/node/site/test_restored.py::"
HERE = "tests/docs/test_backup.py::"
DONE = {
    "the folder has all that was sent": (
        f"{RESTORED}test_a_restored_site_that_sent_nothing_since_goes_on_with_the_same_bytes",
    ),
    "a copy went on elsewhere": (f"{RESTORED}test_a_copy_that_went_on_is_the_one_that_counts",),
    "the documents changed meanwhile": (
        f"{HERE}test_documents_that_are_put_back_let_the_study_go_on",
    ),
    "the journal is lost, the training is over": (
        f"{REJOINING}test_a_site_that_lost_its_disk_gets_the_model_again_from_a_peer",
        f"{REJOINING}test_a_site_of_a_quorum_comes_back_without_its_member_and_askers_are_told_at_once",
    ),
    "the journal is lost before that": (
        f"{HERE}test_the_others_go_on_without_a_site_that_lost_its_journal",
        "tests/cli/test_study_commands.py::test_a_study_is_made_again_under_another_name",
    ),
    "the coordinator's folder is an older copy": (
        f"{HERE}test_seats_stop_at_an_older_copy_of_the_coordinator",
        f"{HERE}test_a_coordinator_comes_back_whole_and_with_its_key",
    ),
}
NEVER = {
    "Do not restore a seat's journal": f"{RESTORED}test_a_restored_site_sends_nothing",
    "Do not run copies of a home at two places": (
        f"{RESTORED}test_of_a_site_and_its_copy_that_run_at_once_one_is_found_out"
    ),
    "Do not move a mailbox": f"{HERE}test_a_mailbox_or_a_journal_that_is_taken_away_stops_a_seat",
}


def _section(title: str) -> str:
    return PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _check_exists(name: str) -> None:
    path, _, test = name.partition("::")
    assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), name


def test_every_way_back_on_the_page_is_gone_by_a_test() -> None:
    part = _section("How to come back")
    rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")]
    assert rows[1:] == list(DONE)
    for name in (name for names in DONE.values() for name in names):
        _check_exists(name)


def test_everything_that_the_page_forbids_is_tried_by_a_test() -> None:
    items = [line[2:] for line in _section("What never").splitlines() if line.startswith("- ")]
    assert len(items) == len(NEVER)
    for item, (begins, name) in zip(items, NEVER.items(), strict=True):
        assert item.startswith(begins)
        _check_exists(name)


def _named_places() -> list[str]:
    """Every place in a home that the page names, as a pattern below it."""
    matches = re.findall(r"`HOME/([^`]+)`", PAGE)
    places = [re.sub(r"\b(ID|SEAT)\b", "*", place) for place in dict.fromkeys(matches)]
    ledger = "studies/*/*/ledger.jsonl"
    assert "with its `.head` and `.receipt`" in PAGE
    return [*places, f"{ledger}.head", f"{ledger}.receipt"]


# A study with every file that a home may have.
MORE = "evaluations = 3\nown_weight = 0.5\n"


def test_the_page_names_every_file_of_a_home_and_none_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = homes(tmp_path, monkeypatch, features="8", stage="1 minute", more=MORE)
    for home in tmp_path.iterdir():
        (home / "sottovoce.toml").write_text("# what this site agrees to\n", encoding="utf-8")
    files_seen: set[Path] = set()

    async def story() -> None:
        over = net.when(lambda event: event == StudyFinished(net.study, COORDINATOR))
        async with net.serving():
            await net.join_all(*SITES)
            await over.wait()
        # These only inform: all goes on without them.
        files_seen.update(_files(tmp_path))
        _delete(tmp_path, "status.json", "costs.json")
        async with net.serving(), net.staying("north", "harbour"):
            await net.classify("valley", net.documents["valley"][:3])
            await asyncio.gather(*map(net.evaluate, SITES))

    asyncio.run(asyncio.wait_for(story(), 400))
    _write_as_commands_do(net)
    home = tmp_path / "valley-practice"
    assert call("ledger", "show", "--home", home)
    assert call("ledger", "export", "--out", tmp_path / "ledger.jsonl", "--home", home)
    places = _named_places()
    files_seen |= _files(tmp_path)
    unnamed = {path for path in files_seen if not any(_is_below(path, place) for place in places)}
    assert unnamed == set()
    for place in places:
        assert any(_is_below(path, place) for path in files_seen), place
    assert any(path.name == "mailbox.db" for path in files_seen)


def _write_as_commands_do(net: Homes) -> None:
    """What `join`, `evaluate` and the console keep, by the functions that they call."""
    site, joined = net.home("Valley Practice"), net.joined("valley")
    study = read_toy(net.text).rehearsed()
    question = ConsentQuestion(study, StudyCard(study), (), ("valley",))
    keep_consent(joined.folder, question, by="somebody", at=0.0)
    remember(site, joined, SourceChoice("notes.csv"))
    mark_begun(joined)
    keep_alone(joined.folder, 0.7)
    labelled = labelled_path(joined, "new.csv")
    labelled.write_text("label\n", encoding="utf-8")
    question_of = partial(LargeQuestion.about, site, joined, lambda: iter([Document("a note")]))
    question_of(source=labelled, asked="").ask(
        lambda _, deliver: deliver(Classified([("urgent",)], 7)), progress=None
    )
    console_tls(site.home)


def _files(root: Path) -> set[Path]:
    """Every file of every home, as it is called from there."""
    files = (path.relative_to(root) for path in root.glob("*/**/*") if path.is_file())
    return {Path(*file.parts[1:]) for file in files}


def _delete(root: Path, *names: str) -> None:
    """Take these files away from every seat."""
    for name in names:
        paths = list(root.glob(f"*/studies/*/*/{name}"))
        assert paths, name
        for path in paths:
            path.unlink()


def _is_below(path: Path, place: str) -> bool:
    """Whether a file is the one that a pattern names, or lies in the folder that it names."""
    depth = len(Path(place).parts)
    return len(path.parts) >= depth and Path(*path.parts[:depth]).match(place)


async def _worked(net: Network, wanted: Callable[[Event], bool]) -> None:
    """Everybody works until such an event, and stops."""
    net.events.clear()
    came = net.when(wanted)
    async with net.serving():
        joining = [asyncio.create_task(net.join(site)) for site in SITES]
        await came.wait()
        for task in joining:
            task.cancel()
        await asyncio.gather(*joining, return_exceptions=True)


def _sent_something(event: Event) -> bool:
    """A site is past the agreement: its consent is at the coordinator."""
    return isinstance(event, StageBegan) and event.seat in SITES and event.stage == "dictionary"


def test_seats_stop_at_an_older_copy_of_the_coordinator(tmp_path: Path) -> None:
    net = network(tmp_path)

    async def story() -> None:
        await _worked(net, lambda event: isinstance(event, RosterKnown))
        place, older = net.place.folder, tmp_path / "older"
        shutil.copytree(place, older)
        await _worked(net, _sent_something)
        shutil.rmtree(place)
        shutil.copytree(older, place)
        async with net.serving():
            joining = (net.join(site) for site in SITES)
            results = await asyncio.gather(*joining, return_exceptions=True)
        refusals = [result for result in results if "older copy" in str(result)]
        assert refusals, results
        for error in refusals:
            assert isinstance(error, ViolationError)
            assert error.party == COORDINATOR
            assert "docs/backup.md" in " ".join(error.hints)
        assert not any(isinstance(result, Joined) for result in results)

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_coordinator_comes_back_whole_and_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = homes(tmp_path / "homes", monkeypatch, features="8", stage="1 minute")
    home, copy = net.root / "institute", tmp_path / "copy"

    async def story() -> None:
        await _worked(net, _sent_something)
        shutil.copytree(home, copy)
        shutil.rmtree(home)
        shutil.copytree(copy / "coordinator", home / "coordinator")
        home.chmod(0o700)
        with pytest.raises(SottovoceError):
            async with net.serving():
                await net.join("valley")
        shutil.rmtree(home)
        shutil.copytree(copy, home)
        async with net.serving():
            joined = await net.join_all(*SITES)
        assert all(outcome.model is not None for outcome in joined)

    asyncio.run(asyncio.wait_for(story(), 400))


async def _valley_goes_on(net: Network) -> None:
    """Until the server or the site stops; its error comes through."""
    async with net.serving() as server:
        joining = asyncio.create_task(net.join("valley"))
        await asyncio.wait({server, joining}, return_when=asyncio.FIRST_COMPLETED)
        joining.cancel()
        await asyncio.gather(joining, return_exceptions=True)
        if not joining.cancelled():
            await joining


@pytest.mark.parametrize("lost", ["mailbox", "journal"])
def test_a_mailbox_or_a_journal_that_is_taken_away_stops_a_seat(tmp_path: Path, lost: str) -> None:
    net = network(tmp_path, documents=120, features="8", stage="1 minute")

    async def story() -> None:
        await _worked(net, _sent_something)
        journal = net.membership("valley").folder / "valley" / "journal.db"
        mailbox = net.place.folder / "studies" / net.study / "mailbox.db"
        path = {"mailbox": mailbox, "journal": journal}[lost]
        for beside in path.parent.glob(f"{path.name}*"):
            beside.unlink()
        with bodies_read() as read, pytest.raises(SottovoceError, match="nothing was sent"):
            await _valley_goes_on(net)
        assert set(read) <= {net.membership("valley").token}  # no letter

    asyncio.run(asyncio.wait_for(story(), 400))


@pytest.mark.soak
def test_documents_that_are_put_back_let_the_study_go_on(tmp_path: Path) -> None:
    net = network(tmp_path, documents=120, features="8", stage="1 minute")
    mine = net.documents["valley"]

    async def story() -> None:
        async with net.serving():
            folder = net.membership("valley").folder
            stopping = Copying("valley", "training", folder, tmp_path / "unused", kills_early=True)
            others = [asyncio.create_task(net.join(site)) for site in SITES[:2]]
            with stopping.watched(), suppress(KilledError):
                await net.join("valley")
            assert stopping.dead
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            with pytest.raises(JournalError, match="nothing was sent") as refused:
                await net.join("valley", lambda: mine[1:])
            assert refused.value.hints[0].startswith("put back the documents")
            # Had a letter of the other documents left, the server would now refuse this seat.
            joined = await net.join_all(*SITES)
            assert all(outcome.model is not None for outcome in joined)

    asyncio.run(asyncio.wait_for(story(), 400))


@pytest.mark.soak
def test_the_others_go_on_without_a_site_that_lost_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helpers = '[helpers]\ntrust = "Trust"\nlender = "Lender"\n'
    roles = {"evaluator": "trust", "dealer": 'dealer = "lender"', "helpers": helpers}
    net = network(tmp_path, sites=4, documents=160, features="8", **roles)
    absence = Absence(monkeypatch)
    monkeypatch.setattr(
        Training,
        "unseen",
        lambda _, seats, **__: tuple(seat for seat in seats if seat in absence.gone),
    )
    began = net.when(
        lambda event: _sent_something(event) and getattr(event, "seat", "") == "valley"
    )
    others = [peer for peer in net.documents if peer != "valley"]

    async def story() -> None:
        async with net.serving():
            losing = asyncio.create_task(net.join("valley"))
            rest = asyncio.create_task(net.join_all(*others, "evaluator", "dealer"))
            await began.wait()
            losing.cancel()
            await asyncio.gather(losing, return_exceptions=True)
            shutil.rmtree(net.membership("valley").folder)
            with pytest.raises(InputError) as refused:
                await net.join("valley")
            assert "docs/backup.md" in " ".join(refused.value.hints)
            absence.of("valley")
            joined = await rest
        assert [outcome.model is not None for outcome in joined[: len(others)]] == [True] * len(
            others
        )

    asyncio.run(asyncio.wait_for(story(), 400))
