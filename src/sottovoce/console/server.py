"""The console's pages and actions behind one port."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from aiohttp import web

from sottovoce.config.study_file import parse_study
from sottovoce.console.coordinator_view import coordinator_sections
from sottovoce.console.form_handlers import FormHandlers
from sottovoce.console.guard import COOKIE, ConsoleGuard
from sottovoce.console.layout import button, field, form, page, study_page
from sottovoce.console.listening import ConsoleAddress, check_loopback
from sottovoce.console.progress_view import badge
from sottovoce.console.site_view import site_sections
from sottovoce.console.study_pages import REPORT_FILE, STUDY_PAGES
from sottovoce.console.work import ConsoleWork
from sottovoce.errors import InputError, SottovoceError
from sottovoce.hints import ShellCommand
from sottovoce.node.coordinator.serving import registries, registry_of
from sottovoce.node.coordinator.study_statuses import studies
from sottovoce.node.invitations import Invitation
from sottovoce.node.known_studies import known_study
from sottovoce.node.report_facts import facts_of, flows_of
from sottovoce.node.site.ledgers import ledgers_of
from sottovoce.node.site.seat_status import status
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.node.site.site_study import describe
from sottovoce.pictures.html import table, tag
from sottovoce.pictures.page import coded, section, style
from sottovoce.report.report import report

_LARGEST_UPLOAD = 256 * 2**20
_STATIC = Path(__file__).parent / "static"


class ConsolePages:
    """The pages of one site; the coordinator's studies and those that it joined."""

    def __init__(self, work: ConsoleWork, guard: ConsoleGuard) -> None:
        self.work = work
        self.guard = guard
        self._forms = FormHandlers(work, guard)

    def app(self) -> web.Application:
        """Every route behind the guard."""
        app = web.Application(
            middlewares=[self.guard.middleware, self._show_mistakes],
            client_max_size=_LARGEST_UPLOAD,
        )
        app.add_routes(
            [
                web.get("/open", self.open),
                web.get("/enter", self.enter_page),
                web.post("/enter", self.enter),
                web.get("/", self.index),
                web.get("/events", self.events),
                web.get("/static/style.css", self.stylesheet),
                web.static("/static", _STATIC),
                web.post("/accept", self.accept),
                web.get("/study/{study}", self.study),
                web.get(f"/study/{{study}}/{REPORT_FILE}", self.report_file),
                web.get("/study/{study}/{page}", self.study_page),
                web.get("/study/{study}/labelled/{name}", self.labelled),
                web.post("/study/{study}/{act}", self.act),
            ]
        )

        async def closed(_: web.Application) -> None:
            await self.work.close()

        app.on_cleanup.append(closed)
        return app

    @web.middleware
    async def _show_mistakes(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Show a mistake as a page with hints, never as a stack trace."""
        try:
            return await handler(request)
        except SottovoceError as error:
            hints = [tag("li", hint) for hint in getattr(error, "hints", ())]
            message = tag("p", f"{error}.", class_="notice")
            back = tag("p", "The browser's back button leads to where you were.", class_="soft")
            shown = page("That did not work", section("Why", message, tag("ul", *hints), back))
            return web.Response(status=400, text=shown, content_type="text/html")

    async def open(self, request: web.Request) -> web.StreamResponse:
        """The one-time link: a cookie for its token."""
        session = self.guard.opened(request.query.get("token", ""))
        if session is None:
            words = "this link was used or is old: run `sottovoce console` again\n"
            return web.Response(status=403, text=words)
        return self._let_in(session)

    def _let_in(self, session: str) -> web.Response:
        response = web.Response(status=303, headers={"Location": "/"})
        tls = self.guard.passphrase is not None
        response.set_cookie(COOKIE, session, httponly=True, samesite="Strict", path="/", secure=tls)
        return response

    async def enter_page(self, _: web.Request) -> web.StreamResponse:
        """The page on which others type the passphrase."""
        return web.Response(text=_enter_page(), content_type="text/html")

    async def enter(self, request: web.Request) -> web.StreamResponse:
        """The passphrase was typed."""
        session = await self.guard.entered(str((await request.post()).get("passphrase", "")))
        if session is None:
            wrong = tag("p", "That is not the passphrase.", class_="notice")
            return web.Response(status=403, text=_enter_page(wrong), content_type="text/html")
        return self._let_in(session)

    async def stylesheet(self, _: web.Request) -> web.StreamResponse:
        """The style of all our pages."""
        return web.Response(text=style(), content_type="text/css")

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Server-sent events: one message whenever something changed."""
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"}
        )
        await response.prepare(request)
        queue = self.work.listen()
        try:
            await response.write(b"event: hello\ndata: \n\n")
            while True:
                try:
                    async with asyncio.timeout(5.0):
                        await queue.get()
                except TimeoutError:
                    pass  # other processes write to the disk too: look every few seconds
                await response.write(b"event: changed\ndata: \n\n")
        except (ConnectionError, asyncio.CancelledError):
            return response
        finally:
            self.work.unlisten(queue)

    async def index(self, _: web.Request) -> web.StreamResponse:
        """All studies, and a form for an invitation."""
        site = self.work.site
        rows: list[tuple[object, ...]] = [
            (tag("a", study.name, href=f"/study/{study.study}"), "coordinator", badge(study.phase))
            for study in studies(site.coordinator_place())
        ]
        for joined in site.joined():
            phases = dict.fromkeys(seat.phase for seat in status(joined.membership))
            link = tag("a", joined.invitation.title, href=f"/study/{joined.id}")
            rows.append((link, ", ".join(joined.invitation.seats), badge(next(iter(phases)))))
        none = (
            "No study here yet. A coordinator makes one with `sottovoce study create study.toml`; "
            "a site that was invited looks at it below."
        )
        invite = form(
            self.guard,
            "/accept",
            field("invitation", "Invitation", hint="the line that the coordinator sent"),
            tag("p", "The study's card is fetched and shown. Nothing else leaves.", class_="soft"),
            button=button("Look at this study"),
        )
        here = table(("study", "as", "phase"), rows) if rows else tag("p", coded(none))
        shown = page(
            "Studies",
            section("Here", here),
            section("Join a study", invite) if invite else "",
            here="/",
        )
        return web.Response(text=shown, content_type="text/html")

    async def accept(self, request: web.Request) -> web.StreamResponse:
        """Take an invitation, and fetch the study's text; nothing else is sent."""
        form = await request.post()
        invitation = Invitation.parse(str(form.get("invitation", "")).strip())
        invitation.check_time(datetime.now(UTC))
        study = self.work.site.accept(invitation)
        if study.description is None:
            study.keep_text(await describe(study.membership))
        raise web.HTTPSeeOther(f"/study/{study.id}")

    def _joined(self, study: str) -> JoinedStudy | None:
        return next(
            (joined_study for joined_study in self.work.site.joined() if joined_study.id == study),
            None,
        )

    def _runs(self, study: str) -> bool:
        return any(
            registry.id == study for registry in registries(self.work.site.coordinator_place())
        )

    async def study(self, request: web.Request) -> web.StreamResponse:
        """One study, for its coordinator or for a site."""
        study = request.match_info["study"]
        here, joined = f"/study/{study}", self._joined(study)
        if self._runs(study):
            registry = registry_of(self.work.site.coordinator_place(), study)
            title = parse_study(registry.text).plan.name
            flows = flows_of(ledgers_of(self.work.site, study))
            content = coordinator_sections(registry, self.guard, flows)
            return study_page(study, title, *content, here=here)
        if joined is None:
            raise InputError(f"study: this site has no study {study!r}")
        content = site_sections(joined, self.work.of(study), self.guard)
        return study_page(study, joined.invitation.title, *content, here=here)

    async def study_page(self, request: web.Request) -> web.StreamResponse:
        """A read-only page."""
        study, asked = request.match_info["study"], STUDY_PAGES.get(request.match_info["page"])
        if asked is None:
            raise web.HTTPNotFound
        content = asked.sections(self.work.site, study)
        return study_page(study, asked.title, *content, here=f"/study/{study}/{asked.name}")

    async def report_file(self, request: web.Request) -> web.StreamResponse:
        """The report as one file."""
        known = known_study(self.work.site, request.match_info["study"])
        facts = facts_of(self.work.site, known)
        disposition = f'attachment; filename="{known.id}-{REPORT_FILE}"'
        headers = {"Content-Disposition": disposition}
        return web.Response(text=report(facts), content_type="text/html", headers=headers)

    async def labelled(self, request: web.Request) -> web.StreamResponse:
        """A labelled file of this site."""
        joined = self._joined(request.match_info["study"])
        folder = None if joined is None else joined.folder / "labelled"
        names = {path.name: path for path in folder.iterdir()} if folder and folder.is_dir() else {}
        path = names.get(request.match_info["name"])
        if path is None:
            raise web.HTTPNotFound
        disposition = f'attachment; filename="{path.name}"'
        return web.FileResponse(path, headers={"Content-Disposition": disposition})

    async def act(self, request: web.Request) -> web.StreamResponse:
        """Perform the action of a form that was sent."""
        return await self._forms.do(request)


