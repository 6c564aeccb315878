"""Peers with different columns of the same patients, between machines: blocks joined sealed."""

import asyncio
import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.network import TOY_POLICY, Network, described
from sottovoce.cli.commands.classify import _documents, _opened
from sottovoce.cli.source_choice import SourceChoice
from sottovoce.config.study_file import parse_study
from sottovoce.course.news import SeatWaiting
from sottovoce.errors import InputError
from sottovoce.study.arrangement import Partition, Remote
from sottovoce.study.evaluations.evaluation import check_enough_peers
from sottovoce.text.documents import Document

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


def asked_rows(choice: SourceChoice, net: Network, count: int) -> list[Document]:
    """The first rows of a table as `classify` reads them."""
    plan = described(net.text).plan
    return list(_documents(_opened(choice, plan, None, peer="valley"), plan))[:count]


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
        rows.writerow(["patient", "ward", list(OWN.values())[place], "outcome"])
        for number in order:
            outcome = "sick" if signs[number] > 0 else "well"
            name = f"patient {number}"
            rows.writerow([name, WARDS[wards[number]], values[number, place], outcome])
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


def expected_scores(asked: Sequence[Document]) -> np.ndarray:
    """What the plaintext learner gives for a row of valley's with the others' own columns."""
    _, values, _ = patients(90, 1)
    rows = np.zeros((len(asked), 7))
    for place, row in enumerate(asked):
        rows[place, 0] = 1
        rows[place, 1 + WARDS.index(row.columns["ward"])] = 1
        rows[place, 6] = row.columns["sight"]
        rows[place, 4:6] = values[int(row.group.removeprefix("patient ")), :2]
    return rows @ plain_theta()


def federated(root: Path) -> tuple[Network, dict[str, Path]]:
    text = TEXT.replace("alpha = 2.0", 'alpha = 2.0\nremote = "full"')
    plan, paths, parts = described(text).plan, {}, {}
    for place, site in enumerate(OWN):
        paths[site] = write_part(root / f"{site}.csv", place, place + 7)
        choice = SourceChoice(str(paths[site]), ("none",), ("outcome",), group="patient")
        choice.check()
        parts[site] = choice.read(plan, peer=site)
    net = Network(root, text, parts)
    net.create()
    return net, paths


# By default e2e/test_arrangements.py kills who answers.
@pytest.mark.soak
def test_a_query_waits_for_a_site_that_answers_and_comes_later(tmp_path: Path) -> None:
    net, paths = federated(tmp_path)
    choice = SourceChoice(str(paths["valley"]), group="patient")
    asked = asked_rows(choice, net, 4)
    policy = replace(TOY_POLICY, remotes=frozenset(Remote))

    async def story() -> None:
        async with net.serving():
            await asyncio.gather(*(net.join(site, policy=policy) for site in OWN))
        opened = net.when(lambda event: isinstance(event, SeatWaiting) and event.seat == "valley")
        async with net.serving(), net.staying("north"):
            asking = asyncio.create_task(net.classify("valley", asked))
            await asyncio.wait({asking, asyncio.create_task(opened.wait())}, timeout=30)
            assert not asking.done()
            async with net.staying("harbour"):
                answer = await asking
        labels = [classes[0] for classes in answer.classes]
        assert labels == ["sick" if score > 0 else "well" for score in expected_scores(asked)]

    asyncio.run(story())


# By default estimators/test_partition_mistakes.py names it.
@pytest.mark.soak
def test_an_entity_that_only_one_peer_has_is_named(tmp_path: Path) -> None:
    net, paths = federated(tmp_path)
    choice = SourceChoice(str(paths["valley"]), group="patient")
    known = asked_rows(choice, net, 1)
    stranger = [replace(known[0], group="patient 900")]
    policy = replace(TOY_POLICY, remotes=frozenset(Remote))

    async def story() -> None:
        async with net.serving():
            await asyncio.gather(*(net.join(site, policy=policy) for site in OWN))
        async with net.serving(), net.staying("north", "harbour"):
            with pytest.raises(InputError, match="none for number 1 of those asked"):
                await net.classify("valley", stranger)
            assert (await net.classify("valley", known)).classes

    asyncio.run(story())


