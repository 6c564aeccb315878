"""The paper's own learner between machines: encrypted rados, θ encrypted, and who helps with it."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from harness.network import Network, read_toy
from harness.studies import told_apart
from harness.tables import patient_rows
from sottovoce.errors import InputError
from sottovoce.paillier import Plain
from sottovoce.protocols.rado_descent.twin import plain_descent
from sottovoce.study.queries.classification import Answer
from sottovoce.study.stages.encrypted import descent_numbers
from sottovoce.study.stages.encrypted.descent_numbers import DescentNumbers
from sottovoce.text.documents import Document

TEXT = """
[study]
name = "sick or well"
coordinator = "Institute"
labels = ["well", "sick"]
features = 0
engine = "paillier"
learner = "rado-descent"
contribution = "rados"
rados = 64
addition = "ring"
held_out = 0.0
key_bits = 768
kappa = 40
query_budget = 4000
[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"
hill = "Hill Practice"
[roles]
evaluator = "trust"
[helpers]
trust = "Data Trust"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""
PEERS = ("north", "harbour", "valley", "hill")
OWNER = (
    TEXT.replace('addition = "ring"\n', "")
    .replace('coordinator = "Institute"', 'coordinator = "Northfield Hospital"')
    .replace('harbour = "Harbour Clinic"\nvalley = "Valley Practice"\nhill = "Hill Practice"\n', "")
)


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """A third of the steps of a study: every one of them takes the same course."""
    monkeypatch.setattr(descent_numbers, "STEPS", 4)


async def trained_and_asked(
    net: Network, sites: tuple[str, ...], asked: list[Document], *, stays: str | None
) -> Answer:
    async with net.serving():
        await asyncio.gather(*(net.join(site) for site in sites))
    if stays is None:
        async with net.serving():
            return await net.classify("north", asked)
    async with net.serving(), net.staying(stays):
        return await net.classify("north", asked)


def columns_of(documents: list[Document]) -> np.ndarray:
    return np.array([[1, *document.columns.values()] for document in documents])


def test_four_sites_descend_on_rados_that_went_around_rings(tmp_path: Path, monkeypatch) -> None:
    parts = {site: patient_rows(seed) for seed, site in enumerate(PEERS)}
    drawn, recorded = DescentNumbers.drawn, {}

    def record(self: DescentNumbers, edges, *, seed):
        found = drawn(self, edges, seed=seed)
        recorded[len(recorded)] = (self, found[0])
        return found

    monkeypatch.setattr(DescentNumbers, "drawn", record)
    net = Network(tmp_path, TEXT, parts)
    net.create()
    asked = patient_rows(9, 20)
    sites = (*PEERS, "evaluator")
    answer = asyncio.run(trained_and_asked(net, sites, asked, stays="evaluator"))
    plan = recorded[0][0].descent
    assert len(recorded) == len(PEERS)
    union = np.sum(
        [Plain.of(own, plan.rado_scale).integers for _, own in recorded.values()], axis=0
    )
    theta = plain_descent(Plain(union, plan.rado_scale), plan).floats()
    scores = columns_of(asked) @ theta[:-1]  # tables have no bias beside the column of ones
    clear = np.abs(scores) > 1e-3 * np.abs(scores).max()
    found = np.array([classes[0] for classes in answer.classes])
    assert (found == np.where(scores > 0, "sick", "well"))[clear].all()


def test_a_lone_owner_lends_its_descent(tmp_path: Path) -> None:
    mine, asked = (
        [row for row in patient_rows(seed, 100) if abs(differs(row)) > 0.7] for seed in (4, 9)
    )
    net = Network(tmp_path, OWNER, {"north": mine})
    net.create()
    answer = asyncio.run(trained_and_asked(net, ("north", "evaluator"), asked, stays=None))
    truth = [document.label for document in asked]
    right = [classes[0] == label for classes, label in zip(answer.classes, truth, strict=True)]
    assert np.mean(right) > 0.75


def differs(row: Document) -> float:
    """What makes a patient sick."""
    pulse, sugar = (float(value) for value in row.columns.values())
    return pulse - sugar


WORDS = """
[study]
name = "urgency of notes"
coordinator = "Institute"
labels = ["routine", "urgent"]
features = 6
engine = "paillier"
{learner}
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
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""


@pytest.mark.parametrize(
    "learner", ["", 'learner = "rado-descent"\ncontribution = "rados"\nrados = 64']
)
def test_texts_go_through_an_intermediary(tmp_path: Path, learner: str) -> None:
    """Between machines, for both learners: the cloud sees ciphertexts, the labels are good."""
    sites = ("north", "harbour", "valley")
    parts = {site: told_apart(20, seed) for seed, site in enumerate(sites)}
    net = Network(tmp_path, WORDS.replace("{learner}", learner), parts)
    net.create()
    sites = (*parts, "evaluator", "intermediary-north")
    asked = parts["north"]
    answer = asyncio.run(trained_and_asked(net, sites, asked, stays="evaluator"))
    truth = [document.label for document in asked]
    right = [classes[0] == label for classes, label in zip(answer.classes, truth, strict=True)]
    assert np.mean(right) > 0.9


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('hill = "Hill Practice"\n', "", "addition ring needs at least 4 peers"),
        ("rados = 64", "rados = 100", "learner rado-descent needs 32, 64"),
        ('contribution = "rados"\nrados = 64', "", "learner rado-descent needs contribution"),
        ('engine = "paillier"', 'engine = "shares"', "learner rado-descent needs engine paillier"),
        ('learner = "rado-descent"', 'learner = "descent"', "study.learner: expected"),
    ],
)
def test_a_study_that_cannot_descend_is_refused_by_name(old: str, new: str, says: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError, match=says):
        read_toy(TEXT.replace(old, new)).rehearsed()
