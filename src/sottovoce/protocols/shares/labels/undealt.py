"""The verdict without a dealer: the asker learns the labels of its documents, others nothing.

    key holder (first, the coordinator)                    asker (second)
      |   every level: digits, blinded tests                 |   (carries.py)
      |<---------------------------------------------------->|   β = β_C ⊕ β_A
      |   Choices ⟨⟨β_C⟩⟩, ⟨⟨β_C·D_C⟩⟩, ⟨⟨(1 − β_C)·D_C⟩⟩        |
      |----------------------------------------------------->|   D = D_C + D_A
      |   MaskedChoices ⟨⟨β·D + m⟩⟩, several a ciphertext      |
      |<-----------------------------------------------------|
      |   in the end LabelShare: its share of the label      |
      |----------------------------------------------------->|

The shares and the labels are those of verdict.py: two classes give a sign, more a tournament in
⌈log2 K⌉ levels, a tie goes to the lower index. The bit of a comparison selects the larger value and
its index: D holds both differences side by side, and the asker, who knows β_A, takes one of two
products and adds its own part, β·D_A. What the key holder opens is noise to it (m is κ bits longer
than β·D). The opened number, modulo 2^b for a value and modulo K for an index, and −m are the new
shares.

Who learns what: the asker learns the labels, of several classes only the winner. The key holder
sees coins and noise. An asker who deviates can make the key holder open numbers of its choice. It
receives one bit of them for a sign and a number below K for a winner: no more than the labels that
were counted against its budget. The program answers each message once, in order, and refuses any
other number of ciphertexts. Assuming that the two do not pool what they saw, and that Paillier
hides.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, ForKeyHolder, Layout, Plain, Unsent, encrypt
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_ASKER_ENCRYPTED,
    BY_ASKER_OF_LABELS,
    BY_DECRYPTING_COORDINATOR,
    MASKS_ARE_THE_ASKERS,
    PAILLIER_HIDES,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.shares.labels.carries import (
    AskSide,
    KeySide,
    ask_signs,
    give_signs,
    slices,
)
from sottovoce.protocols.shares.labels.verdict import VerdictPlan
from sottovoce.protocols.two_party.masks import Masking, filled
from sottovoce.wire import Codec

BIT = Scale(0, 1)
# The number of choices that are sent together: three ciphertexts each.
_TOGETHER = 1024


class Choices(Message, frozen=True):
    """The coordinator's bits, and its differences times the bits and times the opposite bits."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER_ENCRYPTED,
        reveals="nothing: fresh ciphertexts of the coordinator's own shares",
        assuming=PAILLIER_HIDES,
    )
    bits: Ciphertext
    kept: Ciphertext
    left: Ciphertext


class MaskedChoices(Message, frozen=True):
    """Chosen differences, or zeros, under masks."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_DECRYPTING_COORDINATOR,
        reveals="nothing: every number is under a mask of its own, κ bits longer",
        assuming=MASKS_ARE_THE_ASKERS,
    )
    steps: ForKeyHolder


class LabelShare(Message, frozen=True):
    """The coordinator's shares of the labels: bits, or numbers modulo the number of classes."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER_OF_LABELS,
        reveals="the labels of its own documents: a bit, or a number below the number of classes",
        assuming="the asker asks only about labels that it may know; they are counted",
    )
    words: wire.Words


@dataclass(frozen=True)
class ChoicePlan:
    """The public numbers of a choice: the lengths of values, of indices and of their masks."""

    verdict: VerdictPlan
    masking: Masking

    @property
    def classes(self) -> int:
        """The number of classes, modulo which indices are shared."""
        return self.verdict.scores

    @property
    def value_mask(self) -> int:
        """The bound of masks of values: κ bits longer than the sum of two shares."""
        return 1 << (self.verdict.ring.bits + 1 + self.masking.kappa)

    @property
    def index_mask(self) -> int:
        """The bound of masks of indices, a multiple of the number of classes."""
        return self.classes << (1 + self.masking.kappa)

    @property
    def place(self) -> int:
        """The bit at which the index begins."""
        return self.value_mask.bit_length() + 1

    @property
    def difference(self) -> Scale:
        """The scale of a holder's share of both differences, side by side."""
        return Scale(0, (self.classes << self.place) - 1)

    @property
    def mask(self) -> Scale:
        """The scale of both masks, side by side."""
        return Scale(0, (self.index_mask << self.place) - 1)

    @property
    def scale(self) -> Scale:
        """The scale of a masked step."""
        return self.difference.plus(self.difference).plus(self.mask)

    def slots(self, plaintext_bits: int) -> Slots:
        """The slots in which masked steps share ciphertexts."""
        return Slots.fit(self.scale.bound, plaintext_bits=plaintext_bits)

    def joined(self, values: Words, indices: Words) -> list[int]:
        """Return differences of values and of indices, side by side."""
        pairs = zip(values.ravel().tolist(), indices.ravel().tolist(), strict=True)
        return [value + (index << self.place) for value, index in pairs]

    def split(self, steps: list[int], shape: tuple[int, ...]) -> tuple[Words, Words]:
        """Return shares of both steps from numbers that hold them side by side."""
        ring, low = self.verdict.ring, (1 << self.place) - 1
        values = [(step & low) & ((1 << ring.bits) - 1) for step in steps]
        indices = [(step >> self.place) % self.classes for step in steps]
        return (
            np.array(values, np.uint64).reshape(shape),
            np.array(indices, np.uint64).reshape(shape),
        )


