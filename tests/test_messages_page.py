"""docs/messages.md says what the code says."""

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

from sottovoce.protocols import disclosures

DOCS = Path(__file__).parents[1] / "docs"


def test_the_page_is_what_the_code_says() -> None:
    code = "import runpy; print(runpy.run_path('make_messages.py')['page'](), end='')"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=DOCS, capture_output=True, text=True, check=True
    ).stdout
    written = (DOCS / "messages.md").read_text(encoding="utf-8")
    assert made == written, "run: python docs/make_messages.py"


def test_a_phrase_that_disclosures_share_is_a_constant() -> None:
    phrases: Counter[str] = Counter()
    sources = (path.read_text("utf-8") for path in (DOCS.parent / "src").rglob("*.py"))
    for source in (source for source in sources if "Disclosure(" in source):
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.Call(ast.Name("Disclosure"), keywords=keywords):
                    texts = [keyword.value for keyword in keywords]
                    phrases.update(text.value for text in texts if isinstance(text, ast.Constant))
    assert len(phrases) > 150
    constants = {value for name, value in vars(disclosures).items() if name.isupper()}
    assert [phrase for phrase, count in phrases.items() if count > 1 or phrase in constants] == []
