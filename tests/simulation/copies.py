"""Disks that come back from a backup, and disks that run twice: in which stage, whose, with what.

A copy of a disk is taken while its seat is in one stage. Some time later it takes the place of the
original, or a second process begins on it beside the original. The documents are the same by then,
or others. With the coordinator's disk its mailbox comes back, too: the server itself has forgotten
what it was sent since. Or the server says that it knows nothing of what a restored peer sent since
its copy, though it does: the chains of letters agree, and nothing but the material itself keeps the
two lives of the peer apart.
"""

import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

from simulation.invariants import Evidence, check_no_mask_over_two_values
from simulation.mailbox import Mailbox, NoRunError
from simulation.query_invariants import (
    ServedEvidence,
    check_charged_once,
    check_evaluations,
    check_ideal,
    check_letters,
    check_masks,
)
from simulation.serving import Question, ServingSite
from simulation.serving_world import ServingWorld
from simulation.site import COORDINATOR, Site
from simulation.world import Faults, World
from sottovoce.course.phases import Phase
from sottovoce.errors import JournalError, ReplayError, ViolationError
from sottovoce.study.roster import Role

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BEFORE, _MOST_AFTER = 8, 10
"""A copy is taken after fewer letters of the stage, and used after fewer further ones."""
_SOON, _EARLY = 0.3, 0.2
"""How likely it is taken at the next moment; and without a program that runs."""
_LONG_AFTER = 600
"""So many ticks after it a study has ended, if it ever does."""


class Whose(StrEnum):
    """Whose disk is copied."""

    PEER = "peer"
    EVALUATOR = "evaluator"
    DEALER = "dealer"
    INTERMEDIARY = "intermediary"
    MEMBER = "member"
    COORDINATOR = "coordinator"
    DENIED = "peer that the server denies"


class Use(StrEnum):
    """What is done with the copy."""

    RESTORED = "restored"
    CLONED = "cloned"


@dataclass(frozen=True)
class Case:
    """One place of the matrix."""

    stage: Phase
    whose: Whose
    use: Use
    others: bool

    def __str__(self) -> str:
        return f"{self.stage}, {self.whose}, {self.use}, {'other' if self.others else 'same'}"


_STAGES = (Phase.AGREEMENT, Phase.DICTIONARY, Phase.TRAINING)
# Contributions are a stage of engine quorum alone.
_QUORUM_STAGES = (Phase.AGREEMENT, Phase.DICTIONARY, Phase.CONTRIBUTIONS, Phase.TRAINING)


_HELPERS = (Whose.EVALUATOR, Whose.DEALER, Whose.INTERMEDIARY, Whose.MEMBER)
_WITHOUT_DICTIONARY = {Whose.DEALER, Whose.INTERMEDIARY}
DEALT = (Whose.EVALUATOR, Whose.DEALER)
"""Who helps in a study with a dealer."""


def matrix(*helpers: Whose) -> list[Case]:
    """Every place: whoever has no documents has no others, and a server runs once."""
    return _existing(_STAGES, helpers)


def quorum_matrix() -> list[Case]:
    """The same where members compute, and nobody else helps."""
    return _existing(_QUORUM_STAGES, (Whose.MEMBER,))


def asked_matrix() -> list[Case]:
    """The same after the training: who asks, who helps, and the coordinator."""
    return _existing((Phase.FINISHED,), DEALT)


def _existing(stages: Sequence[Phase], helpers: Sequence[Whose]) -> list[Case]:
    cases = (Case(*case) for case in product(stages, Whose, Use, (False, True)))
    return [case for case in cases if _exists(case, helpers)]


def _exists(case: Case, helpers: Sequence[Whose]) -> bool:
    has_documents = case.whose in {Whose.PEER, Whose.DENIED}
    served = case.whose in {Whose.COORDINATOR, Whose.DENIED}
    if case.whose in _HELPERS and case.whose not in helpers:
        return False
    if case.whose in _WITHOUT_DICTIONARY and case.stage is Phase.DICTIONARY:
        return False
    return (has_documents or not case.others) and not (served and case.use is Use.CLONED)


