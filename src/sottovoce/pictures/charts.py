"""Small pictures as SVG: bars, ROC curves, confusion tables, flows. No scripts, no fonts, no links.

Colours are classes of the page's style, so that pictures follow dark and light, and print. Each
picture has a title and a description in words for people who do not see it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log10

from sottovoce.pictures.html import Html, joined, tag

_LINE = 26
_NAMES = 150
_LETTER = 8
_BAR = 216
_LONGEST_BAR_NAME = 34
_WIDE = 440
_LONGEST_NAME = 20
"""The characters that fit beside a bar and stay legible on a page of 400 pixels."""
_SIDE, _EDGE = 300, 52
_MOST_ZEROS = 8
_TICK = 5
"""The most characters of a number at a tick."""
_DARK = 0.55
"""From how dark a cell is on, its number is written in the colour of the paper."""


@dataclass(frozen=True)
class Bar:
    """A named value of a bar chart, and how it is written."""

    name: str
    value: float
    shown: str


def bars(title: str, rows: Sequence[Bar], *, top: float | None = None) -> Html:
    """Horizontal bars, one below the other, with as much room for names as they need."""
    most = top or max((row.value for row in rows), default=0) or 1
    named = [cut(row.name, _LONGEST_BAR_NAME) for row in rows]
    edge = 14 + _LETTER * max(map(len, named), default=0)
    drawn = []
    for place, (row, name) in enumerate(zip(rows, named, strict=True)):
        y = place * _LINE
        length = max(_BAR * min(row.value / most, 1), 1)
        middle = y + _LINE / 2 + 4
        drawn += [
            tag("text", name, x=edge - 8, y=middle, class_="name end"),
            tag("rect", x=edge, y=y + 5, width=_BAR, height=_LINE - 10, rx=3, class_="track"),
            tag(
                "rect",
                x=edge,
                y=y + 5,
                width=f"{length:.1f}",
                height=_LINE - 10,
                rx=3,
                class_="bar",
            ),
            tag("text", row.shown, x=edge + _BAR + 8, y=middle, class_="value"),
        ]
    said = "; ".join(f"{row.name} {row.shown}" for row in rows)
    return picture(title, said, (edge + _BAR + 84, max(len(rows), 1) * _LINE), *drawn)


def roc(title: str, curves: Mapping[str, tuple[Sequence[float], Sequence[float], str]]) -> Html:
    """Curves of true positives over false positives; (false, true, area) by name."""
    drawn = [*_plane(Axis("false positive rate", 0, 1), Axis("true positive rate", 0, 1)), DIAGONAL]
    below = _SIDE + 74
    for place, (name, (false, true, area)) in enumerate(curves.items()):
        points = " ".join(
            f"{_EDGE + _SIDE * x:.1f},{10 + _SIDE * (1 - y):.1f}"
            for x, y in zip(false, true, strict=True)
        )
        kind = f"curve c{place % 8}"
        y = below + 22 * place
        drawn += [
            tag("polyline", points=points, class_=kind),
            tag("line", x1=_EDGE, y1=y - 4, x2=_EDGE + 24, y2=y - 4, class_=kind),
            tag("text", f"{cut(name)}: AUC {area}", x=_EDGE + 32, y=y, class_="value"),
        ]
    said = "; ".join(f"{name}: area {area}" for name, (_, _, area) in curves.items())
    return picture(title, said, (_SIDE + _EDGE + 20, below + 22 * len(curves) - 10), *drawn)


@dataclass(frozen=True)
class Axis:
    """An axis: its title, its ends and its ticks."""

    name: str
    low: float
    high: float
    ticks: tuple[float, ...] = ()

    def marks(self) -> tuple[float, ...]:
        """The ticks: as given, or four equal parts."""
        return self.ticks or tuple(self.low + (self.high - self.low) * n / 4 for n in range(5))

    def part(self, value: float) -> float:
        """Return a value's place between both ends, from 0 to 1."""
        return min(max((value - self.low) / ((self.high - self.low) or 1), 0.0), 1.0)


def _plane(across: Axis, up: Axis) -> Iterator[Html]:
    """A square with named axes and their ticks."""
    yield tag("rect", x=_EDGE, y=10, width=_SIDE, height=_SIDE, class_="frame")
    for value in across.marks():
        x = f"{_EDGE + _SIDE * across.part(value):g}"
        if 0 < across.part(value) < 1:
            yield tag("line", x1=x, y1=10, x2=x, y2=10 + _SIDE, class_="grid")
        if len(f"{value:g}") <= _TICK:
            yield tag("text", f"{value:g}", x=x, y=_SIDE + 27, class_="axis middle")
    for value in up.marks():
        y = 10 + _SIDE * (1 - up.part(value))
        if 0 < up.part(value) < 1:
            yield tag("line", x1=_EDGE, y1=f"{y:g}", x2=_EDGE + _SIDE, y2=f"{y:g}", class_="grid")
        if len(f"{value:g}") <= _TICK:
            yield tag("text", f"{value:g}", x=_EDGE - 6, y=f"{y + 4:g}", class_="axis end")
    middle = 10 + _SIDE / 2
    yield tag("text", across.name, x=_EDGE + _SIDE / 2, y=_SIDE + 48, class_="name middle")
    turned = f"rotate(-90 12 {middle:.0f})"
    yield tag("text", up.name, x=12, y=middle, class_="name middle", transform=turned)


