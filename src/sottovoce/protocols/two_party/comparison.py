"""S.Sign: the signs of encrypted numbers, which only the evaluator learns.

    evaluator                                                 key holder
    z = x + 2^ℓ, |x| < 2^ℓ: bit ℓ of z says x ≥ 0; draws ρ below 2^(ℓ+1+κ)
      ── MaskedNumbers ⟨⟨z + ρ⟩⟩ ────────────────────────▶     d = z + ρ
      ◀── NumberBits ⟨⟨bits of d mod 2^ℓ⟩⟩, ⟨⟨⌊d / 2^ℓ⌋⟩⟩ ──
    t = [d mod 2^ℓ < ρ mod 2^ℓ] bit by bit: ℓ + 1 tests c_i, one of which is 0 exactly if
    t ⊕ δ = 1, for a secret coin δ
      ── BlindedTests ⟨⟨r_i·c_i + P·k_i⟩⟩ shuffled ──────▶     λ = whether one is 0 mod P
      ◀── Verdicts λ ⊕ bit ℓ of d ───────────────────────
    x ≥ 0 is the verdict ⊕ bit ℓ of ρ ⊕ δ

(Veugen 2012, with the tests of Damgård, Geisler and Krøigaard 2007.) Instead of the last answer the
evaluator may ask for ⟨⟨λ⟩⟩ only. Then ⟨⟨[x ≥ 0]⟩⟩ = ⌊d/2^ℓ⌋ − ⌊ρ/2^ℓ⌋ − t stays encrypted, and
nobody learns it.

P is the smallest prime above every |c_i|. r_i is uniform from 1 to P − 1, so every c_i ≠ 0 becomes
uniform among the residues that are not 0. k_i is κ bits longer than the quotient by P, so P·k_i
hides that quotient. Exponents have only as many bits as P (seven for ℓ = 40), where blinding modulo
N would need two thousand, and tests can share ciphertexts.

The key holder sees z + ρ within 2^−κ of noise, ℓ + 1 residues in a random order that are
uniform but for one zero, and whether there is one: a fair coin. The evaluator learns the
signs that it asked for, and nothing about those that stay encrypted. Both follow the protocol and
do not pool what they saw. Any number of comparisons takes two trips.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    ForKeyHolder,
    Layout,
    Plain,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
)
from sottovoce.protocols.conversation import KEY_HOLDER, Party, ask
from sottovoce.protocols.disclosures import BY_KEY_HOLDER, DRAWN_BY_THE_SYSTEM, FRESH_CIPHERTEXTS
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.messages import Disclosure, Message, Question
from sottovoce.protocols.two_party.answers import agreed
from sottovoce.protocols.two_party.masks import Masking, filled, size

BIT = Scale(0, 1)


class NumberBits(Message, frozen=True):
    """The low bits of masked numbers, each encrypted, and the quotient above them, encrypted."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    bits: Ciphertext
    above: Ciphertext


class MaskedNumbers(Question[NumberBits], frozen=True):
    """⟨⟨x + 2^ℓ + ρ⟩⟩: the key holder is asked for its `bits` lowest bits."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="how many numbers of which range are compared with 0; each is noise",
        assuming="masks used once reach κ bits beyond the numbers",
    )
    values: ForKeyHolder
    bits: int


class Verdicts(Message, frozen=True):
    """For each number, whether one of its tests is 0, xor the lowest bit of its quotient."""

    discloses: ClassVar = Disclosure(
        seen_by="the evaluator, who knows the coins and masks that flipped it",
        reveals="which of the numbers are negative, and nothing else about them",
        assuming="the evaluator asks only about numbers whose signs it may know",
    )
    flipped: tuple[bool, ...]


class BlindedTests(Question[Verdicts], frozen=True):
    """Blinded tests of every number, shuffled, and the quotients as the key holder sent them."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="a fair coin for each number: tests are uniform but for at most one zero",
        assuming=DRAWN_BY_THE_SYSTEM,
    )
    tests: ForKeyHolder
    above: ForKeyHolder
    prime: int


