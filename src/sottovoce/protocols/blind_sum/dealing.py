"""Shares of a peer's two secrets, so that the others can finish if it leaves.

Every peer deals its self-mask's seed and its pair key to its neighbours and itself. The dealer
commits to every share, and to both secrets, before anything is masked. So a share that a holder
reveals later can be checked without trusting that holder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, MalformedError, ViolationError
from sottovoce.protocols.blind_sum import shamir
from sottovoce.protocols.blind_sum.graphs import Graph
from sottovoce.protocols.blind_sum.hash_trees import paths_of, root_from, root_of
from sottovoce.protocols.blind_sum.keys import Keyring, Member, OwnKeys, commitment
from sottovoce.protocols.blind_sum.messages import BoxFrom, DealtShares, SignedShares
from sottovoce.protocols.identities import Pins, digest, shown_by
from sottovoce.protocols.sealing import OVERHEAD, Address, X25519Key, seal, unseal

_SIGNED_SHARES = "blind-sum/shares/v2"
_USE = "blind-sum/dealing/v1"
_CONTENT_BYTES = 2 * shamir.SHARE_BYTES
BOX_BYTES = _CONTENT_BYTES + OVERHEAD
_HASH_BYTES = 32


@dataclass(frozen=True)
class TwoShares:
    """One holder's shares of one peer: one of its seed, and one of its pair key."""

    seed: bytes = field(repr=False)
    pair: bytes = field(repr=False)

    def commitments(self, keyring: Keyring, owner: str, holder: str) -> bytes:
        """The hashes that the owner publishes: of the seed's share, then of the pair key's."""
        names = (owner.encode(), holder.encode())
        return b"".join(
            digest(f"blind-sum/share-{kind}/v1", keyring.hash, *names, share)
            for kind, share in (("seed", self.seed), ("pair", self.pair))
        )


