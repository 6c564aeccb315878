"""Among many peers nobody chooses who masks with whom, and a fifth of them surrounds nobody."""

from typing import Any

import pytest
from scipy.stats import hypergeom

from harness.entropy import SeededEntropy
from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum import Round
from sottovoce.protocols.blind_sum.graphs import ALL_UP_TO, Graph, degree
from sottovoce.protocols.blind_sum.keys import (
    Keyring,
    OwnKeys,
    agree_keys,
    collect_keys,
    hear_keys,
    members_of,
)
from sottovoce.protocols.blind_sum.messages import GraphCommitment, GraphNonce, KeyBook, RoundKeys
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.runner import converse

NAMES = tuple(f"peer {index:02}" for index in range(60))
THIS = Round("study", "preparation", NAMES)
COORDINATOR, EVALUATOR = THIS.coordinator, THIS.evaluator
# More than the fifth that the degree is made for, so that grinding would succeed.
COLLUDING = frozenset(NAMES[-24:])
VICTIM, LAST = NAMES[3], NAMES[-1]
MEMBERS = members_of(THIS, SeededEntropy(1))
PINS = MEMBERS[COORDINATOR].pins


def colluders_beside_the_victim(graph: Graph) -> int:
    return len(COLLUDING & set(graph.neighbours[VICTIM]))


@pytest.fixture(scope="module")
def ground() -> dict[str, OwnKeys]:
    """Everybody's keys, where the last colluder chose its own after it saw all others."""
    entropy = SeededEntropy(2)
    own = {name: OwnKeys.draw(entropy) for name in NAMES}
    signed = {name: own[name].signed(THIS, MEMBERS[name].identity) for name in NAMES}
    threshold = degree(len(NAMES)) // 2 + 1
    for _ in range(4000):
        own[LAST] = OwnKeys.draw(entropy)
        signed[LAST] = own[LAST].signed(THIS, MEMBERS[LAST].identity)
        keyring = Keyring(THIS, dict(signed))
        if colluders_beside_the_victim(keyring.graph) >= threshold:
            return own
    raise AssertionError("no key was found: the attack does not even begin")


def table(own: dict[str, OwnKeys], **others: Party[Any]) -> dict[str, Any]:
    """The keys of a round, by everybody's own program unless another one is given."""
    programs: dict[str, Party[Any]] = {
        name: agree_keys(THIS, MEMBERS[name], own[name]) for name in NAMES
    }
    programs[COORDINATOR] = collect_keys(THIS, PINS, listeners=(EVALUATOR,))
    programs[EVALUATOR] = hear_keys(THIS, MEMBERS[EVALUATOR], entropy=SeededEntropy(3))
    return converse(programs | others).results


def test_a_colluder_that_chooses_its_key_last_chooses_no_neighbours(
    ground: dict[str, OwnKeys],
) -> None:
    threshold = degree(len(NAMES)) // 2 + 1
    keyrings = table(ground)
    graphs = [keyring.graph for keyring in keyrings.values()]
    assert all(graph == graphs[0] for graph in graphs)
    predicted = Keyring(THIS, keyrings[VICTIM].keys).graph
    assert colluders_beside_the_victim(predicted) >= threshold
    assert colluders_beside_the_victim(graphs[0]) < threshold


@pytest.mark.parametrize("peers", [31, 47, 64, 100, 101, 333, 1000, 2500])
def test_a_fifth_of_the_peers_surrounds_nobody(peers: int) -> None:
    neighbours = degree(peers)
    colluding = -(-peers // 5)
    # More than half of a peer's neighbours and itself, of whom the victim is honest.
    exposed = hypergeom.sf(neighbours // 2, peers - 1, colluding, neighbours)
    assert peers * exposed <= 2.0**-40 * (1 + 1e-6)
    assert min(ALL_UP_TO, peers - 1) <= neighbours < peers
    if neighbours > ALL_UP_TO:
        fewer = hypergeom.sf(neighbours // 2 - 1, peers - 1, colluding, neighbours - 2)
        assert peers * fewer > 2.0**-40


def test_the_degrees_that_the_pages_name() -> None:
    assert (degree(100), degree(1000)) == (40, 118)


def test_an_evaluator_that_chooses_its_number_after_the_keys_is_named(
    ground: dict[str, OwnKeys],
) -> None:
    def choosing() -> Party[None]:
        yield Send(COORDINATOR, GraphCommitment(bytes(32)))
        book = yield from receive(COORDINATOR, KeyBook)
        keyring = Keyring.of(THIS, book.keys, PINS, teller=COORDINATOR)
        identity = MEMBERS[EVALUATOR].identity
        signature = identity.sign("blind-sum/nonce/v1", keyring.hash, bytes(32))
        yield Send(COORDINATOR, GraphNonce(bytes(32), signature))

    with pytest.raises(ViolationError, match="had committed to") as caught:
        table(ground, **{EVALUATOR: choosing()})
    assert caught.value.party == EVALUATOR


def swapping(own: OwnKeys, *, made_up: bool) -> Party[None]:
    """A coordinator that shows peers another book than the evaluator, or a number of its own."""
    yield from receive(EVALUATOR, GraphCommitment)
    came = yield from gather(RoundKeys, NAMES)
    book = [came[name].keys for name in NAMES]
    yield Send(EVALUATOR, KeyBook(tuple(book)))
    told = yield from receive(EVALUATOR, GraphNonce)
    if made_up:
        told = GraphNonce(bytes(32), told.signature)
    else:
        # It knows the number now, and lets the last colluder choose again.
        book[-1] = own.signed(THIS, MEMBERS[LAST].identity)
    for name in NAMES[:-1]:
        yield Send(name, KeyBook(tuple(book)))
        yield Send(name, told)


@pytest.mark.parametrize("made_up", [False, True])
def test_a_coordinator_that_lets_a_key_be_chosen_later_is_named(
    ground: dict[str, OwnKeys],
    made_up: bool,  # noqa: FBT001
) -> None:
    def silent() -> Party[None]:
        keys = ground[LAST].signed(THIS, MEMBERS[LAST].identity)
        yield Send(COORDINATOR, RoundKeys(keys))

    other = OwnKeys.draw(SeededEntropy(9))
    with pytest.raises(ViolationError, match="signature") as caught:
        table(ground, **{COORDINATOR: swapping(other, made_up=made_up), LAST: silent()})
    # Whoever shows what the other did not sign cannot be told from one that signed something else.
    assert "coordinator" in str(caught.value)
