"""Blind addition around rings (the paper's Clifton sum): each peer adds its part to a running sum.

    ring j, started by peer a:

      a ──RingHop──▶ b ──RingHop──▶ c ── … ──RingHop──▶ a ──RingTotal──▶ receiver
      R_j + a_j      + b_j          + c_j               − R_j            Σ over all rings

Every peer splits its value into k parts that add up to it, one for each of k
rings; the rings visit the peers in orders in which nobody keeps its neighbours.
Hops are sealed to the next peer, so their carrier sees boxes.

Who learns what. A peer sees running sums under a random start, which say nothing. The peer that
starts a ring also sees that ring's total, which is a uniform part of the sum. The receiver: the
sum. The coordinator: who takes part.

Assumption: everyone follows the protocol, and the neighbours of a peer do not
pool what they saw: with one ring its two neighbours would learn its part, with k
rings (k ≤ (P−1)/2) it takes 2k of them. With fewer than four peers a second ring adds nothing,
because a peer's two neighbours are all the other peers. Values must be shares or ciphertexts
already (`OneShare`, `Encrypted`): on plain values the starting peers together would learn the
total. A peer that leaves stops the attempt; there is no recovery, and once the last ring runs the
round is spent. For recovery, and with more peers, use `pairwise`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sottovoce.entropy import Entropy
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MalformedError,
    MismatchError,
    ViolationError,
)
from sottovoce.paillier import Encrypted
from sottovoce.protocols.blind_sum.graphs import most_rings, rings
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
from sottovoce.protocols.blind_sum.masks import SummedVector
from sottovoce.protocols.blind_sum.messages import RingHop, RingTotal
from sottovoce.protocols.blind_sum.plan import Plan, Summed
from sottovoce.protocols.blind_sum.rounds import Round, RoundBook
from sottovoce.protocols.blind_sum.spaces import Form
from sottovoce.protocols.ciphertexts import CiphertextBytes
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.runner import Conversation, Meddler, Outcome
from sottovoce.protocols.sealing import seal, unseal
from sottovoce.wire import Codec, Value, Words

Forms: TypeAlias = tuple[Form, ...]


@dataclass(frozen=True)
class OneShare:
    """One of at least two additive shares of a value: uniform by itself, so a ring may add it."""

    share: Any

    def __repr__(self) -> str:
        return "OneShare(<share>)"


class Running(Value, frozen=True):
    """The running sums of one ring, as they lie in a box."""

    parts: tuple[Words | CiphertextBytes, ...]


@dataclass(frozen=True)
class Rings:
    """A round whose parts all go to one receiver, around `count` rings."""

    plan: Plan
    count: int = 2

    def __post_init__(self) -> None:
        peers = len(self.plan.this.peers)
        if peers < 3:
            raise InputError(f"ring: expected at least 3 peers, found {peers}")
        if self.count > 1 and peers < 4:
            raise InputError(
                f"ring: expected at least 4 peers for {self.count} rings, found {peers}: "
                "a peer's two neighbours are all the others",
                hints=("one ring: count=1; or blind_sum.pairwise",),
            )
        if not 1 <= self.count <= most_rings(peers):
            raise InputError(
                f"ring: expected 1 to {most_rings(peers)} rings of {peers} peers, "
                f"found {self.count}"
            )
        if len(self.plan.receivers) != 1:
            raise InputError("ring: expected one receiver, found two: run one ring sum for each")

    @property
    def this(self) -> Round:
        """The round."""
        return self.plan.this

    @property
    def parts(self) -> tuple[SummedVector, ...]:
        """The parts that are added up."""
        return self.plan.parts

    @property
    def receiver(self) -> str:
        """The party that receives the sum."""
        return self.plan.receivers[0]

    def orders(self, seed: bytes) -> list[tuple[str, ...]]:
        """The order of each ring, from the peer that starts it: another one for every ring."""
        first, *others = rings(self.this.peers, self.count, seed=seed)
        # All rings begin with the same hub; the peer after the hub is a different one in each ring.
        return [first, *((*order[1:], order[0]) for order in others)]


def peer(
    plan: Rings, values: Sequence[Any], *, who: Member, book: RoundBook, entropy: Entropy
) -> Party[Summed | None]:
    """At a peer: add our values (shares or ciphertexts) on every ring, in the rings' order."""
    check_own_name(plan.this, who, "peer")
    hidden = _hidden(plan, values)
    entropy = plan.plan.drawing(hidden, entropy)
    pieces = _pieces(plan, hidden, entropy)
    book.begin(plan.this)
    own = OwnKeys.draw(entropy)
    keyring = yield from agree_keys(plan.this, who, own)
    if keyring is None:
        return None
    place = _Place(plan, keyring, who.name, own)
    place.check_all_here()
    for index, order in enumerate(plan.orders(keyring.order_seed)):
        if index == plan.count - 1:
            # The last ring completes the sum. A second sum over other peers would reveal the
            # difference.
            book.spend(plan.this, plan.this.peers)
        if order[0] == who.name:
            yield from _start(place, index, order, pieces[index], entropy=entropy)
        else:
            forms = yield from place.hear(index, order)
            yield place.hop(index, order, place.add(forms, pieces[index], entropy), entropy)
    return Summed(plan.this.peers)


