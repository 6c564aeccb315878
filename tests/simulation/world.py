"""All seats of a study, a mailbox between them, and a schedule of faults that a seed makes."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from simulation.invariants import INVARIANTS, BrokenError, Evidence, Trained
from simulation.mailbox import ConflictError, Mailbox
from simulation.site import COORDINATOR, Crash, Parts, Site
from sottovoce.roles.relay import Letter

MOST_TICKS = 20_000


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
        self.cut: dict[str, int] = {}
        self.ticks = 0
        names = self.parts.study.roster.names
        self.sites = {
            name: self.site(name, self.parts, self.folder, seed=self.seed) for name in names
        }
        self._plan()

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
            for site in self.sites.values():
                if not site.alive and not site.dead:
                    self._boot(site)
        except ConflictError as error:
            raise BrokenError(f"invariant 1: {error}") from None
        finally:
            evidence = Evidence(
                self.sites,
                self.mailbox.letters,
                self.withdrawn,
                self.late,
                self.trained,
                self.masks,
            )
            for site in self.sites.values():
                if site.alive:
                    site.journal._database.close()
        for check in INVARIANTS:
            check(evidence)
        return evidence

    # One tick: a fault that is due, or one thing that one seat does.

    def _tick(self) -> bool:
        self.ticks += 1
        for kind in self.due.pop(self.ticks, ()):
            self.counts[kind] += 1
            getattr(self, f"_{kind}")()
        for site in self.random.sample(list(self.sites.values()), len(self.sites)):
            if self._can_work(site):
                self._guarded(site, self._work)
                return True
        down = [one for one in self.sites.values() if not one.alive and not one.dead]
        if down:
            self._boot(self.random.choice(down))
            return True
        if self.cut:
            self.cut.clear()
            return True
        return self._deadline()

    def _can_work(self, site: Site) -> bool:
        if not site.alive:
            # Who is down comes back some time, perhaps long after the others went on.
            return not site.dead and self.random.random() < 0.05
        if self.cut.get(site.name, 0) > self.ticks:
            return False
        return bool(self.mailbox.waiting(site.name, site.read) or site.pending())

    def _work(self, site: Site) -> None:
        if not site.alive:
            self._boot(site)
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

    def _post(self, site: Site, pending: list[Any]) -> None:
        """Post the first letter of any line: lines do not wait for each other."""
        firsts = {(one.letter.session, one.letter.recipient): one for one in reversed(pending)}
        chosen = self.random.choice(list(firsts.values()))
        self.mailbox.post(chosen.letter)
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

    def _boot(self, site: Site) -> None:
        self.say(f"{site.name} starts again")
        self._guarded(site, Site.boot)

    # Time passes.

    def _deadline(self) -> bool:
        """Nobody has anything to do: who is silent is declared gone, or a gather expires."""
        coordinator = self.sites[COORDINATOR]
        gone = {name for name, site in self.sites.items() if site.dead}
        if coordinator.alive and not coordinator.ended and not gone <= set(coordinator.state.gone):
            self.say(f"declared gone: {gone}")
            self._guarded(coordinator, lambda site: site.declare_gone(gone))
            return True
        for site in self.sites.values():
            if site.alive and site.gathers and not site.ended:
                self.say(f"{site.name} expires")
                self._guarded(site, Site.expire)
                return True
        return False

    # Faults.

    def _one(self, *, but: str = "") -> Site | None:
        alive = [one for one in self.sites.values() if one.alive and one.name != but]
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
        gathering = [one for one in self.sites.values() if one.alive and one.gathers]
        if gathering:
            site = self.random.choice(gathering)
            self.late.add(site.name)
            self.say(f"{site.name} expires in haste")
            self._guarded(site, Site.expire)

    def _withdrawals(self) -> None:
        peers = [self.sites[name] for name in self.parts.study.roster.peers]
        willing = [one for one in peers if one.alive and not one.ended]
        if willing:
            site = self.random.choice(willing)
            self.say(f"{site.name} withdraws")
            self._guarded(site, Site.withdraw)
            if site.alive or site.state.withdrawn:
                self.withdrawn[site.name] = self.mailbox.posts[site.name]
