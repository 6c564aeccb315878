"""How one would try to break a blind sum, and who is named for it."""

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from harness.conversations.small_rounds import PEERS, C, E, Watched, plan_for, small
from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.meddling import Crashing
from harness.noise import assert_looks_uniform, assert_shows_structure
from sottovoce.entropy import Expansion
from sottovoce.errors import AbsenceError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, Layout, Plain, decrypt_residues, encrypt
from sottovoce.protocols.blind_sum import (
    CiphertextSpace,
    Member,
    Round,
    RoundBook,
    SummedVector,
    pairwise,
)
from sottovoce.protocols.blind_sum import masks as masks_module
from sottovoce.protocols.blind_sum.dealing import boxes_for
from sottovoce.protocols.blind_sum.graphs import Graph
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.blind_sum.masks import Masker, left_mask
from sottovoce.protocols.blind_sum.messages import (
    DealtShares,
    KeyBook,
    MaskedParts,
    RevealedShares,
    RoundKeys,
    ShareBook,
)
from sottovoce.protocols.blind_sum.pairwise import run, table
from sottovoce.protocols.blind_sum.plan import Plan, ideal
from sottovoce.protocols.conversation import Party, Send, gather
from sottovoce.protocols.runner import Conversation
from sottovoce.wire import Codec, Words

# What one receiver can strip off once everything is unmasked is still noise.


def masked_by(table_: Conversation, name: str, receiver: str = C) -> NDArray[np.uint64]:
    for item in table_.views[receiver].received:
        if item.sender == name and isinstance(item.message, MaskedParts):
            form = item.message.parts[0]
            assert isinstance(form, Words)
            return form.array()
    raise AssertionError(name)


def self_mask(seen: Watched, name: str, part: SummedVector) -> NDArray[np.uint64]:
    dealing, mask = seen.dealings[name], part.space.mask()
    mask.add(masks_module._self_stream(dealing, part, seen.own[name].seed), 1)
    return mask.words


def without_pair_masks(seen: Watched, name: str, part: SummedVector) -> NDArray[np.uint64]:
    """What recovery would strip off a peer that left: its masks with all neighbours."""
    dealing, mask = seen.dealings[name], part.space.mask()
    for other in dealing.neighbours(name):
        stream = masks_module._pair_stream(dealing, part, seen.own[name].pair, other)
        mask.add(stream, masks_module._sign(name, other))
    return mask.words


