"""From two shares of the model to one encrypted model, at the evaluator and under C's key.

Scores are read mod 2^b, so where a ciphertext holds several weights the model comes mod 2^b only:

    coordinator (first, holds the key)            evaluator (second)
      |   ⟨⟨θ_C⟩⟩                                    |
      |--------------------------------------------->|   ⟨⟨θ_C + θ_E⟩⟩, re-randomised

Where each weight has a ciphertext of its own it comes as a number, and scores take less room. With
0 ≤ v < 2^(b−1) in shares mod 2^b, v = 2^(b−2) + θ, the sum of the shares is v + w·2^b, where w says
whether one of them is 2^(b−1) or more. If the evaluator's is, w = 1; if not, w is the top bit of
v_C. So the coordinator sends v_C, and v_C less 2^b where its top bit is 1 (v_C as a signed word),
and the evaluator takes one of the two for every weight:

    coordinator (first, holds the key)            evaluator (second)
      |   ⟨⟨v_C signed⟩⟩, ⟨⟨v_C unsigned⟩⟩             |
      |--------------------------------------------->|   ⟨⟨θ⟩⟩, re-randomised

Which one it took, a bit of its share, nobody sees, because it re-randomises.

Who learns what: the coordinator receives nothing. The evaluator sees ciphertexts that it
cannot open. Assuming that the two do not pool what they saw, that Paillier hides, and that the
evaluator's messages to peers are sealed against the coordinator, who holds the key.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

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
    Unsent,
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
    def exact(self) -> bool:
        """Whether the model comes as numbers, and not mod 2^b."""
        return self.slots is None or self.slots.count == 1

    @property
    def handed_scale(self) -> Scale:
        """The scale of the model as it is handed over: the sum of two shares, or its own."""
        return self.scale if self.exact else self.share_scale.plus(self.share_scale)

    @property
    def share_scale(self) -> Scale:
        """The scale of a share mod 2^b, read as a signed integer, or if exact as any integer."""
        return Scale(self.scale.fraction_bits, 1 << (self.ring.bits - 1 + self.exact))

    @property
    def offered(self) -> Layout:
        """The layout of what the coordinator sends: if exact, two numbers for every weight."""
        rows, width = self.shape
        return Layout((rows * (1 + self.exact), width), self.slots)

    def check(self, share: Words) -> Words:
        """Return the share mod 2^b, after checking that it has the model's shape."""
        if share.shape != self.shape:
            raise MismatchError(f"model: expected shape {self.shape}, found {share.shape}")
        return self.ring.reduce(share)

    def plain(self, words: Words) -> Plain:
        """Return words mod 2^b as signed integers."""
        return Plain(self.ring.signed(words), self.share_scale)

    def readings(self, words: Words) -> Plain:
        """Return what the coordinator sends of its share: if exact, v_C signed and unsigned."""
        if not self.exact:
            return self.plain(words)
        lifted = self.ring.reduce(words + np.uint64(self.ring.quarter))
        both = [self.ring.signed(lifted).astype(object), lifted.astype(object)]
        return Plain(np.concatenate(both), self.share_scale)

    def sum(self, offered: Ciphertext, words: Words) -> Unsent:
        """Return the coordinator's share as sent, plus the evaluator's."""
        if not self.exact:
            return offered + self.plain(words)
        columns = np.arange(words.size).reshape(self.shape)
        places = columns + words.size * self.ring.top(words).astype(np.intp)
        residues = tuple(offered.residues[place] for place in places.ravel().tolist())
        theirs = Unsent(offered.key, residues, Layout(self.shape, self.slots), offered.scale)
        mine = self.ring.signed(words).astype(object) - self.ring.quarter
        return (theirs + Plain(mine, self.share_scale)).within(self.scale)


def give_share(
    share: Words, plan: ModelPlan, key: SecretKey, *, to: str, entropy: Entropy
) -> Party[None]:
    """The coordinator's part of the handover."""
    plain = plan.readings(plan.check(share))
    yield Send(to, EncryptedShare(encrypt(key, plain, slots=plan.slots, entropy=entropy)))


def take_share(
    share: Words, plan: ModelPlan, *, sender: str, entropy: Entropy
) -> Party[Ciphertext]:
    """The evaluator's part: return ⟨⟨θ⟩⟩ (mod 2^b unless exact), ready to be sent to peers."""
    mine = plan.check(share)
    theirs = yield from receive(sender, EncryptedShare)
    checked = _agreed(theirs.share, plan.offered, plan.share_scale, sender=sender)
    return plan.sum(checked, mine).fresh(entropy=entropy)


def _agreed(ciphertext: Ciphertext, layout: Layout, scale: Scale, *, sender: str) -> Ciphertext:
    """Return the ciphertext; raise an error that names its sender if it is not as planned."""
    try:
        return ciphertext.expected(layout, scale)
    except ViolationError as error:
        raise error.by(sender) from error
