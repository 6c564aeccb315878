"""Seats after the training, the people who ask them, and faults in between."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from simulation.query_invariants import QUERY_INVARIANTS, ServedEvidence
from simulation.serving import Question, ServingParts, ServingSite
from simulation.site import Site
from simulation.world import Faults, World

_MOST_TRIES = 4
"""So often people of a site ask the same again before they turn to something else."""


def query_faults(random: Random) -> Faults:
    """A schedule: often some crashes, sometimes worse."""
    return Faults(
        crashes=random.choice((0, 1, 3, 6, 10)),
        deaths=random.choice((0, 0, 0, 1)),
        cuts=random.choice((0, 0, 1, 3)),
        repeats=random.choice((0, 0, 2, 5)),
        haste=random.choice((0, 0, 0, 1, 3)),
    )


@dataclass
class People:
    """What the people of one site want, one after another, and how it ended each time."""

    wishes: deque[Question]
    tries: int = 0
    done: list[Question] = field(default_factory=list)
    given_up: list[Question] = field(default_factory=list)


class ServingWorld(World):
    """One simulation of queries and evaluations: the same seed is the same story."""

    parts: ServingParts  # type: ignore[assignment]

    def __init__(
        self,
        parts: ServingParts,
        folder: Path,
        seed: int,
        *,
        ideal: Callable[[Any], Any],
        **more: Any,
    ) -> None:
        self.ideal = ideal
        random = Random(f"wishes {seed}")
        self.people = {
            name: People(deque(self._wishes(random, name))) for name in parts.study.roster.peers
        }
        settings = {"faults": query_faults(random), "length": 250, "site": ServingSite, **more}
        super().__init__(parts, folder, seed, lambda _: None, lambda _: [], **settings)  # type: ignore[arg-type]
        self.taken = set(parts.study.roster.names)

    @staticmethod
    def _wishes(random: Random, name: str) -> list[Question]:
        """Some questions, and most often an evaluation with the others."""
        values = [random.randrange(2**32) for _ in range(random.randint(1, 4))]
        wishes = [Question(f"{name} {value}") for value in values]
        if random.random() < 0.8:
            wishes.insert(random.randint(0, len(wishes)), Question(None))
        return wishes

    # What people do.

    def _can_work(self, site: Site) -> bool:
        return self._would_ask(site) or super()._can_work(site)

    def _would_ask(self, site: Site) -> bool:
        assert isinstance(site, ServingSite)
        people = self.people.get(site.name)
        return bool(people and people.wishes and site.alive and not site.is_asking)

    def _work(self, site: Site) -> None:
        if self._would_ask(site) and (not super()._can_work(site) or self.random.random() < 0.3):
            self._ask(site)
        else:
            super()._work(site)

    def _ask(self, site: Site) -> None:
        """Ask what was not answered again, or (seldom) something else."""
        assert isinstance(site, ServingSite)
        people = self.people[site.name]
        answered = any(question == people.wishes[0] for _, question, _ in site.served)
        if answered and site.state.asking.phase != "broken-off":
            people.done.append(people.wishes.popleft())
            people.tries = 0
            return
        if people.tries >= _MOST_TRIES or (people.tries and self.random.random() < 0.1):
            people.given_up.append(people.wishes.popleft())
            people.tries = 0
            return
        people.tries += 1
        self.say(f"{site.name} asks {people.wishes[0]}, try {people.tries}")
        site.want(people.wishes[0])

    def _promised(self) -> Sequence[Callable[[Any], None]]:
        evidence = ServedEvidence(self, self.ideal)
        return [lambda _, check=check: check(evidence) for check in QUERY_INVARIANTS]  # type: ignore[misc]

    def _withdrawals(self) -> None:
        """Nobody withdraws here."""