def _enter_page(*said: object) -> str:
    """The page with the field for the passphrase, and nothing about any study."""
    asked = tag(
        "form",
        tag("label", "Passphrase", for_="passphrase"),
        tag(
            "input",
            type="password",
            id="passphrase",
            name="passphrase",
            autocomplete="current-password",
            required="required",
        ),
        tag("button", "Enter", type="submit"),
        method="post",
        action="/enter",
        enctype="multipart/form-data",
    )
    return page("Sottovoce", section("Enter", *said, asked))


async def _begin(site: web.TCPSite, at: ConsoleAddress) -> None:
    """Listen, or say what is in the way."""
    try:
        await site.start()
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise InputError(
            f"address {at.host}:{at.port}: the console cannot listen there ({reason})",
            hints=(
                ShellCommand("sottovoce console --port 0"),
                "another console may run there already",
            ),
        ) from None


async def run_console(
    console: ConsolePages,
    *,
    at: ConsoleAddress,
    announce: Callable[[str], None],
    until: asyncio.Event,
) -> None:
    """Serve until stopped; `announce` gets the link."""
    runner = web.AppRunner(console.app(), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    guard = console.guard
    assert (at.tls is None) == (guard.passphrase is None), "others come in by TLS and passphrase"
    try:
        host = at.host if at.tls is not None else check_loopback(at.host)
        site = web.TCPSite(runner, host, at.port, ssl_context=at.tls)
        await _begin(site, at)
        bound = runner.addresses[0][1]
        names = [at.host, "localhost", *at.names]
        shown = [f"[{name}]" if ":" in name else name for name in names]
        guard.hosts |= {f"{name}:{bound}" for name in shown}
        if at.tls is None:
            announce(f"http://{shown[0]}:{bound}/open?token={guard.new_token()}")
        else:
            announce(f"https://{shown[-1] if at.names else shown[0]}:{bound}/enter")
        await until.wait()
    finally:
        await runner.cleanup()
