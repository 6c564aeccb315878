"""The Markdown that our own cards and pages use, as HTML."""

from markdown_it import MarkdownIt

from sottovoce.pictures.html import Html


def html_of(markdown: str) -> Html:
    """The page as HTML; HTML inside it, and links, are shown as text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.disable(["link", "image", "autolink", "html_block", "html_inline", "entity"])
    # Who has no mouse moves a wide table with the arrow keys, once it has the focus.
    focusable = '<div class="wide" tabindex="0" role="group" aria-label="table"><table>'
    rendered = reader.render(markdown).replace("<table>", focusable)
    return Html(rendered.replace("</table>", "</table></div>"))
