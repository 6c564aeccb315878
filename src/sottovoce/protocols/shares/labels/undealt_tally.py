"""Counts of the values in each group that are not negative, without a dealer.

    key holder (first, the coordinator)                    asker (second)
      |   digits once, blinded tests for every threshold     |   (carries.py)
      |<---------------------------------------------------->|   β = β_C ⊕ β_A
      |   TallyBits ⟨⟨β_C⟩⟩                                    |
      |----------------------------------------------------->|   adds up, group by group
      |   MaskedCounts ⟨⟨count + m⟩⟩, several a ciphertext     |
      |<-----------------------------------------------------|

The values, groups and counts are those of tally.py: scores of documents less public thresholds.
Only the asker knows β_A and which documents are of a class, so every count is a sum of ciphertexts
⟨⟨β_C⟩⟩ and ⟨⟨1 − β_C⟩⟩. What the key holder opens is noise to it. Modulo a power of two above every
joint count, the opened number and the negated mask are shares.

Who learns what: nobody learns a comparison or a count; the party that adds up the counts of several
askers opens only their sum. An asker who deviates can bring another number into that sum, which it
could do anyway with its own share. If it makes the key holder open something else, only as many
bits as a count has reach the joint table, and that shows no row below the plan's minimum. Assuming
that the two do not pool what they saw, and that Paillier hides.
"""

from typing import ClassVar

import numpy as np

from sottovoce.errors import MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, ForKeyHolder, Layout, Plain, PublicKey, Unsent, encrypt
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_DECRYPTING_COORDINATOR,
    MASKS_ARE_THE_ASKERS,
    PAILLIER_HIDES,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.labels.carries import (
    AskSide,
    KeySide,
    ask_signs,
    give_signs,
    slices,
)
from sottovoce.protocols.shares.labels.tally import GROUPS, TallyPlan
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.two_party.masks import Masking, filled

_BIT = Scale(0, 1)
# The number of bits that are sent together, a ciphertext each.
_TOGETHER = 8192


class TallyBits(Message, frozen=True):
    """The coordinator's shares of comparisons, one a ciphertext."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker of an evaluation, who cannot decrypt it",
        reveals="nothing: fresh ciphertexts of the coordinator's half of every comparison",
        assuming=PAILLIER_HIDES,
    )
    bits: Ciphertext


class MaskedCounts(Message, frozen=True):
    """The number of values of each group that are not negative, under masks."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_DECRYPTING_COORDINATOR,
        reveals="nothing: every count is under a mask of its own, κ bits longer",
        assuming=MASKS_ARE_THE_ASKERS,
    )
    counts: ForKeyHolder


def _shape(plan: TallyPlan) -> tuple[int, int, int]:
    return plan.classes, GROUPS, plan.thresholds


def _masks(ring: Ring, masking: Masking) -> Scale:
    return Scale(0, (1 << ring.bits + masking.kappa) - 1)


def _slots(
    plan: TallyPlan, ring: Ring, masking: Masking, key: PublicKey
) -> tuple[Slots, Layout, Scale]:
    """Return the slots, layout and scale of masked counts."""
    scale = Scale(0, plan.documents).plus(_masks(ring, masking))
    slots = Slots.fit(scale.bound, plaintext_bits=key.plaintext_bits)
    classes, groups, thresholds = _shape(plan)
    return slots, Layout((classes * groups * thresholds,), slots), scale


