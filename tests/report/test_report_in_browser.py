"""Card and report in a real Chromium: every part is there, and axe finds nothing wrong."""

import asyncio
from pathlib import Path

import pytest

from harness.processes.browser import browser, chromium
from report.test_report import PARTS, facts
from sottovoce.config.study_file import example, parse_study
from sottovoce.node.site.shown_card import card_of
from sottovoce.report.card_page import card_page
from sottovoce.report.report import report

LOOKED_FOR = (
    "Accuracy on documents held out",
    "north, alone",
    "pooled",
    "precision",
    "recall",
    "F1",
    "Confusion, all sites",
    "ROC, all sites",
    "Reliability, all sites",
    "Learning curve over sites",
    "Seconds by stage",
    "Bytes by stage",
    "Who sent how much to whom",
    "17-abcdef",
    "Code of the plan",
    "sottovoce serve",
    "Quantitative analyses",
    "Legal basis",
)
"""What people look for in a report, below its titles."""


PAPER = 700
"""A sheet of A4 without its margins, in pixels."""
SHEET = 970
"""How high a sheet is without its margins: of A4 and of Letter the lower one."""
UNFOLDED = """() => Array.from(document.querySelectorAll("details"))
  .filter(part => [part.querySelector("summary"), part.querySelector("table, article, div")]
    .some(shown => shown === null || !shown.checkVisibility() || shown.offsetHeight === 0))
  .map(part => part.textContent.slice(0, 60))"""
"""Of what is folded on the screen, what paper shows without its title or its content."""


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine: make browser")
def test_card_and_report_can_be_read_by_everybody(tmp_path: Path) -> None:
    card = card_page(card_of(parse_study(example()), "Northfield Hospital"))
    pages = {"card": card, "report": report(facts(growth={1: 0.6, 2: 0.7, 3: 0.75}))}
    for name, page in pages.items():
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")

    async def story() -> None:
        async with browser(tmp_path / "profile") as chrome:
            tab = await chrome.tab()
            for name in pages:
                await tab.goto((tmp_path / f"{name}.html").as_uri())
                for width, dark in ((400, True), (1400, False)):
                    await tab.sized(width, dark=dark)
                    assert await tab.axe() == []
                    assert await tab.run("document.documentElement.scrollWidth") <= width
                await tab.printed(PAPER)
                assert await tab.run("document.documentElement.scrollWidth") <= PAPER
                assert await tab.run(f"({UNFOLDED})()") == []
                if name == "card":
                    assert await tab.run("document.querySelector('.page').offsetHeight") <= SHEET
                await tab.sized(1400)
            text = await tab.text()
            assert all(part in text for part in (*PARTS, *LOOKED_FOR))

    asyncio.run(asyncio.wait_for(story(), 400))
