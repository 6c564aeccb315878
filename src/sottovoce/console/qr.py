"""A line as a QR picture, to be read by a camera instead of copied."""

import segno

from sottovoce.pictures.html import Html, tag

_QUIET = 4
"""Empty modules around the picture, without which cameras do not find it."""


def qr_picture(line: str, *, title: str) -> Html:
    """Black on white in dark pages, too: cameras expect it."""
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
