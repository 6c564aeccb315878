"""The verdict without a dealer: the asker compares encrypted scores with the key holder's help.

    asker                                            key holder (coordinator)
    two classes, or labels that overlap: S.Sign of every score (two_party/comparison.py)
    more: of every class against the best so far
      ── S.Sign, the bit stays encrypted ──────────────▶
      ── S.Mult: bit times difference, bit times index ▶   (two_party/products.py)
    at the end
      ── CoveredNumbers ⟨⟨winner + r⟩⟩, r uniform in Z_N ▶
      ◀── OpenedNumbers ────────────────────────────────   winner + r

Who learns what: the asker learns the labels, of several classes only the winner; a tie goes
to the lower index. The key holder sees noise and fair coins. Assuming that both follow the
protocol and do not pool what they saw.
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
    decrypt_residues,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.guard import Rule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.comparison import sealed_signs, sign_rules, signs
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.products import MaskedFactors, answer_factors, multiply
from sottovoce.roles.scoring import ScorePlan
from sottovoce.wire import Integers

Numbers = NDArray[np.int64]

# Documents that are compared together: the bits of so many scores fit into one message.
_TOGETHER = 64


class OpenedNumbers(Message, frozen=True):
    """What the key holder found under the masks: noise."""

    discloses: ClassVar = Disclosure(
        seen_by="the asker, who knows its own masks",
        reveals="which class won, for each of the asker's own documents",
        assuming="the asker asks only about labels that it may know",
    )
    numbers: Integers


class CoveredNumbers(Question[OpenedNumbers], frozen=True):
    """Numbers under masks uniform in Z_N, to be opened."""

    discloses: ClassVar = Disclosure(
        seen_by="the key holder, who decrypts it",
        reveals="nothing: the masks are uniform, used once, and the asker's own",
        assuming="the masks come from the operating system's generator",
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
    return (yield from _opened(index, plan, entropy=entropy))


def _opened(index: Unsent, plan: ScorePlan, *, entropy: Entropy) -> Party[Numbers]:
    """The asker's own labels, through the key holder and past its eyes."""
    modulus = index.key.modulus
    masks = [entropy.below(modulus) for _ in index.residues]
    covered = index.cover(masks).fresh(entropy=entropy)
    told = yield from ask(KEY_HOLDER, CoveredNumbers(covered))
    numbers = told.numbers.read(modulus=modulus)
    if len(numbers) != len(masks):
        raise ViolationError(
            f"expected {len(masks)} labels, found {len(numbers)}", party=KEY_HOLDER
        )
    found = [(number - mask) % modulus for number, mask in zip(numbers, masks, strict=True)]
    if max(found) >= plan.classes:
        raise ViolationError(
            f"expected labels below {plan.classes}, found another number", party=KEY_HOLDER
        )
    return np.array(found, np.int64)


def answer_covered(key: SecretKey, question: CoveredNumbers) -> OpenedNumbers:
    """At the key holder."""
    if not question.values.layout.covered:
        raise MismatchError("covered numbers: expected masks on every one, found none")
    residues = decrypt_residues(key, question.values)
    return OpenedNumbers(Integers.of(residues, modulus=key.public.modulus))


def undealt_rules(
    key: SecretKey, plan: ScorePlan, documents: int, *, entropy: Entropy
) -> list[Rule[Any]]:
    """What a key holder answers in one query."""
    parts = -(-documents // _TOGETHER)
    rounds = parts * max(1, plan.classes)
    return [
        *sign_rules(key, budget=rounds, numbers=min(documents, _TOGETHER), entropy=entropy),
        Rule(MaskedFactors, lambda q: answer_factors(key, q, entropy=entropy), 2 * rounds),
        Rule(CoveredNumbers, lambda q: answer_covered(key, q), parts),
    ]