def _parts(plan: TallyPlan) -> list[slice]:
    rows = plan.documents * plan.classes
    step = max(1, _TOGETHER // plan.thresholds)
    return [slice(at, min(at + step, rows)) for at in range(0, rows, step)]


def give_tally(side: KeySide, plan: TallyPlan, scores: Words, *, counts: Ring) -> Party[Words]:
    """Return the coordinator's shares of the counts mod 2^`counts`.bits."""
    if scores.shape != plan.values[:2]:
        raise MismatchError(f"tally: expected scores of shape {plan.values[:2]}")
    bits = yield from give_signs(
        side, plan.ring.reduce(scores).ravel(), ring=plan.ring, columns=plan.thresholds
    )
    for part in _parts(plan):
        plain = Plain(bits[part].astype(np.int64), _BIT)
        yield Send(side.asker, TallyBits(encrypt(side.key, plain, entropy=side.entropy)))
    masked_counts = yield from receive(side.asker, MaskedCounts)
    slots, layout, scale = _slots(plan, counts, side.masking, side.key.public)
    opened = slices(side.checked(masked_counts.counts, layout, scale), slots, layout.shape[0])
    words = np.array([count & ((1 << counts.bits) - 1) for count in opened], np.uint64)
    return words.reshape(_shape(plan))


def ask_tally(
    side: AskSide, plan: TallyPlan, values: Words, groups: Words, *, counts: Ring
) -> Party[Words]:
    """Return the asker's shares of the counts; `groups` says which documents are of a class."""
    if values.shape != plan.values or groups.shape != plan.groups:
        raise MismatchError(f"tally: expected values of shape {plan.values}, found {values.shape}")
    rows = plan.documents * plan.classes
    own = plan.ring.reduce(values).reshape(rows, plan.thresholds)
    bits = yield from ask_signs(side, own, ring=plan.ring)
    sums = _Sums(side.key, _shape(plan))
    of_rows = groups.reshape(rows, GROUPS)
    for part in _parts(plan):
        tally_bits = yield from receive(side.holder, TallyBits)
        layout = Layout((part.stop - part.start, plan.thresholds))
        theirs = side.checked(tally_bits.bits, layout, _BIT)
        sums.add(part, theirs.residues, bits[part], of_rows[part])
    slots, layout, _ = _slots(plan, counts, side.masking, side.key)
    mask = _masks(counts, side.masking)
    masks = [side.entropy.bits(mask.bits) for _ in range(layout.shape[0])]
    sealed, added = sums.sealed(plan.documents), Plain(filled(masks, layout.shape), mask)
    covered = sealed.packed_for_key_holder(slots, added, entropy=side.entropy)
    yield Send(side.holder, MaskedCounts(covered))
    words = np.array([-mask % (1 << counts.bits) for mask in masks], np.uint64)
    return words.reshape(_shape(plan))


class _Sums:
    """The running ⟨⟨counts⟩⟩ of 1 − β, which is 1 − β_C for β_A = 0 and β_C for β_A = 1."""

    def __init__(self, key: PublicKey, shape: tuple[int, int, int]) -> None:
        self._key, self._shape = key, shape
        size = shape[0] * shape[1] * shape[2]
        unit = key.square.product([])
        self._more: list[Residue] = [unit] * size
        self._less: list[Residue] = [unit] * size
        self._known = np.zeros(size, np.int64)

    def add(self, part: slice, theirs: tuple[Residue, ...], bits: Words, groups: Words) -> None:
        """Add rows (documents × classes), each to the group to which it belongs."""
        classes, each, thresholds = self._shape
        for row, number in enumerate(range(part.start, part.stop)):
            for group in np.flatnonzero(groups[row]).tolist():
                start = ((number % classes) * each + group) * thresholds
                self._add_row(start, theirs[row * thresholds : (row + 1) * thresholds], bits[row])

    def _add_row(self, start: int, theirs: tuple[Residue, ...], bits: Words) -> None:
        for at, (sealed, bit) in enumerate(zip(theirs, bits.tolist(), strict=True), start):
            sums = self._more if bit else self._less
            sums[at] = self._key.square.multiplied([sums[at]], [sealed])[0]
            self._known[at] += 1 - bit

    def sealed(self, documents: int) -> Unsent:
        """Return the encrypted counts."""
        square, scale = self._key.square, Scale(0, documents)
        residues = square.multiplied(self._more, square.inverses(self._less))
        sums = Unsent(self._key, tuple(residues), Layout((len(residues),)), scale)
        return (sums + Plain(self._known, scale)).within(scale)
