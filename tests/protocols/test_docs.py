"""The documentation of conversations was executed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(("page", "count"), [("conversations", 4), ("blind-sum", 1)])
def test_the_session_in_the_documentation_works(page: str, count: int) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == count
    names: dict[str, object] = {"__name__": f"docs.{page}"}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page, so that it cannot lie
    assert "outcome" in names
