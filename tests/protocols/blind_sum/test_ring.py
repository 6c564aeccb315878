"""Sums around rings: equal to the ideal, sealed hop by hop, only over what is hidden already."""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import Crashing, Holding, is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Layout, Plain, decrypt, encrypt
from sottovoce.protocols.blind_sum import (
    CiphertextSpace,
    Round,
    RoundBook,
    SummedVector,
    WordSpace,
)
from sottovoce.protocols.blind_sum.graphs import most_rings, rings
from sottovoce.protocols.blind_sum.keys import OwnKeys, members_of
from sottovoce.protocols.blind_sum.messages import (
    KeyBook,
    LeftOut,
    RingHop,
    RingTotal,
    RoundKeys,
)
from sottovoce.protocols.blind_sum.plan import Plan, ideal
from sottovoce.protocols.blind_sum.ring import OneShare, Rings, Running, peer, run, table
from sottovoce.protocols.messages import Message
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.sealing import X25519Key
from sottovoce.protocols.seat import Packet, Seat
from sottovoce.wire import Codec, Words

PEERS = ("alice", "bob", "carol", "dave", "erin")


def plan_for(
    peers: tuple[str, ...] = PEERS, *, count: int = 2, shape: tuple[int, ...] = (4,)
) -> Rings:
    parts = (
        SummedVector("evaluator", "half", WordSpace(shape)),
        SummedVector("evaluator", "rest", WordSpace((2,))),
    )
    return Rings(Plan(Round("study", "ring", peers), parts), count)


def values_for(plan: Rings, seed: int = 0) -> dict[str, tuple[OneShare, OneShare]]:
    entropy = SeededEntropy(seed)
    space: Any = plan.parts[0].space
    return {
        peer: (
            OneShare(entropy.words(*space.shape)),
            OneShare(entropy.words(2)),
        )
        for peer in plan.this.peers
    }


@given(st.integers(3, 9), st.data())
def test_the_sum_is_the_plain_sum(peers: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, most_rings(peers)))
    receiver = data.draw(st.sampled_from(["coordinator", "evaluator"]))
    parts = (SummedVector(receiver, "half", WordSpace((2, 2))),)
    names = tuple(f"peer {index}" for index in range(peers))
    plan = Rings(Plan(Round("study", "ring", names), parts), count)
    entropy = SeededEntropy(data.draw(st.integers(0, 999)))
    values = {name: (OneShare(entropy.words(2, 2)),) for name in names}
    outcome = run(plan, values, entropy=entropy)
    (expected,) = ideal(plan.plan, [(value.share,) for (value,) in values.values()])
    np.testing.assert_array_equal(outcome.results[receiver].sums[0], expected)
    assert all(outcome.results[name].peers == names for name in (*names, "coordinator"))


def test_two_parts_go_round_together() -> None:
    plan = plan_for((*PEERS, "frank"), count=3)
    values = values_for(plan)
    outcome = run(plan, values, entropy=SeededEntropy())
    expected = ideal(plan.plan, [[v.share for v in parts] for parts in values.values()])
    for total, own in zip(outcome.results["evaluator"].sums, expected, strict=True):
        np.testing.assert_array_equal(total, own)


def test_ciphertexts_go_round() -> None:
    secret = toy_key()
    key, scale = secret.public, Scale(4, 1000)
    space = CiphertextSpace(key, Layout((3,)), scale)
    plan = Rings(Plan(Round("study", "ring", PEERS), (SummedVector("evaluator", "b", space),)), 2)
    entropy, rng = SeededEntropy(), np.random.default_rng(0)
    plain = {peer: Plain(rng.integers(-1000, 1001, 3), scale) for peer in PEERS}
    values = {peer: (encrypt(key, value, entropy=entropy),) for peer, value in plain.items()}
    outcome = run(plan, values, entropy=entropy)
    total = decrypt(secret, outcome.results["evaluator"].sums[0])
    np.testing.assert_array_equal(total.integers, sum(p.integers for p in plain.values()))
    assert total.scale == scale.sum_of(5)


def test_plain_values_never_go_round() -> None:
    plan = plan_for()
    values: dict[str, Any] = {**values_for(plan), "bob": (np.zeros(4, np.uint64), [1, 2])}
    with pytest.raises(InputError, match="expected shares or ciphertexts, found plain values"):
        run(plan, values, entropy=SeededEntropy())
    assert repr(OneShare([12345])) == "OneShare(<share>)"


