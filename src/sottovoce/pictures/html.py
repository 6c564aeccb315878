"""HTML as nested calls; whatever is not HTML already is escaped."""

import re
from html import escape
from typing import Any

from sottovoce.wire.printable import escaped_lines

_NUMBER = re.compile(r"[0-9][0-9.,]*( ?(%|s|bytes|kB|MB|GB))?")
_ALONE = frozenset({"br", "hr", "img", "input", "link", "meta"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def text(value: object) -> Html:
    """Any value as HTML: escaped, with unprintable characters written out."""
    return value if isinstance(value, Html) else Html(escape(escaped_lines(str(value))))


def tag(name: str, /, *children: object, **attributes: Any) -> Html:
    """An element; an attribute that is None is left out, `class_` and `for_` lose their stroke."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _ALONE:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(*children)}</{name}>")


def joined(*children: object) -> Html:
    """Elements and texts one after the other."""
    return Html("".join(text(child) for child in children))


def table(head: tuple[str, ...], rows: list[tuple[object, ...]], *, caption: str = "") -> Html:
    """A table whose first column names the row; numbers stand right."""
    numbers = [_is_number(cell) for cell in rows[0]] if rows else [False] * len(head)
    numbers[:1] = [False]
    kinds = ["number" if number else None for number in numbers]
    cells = zip(head, kinds, strict=True)
    heads = tag("tr", *(tag("th", cell, scope="col", class_=kind) for cell, kind in cells))
    body = [
        tag("tr", tag("th", row[0], scope="row"), *(_cell(cell) for cell in row[1:]))
        for row in rows
    ]
    named = tag("caption", caption) if caption else ""
    drawn = tag("table", named, tag("thead", heads), tag("tbody", *body))
    # Who has no mouse moves a wide table with the arrow keys, once it has the focus.
    said = f"table: {caption or ', '.join(head)}"
    return tag("div", drawn, class_="wide", tabindex="0", role="group", aria_label=said)


def _cell(value: object) -> Html:
    shown = f"{value:,}" if isinstance(value, int) else value
    return tag("td", shown, class_="number" if _is_number(value) else None)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or _NUMBER.fullmatch(str(value)) is not None
