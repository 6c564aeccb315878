"""Queries of a trained study: who is waited for, what is counted, what a crash leaves behind."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest

from harness.examples.absence import Absence
from harness.network import Network
from harness.processes.lives import KilledError, Life
from sottovoce.course.news import (
    QueryGivenUp,
    QueryGoesOn,
    QueryServed,
    QueryWithoutDealer,
    SeatWaiting,
)
from sottovoce.course.queries.records import AskerRecord
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import AbsenceError, InputError, LedgerError, MisuseError
from sottovoce.node.api import EvaluationTables
from sottovoce.node.coordinator.query_coordinator import read_asker
from sottovoce.node.coordinator.registry import COORDINATOR
from sottovoce.node.site.site_study import SiteStudy
from sottovoce.storage.journal import Journal
from sottovoce.storage.sealed_files import SealedFiles
from sottovoce.study.choices import Verdict
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.classification import Answer
from sottovoce.text.documents import Document

SITES = ("north", "harbour", "valley")
# Steps beyond the end of every life: it is not killed.
NEVER = 10**6


def _record(net: Network, asker: str) -> AskerRecord:
    """What the coordinator, which does not run, remembers of an asker."""
    folder = next((net.root / "coordinator-home").glob("**/coordinator/journal.db")).parent
    key = SealedFiles(folder.parent, net.place.at_rest).key_for("journal coordinator")
    with Journal(folder / "journal.db", key=key) as journal:
        return read_asker(journal, asker)


async def _killed(net: Network, mine: Sequence[Document], steps: int | str) -> Life:
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


async def _evaluated(net: Network, lives: Sequence[int]) -> tuple[list[EvaluationTables], Life]:
    """An evaluation of all, while one process is killed before these steps, and begins again."""
    others = [asyncio.create_task(net.evaluate(site)) for site in SITES[:2]]
    for steps in (*lives, NEVER):
        life = Life("valley", steps)
        with life.lived(), suppress(KilledError):
            mine = await net.evaluate("valley", life.delivering)
            return [*await asyncio.gather(*others), mine], life
    raise AssertionError


def _shown(evaluations: Sequence[EvaluationTables]) -> list[list[object]]:
    tables = [table for both in evaluations for table in (both.own, both.joint)]
    return [table.counts.tolist() for table in tables] + [list(table.peers) for table in tables]


def test_an_explained_query_is_charged_like_one_that_is_not(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            mine = trained.documents["valley"][:2]
            plain = await trained.classify("valley", mine)
            explained = await trained.classify("valley", mine, explain=True)
            again = await trained.classify("valley", mine)
            assert explained.classes == plain.classes
            assert plain.left - explained.left == explained.left - again.left == explained.charged
            assert len(explained.because) == 2
            assert explained.because[0] is not None
            assert not plain.because

    asyncio.run(story())


def _ends_of_every_kind(done: Sequence[str]) -> list[int]:
    """The first and the last step of every kind."""
    first = {what: step for step, what in reversed([*enumerate(done)])}
    last = {what: step for step, what in enumerate(done)}
    return sorted({*first.values(), *last.values()})


def _every_one(done: Sequence[str]) -> list[int]:
    """Every step, and some beyond the end: a life may have a step or two more."""
    return [*range(len(done) + 3)]


@pytest.mark.parametrize(
    "chosen", [_ends_of_every_kind, pytest.param(_every_one, marks=pytest.mark.soak)]
)
def test_a_query_that_is_killed_at_any_step_is_answered_and_charged_once(
    trained: Network, chosen: Callable[[Sequence[str]], list[int]]
) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            first = await trained.classify("valley", trained.documents["valley"][:3])
            second, life = await _killed_and_again(trained, NEVER)
            batch, left = first.left - second.left, second.left
            assert batch > 0
            assert "deliver" in life.done
            for steps in chosen(life.done):
                answer, life = await _killed_and_again(trained, steps)
                assert answer.classes == first.classes, steps
                assert left - answer.left == batch, (steps, life.done)
                left = answer.left

    asyncio.run(story())


@pytest.mark.soak
def test_an_evaluation_that_is_killed_again_and_again_is_held_and_charged_once(
    trained: Network,
) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            first, life = await _evaluated(trained, ())
            # Every life gets a little further than the one before.
            lives = range(1, len(life.done), 6)
            evaluation, life = await _evaluated(trained, lives)
            assert life.steps != NEVER
            assert _shown(evaluation) == _shown(first)

    before = _record(trained, "valley").evaluated
    asyncio.run(story())
    assert _record(trained, "valley").evaluated == before + 2


@pytest.mark.soak
def test_an_evaluation_that_is_killed_at_any_step_is_held_and_charged_once(
    trained: Network,
) -> None:
    async def story() -> int:
        async with trained.serving(), trained.staying("north", "harbour"):
            first, life = await _evaluated(trained, ())
            count = len(life.done) + 3
            for steps in range(count):
                evaluation, _ = await _evaluated(trained, (steps,))
                assert _shown(evaluation) == _shown(first), steps
            return count + 1

    before = _record(trained, "valley").evaluated
    held = asyncio.run(story())
    assert _record(trained, "valley").evaluated == before + held


def test_other_documents_give_a_query_up_and_it_is_charged_only_if_it_told(
    trained: Network,
) -> None:
    mine, others = trained.documents["valley"][:3], trained.documents["valley"][3:6]

    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            left = (await trained.classify("valley", mine)).left
            batch = left - (await trained.classify("valley", mine)).left
            left -= batch
            # Before anything was answered, and when the labels are in hand.
            for steps, cost in ((6, batch), ("deliver", 2 * batch)):
                trained.events.clear()
                assert (await _killed(trained, mine, steps)).dead
                answer = await trained.classify("valley", others)
                assert left - answer.left == cost, steps
                left = answer.left
                assert [event for event in trained.events if isinstance(event, QueryGivenUp)]
                assert not [event for event in trained.events if isinstance(event, QueryGoesOn)]

    asyncio.run(story())


def test_an_absent_dealer_is_named_with_the_time_that_was_waited(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the plan is for a dealer alone."""
    mine = trained.documents["valley"][:3]

    async def story() -> None:
        async with trained.serving(), trained.staying("north"):
            with monkeypatch.context() as patch:
                patch.setattr(StudyPlan, "falls_back", property(lambda _: False))
                Absence(patch).of("dealer")
                with pytest.raises(
                    AbsenceError, match=r"dealer: does not answer: waited 40 s"
                ) as error:
                    await trained.classify("valley", mine)
            assert error.value.party == "dealer"
            waits = [event for event in trained.events if isinstance(event, SeatWaiting)]
            assert ("coordinator", "evaluator", "dealer") in [wait.whom for wait in waits]
        async with trained.serving(), trained.staying("north", "harbour"):
            assert len((await trained.classify("valley", mine)).classes) == 3

    asyncio.run(story())


