"""The keys of one attempt: drawn anew, signed by pinned identities, agreed by everybody."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from sottovoce.entropy import SEED_BYTES, Entropy
from sottovoce.errors import InputError, ViolationError
from sottovoce.protocols.blind_sum.graphs import Graph
from sottovoce.protocols.blind_sum.messages import (
    GraphCommitment,
    GraphNonce,
    KeyBook,
    LeftOut,
    RoundKeys,
    SignedKeys,
)
from sottovoce.protocols.blind_sum.rounds import Round
from sottovoce.protocols.conversation import Party, Receive, Send, gather, receive
from sottovoce.protocols.identities import Identity, Pins, digest, shown_by
from sottovoce.protocols.sealing import KEY_BYTES, Address, X25519Key

_SIGNED_KEYS = "blind-sum/keys/v1"
_SIGNED_NONCE = "blind-sum/nonce/v1"


@dataclass(frozen=True)
class Member:
    """A party of the study: its identity, and the pins by which it knows the others."""

    identity: Identity
    pins: Pins

    @property
    def name(self) -> str:
        """The party's name."""
        return self.identity.name


@dataclass(frozen=True)
class OwnKeys:
    """One peer's secrets of one attempt."""

    pair: X25519Key
    box: X25519Key
    seed: bytes = field(repr=False)

    @classmethod
    def draw(cls, entropy: Entropy) -> Self:
        """New keys, and a new seed for the self-mask."""
        return cls(X25519Key.draw(entropy), X25519Key.draw(entropy), entropy.seed())

    def signed(self, this: Round, identity: Identity) -> SignedKeys:
        """The public halves under the peer's signature."""
        public = (self.pair.public, self.box.public, commitment(this, identity.name, self.seed))
        signature = identity.sign(_SIGNED_KEYS, this.context, identity.name.encode(), *public)
        return SignedKeys(identity.name, *public, signature)


def commitment(this: Round, peer: str, seed: bytes) -> bytes:
    """The commitment to a peer's seed, which does not reveal it (the seed has 256 random bits)."""
    return digest("blind-sum/seed/v1", this.context, peer.encode(), seed)


@dataclass(frozen=True)
class Keyring:
    """The signed keys of all peers of an attempt, and the hash that stands for them."""

    this: Round
    keys: dict[str, SignedKeys]
    nonce: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, this: Round, book: Sequence[SignedKeys], pins: Pins, *, teller: str) -> Self:
        """The keyring in a book that `teller` showed; keys that peers did not sign are refused."""
        keys = {signed.peer: signed for signed in book}
        expected = [peer for peer in this.peers if peer in keys]
        if [signed.peer for signed in book] != expected:
            raise ViolationError(
                "the keys are not those of the peers of this round, each once and in order",
                party=teller,
            )
        for signed in book:
            with shown_by(teller):
                check_keys(this, signed, pins)
        publics = {key for signed in book for key in (signed.pair, signed.box)}
        if len(publics) != 2 * len(book):
            raise ViolationError("a key appears twice; every peer and every use needs its own")
        this.check_enough(keys, "keys")
        return cls(this, keys)

    @property
    def peers(self) -> tuple[str, ...]:
        """The peers whose keys are in the book."""
        return tuple(self.keys)

    @cached_property
    def hash(self) -> bytes:
        """32 bytes for round, attempt, peers and all their keys."""
        signatures = (signed.signature for signed in self.keys.values())
        publics = (signed.pair + signed.box + signed.commitment for signed in self.keys.values())
        names = (peer.encode() for peer in self.keys)
        return digest("blind-sum/book/v1", self.this.context, *names, *publics, *signatures)

    @property
    def order_seed(self) -> bytes:
        """The seed of the graph of neighbours."""
        return digest("blind-sum/graph/v1", self.hash, self.nonce) if self.nonce else self.hash

    @cached_property
    def graph(self) -> Graph:
        """The graph of peers that share masks."""
        return Graph.over(self.peers, seed=self.order_seed)

    def nonced(self, graph_nonce: GraphNonce, pins: Pins) -> "Keyring":
        """Return the same keys with the evaluator's signed number for their graph."""
        with shown_by(self.this.coordinator):
            pins.check(
                self.this.evaluator,
                graph_nonce.signature,
                _SIGNED_NONCE,
                self.hash,
                graph_nonce.nonce,
            )
        return replace(self, nonce=graph_nonce.nonce)

    def address(self, sender: str, recipient: str, use: str) -> Address:
        """The address of a sealed box of this attempt."""
        keys = (self.keys[sender].box, self.keys[recipient].box)
        label = digest("blind-sum/box/v1", sender.encode(), recipient.encode(), use.encode())
        return Address(*keys, info=self.hash, label=label)