@dataclass(frozen=True, repr=False)
class Candidates:
    """A holder's shares of the values and indices that are left, (documents, candidates)."""

    values: Words
    indices: Words

    @property
    def pairs(self) -> int:
        """The number of pairs that meet at this level; one candidate may be left over."""
        return int(self.values.shape[1]) // 2

    def sides(self) -> tuple["Candidates", "Candidates"]:
        """Return the left and the right candidates of every pair."""
        end = 2 * self.pairs
        return (
            Candidates(self.values[:, 0:end:2], self.indices[:, 0:end:2]),
            Candidates(self.values[:, 1:end:2], self.indices[:, 1:end:2]),
        )

    def less(self, other: "Candidates", plan: ChoicePlan) -> "Candidates":
        """Return the differences from other candidates."""
        classes = np.uint64(plan.classes)
        return Candidates(
            plan.verdict.ring.reduce(self.values - other.values),
            (self.indices + classes - other.indices) % classes,
        )

    def stepped(self, steps: tuple[Words, Words], plan: ChoicePlan) -> "Candidates":
        """Return the winners: left ones plus a step each; one without a partner is unchanged."""
        left, _ = self.sides()
        rest = slice(2 * self.pairs, None)
        values = plan.verdict.ring.reduce(left.values + steps[0])
        indices = (left.indices + steps[1]) % np.uint64(plan.classes)
        return Candidates(
            np.concatenate([values, self.values[:, rest]], axis=1),
            np.concatenate([indices, self.indices[:, rest]], axis=1),
        )


def give_labels(side: KeySide, plan: VerdictPlan, scores: Words) -> Party[None]:
    """The coordinator's part, from its shares of the scores, (documents, scores)."""
    values = _checked(plan, scores)
    if plan.scores == 1:
        bits = yield from give_signs(side, values[:, 0], ring=plan.ring)
        yield Send(side.asker, LabelShare(wire.Words.of(bits[:, 0])))
        return
    choice = ChoicePlan(plan, side.masking)
    index = np.broadcast_to(np.arange(plan.scores, dtype=np.uint64), values.shape)
    table = Candidates(values, index)
    for _ in plan.levels():
        left, right = table.sides()
        behind = left.less(right, choice).values
        bits = yield from give_signs(side, behind.ravel(), ring=plan.ring)
        steps = yield from _give_steps(side, choice, bits[:, 0], right.less(left, choice))
        table = table.stepped(steps, choice)
    yield Send(side.asker, LabelShare(wire.Words.of(table.indices[:, 0].copy())))


def ask_labels(side: AskSide, plan: VerdictPlan, scores: Words) -> Party[NDArray[np.int64]]:
    """The asker's part: return the winner's index, or 1 where a single score is not negative."""
    values = _checked(plan, scores)
    if plan.scores == 1:
        bits = yield from ask_signs(side, values, ring=plan.ring)
        theirs = yield from _told(side, plan, below=2)
        return (np.uint64(1) ^ bits[:, 0] ^ theirs).astype(np.int64)
    choice = ChoicePlan(plan, side.masking)
    table = Candidates(values, np.zeros_like(values))
    for _ in plan.levels():
        left, right = table.sides()
        behind = left.less(right, choice).values
        bits = yield from ask_signs(side, behind.reshape(-1, 1), ring=plan.ring)
        steps = yield from _ask_steps(side, choice, bits[:, 0], right.less(left, choice))
        table = table.stepped(steps, choice)
    theirs = yield from _told(side, plan, below=plan.scores)
    return ((table.indices[:, 0] + theirs) % np.uint64(plan.scores)).astype(np.int64)


