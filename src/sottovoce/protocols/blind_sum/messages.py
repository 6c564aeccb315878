"""The messages between peers, coordinator and evaluator during a blind sum."""

from typing import ClassVar

from sottovoce.protocols.ciphertexts import CiphertextBytes
from sottovoce.protocols.disclosures import BY_COORDINATOR, BY_COORDINATOR_THEN_PEERS
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.wire import Value, Words


class SignedKeys(Value, frozen=True):
    """One peer's keys for one attempt, signed by its identity.

    `pair` agrees masks with other peers (its secret half may be revealed by
    recovery), `box` opens sealed boxes (it never is), and `commitment` binds the
    peer to its self-mask.
    """

    peer: str
    pair: bytes
    box: bytes
    commitment: bytes
    signature: bytes


class SignedShares(Value, frozen=True):
    """One peer's public statement about the shares that it dealt, signed by its identity.

    `book` is the hash of the keys that it saw; one commitment for each holder (to both of its
    shares) lets the party that adds up check a share that is revealed later. The signature is over
    the `digest` of them (hash_trees.py); peers are shown no others' list.
    """

    peer: str
    book: bytes
    digest: bytes
    signature: bytes
    commitments: tuple[bytes, ...] = ()


class BoxFrom(Value, frozen=True):
    """A sealed box that the coordinator passes on, and what its sender committed to for it.

    The `path` leads from that commitment to the digest that the sender signed.
    """

    sender: str
    box: bytes
    commitment: bytes
    path: tuple[bytes, ...]


class RoundKeys(Message, frozen=True):
    """A peer's keys for this attempt."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, and through it every party of the study",
        reveals="that the peer takes part; its keys are new and tell nothing else",
        assuming="X25519 hides the secret halves, BLAKE2b the seed behind its commitment",
    )
    keys: SignedKeys


class KeyBook(Message, frozen=True):
    """The keys of everybody who came in time."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer, and the evaluator",
        reveals="which peers take part in this attempt, and their public keys",
        assuming="identities were pinned out of band, so that no key can be swapped",
    )
    keys: tuple[SignedKeys, ...]


class GraphCommitment(Message, frozen=True):
    """The evaluator's commitment to its number for the graph, sent before any key is known."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="nothing: the hash of 256 random bits",
        assuming="BLAKE2b hides and binds",
    )
    commitment: bytes


class GraphNonce(Message, frozen=True):
    """The evaluator's number for the graph of a round of many peers, under its signature."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR_THEN_PEERS,
        reveals="random bits from which, with everybody's keys, follows who masks with whom",
        assuming="coordinator and evaluator do not pool: one of them would tell it too early",
    )
    nonce: bytes
    signature: bytes


class LeftOut(Message, frozen=True):
    """Tells a peer that it came too late for a step, and sends nothing more in this attempt."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer that came too late",
        reveals="that the others went on without it",
        assuming="nothing beyond the coordinator's word, which the peer can act on safely",
    )
    step: str


class DealtShares(Message, frozen=True):
    """A peer's shares of its self-mask and of its pair key, each in a box for one holder."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, which passes the boxes on",
        reveals="nothing about the shares: boxes of one size, and hashes of random numbers",
        assuming="boxes open for their recipients only, and fewer than the threshold of them "
        "side with the coordinator",
    )
    shares: SignedShares
    boxes: tuple[bytes, ...]


class ShareBook(Message, frozen=True):
    """The dealers of shares, and the recipient's boxes; the evaluator has all commitments."""

    discloses: ClassVar = Disclosure(
        seen_by="each peer (with its own boxes), and the evaluator (without any)",
        reveals="the agreed peer set; a box holds one share of a neighbour's two secrets, "
        "which alone says nothing",
        assuming="fewer than the threshold of a peer's neighbours pool their shares",
    )
    shares: tuple[SignedShares, ...]
    boxes: tuple[BoxFrom, ...]


class MaskedParts(Message, frozen=True):
    """A peer's contribution under its masks: one form for each part that the receiver adds up."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator or the evaluator, whichever adds this part up",
        reveals="nothing about the peer alone: every element is uniform until the whole sum "
        "is unmasked",
        assuming="the masks' seeds stay secret: the receiver does not pool with the other one, "
        "nor with a threshold of the peer's neighbours",
    )
    agreed: bytes
    parts: tuple[Words | CiphertextBytes, ...]


class Arrived(Message, frozen=True):
    """The peers whose contributions reached the evaluator."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR,
        reveals="who sent a contribution to the evaluator in time",
        assuming="participation is no secret within a study, as its card says",
    )
    peers: tuple[str, ...]


class AgreedSet(Message, frozen=True):
    """The evaluator's signature under the final set."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_COORDINATOR_THEN_PEERS,
        reveals="that the evaluator agrees to unmask exactly this set",
        assuming="the evaluator signs one set per round, whatever the coordinator asks",
    )
    signature: bytes


class ProposedSet(Question[AgreedSet], frozen=True):
    """The final set of peers, signed by the coordinator."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, before anybody is asked to unmask",
        reveals="which contributions will be added up",
        assuming="the coordinator signs one set per round",
    )
    peers: tuple[str, ...]
    signature: bytes


class UnmaskRequest(Message, frozen=True):
    """The final set with both signatures: what every peer needs to see before it unmasks."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer that dealt shares",
        reveals="who is in the sum and who is not",
        assuming="coordinator and evaluator do not both sign two sets",
    )
    peers: tuple[str, ...]
    coordinator_signature: bytes
    evaluator_signature: bytes


class RevealedShares(Message, frozen=True):
    """For each neighbour one share: of its self-mask if it is in the sum, else of its pair key."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator and the evaluator, where they add parts up",
        reveals="together with others, the masks that are left on the sum, and with them the "
        "sum; never both secrets of one peer",
        assuming="each peer answers one unmasking per round, for a set that both signed",
    )
    shares: tuple[bytes, ...]


class RingHop(Message, frozen=True):
    """The running sums of one ring, sealed for the next peer."""

    discloses: ClassVar = Disclosure(
        seen_by="the next peer on the ring (its carrier sees a box)",
        reveals="nothing: the first peer's random start hides every running sum",
        assuming="a peer's neighbours on all rings do not pool what they saw",
    )
    ring: int
    box: bytes


class RingTotal(Message, frozen=True):
    """The sum of one ring's parts, from the peer that started it."""

    discloses: ClassVar = Disclosure(
        seen_by="the receiver of the sum; the starting peer knows it too",
        reveals="one part of the sum, uniform by itself; all rings together give the sum of "
        "values that are themselves shares or ciphertexts",
        assuming="the values were shares or ciphertexts to begin with",
    )
    ring: int
    parts: tuple[Words | CiphertextBytes, ...]
