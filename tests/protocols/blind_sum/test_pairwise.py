"""The sum comes out whoever leaves whenever, and every lie is refused by name."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import (
    Change,
    Crashing,
    Holding,
    dropping,
    is_kind,
    repeating,
    rewriting,
)
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MalformedError,
    MisuseError,
    ViolationError,
)
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Layout, Plain, decrypt, encrypt
from sottovoce.protocols.blind_sum import (
    CiphertextSpace,
    OpenedSum,
    ResidueSpace,
    Round,
    RoundBook,
    SummedVector,
    TwoPeersWarning,
    WordSpace,
    hash_trees,
    masked_sums,
)
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.blind_sum.messages import (
    AgreedSet,
    DealtShares,
    KeyBook,
    LeftOut,
    MaskedParts,
    RevealedShares,
    RoundKeys,
    ShareBook,
    UnmaskRequest,
)
from sottovoce.protocols.blind_sum.pairwise import evaluator, peer, run, table
from sottovoce.protocols.blind_sum.plan import Plan, Summed, ideal
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec, Integers, Words

N = (2**255 - 19) * (2**127 - 1)
PEERS = ("alice", "bob", "carol", "dave")
BOTH = ("coordinator", "evaluator")


def names(count: int) -> tuple[str, ...]:
    return tuple(f"peer {index:02}" for index in range(count))


def plan_for(peers: tuple[str, ...], *, shape: tuple[int, ...] = (6,), fewest: int = 3) -> Plan:
    """The engine `shares`: one half to each of C and E; and residues mod N to E."""
    return Plan(
        Round("study", "moments", peers, fewest=fewest),
        (
            SummedVector("coordinator", "half", WordSpace(shape)),
            SummedVector("evaluator", "half", WordSpace(shape)),
            SummedVector("evaluator", "residues", ResidueSpace(N, 3)),
        ),
    )


def values_for(plan: Plan, seed: int = 0) -> dict[str, tuple[Any, ...]]:
    """Small values, as documents give them: a forgotten mask would show."""
    rng = np.random.default_rng(seed)
    made = {}
    for name in plan.this.peers:
        values: list[Any] = []
        for part in plan.parts:
            if isinstance(part.space, WordSpace):
                small = rng.integers(-1000, 1000, part.space.shape)
                values.append(small.astype(np.int64).view(np.uint64))
            else:
                values.append([int(v) for v in rng.integers(0, 1000, part.space.length)])
        made[name] = tuple(values)
    return made


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


@pytest.mark.parametrize("count", [3, 4, 7, 31, 40])
def test_the_sum_is_the_plain_sum(count: int) -> None:
    plan = plan_for(names(count), shape=(2, 3))
    values = values_for(plan)
    final = check(plan, values, run(plan, values, entropy=SeededEntropy(count)))
    assert final == plan.this.peers


WORDS = st.one_of(st.sampled_from([0, 1, 2**63 - 1, 2**63, 2**64 - 1]), st.integers(0, 2**64 - 1))
RESIDUES = st.one_of(st.sampled_from([0, 1, N - 1, N // 2]), st.integers(0, N - 1))


@given(st.data())
@settings(max_examples=15)
def test_extremes_add_up(data: st.DataObject) -> None:
    count, size = data.draw(st.integers(3, 6)), data.draw(st.integers(0, 4))
    plan = Plan(
        Round("study", "extremes", names(count)),
        (
            SummedVector("evaluator", "words", WordSpace((size,))),
            SummedVector("coordinator", "residues", ResidueSpace(N, size)),
        ),
    )

    def vector(element: st.SearchStrategy[int]) -> list[int]:
        return data.draw(st.lists(element, min_size=size, max_size=size))

    values = {
        peer: (np.array(vector(WORDS), np.uint64), vector(RESIDUES)) for peer in plan.this.peers
    }
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
@settings(max_examples=15)
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
    told = outcome.views["carol"].of(LeftOut)
    assert [message.step for message in told] == (
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


def refused(meddler: Meddler, party: str, complaint: str, plan: Plan | None = None) -> None:
    plan = plan or plan_for(PEERS)
    played = table(plan, values_for(plan), entropy=SeededEntropy(), meddler=meddler)
    with pytest.raises((ViolationError, AbsenceError), match=complaint) as caught:
        played.run()
    assert caught.value.party == party


def from_to(kind: type, sender: str, recipient: str | None = None) -> Callable[[Packet], bool]:
    return lambda packet: (
        packet.sender == sender and recipient in (None, packet.recipient) and is_kind(packet, kind)
    )


def test_a_contribution_that_is_changed_or_repeated_is_refused_by_name() -> None:
    def altered(packet: Packet) -> tuple[Packet, ...]:
        message = Codec().decode(packet.body, MaskedParts)
        words = Words.of(message.parts[0].array() + np.uint64(1))
        other = MaskedParts(message.agreed, (words, *message.parts[1:]))
        return packet, msgspec.structs.replace(packet, body=Codec().encode(other))

    def again(packet: Packet) -> tuple[Packet, ...]:
        return packet, msgspec.structs.replace(packet, number=packet.number + 1)

    chosen = from_to(MaskedParts, "bob", "evaluator")
    refused(Change(chosen, altered), "bob", "message 0 as it came before, found it changed")
    refused(Change(chosen, again), "bob", "expected RevealedShares, found MaskedParts")


def test_other_shapes_than_agreed_are_refused_by_name() -> None:
    def reshaped(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (Words.of(np.zeros(7, np.uint64)), *message.parts[1:]))

    def retyped(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (message.parts[1], *message.parts[1:]))

    def unreduced(message: MaskedParts) -> MaskedParts:
        return MaskedParts(
            message.agreed,
            (message.parts[0], Integers(message.parts[1].width, b"\xff" * 3 * 48)),
        )

    def longer(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (message.parts[0], Integers.of([1] * 4, modulus=N)))

    def fewer(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, message.parts[:1])

    def other_set(message: MaskedParts) -> MaskedParts:
        return MaskedParts(bytes(32), message.parts)

    chosen = from_to(MaskedParts, "bob", "evaluator")
    for edit, complaint in (
        (reshaped, r"half: expected words of shape \(6,\), found \(7,\)"),
        (retyped, "half: expected Words, found Integers"),
        (unreduced, "residues: .*found one above"),
        (longer, "residues: expected 3 residues, found 4"),
        (fewer, "expected 2 parts, found 1"),
        (other_set, "masked for another agreed set than ours"),
    ):
        refused(rewriting(chosen, MaskedParts, edit), "bob", complaint)


def test_a_peer_finds_its_own_mistakes_before_it_sends_a_part() -> None:
    plan = plan_for(PEERS)
    values = values_for(plan)
    for spoilt, complaint in (
        ((np.zeros(5, np.uint64), *values["bob"][1:]), r"expected words of shape \(6,\)"),
        ((np.zeros(6), *values["bob"][1:]), "found float64"),
        ((*values["bob"][:2], [1]), "expected 3 residues, found 1"),
        (values["bob"][:2], "expected 3 values, found 2"),
    ):
        with pytest.raises((InputError, ValueError), match=complaint) as caught:
            run(plan, {**values, "bob": spoilt}, entropy=SeededEntropy())
        assert caught.value.__notes__ == ["in the program of 'bob'"]


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


# How a dishonest party could try to break it; each is refused by name.


def test_a_swapped_key_is_refused() -> None:
    def swap(message: KeyBook) -> KeyBook:
        first, *others = message.keys
        return KeyBook((msgspec.structs.replace(first, pair=others[0].box), *others))

    refused(
        rewriting(from_to(KeyBook, "coordinator", "dave"), KeyBook, swap),
        "alice",
        "signed by the pinned identity, found another signature",
    )

    def swap_own(message: RoundKeys) -> RoundKeys:
        return RoundKeys(msgspec.structs.replace(message.keys, box=bytes(range(32))))

    refused(rewriting(from_to(RoundKeys, "bob"), RoundKeys, swap_own), "bob", "pinned identity")


def test_another_peers_keys_are_refused() -> None:
    stolen: list[Any] = []

    def steal(message: RoundKeys) -> RoundKeys:
        stolen.append(message)
        return stolen[0]

    refused(
        rewriting(lambda packet: is_kind(packet, RoundKeys), RoundKeys, steal),
        "bob",
        "expected the peer's own keys, found another's",
    )


def test_keys_and_shares_of_a_wrong_size_are_refused() -> None:
    def short(message: RoundKeys) -> RoundKeys:
        return RoundKeys(msgspec.structs.replace(message.keys, pair=b"short"))

    refused(
        rewriting(from_to(RoundKeys, "bob"), RoundKeys, short), "bob", "expected keys of 32 bytes"
    )

    def uncommitted(message: DealtShares) -> DealtShares:
        shares = msgspec.structs.replace(message.shares, commitments=(bytes(64),))
        return DealtShares(shares, message.boxes)

    refused(
        rewriting(from_to(DealtShares, "bob"), DealtShares, uncommitted),
        "bob",
        "expected 4 commitments, found others",
    )


def test_another_peers_shares_are_refused() -> None:
    stolen: list[Any] = []

    def steal(message: DealtShares) -> DealtShares:
        stolen.append(message)
        return stolen[0]

    refused(
        rewriting(lambda packet: is_kind(packet, DealtShares), DealtShares, steal),
        "bob",
        "expected the peer's own shares, found another's",
    )


def test_different_books_for_different_peers_are_refused() -> None:
    def shorter(message: KeyBook) -> KeyBook:
        return KeyBook(message.keys[:3])

    # The honest coordinator is told by the peer's own signature that somebody changed its book.
    refused(
        rewriting(from_to(KeyBook, "coordinator", "alice"), KeyBook, shorter),
        "alice",
        "expected one book of keys for everybody, found that 'alice' saw another",
    )
    refused(
        rewriting(from_to(KeyBook, "coordinator", "dave"), KeyBook, shorter),
        "coordinator",
        "our own keys were changed",
    )
    for edit in (
        lambda message: KeyBook(message.keys[:2]),
        lambda message: KeyBook(message.keys[::-1]),
        lambda message: KeyBook((*message.keys, message.keys[0])),
    ):
        with pytest.raises((ViolationError, AbsenceError), match=r"each once and in order|too few"):
            run(
                plan_for(PEERS),
                values_for(plan_for(PEERS)),
                entropy=SeededEntropy(),
                meddler=rewriting(from_to(KeyBook, "coordinator", "bob"), KeyBook, edit),
            )


def test_different_agreed_sets_for_different_peers_are_refused() -> None:
    def shorter(message: ShareBook) -> ShareBook:
        return ShareBook(message.shares[:3], message.boxes[:2])

    refused(
        rewriting(from_to(ShareBook, "coordinator", "alice"), ShareBook, shorter),
        "alice",
        "masked for another agreed set than ours",
    )
    refused(
        rewriting(from_to(ShareBook, "coordinator", "evaluator"), ShareBook, shorter),
        "alice",
        "masked for another agreed set than ours",
    )


def test_a_share_book_that_cannot_be_is_refused() -> None:
    def doubled(message: ShareBook) -> ShareBook:
        return ShareBook((*message.shares, message.shares[0]), message.boxes)

    def without_last(message: ShareBook) -> ShareBook:
        return ShareBook(message.shares[:-1], message.boxes)

    chosen = from_to(ShareBook, "coordinator", "dave")
    refused(rewriting(chosen, ShareBook, doubled), "coordinator", "each once and in order")
    refused(rewriting(chosen, ShareBook, without_last), "coordinator", "our own shares")


def test_a_peer_is_shown_the_commitments_to_itself_and_no_others() -> None:
    plan = plan_for(names(40))
    values = values_for(plan)
    outcome = run(plan, values, entropy=SeededEntropy(1))
    (book,) = outcome.views["peer 07"].of(ShareBook)
    assert not any(signed.commitments for signed in book.shares)
    assert len(book.boxes) < 40
    (whole,) = outcome.views["evaluator"].of(ShareBook)
    listed = {signed.peer: signed.commitments for signed in whole.shares}
    for box in book.boxes:
        assert box.commitment in listed[box.sender]
        assert len(box.path) < 7

    chosen = from_to(ShareBook, "coordinator", "dave")
    for change in ({"commitment": bytes(64)}, {"path": ()}, {"path": (bytes(32),) * 9}):

        def changed(message: ShareBook, change: dict[str, Any] = change) -> ShareBook:
            first, *others = message.boxes
            return ShareBook(message.shares, (msgspec.structs.replace(first, **change), *others))

        refused(
            rewriting(chosen, ShareBook, changed),
            "coordinator",
            "expected the commitment to dave that 'alice' signed, found another",
        )


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_a_path_leads_from_each_entry_to_the_root_and_from_nothing_else(count: int) -> None:
    entries = [bytes([number]) * 64 for number in range(count)]
    root, paths = hash_trees.root_of(entries), hash_trees.paths_of(entries)
    for place, (entry, path) in enumerate(zip(entries, paths, strict=True)):
        assert hash_trees.root_from(entry, place, path, count=count) == root
        assert hash_trees.root_from(bytes(63), place, path, count=count) != root
        with pytest.raises(MalformedError, match="found a longer one"):
            hash_trees.root_from(entry, place, (*path, root), count=count)
        if path:
            other = (place + 1) % count
            if len(paths[other]) == len(path):
                assert hash_trees.root_from(entry, other, path, count=count) != root
            with pytest.raises(MalformedError, match="found a shorter one"):
                hash_trees.root_from(entry, place, path[:-1], count=count)


def test_shares_that_were_changed_on_the_way_are_refused() -> None:
    def damage(message: DealtShares) -> DealtShares:
        first, *others = message.boxes
        return DealtShares(message.shares, (bytes([first[0] ^ 1]) + first[1:], *others))

    refused(
        rewriting(from_to(DealtShares, "bob"), DealtShares, damage),
        "bob",
        "its box for alice cannot be opened",
    )

    def shorten(message: DealtShares) -> DealtShares:
        return DealtShares(message.shares, message.boxes[:-1])

    refused(rewriting(from_to(DealtShares, "bob"), DealtShares, shorten), "bob", "expected 3 boxes")

    def recommit(message: DealtShares) -> DealtShares:
        shares = msgspec.structs.replace(
            message.shares, commitments=(bytes(64), *message.shares.commitments[1:])
        )
        return DealtShares(shares, message.boxes)

    refused(
        rewriting(from_to(DealtShares, "bob"), DealtShares, recommit),
        "bob",
        "expected the commitments that 'bob' signed, found others",
    )

    def signed_by_nobody(message: DealtShares) -> DealtShares:
        shares = msgspec.structs.replace(message.shares, digest=bytes(32))
        return DealtShares(shares, message.boxes)

    rewritten = rewriting(from_to(DealtShares, "bob"), DealtShares, signed_by_nobody)
    refused(rewritten, "bob", "pinned identity")

    def boxes_swapped(message: ShareBook) -> ShareBook:
        first, second, *others = message.boxes
        swapped = (
            msgspec.structs.replace(first, box=second.box),
            msgspec.structs.replace(second, box=first.box),
        )
        return ShareBook(message.shares, (*swapped, *others))

    refused(
        rewriting(from_to(ShareBook, "coordinator", "dave"), ShareBook, boxes_swapped),
        "alice",
        "its box for dave cannot be opened",
    )

    def boxes_missing(message: ShareBook) -> ShareBook:
        return ShareBook(message.shares, message.boxes[1:])

    refused(
        rewriting(from_to(ShareBook, "coordinator", "dave"), ShareBook, boxes_missing),
        "coordinator",
        "expected one box from each neighbour",
    )


def test_a_revealed_share_that_was_changed_names_its_holder() -> None:
    def damage(message: RevealedShares) -> RevealedShares:
        first, *others = message.shares
        return RevealedShares((first[:-1] + bytes([first[-1] ^ 1]), *others))

    def shorten(message: RevealedShares) -> RevealedShares:
        return RevealedShares(message.shares[1:])

    chosen = from_to(RevealedShares, "carol", "evaluator")
    refused(
        rewriting(chosen, RevealedShares, damage),
        "carol",
        "expected the share that 'alice' dealt to it, found another",
    )
    refused(rewriting(chosen, RevealedShares, shorten), "carol", "expected 4 shares of 33 bytes")


def test_a_set_that_not_both_signed_is_refused() -> None:
    def fewer(message: UnmaskRequest) -> UnmaskRequest:
        return msgspec.structs.replace(message, peers=message.peers[:3])

    def forged(message: UnmaskRequest) -> UnmaskRequest:
        return msgspec.structs.replace(message, evaluator_signature=message.coordinator_signature)

    chosen = from_to(UnmaskRequest, "coordinator", "bob")
    refused(rewriting(chosen, UnmaskRequest, fewer), "coordinator", "pinned identity")
    refused(rewriting(chosen, UnmaskRequest, forged), "evaluator", "pinned identity")
    refused(
        rewriting(from_to(AgreedSet, "evaluator"), AgreedSet, lambda message: AgreedSet(bytes(64))),
        "evaluator",
        "pinned identity",
    )


def test_a_second_unmasking_is_refused() -> None:
    def twice(packet: Packet) -> tuple[Packet, ...]:
        return packet, msgspec.structs.replace(packet, number=packet.number + 1)

    refused(
        Change(from_to(UnmaskRequest, "coordinator", "bob"), twice),
        "coordinator",
        "bob expected nothing more, found UnmaskRequest",
    )


def test_a_lost_request_stops_the_round_by_name() -> None:
    refused(
        dropping(from_to(UnmaskRequest, "coordinator", "bob")),
        "",
        "no program can continue: bob waits for UnmaskRequest from 'coordinator'",
    )
