"""A study of [columns] alone, from files without text to labels, between machines."""

import asyncio
import csv
from pathlib import Path

import numpy as np
import pytest

from harness.network import Network, described
from sottovoce.cli.commands.classify import _documents, _opened
from sottovoce.cli.source_choice import SourceChoice
from sottovoce.config.study_file import example, parse_study
from sottovoce.errors import InputError
from sottovoce.text.columns import ROW, Categorical, Numeric

SITES = ("north", "harbour", "valley")
TEXT = """
[study]
name = "readmission"
coordinator = "Institute"
labels = ["home", "back"]
features = 0
distrusted = ["ward"]
epsilon = 0.5
alpha = 4.0
held_out = 0.0
key_bits = 768
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
evaluator = "north"
dealer = "harbour"
[columns]
ward = ["eye", "heart"]
pulse = { low = 40, high = 168 }
[deadlines]
enrolment = "5 minutes"
stage = "2 minutes"
"""


def write_table(path: Path, seed: int, count: int = 40) -> Path:
    """Patients with a pulse on the grid, so that plaintext has the very numbers."""
    rng = np.random.default_rng(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["ward", "pulse", "outcome"])
        for ward, pulse in zip(
            rng.choice(["eye", "heart"], count), rng.integers(40, 168, count), strict=True
        ):
            bad = pulse + 30 * (ward == "heart") + rng.normal(0, 8) > 120
            rows.writerow([ward, pulse, "back" if bad else "home"])
    return path


def numbers(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    table = [
        (1, row["ward"] == "eye", row["ward"] == "heart", (int(row["pulse"]) - 104) / 64)
        for row in rows
    ]
    signs = [1.0 if row["outcome"] == "back" else -1.0 for row in rows]
    return np.array(table, np.float64), np.array(signs)


def test_three_sites_learn_from_columns_and_label_rows(tmp_path: Path) -> None:
    plan = described(TEXT).plan
    files = {site: write_table(tmp_path / f"{site}.csv", seed) for seed, site in enumerate(SITES)}
    choices = {
        site: SourceChoice(str(file), ("none",), ("outcome",)) for site, file in files.items()
    }
    for choice in choices.values():
        choice.check()
    net = Network(tmp_path, TEXT, {site: choice.read(plan) for site, choice in choices.items()})
    net.create()
    choice = SourceChoice(str(write_table(tmp_path / "asked.csv", 9, 24)))
    asked = list(_documents(_opened(choice, plan, None), plan))
    assert asked[0].text == ROW
    assert set(asked[0].columns) == {"ward", "pulse"}
    assert set(asked[0].kept) == {"ward", "pulse", "outcome"}

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)
        async with net.serving(), net.staying("north", "harbour"):
            answer = await net.classify("valley", asked)
        rows, signs = (
            np.concatenate(part) for part in zip(*map(numbers, files.values()), strict=True)
        )
        gamma = np.diag([4.0, 2.0, 2.0, 4.0])
        theta = np.linalg.solve(rows.T @ rows + gamma, rows.T @ signs)
        scores = numbers(tmp_path / "asked.csv")[0] @ theta
        clear = np.abs(scores) > 0.01
        expected = np.where(scores > 0, "back", "home")
        labels = np.array([classes[0] for classes in answer.classes])
        assert (labels == expected)[clear].all()
        assert clear.sum() > 20

    asyncio.run(story())


def test_what_a_study_of_columns_alone_is() -> None:
    plan = parse_study(TEXT.replace("768", "3072")).plan
    assert not plan.has_text
    assert plan.columns == (Categorical("ward", ("eye", "heart")), Numeric("pulse", 40, 168))
    assert (plan.features, plan.words, plan.weighting.bias) == (1, (ROW,), 0.0)
    assert plan.distrusted == (1, 2)
    with pytest.raises(InputError, match="--text: rows of this study have no text, found note"):
        SourceChoice("rows.csv", text=("note",)).options(plan)
    with pytest.raises(InputError, match="--text: name the column that holds the text"):
        SourceChoice("rows.csv", text=("none",)).options(parse_study(example()).plan)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('words = ["a"]', "line 3: study.words: expected nothing: with features = 0 rows are"),
        ("ngrams = [1, 2]", "line 3: study.ngrams: expected nothing: with features = 0"),
        ('distrusted = ["age"]', r"line 3: study.distrusted: .* found 'age'"),
    ],
)
def test_settings_of_text_are_refused_by_name(line: str, says: str) -> None:
    text = TEXT.replace("768", "3072").replace('distrusted = ["ward"]\n', "")
    with pytest.raises(InputError, match=says):
        parse_study(text.replace("[study]\n", f"[study]\n{line}\n"))
