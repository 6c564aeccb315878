"""The console's read-only pages about one study; a new page is one more object here.

A page is rendered again whenever `/events` reports a change, so it never keeps a state.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sottovoce.console.officer_view import officer_sections
from sottovoce.node.known_studies import known_study
from sottovoce.node.report_facts import facts_of
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.html import Html, tag
from sottovoce.report.card_page import card_html
from sottovoce.report.report import report_sections

REPORT_FILE = "report.html"


@dataclass(frozen=True)
class StudyPage:
    """A page at /study/STUDY/NAME: its title, and the function that makes its sections."""

    name: str
    title: str
    sections: Callable[[Site, str], Iterator[Html]]


def _card_sections(site: Site, study: str) -> Iterator[Html]:
    """The whole card of a study that this site runs, or joined."""
    yield card_html(known_study(site, study).card)


def _report_sections(site: Site, study: str) -> Iterator[Html]:
    """The report, after a way to keep it as one file."""
    keep = tag("a", "Keep it as one file", href=f"/study/{study}/{REPORT_FILE}")
    yield tag("p", keep, " that opens anywhere, without a network.")
    yield from report_sections(facts_of(site, known_study(site, study)))


STUDY_PAGES: dict[str, StudyPage] = {
    page.name: page
    for page in (
        StudyPage("card", "Card", _card_sections),
        StudyPage("officer", "What left", officer_sections),
        StudyPage("report", "Report", _report_sections),
    )
}


def links(study: str) -> tuple[tuple[str, str], ...]:
    """The links between the pages of one study."""
    pages = ((f"/study/{study}/{page.name}", page.title) for page in STUDY_PAGES.values())
    return ((f"/study/{study}", "This study"), *pages)
