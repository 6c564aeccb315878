"""The sum comes out whoever leaves whenever, and every lie is refused by name."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.conversations.pairwise_rounds import PEERS, names, plan_for, values_for
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import (
    Crashing,
    Holding,
    dropping,
    is_kind,
    repeating,
)
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MisuseError,
)
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Layout, Plain, decrypt, encrypt
from sottovoce.protocols.blind_sum import (
    CiphertextSpace,
    OpenedSum,
    Round,
    RoundBook,
    SummedVector,
    TwoPeersWarning,
    WordSpace,
    masked_sums,
)
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.blind_sum.messages import (
    DealtShares,
    LeftOut,
    MaskedParts,
    RevealedShares,
    RoundKeys,
)
from sottovoce.protocols.blind_sum.pairwise import evaluator, peer, run, table
from sottovoce.protocols.blind_sum.plan import Plan, Summed, ideal
from sottovoce.protocols.runner import Outcome

BOTH = ("coordinator", "evaluator")


def check(plan: Plan, values: dict[str, tuple[Any, ...]], outcome: Outcome) -> tuple[str, ...]:
    """The receivers' sums equal the ideal over the final set, which all parties agree on."""
    final = outcome.results["coordinator"].peers
    expected = dict(zip(plan.parts, ideal(plan, [values[peer] for peer in final]), strict=True))
    for receiver in BOTH:
        summed: Summed = outcome.results[receiver]
        assert summed.peers == final
        for part, total in zip(plan.parts_for(receiver), summed.sums, strict=True):
            np.testing.assert_array_equal(total, expected[part])
    for name in plan.this.peers:
        assert outcome.results.get(name) in (None, Summed(final))
    return final


@pytest.mark.parametrize(
    "count", [3, 4, 7, *(pytest.param(count, marks=pytest.mark.soak) for count in (31, 40))]
)
def test_the_sum_is_the_plain_sum(count: int) -> None:
    plan = plan_for(names(count), shape=(2, 3))
    values = values_for(plan)
    final = check(plan, values, run(plan, values, entropy=SeededEntropy(count)))
    assert final == plan.this.peers


WORDS = st.one_of(st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))


@given(st.data())
def test_extremes_add_up(data: st.DataObject) -> None:
    count, size = data.draw(st.integers(3, 6)), data.draw(st.integers(0, 4))
    plan = Plan(
        Round("study", "extremes", names(count)),
        (
            SummedVector("evaluator", "words", WordSpace((size,))),
            SummedVector("coordinator", "others", WordSpace((size,))),
        ),
    )

    def vector() -> NDArray[np.uint64]:
        return np.array(data.draw(st.lists(WORDS, min_size=size, max_size=size)), np.uint64)

    values = {peer: (vector(), vector()) for peer in plan.this.peers}
    check(plan, values, run(plan, values, entropy=SeededEntropy(data.draw(st.integers(0, 99)))))


def test_two_peers_must_be_asked_for_by_value_and_warn_by_name() -> None:
    with pytest.raises(InputError, match="expected at least 3 peers, found 2") as caught:
        Round("study", "pair", ("alice", "bob"))
    assert caught.value.hints == ("two peers must be asked for by value: fewest=2",)
    with pytest.warns(TwoPeersWarning, match=r"'moments' of study 'study' .* \(alice and bob\)"):
        plan = plan_for(("alice", "bob"), fewest=2)
    values = values_for(plan)
    check(plan, values, run(plan, values, entropy=SeededEntropy()))


def test_encrypted_vectors_add_up_under_their_masks() -> None:
    secret = toy_key()
    key, scale = secret.public, Scale(8, 2**20)
    slots = Slots.fit(2**20, plaintext_bits=key.plaintext_bits, additions=4)
    plan = Plan(
        Round("study", "encrypted", PEERS),
        (SummedVector("evaluator", "b", CiphertextSpace(key, Layout((30,), slots), scale)),),
    )
    rng, entropy = np.random.default_rng(0), SeededEntropy()
    plain = {peer: Plain(rng.integers(-(2**20), 2**20, 30), scale) for peer in PEERS}
    values = {
        peer: (encrypt(key, value, entropy=entropy, slots=slots),) for peer, value in plain.items()
    }
    outcome = run(plan, values, entropy=entropy, meddler=Crashing({"bob": 4}))
    assert outcome.results["evaluator"].peers == ("alice", "carol", "dave")
    total = decrypt(secret, outcome.results["evaluator"].sums[0])
    expected = sum(plain[peer].integers for peer in ("alice", "carol", "dave"))
    np.testing.assert_array_equal(total.integers, expected)
    assert total.scale == scale.sum_of(3)