def check_keys(this: Round, signed: SignedKeys, pins: Pins) -> None:
    """Refuse, naming the peer, keys that it did not sign for this attempt."""
    sizes = (len(signed.pair), len(signed.box), len(signed.commitment))
    if sizes != (KEY_BYTES, KEY_BYTES, SEED_BYTES):
        raise ViolationError(f"expected keys of 32 bytes each, found {sizes}", party=signed.peer)
    said = (this.context, signed.peer.encode(), signed.pair, signed.box, signed.commitment)
    try:
        pins.check(signed.peer, signed.signature, _SIGNED_KEYS, *said)
    except ViolationError as error:
        if not this.shown:
            raise
        raise ViolationError(
            f"{error.message}: the keys are not its own, or it was shown other values than we were",
            party=signed.peer,
        ) from error


def agree_keys(this: Round, who: Member, own: OwnKeys) -> Party[Keyring | None]:
    """At a peer: send our keys and return everybody's; None if we came too late."""
    mine = own.signed(this, who.identity)
    yield Send(this.coordinator, RoundKeys(mine))
    book = yield Receive(this.coordinator, (KeyBook, LeftOut))
    if isinstance(book, LeftOut):
        return None
    keyring = Keyring.of(this, book.keys, who.pins, teller=this.coordinator)
    if keyring.keys.get(who.name) != mine:
        raise ViolationError(
            "our own keys were changed",
            party=this.coordinator,
        )
    if this.is_sparse:
        nonce = yield from receive(this.coordinator, GraphNonce)
        keyring = keyring.nonced(nonce, who.pins)
    return keyring


def collect_keys(this: Round, pins: Pins, *, listeners: Sequence[str] = ()) -> Party[Keyring]:
    """At the coordinator: gather the keys and show the book to peers and `listeners`.

    With many peers the evaluator first commits to a number for their graph, and reveals it after it
    has seen the keys.
    """
    bound = None
    if this.is_sparse:
        bound = yield from receive(this.evaluator, GraphCommitment)
    came = yield from gather(RoundKeys, this.peers)
    for peer, message in came.items():
        if message.keys.peer != peer:
            raise ViolationError("the keys are another peer's", party=peer)
        check_keys(this, message.keys, pins)
    this.check_enough(came, "keys")
    keyring = Keyring.of(
        this, [message.keys for message in came.values()], pins, teller=this.coordinator
    )
    book = KeyBook(tuple(keyring.keys.values()))  # one message, which is written once for all
    for party in (*keyring.peers, *listeners):
        yield Send(party, book)
    if bound is not None:
        keyring = yield from _pass_nonce(keyring, bound, pins)
    for peer in this.peers:
        if peer not in came:
            yield Send(peer, LeftOut("keys"))
    return keyring


def _pass_nonce(keyring: Keyring, bound: GraphCommitment, pins: Pins) -> Party[Keyring]:
    """At the coordinator: the evaluator's number, if it is the one that it committed to."""
    this = keyring.this
    nonce = yield from receive(this.evaluator, GraphNonce)
    if _nonce_commitment(this, nonce.nonce) != bound.commitment:
        raise ViolationError(
            "the number for the graph is not the one that it had committed to",
            party=this.evaluator,
        )
    keyring = keyring.nonced(nonce, pins)
    for peer in keyring.peers:
        yield Send(peer, nonce)
    return keyring


def hear_keys(this: Round, who: Member, *, entropy: Entropy) -> Party[Keyring]:
    """At the evaluator: the book, checked without trust in the coordinator.

    With many peers it draws a number for their graph before it sees the book, and reveals it
    afterwards. It does so once in an attempt, so that nobody can try other keys against the same
    number.
    """
    if not this.is_sparse:
        book = yield from receive(this.coordinator, KeyBook)
        return Keyring.of(this, book.keys, who.pins, teller=this.coordinator)
    nonce = entropy.seed()
    yield Send(this.coordinator, GraphCommitment(_nonce_commitment(this, nonce)))
    book = yield from receive(this.coordinator, KeyBook)
    keyring = Keyring.of(this, book.keys, who.pins, teller=this.coordinator)
    signature = who.identity.sign(_SIGNED_NONCE, keyring.hash, nonce)
    yield Send(this.coordinator, GraphNonce(nonce, signature))
    return replace(keyring, nonce=nonce)


def _nonce_commitment(this: Round, nonce: bytes) -> bytes:
    return digest("blind-sum/nonce-commitment/v1", this.context, nonce)


def check_own_name(this: Round, who: Member, role: str) -> None:
    """Refuse to run a role under a name that the round does not give to it."""
    expected = {"peer": this.peers, "coordinator": (this.coordinator,)}.get(role, (this.evaluator,))
    if who.name not in expected:
        raise InputError(f"blind sum: expected the {role} {expected}, found {who.name!r}")


def members_of(this: Round, entropy: Entropy) -> dict[str, Member]:
    """Return all parties of a round, with new identities, for a run in memory."""
    names = (*this.peers, this.coordinator, this.evaluator)
    identities = {name: Identity.draw(name, entropy) for name in names}
    pins = Pins.of(*identities.values())
    return {name: Member(identity, pins) for name, identity in identities.items()}