class Copying(World):
    """A world, of whatever kind, in which one disk is copied, and the copy is used."""

    def __init__(self, case: Case, **settings: Any) -> None:
        self.case, self.copied, self.used = case, 0, False
        self.backup: dict[str, tuple[Path, list[tuple[bytes, bytes]]]] = {}
        self.twin: Site | None = None
        settings.setdefault("faults", few_faults(settings["seed"]))
        super().__init__(**settings)
        roster = self.parts.study.roster
        peer = self.random.choice(roster.peers)
        self.whose: tuple[str, ...] = {
            Whose.PEER: (peer,),
            Whose.EVALUATOR: (roster.evaluator if roster.helped else "",),
            Whose.DEALER: (roster.dealer or "",),
            Whose.INTERMEDIARY: tuple(seat.name for seat in roster.having(Role.INTERMEDIARY)),
            Whose.MEMBER: (self.random.choice(roster.members or ("",)),),
            Whose.COORDINATOR: (COORDINATOR,),
            Whose.DENIED: (peer,),
        }[case.whose]
        self.so_far = int(_MOST_BEFORE * self.random.random() ** 2)
        self.later = self.random.randrange(_MOST_AFTER)
        self.early = self.random.random() < _EARLY
        self.began = -1

    @property
    def _forgot(self) -> bool:
        """Whether the server lost what it was sent after the copy, or says so."""
        return self.used and self.case.whose in {Whose.COORDINATOR, Whose.DENIED}

    # When.

    def _tick(self) -> bool:
        if self._forgot and self.ticks > self.copied + _LONG_AFTER:
            # Who read letters that the server lost may wait for ever for those after them.
            return False
        if not self.copied and self._is_time():
            self._copy()
        elif self.copied and not self.used and self._posts() >= self.posted + self.later:
            self._use()
        return super()._tick()

    def _is_time(self) -> bool:
        """Whether the seat is in its stage, mostly at work, and took or sent so many letters."""
        first = self.sites[self.whose[0]]
        if first.phase is not self.case.stage or not all(
            self.sites[name].alive for name in self.whose
        ):
            return False
        if not self._is_at_work(first) and not self.early:
            return False
        moved = first.read + self._posts()
        self.began = moved if self.began < 0 else self.began
        return moved >= self.began + self.so_far and self.random.random() < _SOON

    def _is_at_work(self, site: Site) -> bool:
        return site.seat is not None

    def _posts(self) -> int:
        return self.mailbox.posts[self.whose[0]]

    def _deadline(self) -> bool:
        if self.copied and not self.used:
            # Nobody has anything to do any longer: now or never.
            self._use()
            return True
        return super()._deadline()

    # Copies.

    def _copy(self) -> None:
        self.copied, self.posted = self.ticks, self._posts()
        for name in self.whose:
            site, path = self.sites[name], self.folder / f"{name}.copy"
            with sqlite3.connect(path) as to:
                site.journal._database.backup(to)
            to.close()
            path.chmod(0o600)
            self.backup[name] = (path, list(site.seeds))
        self.say(f"a copy is made of {', '.join(self.whose)}")
        self.server = _copy_of(self.mailbox), dict(self.registry), set(self.taken)

    def _use(self) -> None:
        self.used = True
        self.say(f"the copy of {', '.join(self.whose)} is {self.case.use}")
        if self.case.use is Use.CLONED:
            self._clone(self.whose[0])
            return
        if COORDINATOR in self.whose:
            self.mailbox, registry, taken = self.server
            self.registry.clear()
            self.registry.update(registry)
            self.taken = taken
        elif self.case.whose is Whose.DENIED:
            self.mailbox.deny(self.whose[0], self.server[0])
        for name in self.whose:
            self._restore(self.sites[name])

    def _restore(self, site: Site) -> None:
        path, seeds = self.backup[site.name]
        if site.alive:
            site.crash()
        for left in site.path.parent.glob(f"{site.path.name}*"):
            left.unlink()
        path.rename(site.path)
        site.dead, site.found_out, site.seeds = False, None, seeds
        site.model = None
        self._change(site)
        self._boot(site)

    def _clone(self, name: str) -> None:
        """A second process, on another machine, under the same name."""
        original = self.sites[name]
        path, _ = self.backup[name]
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        path.rename(elsewhere / original.path.name)
        self.twin = copy(original)
        self.twin.path = elsewhere / original.path.name
        self.twin.seeds, self.twin.dead = [], False
        self._change(self.twin)
        self._boot(self.twin)

    def _change(self, site: Site) -> None:
        """Give the copy other documents, where it has others."""
        site.edition += self.case.others

    def _promised(self) -> Sequence[Callable[[Evidence], None]]:
        """A server that lost letters promises nobody an end; no mask covers two values even then.

        The first invariant is checked by the mailbox itself, as letters come.
        """
        if self._forgot:
            return (check_no_mask_over_two_values,)
        return super()._promised()

    # The twin works as everybody else does.

    def everybody(self) -> list[Site]:
        return [*super().everybody(), *([] if self.twin is None else [self.twin])]

    def seats(self) -> dict[str, Site]:
        """Of an original and its copy the one that was not found out."""
        twin = self.twin
        if twin is None or twin.found_out or not self.sites[twin.name].found_out:
            return self.sites
        return {**self.sites, twin.name: twin}

    def _refuse(self, site: Site, error: ViolationError) -> None:
        """Of a server that came back, a seat may miss letters."""
        if not self._forgot:
            super()._refuse(site, error)
        self._find_out(site, error)

    def _guarded(self, site: Site, action: Any) -> None:
        """With other documents, or as a copy, a process ends before it sends anything."""
        try:
            super()._guarded(site, action)
        except (JournalError, ReplayError) as error:
            self._find_out(site, error)
        except NoRunError:
            # The server does not read its letter; it has to show its past again.
            self.say(f"{site.name} is not at work")


