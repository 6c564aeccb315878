"""The page about arrangements was executed."""

import re
from pathlib import Path

from sottovoce.config.study_file import parse_study
from sottovoce.study.arrangement import Remote

PAGE = Path(__file__).parents[2] / "docs" / "arrangements.md"


def test_the_session_on_the_page_works() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, object] = {"__name__": "docs.arrangements"}
    exec("\n".join(blocks), names)  # noqa: S102 - our own page, so that it cannot lie
    labels = names["labels"]
    assert len(labels) == 8  # type: ignore[arg-type]
    assert "learn which entities are asked about" in str(names["page"])


def test_the_study_between_machines_is_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    text, part, alone, learner = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert parse_study(alone).rehearsed().outsourced
    assert parse_study(alone.replace("[columns]", f"{learner}[columns]")).plan.descends
    helped = re.sub(r"(?s)partition = .*?\n\n", 'engine = "paillier"\n\n', text, count=1)
    helped = re.sub(r"(?s)\[(holdings|roles|helpers)\].*?(\n\n|$)", "", helped)
    study = parse_study(helped + part.replace("north", "alice")).rehearsed()
    assert study.roster.intermediary("alice") == "intermediary-alice"
    arrangement = parse_study(text).plan.arrangement
    assert arrangement.columns_of("bob") == ("ward", "sugar")
    assert arrangement.remote is Remote.NORMALISED
