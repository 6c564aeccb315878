"""Queries of a trained study: who is waited for, what is counted, what a crash leaves behind."""

import asyncio

import pytest

from harness.network import Network, network
from sottovoce.errors import AbsenceError, InputError, MisuseError
from sottovoce.service.chairs import Waits
from sottovoce.service.events import Waiting
from sottovoce.service.query import evaluate

SITES = ("north", "harbour", "valley")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A study whose training is over, and nobody of which runs."""
    net = network(tmp_path_factory.mktemp("trained"), features="16", stage="5 seconds")

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)

    asyncio.run(story())
    return net


def test_an_absent_dealer_is_named_with_the_time_that_was_waited(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving():
            with pytest.raises(
                AbsenceError, match=r"dealer: does not answer: waited 10 s"
            ) as error:
                await trained.classify("valley", trained.documents["valley"][:3])
            assert error.value.party == "dealer"
            waits = [one for one in trained.events if isinstance(one, Waiting)]
            assert ("coordinator", "dealer") in [one.whom for one in waits]
        async with trained.serving(), trained.staying("harbour"):
            answer = await trained.classify("valley", trained.documents["valley"][:3])
            assert len(answer.classes) == 3

    asyncio.run(story())


def test_a_query_that_was_broken_off_is_counted_and_the_next_one_is_answered(
    trained: Network,
) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            mine = trained.documents["valley"][:3]
            before = (await trained.classify("valley", mine)).left
            broken = asyncio.create_task(trained.classify("valley", mine))
            await asyncio.sleep(0.1)
            broken.cancel()
            await asyncio.gather(broken, return_exceptions=True)
            after = await trained.classify("valley", mine)
            spent = before - after.left
            one = 4000 - before if before > 2000 else 30
            assert len(after.classes) == 3
            assert spent > 0
            assert spent % min(one, spent) == 0

    asyncio.run(story())


def test_a_budget_that_is_spent_is_told_by_name(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            many = list(trained.documents["valley"]) * 60
            with pytest.raises(MisuseError, match="the query budget of 4000 documents is spent"):
                await trained.classify("valley", many)
            with pytest.raises(InputError, match="at least 1 document"):
                await trained.classify("valley", [])

    asyncio.run(story())


def test_an_evaluation_waits_for_the_others_over_a_restart(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            early = asyncio.create_task(
                evaluate(
                    trained.membership("valley"),
                    trained.documents["valley"],
                    options=trained.options(),
                )
            )
            await asyncio.sleep(1.0)
            early.cancel()
            await asyncio.gather(early, return_exceptions=True)
            # What it asked for is kept: its one evaluation is not spent twice.
            found = await asyncio.gather(*(trained.evaluate(one) for one in SITES))
            assert {one.joint.peers for one in found} == {SITES}

    asyncio.run(story())


def test_a_coordinator_that_restarts_in_the_middle_of_a_query_answers_it(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The study's own patience is of ten seconds, which a busy machine needs for a restart.
    monkeypatch.setattr("sottovoce.service.query.Waits", lambda *_: Waits(60.0, 60.0))

    async def story() -> None:
        mine = trained.documents["harbour"][:40]
        async with trained.serving(), trained.staying("north"):
            expected = (await trained.classify("harbour", mine)).classes
        async with trained.staying("north"):
            asking = asyncio.create_task(trained.classify("harbour", mine))
            for seconds in (0.05, 0.1, 0.15, 0.2, 0.3):
                async with trained.serving():
                    await asyncio.wait({asking}, timeout=seconds)
            async with trained.serving():
                assert (await asking).classes == expected

    asyncio.run(story())