def forget(monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    """A mistake: one of the two kinds of masks is zero."""

    class Zeros(Expansion):
        def read(self, count: int) -> bytes:
            return bytes(count)

        def fill(self, array: NDArray[np.unsignedinteger]) -> None:
            array[...] = 0

    monkeypatch.setattr(masks_module, stream, lambda *_: Zeros(bytes(32), "zeros/v1"))


def test_a_contribution_looks_uniform_to_its_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_for(size=300)
    played = table(plan, small(plan), entropy=SeededEntropy())
    played.run()
    for name in PEERS:
        assert_looks_uniform(masked_by(played, name), what=name)
        assert_looks_uniform(masked_by(played, name, E), what=name)
    together = [masked_by(played, name, who) for name in PEERS for who in (C, E)]
    assert_looks_uniform(np.concatenate(together), what="everything")
    forget(monkeypatch, "_self_stream")
    forget(monkeypatch, "_pair_stream")
    played = table(plan, small(plan), entropy=SeededEntropy())
    played.run()
    assert_shows_structure(masked_by(played, "alice"))


def test_without_its_self_mask_a_peer_in_the_sum_is_still_noise(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unmasking tells the receiver every self-mask; the pair masks must hide the rest."""
    plan = plan_for(size=300)

    def rest(name: str) -> NDArray[np.uint64]:
        played = table(plan, small(plan), entropy=SeededEntropy(1))
        played.run()
        return masked_by(played, name) - self_mask(watched, name, plan.parts[0])

    for name in PEERS:
        assert_looks_uniform(rest(name), what=name)
    forget(monkeypatch, "_pair_stream")
    assert_shows_structure(rest("alice"))


def test_without_its_pair_masks_a_peer_that_left_is_still_noise(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Carol's half reached C, not E: recovery opens her pair masks, the self-mask must hide her."""
    plan = plan_for(size=300)

    def rest() -> NDArray[np.uint64]:
        played = table(plan, small(plan), entropy=SeededEntropy(2), meddler=Crashing({"carol": 5}))
        outcome = played.run()
        assert "carol" not in outcome.results[C].peers
        return masked_by(played, "carol") - without_pair_masks(watched, "carol", plan.parts[0])

    assert_looks_uniform(rest())
    forget(monkeypatch, "_self_stream")
    assert_shows_structure(rest())


def test_ciphertexts_look_uniform_mod_n(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even to somebody who could decrypt what the evaluator received."""
    secret = toy_key()
    key, scale, count = secret.public, Scale(0, 100), 80
    space = CiphertextSpace(key, Layout((count,)), scale)
    plan = Plan(Round("study", "residues", PEERS), (SummedVector(E, "encrypted", space),))

    def seen() -> list[int]:
        entropy = SeededEntropy(4)
        ones = Plain(np.ones(count, np.int64), scale)
        values = {name: (encrypt(key, ones, entropy=entropy),) for name in PEERS}
        view = run(plan, values, entropy=entropy).views[E]
        sent = [message.parts[0].data for message in view.of(MaskedParts)]
        opened = [decrypt_residues(secret, Ciphertext.from_bytes(data, key=key)) for data in sent]
        return [residue for residues in opened for residue in residues]

    values = seen()
    assert len(values) == count * len(PEERS)
    assert_looks_uniform(values, key.modulus)
    forget(monkeypatch, "_self_stream")
    forget(monkeypatch, "_pair_stream")
    assert_shows_structure(seen(), key.modulus)


def test_one_mask_for_two_purposes_would_show() -> None:
    """Each part has masks of its own: the difference of two contributions is noise as well."""
    plan = plan_for(size=300)
    played = table(plan, small(plan), entropy=SeededEntropy(3))
    played.run()
    assert_looks_uniform(masked_by(played, "bob", C) - masked_by(played, "bob", E))


# What the coordinator carries.


def test_the_coordinator_carries_no_secret_in_the_clear(watched: Watched) -> None:
    plan = plan_for()
    played = table(plan, small(plan), entropy=SeededEntropy(), meddler=Crashing({"erin": 4}))
    played.run()
    secrets = [
        secret
        for own in watched.own.values()
        for secret in (own.seed, own.pair.secret, own.box.secret)
    ]
    shares = [
        share
        for held in watched.held.values()
        for two in held.values()
        for share in (two.seed, two.pair)
    ]
    assert len(secrets) == 15
    assert len(set(shares)) == 2 * 25
    for item in played.views[C].received:
        data = Codec().encode(item.message)
        assert not any(secret in data for secret in secrets)
        if not isinstance(item.message, RevealedShares):
            assert not any(share in data for share in shares)


@pytest.mark.parametrize("step", [4, 5, 6, 7])
def test_of_each_peer_one_secret_is_revealed_never_both(watched: Watched, step: int) -> None:
    plan = plan_for()
    played = table(plan, small(plan), entropy=SeededEntropy(), meddler=Crashing({"bob": step}))
    final = played.run().results[C].peers
    for receiver in (C, E):
        seen = {
            share
            for message in played.views[receiver].of(RevealedShares)
            for share in message.shares
        }
        for owner in PEERS:
            dealt = [held[owner] for held in watched.held.values() if owner in held]
            seeds = sum(two.seed in seen for two in dealt)
            pairs = sum(two.pair in seen for two in dealt)
            assert (seeds > 0, pairs > 0) == (owner in final, owner not in final)
            assert seeds + pairs <= len(PEERS)


# A coordinator that shows different things to different peers.


def split_books(plan: Plan, who: Member, groups: tuple[tuple[str, ...], ...]) -> Party[None]:
    """Shows each group a book of its own, and carries whatever comes without looking at it."""
    this = plan.this
    keys = yield from gather(RoundKeys, this.peers)
    sets_sent: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for name in group:
            sets_sent.setdefault(name, group)
    for name, group in sets_sent.items():
        yield Send(name, KeyBook(tuple(keys[peer].keys for peer in group)))
    dealt = yield from gather(DealtShares, tuple(sets_sent))
    for name, group in sets_sent.items():
        graph = Graph.over(group, seed=dealt[name].shares.book)
        near = {peer: dealt[peer] for peer in group}
        boxes = boxes_for(near, graph)[name]
        bare = (msgspec.structs.replace(dealt[peer].shares, commitments=()) for peer in group)
        yield Send(name, ShareBook(tuple(bare), boxes))
    yield from gather(MaskedParts, tuple(sets_sent))


@pytest.mark.parametrize(
    ("groups", "complaint"),
    [
        ((PEERS[:3], PEERS[2:]), "'carol' signed shares for another book of keys than ours"),
        ((PEERS[:3], PEERS[3:]), "too few peers are left"),
    ],
)
def test_groups_cannot_be_summed_apart(groups: tuple[tuple[str, ...], ...], complaint: str) -> None:
    """More than half of all peers in every book: two groups always share a peer, who saw one."""
    plan = plan_for(receivers=(C,))
    members = members_of(plan.this, SeededEntropy())
    programs: dict[str, Party[Any]] = {
        name: pairwise.peer(
            plan,
            small(plan)[name],
            who=members[name],
            book=RoundBook(),
            entropy=SeededEntropy(index),
        )
        for index, name in enumerate(PEERS)
    }
    programs[C] = split_books(plan, members[C], groups)
    with pytest.raises((ViolationError, AbsenceError), match=complaint) as caught:
        Conversation(programs, session=plan.this.context).run()
    assert caught.value.party in {C, ""}


def test_masks_of_different_agreed_sets_do_not_cancel(watched: Watched) -> None:
    """Even if nobody checked: with another set in the hash, the sum is noise."""
    plan = plan_for(size=300)
    run(plan, small(plan), entropy=SeededEntropy())
    dealing = watched.dealings["alice"]
    fewer = dataclasses.replace(dealing, shares={name: dealing.shares[name] for name in PEERS[:4]})
    part = plan.parts[0]
    masks = [
        Masker(fewer if name == "alice" else dealing, name, watched.own[name]).mask(part)
        for name in PEERS
    ]
    seeds = {name: watched.own[name].seed for name in PEERS}
    total = sum((mask.words for mask in masks), np.zeros(300, np.uint64))
    assert_looks_uniform(total - left_mask(dealing, part, seeds, {}).words)


# Many peers: neighbours instead of everybody.


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.soak), 1])
def test_among_many_some_may_leave(seed: int) -> None:
    peers = tuple(f"peer {index:02}" for index in range(32))
    plan = plan_for(peers, receivers=(E,))
    rng = np.random.default_rng(seed)
    leaving = {
        peers[index]: int(step)
        for index, step in zip(rng.choice(32, 5, replace=False), rng.integers(0, 7, 5), strict=True)
    }
    values = small(plan)
    outcome = run(plan, values, entropy=SeededEntropy(seed), meddler=Crashing(leaving))
    final = outcome.results[E].peers
    assert 27 <= len(final) < 32
    (expected,) = ideal(plan, [values[name] for name in final])
    np.testing.assert_array_equal(outcome.results[E].sums[0], expected)
