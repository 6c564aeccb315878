"""A whole page in one file: its style is in it, and nothing is fetched from anywhere."""

from collections.abc import Iterable
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


def tiles(figures: Iterable[tuple[str, str]]) -> Html:
    """Numbers that matter most, each above what it is."""
    return tag(
        "div",
        *(
            tag("div", tag("strong", shown), tag("span", name), class_="tile")
            for shown, name in figures
        ),
        class_="tiles",
    )


def section(title: str, *content: object) -> Html:
    """A part of a page, under its heading."""
    return tag("section", tag("h2", title, id=_name(title)), joined(*content))


def linked(title: str) -> Html:
    """The way to the section with this title."""
    return tag("a", title, href=f"#{_name(title)}")


def _name(title: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in title.lower()).split())


def folded(title: str, *content: object, name: str) -> Html:
    """A section that is folded until its title is chosen; `name` is its id."""
    return tag("details", tag("summary", title), joined(*content), id=name)


def coded(words: str) -> Html:
    """A sentence in which what stands between backticks is a command."""
    parts = words.split("`")
    return joined(*(tag("code", part) if place % 2 else part for place, part in enumerate(parts)))
