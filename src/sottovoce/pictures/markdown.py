"""The Markdown that our own cards and pages use, as HTML."""

from markdown_it import MarkdownIt

from sottovoce.pictures.html import Html


def html_of(markdown: str) -> Html:
    """The page as HTML; HTML inside it, and links, are shown as text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    reader.disable(["link", "image", "autolink", "html_block", "html_inline", "entity"])
    return Html(reader.render(markdown))