class Zeros(Message, frozen=True):
    """For each number ⟨⟨1⟩⟩ if one of its tests is 0, else ⟨⟨0⟩⟩."""

    discloses: ClassVar = FRESH_CIPHERTEXTS
    zeros: Ciphertext


class SealedTests(Question[Zeros], frozen=True):
    """Blinded tests of several numbers, shuffled; the answer stays encrypted."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_KEY_HOLDER,
        reveals="a fair coin for each number, which says nothing of a sign that stays sealed",
        assuming=DRAWN_BY_THE_SYSTEM,
    )
    tests: ForKeyHolder
    numbers: int
    prime: int


@dataclass(frozen=True, slots=True)
class SignPlan:
    """The public numbers of comparisons of numbers below 2^bits in magnitude."""

    bits: int
    masking: Masking

    @property
    def count(self) -> int:
        """The number of tests for each number: one for each bit, and one for equality."""
        return self.bits + 1

    @property
    def largest(self) -> int:
        """The largest magnitude of a test."""
        return 3 * self.bits + 2

    @property
    def prime(self) -> int:
        """The smallest prime above every test."""
        candidate = self.largest + 1
        while any(candidate % k == 0 for k in range(2, int(candidate**0.5) + 1)):
            candidate += 1
        return candidate

    @property
    def drown_bits(self) -> int:
        """The number of bits of k: κ more than the quotient of r·c by P, which is at most c."""
        return self.largest.bit_length() + self.masking.kappa

    @property
    def factored(self) -> Scale:
        """The scale of tests times their factors, or of the encrypted parts of them."""
        return Scale(0, self.prime * self.largest)

    @property
    def known(self) -> Scale:
        """The scale of the public parts of tests, with P·k added."""
        return Scale(0, self.prime * (self.largest + (1 << self.drown_bits)))

    @property
    def scale(self) -> Scale:
        """The scale of blinded tests."""
        return self.factored.plus(self.known)

    def slots(self, plaintext_bits: int) -> Slots:
        """The slots in which blinded tests share ciphertexts."""
        return Slots.fit(self.scale.bound, plaintext_bits=plaintext_bits)


@dataclass(frozen=True)
class _Started:
    """The evaluator's state after the first trip: its answer, and secrets for the second."""

    plan: SignPlan
    bits: Ciphertext
    above: Ciphertext
    masks: Sequence[int] = field(repr=False)
    coins: Sequence[bool] = field(repr=False)


