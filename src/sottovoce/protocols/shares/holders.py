"""Two holders of shares and a dealer: their roles, one-time material, and opening of values.

    dealer                first                          second
      |  HolderNonce: random bytes of this run of it       |
      |<---------------------------------------------------|
      |  32-byte seed       |                              |
      |-------------------->|                              |
      |  32-byte seed, and the nonce                       |
      |--------------------------------------------------->|
      |                     |  masked share                |
      |                     |----------------------------->|
      |                     |                 masked share |
      |                     |<-----------------------------|

Uniform numbers are drawn from a seed. Numbers that depend on them (such as the product of two
masks) take one correction, which the dealer sends to the first holder. The dealer receives random
bytes, and nothing else. Each holder sees shares of masked values. They are uniform as long as the
dealer pools with neither holder, and as long as its messages to one holder are sealed against the
other and the relay.

What can be handed to the second holder a second time. It is the evaluator, and the first is the
coordinator, through whom all letters go. An evaluator's folder may come back from a backup. It then
does not know a conversation that it had since, and the coordinator can hand it the old seeds again,
with other masked shares of its own: a second share under the same mask shows how the evaluator's
shares differ, and so the joint moments or the model. So whatever is dealt is bound to a nonce that
the evaluator draws in every run. A folder that does not know the conversation draws another one,
and refuses the seeds before any share leaves. After a crash the journal gives the same nonce. What
that leaves open: a copy that was made in the middle of a conversation has its nonce and its seeds.
Only numbers that are dealt after each opening, and for it, would close that: one more trip to the
dealer a step. An asker that is a holder binds a query to its nonce itself (`query_context`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import numpy as np

from sottovoce import wire
from sottovoce.entropy import SEED_BYTES, Entropy, bound
from sottovoce.errors import InputError, MisuseError, ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import BY_OTHER_HOLDER, DEALER_POOLS_WITH_NEITHER
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.material import Context, Ledger, Material
from sottovoce.protocols.shares.rings import RING64, Ring


class DealtSeed(Message, frozen=True):
    """The seed of one half of everything that the dealer draws for a context."""

    discloses: ClassVar = Disclosure(
        seen_by="one of the two holders of shares",
        reveals="nothing: it was drawn at random before any data came",
        assuming="the dealer pools with neither holder, and seals it to the one whom it is for",
    )
    seed: bytes
    context: bytes
    nonce: bytes = b""


class HolderNonce(Message, frozen=True):
    """Random bytes of one run of the second holder, to which everything dealt is bound."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer, sealed against the coordinator",
        reveals="nothing: random bytes, bound to this run of the evaluator",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )
    nonce: bytes
    context: bytes


class MaskedShare(Message, frozen=True):
    """A share of a masked value, which both holders send to each other to open it."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_OTHER_HOLDER,
        reveals="nothing: the mask makes every word uniform",
        assuming=DEALER_POOLS_WITH_NEITHER,
    )
    words: wire.Words


O = TypeVar("O", bound=MaskedShare)


@dataclass(frozen=True)
class Trio:
    """The two holders of shares and the dealer: three different parties."""

    first: str
    second: str
    dealer: str

    def __post_init__(self) -> None:
        if self.first == self.second:
            raise InputError(
                f"holders of shares: expected two different parties, found {self.first!r} twice",
                hints=("the evaluator is never the coordinator",),
            )
        if self.dealer in {self.first, self.second}:
            raise InputError(
                f"dealer: expected a party that holds no share, found {self.dealer!r}",
                hints=(f"name a party other than {self.first!r} and {self.second!r}",),
            )


@dataclass(frozen=True)
class Holder:
    """One of the two holders in one context; only the first adds public constants."""

    trio: Trio
    first: bool
    material: Material = field(repr=False)

    @property
    def other(self) -> str:
        """The other holder."""
        return self.trio.second if self.first else self.trio.first

    def constant(self, words: Words) -> Words:
        """This holder's share of a public value."""
        return words if self.first else np.zeros_like(words)


@dataclass(frozen=True)
class Dealer:
    """The dealer in one context: it can draw both holders' halves of everything."""

    trio: Trio
    first: Material = field(repr=False)
    second: Material = field(repr=False)

    def streams(self, purpose: str, index: int = 0) -> tuple[Entropy, Entropy]:
        """Both holders' streams for one purpose."""
        return self.first.stream(purpose, index), self.second.stream(purpose, index)

    def send(self, correction: Message) -> Party[None]:
        """Send the first holder a correction, which its stream cannot give."""
        yield Send(self.trio.first, correction)