class CopyWorld(Copying):
    """A training in which one disk is copied."""


class AskedCopyWorld(Copying, ServingWorld):
    """Queries and evaluations in which one disk is copied; others are other questions."""

    def _is_at_work(self, site: Site) -> bool:
        assert isinstance(site, ServingSite)
        return bool(site.running)

    def _change(self, site: Site) -> None:
        people = self.people.get(site.name)
        if self.case.others and people is not None:
            people.tries = 0
            people.wishes.extendleft([Question(f"{site.name} another {self.seed}"), Question(None)])

    def _promised(self) -> Sequence[Callable[[Any], None]]:
        """Whoever was found out may leave others waiting; all else holds."""
        checks = ASKED_OF_COPIES[:1] if self._forgot else ASKED_OF_COPIES
        evidence = ServedEvidence(self, self.ideal)
        return [lambda _, check=check: check(evidence) for check in checks]  # type: ignore[misc]


ASKED_OF_COPIES = (check_masks, check_letters, check_charged_once, check_ideal, check_evaluations)


def few_faults(seed: int) -> Faults:
    """Beside the copies something else may happen."""
    random = Random(f"copies {seed}")
    return Faults(
        crashes=random.choice((0, 0, 1, 3)),
        cuts=random.choice((0, 0, 1)),
        repeats=random.choice((0, 0, 2)),
        haste=random.choice((0, 0, 0, 1)),
    )


def _copy_of(mailbox: Mailbox) -> Mailbox:
    return Mailbox(
        {name: list(box) for name, box in mailbox.boxes.items()},
        dict(mailbox.digests),
        mailbox.posts.copy(),
        list(mailbox.letters),
        dict(mailbox.held),
    )
