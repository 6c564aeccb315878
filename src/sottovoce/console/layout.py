"""The common frame of all pages of the console, and their common parts."""

import segno
from aiohttp import web

from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.study_pages import links
from sottovoce.pictures.html import Html, joined, tag

Link = tuple[str, str]
_QR_MARGIN = 4
"""The empty margin of a QR code, which cameras need."""


def page(title: str, *content: object, ways: tuple[Link, ...] = (), here: str = "") -> str:
    """A page with its menu; the part in `live` is renewed when something changes."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{title} · Sottovoce"),
        tag("link", rel="stylesheet", href="/static/style.css"),
        tag("link", rel="stylesheet", href="/static/console.css"),
        tag("script", src="/static/console.js", defer="defer"),
    )
    items = [
        tag("li", tag("a", name, href=to, aria_current="page" if to == here else None))
        for to, name in (("/", "Studies"), *ways)
    ]
    top = tag(
        "div",
        tag("a", "Sottovoce", href="/", class_="brand"),
        tag("nav", tag("ul", *items), aria_label="Pages"),
        tag("button", "Print", type="button", class_="print", hidden="hidden"),
    )
    body = tag(
        "body",
        tag("a", "To the content", href="#live", class_="skip"),
        tag("header", top, class_="top"),
        tag("main", tag("h1", title), joined(*content), id="live"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def study_page(study: str, title: str, *content: object, here: str = "") -> web.Response:
    """A page of one study, with links to its other pages."""
    shown = page(title, *content, ways=links(study), here=here)
    return web.Response(text=shown, content_type="text/html")


def form(
    guard: ConsoleGuard, action: str, *fields: object, button: Html, kind: str | None = None
) -> Html:
    """A form with this session's token; nothing in a read-only console.

    Of kind "drops", a file that is dropped on it is the file of its field; one of kind "line"
    stands in a line of text.
    """
    if guard.read_only:
        return Html("")
    return tag(
        "form",
        tag("input", type="hidden", name="word", value=guard.form_word),
        *fields,
        button,
        method="post",
        action=action,
        class_=kind,
        enctype="multipart/form-data",
    )


def button(words: str, *, kind: str | None = None, to: str | None = None) -> Html:
    """A form's button: the main one, one of kind "second" or "danger", or to another place."""
    return tag("button", words, type="submit", class_=kind, formaction=to)


def field(name: str, title: str, *, value: str = "", hint: str = "", needed: bool = True) -> Html:
    """A text field with its label."""
    return joined(
        tag("label", title, for_=name),
        tag(
            "input",
            type="text",
            id=name,
            name=name,
            value=value or None,
            autocomplete="off",
            required="required" if needed else None,
            aria_describedby=f"{name}-hint" if hint else None,
        ),
        tag("small", hint, id=f"{name}-hint", class_="soft") if hint else "",
    )


def qr_picture(line: str, *, title: str) -> Html:
    """A line as a QR code; black on white even on dark pages, because cameras expect it."""
    rows = [list(row) for row in segno.make(line, error="m", micro=False).matrix]
    side = len(rows) + 2 * _QR_MARGIN
    path = "".join(
        f"M{x + _QR_MARGIN},{y + _QR_MARGIN}h1v1h-1z"
        for y, row in enumerate(rows)
        for x, dark in enumerate(row)
        if dark
    )
    svg = tag(
        "svg",
        tag("title", title),
        tag("rect", width=side, height=side, fill="#fff"),
        tag("path", d=path, fill="#000"),
        viewBox=f"0 0 {side} {side}",
        width=4 * side,
        role="img",
        shape_rendering="crispEdges",
        xmlns="http://www.w3.org/2000/svg",
    )
    return tag("figure", svg, tag("figcaption", title))
