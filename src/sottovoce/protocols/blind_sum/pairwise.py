"""Blind addition with masks between pairs of peers: the sum comes out, and nothing else.

    peer p                          coordinator C                        evaluator E
      │                                │◀──── GraphCommitment (above 30 peers) │
      │ RoundKeys (signed) ───────────▶│                                      │
      │◀────────────── KeyBook ────────│────────────── KeyBook ──────────────▶│
      │◀──────────── GraphNonce ───────│◀──── GraphNonce (above 30 peers) ─────│
      │ DealtShares (sealed boxes) ───▶│                                      │
      │◀────────────── ShareBook ──────│────────────── ShareBook ────────────▶│
      │ MaskedParts ──────────────────▶│ and / or ───────────────────────────▶│
      │                                │◀───────────── Arrived ───────────────│
      │                                │ ProposedSet (signed) ───────────────▶│
      │                                │◀───────────── AgreedSet (signed) ────│
      │◀────────────── UnmaskRequest ──│                                      │
      │ RevealedShares ───────────────▶│ and / or ───────────────────────────▶│
                                      sum                                    sum

Peer p sends x_p + self_p + Σ_q ±pair_pq. The pair masks cancel in the sum over everybody. For peers
in the final set S the self-masks are rebuilt from shares. For peers that left after dealing, the
pair keys are rebuilt. Both are never rebuilt for the same peer.

Who learns what. C: who takes part, and the sums of the parts that it receives (themselves shares or
counts). E: the same for its parts. Peers: who takes part. Nobody learns a single peer's part, no
matter who leaves and when; if too many leave, the round ends with `AbsenceError`, and nothing is
revealed.

Assumption: everyone follows the protocol, C and E do not pool what they saw, and fewer than the
threshold of a peer's neighbours collude with either. The following is checked all the same, because
it is cheap. Pinned identities sign every key and share. Masks depend on the hash of the agreed set
and all its keys, so a coordinator that shows different books gets noise. Above 30 peers nobody can
choose who masks with whom (graphs.py). Each peer, and E, accepts only sets of more than half of all
peers, so two groups cannot be summed separately. S carries both signatures. A peer unmasks once per
round. The error about a changed share names the party that changed it.

The transport seals end to end what C carries from a peer to E.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum.dealing import (
    Dealing,
    TwoShares,
    boxes_for,
    check_length,
    check_shares,
    deal,
    open_boxes,
)
from sottovoce.protocols.blind_sum.keys import (
    Keyring,
    Member,
    OwnKeys,
    agree_keys,
    check_own_name,
    collect_keys,
    hear_keys,
    members_of,
)
from sottovoce.protocols.blind_sum.masked_sums import RunningSums, gather_masked
from sottovoce.protocols.blind_sum.masks import Masker, left_mask
from sottovoce.protocols.blind_sum.messages import (
    AgreedSet,
    Arrived,
    DealtShares,
    LeftOut,
    MaskedParts,
    ProposedSet,
    RevealedShares,
    ShareBook,
    UnmaskRequest,
)
from sottovoce.protocols.blind_sum.plan import Plan, Summed
from sottovoce.protocols.blind_sum.rounds import RoundBook
from sottovoce.protocols.blind_sum.sets import check_agreed, check_proposed, sign_set
from sottovoce.protocols.conversation import Party, Receive, Send, ask, gather, receive
from sottovoce.protocols.identities import Pins
from sottovoce.protocols.runner import Conversation, Meddler, Outcome


def peer(
    plan: Plan, values: Sequence[Any], *, who: Member, book: RoundBook, entropy: Entropy
) -> Party[Summed | None]:
    """At a peer: contribute `values` (one for each part); None if it came too late."""
    this = plan.this
    check_own_name(this, who, "peer")
    plan.check_values(values)
    book.begin(this)
    entropy = plan.drawing(values, entropy)
    own = OwnKeys.draw(entropy)
    keyring = yield from agree_keys(this, who, own)
    if keyring is None:
        return None
    dealt, mine = deal(keyring, who, own, entropy=entropy)
    yield Send(this.coordinator, dealt)
    share_book = yield Receive(this.coordinator, (ShareBook, LeftOut))
    if isinstance(share_book, LeftOut):
        return None
    dealing = Dealing.of(keyring, share_book.shares, who.pins, teller=this.coordinator, bare=True)
    if dealing.shares.get(who.name) != replace(dealt.shares, commitments=()):
        raise ViolationError(
            "our own shares were changed",
            party=this.coordinator,
        )
    held = {who.name: mine, **open_boxes(dealing, share_book.boxes, who.name, own)}
    masker = Masker(dealing, who.name, own)
    for receiver in plan.receivers:
        yield Send(receiver, _covered(plan, values, masker, receiver=receiver, entropy=entropy))
    agreed = yield from receive(this.coordinator, UnmaskRequest)
    check_agreed(dealing, agreed, who.pins)
    if who.name not in agreed.peers:
        return None
    book.spend(this, agreed.peers)
    for receiver in plan.receivers:
        yield Send(receiver, reveal(dealing, held, who.name, agreed.peers))
    return Summed(agreed.peers)


def coordinator(plan: Plan, *, who: Member, book: RoundBook) -> Party[Summed]:
    """At the coordinator: carry the boxes, agree on the set, and add its own parts up."""
    this = plan.this
    check_own_name(this, who, "coordinator")
    book.begin(this)
    keyring = yield from collect_keys(this, who.pins, listeners=(this.evaluator,))
    dealing = yield from _collect_shares(keyring, who.pins)
    masked = yield from gather_masked(plan, dealing, who.name)
    arrived = yield from receive(this.evaluator, Arrived)
    masked.check_left_out(set(arrived.peers))
    final = tuple(p for p in dealing.peers if p in arrived.peers and p in masked.peers)
    dealing.check_set(final, "contributions")
    book.spend(this, final)
    signature = sign_set(dealing, final, who.identity)
    agreed = yield from ask(this.evaluator, ProposedSet(final, signature))
    request = UnmaskRequest(final, signature, agreed.signature)
    check_agreed(dealing, request, who.pins)
    for name in dealing.peers:
        yield Send(name, request)
    return (yield from _unmask(plan, dealing, masked, final, receiver=who.name))


def evaluator(
    plan: Plan,
    *,
    who: Member,
    book: RoundBook,
    entropy: Entropy,
    among: Collection[str] | None = None,
) -> Party[Summed]:
    """At the evaluator: check the set, sign it once, and add its own parts up.

    Where peers also send it other messages, `among` names the peers whose other messages it has; no
    other peer counts as arrived.
    """
    this = plan.this
    check_own_name(this, who, "evaluator")
    book.begin(this)
    keyring = yield from hear_keys(this, who, entropy=entropy)
    share_book = yield from receive(this.coordinator, ShareBook)
    dealing = Dealing.of(keyring, share_book.shares, who.pins, teller=this.coordinator)
    masked = yield from gather_masked(plan, dealing, who.name)
    here = dealing.peers if among is None else among
    arrived = tuple(p for p in dealing.peers if p in masked.peers and p in here)
    yield Send(this.coordinator, Arrived(arrived))
    proposed = yield from receive(this.coordinator, ProposedSet)
    check_proposed(dealing, proposed, arrived, who.pins)
    masked.check_left_out(set(proposed.peers))
    book.spend(this, proposed.peers)
    yield Send(this.coordinator, AgreedSet(sign_set(dealing, proposed.peers, who.identity)))
    return (yield from _unmask(plan, dealing, masked, proposed.peers, receiver=who.name))


def _collect_shares(keyring: Keyring, pins: Pins) -> Party[Dealing]:
    """At the coordinator: gather everybody's shares, and pass on what belongs to whom."""
    this = keyring.this
    dealt = yield from gather(DealtShares, keyring.peers)
    graph = keyring.graph
    for name, message in dealt.items():
        if message.shares.peer != name:
            raise ViolationError("the shares are another peer's", party=name)
        check_shares(keyring, graph, message.shares, pins, teller=name)
    this.check_enough(dealt, "shares")
    shares = tuple(message.shares for message in dealt.values())
    dealing = Dealing.of(keyring, shares, pins, teller=this.coordinator)
    # Sending all commitments to all peers would take more than the square of their number.
    bare = tuple(replace(signed, commitments=()) for signed in shares)
    for name, boxes in boxes_for(dealt, graph).items():
        yield Send(name, ShareBook(bare, boxes))
    yield Send(this.evaluator, ShareBook(shares, ()))
    for name in keyring.peers:
        if name not in dealt:
            yield Send(name, LeftOut("shares"))
    return dealing


