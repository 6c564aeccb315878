"""docs/messages.md says what the code says."""

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_is_what_the_code_says() -> None:
    code = "import runpy; print(runpy.run_path('make_messages.py')['page'](), end='')"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True
    ).stdout
    written = (DOCS / "messages.md").read_text(encoding="utf-8")
    assert made == written, "run: python docs/make_messages.py"