# What a peer does, in order. Whoever stops before both halves are sent is not in the sum.
STEPS = (
    "send keys",
    "hear keys",
    "send shares",
    "hear shares",
    "send C's half",
    "send E's half",
    "hear the set",
    "reveal to C",
    "reveal to E",
)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("step", range(len(STEPS)), ids=STEPS)
def test_one_peer_may_leave_at_any_moment(peer: str, step: int) -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    meddler = Crashing({peer: step})
    final = check(plan, values, run(plan, values, entropy=SeededEntropy(step), meddler=meddler))
    assert (peer in final) == (step >= STEPS.index("hear the set"))
    assert len(final) >= 3
    assert max(meddler.seen.values()) >= len(STEPS) - 1


@given(st.integers(0, 2**32), st.dictionaries(st.integers(0, 8), st.integers(0, 8), max_size=4))
@settings(max_examples=6)
def test_any_minority_may_leave_at_any_moments(seed: int, crashes: dict[int, int]) -> None:
    plan = plan_for(names(9), shape=(2,))
    values = values_for(plan, seed)
    meddler = Crashing({plan.this.peers[peer]: step for peer, step in crashes.items()})
    final = check(plan, values, run(plan, values, entropy=SeededEntropy(seed), meddler=meddler))
    assert len(final) >= 5


@pytest.mark.parametrize("step", range(len(STEPS)), ids=STEPS)
def test_too_many_leaving_is_said_and_reveals_nothing(step: int) -> None:
    plan = plan_for(PEERS, shape=(100,))
    values = values_for(plan)
    meddler = Crashing({"bob": step, "dave": step})
    played = table(plan, values, entropy=SeededEntropy(step), meddler=meddler)
    if step < STEPS.index("hear the set"):
        with pytest.raises(
            AbsenceError, match=r"too few peers are left .* missing bob, dave; nothing"
        ):
            played.run()
        for name in BOTH:
            assert not played.views[name].of(RevealedShares)
    else:
        # Both are in the set, and gone before they revealed: two shares of three are no secret.
        with pytest.raises(
            AbsenceError, match="expected at least 3 shares, found 2; the sum stays"
        ):
            played.run()
    for name in BOTH:
        seen = played.views[name].words()
        if seen.size:
            np.testing.assert_array_less(100, np.minimum(seen, np.negative(seen)).min())


@pytest.mark.parametrize("gone", BOTH)
@pytest.mark.parametrize("step", range(12))
def test_a_round_without_coordinator_or_evaluator_ends_by_name(gone: str, step: int) -> None:
    plan = plan_for(PEERS)
    meddler = Crashing({gone: step})
    played = table(plan, values_for(plan), entropy=SeededEntropy(), meddler=meddler)
    try:
        outcome = played.run()
    except AbsenceError as error:
        assert gone in str(error)  # noqa: PT017 - a late step may also finish
    else:
        assert outcome.results.get(gone) is None or step > meddler.seen[gone]


def held(kind: type, sender: str) -> Holding:
    return Holding(lambda packet: packet.sender == sender and is_kind(packet, kind))


@pytest.mark.parametrize("kind", [RoundKeys, DealtShares, MaskedParts])
def test_who_comes_too_late_is_left_out_and_discarded(kind: type) -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    outcome = run(plan, values, entropy=SeededEntropy(), meddler=held(kind, "carol"))
    assert check(plan, values, outcome) == ("alice", "bob", "dave")
    assert outcome.results["carol"] is None
    assert any(item.late for item in outcome.views["coordinator"].received)
    left_out = outcome.views["carol"].of(LeftOut)
    assert [message.step for message in left_out] == (
        [] if kind is MaskedParts else ["keys" if kind is RoundKeys else "shares"]
    )


def test_one_late_half_excludes_both() -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    meddler = Holding(
        lambda packet: (
            (packet.sender, packet.recipient) == ("carol", "evaluator")
            and is_kind(packet, MaskedParts)
        )
    )
    outcome = run(plan, values, entropy=SeededEntropy(), meddler=meddler)
    assert check(plan, values, outcome) == ("alice", "bob", "dave")


