"""Peers with different columns of the same patients, between machines: blocks joined sealed."""

import asyncio
import csv
from pathlib import Path

import numpy as np
import pytest

from harness.network import Network, described
from sottovoce.cli.commands.classify import _read
from sottovoce.cli.source_choice import SourceChoice
from sottovoce.config.study_file import parse_study
from sottovoce.errors import InputError
from sottovoce.study.arrangement import Partition, Remote
from sottovoce.study.queries.evaluation import check_enough_peers

OWN = {"north": "pulse", "harbour": "sugar", "valley": "sight"}
TEXT = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
partition = "features"
shared = ["ward"]
alpha = 2.0
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
ward = ["eye", "heart", "lung"]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
sight = { low = -1, high = 1 }
[holdings]
north = ["pulse"]
harbour = ["sugar"]
valley = ["sight"]
[deadlines]
enrolment = "5 minutes"
stage = "2 minutes"
"""
WARDS = ("eye", "heart", "lung")


def patients(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Wards, three measurements on the grid, and +1 for the sick."""
    rng = np.random.default_rng(seed)
    wards = rng.integers(0, 3, count)
    values = np.rint(64 * rng.uniform(-1, 1, (count, 3))) / 64
    return wards, values, np.where(values.sum(axis=1) + wards - 1 > 0, 1.0, -1.0)


def write_part(path: Path, place: int, seed: int) -> Path:
    """What one peer has of the patients, in an order of its own."""
    wards, values, signs = patients(90, 1)
    order = np.random.default_rng(seed).permutation(90)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["ward", list(OWN.values())[place], "outcome"])
        for number in order:
            outcome = "sick" if signs[number] > 0 else "well"
            rows.writerow([WARDS[wards[number]], values[number, place], outcome])
    return path


def plain_theta() -> np.ndarray:
    """Ridge on blocks: a ward with a class is a row Σx/√n with the target ±√n."""
    wards, values, signs = patients(90, 1)
    rows = np.column_stack([np.ones(90), *(wards == number for number in range(3)), values])
    blocks, targets = [], []
    for ward in range(3):
        for sign in (-1.0, 1.0):
            mine = (wards == ward) & (signs == sign)
            if mine.sum() >= 3:
                blocks.append(rows[mine].sum(axis=0) / np.sqrt(mine.sum()))
                targets.append(sign * np.sqrt(mine.sum()))
    B, t = np.array(blocks), np.array(targets)
    return np.linalg.solve(B.T @ B + 2.0 * np.eye(B.shape[1]), B.T @ t)


def test_sites_learn_from_different_columns_and_label_what_they_have(tmp_path: Path) -> None:
    plan = described(TEXT).plan
    parts = {}
    for place, site in enumerate(OWN):
        choice = SourceChoice(
            str(write_part(tmp_path / f"{site}.csv", place, place + 7)), ("none",), ("outcome",)
        )
        choice.check()
        parts[site] = choice.read(plan, peer=site)
    net = Network(tmp_path, TEXT, parts)
    net.create()
    asked = _read(SourceChoice(str(tmp_path / "valley.csv")), plan, None, peer="valley")[:40]

    async def story() -> None:
        async with net.serving():
            await net.join_all(*OWN)
        async with net.serving(), net.staying("north", "harbour"):
            answer = await net.classify("valley", asked)
        rows = np.array(
            [
                [1, *(row.columns["ward"] == ward for ward in WARDS), row.columns["sight"]]
                for row in asked
            ],
            np.float64,
        )
        scores = rows @ plain_theta()[[0, 1, 2, 3, 6]]
        clear = np.abs(scores) > 0.02
        found = np.array([classes[0] for classes in answer.classes])
        assert (found == np.where(scores > 0, "sick", "well"))[clear].all()
        assert clear.sum() > 30
        assert len(set(found)) == 2

    asyncio.run(story())


def test_what_the_settings_say() -> None:
    text = TEXT.replace("768", "3072")
    arrangement = parse_study(text).plan.arrangement
    assert (arrangement.partition, arrangement.remote) == (Partition.FEATURES, Remote.ZERO)
    assert arrangement.columns_of("valley") == ("ward", "sight")
    held_out = parse_study(text.replace("held_out = 0.0", "held_out = 0.2")).plan
    with pytest.raises(InputError, match="--group: expected the column that names whom a row"):
        SourceChoice("rows.csv").options(held_out, peer="valley")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("alpha = 2.0", 'remote = "full"', "remote: expected zero .* found full, which is for in-"),
        ('shared = ["ward"]', 'shared = ["age"]', "expected a holder of column 'ward', found none"),
        ('valley = ["sight"]\n', "", "expected a holder of column 'sight', found none"),
        ('["sight"]\n', '["sight", "sugar"]\n', "found 'sugar' at several"),
        ('partition = "features"\n', "", "shared: expected nothing in partition documents"),
        ("features = 0", "features = 64", "partition features is for columns, found 64 words"),
    ],
)
def test_what_does_not_fit_is_named(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=says):
        parse_study(TEXT.replace("768", "3072").replace(old, new))


def test_two_peers_are_told_at_once_that_an_evaluation_needs_three() -> None:
    text = TEXT.replace("768", "3072")
    check_enough_peers(parse_study(text).rehearsed())
    for gone in ('valley = "Valley Practice"\n', 'valley = ["sight"]\n'):
        text = text.replace(gone, "")
    text = text.replace("sight = { low = -1, high = 1 }\n", "").replace(
        "features = 0", "features = 0\nmin_peers = 2"
    )
    with pytest.raises(InputError, match="evaluate: expected at least 3 peers, found 2"):
        check_enough_peers(parse_study(text).rehearsed())