def test_an_absent_evaluator_is_named_and_nothing_is_charged(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds a share of the model: nobody can do without it."""
    mine = trained.documents["valley"][:3]

    async def story() -> None:
        async with trained.serving():
            with monkeypatch.context() as patch:
                Absence(patch).of("dealer", "evaluator")
                with pytest.raises(AbsenceError, match=r"evaluator: does not answer: waited 40 s"):
                    await trained.classify("valley", mine)
        async with trained.serving(), trained.staying("north", "harbour"):
            answer = await trained.classify("valley", mine)
            again = await trained.classify("valley", mine)
        assert answer.left - again.left == 4000 - answer.left

    asyncio.run(story())


def test_without_the_dealer_labels_are_found_all_the_same_and_charged_once(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dealer's process is away; the evaluator's is there, and so is the dealer's later."""
    mine = trained.documents["valley"][:3]

    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            dealt = await trained.classify("valley", mine)
            batch = dealt.left - (await trained.classify("valley", mine)).left
        trained.events.clear()
        async with trained.serving(), trained.staying("north"):
            with monkeypatch.context() as patch:
                Absence(patch).of("dealer")
                answer = await trained.classify("valley", mine)
        assert (dealt.verdict, answer.verdict) == (Verdict.FSS, Verdict.DGK)
        assert answer.classes == dealt.classes
        assert answer.left == dealt.left - 2 * batch
        (warning,) = [event for event in trained.events if isinstance(event, QueryWithoutDealer)]
        assert warning.dealer == "dealer"
        # The asker has its labels before the coordinator has ended the conversation.
        over = trained.when(lambda event: event == QueryServed(*coordinator, "valley", 4))
        async with trained.serving(), trained.staying("north", "harbour"):
            again = await trained.classify("valley", mine)
            assert (again.verdict, again.left) == (Verdict.FSS, answer.left - batch)
            await asyncio.wait_for(over.wait(), 60)

    coordinator = (trained.study, COORDINATOR)
    asyncio.run(story())
    assert _record(trained, "valley").open == ()


def test_a_query_without_the_dealer_that_is_killed_goes_on_without_it(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = trained.documents["valley"][:3]

    async def story() -> None:
        async with trained.serving(), trained.staying("north"):
            with monkeypatch.context() as patch:
                Absence(patch).of("dealer")
                assert (await _killed(trained, mine, "deliver")).dead
                trained.events.clear()
                answer = await trained.classify("valley", mine)
        assert answer.verdict is Verdict.DGK
        kinds = {type(event) for event in trained.events}
        assert QueryGoesOn in kinds
        assert QueryWithoutDealer not in kinds

    asyncio.run(story())


def test_an_asker_that_dies_in_a_query_without_the_dealer_keeps_nobody_waiting(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same documents are charged once when it is back."""
    mine, theirs = trained.documents["valley"][:3], trained.documents["harbour"][:3]

    async def story() -> None:
        async with trained.serving() as serving, trained.staying("north"):
            with monkeypatch.context() as patch:
                # Harbour's organisation is the dealer's: it deals for its own rows.
                Absence(patch).of("dealer")
                first = await trained.classify("valley", mine)
                assert (await _killed(trained, mine, 12)).dead
                assert (await trained.classify("harbour", theirs)).verdict is Verdict.DGK
                assert not serving.done()
                again = await trained.classify("valley", mine)
        assert (again.classes, again.verdict) == (first.classes, Verdict.DGK)
        assert first.left - again.left == 4000 - first.left

    asyncio.run(story())


def test_an_asker_that_dies_keeps_nobody_else_from_being_answered(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = trained.documents["valley"][:3], trained.documents["harbour"][:3]
    absence = Absence(monkeypatch)

    async def story() -> None:
        async with trained.serving() as serving, trained.staying("north", "harbour"):
            first = await trained.classify("valley", mine)
            assert (await _killed(trained, mine, 8)).dead
            # Its query is open; then the coordinator gives it up.
            for gone in ((), ("valley",)):
                absence.of(*gone)
                assert len((await trained.classify("harbour", theirs)).classes) == 3
            assert not serving.done()
            absence.over()
            again = await trained.classify("valley", mine)
            assert again.classes == first.classes
            assert first.left - again.left == 4000 - first.left

    asyncio.run(story())


def test_a_budget_that_is_spent_is_told_by_name(trained: Network) -> None:
    async def story() -> None:
        async with trained.serving(), trained.staying("north", "harbour"):
            many = list(trained.documents["valley"]) * 150
            with pytest.raises(MisuseError, match="the query budget of 4000 documents is spent"):
                await trained.classify("valley", many)
            with pytest.raises(InputError, match="there is no document to classify"):
                await trained.classify("valley", [])

    asyncio.run(story())


def test_a_coordinator_that_is_killed_again_and_again_answers_a_query_and_counts_it_once(
    trained: Network,
) -> None:
    mine = trained.documents["harbour"][:40]

    async def story() -> None:
        async with trained.serving(), trained.staying("north"):
            first = await trained.classify("harbour", mine)
        deaths = 0
        async with trained.staying("north"):
            asking = asyncio.create_task(trained.classify("harbour", mine))
            # Every life gets a little further than the one before.
            for steps in range(1, NEVER, 4):
                life = Life("coordinator", steps)
                with life.lived(), suppress(KilledError):
                    async with trained.serving() as serving:
                        both = {asking, serving}
                        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                deaths += life.dead
                if asking.done():
                    break
            second = await asking
            assert deaths > 2
            async with trained.serving():
                third = await trained.classify("harbour", mine)
        assert first.classes == second.classes == third.classes
        # Also where the coordinator fell between the labels and its own record of them.
        assert 4000 - first.left == first.left - second.left == second.left - third.left

    asyncio.run(story())


def test_a_process_that_is_still_ending_is_waited_for_by_name(trained: Network) -> None:
    mine, membership = trained.documents["valley"][:3], trained.membership("valley")
    waits = "another process of this site to end"

    async def story() -> None:
        work = await SiteStudy.open(membership, trained.options(), entropy=SystemEntropy())
        keys = work.keys("valley")
        async with trained.serving(), trained.staying("north", "harbour"):
            async with work.agent(keys):
                waiting = trained.when(
                    lambda event: isinstance(event, SeatWaiting) and event.what == waits
                )
                asking = asyncio.create_task(trained.classify("valley", mine))
                await waiting.wait()
                with pytest.raises(LedgerError, match="another process writes it; waited 0 s"):
                    async with work.agent(keys, ending=0.0):
                        raise AssertionError
            assert len((await asking).classes) == 3

    asyncio.run(story())


def test_a_site_that_asks_for_long_does_not_end_its_own_dealer(trained: Network) -> None:
    """The peer's seat is an asker's for minutes: the process that deals waits, and deals on."""
    membership = trained.membership("harbour")

    async def story() -> None:
        work = await SiteStudy.open(membership, trained.options(), entropy=SystemEntropy())
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("sottovoce.node.site.site_study.ENDING_SECONDS", 0.0)
            patched.setattr("sottovoce.node.site.joining.ENDING_SECONDS", 0.0)
            async with trained.serving(), trained.staying("north"):
                async with work.agent(work.keys("harbour")):
                    waiting = trained.when(
                        lambda event: isinstance(event, SeatWaiting) and not event.until
                    )
                    dealing = asyncio.create_task(trained.join("harbour", stay=True))
                    await waiting.wait()
                    mine = trained.documents["valley"][:3]
                    assert len((await trained.classify("valley", mine)).classes) == 3
                    assert not dealing.done()
                dealing.cancel()
                await asyncio.gather(dealing, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 400))
