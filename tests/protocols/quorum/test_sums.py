"""Contributions: sums over all peers come out, single ones do not."""

from collections.abc import Callable
from itertools import combinations

import msgspec
import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import dropping, is_kind, rewriting
from harness.noise import assert_looks_uniform
from harness.quorums import OPENER, here, quorum_of
from sottovoce import wire
from sottovoce.errors import AbsenceError, InputError, ViolationError
from sottovoce.numbers.residues import PRIMES, Base, Planes
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener
from sottovoce.protocols.quorum.sums import (
    ContributionPlane,
    ContributionSeed,
    Summand,
    collect,
    contribute,
    give_sum,
    take_sum,
)
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.seat import Packet

BASE = Base(3)


def added(
    quorum: Quorum,
    values: dict[str, np.ndarray],
    *,
    meddler: Meddler | None = None,
) -> Outcome:
    """Every peer contributes, the members add, the opener learns the sum."""
    length = len(next(iter(values.values())))
    summand = Summand("test", here(quorum), length, BASE)

    def peer(name: str) -> Party[Planes | None]:
        own = yield from contribute(
            quorum, summand, values[name], name=name, entropy=SeededEntropy(sum(name.encode()))
        )
        if name in quorum.members:
            yield from member(name, own)
        return own

    def member(name: str, own: Planes | None) -> Party[None]:
        total = np.zeros((BASE.count, length), np.uint32)
        for other in values:
            share = yield from collect(quorum, summand, other, name=name, own=own)
            total = BASE.add(total, share)
        yield from give_sum(quorum, BASE, total)

    def opener() -> Party[list[int]]:
        party = Opener(quorum)
        return [int(value) for value in (yield from take_sum(party, BASE, length))]

    programs = {name: peer(name) for name in values}
    programs |= {name: member(name, None) for name in quorum.members if name not in values}
    return converse({**programs, OPENER: opener()}, meddler=meddler)


def contributions(names: tuple[str, ...], length: int = 5) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    return {name: rng.integers(-(2**40), 2**40, length) for name in names}


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2), (9, 4)])
@pytest.mark.parametrize("others", [(), ("helper", "library")])
def test_the_sum_is_that_of_the_integers(
    members: int, threshold: int, others: tuple[str, ...]
) -> None:
    quorum = quorum_of(members, threshold)
    values = contributions((*quorum.members, *others))
    assert added(quorum, values).results[OPENER] == sum(values.values()).tolist()


@pytest.mark.parametrize(("members", "threshold"), [(3, 1), (5, 2)])
def test_what_a_minority_gets_of_a_contribution_is_noise(members: int, threshold: int) -> None:
    quorum = quorum_of(members, threshold)
    values = {name: np.full(300, 7) for name in quorum.members}
    outcome = added(quorum, values)
    for names in combinations(quorum.members, threshold):
        for name in names:
            for plane, prime in enumerate(BASE.primes):
                planes = [
                    message.share.planes()[0]
                    for message in outcome.views[name].of(ContributionPlane)
                    if message.plane == plane
                ]
                if planes:
                    assert_looks_uniform(np.concatenate(planes).tolist(), prime)


def from_to(kind: type[Message], sender: str, recipient: str) -> Callable[[Packet], bool]:
    return lambda packet: (
        (packet.sender, packet.recipient) == (sender, recipient) and is_kind(packet, kind)
    )


def test_a_contribution_that_misses_one_member_is_missed() -> None:
    quorum = quorum_of(3, 1)
    values = contributions(quorum.members)
    lost = dropping(from_to(ContributionPlane, "site1", "site3"))
    with pytest.raises(AbsenceError, match="expected 3 of site1, site2, site3, found 2") as caught:
        added(quorum, values, meddler=lost)
    assert caught.value.party == "site3"


def test_shares_of_another_plan_are_refused_by_name() -> None:
    quorum = quorum_of(3, 1)
    values = contributions(quorum.members)
    for kind, recipient in ((ContributionSeed, "site1"), (ContributionPlane, "site3")):
        other = rewriting(
            from_to(kind, "site2", recipient),
            kind,
            lambda message: msgspec.structs.replace(message, context=b"another attempt"),
        )
        with pytest.raises(ViolationError, match="of another plan or attempt") as caught:
            added(quorum, values, meddler=other)
        assert caught.value.party == "site2"


def test_a_residue_out_of_range_is_refused_by_name() -> None:
    quorum = quorum_of(3, 1)
    values = contributions(quorum.members)

    def edit(message: Message) -> Message:
        assert isinstance(message, ContributionPlane)
        share = np.full(message.share.shape, PRIMES[2], np.uint32)
        return msgspec.structs.replace(message, share=wire.Residues.of(share))

    def when(packet: Packet) -> bool:
        return from_to(ContributionPlane, "site2", "site3")(packet)

    meddler = rewriting(when, ContributionPlane, edit)
    with pytest.raises(ViolationError, match="residues below 2097131") as caught:
        added(quorum, values, meddler=meddler)
    assert caught.value.party == "site2"


def test_what_is_not_a_contribution_is_refused() -> None:
    quorum = quorum_of(3, 1)
    summand = Summand("test", here(quorum), 4, BASE)
    entropy = SeededEntropy(1)
    with pytest.raises(InputError, match="expected 4 integers"):
        next(contribute(quorum, summand, np.arange(3), name="site1", entropy=entropy))
    with pytest.raises(InputError, match="the opener 'coordinator' contributes nothing"):
        next(contribute(quorum, summand, np.arange(4), name=OPENER, entropy=entropy))
    with pytest.raises(InputError, match="expected 'site1' to keep its own share"):
        next(collect(quorum, summand, "site1", name="site1"))
