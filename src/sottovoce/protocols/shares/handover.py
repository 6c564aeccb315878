"""From two shares of the model to one encrypted model, at the evaluator and under C's key.

Scores are read mod 2^b, so the model is needed mod 2^b only:

    coordinator (first, holds the key)            evaluator (second)
      |   ⟨⟨θ_C⟩⟩                                    |
      |--------------------------------------------->|   ⟨⟨θ_C + θ_E⟩⟩, re-randomised

Who learns what: the coordinator receives nothing. The evaluator sees ciphertexts that it
cannot open. Assuming that the two do not pool what they saw, that Paillier hides, and that the
evaluator's messages to peers are sealed against the coordinator, who holds the key.
"""

from dataclasses import dataclass
from typing import ClassVar

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import Words
from sottovoce.paillier import (
    Ciphertext,
    Layout,
    Plain,
    SecretKey,
    encrypt,
)
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.rings import RING64, Ring


class EncryptedShare(Message, frozen=True):
    """The coordinator's share of the model under its own key, one row a feature."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who has no key",
        reveals="nothing: one of two shares, and encrypted",
        assuming="Paillier hides, and evaluator and coordinator do not pool",
    )
    share: Ciphertext


@dataclass(frozen=True)
class ModelPlan:
    """The model's shape (features, classes), its scale, and how its ciphertexts are packed.

    Scores will be read in `ring`, which is as short as their bound allows.
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
        """The scale of a share mod 2^b, read as a signed integer."""
        return Scale(self.scale.fraction_bits, 1 << (self.ring.bits - 1))

    def check(self, share: Words) -> Words:
        """Return the share mod 2^b, after checking that it has the model's shape."""
        if share.shape != self.shape:
            raise MismatchError(f"model: expected shape {self.shape}, found {share.shape}")
        return self.ring.reduce(share)

    def plain(self, words: Words) -> Plain:
        """Return words mod 2^b as signed integers."""
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
    """The evaluator's part: return ⟨⟨θ_C + θ_E⟩⟩, which is θ mod 2^b, ready to be sent to peers."""
    mine = plan.plain(plan.check(share))
    theirs = yield from receive(sender, EncryptedShare)
    layout = Layout(plan.shape, plan.slots)
    checked = _agreed(theirs.share, layout, plan.share_scale, sender=sender)
    return (checked + mine).fresh(entropy=entropy)


def _agreed(ciphertext: Ciphertext, layout: Layout, scale: Scale, *, sender: str) -> Ciphertext:
    """Return the ciphertext; raise an error that names its sender if it is not as planned."""
    try:
        return ciphertext.expected(layout, scale)
    except ViolationError as error:
        raise error.by(sender) from error
