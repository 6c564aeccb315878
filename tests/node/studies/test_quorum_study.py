"""A whole study in engine `quorum` between a coordinator and its sites, over TLS on loopback."""

import asyncio
from pathlib import Path

from harness.entropy import SeededEntropy
from harness.network import Network, described, network
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.node.events import Moved
from sottovoce.study import Study
from sottovoce.study.roster import draw_roster

SITES = ("north", "harbour", "valley")
# Words that everybody knows: no key is drawn for them, so labels are the same in every run.
WORDS = 'dictionary = "given"\nwords = ["pain", "fever", "urgent", "stable", "today", "review"]\n'


def quorum_network(root: Path, **changes: str) -> Network:
    more = WORDS + changes.pop("more", "")
    return network(root, engine="quorum", features="6", more=more, **changes)


def in_memory(net: Network) -> StudyOutcome:
    """The same study at one table."""
    plan = described(net.text).plan
    roster, identities = draw_roster(
        tuple(net.documents), entropy=SeededEntropy(2), with_dealer=False, with_evaluator=False
    )
    study = Study(plan, roster)
    return run_study(study, net.documents, identities=identities, entropy=SeededEntropy(3))


def steps_left(net: Network, seat: str) -> list[int]:
    return [
        event.steps_left
        for event in net.events
        if isinstance(event, Moved) and event.seat == seat and event.steps_left is not None
    ]


def test_three_sites_train_and_use_a_model_that_nobody_holds(tmp_path: Path) -> None:
    net = quorum_network(tmp_path)

    async def story() -> None:
        async with net.serving():
            joined = await net.join_all(*SITES)
        assert all(outcome.model is not None and outcome.model.exists() for outcome in joined)
        for seat in ("coordinator", "member-north"):
            left = steps_left(net, seat)
            assert left == sorted(left, reverse=True), "people are told how many steps follow"
            assert left[0] > 3
            assert left[-1] <= 1
        # Everybody's process has ended; fresh ones go on from their disks.
        mine = net.documents["valley"][:20]
        async with net.serving(), net.staying("north", "harbour"):
            # No process runs valley's own member but the one that asks.
            answer = await net.classify("valley", mine)
            assert answer.classes == in_memory(net).classify("valley", mine).classes
        async with net.serving(), net.staying(*SITES):
            assert (await net.classify("harbour", mine)).classes == answer.classes
            results = await asyncio.gather(*(net.evaluate(site) for site in SITES))
        joint = results[0].joint
        assert all((result.joint.counts == joint.counts).all() for result in results)
        assert joint.peers == SITES

    asyncio.run(story())
