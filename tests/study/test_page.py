"""The page about studies was executed."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "studies.md"


def test_the_session_on_the_page_works() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 6
    names: dict[str, object] = {"__name__": "docs.studies"}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page, so that it cannot lie
    assert "Fingerprint" in str(names["card"])
