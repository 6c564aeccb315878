"""All seats of a study, a mailbox between them, and a schedule of faults that a seed makes."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from simulation.invariants import INVARIANTS, Evidence, Trained
from simulation.journals import Crash
from simulation.mailbox import BrokenError, ConflictError, Mailbox
from simulation.parts import Parts
from simulation.site import COORDINATOR, Site
from sottovoce.course.letter_chain import HeldLetters
from sottovoce.course.phases import Phase
from sottovoce.course.training.inputs import SeatTaken
from sottovoce.errors import CopyError, SottovoceError, ViolationError
from sottovoce.study.relay import Letter

MOST_TICKS = 20_000
_TICK_SECONDS = 0.001


@dataclass(frozen=True)
class Faults:
    """How often what goes wrong, at one of so many moments."""

    crashes: int = 0
    deaths: int = 0
    cuts: int = 0
    repeats: int = 0
    haste: int = 0
    withdrawals: int = 0

    @classmethod
    def drawn(cls, random: Random) -> "Faults":
        """A schedule: often some crashes, sometimes worse."""
        return cls(
            crashes=random.choice((0, 1, 2, 3, 6)),
            deaths=random.choice((0, 0, 0, 1, 1, 2)),
            cuts=random.choice((0, 0, 1, 3)),
            repeats=random.choice((0, 0, 2, 5)),
            haste=random.choice((0, 0, 0, 1, 2)),
            withdrawals=random.choice((0, 0, 0, 0, 1)),
        )


@dataclass
class World:
    """One simulation: the same seed is the same story."""

    parts: Parts
    folder: Path
    seed: int
    trained: Callable[[dict[str, Site]], Trained | None]
    masks: Callable[[list[Letter]], list[bytes]]
    faults: Faults | None = None
    # The kinds of messages that hide nothing: they name sets and results.
    open_kinds: frozenset[str] = frozenset()
    # About how many letters a study has: faults fall somewhere among them.
    length: int = 120
    site: type[Site] = Site
    say: Callable[[str], None] = lambda _: None
    counts: Counter[str] = field(default_factory=Counter)
    mailbox: Mailbox = field(default_factory=Mailbox)

    def __post_init__(self) -> None:
        self.random = Random(self.seed)
        self.faults = self.faults or Faults.drawn(self.random)
        self.withdrawn: dict[str, int] = {}
        self.late: set[str] = set()
        # Whose requests the coordinator missed while time went on, and who was waited for in haste.
        self.unseen: set[str] = set()
        self.cut: dict[str, int] = {}
        self.ticks = 0
        self.now = 1_000_000.0
        self.registry: dict[str, bytes] = {}
        self.left: list[tuple[Site, Letter]] = []
        self.taken: set[str] = set()
        names = self.parts.study.roster.names
        self.sites = {name: self._site(name) for name in names}
        self._plan()

    def _site(self, name: str) -> Site:
        def clock() -> float:
            return self.now

        settings: dict[str, Any] = {"seed": self.seed, "clock": clock, "registry": self.registry}
        return self.site(name, self.parts, self.folder, **settings)

    def _plan(self) -> None:
        """Which faults fall on which tick."""
        assert self.faults is not None
        self.due: dict[int, list[str]] = {}
        for kind, count in vars(self.faults).items():
            for _ in range(count):
                tick = self.random.randrange(2 * self.length)
                self.due.setdefault(tick, []).append(kind)

    def run(self) -> Evidence:
        """Let everybody work until nobody has anything to do, then check every invariant."""
        try:
            while self._tick():
                if self.ticks > MOST_TICKS:
                    raise BrokenError("invariant 7: it never ends")
            for site in self.everybody():
                if not site.alive and not site.dead:
                    self._boot(site)
        except ConflictError as error:
            raise BrokenError(f"invariant 1: {error}") from None
        finally:
            evidence = Evidence(
                self.seats(),
                self.mailbox.letters,
                self.withdrawn,
                self.late,
                self.trained,
                self.masks,
                self.left,
                self.open_kinds,
                self.unseen | self.late,
            )
            for site in self.everybody():
                if site.alive:
                    site.journal._database.close()
        for check in self._promised():
            check(evidence)
        return evidence

    def _promised(self) -> Sequence[Callable[[Evidence], None]]:
        """What must hold in this world: everything."""
        return INVARIANTS

    # One tick: a fault that is due, or one thing that one seat does.

    def _tick(self) -> bool:
        self.ticks += 1
        self.now += _TICK_SECONDS
        for kind in self.due.pop(self.ticks, ()):
            self.counts[kind] += 1
            getattr(self, f"_{kind}")()
        everybody = self.everybody()
        for site in self.random.sample(everybody, len(everybody)):
            if self._can_work(site):
                self._guarded(site, self._work)
                return True
        down = [site for site in everybody if not site.alive and not site.dead]
        if down:
            self._boot(self.random.choice(down))
            return True
        if self.cut:
            self.cut.clear()
            return True
        return self._deadline()

    def seats(self) -> dict[str, Site]:
        """For every seat the process that went on at it."""
        return self.sites

    def everybody(self) -> list[Site]:
        """Every process that works, or could."""
        return list(self.sites.values())

    def _can_work(self, site: Site) -> bool:
        if not site.alive:
            # Who is down comes back some time, perhaps long after the others went on.
            return not site.dead and self.random.random() < 0.05
        if self.cut.get(site.name, 0) > self.ticks:
            return False
        if not self._has_enrolled(site):
            return self.sites[COORDINATOR].alive
        letters = self.mailbox.waiting(site.name, site.read) or site.pending()
        return site.has_work or bool(letters)

    def _has_enrolled(self, site: Site) -> bool:
        return site.name == COORDINATOR or site.name in self.taken

    def _work(self, site: Site) -> None:
        if not site.alive:
            self._boot(site)
            return
        if not self._has_enrolled(site):
            self._enrol(site)
            return
        if site.has_work and self.random.random() < 0.6:
            site.work()
            return
        if self.mailbox.runs.get(site.name) is not site.run and not self._takes_up(site):
            return
        pending = site.pending()
        incoming = self.mailbox.after(site.name, site.read)
        if pending and (incoming is None or self.random.random() < 0.5):
            self._post(site, pending)
        elif incoming is not None:
            position, letter = incoming
            site.read = position
            self.say(f"{site.name} takes {letter.number} of {letter.sender} at {position}")
            site.take(letter, position)
        elif site.has_work:
            site.work()

    def _takes_up(self, site: Site) -> bool:
        """Before anything leaves, a process compares what the server holds of its seat."""
        try:
            site.journal.check_past(self.mailbox.held.get(site.name, HeldLetters()))
        except (CopyError, ViolationError) as error:
            self._find_out(site, error)
            return False
        self.mailbox.take_up(site.name, site.run)
        return True

    def _find_out(self, site: Site, error: SottovoceError) -> None:
        """A process ends, because its disk is a copy, or was begun with other documents."""
        self.say(f"{site.name} is found out: {type(error).__name__}")
        site.found_out, site.dead = error, True
        site.crash()

    def _post(self, site: Site, pending: list[Any]) -> None:
        """Post the first letter that waits, as the seat of a network does."""
        chosen = pending[0]
        site.journal.leaving(chosen.position)
        self.mailbox.post(chosen.letter, site.run)
        self.left.append((site, chosen.letter))
        self.say(
            f"{site.name} posts {chosen.kind} {chosen.letter.number} to {chosen.letter.recipient}"
        )
        if site.journal.bomb == "posted":
            site.journal.bomb = ""
            raise Crash("posted")
        site.journal.mark_sent(chosen.position)

    def _guarded(self, site: Site, action: Callable[[Site], None]) -> None:
        try:
            action(site)
        except Crash as crash:
            self.say(f"{site.name} crashes ({crash})")
            site.crash()
        except ViolationError as error:
            self._refuse(site, error)

    def _refuse(self, site: Site, error: ViolationError) -> None:
        """A seat has no part in what it was sent."""
        raise BrokenError(f"invariant 1: {site.name} ends: {error}")

    def _boot(self, site: Site) -> None:
        self.say(f"{site.name} starts again")
        self._guarded(site, lambda machine: machine.boot())

    # Time passes.

    def _enrol(self, site: Site) -> None:
        """The coordinator's server pins the seat; it turns away who comes after enrolment."""
        coordinator = self.sites[COORDINATOR]
        if coordinator.phase is not Phase.ENROLMENT and site.name not in self.registry:
            self.say(f"{site.name} is turned away")
            site.dead = True
            site.crash()
            return
        self.registry[site.name] = site.public
        try:
            coordinator.step(SeatTaken(site.name, site.public))
        except Crash as crash:
            # Its answer never came: the seat asks again.
            self.say(f"coordinator crashes ({crash})")
            coordinator.crash()
        else:
            self.taken.add(site.name)

    def _deadline(self) -> bool:
        """Nobody has anything to do: time goes on to the next moment that somebody waits for."""
        here = [site for site in self.everybody() if site.alive and site.due is not None]
        if not here:
            return False
        site = min(here, key=lambda machine: machine.due or 0.0)
        self._go_on_to(max(self.now, site.due or 0.0))
        self.say(f"{site.name} waited until {self.now:.0f}")
        self._guarded(site, lambda machine: machine.pass_time())
        return True

    def _go_on_to(self, when: float) -> None:
        """Meanwhile everybody who is there asks for letters again and again."""
        self.now = when
        coordinator = self.sites[COORDINATOR]
        for site in self.sites.values():
            if site.alive and coordinator.alive and site.name not in self.cut:
                self._guarded(coordinator, lambda machine, name=site.name: machine.seen(name))
            else:
                self.unseen.add(site.name)

    # Faults.

    def _one(self, *, but: str = "") -> Site | None:
        alive = [site for site in self.sites.values() if site.alive and site.name != but]
        return self.random.choice(alive) if alive else None

    def _crashes(self) -> None:
        site = self._one()
        if site is not None:
            site.journal.bomb = self.random.choice(("before", "after", "posted"))

    def _deaths(self) -> None:
        """Somebody never returns; not the coordinator, through whom all others talk."""
        site = self._one(but=COORDINATOR)
        if site is not None:
            self.say(f"{site.name} dies")
            site.dead = True
            site.crash()

    def _cuts(self) -> None:
        site = self._one()
        if site is not None:
            self.cut[site.name] = self.ticks + self.random.randrange(self.length)

    def _repeats(self) -> None:
        """The mailbox is read again from some earlier place."""
        site = self._one()
        if site is not None:
            site.read = self.random.randint(0, site.read)

    def _haste(self) -> None:
        """A deadline passes while somebody is slow."""
        waiting = [site for site in self.sites.values() if site.alive and site.due is not None]
        if waiting:
            site = self.random.choice(waiting)
            self.late.add(site.name)
            self.unseen.update(site.awaited or self.sites)
            self._go_on_to(max(self.now, site.due or 0.0))
            self.say(f"{site.name} waited until {self.now:.0f}, in haste")
            self._guarded(site, lambda machine: machine.pass_time())

    def _withdrawals(self) -> None:
        peers = [self.sites[name] for name in self.parts.study.roster.peers]
        willing = [peer for peer in peers if peer.alive and not peer.ended]
        if willing:
            site = self.random.choice(willing)
            self.say(f"{site.name} withdraws")
            posted = self.mailbox.has
            self._guarded(site, lambda machine: machine.withdraw(posted))
            if site.alive or site.withdrawn:
                self.withdrawn[site.name] = self.mailbox.posts[site.name]