def deal_seeds(
    trio: Trio, context: Context, *, ledger: Ledger, entropy: Entropy, nonce: bytes = b""
) -> Party[Dealer]:
    """The dealer's first step: a seed to each holder."""
    ledger.spend(context, "dealt seeds")
    if nonce:
        # With another nonce other seeds: a dealer, too, may be an older copy.
        entropy = bound(entropy, "shares/dealt to/v1", nonce)
    first, second = entropy.seed(), entropy.seed()
    yield Send(trio.first, DealtSeed(first, context.encode()))
    yield Send(trio.second, DealtSeed(second, context.encode(), nonce))
    return Dealer(
        trio,
        Material(first, "first", context, ledger=ledger),
        Material(second, "second", context, ledger=ledger),
    )


def deal_to_run(trio: Trio, context: Context, *, ledger: Ledger, entropy: Entropy) -> Party[Dealer]:
    """The same, bound to this run of the second holder."""
    drawn = yield from receive(trio.second, HolderNonce)
    if drawn.context != context.encode() or len(drawn.nonce) != SEED_BYTES:
        raise ViolationError(
            f"expected a nonce of {SEED_BYTES} bytes for {context}, found another",
            party=trio.second,
        )
    return (yield from deal_seeds(trio, context, ledger=ledger, entropy=entropy, nonce=drawn.nonce))


def take_seed(
    trio: Trio, me: str, context: Context, *, ledger: Ledger, nonce: bytes = b""
) -> Party[Holder]:
    """A holder's first step: receive its seed, which must have been dealt for this context."""
    if me not in {trio.first, trio.second}:
        raise MisuseError(f"holder: expected {trio.first!r} or {trio.second!r}, found {me!r}")
    ledger.spend(context, f"seed of {me}")
    dealt = yield from receive(trio.dealer, DealtSeed)
    if dealt.context != context.encode():
        raise ViolationError(
            f"expected material for {context}, found some for another", party=trio.dealer
        )
    _check_nonce(dealt, nonce, trio.dealer)
    first = me == trio.first
    half = Material(dealt.seed, "first" if first else "second", context, ledger=ledger)
    return Holder(trio, first, half)


def seated(
    trio: Trio, me: str, context: Context, *, ledger: Ledger, entropy: Entropy
) -> Party[Holder]:
    """The same, where the second holder binds what is dealt to this run of it.

    Its entropy depends on everything that it will mask, as far as it has that already.
    """
    nonce = b""
    if me == trio.second:
        nonce = entropy.seed()
        yield Send(trio.dealer, HolderNonce(nonce, context.encode()))
    return (yield from take_seed(trio, me, context, ledger=ledger, nonce=nonce))


def _check_nonce(dealt: DealtSeed, nonce: bytes, dealer: str) -> None:
    """Refuse a seed that answers another run of this holder."""
    if dealt.nonce != nonce:
        raise ViolationError(
            f"DealtSeed: what {dealer} dealt is for another run of this seat; nothing masked was "
            f"sent. Letters of an earlier run come again, or this seat runs twice, or {dealer} "
            "is wrong"
        )


def opened(holder: Holder, kind: type[O], share: Words, *, ring: Ring = RING64) -> Party[Words]:
    """Open a masked value: both holders send their shares of it to each other."""
    (value,) = yield from opened_together(holder, kind, (share,), ring=ring)
    return value


def opened_together(
    holder: Holder, kind: type[O], shares: Sequence[Words], *, ring: Ring = RING64
) -> Party[list[Words]]:
    """Open several masked values in one trip."""
    for share in shares:
        yield Send(holder.other, kind(wire.Words.of(share)))
    values = []
    for share in shares:
        message = yield from receive(holder.other, kind)
        theirs = words_of(message.words, share.shape, sender=holder.other, what=kind.__name__)
        values.append(ring.reduce(share + theirs))
    return values


def words_of(words: wire.Words, shape: tuple[int, ...], *, sender: str, what: str) -> Words:
    """Return the words of a message, after checking their shape."""
    if words.shape != shape:
        raise ViolationError(
            f"{what}: expected words of shape {shape}, found {words.shape}", party=sender
        )
    return words.array()


@dataclass(frozen=True)
class HolderPrograms:
    """The programs of the three parties, once each has its seeds."""

    first: Callable[[Holder], Party[Any]]
    second: Callable[[Holder], Party[Any]]
    dealer: Callable[[Dealer], Party[Any]]


def run(
    programs: HolderPrograms,
    trio: Trio,
    context: Context,
    *,
    entropy: Entropy,
    codec: wire.Codec | None = None,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole conversation in memory, where nobody comes back from a backup."""

    def holder(me: str, program: Callable[[Holder], Party[Any]]) -> Party[Any]:
        taken = yield from take_seed(trio, me, context, ledger=Ledger())
        return (yield from program(taken))

    def dealer() -> Party[Any]:
        dealt = yield from deal_seeds(trio, context, ledger=Ledger(), entropy=entropy)
        return (yield from programs.dealer(dealt))

    parties = {
        trio.first: holder(trio.first, programs.first),
        trio.second: holder(trio.second, programs.second),
        trio.dealer: dealer(),
    }
    return converse(parties, session=context.encode(), codec=codec, meddler=meddler)
