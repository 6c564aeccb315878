"""Evaluations over the same peers each, none of them twice; whoever asks for more is refused."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from harness.network import Network, network
from sottovoce.course.control import COORDINATOR, OpenedEvaluation
from sottovoce.course.news import Refused
from sottovoce.course.queries import evaluations
from sottovoce.course.queries.evaluations import Evaluations
from sottovoce.course.table import Turn
from sottovoce.course.training.actions import Tell
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.coordinator.serving import registries
from sottovoce.node.kept_facts import kept_costs, kept_evaluations
from sottovoce.node.site.leaving import withdraw
from sottovoce.study.evaluations.evaluation_record import figures

FOUR = ("north", "harbour", "valley", "lakeside")
THREE = FOUR[:3]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """Four peers with a model, who evaluated it once; the evaluator stands alone."""
    net = network(
        tmp_path_factory.mktemp("evaluated"),
        documents=200,
        sites=4,
        features="8",
        more="evaluations = 3",
        helpers='[helpers]\ntrust = "Trust"\n',
        evaluator="trust",
    )

    async def story() -> None:
        async with net.serving():
            await net.join_all(*FOUR, "evaluator")
        async with net.serving(), net.staying("evaluator", "harbour"):
            results = await asyncio.gather(*(net.evaluate(site) for site in FOUR))
            assert {result.joint.peers for result in results} == {FOUR}

    asyncio.run(asyncio.wait_for(story(), 400))
    return net


def test_figures_stay_at_sites_and_at_the_coordinator(trained: Network) -> None:
    registry = registries(trained.place)[0]
    (kept,) = kept_evaluations(registry.folder)
    assert kept.own is None
    assert kept.joint is not None
    for seat in FOUR:
        (mine,) = kept_evaluations(trained.membership(seat).folder / seat)
        assert mine.own is not None
        assert mine.own.peers == (seat,)
        assert mine.joint is not None
        assert figures(mine.joint) == figures(kept.joint)
    costs = kept_costs(registry.folder)
    assert {"dictionary", "training"} <= set(costs.seconds)
    assert costs.bytes["training"] > 1000


@contextmanager
def asking_for(evaluation: OpenedEvaluation) -> Iterator[None]:
    """A coordinator that opens this evaluation as soon as three are ready, whatever it knows."""

    opened: list[OpenedEvaluation] = []

    def look(turn: Turn[Evaluations]) -> None:
        if set(turn.state.record.ready) >= set(evaluation.peers) and not opened:
            opened.append(evaluation)
            turn.act(Tell((*evaluation.peers, "evaluator"), evaluation))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evaluations, "_look", look)
        yield


def refusals(net: Network, why: str) -> list[Refused]:
    return [event for event in net.events if isinstance(event, Refused) and why in event.reason]


async def refused(net: Network, evaluation: OpenedEvaluation, why: str) -> list[Any]:
    """What peers, in processes of their own, say to a coordinator that asks for this."""
    net.events.clear()
    with asking_for(evaluation):
        async with net.serving(), net.staying("evaluator", "harbour"):
            asked = (net.evaluate(peer) for peer in evaluation.peers)
            results = await asyncio.gather(*asked, return_exceptions=True)
            while not refusals(net, why):  # noqa: ASYNC110 - events are a list
                await asyncio.sleep(0.05)
    return results


@pytest.mark.parametrize(
    ("evaluation", "why"),
    [
        (OpenedEvaluation(0, 2, THREE), "not held yet, found number 1 again"),
        (OpenedEvaluation(0, 3, FOUR), "not held yet, found number 1 again"),
        (OpenedEvaluation(1, 1, THREE), "over the same peers as before"),
    ],
    ids=["without a peer", "over the same", "the next one without a peer"],
)
def test_an_evaluation_that_would_show_one_peer_s_table_is_refused_by_every_seat(
    trained: Network, evaluation: OpenedEvaluation, why: str
) -> None:
    result = asyncio.run(asyncio.wait_for(refused(trained, evaluation, why), 400))
    for error in result:
        assert isinstance(error, ViolationError), error
        assert error.party == COORDINATOR
        assert why in error.message
    event = refusals(trained, why)[-1]
    assert (event.seat, event.party) == ("evaluator", COORDINATOR)
    lines = list(read_ledger(trained.membership("evaluator").folder / "evaluator/ledger.jsonl"))
    assert why in [line.entry.note for line in lines if line.what == LineKind.REFUSAL][-1]


def test_two_evaluations_over_the_same_peers_are_held_and_another_set_is_not(
    trained: Network,
) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("evaluator", "harbour"):
            results = await asyncio.gather(*(trained.evaluate(site) for site in FOUR))
            assert {result.joint.peers for result in results} == {FOUR}
            await withdraw(trained.membership("lakeside"), options=trained.options())
            with pytest.raises(MisuseError, match="every evaluation has the same peers: north"):
                await trained.evaluate("north")

    asyncio.run(asyncio.wait_for(story(), 400))
