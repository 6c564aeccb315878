"""A whole study by clicks: a coordinator and three sites, each in a browser of its own."""

import asyncio
import csv
import os
from collections.abc import Awaitable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from console.conftest import running
from harness.commands import call
from harness.network import QuickPlan
from harness.processes.browser import Tab, browser, chromium
from sottovoce import __version__
from sottovoce.config.study_file import example, parse_study
from sottovoce.entropy import SystemEntropy
from sottovoce.node.coordinator.serving import registries, run_coordinator
from sottovoce.node.events import Event, Listening
from sottovoce.node.site.site_folder import open_site

needs_chromium = pytest.mark.skipif(
    chromium() is None, reason="no Chromium on this machine: apt-get install chromium"
)
# The phase of the study, and not a sentence that has the word.
FINISHED = "document.querySelector('.lead .badge').textContent === 'finished'"
LONG = ("/card", "/report")
PICTURES = os.environ.get("SCREENSHOTS")
"""A folder for pictures of all pages, to look at."""
SITES = {"north": "Northfield Hospital", "harbour": "Harbour Clinic", "stanmore": "<b>Stanmore</b>"}


def prepared(folder: Path) -> None:
    """A study's text, and every site's notes."""
    text = example().replace('features = "auto"', "features = 32\nkey_bits = 768")
    text = text.replace("Stanmore Practice", SITES["stanmore"]).replace("10 minutes", "5 minutes")
    # With helpers, because their labels are also counted for a joint ROC.
    text += '\n[roles]\nevaluator = "north"\ndealer = "harbour"\n'
    (folder / "study.toml").write_text(text, encoding="utf-8")
    call("notes", "--sites", "3", "--documents", "120", "--out", folder / "notes")
    for name, given in zip(SITES, sorted((folder / "notes").glob("*.csv")), strict=True):
        given.rename(folder / f"{name}.csv")
        (folder / name).mkdir(mode=0o700)
        settings = "[policy]\nkey_bits = 768\n"
        (folder / name / "sottovoce.toml").write_text(settings, encoding="utf-8")


async def both(*given: Awaitable[None]) -> None:
    await asyncio.gather(*given)


@needs_chromium
def test_a_whole_study_by_clicks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Keys that were drawn before, and small ones: what is clicked is the same.
    monkeypatch.setitem(parse_study.__kwdefaults__, "plan_type", QuickPlan)
    prepared(tmp_path)
    asyncio.run(asyncio.wait_for(story(tmp_path), 500))


async def story(folder: Path) -> None:
    cate = open_site(folder / "cate", entropy=SystemEntropy())
    place, until = replace(cate.coordinator_place(), port=0), asyncio.Event()
    listening: asyncio.Future[Listening] = asyncio.get_running_loop().create_future()

    def heard(event: Event) -> None:
        if isinstance(event, Listening) and not listening.done():
            listening.set_result(event)

    async with AsyncExitStack() as stack:
        serving = asyncio.create_task(run_coordinator(place, on_event=heard, until=until))
        address = (await asyncio.wait_for(listening, 300)).address
        arguments = (folder / "study.toml", "--home", folder / "cate", "--address", address)
        await asyncio.to_thread(call, "study", "create", *arguments, "--out", folder / "inv")
        chrome = await stack.enter_async_context(browser(folder / "profile"))
        links = {
            name: (await stack.enter_async_context(running(folder / name)))[0]
            for name in ("cate", *SITES)
        }
        tabs = {name: await chrome.tab() for name in links}
        for name, link in links.items():
            await tabs[name].goto(link)
        await coordinator_invites(tabs["cate"], registries(place)[0].id)
        await study_begins(folder, tabs)
        await people_consent(tabs)
        await first_messages_approved(tabs["stanmore"])
        await both(*(at_end(tabs[name]) for name in SITES))
        await both(*(evaluated(tabs[name]) for name in SITES))
        # Its helper goes on to answer the others, and the page says no more that it evaluates.
        await tabs["north"].until(
            "document.body.innerText.includes('This console is taking part.')"
        )
        await coordinator_sees(tabs["cate"], registries(place)[0].id)
        await labelled(folder, tabs["stanmore"])
        await looked_at(tabs, registries(place)[0].id)
        until.set()
        await serving


async def coordinator_invites(tab: Tab, study: str) -> None:
    """A new line for harbour, with a picture for its camera, and the old one is void."""
    await tab.goto(await tab.run(f"location.origin + '/study/{study}'"))
    assert "Waited for: Northfield Hospital, Harbour Clinic" in await tab.text()
    await tab.run(
        "window.old = true; Array.from(document.querySelectorAll('form[action$=invite]'))"
        ".find(form => form.elements.organisation.value === 'harbour').requestSubmit()"
    )
    await tab.until("!window.old && document.querySelector('#invitation') !== null")
    line = await tab.run("document.querySelector('#invitation').textContent")
    assert line.startswith("sottovoce")
    assert await tab.run("document.querySelector('figure svg path') !== null")
    assert await tab.axe() == []
    tab.invitation = line


