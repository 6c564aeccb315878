"""Labels of documents and of sentences together, from study.toml and from what `notes` writes."""

from pathlib import Path

import pytest

from sottovoce.cli.source_choice import SourceChoice
from sottovoce.config.study_file import parse_study
from sottovoce.datasets.notes import clinical_notes, write_notes
from sottovoce.errors import InputError

TEXT = """
[study]
name = "urgency, and where drugs are named"
coordinator = "Institute"
level = "sentence"
labelling = "levels"
types = ["Drug"]
labels = ["routine", "urgent"]

[peers]
north = "Northfield"
south = "Southgate"
west = "Westhill"
"""


def test_notes_are_read_with_both_levels(tmp_path: Path) -> None:
    plan = parse_study(TEXT).plan
    assert plan.labels.names == ("Drug", "routine", "urgent")
    assert not plan.labels.exclusive
    (path,) = write_notes(clinical_notes(40, sites=1, random_state=3), tmp_path, kind="jsonl")
    documents = SourceChoice(str(path), ("text",), ("urgency",)).read(plan)
    assert {one.label for one in documents} == {"routine", "urgent"}
    assert any(span.type == "Drug" for one in documents for span in one.spans)


@pytest.mark.parametrize(
    ("old", "says"),
    [
        ('labels = ["routine", "urgent"]\n', "labels: expected the documents' labels, found"),
        ('types = ["Drug"]\n', "types: expected the entity types, found nothing"),
    ],
)
def test_both_levels_are_named(old: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_study(TEXT.replace(old, ""))
