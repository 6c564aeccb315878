"""What must hold whatever happens: a check for each sentence of the package's docstring."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from simulation.site import CONTROL, COORDINATOR, Site
from sottovoce.roles.relay import Letter


class BrokenError(AssertionError):
    """An invariant does not hold."""


@dataclass
class Evidence:
    """All that an invariant may look at once a simulation is over."""

    sites: dict[str, Site]
    letters: list[Letter]
    withdrawn: dict[str, int]
    late: set[str] = field(default_factory=set)
    trained: Callable[[dict[str, Site]], "Trained | None"] = lambda _: None
    masks: Callable[[list[Letter]], list[bytes]] = lambda _: []


@dataclass(frozen=True)
class Trained:
    """What came of it: whom the coordinator names, whose numbers each peer's model holds."""

    named: tuple[str, ...]
    counted: dict[str, tuple[str, ...]]
    same: bool


def _broken(number: int, why: str) -> None:
    raise BrokenError(f"invariant {number}: {why}")


def check_one_number_one_message(evidence: Evidence) -> None:
    """1. The mailbox refuses a second message as it comes; here nothing may be missing either."""
    lines: dict[tuple[bytes, str, str], set[int]] = defaultdict(set)
    for letter in evidence.letters:
        lines[letter.session, letter.sender, letter.recipient].add(letter.number)
    for (_, sender, recipient), numbers in lines.items():
        gone = evidence.sites[sender].state.withdrawn
        if numbers != set(range(len(numbers))) and not gone:
            _broken(1, f"numbers are missing from {sender} to {recipient}")


def check_counted_once(evidence: Evidence) -> None:
    """2. Every peer that the coordinator names is in every model exactly once; nobody else is."""
    trained = evidence.trained(evidence.sites)
    if trained is None:
        return
    for peer, counted in trained.counted.items():
        if sorted(counted) != sorted(trained.named):
            _broken(2, f"{peer}'s model holds {counted}, the coordinator says {trained.named}")


def check_nobody_dropped_for_nothing(evidence: Evidence) -> None:
    """3. Where nobody left, withdrew or was late, there is a model with everybody in it."""
    faulty = evidence.withdrawn or evidence.late or any(s.dead for s in evidence.sites.values())
    if faulty:
        return
    trained = evidence.trained(evidence.sites)
    everybody = next(iter(evidence.sites.values())).study.roster.peers
    if trained is None or trained.named != everybody:
        stop = evidence.sites[COORDINATOR].state.stop
        _broken(3, f"expected everybody in the model, found {trained} ({stop})")


def check_once_only_material(evidence: Evidence) -> None:
    """4. One seed for each seat and session, after every restart; no mask twice; no misuse."""
    owners: dict[bytes, tuple[str, bytes]] = {}
    for name, site in evidence.sites.items():
        for session, seed in site.seeds:
            if owners.setdefault(seed, (name, session)) != (name, session):
                _broken(4, f"{name} has a seed that {owners[seed][0]} has in another session")
    places = {place: seed for seed, place in owners.items()}
    if len(places) != len(owners):
        _broken(4, "a session has two seeds")
    masks = evidence.masks(evidence.letters)
    if len(masks) != len(set(masks)):
        _broken(4, "a mask covers two messages")
    for name, site in evidence.sites.items():
        if site.state.stop is not None and site.state.stop[2] != "AbsenceError":
            _broken(4, f"{name} was stopped by {site.state.stop}")


def check_one_end(evidence: Evidence) -> None:
    """5. The same model, the same failure, or left out as the coordinator says."""
    honest = {n: s for n, s in evidence.sites.items() if not s.dead and not s.state.withdrawn}
    if COORDINATOR not in honest:
        return
    ends = {name: (site.state.finished, site.state.stop) for name, site in honest.items()}
    if len(set(ends.values())) > 1:
        _broken(5, f"different ends: {ends}")
    trained = evidence.trained(evidence.sites)
    if trained is None:
        return
    if not trained.same:
        _broken(5, "different models")
    for name, site in honest.items():
        if name in site.study.roster.peers:
            has, named = name in trained.counted, name in trained.named
            if has != named:
                _broken(5, f"{name} has a model: {has}, but the coordinator names it: {named}")


def check_nothing_after_withdrawal(evidence: Evidence) -> None:
    """6. After it withdrew, a seat posted the word that it did, and nothing else."""
    for name, before in evidence.withdrawn.items():
        after = [one for one in evidence.letters if one.sender == name][before:]
        if len(after) > 1 or any(one.session != CONTROL for one in after):
            _broken(6, f"{name} posted {len(after)} letters after it withdrew")


def check_nobody_waits(evidence: Evidence) -> None:
    """7. Everybody who is alive has come to an end."""
    if evidence.sites[COORDINATOR].dead:
        return
    for name, site in evidence.sites.items():
        if not site.dead and not site.ended:
            doing: Any = site.seat.describe() if site.seat is not None else "has no session"
            _broken(7, f"{name} {doing}")


INVARIANTS = (
    check_one_number_one_message,
    check_counted_once,
    check_nobody_dropped_for_nothing,
    check_once_only_material,
    check_one_end,
    check_nothing_after_withdrawal,
    check_nobody_waits,
)
