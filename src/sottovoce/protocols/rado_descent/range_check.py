"""The check that all exponents of a step are in S.Exp's range: one bit, to the evaluator.

    evaluator                                                  key holder
      ── MaskedLines ⟨⟨x⟩⟩, then ⟨⟨x²⟩⟩, then ⟨⟨x⁴⟩⟩: cut ─────▶
      ◀── LineProducts ⟨⟨x²⟩⟩, ⟨⟨x⁴⟩⟩, ⟨⟨x⁸⟩⟩ ──────────────────
      ── MaskedTruncation ⟨⟨x⁸⟩⟩ ──────────────────────────────▶
      ◀── Truncated: cut, one value a ciphertext ──────────────
      ── MaskedNumbers, BlindedTests: S.Sign of limit⁸ − Σx⁸ ──▶
      ◀── NumberBits, Verdicts ────────────────────────────────

Masks of S.Exp cover exponents within a bound and nothing beyond it, so nobody may ask for an
exponential before this bit is true. The numbers here have room for everything that exponents
can be, whatever the documents are: a public schedule moves θ no further than its steps allow.
Σx⁸ ≤ limit⁸ holds every single |x| below the limit, and is not far from that: of 256 exponents
of a normal distribution the eighth root of the sum is 1.2 times the largest.

The evaluator learns the bit, the key holder sees noise and a fair coin. Both follow the
protocol and do not pool what they saw.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import DescentRangeError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Encrypted, Plain, SecretKey, Unsent
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party.comparison import sign_rules, signs
from sottovoce.protocols.two_party.lines import cut_and_multiply
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.truncation import Cut, truncate

# Fraction bits of x, x² and x⁴ when they are squared. Digits below these do not matter.
_KEPT = (4, 2, 1)
LINES = len(_KEPT)
# Bits that the eighth powers lose before they are added up: 12⁸ is 2^28.7.
_EIGHTH_BITS = 12
# Rounding moves |x| by less than this, so a sum just below the limit is still within the bound.
_MARGIN = 0.25


@dataclass(frozen=True)
class RangeCheck:
    """One check of `count` exponents of the scale `exponents`, against an integer `bound`."""

    exponents: Scale
    count: int
    bound: int
    masking: Masking

    @property
    def limit(self) -> int:
        """The largest Σx⁸ that passes, in the units in which it is added up."""
        return int((self.bound - _MARGIN) ** 8) >> _EIGHTH_BITS

    def cuts(self) -> list[Cut]:
        """The cuts of x, x² and x⁴ before they are squared."""
        cuts, scale = [], self.exponents
        for kept in _KEPT:
            cut = Cut.of(scale, scale.fraction_bits - kept, self.masking)
            cuts.append(cut)
            scale = cut.scale.times(cut.scale)
        return cuts

    @property
    def eighth(self) -> Scale:
        """x⁸ before it is cut, read as smaller by the bits that it loses."""
        power = self.cuts()[-1].scale
        whole = power.times(power)
        return Scale(whole.fraction_bits + _EIGHTH_BITS, whole.bound)

    @property
    def largest(self) -> int:
        """The largest value that slots must hold, without masks."""
        return max(self.exponents.bound, self.eighth.bound)


def check_range(
    x: Encrypted, check: RangeCheck, *, within: Scale, entropy: Entropy, step: int
) -> Party[Unsent]:
    """At the evaluator: return the exponents on the scale `within`, or raise if one exceeds it."""
    power: Encrypted = x.within(check.exponents)
    for cut in check.cuts():
        lines = yield from cut_and_multiply([power], [cut], entropy=entropy)
        power = lines.products[0]
    eighth = power.divided(_EIGHTH_BITS)
    bits = eighth.scale.fraction_bits
    values = yield from truncate(eighth, bits, entropy=entropy, masking=check.masking)
    limit = Plain(np.array(check.limit, dtype=object), Scale(0, check.limit))
    spare = (limit - values.sum()).reshaped(1)
    (kept,) = yield from signs(spare, entropy=entropy, masking=check.masking)
    if not kept:
        raise DescentRangeError(
            f"rado-descent: expected exponents within ±{check.bound}, found larger ones before "
            f"step {step + 1}: the documents are too easy to tell apart for this learner",
            hints=('learner = "closed-form" has no such range', "or raise alpha"),
        )
    return x.within(within)


def keeps_range(x: Plain, check: RangeCheck) -> bool:
    """The ideal: the same check on numbers in the clear, rounding down."""
    power = x.integers.astype(object)
    for cut in check.cuts():
        power = (power >> cut.bits) ** 2
    return bool((power >> check.eighth.fraction_bits).sum() <= check.limit)


def range_rules(key: SecretKey, *, budget: int, entropy: Entropy) -> list[AnswerRule[Any]]:
    """Return the rules for a key holder that answers `budget` checks, except lines and cuts."""
    return [*sign_rules(key, budget=budget, numbers=1, entropy=entropy)]
