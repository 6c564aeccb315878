"""Folds an encrypted θ into the encrypted model for labels, in engine paillier."""

from collections.abc import Sequence

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import Plain, Unsent, stack
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import truncate
from sottovoce.study.queries.model import model_scale
from sottovoce.study.queries.scoring import ScorePlan

# The number of times that θ is cut in between.
CUTS = 2


def folded(
    theta: Unsent, scores: ScorePlan, masking: Masking, *, entropy: Entropy
) -> Party[Unsent]:
    """Return θ times the public factors, as short as labels allow, one value a ciphertext."""
    cut = yield from truncate(theta, scores.first_cut, entropy=entropy, masking=masking)
    factors = Plain(np.array(scores.factors, np.int64), scores.factor_scale)
    whole = cut * factors
    bits = theta.key.plaintext_bits
    slots = Slots.fit(whole.scale.bound, plaintext_bits=bits, mask_bits=masking.kappa + 1)
    packed = whole.packed(slots)
    return (yield from truncate(packed, scores.second_cut, entropy=entropy, masking=masking))


def model_of(columns: Sequence[Unsent], scores: ScorePlan) -> Unsent:
    """Return the folded θ of all classes, with all classes of a word in one ciphertext."""
    table = stack(columns).T.within(scores.weights)
    return table.packed(class_slots(scores)).within(model_scale(scores))


def class_slots(scores: ScorePlan) -> Slots:
    """Return slots with one for every class."""
    slots = scores.model.slots
    assert slots is not None
    return slots