def coordinator(plan: Rings, *, who: Member, book: RoundBook) -> Party[Summed]:
    """At the coordinator: show all keys to everybody; add up if the sum is for C."""
    check_own_name(plan.this, who, "coordinator")
    book.begin(plan.this)
    keyring = yield from collect_keys(plan.this, who.pins, listeners=(plan.this.evaluator,))
    return (yield from _receive_totals(plan, keyring, who.name))


def evaluator(plan: Rings, *, who: Member, book: RoundBook, entropy: Entropy) -> Party[Summed]:
    """At the evaluator: receive the keys; add up if the sum is for E."""
    check_own_name(plan.this, who, "evaluator")
    book.begin(plan.this)
    keyring = yield from hear_keys(plan.this, who, entropy=entropy)
    return (yield from _receive_totals(plan, keyring, who.name))


def _receive_totals(plan: Rings, keyring: Keyring, me: str) -> Party[Summed]:
    """At the receiver: one total from each peer that started a ring."""
    _check_all(plan, keyring)
    if me != plan.receiver:
        return Summed(plan.this.peers)
    totals = []
    for index, order in enumerate(plan.orders(keyring.order_seed)):
        message = yield from receive(order[0], RingTotal)
        if message.ring != index:
            raise ViolationError(
                f"expected the total of ring {index}, found that of {message.ring}", party=order[0]
            )
        check_forms(plan, message.parts, order[0])
        totals.append(message.parts)
    sums = [
        part.space.total(forms, part.space.mask(), count=len(plan.this.peers))
        for part, forms in zip(plan.parts, zip(*totals, strict=True), strict=True)
    ]
    return Summed(plan.this.peers, tuple(sums))


@dataclass(frozen=True)
class _Place:
    """One peer on all rings, once the keys are agreed."""

    plan: Rings
    keyring: Keyring
    me: str
    own: OwnKeys

    def check_all_here(self) -> None:
        _check_all(self.plan, self.keyring)

    def hop(self, ring: int, order: Sequence[str], forms: Forms, entropy: Entropy) -> Send:
        """The running sums, sealed for the peer after us."""
        following = order[(order.index(self.me) + 1) % len(order)]
        content = Codec().encode(Running(forms))
        address = self.keyring.address(self.me, following, f"blind-sum/ring-{ring}/v1")
        # The content's size follows from the parts' shapes alone.
        try:
            box = seal(content, address, key=self.own.box, size=len(content), entropy=entropy)
        except ViolationError as error:
            raise error.by(following) from error
        return Send(following, RingHop(ring, box))

    def hear(self, ring: int, order: Sequence[str]) -> Party[Forms]:
        """The running sums from the peer before us."""
        before = order[order.index(self.me) - 1]
        message = yield from receive(before, RingHop)
        if message.ring != ring:
            raise ViolationError(
                f"expected a hop of ring {ring}, found one of ring {message.ring}", party=before
            )
        address = self.keyring.address(before, self.me, f"blind-sum/ring-{ring}/v1")
        try:
            running = Codec().decode(unseal(message.box, address, key=self.own.box), Running)
        except (MalformedError, ViolationError) as error:
            raise ViolationError(f"its hop cannot be read: {error}", party=before) from error
        check_forms(self.plan, running.parts, before)
        return running.parts

    def add(self, forms: Forms, piece: Forms, entropy: Entropy) -> Forms:
        """The running sums with our piece."""
        return tuple(
            part.space.add(form, ours, entropy=entropy)
            for part, form, ours in zip(self.plan.parts, forms, piece, strict=True)
        )


