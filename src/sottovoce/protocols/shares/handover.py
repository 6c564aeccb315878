"""From two shares of the model to one encrypted model, at the evaluator and under C's key.

For dealt verdicts, where the model is needed mod 2^b only:

    coordinator (first, holds the key)            evaluator (second)
      |   ⟨⟨θ_C⟩⟩                                    |
      |--------------------------------------------->|   ⟨⟨θ_C + θ_E⟩⟩, re-randomised

For verdicts without a dealer, where the true integer is needed:

    dealer        coordinator (first)                      evaluator (second)
      |  seeds ---->|--------------------------------------->|   (holders.py)
      |  ⟨⟨r⟩⟩, ⟨⟨msb(r)⟩⟩                                   |
      |----------------------------------------------------->|
      |             |   θ_C + 2^62 + r_C                     |
      |             |--------------------------------------->|   z = θ + 2^62 + r mod 2^64
      |             |     ⟨⟨θ⟩⟩ = z − ⟨⟨r⟩⟩ + 2^64·(1 − msb(z))·⟨⟨msb(r)⟩⟩ − 2^62, re-randomised

Who learns what: the coordinator receives nothing. The evaluator sees ciphertexts that it
cannot open, and in the second form z, uniform whatever θ is. The dealer receives nothing;
what it encrypted comes back to nobody without a new randomiser. Assuming that no two of the
three pool what they saw, that Paillier hides, and that everything the evaluator receives from
the dealer or sends on to peers is sealed against the coordinator, who holds the key.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import Words
from sottovoce.paillier import (
    Ciphertext,
    Layout,
    Plain,
    PublicKey,
    SecretKey,
    Unsent,
    encrypt,
)
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.holders import Dealer, Holder, words_of
from sottovoce.protocols.shares.rings import RING64, Ring


class EncryptedShare(Message, frozen=True):
    """The coordinator's share of the model under its own key, one row a feature."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who has no key",
        reveals="nothing: one of two shares, and encrypted",
        assuming="Paillier hides, and evaluator and coordinator do not pool",
    )
    share: Ciphertext


class DealtModelMasks(Message, frozen=True):
    """The dealer's masks r of the model and their top bits, under the coordinator's key."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, sealed against the coordinator",
        reveals="nothing: random numbers of the dealer's, and encrypted",
        assuming="Paillier hides, and the coordinator cannot read what is sealed",
    )
    masks: Ciphertext
    tops: Ciphertext


class MaskedModel(Message, frozen=True):
    """The coordinator's share of θ + 2^62 + r."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who has the other share",
        reveals="nothing: r is uniform, used once, and known to neither",
        assuming="the dealer pools with neither coordinator nor evaluator",
    )
    words: wire.Words


@dataclass(frozen=True)
class ModelPlan:
    """The model's shape (features, classes), its scale, and how its ciphertexts are packed.

    `ring` is the one in which scores will be read: as short as their bound allows.
    """

    shape: tuple[int, int]
    scale: Scale
    ring: Ring = RING64
    slots: Slots | None = None

    def __post_init__(self) -> None:
        if self.scale.bound >= self.ring.quarter:
            raise MismatchError(
                f"model: values up to 2^{self.scale.bits} need a ring of at least "
                f"{self.scale.bits + 2} bits, found {self.ring.bits}"
            )

    @property
    def share_scale(self) -> Scale:
        """A share mod 2^b, read as an integer of either sign."""
        return Scale(self.scale.fraction_bits, 1 << (self.ring.bits - 1))

    def check(self, share: Words) -> Words:
        """The share mod 2^b, if it has the shape of the model."""
        if share.shape != self.shape:
            raise MismatchError(f"model: expected shape {self.shape}, found {share.shape}")
        return self.ring.reduce(share)

    def plain(self, words: Words) -> Plain:
        """Words mod 2^b as integers of either sign."""
        return Plain(self.ring.signed(words), self.share_scale)


def give_share(
    share: Words, plan: ModelPlan, key: SecretKey, *, to: str, entropy: Entropy
) -> Party[None]:
    """The coordinator's part of the handover mod 2^b."""
    plain = plan.plain(plan.check(share))
    yield Send(to, EncryptedShare(encrypt(key, plain, slots=plan.slots, entropy=entropy)))


