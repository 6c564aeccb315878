"""Signed sets, attempts and dealers that deviate: each is refused by name."""

import dataclasses
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from harness.conversations.small_rounds import PEERS, C, E, Watched, plan_for, small
from harness.entropy import SeededEntropy
from harness.meddling import Change, Crashing, is_kind
from sottovoce.errors import AbsenceError, MisuseError, ViolationError
from sottovoce.protocols.blind_sum import (
    Member,
    RoundBook,
    shamir,
)
from sottovoce.protocols.blind_sum import dealing as dealing_module
from sottovoce.protocols.blind_sum.dealing import Dealing
from sottovoce.protocols.blind_sum.keys import OwnKeys, members_of
from sottovoce.protocols.blind_sum.messages import (
    MaskedParts,
    ProposedSet,
    RoundKeys,
    UnmaskRequest,
)
from sottovoce.protocols.blind_sum.pairwise import run, table
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.blind_sum.sets import check_agreed, check_proposed, sign_set
from sottovoce.protocols.sealing import X25519Key
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec

# Sets, signatures, attempts.


def agreed_by(
    dealing: Dealing, members: dict[str, Member], peers: tuple[str, ...]
) -> UnmaskRequest:
    signatures = (sign_set(dealing, peers, members[name].identity) for name in (C, E))
    return UnmaskRequest(peers, *signatures)


def test_a_peer_refuses_bad_sets_even_if_both_signed_them(watched: Watched) -> None:
    plan = plan_for()
    run(plan, small(plan), entropy=SeededEntropy())
    members, dealing = members_of(plan.this, SeededEntropy()), watched.dealings["alice"]
    pins = members["alice"].pins
    check_agreed(dealing, agreed_by(dealing, members, PEERS[:3]), pins)
    with pytest.raises(AbsenceError, match="expected at least 3 of 5, found 2"):
        check_agreed(dealing, agreed_by(dealing, members, PEERS[:2]), pins)
    for peers in ((*PEERS[:3], "eve"), PEERS[::-1], (*PEERS, "erin")):
        with pytest.raises(
            ViolationError, match="the set is not of peers that dealt shares, in order"
        ):
            check_agreed(dealing, agreed_by(dealing, members, peers), pins)
    other = Dealing(dealing.keyring, dealing.graph, dict(list(dealing.shares.items())[:4]))
    with pytest.raises(ViolationError, match="pinned identity"):
        check_agreed(dealing, agreed_by(other, members, PEERS[:3]), pins)


def test_the_evaluator_refuses_a_set_with_parts_that_never_came(watched: Watched) -> None:
    plan = plan_for()
    run(plan, small(plan), entropy=SeededEntropy())
    members, dealing = members_of(plan.this, SeededEntropy()), watched.dealings["alice"]

    def proposed(peers: tuple[str, ...]) -> ProposedSet:
        return ProposedSet(peers, sign_set(dealing, peers, members[C].identity))

    pins, arrived = members[E].pins, PEERS[:4]
    check_proposed(dealing, proposed(PEERS[:3]), arrived, pins)
    for peers in (PEERS, PEERS[3::-1], ("eve", *PEERS[:3])):
        with pytest.raises(
            ViolationError, match="the set is not of peers whose parts arrived"
        ) as caught:
            check_proposed(dealing, proposed(peers), arrived, pins)
        assert caught.value.party == C
    with pytest.raises(AbsenceError, match="expected at least 3 of 5, found 2"):
        check_proposed(dealing, proposed(PEERS[:2]), arrived, pins)
    forged = ProposedSet(PEERS[:3], sign_set(dealing, PEERS[:3], members["alice"].identity))
    with pytest.raises(ViolationError, match="pinned identity"):
        check_proposed(dealing, forged, arrived, pins)


def test_keys_of_an_earlier_attempt_are_refused() -> None:
    plan = plan_for()
    earlier = table(plan, small(plan), entropy=SeededEntropy())
    earlier.run()
    old = earlier.views[C].of(RoundKeys)[1]
    again = Plan(plan.this.again(), plan.parts)

    def replay(packet: Packet) -> Iterable[Packet]:
        yield msgspec.structs.replace(packet, body=Codec().encode(old))

    meddler = Change(lambda p: p.sender == "bob" and is_kind(p, RoundKeys), replay)
    # The same entropy gives the same identities; the attempt alone makes the difference.
    played = table(again, small(again), entropy=SeededEntropy(), meddler=meddler)
    with pytest.raises(
        ViolationError, match="'blind-sum/keys/v1' is not signed by the pinned"
    ) as caught:
        played.run()
    assert caught.value.party == "bob"