def signs(
    x: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[tuple[bool, ...]]:
    """S.Sign at the evaluator: return for each number of a vector whether it is ≥ 0."""
    started = yield from _start(x, entropy=entropy, masking=masking or Masking())
    blinded = _blinded(started, entropy=entropy)
    question = BlindedTests(
        blinded, started.above.for_key_holder(entropy=entropy), started.plan.prime
    )
    answer = yield from ask(KEY_HOLDER, question)
    if len(answer.flipped) != len(x):
        raise ViolationError(
            f"verdicts: expected {len(x)}, found {len(answer.flipped)}", party=KEY_HOLDER
        )
    ells = started.plan.bits
    return tuple(
        flipped ^ coin ^ bool(mask >> ells & 1)
        for flipped, coin, mask in zip(answer.flipped, started.coins, started.masks, strict=True)
    )


def sealed_signs(
    x: Encrypted, *, entropy: Entropy, masking: Masking | None = None
) -> Party[Unsent]:
    """Return ⟨⟨1⟩⟩ for each number of a vector that is ≥ 0, else ⟨⟨0⟩⟩; nobody learns which."""
    started = yield from _start(x, entropy=entropy, masking=masking or Masking())
    plan = started.plan
    blinded = _blinded(started, entropy=entropy)
    answer = yield from ask(KEY_HOLDER, SealedTests(blinded, len(x), plan.prime))
    zeros = agreed(answer.zeros, Layout(x.shape), BIT)
    # t is λ for δ = 0, and 1 − λ for δ = 1; the result is above − ⌊ρ/2^ℓ⌋ − t.
    signed = zeros.key.square.powers(zeros.residues, [1 if coin else -1 for coin in started.coins])
    known = [
        -(mask >> plan.bits) - coin for mask, coin in zip(started.masks, started.coins, strict=True)
    ]
    residues = x.key.square.multiplied(
        x.key.square.multiplied(started.above.residues, signed), x.key.embedded(known)
    )
    return Unsent(x.key, tuple(residues), Layout(x.shape), BIT)


def _start(x: Encrypted, *, entropy: Entropy, masking: Masking) -> Party[_Started]:
    """The first trip: send masked numbers, receive their bits."""
    if len(x.shape) != 1 or not len(x) or x.layout.covered:
        raise MismatchError(f"S.Sign: expected a vector of numbers, found {x.layout}")
    plan = SignPlan(max(x.scale.bits, 1), masking)
    lift, reach = 1 << plan.bits, plan.bits + 1 + masking.kappa
    masks = [entropy.bits(reach) for _ in range(len(x))]
    over = Scale(x.scale.fraction_bits, lift + (1 << reach) - 1)
    masked = x + Plain(filled([lift + mask for mask in masks], x.shape), over)
    plan.slots(x.key.plaintext_bits)  # raises now if a test has no room
    answer = yield from ask(
        KEY_HOLDER, MaskedNumbers(masked.for_key_holder(entropy=entropy), plan.bits)
    )
    bits = agreed(answer.bits, Layout((len(x), plan.bits)), BIT)
    above = agreed(answer.above, Layout(x.shape), Scale(0, masked.scale.bound >> plan.bits))
    return _Started(plan, bits, above, masks, [entropy.coin() for _ in range(len(x))])


def _blinded(started: _Started, *, entropy: Entropy) -> ForKeyHolder:
    """Return all tests of all numbers, packed; those of one number in a random order."""
    plan, key = started.plan, started.bits.key
    bases: list[Residue] = []
    known: list[int] = []
    for number, (mask, coin) in enumerate(zip(started.masks, started.coins, strict=True)):
        row = started.bits.residues[number * plan.bits : (number + 1) * plan.bits]
        values, constants = _tests_of(started.bits, row, mask % (1 << plan.bits), coin=coin)
        factors = [1 + entropy.below(plan.prime - 1) for _ in values]
        powers = key.square.powers(values, factors)
        drowned = [
            r * c + plan.prime * entropy.bits(plan.drown_bits)
            for r, c in zip(factors, constants, strict=True)
        ]
        order = entropy.shuffled(range(plan.count))
        bases += [powers[i] for i in order]
        known += [drowned[i] for i in order]
    slots = plan.slots(key.plaintext_bits)
    blinded = Unsent(key, tuple(bases), Layout((len(bases),)), plan.factored)
    plain = Plain(filled(known, (len(known),)), plan.known)
    return blinded.packed_for_key_holder(slots, plain, entropy=entropy)


def _tests_of(
    bits: Ciphertext, row: Sequence[Residue], mask: int, *, coin: bool
) -> tuple[list[Residue], list[int]]:
    """Return tests c = d_i − ρ_i + s + 3·Σ_{j>i} (d_j ⊕ ρ_j), as ciphertexts and constants.

    With s = 1 one test is 0 exactly if d < ρ, with s = −1 if d > ρ. The last test is 0 for d = ρ,
    which turns the latter into d ≥ ρ.
    """
    square = bits.key.square
    opposite = square.inverses(row)
    times = square.multiplied
    sign, differing, known = (-1 if coin else 1), square.product([]), 0
    values: list[Residue] = []
    constants: list[int] = []
    for i in range(len(row) - 1, -1, -1):
        ones = mask >> i & 1
        cubed = square.product([row[i], differing, differing, differing])
        values.append(cubed)
        constants.append(sign - ones + 3 * known)
        differing = times([differing], [opposite[i] if ones else row[i]])[0]
        known += ones
    return [*values, differing], [*constants, known + (not coin)]


def answer_numbers(key: SecretKey, question: MaskedNumbers, *, entropy: Entropy) -> NumberBits:
    """The first trip at the key holder."""
    layout, scale, bits = question.values.layout, question.values.scale, question.bits
    if len(layout.shape) != 1 or layout.covered or not 0 < bits <= scale.bits:
        raise MismatchError(
            f"S.Sign: expected a vector and 1 to {scale.bits} bits, found {layout} and {bits}"
        )
    numbers = decrypt(key, question.values).flat()
    low = np.array([[d >> i & 1 for i in range(bits)] for d in numbers]).reshape(-1, bits)
    above = Plain(filled([d >> bits for d in numbers], layout.shape), Scale(0, scale.bound >> bits))
    return NumberBits(
        encrypt(key, Plain(low, BIT), entropy=entropy), encrypt(key, above, entropy=entropy)
    )


def answer_tests(key: SecretKey, question: BlindedTests) -> Verdicts:
    """The second trip at the key holder, answered in the clear."""
    above = decrypt(key, question.above)
    zeros = _zeros(key, question.tests, len(above.flat()), question.prime)
    return Verdicts(tuple(zero ^ bool(a & 1) for zero, a in zip(zeros, above.flat(), strict=True)))


def answer_sealed(key: SecretKey, question: SealedTests, *, entropy: Entropy) -> Zeros:
    """The second trip at the key holder, answered by ciphertexts."""
    zeros = _zeros(key, question.tests, question.numbers, question.prime)
    return Zeros(encrypt(key, Plain(np.array(zeros, dtype=np.int64), BIT), entropy=entropy))


def _zeros(key: SecretKey, tests: Ciphertext, numbers: int, prime: int) -> list[bool]:
    """Return for each number whether one of its tests is 0 modulo the prime."""
    if len(tests.shape) != 1 or numbers < 1 or len(tests) % numbers or prime < 2:
        raise MismatchError(
            f"S.Sign: expected tests of {numbers} numbers modulo a prime, "
            f"found {tests.layout} modulo {prime}"
        )
    values, each = decrypt(key, tests).flat(), len(tests) // numbers
    return [
        any(value % prime == 0 for value in values[start : start + each])
        for start in range(0, len(values), each)
    ]


def sign_rules(
    key: SecretKey, *, budget: int, numbers: int, entropy: Entropy, sealed: int | None = None
) -> list[AnswerRule[Any]]:
    """Return the rules for a key holder: `budget` vectors of at most `numbers` numbers in all.

    A verdict is a bit that the evaluator reads, so an asker who deviates could learn one bit of its
    choice for each number: the key holder counts numbers, not questions. More numbers, `sealed`,
    may be compared if their signs stay encrypted.
    """

    def few(count: int, most: int) -> None:
        if count > most:
            raise MismatchError(f"S.Sign: expected at most {most} numbers, found {count}")

    def answer_few(question: BlindedTests) -> Verdicts:
        few(size(question.above.shape), numbers)
        return answer_tests(key, question)

    def answer_few_sealed(question: SealedTests) -> Zeros:
        few(question.numbers, sealed or numbers)
        return answer_sealed(key, question, entropy=entropy)

    trips = budget if sealed is None else 2 * budget
    return [
        AnswerRule(MaskedNumbers, lambda q: answer_numbers(key, q, entropy=entropy), trips),
        AnswerRule(BlindedTests, answer_few, budget),
        AnswerRule(SealedTests, answer_few_sealed, budget),
    ]
