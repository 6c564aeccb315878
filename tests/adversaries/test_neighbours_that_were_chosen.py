"""Among many peers nobody chooses who masks with whom, and a fifth of them surrounds nobody."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from harness.entropy import SeededEntropy
from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum import (
    Plan,
    Round,
    RoundBook,
    SummedVector,
    WordSpace,
    pairwise,
)
from sottovoce.protocols.blind_sum.dealing import Dealing, TwoShares
from sottovoce.protocols.blind_sum.graphs import ALL_UP_TO, Graph, degree
from sottovoce.protocols.blind_sum.keys import (
    Keyring,
    OwnKeys,
    agree_keys,
    collect_keys,
    hear_keys,
    members_of,
)
from sottovoce.protocols.blind_sum.masks import Masker
from sottovoce.protocols.blind_sum.messages import (
    GraphCommitment,
    GraphNonce,
    KeyBook,
    MaskedParts,
    RevealedShares,
    RoundKeys,
)
from sottovoce.protocols.conversation import Party, Send, gather, receive
from sottovoce.protocols.runner import View, converse

NAMES = tuple(f"peer {index:02}" for index in range(40))
THIS = Round("study", "preparation", NAMES)
COORDINATOR, EVALUATOR = THIS.coordinator, THIS.evaluator
# More than the fifth that the degree is made for, so that grinding would succeed.
COLLUDING = frozenset(NAMES[-17:])
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
    message = yield from receive(EVALUATOR, GraphNonce)
    if made_up:
        message = GraphNonce(bytes(32), message.signature)
    else:
        # It knows the number now, and lets the last colluder choose again.
        book[-1] = own.signed(THIS, MEMBERS[LAST].identity)
    for name in NAMES[:-1]:
        yield Send(name, KeyBook(tuple(book)))
        yield Send(name, message)


@pytest.mark.parametrize("made_up", [False, True])
def test_a_coordinator_that_lets_a_key_be_chosen_later_is_named(
    ground: dict[str, OwnKeys],
    made_up: bool,  # noqa: FBT001
) -> None:
    def silent() -> Party[None]:
        keys = ground[LAST].signed(THIS, MEMBERS[LAST].identity)
        yield Send(COORDINATOR, RoundKeys(keys))

    other = OwnKeys.draw(SeededEntropy(9))
    with pytest.raises(ViolationError, match=r"is not signed|signed shares for another") as caught:
        table(ground, **{COORDINATOR: swapping(other, made_up=made_up), LAST: silent()})
    # Whoever shows what the other did not sign cannot be told from one that signed something else.
    assert "coordinator" in str(caught.value)


PART = SummedVector(COORDINATOR, "counts", WordSpace((8,)))
COUNTS = {
    name: np.arange(8, dtype=np.uint64) + np.uint64(index) for index, name in enumerate(NAMES)
}


class Colluders:
    """They run the shipped program, and keep their shares of others' secrets."""

    def __init__(self, ground: dict[str, OwnKeys], monkeypatch: pytest.MonkeyPatch) -> None:
        self.ground = ground
        self.held: dict[str, dict[str, TwoShares]] = {}
        self.dealing: Dealing | None = None
        honest = pairwise.open_boxes

        def opening(dealing: Dealing, boxes: Any, me: str, own: OwnKeys) -> dict[str, TwoShares]:
            opened = honest(dealing, boxes, me, own)
            if me in COLLUDING:
                self.held[me], self.dealing = opened, dealing
            return opened

        monkeypatch.setattr(pairwise, "open_boxes", opening)

    def program(self, plan: Plan, name: str) -> Party[Any]:
        """A peer's program with the keys that were drawn for it, or chosen."""
        values, who = (COUNTS[name],), MEMBERS[name]
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(pairwise.OwnKeys, "draw", lambda _: self.ground[name])
            program = pairwise.peer(
                plan, values, who=who, book=RoundBook(), entropy=SeededEntropy(len(name))
            )
            first = next(program)
        message = yield first
        while True:
            try:
                message = yield program.send(message)
            except StopIteration as ended:
                return ended.value

    def read(self, view: View) -> np.ndarray:
        """What the victim sent the coordinator, without its masks."""
        dealing = self.dealing
        assert dealing is not None
        masked = next(
            item.message
            for item in view.received
            if isinstance(item.message, MaskedParts) and item.sender == VICTIM
        )
        revealed = {
            item.sender: item.message
            for item in view.received
            if isinstance(item.message, RevealedShares) and VICTIM in dealing.held_by(item.sender)
        }
        seeds = {
            holder: message.shares[dealing.held_by(holder).index(VICTIM)]
            for holder, message in revealed.items()
        }
        pairs = {me: held[VICTIM].pair for me, held in self.held.items() if VICTIM in held}
        own = OwnKeys(
            dealing.pair_key_of(VICTIM, pairs),
            self.ground[LAST].box,
            dealing.seed_of(VICTIM, seeds),
        )
        mask = Masker(dealing, VICTIM, own).mask(PART)
        return np.asarray(PART.space.total([masked.parts[0]], mask, count=1))


def test_without_the_evaluators_number_they_read_the_victims_counts(
    ground: dict[str, OwnKeys], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What chosen neighbours are worth: a single peer's part, by the project's own code."""
    monkeypatch.setattr(Keyring, "order_seed", property(lambda keyring: keyring.hash))
    plan, colluders = Plan(THIS, (PART,)), Colluders(ground, monkeypatch)
    programs: dict[str, Party[Any]] = {name: colluders.program(plan, name) for name in NAMES}
    programs[COORDINATOR] = pairwise.coordinator(plan, who=MEMBERS[COORDINATOR], book=RoundBook())
    programs[EVALUATOR] = pairwise.evaluator(
        plan, who=MEMBERS[EVALUATOR], book=RoundBook(), entropy=SeededEntropy(5)
    )
    outcome = converse(programs, session=THIS.context)
    assert colluders.read(outcome.views[COORDINATOR]).tolist() == COUNTS[VICTIM].tolist()