def take_share(
    share: Words, plan: ModelPlan, *, sender: str, entropy: Entropy
) -> Party[Ciphertext]:
    """The evaluator's part: ⟨⟨θ_C + θ_E⟩⟩, which is θ mod 2^b, fit to be sent to peers."""
    mine = plan.plain(plan.check(share))
    theirs = yield from receive(sender, EncryptedShare)
    layout = Layout(plan.shape, plan.slots)
    checked = _agreed(theirs.share, layout, plan.share_scale, sender=sender)
    return (checked + mine).fresh(entropy=entropy)


def give_masked_share(holder: Holder, share: Words, plan: ModelPlan) -> Party[None]:
    """The coordinator's part of the handover of true integers."""
    _check_side(holder, first=True)
    mask = plan.ring.draw(holder.material.stream("model mask"), *plan.shape)
    lift = plan.ring.constant(plan.ring.quarter)
    masked = plan.ring.reduce(plan.check(share) + mask + lift)
    yield Send(holder.other, MaskedModel(wire.Words.of(masked)))


def take_masked_share(
    holder: Holder, share: Words, plan: ModelPlan, *, entropy: Entropy
) -> Party[Ciphertext]:
    """The evaluator's part: ⟨⟨θ⟩⟩ itself, fit to be sent to peers."""
    _check_side(holder, first=False)
    ring = plan.ring
    mask = ring.draw(holder.material.stream("model mask"), *plan.shape)
    mine = plan.check(share)
    dealt = yield from receive(holder.trio.dealer, DealtModelMasks)
    dealer, layout = holder.trio.dealer, Layout(plan.shape, plan.slots)
    masks = _agreed(dealt.masks, layout, _mask_scale(plan), sender=dealer)
    tops = _agreed(dealt.tops, Layout(plan.shape), Scale(0, 1), sender=dealer)
    theirs = yield from receive(holder.other, MaskedModel)
    words = words_of(theirs.words, plan.shape, sender=holder.other, what="MaskedModel")
    z = ring.reduce(mine + mask + words)
    kept = tops * Plain((np.uint64(1) - ring.top(z)).astype(np.int64), Scale(0, 1))
    wrapped = (kept if plan.slots is None else kept.packed(plan.slots)) * (1 << ring.bits)
    known = Plain(z.astype(object) - ring.quarter, _mask_scale(plan))
    model = wrapped.divided(plan.scale.fraction_bits) + known - masks
    # What is left is θ exactly, so its own bound holds, not the sum of the operands' bounds.
    exact = Unsent(model.key, model.residues, model.layout, plan.scale)
    return exact.fresh(entropy=entropy)


def deal_model_masks(
    dealer: Dealer, plan: ModelPlan, key: PublicKey, *, entropy: Entropy
) -> Party[None]:
    """The dealer's part: r and msb(r) under the coordinator's key, to the evaluator."""
    ring = plan.ring
    first, second = dealer.streams("model mask")
    mask = ring.reduce(ring.draw(first, *plan.shape) + ring.draw(second, *plan.shape))
    masks = Plain(mask.astype(object), _mask_scale(plan))
    tops = Plain(ring.top(mask).astype(np.int64), Scale(0, 1))
    yield Send(
        dealer.trio.second,
        DealtModelMasks(
            encrypt(key, masks, slots=plan.slots, entropy=entropy),
            encrypt(key, tops, entropy=entropy),
        ),
    )


def _agreed(ciphertext: Ciphertext, layout: Layout, scale: Scale, *, sender: str) -> Ciphertext:
    """The ciphertext, if it is as the plan says; else an error that names its sender."""
    try:
        return ciphertext.expected(layout, scale)
    except ViolationError as error:
        raise error.by(sender) from error


def _mask_scale(plan: ModelPlan) -> Scale:
    return Scale(plan.scale.fraction_bits, (1 << plan.ring.bits) - 1)


def _check_side(holder: Holder, *, first: bool) -> None:
    if holder.first != first:
        raise MisuseError("handover: the coordinator is the first holder, the evaluator the second")
