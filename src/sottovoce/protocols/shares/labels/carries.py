"""Shares of [x < 0] for many shared values x, without a dealer: by one comparison of digits each.

    key holder (first, the coordinator)             asker (second)
    x = x_C + x_A mod 2^b; d is what x_C lacks of 2^(b−1) − 1, ρ is x_A, both without the top bit
      |   ShareDigits: ⟨⟨[digit j of d is v]⟩⟩         |   for all j and v, many values a ciphertext
      |--------------------------------------------->|
      |                                              |   a coin δ for each value
      |   DigitTests: r·c for every digit            |
      |<---------------------------------------------|   in an order of its own for each value
    λ: whether one of them is 0                      δ

The top bit of x is that of x_C, that of x_A and the carry from below, added without carry;
there is a carry exactly if d < ρ. That holds if one digit of d is smaller than ρ's and all above
it are equal (the tests of Damgård, Geisler and Krøigaard 2007, with digits of four bits): so
many tests c_j, at most one of which is 0. With δ = 1 they ask for d ≥ ρ instead. So λ ⊕ δ is the
carry. The key holder has λ, the asker has δ, and neither knows the carry.

Many values share a ciphertext by their remainders: value number i is the remainder modulo the prime
P_i, and a factor below the product M of all primes multiplies every value by a number of its own.
So one power replaces a hundred, and each value can have its own order of tests. r is uniform from 1
to P_i − 1, so every c ≠ 0 becomes uniform among the remainders that are not 0. M·k hides the
quotient by M, because k is κ bits longer than that quotient.

Who learns what: the asker sees ciphertexts that it cannot open. For every value the key holder sees
uniform remainders in a random order, at most one of them 0; whether there is a 0 is a fair coin. An
asker who deviates chooses what λ tells about, but learns nothing of λ unless the key holder sends
it: then one bit for every bit that is sent. Assuming that the key holder sends digits and nothing
else (the asker cannot see what it multiplies: other numbers in their place make zeros that tell of
ρ), that both do not pool what they saw, and that Paillier hides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import prod
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import Residue
from sottovoce.numbers.packing import Slots
from sottovoce.numbers.ring import Words
from sottovoce.paillier import (
    Ciphertext,
    ForKeyHolder,
    Layout,
    Plain,
    PublicKey,
    SecretKey,
    Unsent,
    decrypt_residues,
    encrypt,
)
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_ASKER_ENCRYPTED,
    BY_DECRYPTING_COORDINATOR,
    PAILLIER_HIDES,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.two_party.masks import Masking, filled

DIGIT_BITS = 4
_RADIX = 1 << DIGIT_BITS


class ShareDigits(Message, frozen=True):
    """For every digit and every possible value, whether the digit has it; for many numbers."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_ASKER_ENCRYPTED,
        reveals="nothing: fresh ciphertexts of the digits of the coordinator's shares",
        assuming=PAILLIER_HIDES,
    )
    digits: Ciphertext


class DigitTests(Message, frozen=True):
    """Blinded tests of every number, each number's in an order of its own."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_DECRYPTING_COORDINATOR,
        reveals="a fair coin for each number: remainders are uniform but for at most one zero",
        assuming="coins, factors, orders and masks are the asker's own, and used once",
    )
    tests: ForKeyHolder


@dataclass(frozen=True)
class KeySide:
    """The key holder in a conversation with one asker."""

    key: SecretKey = field(repr=False)
    asker: str
    masking: Masking
    entropy: Entropy = field(repr=False)

    def checked(self, ciphertext: Ciphertext, layout: Layout, scale: Scale) -> list[int]:
        """Return the asker's message, decrypted, after checking its form against the plan.

        Any content is accepted: an error about its size would reveal something to the asker.
        """
        try:
            return decrypt_residues(self.key, ciphertext.expected(layout, scale))
        except ViolationError as error:
            raise error.by(self.asker) from error


@dataclass(frozen=True)
class AskSide:
    """The asker in a conversation with the key holder."""

    key: PublicKey
    holder: str
    masking: Masking
    entropy: Entropy = field(repr=False)

    def checked(self, ciphertext: Ciphertext, layout: Layout, scale: Scale) -> Ciphertext:
        """Return the key holder's message, after checking its form against the plan."""
        try:
            return ciphertext.expected(layout, scale)
        except ViolationError as error:
            raise error.by(self.holder) from error