@dataclass(frozen=True)
class Dealing:
    """The public part of all shares: the agreed set, and commitments to check revealed shares."""

    keyring: Keyring
    graph: Graph
    shares: Mapping[str, SignedShares]

    @classmethod
    def of(
        cls,
        keyring: Keyring,
        book: Sequence[SignedShares],
        pins: Pins,
        *,
        teller: str,
        bare: bool = False,
    ) -> "Dealing":
        """Return the dealing in a book that `teller` showed, after checking its peers' signatures.

        The receiver of a sum has all commitments; a peer has a `bare` book with their digests only.
        """
        graph = keyring.graph
        shares = {signed.peer: signed for signed in book}
        expected = [peer for peer in keyring.peers if peer in shares]
        if [signed.peer for signed in book] != expected:
            raise ViolationError(
                "the shares are not those of peers with keys, each once and in order",
                party=teller,
            )
        for signed in book:
            check_shares(keyring, graph, signed, pins, teller=teller, bare=bare)
        dealing = cls(keyring, graph, shares)
        dealing.check_set(tuple(shares), "shares")
        return dealing

    @property
    def peers(self) -> tuple[str, ...]:
        """The agreed set: everybody who dealt shares."""
        return tuple(self.shares)

    @cached_property
    def hash(self) -> bytes:
        """32 bytes for the agreed set, its keys and its shares: part of every mask."""
        signatures = (signed.signature for signed in self.shares.values())
        return digest("blind-sum/agreed/v1", self.keyring.hash, *signatures)

    def threshold(self, owner: str) -> int:
        """The number of shares that restore this peer's secret: more than half of the holders."""
        if self.graph.complete:
            return self.keyring.this.majority
        return len(self.graph.holders(owner)) // 2 + 1

    def neighbours(self, peer: str) -> tuple[str, ...]:
        """The peers with which this peer shares masks: its neighbours in the agreed set."""
        return tuple(other for other in self.graph.neighbours[peer] if other in self.shares)

    def held_by(self, holder: str) -> tuple[str, ...]:
        """The peers whose shares this peer holds, itself included, in the agreed order."""
        near = {*self.graph.neighbours[holder], holder}
        return tuple(owner for owner in self.shares if owner in near)

    def check_set(self, peers: Sequence[str], step: str) -> None:
        """Stop unless these peers are enough, can unmask each other, and are connected by masks."""
        self.keyring.this.check_enough(peers, step)
        present = set(peers)
        for owner in self.shares:
            holders = sum(holder in present for holder in self.graph.holders(owner))
            if holders < self.threshold(owner):
                raise AbsenceError(
                    f"too few neighbours of {owner!r} are left ({step}): expected at least "
                    f"{self.threshold(owner)}, found {holders}; nothing was revealed"
                )
        if not self.graph.connects(peers):
            raise AbsenceError(
                f"the peers that are left ({step}) fall into groups without common masks; "
                "nothing was revealed"
            )

    def check_revealed(self, holder: str, owner: str, share: bytes, *, in_sum: bool) -> None:
        """Refuse, naming the holder, a share that is not the one that its owner dealt to it."""
        place = self.graph.holders(owner).index(holder)
        published = self.shares[owner].commitments[place]
        kind, expected = (
            ("seed", published[:_HASH_BYTES])
            if in_sum
            else (
                "pair",
                published[_HASH_BYTES:],
            )
        )
        names = (owner.encode(), holder.encode())
        revealed = digest(f"blind-sum/share-{kind}/v1", self.keyring.hash, *names, share)
        if revealed != expected:
            raise ViolationError(
                f"the revealed share is not the one that {owner!r} dealt to it", party=holder
            )

    def seed_of(self, owner: str, shares: Mapping[str, bytes]) -> bytes:
        """The self-mask's seed of a peer in the sum, from shares by holder."""
        seed = self._combined(owner, shares)
        if commitment(self.keyring.this, owner, seed) != self.keyring.keys[owner].commitment:
            raise ViolationError("dealt shares of another seed than it committed to", party=owner)
        return seed

    def pair_key_of(self, owner: str, shares: Mapping[str, bytes]) -> X25519Key:
        """The pair key of a peer that is not in the sum, from shares by holder."""
        key = X25519Key(self._combined(owner, shares))
        if key.public != self.keyring.keys[owner].pair:
            raise ViolationError("dealt shares of another pair key than it signed", party=owner)
        return key

    def _combined(self, owner: str, shares: Mapping[str, bytes]) -> bytes:
        holders, threshold = self.graph.holders(owner), self.threshold(owner)
        if len(shares) < threshold:
            raise AbsenceError(
                f"too few peers stayed to unmask {owner!r}: expected at least {threshold} shares, "
                f"found {len(shares)}; the sum stays sealed and the round is spent",
                # Shares that come later could still open this sum. With a second sum over other
                # peers, the difference of the two would be one peer's part.
                hints=(
                    "sums of shares or ciphertexts: a new round under a new name",
                    "sums that are opened: the same peers again, or none",
                ),
            )
        places = {holders.index(holder) + 1: share for holder, share in shares.items()}
        try:
            return shamir.combine(places, threshold=threshold)
        except MalformedError as error:
            raise ViolationError("dealt shares of no secret", party=owner) from error


def deal(
    keyring: Keyring, who: Member, own: OwnKeys, *, entropy: Entropy
) -> tuple[DealtShares, TwoShares]:
    """The message of a peer to the coordinator, and its two shares of its own secrets."""
    graph = keyring.graph
    holders, this = graph.holders(who.name), keyring.this
    threshold = this.majority if graph.complete else len(holders) // 2 + 1
    count = len(holders)
    seeds = shamir.split(own.seed, count=count, threshold=threshold, entropy=entropy)
    pairs = shamir.split(own.pair.secret, count=count, threshold=threshold, entropy=entropy)
    dealt = {h: TwoShares(s, p) for h, s, p in zip(holders, seeds, pairs, strict=True)}
    commitments = tuple(two.commitments(keyring, who.name, h) for h, two in dealt.items())
    short = root_of(commitments)
    signature = who.identity.sign(_SIGNED_SHARES, keyring.hash, who.name.encode(), short)
    boxes = tuple(
        _box(two, keyring.address(who.name, holder, _USE), holder, own=own, entropy=entropy)
        for holder, two in dealt.items()
        if holder != who.name
    )
    signed = SignedShares(who.name, keyring.hash, short, signature, commitments)
    return DealtShares(signed, boxes), dealt[who.name]


def _box(
    shares: TwoShares, address: Address, holder: str, *, own: OwnKeys, entropy: Entropy
) -> bytes:
    try:
        content = shares.seed + shares.pair
        return seal(content, address, key=own.box, size=_CONTENT_BYTES, entropy=entropy)
    except ViolationError as error:
        raise error.by(holder) from error


