"""The parts of which blind sums are made: shares, graphs, spaces, and what must not be printed."""

from itertools import combinations

import gmpy2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError, MalformedError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Layout, Plain, encrypt
from sottovoce.protocols.blind_sum import CiphertextSpace, Round, WordSpace
from sottovoce.protocols.blind_sum.dealing import Dealing, TwoShares
from sottovoce.protocols.blind_sum.graphs import ALL_UP_TO, Graph, degree
from sottovoce.protocols.blind_sum.keys import Keyring, OwnKeys, members_of
from sottovoce.protocols.blind_sum.messages import SignedKeys, SignedShares
from sottovoce.protocols.blind_sum.shamir import PRIME, combine, split
from sottovoce.wire import Words


def test_the_prime_is_the_first_above_every_secret() -> None:
    assert gmpy2.next_prime(2**256 - 1) == PRIME


@given(st.binary(min_size=32, max_size=32), st.integers(1, 7), st.data())
def test_any_threshold_of_shares_gives_the_secret_back(
    secret: bytes, count: int, data: st.DataObject
) -> None:
    threshold = data.draw(st.integers(1, count))
    shares = split(secret, count=count, threshold=threshold, entropy=SeededEntropy(count))
    places = data.draw(st.permutations(range(1, count + 1)))
    chosen = places[: data.draw(st.integers(threshold, count))]
    assert combine({p: shares[p - 1] for p in chosen}, threshold=threshold) == secret


class _Toy(Entropy):
    """Counts through all values of one small coefficient."""

    def __init__(self, value: int) -> None:
        self.value = value

    def read(self, count: int) -> bytes:
        return bytes(count)

    def below(self, bound: int) -> int:
        assert bound == PRIME
        return self.value


def test_fewer_shares_than_the_threshold_say_nothing() -> None:
    """For every share there is exactly one coefficient that makes it a share of any secret."""
    first, other = bytes(32), b"\xff" * 32
    share = split(first, count=2, threshold=2, entropy=_Toy(12345))[0]
    wanted = int.from_bytes(share) - int.from_bytes(other)
    assert split(other, count=2, threshold=2, entropy=_Toy(wanted % PRIME))[0] == share


def test_shares_that_are_none() -> None:
    shares = split(bytes(32), count=3, threshold=2, entropy=SeededEntropy())
    with pytest.raises(InputError, match="expected at least 2, found 1"):
        combine({1: shares[0]}, threshold=2)
    for bad in (shares[0][:-1], PRIME.to_bytes(33)):
        with pytest.raises(MalformedError, match="33 bytes that hold a number below the prime"):
            combine({1: bad, 2: shares[1]}, threshold=2)
    with pytest.raises(MalformedError, match="these are not shares of a 256-bit secret"):
        combine({1: (PRIME - 1).to_bytes(33)}, threshold=1)
    with pytest.raises(InputError, match="a secret of 32 bytes, found 31"):
        split(bytes(31), count=3, threshold=2, entropy=SeededEntropy())
    with pytest.raises(InputError, match="1 <= threshold <= 3, found 4"):
        split(bytes(32), count=3, threshold=4, entropy=SeededEntropy())


@pytest.mark.parametrize("count", [2, 3, 30, 31, 32, 33, 40, 64, 65, 200])
def test_graphs_are_regular_mutual_and_connected(count: int) -> None:
    peers = [f"peer {index:03}" for index in range(count)]
    graph = Graph.over(peers, seed=bytes(range(32)))
    expected = count - 1 if count <= ALL_UP_TO else degree(count)
    assert graph.complete == (count <= ALL_UP_TO)
    for peer in peers:
        assert len(set(graph.neighbours[peer])) == len(graph.neighbours[peer]) == expected
        assert all(peer in graph.neighbours[other] for other in graph.neighbours[peer])
        assert graph.holders(peer) == tuple(sorted((peer, *graph.neighbours[peer])))
    assert graph.connects(peers)
    assert graph.connects([])
    assert Graph.over(peers, seed=bytes(range(32))) == graph
    if count > ALL_UP_TO + 1:
        assert Graph.over(peers, seed=bytes(32)) != graph


def test_a_graph_that_falls_apart_is_noticed() -> None:
    peers = [f"peer {index:02}" for index in range(40)]
    graph = Graph.over(peers, seed=bytes(32))
    first = peers[0]
    far = [peer for peer in peers if peer not in graph.holders(first)]
    assert not graph.connects([first, *far])
    assert graph.connects(peers[1:])