@pytest.mark.parametrize("held", [0, 2])
def test_older_contributions_are_a_sum_that_nobody_leaves(
    held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(masked_sums, "HELD", held)
    plan = plan_for(PEERS)
    values = values_for(plan)
    assert check(plan, values, run(plan, values, entropy=SeededEntropy(5))) == PEERS
    late = dropping(lambda packet: packet.sender == "alice" and packet.recipient == "evaluator")
    with pytest.raises(AbsenceError, match="one receiver and not to the other") as raised:
        run(plan, values, entropy=SeededEntropy(5), meddler=late)
    assert raised.value.party == "alice"


def test_an_inbox_keeps_nothing_of_what_is_summed() -> None:
    plan = Plan(
        Round("study", "moments", PEERS), (SummedVector("coordinator", "half", WordSpace((9,))),)
    )
    values = values_for(plan)
    conversation = table(plan, values, entropy=SeededEntropy(6))
    masked: list[Any] = []
    kept = masked_sums.RunningSums.take

    def take(sums: Any, peer: str, message: MaskedParts) -> MaskedParts:
        masked.append(kept(sums, peer, message))
        return masked[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(masked_sums.RunningSums, "take", take)
        check(plan, values, conversation.run())
    assert [message.parts for message in masked] == [()] * len(PEERS)


def test_everything_sent_twice_changes_nothing() -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    meddler = repeating(lambda packet: True)
    assert check(plan, values, run(plan, values, entropy=SeededEntropy(), meddler=meddler)) == PEERS
    assert meddler.done > 30


def test_plans_that_cannot_be() -> None:
    space = WordSpace((3,))
    with pytest.raises(InputError, match="expected at least 3 peers, found 1: the sum of one"):
        Round("study", "r", ("alice",))
    with pytest.raises(InputError, match="expected every party in one role, found 'alice' twice"):
        Round("study", "r", ("alice", "bob", "alice"))
    with pytest.raises(InputError, match="in one role, found 'c' twice"):
        Round("study", "r", PEERS, coordinator="c", evaluator="c")
    with pytest.raises(InputError, match="fewest >= 2 and attempt >= 1, found 1 and 1"):
        Round("study", "r", PEERS, fewest=1)
    this = Round("study", "r", PEERS)
    with pytest.raises(InputError, match="parts with purposes of their own"):
        Plan(this, (SummedVector("evaluator", "x", space), SummedVector("evaluator", "x", space)))
    with pytest.raises(InputError, match="parts with purposes of their own"):
        Plan(this, ())
    with pytest.raises(InputError, match="evaluator to receive, found 'alice'"):
        Plan(this, (SummedVector("alice", "x", space),))
    members = members_of(this, SeededEntropy())
    program = peer(
        plan_for(PEERS), (), who=members[BOTH[0]], book=RoundBook(), entropy=SeededEntropy()
    )
    with pytest.raises(InputError, match=r"expected the peer .* found 'coordinator'"):
        next(program)
    with pytest.raises(InputError, match=r"expected the evaluator .* found 'alice'"):
        next(
            evaluator(
                plan_for(PEERS), who=members["alice"], book=RoundBook(), entropy=SeededEntropy()
            )
        )


def test_an_attempt_is_made_once_and_a_round_unmasked_once() -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    books = {name: RoundBook() for name in (*PEERS, *BOTH)}
    meddler = Crashing({"bob": 4, "dave": 4})
    with pytest.raises(AbsenceError, match="too few peers are left"):
        table(plan, values, entropy=SeededEntropy(), meddler=meddler, books=books).run()
    with pytest.raises(MisuseError, match="expected an attempt after 1, found 1"):
        table(plan, values, entropy=SeededEntropy(1), books=books).run()
    again = Plan(plan.this.again(without=("bob",)), plan.parts)
    assert (again.this.attempt, again.this.peers) == (2, ("alice", "carol", "dave"))
    assert again.this.context != plan.this.context
    check(again, values, table(again, values, entropy=SeededEntropy(2), books=books).run())
    third = Plan(again.this.again(), plan.parts)
    for name in (*third.this.peers, *BOTH):
        assert books[name].spent == {("study", "moments"): OpenedSum(2, again.this.peers)}
        with pytest.raises(MisuseError, match="'moments' of study 'study' was unmasked already"):
            books[name].begin(third.this)
        with pytest.raises(MisuseError, match="unmasking runs once per round"):
            books[name].spend(third.this, third.this.peers)
    # Bob left before the unmasking: his book is not spent, and he may join another round.
    books["bob"].begin(third.this)


def test_a_changed_set_or_attempt_changes_every_byte() -> None:
    """The same entropy, another attempt: no mask, key or box is seen twice."""
    seen: set[bytes] = set()
    for this in (
        Round("study", "moments", PEERS),
        Round("study", "moments", PEERS, attempt=2),
        Round("study", "other", PEERS),
        Round("study", "moments", (*PEERS, "erin")),
    ):
        plan = Plan(this, plan_for(PEERS).parts)
        outcome = run(plan, values_for(plan), entropy=SeededEntropy(5))
        masked = outcome.views["coordinator"].of(MaskedParts)
        results = {
            message.parts[0].data[at : at + 8] for message in masked for at in range(0, 48, 8)
        }
        assert len(results) == 6 * len(this.peers)
        assert not results & seen
        seen |= results
