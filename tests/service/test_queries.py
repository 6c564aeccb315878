"""Queries of a trained study: who is waited for, what is counted, what a crash leaves behind."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import pytest

from harness.lives import KilledError, Life
from harness.network import Network, network
from sottovoce.errors import AbsenceError, InputError, MisuseError
from sottovoce.roles.classification import Answer
from sottovoce.service.api import Evaluated
from sottovoce.service.chairs import Waits
from sottovoce.service.events import QueryGivenUp, QueryGoesOn, Waiting
from sottovoce.service.journal import Journal
from sottovoce.service.sealed_files import SealedFiles
from sottovoce.service.standing import AskerRecord
from sottovoce.text.documents import Document

SITES = ("north", "harbour", "valley")
# Steps beyond the end of every life: it is not killed.
NEVER = 10**6


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A study whose training is over, and nobody of which runs."""
    return _trained(tmp_path_factory, stage="5 seconds")


@pytest.fixture(scope="module")
def often(tmp_path_factory: pytest.TempPathFactory) -> Network:
    """A trained study that may be evaluated as often as a test kills somebody in it."""
    return _trained(tmp_path_factory, more="evaluations = 99\n")


def _trained(folders: pytest.TempPathFactory, **changes: str) -> Network:
    net = network(folders.mktemp("trained"), features="16", **changes)

    async def story() -> None:
        async with net.serving():
            await net.join_all(*SITES)

    asyncio.run(story())
    return net


def _record(net: Network, asker: str) -> AskerRecord:
    """What the coordinator, which does not run, remembers of an asker."""
    folder = next((net.root / "office").glob("**/coordinator/journal.db")).parent
    key = SealedFiles(folder.parent, net.office.at_rest).key_for("journal coordinator")
    with Journal(folder / "journal.db", key=key) as journal:
        return AskerRecord.read(journal, asker)


async def _killed(net: Network, mine: Sequence[Document], steps: int) -> Life:
    """A query whose process is killed before this step, unless it ends before."""
    life = Life("valley", steps)
    with life.lived(), suppress(KilledError):
        await net.classify("valley", mine, life.delivering)
    return life


async def _killed_and_again(net: Network, steps: int) -> tuple[Answer, Life]:
    life, mine = Life("valley", steps), net.documents["valley"][:3]
    with life.lived(), suppress(KilledError):
        return await net.classify("valley", mine, life.delivering), life
    return await net.classify("valley", mine), life


async def _evaluated(net: Network, lives: Sequence[int]) -> tuple[list[Evaluated], Life]:
    """An evaluation of all, while one process is killed before these steps, and begins again."""
    others = [asyncio.create_task(net.evaluate(one)) for one in SITES[:2]]
    for steps in (*lives, NEVER):
        life = Life("valley", steps)
        with life.lived(), suppress(KilledError):
            mine = await net.evaluate("valley", life.delivering)
            return [*await asyncio.gather(*others), mine], life
    raise AssertionError


def _shown(found: Sequence[Evaluated]) -> list[list[object]]:
    tables = [one for both in found for one in (both.own, both.joint)]
    return [one.counts.tolist() for one in tables] + [list(one.peers) for one in tables]


def test_a_query_that_is_killed_at_any_step_is_answered_and_charged_once(often: Network) -> None:
    async def story() -> None:
        async with often.serving(), often.staying("north", "harbour"):
            first = await often.classify("valley", often.documents["valley"][:3])
            second, life = await _killed_and_again(often, NEVER)
            batch, left = first.left - second.left, second.left
            assert batch > 0
            assert "deliver" in life.done
            for steps in range(len(life.done) + 3):
                answer, life = await _killed_and_again(often, steps)
                assert answer.classes == first.classes, steps
                assert left - answer.left == batch, (steps, life.done)
                left = answer.left
            assert not life.dead

    asyncio.run(story())


def test_an_evaluation_that_is_killed_again_and_again_is_held_and_charged_once(
    often: Network,
) -> None:
    async def story() -> None:
        async with often.serving(), often.staying("north", "harbour"):
            first, life = await _evaluated(often, ())
            # Every life gets a little further than the one before.
            lives = range(1, len(life.done), 4)
            found, life = await _evaluated(often, lives)
            assert life.steps != NEVER
            assert _shown(found) == _shown(first)

    before = _record(often, "valley").evaluated
    asyncio.run(story())
    assert _record(often, "valley").evaluated == before + 2


@pytest.mark.soak
def test_an_evaluation_that_is_killed_at_any_step_is_held_and_charged_once(often: Network) -> None:
    async def story() -> int:
        async with often.serving(), often.staying("north", "harbour"):
            first, life = await _evaluated(often, ())
            count = len(life.done) + 3
            for steps in range(count):
                found, _ = await _evaluated(often, (steps,))
                assert _shown(found) == _shown(first), steps
            return count + 1

    before = _record(often, "valley").evaluated
    held = asyncio.run(story())
    assert _record(often, "valley").evaluated == before + held


def test_other_documents_give_a_query_up_and_it_is_charged_only_if_it_told(often: Network) -> None:
    mine, others = often.documents["valley"][:3], often.documents["valley"][3:6]

    async def story() -> None:
        async with often.serving(), often.staying("north", "harbour"):
            left = (await often.classify("valley", mine)).left
            batch = left - (await often.classify("valley", mine)).left
            left -= batch
            whole = (await _killed(often, mine, NEVER)).done
            left -= batch
            # Before anything was answered, and when the labels are in hand.
            for steps, cost in ((6, batch), (whole.index("deliver"), 2 * batch)):
                often.events.clear()
                assert (await _killed(often, mine, steps)).dead
                answer = await often.classify("valley", others)
                assert left - answer.left == cost, steps
                left = answer.left
                assert [one for one in often.events if isinstance(one, QueryGivenUp)]
                assert not [one for one in often.events if isinstance(one, QueryGoesOn)]

    asyncio.run(story())


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


def test_a_budget_that_is_spent_is_told_by_name(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            many = list(trained.documents["valley"]) * 60
            with pytest.raises(MisuseError, match="the query budget of 4000 documents is spent"):
                await trained.classify("valley", many)
            with pytest.raises(InputError, match="at least 1 document"):
                await trained.classify("valley", [])

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
