"""An invitation as a QR code for a camera."""

import segno

from sottovoce.pictures.html import Html, tag

_QUIET = 4
"""The empty margin that cameras need."""


def qr_picture(line: str, *, title: str) -> Html:
    """Black on white even on dark pages, because cameras expect it."""
    rows = [list(row) for row in segno.make(line, error="m", micro=False).matrix]
    side = len(rows) + 2 * _QUIET
    path = "".join(
        f"M{x + _QUIET},{y + _QUIET}h1v1h-1z"
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