def test_what_the_settings_say() -> None:
    text = TEXT.replace("768", "3072")
    arrangement = parse_study(text).plan.arrangement
    assert (arrangement.partition, arrangement.remote) == (Partition.FEATURES, Remote.NORMALISED)
    assert arrangement.columns_of("valley") == ("ward", "sight")
    held_out = parse_study(text.replace("held_out = 0.0", "held_out = 0.2")).plan
    with pytest.raises(InputError, match="--group: name the column that says whom a row"):
        SourceChoice("rows.csv").options(held_out, peer="valley")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "alpha = 2.0",
            'answering = ["dora"]',
            "answering: expected answering peers",
        ),
        (
            'labels = ["well"',
            'labels = ["ill", "well"',
            "remote: a normalised remote part is for two",
        ),
        ('shared = ["ward"]', 'shared = ["age"]', "nobody holds column 'ward'"),
        ('valley = ["sight"]\n', "", "holdings.valley: expected columns that this peer alone has"),
        ('["sight"]\n', '["sight", "sugar"]\n', "found 'sugar' at several"),
        (
            'ward = ["eye", "heart", "lung"]',
            "ward = { low = 0, high = 9 }",
            "shared column 'ward' has no public list of values",
        ),
        ('partition = "features"\n', "", "shared: expected nothing in partition documents"),
        ("features = 0", "features = 64", "partition features is for columns, found 64 words"),
    ],
)
def test_what_does_not_fit_is_named(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=says) as refused:
        parse_study(TEXT.replace("768", "3072").replace(old, new))
    # As study.toml writes it, not as Python does.
    assert not any("=(" in hint or "={" in hint for hint in refused.value.hints)


def test_two_peers_are_told_at_once_that_an_evaluation_needs_three() -> None:
    text = TEXT.replace("768", "3072")
    check_enough_peers(parse_study(text).rehearsed())
    for gone in ('valley = "Valley Practice"\n', 'valley = ["sight"]\n'):
        text = text.replace(gone, "")
    text = text.replace("sight = { low = -1, high = 1 }\n", "").replace(
        "features = 0", "features = 0\nmin_peers = 2"
    )
    with pytest.raises(InputError, match=r"remote: a remote part hides in the sum .* found two"):
        parse_study(text)
    text = text.replace("alpha = 2.0", 'alpha = 2.0\nremote = "zero"')
    with pytest.raises(InputError, match="evaluate: expected at least 3 peers, found 2"):
        check_enough_peers(parse_study(text).rehearsed())


def test_holdings_may_stand_in_any_order() -> None:
    written = 'north = ["pulse"]\nharbour = ["sugar"]\nvalley = ["sight"]\n'
    other = 'valley = ["sight"]\nnorth = ["pulse"]\nharbour = ["sugar"]\n'
    assert other != written in TEXT
    assert described(TEXT.replace(written, other)).plan == described(TEXT).plan


def test_a_peer_without_a_column_of_its_own_is_named() -> None:
    text = TEXT.replace('harbour = ["sugar"]\n', "")
    text = text.replace("sugar = { low = -1, high = 1 }\n", "")
    with pytest.raises(InputError, match=r"holdings.harbour: .* this peer alone has") as refused:
        described(text)
    assert refused.value.hints == ('harbour = ["COLUMN"]',)


def test_a_holder_that_is_no_peer_is_named() -> None:
    with pytest.raises(InputError, match=r"holdings.harbor: expected a name from \[peers\]") as who:
        described(TEXT.replace('harbour = ["sugar"]', 'harbor = ["sugar"]'))
    assert who.value.hints == ("did you mean harbour?",)
