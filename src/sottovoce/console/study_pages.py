"""The console's read-only pages about one study; a new page is one more object here.

A page is rendered again whenever `/events` reports a change, so it never keeps a state.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sottovoce.console.card_view import card_sections
from sottovoce.console.officer_view import officer_sections
from sottovoce.console.report_view import report_page_sections
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.html import Html


@dataclass(frozen=True)
class StudyPage:
    """A page at /study/STUDY/NAME: its title, and the function that makes its sections."""

    name: str
    title: str
    sections: Callable[[Site, str], Iterator[Html]]


STUDY_PAGES: dict[str, StudyPage] = {
    page.name: page
    for page in (
        StudyPage("card", "Card", card_sections),
        StudyPage("officer", "What left", officer_sections),
        StudyPage("report", "Report", report_page_sections),
    )
}


def links(study: str) -> tuple[tuple[str, str], ...]:
    """The links between the pages of one study."""
    pages = ((f"/study/{study}/{page.name}", page.title) for page in STUDY_PAGES.values())
    return ((f"/study/{study}", "This study"), *pages)
