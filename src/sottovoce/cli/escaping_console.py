"""Rich's console; the terminal's escapes that it writes are its own, never those of a text."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from sottovoce.wire.printable import escaped_lines


class EscapingConsole(Console):
    """Shows every character of a text in its place."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape before measuring, so that tables are as wide as what they show."""
        return super().render_str(escaped_lines(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Escape what came another way, such as the text of a Markdown page or a bar."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped_lines(segment.text), segment.style)
