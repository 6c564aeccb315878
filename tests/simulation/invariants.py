"""What must hold whatever happens: a check for each sentence of the package's docstring."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simulation.mailbox import BrokenError
from simulation.site import CONTROL, COORDINATOR, Site
from sottovoce.study.relay import Letter

if TYPE_CHECKING:
    from simulation.parts import Made


@dataclass
class Evidence:
    """All that an invariant may look at once a simulation is over."""

    sites: dict[str, Site]
    letters: list[Letter]
    withdrawn: dict[str, int]
    late: set[str] = field(default_factory=set)
    trained: Callable[[dict[str, Site]], "Trained | None"] = lambda _: None
    masks: Callable[[list[Letter]], list[bytes]] = lambda _: []
    left: list[tuple[Site, Letter]] = field(default_factory=list)
    open_kinds: frozenset[str] = frozenset()
    unseen: set[str] = field(default_factory=set)


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
    for (session, sender, recipient), numbers in lines.items():
        gone = evidence.sites[sender].withdrawn and session != CONTROL
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
    everybody = next(iter(evidence.sites.values())).parts.study.roster.peers
    if trained is None or trained.named != everybody:
        stop = evidence.sites[COORDINATOR].stop
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
        if site.stop is None or site.stop[2] == "AbsenceError":
            continue
        if site.stop[2] != "WithdrawnError" or site.stop[3] not in evidence.withdrawn:
            _broken(4, f"{name} was stopped by {site.stop}")


def check_one_end(evidence: Evidence) -> None:
    """5. The same model, the same failure, or left out as the coordinator says."""
    honest = {n: s for n, s in evidence.sites.items() if not s.dead and not s.withdrawn}
    if COORDINATOR not in honest:
        return
    coordinator = honest[COORDINATOR]
    for name, site in honest.items():
        same = (site.finished, site.stop) == (coordinator.finished, coordinator.stop)
        gone = not coordinator.goes_on_with(name) and _may_be_gone(evidence, name)
        left_out = gone and site.stop is not None and site.stop[3] == name
        if not same and not left_out:
            _broken(5, f"{name} ended with {site.phase} {site.stop}, not as the coordinator")
    trained = evidence.trained(evidence.sites)
    if trained is None:
        return
    if not trained.same:
        _broken(5, "different models")
    for name, site in honest.items():
        if name in site.parts.study.roster.peers:
            has, named = name in trained.counted, name in trained.named
            gone = name in coordinator.gone and _may_be_gone(evidence, name)
            if has != named and not (named and gone):
                _broken(5, f"{name} has a model: {has}, but the coordinator names it: {named}")


def _may_be_gone(evidence: Evidence, name: str) -> bool:
    """Whether a seat of its organisation was not seen, or withdrew: they leave together."""
    roster = evidence.sites[name].parts.study.roster
    own = roster.organisation(name)
    return any(roster.organisation(seat) == own for seat in {*evidence.unseen, *evidence.withdrawn})


def check_nothing_after_withdrawal(evidence: Evidence) -> None:
    """6. After it withdrew, a seat posted the word that it did, and nothing else."""
    for name, before in evidence.withdrawn.items():
        after = [letter for letter in evidence.letters if letter.sender == name][before:]
        if len(after) > 1 or any(letter.session != CONTROL for letter in after):
            _broken(6, f"{name} posted {len(after)} letters after it withdrew")


def check_nobody_waits(evidence: Evidence) -> None:
    """7. Everybody who is alive has come to an end."""
    if evidence.sites[COORDINATOR].dead:
        return
    for name, site in evidence.sites.items():
        if not site.dead and not site.ended:
            doing: Any = site.seat.describe() if site.seat is not None else "has no session"
            _broken(7, f"{name} is in phase {site.phase} and {doing}")


def check_no_mask_over_two_values(evidence: Evidence) -> None:
    """8. Whatever left a seat under one stream, there is one value at each place of a line."""
    values: dict[tuple[str, bytes, str, int], Made] = {}
    for site, letter in evidence.left:
        made = site.made.get(letter)
        if made is None or made.kind in evidence.open_kinds:
            continue
        place = (site.name, made.material, letter.recipient, letter.number)
        before = values.setdefault(place, made)
        if before != made:
            _broken(8, f"{site.name} hid two values of {made.kind} under one mask")


INVARIANTS = (
    check_one_number_one_message,
    check_counted_once,
    check_nobody_dropped_for_nothing,
    check_once_only_material,
    check_one_end,
    check_nothing_after_withdrawal,
    check_nobody_waits,
    check_no_mask_over_two_values,
)