@pytest.mark.parametrize(
    ("peers", "count", "complaint"),
    [
        (("alice", "bob", "carol"), 2, "expected at least 4 peers for 2 rings, found 3"),
        (PEERS, 3, "expected 1 to 2 rings of 5 peers, found 3"),
        (PEERS, 0, "expected 1 to 2 rings of 5 peers, found 0"),
        (PEERS[:4], 4, "expected 1 to 3 rings of 4 peers, found 4"),
    ],
)
def test_rings_that_cannot_be(peers: tuple[str, ...], count: int, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plan_for(peers, count=count)


def test_a_ring_has_three_peers_and_one_receiver() -> None:
    with pytest.warns(UserWarning, match="alice and bob"):
        two = Round("study", "ring", ("alice", "bob"), fewest=2)
    part = SummedVector("evaluator", "x", WordSpace((1,)))
    with pytest.raises(InputError, match="expected at least 3 peers, found 2"):
        Rings(Plan(two, (part,)), 1)
    parts = (part, SummedVector("coordinator", "y", WordSpace((1,))))
    with pytest.raises(InputError, match="expected one receiver, found two"):
        Rings(Plan(Round("study", "ring", PEERS), parts), 1)
    with pytest.raises(InputError, match="expected 1 to 1 rings, found 2"):
        rings(["a", "b", "c"], 2, seed=bytes(32))


def isolating(orders: list[tuple[str, ...]], peer: str) -> int:
    """How many others must pool what they saw to learn all pieces of one peer."""
    return len({near for order in orders for near in neighbours(order, peer)})


def neighbours(order: tuple[str, ...], peer: str) -> tuple[str, str]:
    place = order.index(peer)
    return order[place - 1], order[(place + 1) % len(order)]


def test_a_sum_that_came_out_is_not_added_up_again_without_somebody() -> None:
    plan = plan_for()
    values = values_for(plan)
    books = {name: RoundBook() for name in (*PEERS, "coordinator", "evaluator")}
    table(plan, values, entropy=SeededEntropy(), books=books).run()
    fewer = Rings(Plan(plan.this.again(without=("erin",)), plan.parts))
    with pytest.raises(MisuseError, match="'ring' of study 'study' was unmasked already"):
        table(fewer, values, entropy=SeededEntropy(1), books=books).run()


def test_a_ring_that_stopped_before_its_last_turn_may_start_over() -> None:
    plan = plan_for()
    values = values_for(plan)
    books = {name: RoundBook() for name in (*PEERS, "coordinator", "evaluator")}
    with pytest.raises(AbsenceError):
        table(
            plan, values, entropy=SeededEntropy(2), meddler=Crashing({"erin": 2}), books=books
        ).run()
    fewer = Rings(Plan(plan.this.again(without=("erin",)), plan.parts))
    outcome = table(fewer, values, entropy=SeededEntropy(1), books=books).run()
    shares = [[v.share for v in values[peer]] for peer in fewer.this.peers]
    np.testing.assert_array_equal(outcome.results["evaluator"].sums[0], ideal(plan.plan, shares)[0])


@pytest.mark.parametrize("peers", range(4, 14))
def test_neighbours_change_from_ring_to_ring(peers: int) -> None:
    names = [f"peer {index}" for index in range(peers)]
    most = (peers - 1) // 2
    for count in range(1, most_rings(peers) + 1):
        orders = rings(names, count, seed=bytes(range(32)))
        assert all(sorted(order) == sorted(names) for order in orders)
        edges = [
            {frozenset((a, b)) for a, b in zip(o, (*o[1:], o[0]), strict=True)} for o in orders
        ]
        if count <= most:
            assert all(not first & other for first, other in combinations(edges, 2))
            assert all(isolating(orders, name) == 2 * count for name in names)
        else:
            assert all(isolating(orders, name) >= min(3, 2 * count) for name in names)
        for name in names:
            pairs = [frozenset(neighbours(order, name)) for order in orders]
            assert len(set(pairs)) == count


@pytest.mark.parametrize("peers", range(4, 14))
def test_every_ring_has_another_starter(peers: int) -> None:
    names, most = tuple(f"peer {index}" for index in range(peers)), most_rings(peers)
    plan = plan_for(names, count=most)
    starters = {order[0] for order in plan.orders(bytes(32))}
    assert len(starters) == most
    assert plan.orders(bytes(32)) != plan.orders(bytes(31) + b"x")


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("step", range(8))
def test_whoever_leaves_stops_the_attempt_by_name(peer: str, step: int) -> None:
    plan = plan_for()
    meddler = Crashing({peer: step})
    played = table(plan, values_for(plan), entropy=SeededEntropy(step), meddler=meddler)
    try:
        played.run()
    except AbsenceError as error:
        assert peer in str(error)  # noqa: PT017 - after its last word a peer may leave
        assert len(played.views["evaluator"].of(RingTotal)) < 2
    else:
        assert peer not in played.gone


def refused(meddler: Meddler, party: str, complaint: str) -> None:
    plan = plan_for()
    with pytest.raises((ViolationError, AbsenceError), match=complaint) as caught:
        table(plan, values_for(plan), entropy=SeededEntropy(), meddler=meddler).run()
    assert caught.value.party == party


def first_from(sender: str, kind: type[Message]) -> Callable[[Packet], bool]:
    return lambda packet: packet.sender == sender and is_kind(packet, kind)


def test_wrong_hops_are_refused_by_name() -> None:
    def damage(message: RingHop) -> RingHop:
        return RingHop(message.ring, message.box[:-1] + bytes([message.box[-1] ^ 1]))

    def elsewhere(message: RingHop) -> RingHop:
        return RingHop(message.ring + 1, message.box)

    def swapped(message: RingTotal) -> RingTotal:
        return RingTotal(1 - message.ring, message.parts)

    def reshaped(message: RingTotal) -> RingTotal:
        return RingTotal(message.ring, (Words.of(np.zeros(5, np.uint64)), message.parts[1]))

    def fewer(message: RingTotal) -> RingTotal:
        return RingTotal(message.ring, message.parts[:1])

    starter = plan_starter()
    hop, total = first_from("carol", RingHop), first_from(starter, RingTotal)
    refused(rewriting(hop, RingHop, damage), "carol", "its hop cannot be read: box")
    refused(rewriting(hop, RingHop, elsewhere), "carol", "expected a hop of ring 0, found one of")
    refused(rewriting(total, RingTotal, swapped), starter, "expected the total of ring 0, found")
    refused(rewriting(total, RingTotal, reshaped), starter, r"half: expected words of shape \(4,\)")
    refused(rewriting(total, RingTotal, fewer), starter, "expected 2 parts, found 1")


def plan_starter() -> str:
    plan = plan_for()
    outcome = run(plan, values_for(plan), entropy=SeededEntropy())
    totals = [item.sender for item in outcome.views["evaluator"].received if is_total(item.message)]
    return totals[0]


def is_total(message: Message) -> bool:
    return isinstance(message, RingTotal)


def test_a_ring_needs_everybody() -> None:
    plan = plan_for()
    held = Holding(lambda packet: packet.sender == "carol" and is_kind(packet, RoundKeys))
    with pytest.raises(AbsenceError, match="needs all 5 peers, found 4, missing carol"):
        run(plan, values_for(plan), entropy=SeededEntropy(), meddler=held)

    def shorter(message: KeyBook) -> KeyBook:
        return KeyBook(message.keys[:4])

    refused(
        rewriting(lambda p: is_kind(p, KeyBook) and p.recipient == "alice", KeyBook, shorter),
        "",
        "needs all 5 peers, found 4, missing erin",
    )


def hops_opened(plan: Rings, values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Every running sum as the peer saw it that opened the box."""
    seen: list[Any] = []
    decode = Codec.decode

    def watched(self: Codec, data: bytes, kind: type[Any]) -> Any:
        value = decode(self, data, kind)
        if isinstance(value, Running):
            seen.append(value.parts[0].array())  # type: ignore[union-attr]
        return value

    monkeypatch.setattr(Codec, "decode", watched)
    run(plan, values, entropy=SeededEntropy())
    return np.concatenate(seen)


def test_running_sums_are_noise_even_of_small_values(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(count=1, shape=(120,))
    small = OneShare(np.arange(120, dtype=np.uint64)), OneShare(np.arange(2, dtype=np.uint64))
    values = dict.fromkeys(PEERS, small)
    assert_looks_uniform(hops_opened(plan, values, monkeypatch)[:120])
    monkeypatch.undo()
    # Forget the random start, and every running sum shows what was added.
    monkeypatch.setattr(
        "sottovoce.protocols.blind_sum.ring._random_mask", lambda part, entropy: part.space.mask()
    )
    assert_shows_structure(hops_opened(plan, values, monkeypatch))


def test_carriers_see_boxes_of_one_size() -> None:
    plan = plan_for()
    outcome = run(plan, values_for(plan), entropy=SeededEntropy())
    sizes = {len(hop.box) for peer in PEERS for hop in outcome.views[peer].of(RingHop)}
    assert len(sizes) == 1
    other = run(plan, values_for(plan, 7), entropy=SeededEntropy(7))
    assert {len(hop.box) for peer in PEERS for hop in other.views[peer].of(RingHop)} == sizes
    assert not outcome.views["coordinator"].of(RingHop)


def test_a_peer_that_came_too_late_for_a_ring_says_nothing_more() -> None:
    plan = plan_for()
    who = members_of(plan.this, SeededEntropy())["bob"]
    values = values_for(plan)["bob"]
    program = peer(plan, values, who=who, book=RoundBook(), entropy=SeededEntropy())
    seat = Seat("bob", program, partners=["coordinator"])
    seat.start()
    body = Codec().encode(LeftOut("keys"))
    seat.deliver("coordinator", Codec().encode(Packet(b"", "coordinator", "bob", 0, body)))
    assert seat.finished
    assert seat.result is None
    assert [is_kind(packet, RoundKeys) for packet in seat.take()] == [True]


def test_a_degenerate_box_key_names_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, calls = OwnKeys.draw, iter(range(1000))

    def degenerate(entropy: Any) -> OwnKeys:
        own = draw(entropy)
        if next(calls) == 1:
            box = X25519Key(own.box.secret)
            box.__dict__["public"] = bytes(32)
            own = replace(own, box=box)
        return own

    monkeypatch.setattr(OwnKeys, "draw", staticmethod(degenerate))
    plan = plan_for()
    with pytest.raises(ViolationError, match=r"degenerate|its hop cannot be read") as caught:
        run(plan, values_for(plan), entropy=SeededEntropy())
    assert caught.value.party == "bob"
