"""The verdict without a dealer: the asker compares encrypted scores with the key holder's help.

    asker                                            key holder (coordinator)
    two classes, or labels that overlap: S.Sign of every score (two_party/comparison.py)
    more: of every class against the best so far
      ── S.Sign, the bit stays encrypted ──────────────▶
      ── S.Mult: bit times difference, bit times index ▶   (two_party/products.py)
    at the end
      ── MaskedWinners ⟨⟨winner + r + K·k⟩⟩ ────────────▶   for K classes
      ◀── OpenedWinners ────────────────────────────────   (winner + r) mod K

Who learns what: the asker learns the labels, of several classes only the winner; a tie goes
to the lower index. The key holder sees noise and fair coins: r is uniform below K, and k so
long that K·k drowns the rest. An asker who deviates learns no more for each document than a
label is worth, one bit for a sign and a number below K for a winner, because the key holder
opens nothing larger and counts. Assuming that both follow the protocol and do not pool what
they saw.
"""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    Plain,
    SecretKey,
    Unsent,
    decrypt,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.guard import Rule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.comparison import (
    BlindedTests,
    SealedTests,
    sealed_signs,
    sign_rules,
    signs,
)
from sottovoce.protocols.two_party.masks import Masking, filled
from sottovoce.protocols.two_party.products import MaskedFactors, answer_factors, multiply
from sottovoce.roles.scoring import ScorePlan
from sottovoce.wire import Integers

Numbers = NDArray[np.int64]

# Documents that are compared together: the bits of so many scores fit into one message.
_TOGETHER = 64


class OpenedWinners(Message, frozen=True):
    """What the key holder found under the masks: uniform below the number of classes."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, who knows its own masks",
        reveals="which class won, for each of the asker's own documents",
        assuming="the asker asks only about labels that it may know",
    )
    numbers: Integers


class MaskedWinners(Question[OpenedWinners], frozen=True):
    """Indices of winners under masks, to be opened modulo the number of classes."""

    discloses: ClassVar = Disclosure(
        seen_by="the key holder, who decrypts it",
        reveals="nothing: masks are uniform modulo the classes, and drown what is above",
        assuming="the masks come from the operating system's generator, and are used once",
    )
    values: Ciphertext


def undealt_labels(
    scores: Encrypted, plan: ScorePlan, *, masking: Masking, entropy: Entropy
) -> Party[Numbers]:
    """At the asker: as in `ask_verdict`, the winner's index, or 1 where a score is not negative."""
    found: list[Numbers] = []
    for start in range(0, len(scores), _TOGETHER):
        part = scores[start : start + _TOGETHER]
        if plan.exclusive and plan.classes > 1:
            winners = yield from _winners(part, plan, masking=masking, entropy=entropy)
            found.append(winners)
        else:
            vector = part.reshaped(len(part) * plan.classes)
            bits = yield from signs(vector, entropy=entropy, masking=masking)
            found.append(np.array(bits, np.int64))
    return np.concatenate(found)


def _winners(
    scores: Encrypted, plan: ScorePlan, *, masking: Masking, entropy: Entropy
) -> Party[Numbers]:
    """The index of the largest score of every row; nobody sees any comparison on the way."""
    rows, places = len(scores), Scale(0, plan.classes)
    best: Encrypted = scores[:, 0]
    index: Encrypted | None = None
    for number in range(1, plan.classes):
        candidate = scores[:, number]
        ahead = best - candidate
        kept = yield from sealed_signs(ahead, entropy=entropy, masking=masking)
        step = yield from multiply(kept, ahead, entropy=entropy, masking=masking)
        best = (candidate + step).within(plan.score)
        here = Plain(np.full(rows, number, np.int64), places)
        if index is None:
            index = (here - kept).within(places)
        else:
            back = yield from multiply(kept, index - here, entropy=entropy, masking=masking)
            index = (here + back).within(places)
    assert isinstance(index, Unsent)
    return (yield from _opened(index, plan.classes, masking=masking, entropy=entropy))


def _opened(index: Unsent, classes: int, *, masking: Masking, entropy: Entropy) -> Party[Numbers]:
    """The asker's own labels, through the key holder and past its eyes."""
    masks = [entropy.below(classes) for _ in index.residues]
    bits = classes.bit_length() + masking.kappa
    over = [mask + classes * entropy.bits(bits) for mask in masks]
    drowned = index + Plain(filled(over, index.shape), Scale(0, classes << bits))
    told = yield from ask(KEY_HOLDER, MaskedWinners(drowned.fresh(entropy=entropy)))
    numbers = told.numbers.read(modulus=classes)
    if len(numbers) != len(masks):
        raise ViolationError(
            f"expected {len(masks)} labels, found {len(numbers)}", party=KEY_HOLDER
        )
    return np.array([(a - b) % classes for a, b in zip(numbers, masks, strict=True)], np.int64)


def answer_winners(
    key: SecretKey, question: MaskedWinners, classes: int, *, most: int
) -> OpenedWinners:
    """At the key holder: at most so many numbers, each modulo the classes and no more of it."""
    layout = question.values.layout
    if layout.slots is not None or layout.ciphertexts > most:
        raise MismatchError(
            f"winners: expected at most {most} numbers, one a ciphertext, found {layout}"
        )
    found = decrypt(key, question.values).flat()
    return OpenedWinners(Integers.of([one % classes for one in found], modulus=classes))


def undealt_rules(
    key: SecretKey, plan: ScorePlan, documents: int, *, entropy: Entropy
) -> list[Rule[Any]]:
    """What a key holder answers in one query: no more than the labels of so many documents."""
    parts, together = -(-documents // _TOGETHER), min(documents, _TOGETHER)
    if not (plan.exclusive and plan.classes > 1):
        rules = sign_rules(key, budget=parts, numbers=together * plan.classes, entropy=entropy)
        return [rule for rule in rules if rule.kind is not SealedTests]
    rounds = parts * (plan.classes - 1)
    rules = sign_rules(key, budget=rounds, numbers=together, entropy=entropy)
    return [
        *(rule for rule in rules if rule.kind is not BlindedTests),
        Rule(MaskedFactors, lambda q: answer_factors(key, q, entropy=entropy), 2 * rounds),
        Rule(MaskedWinners, lambda q: answer_winners(key, q, plan.classes, most=together), parts),
    ]
