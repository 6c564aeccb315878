"""The documentation of conversations was executed."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_session_in_the_documentation_works() -> None:
    text = (DOCS / "conversations.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {"__name__": "docs.conversations"}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page, so that it cannot lie
    assert "outcome" in names