def open_boxes(
    dealing: Dealing, boxes: Sequence[BoxFrom], me: str, own: OwnKeys
) -> dict[str, TwoShares]:
    """Return our shares of our neighbours' secrets, each checked against its commitment."""
    keyring, teller = dealing.keyring, dealing.keyring.this.coordinator
    if tuple(box.sender for box in boxes) != dealing.neighbours(me):
        raise ViolationError("the boxes are not one from each neighbour", party=teller)
    opened = {}
    for box in boxes:
        owner = box.sender
        try:
            content = unseal(box.box, keyring.address(owner, me, _USE), key=own.box)
        except (MalformedError, ViolationError) as error:
            raise ViolationError(f"its box for {me} cannot be opened", party=owner) from error
        shares = TwoShares(content[: shamir.SHARE_BYTES], content[shamir.SHARE_BYTES :])
        _check_path(dealing, box, me)
        if shares.commitments(keyring, owner, me) != box.commitment:
            raise ViolationError(f"dealt {me} other shares than it committed to", party=owner)
        opened[owner] = shares
    return opened


def _check_path(dealing: Dealing, box: BoxFrom, me: str) -> None:
    """Refuse a commitment that is not the one for us under the sender's signature."""
    holders = dealing.graph.holders(box.sender)
    try:
        root = root_from(box.commitment, holders.index(me), box.path, count=len(holders))
    except MalformedError:
        root = b""
    if root != dealing.shares[box.sender].digest:
        raise ViolationError(
            f"the commitment to {me} is not the one that {box.sender!r} signed",
            party=dealing.keyring.this.coordinator,
        )


def check_shares(
    keyring: Keyring,
    graph: Graph,
    signed: SignedShares,
    pins: Pins,
    *,
    teller: str,
    bare: bool = False,
) -> None:
    """Refuse shares that the peer did not sign, or that belong to another book than ours.

    `teller` showed us the book. `bare` shares come without commitments; the peer signed the digest
    of the commitments.
    """
    if signed.book != keyring.hash:
        raise ViolationError(
            f"{signed.peer!r} signed shares for another book of keys than ours",
            party=teller,
        )
    holders = 0 if bare else len(graph.holders(signed.peer))
    if [len(c) for c in signed.commitments] != [2 * _HASH_BYTES] * holders:
        raise ViolationError(
            f"expected {holders} commitments of {2 * _HASH_BYTES} bytes", party=teller
        )
    said = (keyring.hash, signed.peer.encode(), signed.digest)
    with shown_by(teller):
        pins.check(signed.peer, signed.signature, _SIGNED_SHARES, *said)
    if not bare and root_of(signed.commitments) != signed.digest:
        raise ViolationError(
            f"the commitments are not those that {signed.peer!r} signed", party=teller
        )


def boxes_for(dealt: Mapping[str, DealtShares], graph: Graph) -> dict[str, tuple[BoxFrom, ...]]:
    """At the coordinator: everybody's boxes by recipient, in the order of their senders."""
    sorted_out: dict[str, list[BoxFrom]] = {peer: [] for peer in dealt}
    for sender, message in dealt.items():
        everybody, commitments = graph.holders(sender), message.shares.commitments
        holders = [holder for holder in everybody if holder != sender]
        if [len(box) for box in message.boxes] != [BOX_BYTES] * len(holders):
            raise ViolationError(
                f"expected {len(holders)} boxes of {BOX_BYTES} bytes each", party=sender
            )
        shown = dict(
            zip(everybody, zip(commitments, paths_of(commitments), strict=True), strict=True)
        )
        for holder, box in zip(holders, message.boxes, strict=True):
            if holder in sorted_out:
                sorted_out[holder].append(BoxFrom(sender, box, *shown[holder]))
    return {peer: tuple(boxes) for peer, boxes in sorted_out.items()}


def check_length(shares: Sequence[bytes], expected: int, holder: str) -> None:
    """Refuse, naming the holder, another number or size of shares than was asked for."""
    if [len(share) for share in shares] != [shamir.SHARE_BYTES] * expected:
        raise ViolationError(f"expected {expected} shares of 33 bytes each", party=holder)
