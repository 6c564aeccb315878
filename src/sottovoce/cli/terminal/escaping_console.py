"""Rich's console, which escapes control characters in every text that it shows."""

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
        """Escape text that comes another way, such as a Markdown page or a progress bar."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(escaped_lines(segment.text), segment.style)