@dataclass(frozen=True)
class CarryPlan:
    """The public numbers of the comparison of `count` numbers of `bits` bits in one ciphertext."""

    bits: int
    count: int
    masking: Masking

    @property
    def places(self) -> int:
        """The number of digits of a number."""
        return -(-self.bits // DIGIT_BITS)

    @property
    def tests(self) -> int:
        """The number of tests of a number: one for each digit, and one for equality."""
        return self.places + 1

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """The first primes above every test."""
        chosen: list[int] = []
        candidate = self.tests + 1
        while len(chosen) < self.count:
            if all(candidate % k for k in range(2, int(candidate**0.5) + 1)):
                chosen.append(candidate)
            candidate += 1
        return tuple(chosen)

    @cached_property
    def modulus(self) -> int:
        """M, the product of all primes."""
        return prod(self.primes)

    @cached_property
    def units(self) -> tuple[int, ...]:
        """For each number the factor that is 1 modulo its own prime and 0 modulo all others."""
        rest = [self.modulus // prime for prime in self.primes]
        return tuple(
            cofactor * pow(cofactor, -1, prime)
            for cofactor, prime in zip(rest, self.primes, strict=True)
        )

    @property
    def digits(self) -> Scale:
        """The scale of the digits that the key holder encrypts."""
        return Scale(0, self.modulus - 1)

    @property
    def _above(self) -> int:
        """The largest quotient of the tests by M, before they are hidden."""
        picked = _RADIX * self.modulus**2
        return self.tests * self.tests * picked + 1

    @property
    def drown_bits(self) -> int:
        """The number of bits of k."""
        return self._above.bit_length() + self.masking.kappa

    @property
    def factored(self) -> Scale:
        """The scale of tests times their factors."""
        return Scale(0, self.modulus * self._above)

    @property
    def known(self) -> Scale:
        """The scale of the numbers that the asker adds to them in the clear."""
        return Scale(0, self.modulus << self.drown_bits)

    @property
    def scale(self) -> Scale:
        """The scale of blinded tests."""
        return self.factored.plus(self.known)

    def slots(self, plaintext_bits: int) -> Slots:
        """The slots in which blinded tests share ciphertexts."""
        return Slots.fit(self.scale.bound, plaintext_bits=plaintext_bits)


@lru_cache(maxsize=64)
def most_together(bits: int, masking: Masking, *, plaintext_bits: int) -> int:
    """Return how many values of this width, in bits, fit into one ciphertext."""
    count = 0
    while CarryPlan(bits, count + 1, masking).scale.bits < plaintext_bits:
        count += 1
    if not count:
        raise BoundError(
            f"comparison: a number of {bits} bits does not fit into {plaintext_bits} bits",
            hints=("use a larger key",),
        )
    return count


def _parts(
    count: int, ring: Ring, masking: Masking, key: PublicKey
) -> Iterator[tuple[slice, CarryPlan]]:
    """Split all numbers into as few parts as possible, of about the same size."""
    most = most_together(ring.bits - 1, masking, plaintext_bits=key.plaintext_bits)
    parts = -(-count // most)
    ends = [count * part // parts for part in range(parts + 1)]
    for start, end in pairwise(ends):
        yield slice(start, end), CarryPlan(ring.bits - 1, end - start, masking)


def give_signs(side: KeySide, words: Words, *, ring: Ring, columns: int = 1) -> Party[Words]:
    """Return the key holder's bits, (values, columns): shares mod 2 of [x < 0]."""
    signs = np.empty((len(words), columns), np.uint64)
    for part, plan in _parts(len(words), ring, side.masking, side.key.public):
        lacking = ring.low(~ring.low(words[part]))
        digits = Plain(filled(_digits_of(plan, lacking), (plan.places * _RADIX,)), plan.digits)
        yield Send(side.asker, ShareDigits(encrypt(side.key, digits, entropy=side.entropy)))
        answer = yield from receive(side.asker, DigitTests)
        slots = plan.slots(side.key.public.plaintext_bits)
        layout = Layout((columns * plan.tests,), slots)
        residues = side.checked(answer.tests, layout, plan.scale)
        values = slices(residues, slots, columns * plan.tests)
        signs[part] = _zeros(plan, values, columns) ^ ring.top(words[part])[:, np.newaxis]
    return signs


def ask_signs(side: AskSide, words: Words, *, ring: Ring) -> Party[Words]:
    """Return the asker's bits, (values, columns): shares mod 2 of [x < 0].

    All columns of a row are compared with the same share of the key holder's.
    """
    signs = np.empty_like(words)
    for part, plan in _parts(len(words), ring, side.masking, side.key):
        share_digits = yield from receive(side.holder, ShareDigits)
        layout = Layout((plan.places * _RADIX,))
        digits = side.checked(share_digits.digits, layout, plan.digits)
        shares = words[part]
        coins = np.array([side.entropy.coin() for _ in range(shares.size)], np.uint64)
        coins = coins.reshape(shares.shape)
        tests = _blinded(side, plan, digits, ring.low(shares), coins)
        yield Send(side.holder, DigitTests(tests))
        signs[part] = ring.top(shares) ^ coins
    return signs


def slices(residues: Sequence[int], slots: Slots, count: int) -> list[int]:
    """Return the first `count` slots of plaintexts that hold no negative value."""
    mask = (1 << slots.width) - 1
    pieces = [
        int(residue) >> slots.width * at & mask for residue in residues for at in range(slots.count)
    ]
    return pieces[:count]


def _digit(words: Words, place: int) -> list[int]:
    shifted: list[int] = (words >> np.uint64(DIGIT_BITS * place) & np.uint64(_RADIX - 1)).tolist()
    return shifted


def _digits_of(plan: CarryPlan, numbers: Words) -> list[int]:
    """Encode for every place and every digit value which of the numbers have that digit there."""
    digits = []
    for place in range(plan.places):
        having = [0] * _RADIX
        for digit, unit in zip(_digit(numbers, place), plan.units, strict=True):
            having[digit] += unit
        digits += [holder % plan.modulus for holder in having]
    return digits


def _zeros(plan: CarryPlan, values: Sequence[int], columns: int) -> Words:
    """Return for each number and column whether one of its tests is 0."""
    zeros = np.zeros((plan.count, columns), np.uint64)
    for column in range(columns):
        tests = values[column * plan.tests : (column + 1) * plan.tests]
        zeros[:, column] = [any(test % prime == 0 for test in tests) for prime in plan.primes]
    return zeros


def _blinded(
    side: AskSide, plan: CarryPlan, digits: Ciphertext, numbers: Words, coins: Words
) -> ForKeyHolder:
    """Return the blinded tests of all numbers, (columns × tests), packed."""
    columns, square = numbers.shape[1], digits.key.square
    picked = _picked(plan, digits, numbers, coins)
    blinded: list[Residue] = []
    known: list[int] = []
    for column in range(columns):
        bases = _tests_of(digits.key, [pairs[column] for pairs in picked])
        factors, constants = _drawn(plan, coins[:, column], entropy=side.entropy)
        blinded += square.combined(bases, factors)
        known += constants
    tests = Unsent(digits.key, tuple(blinded), Layout((len(blinded),)), plan.factored)
    slots, added = plan.slots(digits.key.plaintext_bits), filled(known, (len(known),))
    return tests.packed_for_key_holder(slots, Plain(added, plan.known), entropy=side.entropy)


def _picked(
    plan: CarryPlan, digits: Ciphertext, numbers: Words, coins: Words
) -> list[list[tuple[Residue, Residue]]]:
    """Return for every place and column ⟨⟨[d is on the right side]⟩⟩ and ⟨⟨[d = ρ]⟩⟩ of that digit.

    The right side is below ρ for δ = 0, above it for δ = 1.
    """
    cells = []
    for place in range(plan.places):
        rows = []
        for column in range(numbers.shape[1]):
            beside, equal = [0] * _RADIX, [0] * _RADIX
            own = zip(
                _digit(numbers[:, column], place),
                coins[:, column].tolist(),
                plan.units,
                strict=True,
            )
            for digit, coin, unit in own:
                equal[digit] += unit
                for value in range(digit + 1, _RADIX) if coin else range(digit):
                    beside[value] += unit
            rows += [[residue % plan.modulus for residue in row] for row in (beside, equal)]
        bases = digits.residues[place * _RADIX : (place + 1) * _RADIX]
        made = digits.key.square.combined(bases, rows)
        cells.append(list(zip(made[::2], made[1::2], strict=True)))
    return cells


def _tests_of(key: PublicKey, pairs: Sequence[tuple[Residue, Residue]]) -> list[Residue]:
    """⟨⟨beside + Σ equal above⟩⟩ for each place from the top, and ⟨⟨Σ equal⟩⟩.

    After `_drawn`'s numbers are subtracted, one of these is 0 if d is on the right side of ρ or,
    for δ = 1, equal to it.
    """
    times = key.square.multiplied
    above = key.square.product([])
    tests = []
    for beside, equal in reversed(pairs):
        tests += times([beside], [above])
        (above,) = times([above], [equal])
    return [*tests, above]


def _drawn(plan: CarryPlan, coins: Words, *, entropy: Entropy) -> tuple[list[list[int]], list[int]]:
    """Draw the factors of the blinded tests, and the numbers added to them in the clear."""
    factors = [[0] * plan.tests for _ in range(plan.tests)]
    added = [0] * plan.tests
    for prime, unit, coin in zip(plan.primes, plan.units, coins.tolist(), strict=True):
        for here, test in enumerate(entropy.shuffled(range(plan.tests))):
            factor = 1 + entropy.below(prime - 1)
            factors[here][test] = factors[here][test] + factor * unit
            # Above place j, j digits are equal, and one is on the right side; in the last test all
            # are equal.
            whole = test + 1 if test < plan.places else plan.places + (not coin)
            added[here] += -factor * whole % prime * unit
    factors = [[number % plan.modulus for number in row] for row in factors]
    drowned = [
        number % plan.modulus + plan.modulus * entropy.bits(plan.drown_bits) for number in added
    ]
    return factors, drowned
