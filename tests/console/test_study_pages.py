"""A page that shows a study is one object; it reads, and is renewed when something changed."""

from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest

from console.test_guard import base, played
from sottovoce.config.study_file import parse_study
from sottovoce.console import layout
from sottovoce.console.server import ConsolePages
from sottovoce.console.study_pages import STUDY_PAGES, StudyPage
from sottovoce.node.coordinator.serving import registries, registry_of
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.html import Html, tag


def waiting_sections(site: Site, study: str) -> Iterator[Html]:
    registry = registry_of(site.coordinator_place(), study)
    status = registry.status(parse_study(registry.text))
    missing = [name for name in status.expected if name not in status.enrolled]
    yield tag("p", f"{status.phase}: waits for {', '.join(missing)}")


TOY = StudyPage("waiting", "Who is waited for", waiting_sections)


def test_a_registered_page_is_shown_and_linked(
    coordinator_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STUDY_PAGES, TOY.name, TOY)

    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        async with session.get(link) as answer:
            assert answer.status == 200
        (registry,) = registries(console.work.site.coordinator_place())
        here = f"/study/{registry.id}"
        async with session.get(f"{base(link)}{here}/waiting") as answer:
            assert "enrolment: waits for" in await answer.text()
        async with session.get(f"{base(link)}{here}") as answer:
            assert f'href="{here}/waiting"' in await answer.text()
        async with session.get(f"{base(link)}{here}/nothing") as answer:
            assert answer.status == 404

    played(coordinator_home, story, read_only=True)


def test_the_only_script_of_a_page_is_our_own_and_short() -> None:
    static = Path(layout.__file__).parent / "static"
    assert sorted(path.name for path in static.iterdir()) == ["console.css", "console.js"]
    assert len((static / "console.js").read_text(encoding="utf-8").splitlines()) < 150
