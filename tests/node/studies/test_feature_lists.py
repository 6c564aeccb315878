"""The paper's f_p between machines: a site is sent the weights of the features that it lists."""

import asyncio
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.network import TOY_POLICY, Network
from harness.tables import PATIENT_STUDY, patient_rows, varied
from sottovoce.study.arrangement import Weights

TEXT = varied(
    PATIENT_STUDY,
    ("alpha = 2.0", 'alpha = 2.0\nweights = "reveal_feature_lists_to_coordinator"'),
)
PEERS = ("north", "harbour", "valley")


# By default estimators/test_feature_lists.py, and e2e/test_arrangements.py.
@pytest.mark.soak
def test_sites_are_sent_the_weights_of_their_own_features(tmp_path: Path) -> None:
    parts = {site: patient_rows(seed) for seed, site in enumerate(PEERS)}
    # Nobody measured sugar in the north: it lists pulse alone, and gets no weight of sugar.
    parts["north"] = [replace(row, columns={**row.columns, "sugar": 0.0}) for row in parts["north"]]
    net = Network(tmp_path, TEXT, parts)
    net.create()
    consents = replace(TOY_POLICY, weights=frozenset(Weights))
    asked = patient_rows(9, 20)

    async def story() -> dict[str, list[str]]:
        async with net.serving():
            sites = (*PEERS, "evaluator")
            await asyncio.gather(*(net.join(site, policy=consents) for site in sites))
        async with net.serving(), net.staying("evaluator"):
            answers = {site: await net.classify(site, asked) for site in ("north", "harbour")}
        return {site: [result[0] for result in got.classes] for site, got in answers.items()}

    result = asyncio.run(story())
    rows = [row for part in parts.values() for row in part]
    X = np.array([[1, *row.columns.values()] for row in rows])
    y = np.array([1 if row.label == "sick" else -1 for row in rows])
    theta = np.linalg.solve(X.T @ X + 2.0 * np.eye(3), X.T @ y)
    X_asked = np.array([[1, *row.columns.values()] for row in asked])
    for site, weights in (("harbour", theta), ("north", theta * [1, 1, 0])):
        scores = X_asked @ weights
        clear = np.abs(scores) > 0.02
        expected = np.where(scores > 0, "sick", "well")
        assert (np.array(result[site]) == expected)[clear].all(), site
