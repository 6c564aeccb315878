"""Queries and evaluations under random faults: the same deciders as in the network."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from simulation.mailbox import BrokenError
from simulation.query_invariants import ServedEvidence, check_charged_once, check_ideal
from simulation.serving import ServingSite
from simulation.serving_world import ServingWorld
from simulation.stories import asking
from simulation.world import Faults
from sottovoce.course.queries import answering
from sottovoce.course.queries import asking as asker_decider
from sottovoce.course.queries.conversations import QueryId
from sottovoce.course.queries.records import OpenQuery


def asked(seeds: range, folder: Path, **settings: Any) -> Iterator[ServingWorld]:
    for seed in seeds:
        here = folder / str(seed)
        here.mkdir()
        world = asking(here, seed, **settings)
        try:
            world.run()
        except BaseException as error:
            error.add_note(f"seed {seed} failed; repeat it with")
            error.add_note(f"PYTHONPATH=tests .venv/bin/python -m simulation asking {seed}")
            raise
        yield world


def count(world: ServingWorld) -> Counter[str]:
    seen = Counter[str](world.counts)
    for site in world.sites.values():
        assert isinstance(site, ServingSite)
        kinds = (
            "queries" if isinstance(service[0], QueryId) else "evaluations"
            for service in site.served
        )
        seen.update(kinds)
        seen["errors"] += len(site.ended_with)
        seen["boots"] += site.boots - 1
    return seen


def test_queries_and_evaluations_under_random_faults(folder: Path) -> None:
    seen = sum((count(world) for world in asked(range(6), folder)), Counter[str]())
    # The schedules are worth something only if all of this happens.
    assert seen["queries"] > 25
    assert seen["evaluations"] > 3
    assert seen["errors"] > 1
    assert seen["boots"] > 3
    assert {"crashes", "cuts", "repeats", "haste"} <= set(seen)


@pytest.mark.soak
@pytest.mark.parametrize("block", range(40))
def test_queries_and_evaluations_under_many_more_faults(folder: Path, block: int) -> None:
    for _ in asked(range(1000 + 50 * block, 1050 + 50 * block), folder):
        pass


def test_a_query_that_is_charged_twice_or_answered_wrongly_is_caught(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world,) = asked(range(1), folder, faults=Faults())
    evidence = ServedEvidence(world, world.ideal)
    check_charged_once(evidence)
    with pytest.raises(BrokenError, match="invariant 10"):
        check_ideal(ServedEvidence(world, lambda value: not world.ideal(value)))
    charged = answering._charged
    monkeypatch.setattr(
        answering, "_charged", lambda record, ended: charged(charged(record, ended), ended)
    )
    with pytest.raises(BrokenError, match="invariant 9"):
        list(asked(range(1, 2), folder, faults=Faults()))


def test_an_asker_that_asks_again_under_another_number_is_caught(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It forgets what its open query was about, and is told the same twice."""

    def forgetful(number: int, digest: bytes, documents: int, how: str) -> OpenQuery:
        del digest
        return OpenQuery(number, b"", documents, how)

    monkeypatch.setattr(asker_decider, "OpenQuery", forgetful)
    with pytest.raises(BrokenError, match=r"invariant 9: .* was told"):
        list(asked(range(20), folder, faults=Faults(crashes=10)))
