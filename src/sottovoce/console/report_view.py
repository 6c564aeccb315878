"""The console's page with a study's report, and the same as one file to keep."""

from collections.abc import Iterator

from sottovoce.errors import InputError
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.report_facts import coordinator_facts, site_facts
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.html import Html, tag
from sottovoce.report.facts import ReportFacts
from sottovoce.report.report import report_sections

REPORT_FILE = "report.html"


def console_facts(site: Site, study: str) -> ReportFacts:
    """Collect this site's facts about a study that it runs or joined."""
    if any(registry.id == study for registry in registries(site.coordinator_place())):
        return coordinator_facts(site, study)
    for joined in site.joined():
        if joined.id == study and joined.description is not None:
            return site_facts(site, joined)
    raise InputError(f"study: this site has no study {study!r}")


def report_page_sections(site: Site, study: str) -> Iterator[Html]:
    """The report, after a way to keep it."""
    keep = tag("a", "Keep it as one file", href=f"/study/{study}/{REPORT_FILE}")
    yield tag("p", keep, " that opens anywhere, without a network.")
    yield from report_sections(console_facts(site, study))