def _covered(
    plan: Plan, values: Sequence[Any], masker: Masker, *, receiver: str, entropy: Entropy
) -> MaskedParts:
    """Return a peer's values under all its masks, for one receiver."""
    forms = tuple(
        part.space.cover(value, masker.mask(part), entropy=entropy)
        for part, value in zip(plan.parts, values, strict=True)
        if part.receiver == receiver
    )
    return MaskedParts(masker.dealing.hash, forms)


def reveal(
    dealing: Dealing, held: Mapping[str, TwoShares], me: str, final: Sequence[str]
) -> RevealedShares:
    """One share for each peer: of its seed if it is in the sum, else of its pair key."""
    return RevealedShares(
        tuple(
            held[owner].seed if owner in final else held[owner].pair
            for owner in dealing.held_by(me)
        )
    )


def _unmask(
    plan: Plan,
    dealing: Dealing,
    masked: RunningSums,
    final: tuple[str, ...],
    *,
    receiver: str,
) -> Party[Summed]:
    """At a receiver: rebuild the masks that are left, and take them off the sum."""
    parts = plan.parts_for(receiver)
    if not parts:
        return Summed(final)
    revealed = yield from gather(RevealedShares, final)
    by_owner = _sorted_shares(dealing, revealed, final)
    seeds = {owner: dealing.seed_of(owner, by_owner[owner]) for owner in final}
    gone = [owner for owner in dealing.peers if owner not in final]
    pairs = {owner: dealing.pair_key_of(owner, by_owner[owner]) for owner in gone}
    sums = []
    for index, part in enumerate(parts):
        forms = masked.forms(index, final)
        sums.append(
            part.space.total(forms, left_mask(dealing, part, seeds, pairs), count=len(final))
        )
    return Summed(final, tuple(sums))


