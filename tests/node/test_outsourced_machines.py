"""One owner lends its work between machines: it has data and key, another house computes."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from harness.network import Network, read_toy
from harness.tables import patient_rows
from sottovoce.errors import InputError
from sottovoce.study.release import Release

TEXT = """
[study]
name = "sick or well"
coordinator = "Northfield Hospital"
labels = ["well", "sick"]
features = 0
alpha = 2.0
held_out = 0.0
key_bits = 768
kappa = 40
[peers]
north = "Northfield Hospital"
[roles]
evaluator = "cloud"
[helpers]
cloud = "Blue Cloud"
[columns]
pulse = { low = -1, high = 1 }
sugar = { low = -1, high = 1 }
[deadlines]
enrolment = "5 minutes"
stage = "5 minutes"
"""


def test_the_owner_gets_the_model_of_its_own_rows(tmp_path: Path) -> None:
    mine, asked = patient_rows(4, 40), patient_rows(9, 20)
    net = Network(tmp_path, TEXT, {"north": mine})
    net.create()

    async def story() -> list[str]:
        async with net.serving():
            await asyncio.gather(net.join("north"), net.join("evaluator"))
        async with net.serving():
            answer = await net.classify("north", asked)
        return [classes[0] for classes in answer.classes]

    found = np.array(asyncio.run(story()))
    X = np.array([[1, *one.columns.values()] for one in mine])
    y = np.array([1 if one.label == "sick" else -1 for one in mine])
    theta = np.linalg.solve(X.T @ X + 2.0 * np.eye(3), X.T @ y)
    scores = np.array([[1, *one.columns.values()] for one in asked]) @ theta
    clear = np.abs(scores) > 0.02
    assert (found == np.where(scores > 0, "sick", "well"))[clear].all()
    assert clear.sum() > 12


def test_a_lone_owner_is_no_evaluator_and_needs_no_dealer() -> None:
    study = read_toy(TEXT).rehearsed()
    assert study.outsourced
    assert study.plan.release is Release.PEERS
    with pytest.raises(InputError, match="evaluator is never the coordinator"):
        read_toy(TEXT.replace("Blue Cloud", "Northfield Hospital"))
    with pytest.raises(InputError, match="expected exactly 0 dealer, found 1"):
        read_toy(TEXT.replace('evaluator = "cloud"', 'evaluator = "cloud"\ndealer = "cloud"'))
    with pytest.raises(InputError, match="release: expected peers, where the coordinator is"):
        read_toy(TEXT.replace("alpha = 2.0", 'alpha = 2.0\nrelease = "sealed"'))
