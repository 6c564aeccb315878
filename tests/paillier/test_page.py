"""The page about encrypted numbers was executed."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "paillier.md"


def test_the_sessions_on_the_page_work() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 4
    names: dict[str, object] = {"__name__": "docs.paillier"}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page, so that it cannot lie
    assert "received" in names