def _sorted_shares(
    dealing: Dealing, revealed: Mapping[str, RevealedShares], final: Sequence[str]
) -> dict[str, dict[str, bytes]]:
    """The revealed shares by owner and holder, each checked against what its owner dealt."""
    by_owner: dict[str, dict[str, bytes]] = {owner: {} for owner in dealing.peers}
    for holder, message in revealed.items():
        owners = dealing.held_by(holder)
        check_length(message.shares, len(owners), holder)
        for owner, share in zip(owners, message.shares, strict=True):
            dealing.check_revealed(holder, owner, share, in_sum=owner in final)
            by_owner[owner][holder] = share
    return by_owner


def table(
    plan: Plan,
    values: Mapping[str, Sequence[Any]],
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
    books: Mapping[str, RoundBook] | None = None,
) -> Conversation:
    """The programs of all parties of a round, with new identities."""
    this = plan.this
    members = members_of(this, entropy)
    kept = books or {name: RoundBook() for name in members}
    programs: dict[str, Party[Any]] = {
        name: peer(plan, values[name], who=members[name], book=kept[name], entropy=entropy)
        for name in this.peers
    }
    head, second = this.coordinator, this.evaluator
    programs[head] = coordinator(plan, who=members[head], book=kept[head])
    programs[second] = evaluator(plan, who=members[second], book=kept[second], entropy=entropy)
    return Conversation(programs, session=this.context, meddler=meddler)


def run(
    plan: Plan,
    values: Mapping[str, Sequence[Any]],
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: every peer's values in, the receivers' sums out."""
    return table(plan, values, entropy=entropy, meddler=meddler).run()