DIAGONAL = tag("line", x1=_EDGE, y1=10 + _SIDE, x2=_EDGE + _SIDE, y2=10, class_="chance")
"""From the lower left to the upper right: what chance reaches, or what a score promises."""


def line(
    title: str, points: Sequence[tuple[float, float]], axes: tuple[Axis, Axis], *below: Html
) -> Html:
    """Points joined by a line; `below` is drawn first."""
    across, up = axes
    places = [(_EDGE + _SIDE * across.part(x), 10 + _SIDE * (1 - up.part(y))) for x, y in points]
    drawn = [
        *_plane(across, up),
        *below,
        tag("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in places), class_="curve c0"),
        *(tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_="bar") for x, y in places),
    ]
    said = "; ".join(f"{across.name} {x:g}: {y:.3f}" for x, y in points)
    return picture(title, said, (_SIDE + _EDGE + 20, _SIDE + 58), *drawn)


def confusion(
    title: str, names: Sequence[str], cells: Sequence[Sequence[tuple[float, str]]]
) -> Html:
    """A table of true × found, darker where more; each cell a number and how it is written."""
    size = max(34, min(72, 400 // max(len(names), 1)))
    edge = 40 + _LETTER * max((len(cut(name)) for name in names), default=0)
    # Names stand level where they fit above their column, else they are turned.
    level = max((_LETTER * len(name) for name in names), default=0) <= size
    top = 44 if level else 44 + 6 * max((len(cut(name, 16)) for name in names), default=0)
    width, middle = len(names) * size, top + len(names) * size / 2
    drawn = [
        tag("text", "found as", x=edge + width / 2, y=14, class_="axis middle"),
        tag("text", "true class", x=12, y=middle, class_="axis middle",
            transform=f"rotate(-90 12 {middle:.0f})"),
    ]  # fmt: skip
    for row, (name, values) in enumerate(zip(names, cells, strict=True)):
        y, whole = top + row * size, sum(value for value, _ in values) or 1
        drawn.append(tag("text", cut(name), x=edge - 10, y=y + size / 2 + 4, class_="name end"))
        x = edge + row * size + size / 2
        turned = None if level else f"rotate(-40 {x:.0f} {top - 8})"
        kind = "name middle" if level else "name"
        drawn.append(tag("text", cut(name, 16), x=x, y=top - 8, class_=kind, transform=turned))
        for column, (value, shown) in enumerate(values):
            at = edge + column * size
            kind = "right" if row == column else "wrong"
            share = min(1.0, 0.06 + 0.94 * value / whole) if value else 0.03
            # Among many classes most cells are empty, and their zeros would hide the others.
            written = "" if not value and len(names) > _MOST_ZEROS else shown
            place = {"x": at, "y": y, "width": size - 2, "height": size - 2, "rx": 3}
            over = " over" if share > _DARK else ""
            drawn += [
                tag("rect", **place, class_=f"cell {kind}", fill_opacity=f"{share:.2f}"),
                tag(
                    "text", written, x=at + size / 2 - 1, y=y + size / 2 + 4,
                    class_=f"count middle{over}",
                ),
            ]  # fmt: skip
    said = "; ".join(
        f"{name} as {predicted}: {shown}"
        for name, values in zip(names, cells, strict=True)
        for predicted, (_, shown) in zip(names, values, strict=True)
    )
    margin = 8 if level else 70
    return picture(title, said, (edge + width + margin, top + len(names) * size), *drawn)


@dataclass(frozen=True)
class Flow:
    """The bytes that went from one party to another."""

    sender: str
    recipient: str
    messages: int
    bytes: int


def flows(title: str, rows: Sequence[Flow]) -> Html:
    """Draw the bytes between parties: senders left, recipients right, thicker where more."""
    left = list(dict.fromkeys(row.sender for row in rows))
    right = list(dict.fromkeys(row.recipient for row in rows))
    step, x1, x2 = 44, _NAMES, _WIDE - _NAMES
    drawn = []
    for row in sorted(rows, key=lambda row: row.bytes):
        y1, y2 = left.index(row.sender) * step + 24, right.index(row.recipient) * step + 24
        width = max(1.0, 2.2 * (log10(max(row.bytes, 10)) - 1))
        path = f"M{x1},{y1} C{(x1 + x2) / 2:.0f},{y1} {(x1 + x2) / 2:.0f},{y2} {x2},{y2}"
        drawn.append(tag("path", d=path, class_="flow", stroke_width=f"{width:.1f}"))
    for place, name in enumerate(left):
        drawn.append(tag("text", cut(name), x=x1 - 8, y=place * step + 28, class_="name end"))
    for place, name in enumerate(right):
        drawn.append(tag("text", cut(name), x=x2 + 8, y=place * step + 28, class_="name"))
    said = "; ".join(
        f"{row.sender} to {row.recipient}: {row.messages:,} messages, {amount(row.bytes)}"
        for row in rows
    )
    return picture(title, said, (_WIDE, max(len(left), len(right), 1) * step + 8), *drawn)


def picture(title: str, said: str, size: tuple[int, int], *drawn: object) -> Html:
    """A figure with its title and its content in words for people who do not see it."""
    width, height = size
    svg = tag(
        "svg",
        tag("title", f"{title}. {said}"),
        joined(*drawn),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        role="img",
        xmlns="http://www.w3.org/2000/svg",
    )
    return tag("figure", tag("figcaption", title), svg)


def cut(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name that fits, cut in its middle."""
    tail = longest // 3
    return name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[-tail:]}"


def amount(count: float) -> str:
    """Bytes as people say them."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