async def study_begins(folder: Path, tabs: dict[str, Tab]) -> None:
    for name in SITES:
        tab = tabs[name]
        sent = (folder / "inv" / name).read_text().strip()
        line = tabs["cate"].invitation if name == "harbour" else sent
        await tab.fill("invitation", line)
        await tab.press("Look at this study")
        assert "No text leaves" in await tab.text()
        await tab.fill("data", str(folder / f"{name}.csv"))
        await tab.fill("label", "urgency")
        await tab.press("Look at the data first")
        text = await tab.text()
        assert "Documents by label" in text
        assert "documents to train with" in text
        # What was typed is still there, so it is not typed twice.
        if name == "stanmore":
            await tab.run("document.querySelector('#each').click()")
        await tab.press("Take part as the card describes")


async def people_consent(tabs: dict[str, Tab]) -> None:
    asked = "document.querySelector('form[action$=consent]') !== null"
    await both(*(tabs[name].until(asked) for name in SITES))
    words = {await tabs[name].run("document.querySelector('.words').innerText") for name in SITES}
    assert len(words) == 1, "everybody is shown the same words"
    for name in SITES:
        # By keyboard alone: to the field, the name, and Enter.
        await tabs[name].run("document.querySelector('form[action$=consent] [name=name]').focus()")
        await tabs[name].type(f"Officer of {name}")
        await tabs[name].enter()


async def first_messages_approved(tab: Tab) -> None:
    """Whoever asked for it sees each message and what it reveals before it leaves."""
    asked = "document.querySelector('form[action$=let-go]') !== null"
    await tab.until(asked)
    text = await tab.text()
    assert "An outgoing message waits for your approval" in text
    assert "reveals" in text
    while not await tab.run(FINISHED):
        await tab.press("Let it go")
        await tab.until(f"{FINISHED} || {asked}", seconds=240)


async def at_end(tab: Tab) -> None:
    await tab.until(FINISHED, seconds=240)


async def evaluated(tab: Tab) -> None:
    await tab.until("document.querySelector('form[action$=evaluate]') !== null", seconds=60)
    await tab.press("Evaluate on the held-out documents")
    await tab.until(
        "document.body.innerText.includes('ROC, joint model, documents of all sites')", seconds=240
    )


async def coordinator_sees(tab: Tab, study: str) -> None:
    await tab.goto(await tab.run(f"location.origin + '/study/{study}'"))
    text = await tab.text()
    assert "The model is there" in text
    assert __version__ in text
    assert "compare these words" in await tab.run("document.body.textContent")
    assert "Confusion, all sites" in text
    assert "<b>Stanmore</b>" in text, "a hostile name is shown as it is"


async def labelled(folder: Path, tab: Tab) -> None:
    with (folder / "stanmore.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))[:12]
    given = folder / "new.csv"
    given.write_text("text\n" + "\n".join(f'"{row["text"]}"' for row in rows), encoding="utf-8")
    await tab.until("document.querySelector('#file') !== null", seconds=60)
    await tab.drop_file("form.drops", given)
    assert await tab.run("document.querySelector('#file').files.length") == 1
    await tab.press("Label this file")
    await tab.until("document.querySelector('a[href*=labelled]') !== null", seconds=120)
    result = await tab.run(
        "fetch(document.querySelector('a[href*=labelled]').href).then(one => one.text())"
    )
    labels = {row["label"] for row in csv.DictReader(result.splitlines())}
    assert labels <= {"routine", "urgent"}
    assert labels


async def looked_at(tabs: dict[str, Tab], study: str) -> None:
    """Narrow and wide, dark and light: nothing is cut off, and axe finds nothing wrong."""
    for name in ("cate", "north"):
        tab = tabs[name]
        for page in ("", "/officer", *LONG):
            await tab.goto(await tab.run(f"location.origin + '/study/{study}{page}'"))
            for width, dark in ((400, True), (1400, False)):
                await tab.sized(width, dark=dark)
                if PICTURES:
                    await tab.screenshot(Path(PICTURES, f"{name}{page[1:]}-{width}.png"))
                wide = await tab.run("document.documentElement.scrollWidth")
                assert wide <= width, f"{name}{page} at {width} is {wide} wide"
                # As files, card and report are looked at in both colours (tests/report).
                if dark or page not in LONG:
                    assert await tab.axe() == []
        # Without scripts the pages say the same.
        await tab.scripts(enabled=False)
        await tab.goto(await tab.run(f"location.origin + '/study/{study}/officer'"))
        text = await tab.text()
        await tab.scripts(enabled=True)
        assert "whole" in text
        assert "Who was sent how much" in text
    assert "by Officer of north (the words were compared)" in text


@needs_chromium
def test_axe_is_there_and_finds_mistakes(tmp_path: Path) -> None:
    async def run() -> list[str]:
        async with browser(tmp_path / "profile") as chrome:
            tab = await chrome.tab()
            (tmp_path / "page.html").write_text("<html><body><img src='x'></body></html>")
            await tab.goto((tmp_path / "page.html").as_uri())
            return await tab.axe()

    assert any(fault.startswith("image-alt") for fault in asyncio.run(asyncio.wait_for(run(), 400)))
