"""Nobody but the person with the one-time link sees or does anything at the console."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest

from console.conftest import running
from harness.commands import call
from sottovoce.console.guard import COOKIE, ConsoleGuard
from sottovoce.console.layout import qr_picture
from sottovoce.console.listening import (
    ConsoleAddress,
    access_of,
    check_loopback,
    console_tls,
)
from sottovoce.console.server import ConsolePages, run_console
from sottovoce.console.work import ConsoleWork
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import InputError
from sottovoce.node.coordinator.serving import registries, study_status
from sottovoce.node.site.site_folder import open_site

Story = Callable[[aiohttp.ClientSession, str, ConsolePages], Awaitable[None]]


def played(coordinator_home: Path, story: Story, *, read_only: bool = False) -> None:
    async def run() -> None:
        async with running(coordinator_home, read_only=read_only) as (link, console):
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as session:
                await story(session, link, console)

    asyncio.run(asyncio.wait_for(run(), 400))


def base(link: str) -> str:
    return f"http://{urlsplit(link).netloc}"


def test_without_the_link_nothing_is_shown(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, _: ConsolePages) -> None:
        for path in ("/", "/events", "/study/x", "/study/x/card", "/study/x/officer"):
            async with session.get(base(link) + path) as answer:
                assert answer.status == 403
                assert "urgency" not in await answer.text()

    played(coordinator_home, story)


def test_the_link_opens_once(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, _: ConsolePages) -> None:
        async with session.get(link) as answer:
            assert answer.status == 200
            assert "urgency of clinical notes" in await answer.text()
        async with aiohttp.ClientSession() as other, other.get(link) as answer:
            assert answer.status == 403
        async with session.get(base(link) + "/open?token=") as answer:
            assert answer.status == 403

    played(coordinator_home, story)


def test_the_cookie_is_for_this_site_and_not_for_scripts(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, _: ConsolePages) -> None:
        async with session.get(link, allow_redirects=False) as answer:
            cookie = answer.headers["Set-Cookie"]
        assert COOKIE in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie

    played(coordinator_home, story)


def test_every_answer_forbids_what_comes_from_elsewhere(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, _: ConsolePages) -> None:
        for path in (link, base(link) + "/static/style.css", base(link) + "/static/console.js"):
            async with session.get(path) as answer:
                policy = answer.headers["Content-Security-Policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cache-Control"] == "no-store"

    played(coordinator_home, story)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", ""])
def test_another_name_in_host_is_refused(coordinator_home: Path, host: str) -> None:
    async def story(session: aiohttp.ClientSession, link: str, _: ConsolePages) -> None:
        async with session.get(link, headers={"Host": host}) as answer:
            assert answer.status in {400, 421}
        async with session.get(link) as answer:
            assert answer.status == 200, "the link was not used up by a stranger"

    played(coordinator_home, story)


@pytest.mark.parametrize("origin", [None, "null", "http://evil.example", "https://127.0.0.1:8450"])
def test_a_form_from_elsewhere_does_nothing(coordinator_home: Path, origin: str | None) -> None:
    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        await (await session.get(link)).text()
        (study,) = registries(console.work.site.coordinator_place())
        data = {"word": console.guard.form_word, "name": "urgency of clinical notes"}
        headers = {} if origin is None else {"Origin": origin}
        where = f"{base(link)}/study/{study.id}/cancel"
        async with session.post(where, data=data, headers=headers) as answer:
            assert answer.status == 403
        assert study.ordered("cancel") is None

    played(coordinator_home, story)


@pytest.mark.parametrize("word", ["", "0" * 64])
def test_a_form_without_the_sessions_word_does_nothing(coordinator_home: Path, word: str) -> None:
    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        await (await session.get(link)).text()
        (study,) = registries(console.work.site.coordinator_place())
        data = {"word": word, "name": "urgency of clinical notes"}
        headers = {"Origin": base(link)}
        where = f"{base(link)}/study/{study.id}/cancel"
        async with session.post(where, data=data, headers=headers) as answer:
            assert answer.status == 403
        assert study.ordered("cancel") is None

    played(coordinator_home, story)


def test_a_console_that_only_shows_does_nothing(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        text = await (await session.get(link)).text()
        assert "<form" not in text
        (study,) = registries(console.work.site.coordinator_place())
        data = {"word": console.guard.form_word, "name": "urgency of clinical notes"}
        headers = {"Origin": base(link)}
        where = f"{base(link)}/study/{study.id}/cancel"
        async with session.post(where, data=data, headers=headers) as answer:
            assert answer.status == 403
            assert "started with --read-only" in await answer.text()
        assert study.ordered("cancel") is None

    played(coordinator_home, story, read_only=True)


def test_a_token_is_good_for_some_minutes() -> None:
    now = [0.0]
    guard = ConsoleGuard(SystemEntropy(), clock=lambda: now[0])
    token = guard.new_token()
    assert len(f"http://127.0.0.1:65535/open?token={token}") < 80, "the link stays on one line"
    now[0] = 601.0
    assert guard.opened(token) is None
    assert "session" not in repr(guard)
    assert token not in repr(guard)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.4", "example.org", "::"])  # noqa: S104
def test_it_listens_at_loopback_alone(host: str) -> None:
    with pytest.raises(InputError, match="expected a loopback address"):
        check_loopback(host)


def test_the_coordinator_acts_by_forms(coordinator_home: Path) -> None:
    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        await (await session.get(link)).text()
        place = console.work.site.coordinator_place()
        (study,) = registries(place)
        where, headers = f"{base(link)}/study/{study.id}", {"Origin": base(link)}
        word = {"word": console.guard.form_word}
        async with session.get(where) as answer:
            text = await answer.text()
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)" in text
        assert "Waited for: Northfield Hospital, Harbour Clinic, &lt;script" in text
        async with session.post(
            f"{where}/invite", data={**word, "organisation": "north"}, headers=headers
        ) as answer:
            assert "sottovoce-1-" in await answer.text()
        async with session.post(
            f"{where}/cancel", data={**word, "name": "another"}, headers=headers
        ) as answer:
            assert answer.status == 400
            assert "expected the study&#x27;s name" in await answer.text()
        assert study.ordered("cancel") is None
        named = {**word, "name": "urgency of clinical notes"}
        async with session.post(f"{where}/cancel", data=named, headers=headers) as answer:
            assert answer.status == 200
        assert study.ordered("cancel") is not None
        assert study_status(place, study.id).phase == "enrolment"
        for page in ("card", "officer"):
            async with session.get(f"{where}/{page}") as answer:
                assert answer.status == 200
                assert "<script>alert" not in await answer.text()
        for wrong in ("/study/nothing", "/study/nothing/card"):
            async with session.get(base(link) + wrong) as answer:
                assert answer.status == 400
        async with session.post(f"{where}/nothing", data=word, headers=headers) as answer:
            assert answer.status == 404

    played(coordinator_home, story)


def test_a_home_without_studies_says_how_to_begin(tmp_path: Path) -> None:
    home = tmp_path / "new"
    open_site(home, entropy=SystemEntropy())

    async def story(session: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        assert "No study here yet" in await (await session.get(link)).text()
        data = {"word": console.guard.form_word, "invitation": "nonsense"}
        async with session.post(
            f"{base(link)}/accept", data=data, headers={"Origin": base(link)}
        ) as answer:
            assert answer.status == 400

    played(home, story)


def test_others_come_in_by_tls_and_passphrase_alone(coordinator_home: Path, tmp_path: Path) -> None:
    """From elsewhere: no link, no study is named before the passphrase, mistakes are counted."""
    access = tmp_path / "access"
    access.write_text("four unrelated words\n", encoding="utf-8")
    access.chmod(0o600)
    tls, shown = console_tls(coordinator_home)
    assert len(shown.split(":")) == 32
    guard = ConsoleGuard(SystemEntropy(), passphrase=access_of(access), mistake_seconds=0.0)
    site = open_site(coordinator_home, entropy=SystemEntropy())

    async def story() -> None:
        pages, until = ConsolePages(ConsoleWork(site), guard), asyncio.Event()
        link = asyncio.get_running_loop().create_future()
        at = ConsoleAddress("127.0.0.1", 0, tls)
        serving = asyncio.create_task(
            run_console(pages, at=at, announce=link.set_result, until=until)
        )
        where = (await asyncio.wait_for(link, 300)).removesuffix("/enter")
        assert where.startswith("https://")
        jar = aiohttp.CookieJar(unsafe=True)
        connector = aiohttp.TCPConnector(ssl=False)
        async with aiohttp.ClientSession(cookie_jar=jar, connector=connector) as session:

            async def enter(words: str, origin: str) -> int:
                given = {"passphrase": words}
                async with session.post(
                    f"{where}/enter", data=given, headers={"Origin": origin}
                ) as answer:
                    text = await answer.text()
                    assert ("urgency" in text) == (answer.status == 200)
                    return answer.status

            async with session.get(f"{where}/") as answer:
                assert answer.status == 403
            assert await enter("four unrelated words", "https://elsewhere.example") == 403
            assert await enter("another passphrase", where) == 403
            assert await enter("four unrelated words", where) == 200
            assert all(cookie["secure"] for cookie in jar)
            jar.clear()
            for _ in range(20):
                assert await enter("another passphrase", where) == 403
            assert await enter("four unrelated words", where) == 403
        until.set()
        await serving

    asyncio.run(asyncio.wait_for(story(), 400))


def test_a_port_that_is_taken_is_named_with_what_to_do(coordinator_home: Path) -> None:
    async def story(_: aiohttp.ClientSession, link: str, console: ConsolePages) -> None:
        taken = ConsoleAddress(port=urlsplit(link).port or 0)
        with pytest.raises(
            InputError, match="cannot listen there \\(address already in use"
        ) as why:
            await run_console(console, at=taken, announce=print, until=asyncio.Event())
        assert why.value.hints[0] == "sottovoce console --port 0"

    played(coordinator_home, story)


def test_listening_without_a_passphrase_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="this option needs --access-file FILE"):
        access_of(None)
    short = tmp_path / "short"
    short.write_text("short\n", encoding="utf-8")
    short.chmod(0o600)
    with pytest.raises(InputError, match="at least 12 characters"):
        access_of(short)


def test_an_invitation_that_was_revoked_is_void(coordinator_home: Path) -> None:
    call("study", "revoke", "north", "--home", coordinator_home)
    registry = registries(open_site(coordinator_home, entropy=SystemEntropy()).coordinator_place())[
        0
    ]
    assert {ticket.organisation for ticket in registry.tickets()}.isdisjoint(
        {"Northfield Hospital"}
    )
    with pytest.raises(InputError, match="Northfield Hospital has no open invitation"):
        call("study", "revoke", "north", "--home", coordinator_home)


def test_a_line_becomes_a_picture_for_a_camera() -> None:
    picture = qr_picture("sottovoce " * 30, title="A line")
    assert "<svg" in picture
    assert picture.count("h1v1h-1z") > 500
