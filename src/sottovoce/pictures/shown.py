"""Results in a notebook: HTML that carries its own style, and stays readable as text."""

from dataclasses import dataclass, field

from sottovoce.pictures.html import Html, joined, tag
from sottovoce.pictures.page import style


@dataclass(frozen=True)
class Shown:
    """Something to look at: HTML in a notebook, `text` in a terminal."""

    html: Html = field(repr=False)
    text: str

    def _repr_html_(self) -> str:
        return notebook_html(self.html)

    def __repr__(self) -> str:
        return self.text


def notebook_html(*content: object) -> str:
    """Content in a box of its own, with the style of our pages inside it alone."""
    # Colours follow the browser and not the notebook, so the ground beneath them is ours, too.
    inner = style().replace(":root", ":scope").replace("body {", ":scope {")
    scoped = f"@scope (.sottovoce) {{ {inner} }}"
    return tag("div", tag("style", Html(scoped)), joined(*content), class_="sottovoce")