def test_a_packet_of_an_earlier_attempt_is_refused() -> None:
    plan = plan_for()
    again = Plan(plan.this.again(), plan.parts)

    def other_session(packet: Packet) -> Iterable[Packet]:
        yield msgspec.structs.replace(packet, session=plan.this.context)

    meddler = Change(lambda p: p.sender == "bob" and is_kind(p, MaskedParts), other_session)
    with pytest.raises(ViolationError, match=r"bob: .* message of this session, and this is of"):
        run(again, small(again), entropy=SeededEntropy(), meddler=meddler)


def test_the_evaluator_signs_one_set_per_round() -> None:
    plan = plan_for()
    books = {name: RoundBook() for name in (*PEERS, C, E)}
    books[E].spend(plan.this, PEERS)
    with pytest.raises(MisuseError, match="was unmasked already") as caught:
        table(plan, small(plan), entropy=SeededEntropy(), books=books).run()
    assert caught.value.__notes__ == ["in the program of 'evaluator'"]


# A dishonest dealer.


def deal_something_else(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """The dealer of this call deals, and commits to, shares of another secret."""
    split, calls = shamir.split, iter(range(1000))

    def wrong(secret: bytes, **more: Any) -> list[bytes]:
        return split(bytes(31) + b"!" if next(calls) == call else secret, **more)

    monkeypatch.setattr(dealing_module.shamir, "split", wrong)


def test_shares_of_another_secret_name_their_dealer(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for()
    deal_something_else(monkeypatch, 2)  # alice's two secrets, then bob's seed
    with pytest.raises(ViolationError, match="of another seed than it committed to") as caught:
        run(plan, small(plan), entropy=SeededEntropy())
    assert caught.value.party == "bob"
    monkeypatch.undo()
    deal_something_else(monkeypatch, 3)
    with pytest.raises(ViolationError, match="of another pair key than it signed") as caught:
        run(plan, small(plan), entropy=SeededEntropy(), meddler=Crashing({"bob": 4}))
    assert caught.value.party == "bob"


def test_shares_other_than_committed_name_their_dealer(monkeypatch: pytest.MonkeyPatch) -> None:
    plan, seal = plan_for(), dealing_module.seal
    calls = iter(range(1000))

    def wrong(content: bytes, *where: Any, **more: Any) -> bytes:
        return seal(bytes(66) if next(calls) == 4 else content, *where, **more)

    monkeypatch.setattr(dealing_module, "seal", wrong)
    with pytest.raises(ViolationError, match="dealt alice other shares than it commit") as caught:
        run(plan, small(plan), entropy=SeededEntropy())
    assert caught.value.party == "bob"


def test_shares_of_no_secret_name_their_dealer(watched: Watched) -> None:
    plan = plan_for()
    run(plan, small(plan), entropy=SeededEntropy())
    dealing = watched.dealings["alice"]
    shares = dict.fromkeys(PEERS, (shamir.PRIME - 1).to_bytes(33))
    with pytest.raises(ViolationError, match="dealt shares of no secret") as caught:
        dealing.seed_of("bob", shares)
    assert caught.value.party == "bob"


class _Degenerate(X25519Key):
    """A key whose public half makes everybody's agreed secret zero."""

    @property
    def public(self) -> bytes:  # type: ignore[override]
        return bytes(32)


@pytest.mark.parametrize("use", ["pair", "box"])
def test_a_degenerate_key_names_its_owner(monkeypatch: pytest.MonkeyPatch, use: str) -> None:
    draw, calls = OwnKeys.draw, iter(range(1000))

    def degenerate(entropy: Any) -> OwnKeys:
        own = draw(entropy)
        if next(calls) == 1:
            own = dataclasses.replace(own, **{use: _Degenerate(getattr(own, use).secret)})
        return own

    monkeypatch.setattr(OwnKeys, "draw", staticmethod(degenerate))
    plan = plan_for()
    with pytest.raises(ViolationError, match="the X25519 public key is degenerate") as caught:
        run(plan, small(plan), entropy=SeededEntropy())
    assert caught.value.party == "bob"


def test_a_key_used_twice_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, first = OwnKeys.draw, []

    def same(entropy: Any) -> OwnKeys:
        first.append(draw(entropy))
        return first[0]

    monkeypatch.setattr(OwnKeys, "draw", staticmethod(same))
    plan = plan_for()
    with pytest.raises(ViolationError, match="every peer and every use needs its own"):
        run(plan, small(plan), entropy=SeededEntropy())