def _checked(plan: VerdictPlan, scores: Words) -> Words:
    if scores.shape != (plan.documents, plan.scores):
        raise MismatchError(
            f"verdict: expected scores of shape {(plan.documents, plan.scores)}, "
            f"found {scores.shape}"
        )
    return plan.ring.reduce(scores)


def _told(side: AskSide, plan: VerdictPlan, *, below: int) -> Party[Words]:
    """Return the coordinator's shares of the labels, after checking their number and size."""
    share = yield from receive(side.holder, LabelShare)
    words = share.words.array()
    if words.shape != (plan.documents,) or (words >= below).any():
        raise ViolationError(
            f"LabelShare: expected {plan.documents} labels below {below}, "
            f"found {words.shape} up to {words.max(initial=0)}",
            party=side.holder,
        )
    return words


def _parts(count: int) -> list[slice]:
    return [slice(at, min(at + _TOGETHER, count)) for at in range(0, count, _TOGETHER)]


def _give_steps(
    side: KeySide, plan: ChoicePlan, bits: Words, apart: Candidates
) -> Party[tuple[Words, Words]]:
    """Return the key holder's shares of bit × difference."""
    own, steps = plan.joined(apart.values, apart.indices), []
    slots = plan.slots(side.key.public.plaintext_bits)
    for part in _parts(len(own)):
        chosen, numbers = bits[part].tolist(), own[part]
        kept = [bit * number for bit, number in zip(chosen, numbers, strict=True)]
        left = [number - other for number, other in zip(numbers, kept, strict=True)]
        sealed = (
            encrypt(side.key, Plain(filled(values, (len(values),)), scale), entropy=side.entropy)
            for values, scale in ((chosen, BIT), (kept, plan.difference), (left, plan.difference))
        )
        yield Send(side.asker, Choices(*sealed))
        masked_choices = yield from receive(side.asker, MaskedChoices)
        layout = Layout((len(numbers),), slots)
        steps += slices(side.checked(masked_choices.steps, layout, plan.scale), slots, len(numbers))
    return plan.split(steps, apart.values.shape)


def _ask_steps(
    side: AskSide, plan: ChoicePlan, bits: Words, apart: Candidates
) -> Party[tuple[Words, Words]]:
    """Return the asker's shares of bit × difference: the negated masks that it drew."""
    own = plan.joined(apart.values, apart.indices)
    values = [side.entropy.below(plan.value_mask) for _ in own]
    indices = [side.entropy.below(plan.index_mask) for _ in own]
    masks = [value + (index << plan.place) for value, index in zip(values, indices, strict=True)]
    slots = plan.slots(side.key.plaintext_bits)
    for part in _parts(len(own)):
        choices = yield from receive(side.holder, Choices)
        steps = _chosen(side, plan, choices, bits[part], own[part])
        mask = Plain(filled(masks[part], steps.shape), plan.mask)
        masked = steps.packed_for_key_holder(slots, mask, entropy=side.entropy)
        yield Send(side.holder, MaskedChoices(masked))
    low = np.array([-value % (1 << plan.verdict.ring.bits) for value in values], np.uint64)
    high = np.array([-index % plan.classes for index in indices], np.uint64)
    return low.reshape(apart.values.shape), high.reshape(apart.values.shape)


def _chosen(
    side: AskSide, plan: ChoicePlan, choices: Choices, bits: Words, own: list[int]
) -> Unsent:
    """Return ⟨⟨β·D⟩⟩: one of the two products plus β times the asker's own part."""
    layout = Layout((len(own),))
    theirs = side.checked(choices.bits, layout, BIT)
    kept = side.checked(choices.kept, layout, plan.difference).residues
    left = side.checked(choices.left, layout, plan.difference).residues
    picked = tuple(
        two if bit else kept_number
        for bit, kept_number, two in zip(bits.tolist(), kept, left, strict=True)
    )
    flips = bits.astype(np.int64)
    chosen = (theirs * Plain(1 - 2 * flips, BIT) + Plain(flips, BIT)).within(BIT)
    mine = chosen * Plain(filled(own, layout.shape), plan.difference)
    return Unsent(side.key, picked, layout, plan.difference) + mine


def run(
    plan: VerdictPlan,
    scores: tuple[Words, Words],
    sides: tuple[KeySide, AskSide],
    *,
    meddler: Meddler | None = None,
) -> Outcome:
    """Run the verdict in memory; return the asker's labels, and all views."""
    first, second = sides
    programs: dict[str, Party[Any]] = {
        second.holder: give_labels(first, plan, scores[0]),
        first.asker: ask_labels(second, plan, scores[1]),
    }
    codec = Codec(ciphertexts_under(second.key), limit=1 << 26)
    return converse(programs, codec=codec, meddler=meddler)
