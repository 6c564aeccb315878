"""A whole page in one file: its style is in it, and nothing is fetched from anywhere."""

from functools import cache
from importlib.resources import files

from sottovoce.pictures.html import Html, joined, tag

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@cache
def style() -> str:
    """The style of all pages."""
    return files("sottovoce.pictures").joinpath("style.css").read_text(encoding="utf-8")


def page(title: str, *content: object) -> str:
    """A document that opens without a network, dark and light, and prints."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Html(style())),
    )
    body = tag("body", tag("main", joined(*content)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def section(title: str, *content: object) -> Html:
    """A part of a page, under its heading."""
    name = "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())
    return tag("section", tag("h2", title, id=name), joined(*content))
