"""A machine that a site does not trust builds its contribution, between machines."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from harness.network import Network, read_toy
from harness.tables import patient_rows
from sottovoce.errors import InputError
from sottovoce.study.queries.classification import Answer
from sottovoce.text.documents import Document

TEXT = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
engine = "paillier"
alpha = 2.0
held_out = 0.0
key_bits = 768
kappa = 40
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
cloud = "Blue Cloud"
[intermediaries]
north = "cloud"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""
SITES = ("north", "harbour", "valley", "evaluator", "intermediary-north")


def plain_theta(parts: Mapping[str, Sequence[Document]]) -> np.ndarray:
    X = np.array([[1, *one.columns.values()] for part in parts.values() for one in part])
    y = np.array([1 if one.label == "sick" else -1 for part in parts.values() for one in part])
    return np.linalg.solve(X.T @ X + 2.0 * np.eye(3), X.T @ y)


async def trained_and_asked(net: Network, asked: Sequence[Document]) -> Answer:
    async with net.serving():
        await asyncio.gather(*(net.join(site) for site in SITES))
    async with net.serving(), net.staying("evaluator"):
        return await net.classify("north", asked)


def test_the_labels_are_those_of_all_rows_together(tmp_path: Path) -> None:
    parts = {site: patient_rows(seed) for seed, site in enumerate(SITES[:3])}
    net = Network(tmp_path, TEXT, parts)
    net.create()
    asked = patient_rows(9, 20)
    answer = asyncio.run(trained_and_asked(net, asked))
    X = np.array([[1, *one.columns.values()] for one in asked])
    scores = X @ plain_theta(parts)
    clear = np.abs(scores) > 0.02
    found = np.array([classes[0] for classes in answer.classes])
    assert (found == np.where(scores > 0, "sick", "well"))[clear].all()
    assert clear.sum() > 12
    assert not (tmp_path / "blue-cloud" / "model").exists()


def test_rados_that_the_machine_draws(tmp_path: Path) -> None:
    """Sums of signed rows, whose signatures it forgets: noisier, and much the same labels."""
    parts = {site: patient_rows(seed) for seed, site in enumerate(SITES[:3])}
    text = TEXT.replace("alpha = 2.0", 'alpha = 2.0\ncontribution = "rados"\nrados = 64')
    net = Network(tmp_path, text, parts)
    net.create()
    asked = patient_rows(9, 20)
    answer = asyncio.run(trained_and_asked(net, asked))
    scores = np.array([[1, *one.columns.values()] for one in asked]) @ plain_theta(parts)
    found = np.array([classes[0] for classes in answer.classes])
    clear = np.abs(scores) > 0.4
    assert clear.sum() > 5
    assert np.mean((found == np.where(scores > 0, "sick", "well"))[clear]) >= 0.8


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"Blue Cloud"', '"Data Trust"', "the intermediary is never the evaluator, found"),
        ('"Blue Cloud"', '"Institute"', "the intermediary is never the coordinator, found"),
        ('north = "cloud"', 'dora = "cloud"', r"intermediaries.dora: expected a name from \[peers"),
        ('north = "cloud"', 'north = "moon"', r"intermediaries.north: expected a name from \[help"),
        ('engine = "paillier"', 'engine = "shares"', "needs engine paillier|needs a dealer"),
    ],
)
def test_who_cannot_be_an_intermediary_is_named(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=says):
        read_toy(TEXT.replace(old, new))
