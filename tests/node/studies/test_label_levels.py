"""Labels of documents and of sentences together, from study.toml and from what `notes` writes."""

import asyncio
from pathlib import Path

import pytest

from harness.network import Network, described
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


SMALL = "features = 48\nbucket_bits = 12\nquery_budget = 4000\nkey_bits = 768\n"
MORE = """
[roles]
evaluator = "north"
dealer = "south"
[deadlines]
enrolment = "5 minutes"
stage = "2 minutes"
"""


def test_notes_are_read_with_both_levels(tmp_path: Path) -> None:
    plan = parse_study(TEXT).plan
    assert plan.labels.names == ("Drug", "routine", "urgent")
    assert not plan.labels.exclusive
    (path,) = write_notes(clinical_notes(40, sites=1, random_state=3), tmp_path, kind="jsonl")
    documents = SourceChoice(str(path), ("text",), ("urgency",)).read(plan)
    assert {document.label for document in documents} == {"routine", "urgent"}
    assert any(span.type == "Drug" for document in documents for span in document.spans)


# By default study/test_levels.py, in memory.
@pytest.mark.soak
def test_sites_learn_both_levels(tmp_path: Path) -> None:
    text = TEXT.replace("types =", SMALL + "types =") + MORE
    plan = described(text).plan
    paths = write_notes(
        clinical_notes(150, sites=3, random_state=3), tmp_path / "notes", kind="jsonl"
    )
    sites = ("north", "south", "west")
    parts = {
        site: SourceChoice(str(path), ("text",), ("urgency",)).read(plan)
        for site, path in zip(sites, paths, strict=True)
    }
    net = Network(tmp_path, text, parts)
    net.create()

    async def story() -> set[str]:
        async with net.serving():
            await net.join_all(*sites)
        async with net.serving(), net.staying("north", "south"):
            answer = await net.classify("west", parts["west"][:10])
        return {name for classes in answer.classes for name in classes}

    result = asyncio.run(story())
    assert "Drug" in result
    assert result & {"routine", "urgent"}


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