def _start(
    place: _Place, ring: int, order: Sequence[str], piece: Forms, *, entropy: Entropy
) -> Party[None]:
    """At the peer that starts a ring: hide its part under R, send it on, take R off at the end."""
    starts = [_random_mask(part, entropy) for part in place.plan.parts]
    opening = tuple(
        part.space.cover(part.space.nothing(entropy=entropy), mask, entropy=entropy)
        for part, mask in zip(place.plan.parts, starts, strict=True)
    )
    yield place.hop(ring, order, place.add(piece, opening, entropy), entropy)
    forms = yield from place.hear(ring, order)
    closing = tuple(
        part.space.cover(part.space.nothing(entropy=entropy), mask.negated(), entropy=entropy)
        for part, mask in zip(place.plan.parts, starts, strict=True)
    )
    yield Send(place.plan.receiver, RingTotal(ring, place.add(forms, closing, entropy)))


def _hidden(plan: Rings, values: Sequence[Any]) -> list[Any]:
    """The values, if they are shares or ciphertexts."""
    plan.plan.check_values(values)
    if not all(isinstance(value, OneShare | Encrypted) for value in values):
        raise InputError(
            "ring: expected shares or ciphertexts, found plain values: "
            "the peers that start the rings would learn their total",
            hints=("OneShare(words) for one of two shares; or blind_sum.pairwise",),
        )
    return [value.share if isinstance(value, OneShare) else value for value in values]


def _pieces(plan: Rings, values: Sequence[Any], entropy: Entropy) -> list[Forms]:
    """Return for each ring one covered piece of every value; the pieces of a value add up to it."""
    by_part = []
    for part, value in zip(plan.parts, values, strict=True):
        masks = [_random_mask(part, entropy) for _ in range(plan.count - 1)]
        rest, forms = part.space.mask(), []
        for mask in masks:
            rest.join(mask.negated())
            forms.append(
                part.space.cover(part.space.nothing(entropy=entropy), mask, entropy=entropy)
            )
        forms.append(part.space.cover(value, rest, entropy=entropy))
        by_part.append(forms)
    return list(zip(*by_part, strict=True))


def _random_mask(part: SummedVector, entropy: Entropy) -> Any:
    mask = part.space.mask()
    mask.add(entropy, 1)
    return mask


def check_forms(plan: Rings, forms: Forms, sender: str) -> None:
    """Refuse, naming the sender, sums that do not belong to the plan's parts."""
    if len(forms) != len(plan.parts):
        raise ViolationError(f"expected {len(plan.parts)} parts, found {len(forms)}", party=sender)
    for part, form in zip(plan.parts, forms, strict=True):
        try:
            part.space.check(form)
        except (MismatchError, MalformedError) as error:
            raise ViolationError(f"{part.purpose}: {error}", party=sender) from error


def _check_all(plan: Rings, keyring: Keyring) -> None:
    missing = [name for name in plan.this.peers if name not in keyring.keys]
    if missing:
        raise AbsenceError(
            f"the ring {plan.this.name!r} needs all {len(plan.this.peers)} peers, "
            f"found {len(keyring.keys)}, missing {', '.join(missing)}; nothing was revealed",
            hints=("Round.again(without=...) starts over without them",),
        )


def table(
    plan: Rings,
    values: Mapping[str, Sequence[Any]],
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
    books: Mapping[str, RoundBook] | None = None,
) -> Conversation:
    """The programs of all parties of a round, with new identities."""
    members = members_of(plan.this, entropy)
    kept = books or {name: RoundBook() for name in members}
    programs: dict[str, Party[Any]] = {
        name: peer(plan, values[name], who=members[name], book=kept[name], entropy=entropy)
        for name in plan.this.peers
    }
    head, second = plan.this.coordinator, plan.this.evaluator
    programs[head] = coordinator(plan, who=members[head], book=kept[head])
    programs[second] = evaluator(plan, who=members[second], book=kept[second], entropy=entropy)
    return Conversation(programs, session=plan.this.context, meddler=meddler)


def run(
    plan: Rings,
    values: Mapping[str, Sequence[Any]],
    *,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: every peer's values in, the receiver's sums out."""
    return table(plan, values, entropy=entropy, meddler=meddler).run()
