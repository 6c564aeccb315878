"""A dishonest party tries to break a round of pairwise masks: each attempt is refused by name."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.conversations.pairwise_rounds import PEERS, names, plan_for, values_for
from harness.entropy import SeededEntropy
from harness.meddling import (
    Change,
    dropping,
    is_kind,
    rewriting,
)
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MalformedError,
    ViolationError,
)
from sottovoce.protocols.blind_sum import (
    hash_trees,
)
from sottovoce.protocols.blind_sum.messages import (
    AgreedSet,
    DealtShares,
    KeyBook,
    MaskedParts,
    RevealedShares,
    RoundKeys,
    ShareBook,
    UnmaskRequest,
)
from sottovoce.protocols.blind_sum.pairwise import run, table
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.ciphertexts import CiphertextBytes
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.wire import Codec, Words


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
    refused(Change(chosen, altered), "bob", "message 0 as it came before, and it is changed")
    refused(Change(chosen, again), "bob", "expected RevealedShares, found MaskedParts")


def test_other_shapes_than_agreed_are_refused_by_name() -> None:
    def reshaped(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (Words.of(np.zeros(7, np.uint64)), *message.parts[1:]))

    def retyped(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (CiphertextBytes(b"1"), *message.parts[1:]))

    def longer(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, (message.parts[0], Words.of(np.zeros(4, np.uint64))))

    def fewer(message: MaskedParts) -> MaskedParts:
        return MaskedParts(message.agreed, message.parts[:1])

    def other_set(message: MaskedParts) -> MaskedParts:
        return MaskedParts(bytes(32), message.parts)

    chosen = from_to(MaskedParts, "bob", "evaluator")
    for edit, complaint in (
        (reshaped, r"half: expected words of shape \(6,\), found \(7,\)"),
        (retyped, "half: expected Words, found CiphertextBytes"),
        (longer, r"rest: expected words of shape \(3,\), found \(4,\)"),
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
        ((*values["bob"][:2], np.ones(1, np.uint64)), r"expected words of shape \(3,\)"),
        (values["bob"][:2], "expected 3 values, found 2"),
    ):
        with pytest.raises((InputError, ValueError), match=complaint) as caught:
            run(plan, {**values, "bob": spoilt}, entropy=SeededEntropy())
        assert caught.value.__notes__ == ["in the program of 'bob'"]


# How a dishonest party could try to break it; each is refused by name.


def test_a_swapped_key_is_refused() -> None:
    def swap(message: KeyBook) -> KeyBook:
        first, *others = message.keys
        return KeyBook((msgspec.structs.replace(first, pair=others[0].box), *others))

    refused(
        rewriting(from_to(KeyBook, "coordinator", "dave"), KeyBook, swap),
        "alice",
        "is not signed by the pinned identity",
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
        "the keys are another peer's",
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
        "expected 4 commitments of",
    )


def test_another_peers_shares_are_refused() -> None:
    stolen: list[Any] = []

    def steal(message: DealtShares) -> DealtShares:
        stolen.append(message)
        return stolen[0]

    refused(
        rewriting(lambda packet: is_kind(packet, DealtShares), DealtShares, steal),
        "bob",
        "the shares are another peer's",
    )


def test_different_books_for_different_peers_are_refused() -> None:
    def shorter(message: KeyBook) -> KeyBook:
        return KeyBook(message.keys[:3])

    # The honest coordinator is told by the peer's own signature that somebody changed its book.
    refused(
        rewriting(from_to(KeyBook, "coordinator", "alice"), KeyBook, shorter),
        "alice",
        "'alice' signed shares for another book of keys than ours",
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
            "the commitment to dave is not the one that 'alice' signed",
        )


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 13])
def test_a_path_leads_from_each_entry_to_the_root_and_from_nothing_else(count: int) -> None:
    entries = [bytes([number]) * 64 for number in range(count)]
    root, paths = hash_trees.root_of(entries), hash_trees.paths_of(entries)
    for place, (entry, path) in enumerate(zip(entries, paths, strict=True)):
        assert hash_trees.root_from(entry, place, path, count=count) == root
        assert hash_trees.root_from(bytes(63), place, path, count=count) != root
        with pytest.raises(MalformedError, match="longer than the way to the root"):
            hash_trees.root_from(entry, place, (*path, root), count=count)
        if path:
            other = (place + 1) % count
            if len(paths[other]) == len(path):
                assert hash_trees.root_from(entry, other, path, count=count) != root
            with pytest.raises(MalformedError, match="ends before the root"):
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
        "the commitments are not those that 'bob' signed",
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
        "not one from each neighbour",
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
        "the revealed share is not the one that 'alice' dealt to it",
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