@pytest.mark.parametrize("count", [3, 4, 5, 6, 31, 40])
def test_thresholds_never_allow_both_secrets_of_a_peer(count: int) -> None:
    """Each holder gives out one of two shares, so 2t > g means that t of both never meet."""
    peers = tuple(f"peer {index:02}" for index in range(count))
    dealing = bare_dealing(peers)
    for peer in peers:
        assert 2 * dealing.threshold(peer) > len(dealing.graph.holders(peer))
        assert dealing.threshold(peer) <= len(dealing.graph.holders(peer))
    if count <= ALL_UP_TO:
        assert {dealing.threshold(peer) for peer in peers} == {count // 2 + 1}
        assert all(
            set(first) & set(other)
            for first, other in combinations(combinations(peers, count // 2 + 1), 2)
        )


def bare_dealing(peers: tuple[str, ...]) -> Dealing:
    this = Round("study", "round", peers)
    keyring = Keyring(this, {p: SignedKeys(p, b"", b"", b"", b"") for p in peers})
    shares = {p: SignedShares(p, b"", b"", b"") for p in peers}
    return Dealing(keyring, Graph.over(peers, seed=bytes(32)), shares)


def test_too_few_neighbours_are_noticed_before_anything_is_revealed() -> None:
    peers = tuple(f"peer {index:02}" for index in range(40))
    dealing = bare_dealing(peers)
    dealing.check_set(peers, "final set")
    gone = set(dealing.graph.neighbours[peers[0]][:16])
    left = [peer for peer in peers if peer not in gone]
    with pytest.raises(AbsenceError, match=r"too few neighbours of 'peer .*: expected at least 16"):
        dealing.check_set(left, "final set")
    with pytest.raises(AbsenceError, match="expected at least 21 of 40, found 20"):
        dealing.check_set(peers[:20], "final set")


def test_a_set_without_common_masks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    dealing = bare_dealing(("alice", "bob", "carol"))
    monkeypatch.setattr(Graph, "connects", lambda self, peers: False)
    with pytest.raises(AbsenceError, match="fall into groups without common masks"):
        dealing.check_set(("alice", "bob", "carol"), "final set")


def ciphertext_space() -> CiphertextSpace:
    return CiphertextSpace(toy_key().public, Layout((2,)), Scale(3, 100))


def test_masks_cancel() -> None:
    space, entropy = WordSpace((3, 2)), SeededEntropy()
    mask = space.mask()
    for sign in (1, -1):
        mask.add(SeededEntropy(7), sign)
    zero = space.nothing(entropy=entropy)
    covered = space.cover(zero, mask, entropy=entropy)
    np.testing.assert_array_equal(space.total([covered], space.mask(), count=1), zero)
    mask.add(SeededEntropy(8), 1)
    form = space.cover(zero, mask, entropy=entropy)
    assert form != covered
    np.testing.assert_array_equal(space.total([form], mask, count=1), zero)
    mask.join(mask.negated())
    assert space.cover(zero, mask, entropy=entropy) == covered


def test_a_large_mask_is_the_stream_itself() -> None:
    """Block by block or at once: the same words."""
    space = WordSpace((300, 301))
    mask = space.mask()
    mask.add(SeededEntropy(3), 1)
    np.testing.assert_array_equal(mask.words.reshape(-1), SeededEntropy(3).words(300 * 301))


def test_spaces_refuse_what_does_not_belong() -> None:
    space, entropy = ciphertext_space(), SeededEntropy()
    good = space.cover(space.nothing(entropy=entropy), space.mask(), entropy=entropy)
    space.check(good)
    with pytest.raises(MismatchError, match="expected CiphertextBytes, found Words"):
        space.check(Words.of(np.zeros(2, np.uint64)))
    other = CiphertextSpace(space.key, Layout((3,)), space.scale)
    with pytest.raises(MismatchError, match="expected ciphertexts of"):
        other.check(good)
    finer = CiphertextSpace(space.key, Layout((2,)), space.scale.refined(3))
    with pytest.raises(MismatchError, match=r"expected ciphertexts with \d+ fraction bits, found"):
        finer.check(good)
    with pytest.raises(MalformedError, match="made for another key"):
        CiphertextSpace(toy_key(seed=1).public, Layout((2,)), space.scale).check(good)
    wrong = encrypt(space.key, Plain(np.zeros(3, np.int64), space.scale), entropy=entropy)
    with pytest.raises(MismatchError, match=r"expected ciphertexts of .* found"):
        space.cover(wrong, space.mask(), entropy=entropy)


def test_nothing_secret_is_printed() -> None:
    entropy = SeededEntropy()
    own = OwnKeys.draw(entropy)
    shares = TwoShares(bytes(33), bytes([9] * 33))
    member = members_of(Round("s", "r", ("a", "b", "c")), entropy)["a"]
    for thing, secrets in (
        (own, (own.seed, own.pair.secret, own.box.secret)),
        (shares, (shares.seed, shares.pair)),
        (member, (member.identity.secret,)),
    ):
        for secret in secrets:
            assert repr(secret)[2:-1] not in repr(thing)
            assert secret.hex() not in repr(thing)
