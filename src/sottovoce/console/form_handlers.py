"""The actions of the console's forms; each calls the same function as a command."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from aiohttp import web

from sottovoce.cli.source_choice import SourceChoice, recall
from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.layout import qr_picture, study_page
from sottovoce.console.progress_view import moment
from sottovoce.console.site_view import inspected, join_form
from sottovoce.console.work import ConsoleWork, labelled_path
from sottovoce.errors import InputError
from sottovoce.node.api import AskOptions, Classified
from sottovoce.node.coordinator.serving import (
    cancel_study,
    certificate_fingerprint,
    close_study,
    invite_again,
    registry_of,
)
from sottovoce.node.invitations import Invitation
from sottovoce.node.site.labelled import as_table, by_document
from sottovoce.node.site.leaving import withdraw
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.pictures.html import Html, tag
from sottovoce.pictures.page import section
from sottovoce.sources import Format, open_source
from sottovoce.sources.inspection import inspect
from sottovoce.sources.writing import TableLayout, write_documents
from sottovoce.study.rehearsal import check_documents

Act = Callable[[str, web.Request], Awaitable[web.StreamResponse]]


class FormHandlers:
    """The forms of one site's console."""

    def __init__(self, work: ConsoleWork, guard: ConsoleGuard) -> None:
        """Act for `work.site`, where `guard` let a person in."""
        self._work = work
        self._guard = guard

    def _joined(self, study: str) -> JoinedStudy | None:
        return next(
            (joined_study for joined_study in self._work.site.joined() if joined_study.id == study),
            None,
        )

    async def do(self, request: web.Request) -> web.StreamResponse:
        """Perform the action of a form."""
        study, act = request.match_info["study"], request.match_info["act"]
        acts: dict[str, Act] = {
            "invite": self._invite,
            "revoke": self._revoke,
            "cancel": self._cancel,
            "close": self._close,
            "inspect": self._inspect,
            "join": self._join,
            "consent": self._consent,
            "refuse": self._consent,
            "let-go": self._letter,
            "hold-back": self._letter,
            "evaluate": self._evaluate,
            "classify": self._classify,
            "withdraw": self._withdraw,
        }
        if act not in acts:
            raise web.HTTPNotFound
        return await acts[act](study, request)

    async def _invite(self, study: str, request: web.Request) -> web.StreamResponse:
        place = self._work.site.coordinator_place()
        registry = registry_of(place, study)
        described = parse_study(registry.text)
        invited = described.organisation(
            str((await request.post()).get("organisation", "")).strip()
        )
        registry.check_open(described, invited.organisation)
        token = invite_again(place, study, invited.organisation)
        made = Invitation(
            registry.address,
            certificate_fingerprint(place),
            study,
            described.plan.name,
            invited.name,
            token.seats,
            token.secret,
            datetime.fromtimestamp(token.expires, UTC),
        )
        words = (
            f"Send this line to {invited.organisation} alone, by a way that you trust. It is shown "
            f"once, and good until {moment(token.expires)}. The line that they had before is void."
        )
        return study_page(
            study,
            f"An invitation for {invited.organisation}",
            section(
                "The line",
                tag("p", words),
                tag("pre", made.line, id="invitation"),
                tag("button", "Copy", type="button", data_copies="invitation"),
                qr_picture(made.line, title=f"The same line, for {invited.organisation}'s camera"),
            ),
        )

    async def _revoke(self, study: str, request: web.Request) -> web.StreamResponse:
        registry = registry_of(self._work.site.coordinator_place(), study)
        described = parse_study(registry.text)
        invited = described.organisation(
            str((await request.post()).get("organisation", "")).strip()
        )
        registry.revoke(described, invited.organisation)
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _named(self, request: web.Request, title: str) -> None:
        """Refuse an irreversible action unless the study's name was typed."""
        typed = str((await request.post()).get("name", "")).strip()
        if typed != title:
            raise InputError(f"expected the study's name {title!r}, found {typed!r}")

    async def _cancel(self, study: str, request: web.Request) -> web.StreamResponse:
        registry = registry_of(self._work.site.coordinator_place(), study)
        await self._named(request, parse_study(registry.text).plan.name)
        cancel_study(
            self._work.site.coordinator_place(), study, reason="the coordinator cancelled it"
        )
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _close(self, study: str, request: web.Request) -> web.StreamResponse:
        registry = registry_of(self._work.site.coordinator_place(), study)
        await self._named(request, parse_study(registry.text).plan.name)
        close_study(self._work.site.coordinator_place(), study)
        raise web.HTTPSeeOther(f"/study/{study}")

    def _site_study(self, study: str) -> JoinedStudy:
        joined = self._joined(study)
        if joined is None:
            raise InputError(f"study: this site has not joined {study!r}")
        return joined

    async def _choice(self, request: web.Request) -> SourceChoice | None:
        given = await request.post()
        data = str(given.get("data", "")).strip()
        if not data:
            return None
        named = {key: str(given.get(key, "")).strip() for key in ("text", "label", "group")}
        choice = SourceChoice(
            data,
            (named["text"],) if named["text"] else None,
            (named["label"],) if named["label"] else None,
            group=named["group"] or None,
        )
        await asyncio.to_thread(choice.check)
        return choice.absolute()

    async def _inspect(self, study: str, request: web.Request) -> web.StreamResponse:
        joined, choice = self._site_study(study), await self._choice(request)
        described = joined.description
        if choice is None or described is None:
            raise InputError("data: name a file of this machine")
        source = open_source(choice.data, choice.options(described.plan))
        inspection = await asyncio.to_thread(inspect, source)
        rehearsed = await asyncio.to_thread(_rehearsed, described, joined, choice)
        content = section("What is in it", *inspected(inspection))
        again = section("Take part", join_form(joined, self._guard, choice))
        return study_page(study, "The data", content, rehearsed, again)

    async def _join(self, study: str, request: web.Request) -> web.StreamResponse:
        joined, choice = self._site_study(study), await self._choice(request)
        each = (await request.post()).get("each") == "yes"
        self._work.begin_join(joined, choice, each=each)
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _consent(self, study: str, request: web.Request) -> web.StreamResponse:
        waiting = self._work.of(study).consent
        name = str((await request.post()).get("name", "")).strip()
        if waiting is None:
            raise InputError("consent: no question is waiting")
        if request.match_info["act"] == "consent" and not name:
            raise InputError("consent: your name is missing")
        if not waiting[1].done():
            waiting[1].set_result(name if request.match_info["act"] == "consent" else "")
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _letter(self, study: str, request: web.Request) -> web.StreamResponse:
        # A second click or an outdated page must decide only about the message that it showed.
        activity = self._work.of(study)
        waiting = activity.letter
        shown = str((await request.post()).get("letter", ""))
        if waiting is not None and waiting[0].digest == shown and not waiting[1].done():
            activity.letter = None
            waiting[1].set_result(request.match_info["act"] == "let-go")
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _evaluate(self, study: str, _: web.Request) -> web.StreamResponse:
        self._work.begin_evaluation(self._site_study(study))
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _classify(self, study: str, request: web.Request) -> web.StreamResponse:
        joined = self._site_study(study)
        given, described = (await request.post()).get("file"), joined.description
        if not isinstance(given, web.FileField) or described is None:
            raise InputError("file: choose a file to label")
        path = labelled_path(joined, given.filename)
        plan, known = described.plan, recall(self._work.site, joined)
        path.write_bytes(given.file.read())
        try:
            text, encoder = (known.text, known.encoder) if known else (None, None)
            choice = SourceChoice(str(path), text, encoder=encoder)
            choice.open_encoder(plan)
            source = open_source(str(path), choice.options(plan, learning=False))
            documents = list(source.documents())
        finally:
            path.unlink()
        out = path.with_suffix(".csv")

        def deliver(answer: Classified) -> None:
            rows = list(as_table(by_document(documents, answer.classes, plan), plan))
            layout = TableLayout(label="label")
            write_documents(rows, out, format=Format.CSV, layout=layout, replace=True)

        self._work.begin_labelling(joined, documents, deliver)
        raise web.HTTPSeeOther(f"/study/{study}")

    async def _withdraw(self, study: str, request: web.Request) -> web.StreamResponse:
        joined = self._site_study(study)
        await self._named(request, joined.invitation.title)
        came = await withdraw(joined.membership, options=AskOptions(parse_study))
        return study_page(study, "Left", tag("p", came.says))


def _rehearsed(described: StudyDescription, joined: JoinedStudy, choice: SourceChoice) -> Html:
    """A rehearsal with these documents; nothing is sent."""
    study = described.rehearsed()
    peer = next((name for name in joined.invitation.seats if name in study.roster.peers), None)
    if peer is None:
        return tag("p", "This site brings no documents: it only helps.")
    documents = choice.read(described.plan)
    rehearsed = check_documents(study, peer, documents)
    lines = [tag("li", line) for line in rehearsed.sentences(study.plan)]
    return section("As the study would read them", tag("ul", *lines))
