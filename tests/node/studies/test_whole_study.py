"""A whole study between a coordinator and three sites, over TLS on loopback."""

import asyncio
from pathlib import Path

import pytest

from harness.network import Network, network
from harness.studies import accuracy
from sottovoce.errors import MisuseError
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.kept_facts import kept_totals

SITES = ("north", "harbour", "valley")


async def used_days_later(net: Network) -> None:
    """Everybody's process has ended; fresh ones go on from their disks."""
    async with net.serving(), net.staying("north", "harbour"):
        mine = net.documents["valley"][:20]
        answer = await net.classify("valley", mine)
        # Twenty documents, and few features.
        assert accuracy(list(mine), answer.classes) >= 0.5
        again = await net.classify("harbour", mine)
        assert again.classes == answer.classes
        assert answer.left < 4000
        assert (await net.classify("valley", mine)).left < answer.left


def test_three_sites_train_a_model_on_shares_and_use_it_days_later(trained: Network) -> None:
    for site in SITES:
        assert (trained.membership(site).folder / site / "model").exists()
        totals = kept_totals(trained.membership(site).folder / site)
        assert totals is not None
        assert totals.peers == SITES
        assert min(totals.by_class) > 0
    (registry,) = registries(trained.place)
    assert kept_totals(registry.folder) == totals
    asyncio.run(used_days_later(trained))


# By default tests/e2e/test_machines.py trains on ciphertexts.
@pytest.mark.soak
def test_three_sites_train_a_model_on_ciphertexts_and_use_it_days_later(tmp_path: Path) -> None:
    net = network(tmp_path, engine="paillier", features="8")

    async def story() -> None:
        async with net.serving():
            joined = await net.join_all(*SITES)
        assert all(outcome.model is not None and outcome.model.exists() for outcome in joined)
        await used_days_later(net)

    asyncio.run(story())


# By default test_evaluations.py evaluates.
@pytest.mark.soak
def test_peers_evaluate_together_and_each_sees_its_own_table(tmp_path: Path) -> None:
    helpers = '[helpers]\ntrust = "Trust"\n'
    # Scores are to differ: a strong penalty would put them all on one side of a threshold.
    net = network(tmp_path, documents=300, alpha="1.0", helpers=helpers, evaluator="trust")

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES, "evaluator")
        async with net.serving(), net.staying("evaluator", "harbour"):
            results = await asyncio.gather(*(net.evaluate(site) for site in SITES))
        joint = results[0].joint
        assert all((result.joint.counts == joint.counts).all() for result in results)
        assert joint.peers == SITES
        # Of 56 documents, under a dictionary key of its own in every run.
        assert joint.accuracy > 0.55
        assert joint.roc["urgent"].auc > 0.55
        rows = [int(result.own.counts.sum()) for result in results]
        assert sum(rows) >= int(joint.counts.sum())
        assert all(result.own.peers == (site,) for result, site in zip(results, SITES, strict=True))
        async with net.serving(), net.staying("evaluator", "harbour"):
            with pytest.raises(MisuseError, match="the query budget of 1 evaluations is spent"):
                await net.evaluate("north")

    asyncio.run(story())
