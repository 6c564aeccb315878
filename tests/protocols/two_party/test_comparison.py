"""S.Sign gives the sign to the evaluator alone: the key holder sees noise and fair coins."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, codec_for, masked_slots, opened, sealed, talk
from sottovoce.errors import BoundError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.two_party.comparison import (
    BIT,
    BlindedTests,
    MaskedNumbers,
    NumberBits,
    SealedTests,
    SignPlan,
    Verdicts,
    Zeros,
    sealed_signs,
    sign_rules,
    signs,
)
from sottovoce.protocols.two_party.masks import Masking

KEY = toy_key()
MASKING = Masking(40)


def run(program, *, budget=1, numbers=500, meddler=None):
    rules = sign_rules(KEY, budget=budget, numbers=numbers, entropy=SeededEntropy(5))
    return talk(KEY, program, [rules], meddler=meddler)


def both(values, scale, seed, slots=None):
    """The signs in the clear, and those that stayed encrypted."""
    x = sealed(values, scale, slots=slots)
    clear = run(signs(x, entropy=SeededEntropy(seed), masking=MASKING)).results[EVALUATOR]
    hidden = run(sealed_signs(x, entropy=SeededEntropy(seed), masking=MASKING)).results[EVALUATOR]
    assert hidden.scale == BIT
    return list(clear), [bool(bit) for bit in opened(KEY, hidden)]


@pytest.mark.parametrize("bits", [1, 2, 3, 4])
def test_every_number_of_a_small_range(bits) -> None:
    bound = 2**bits - 1
    values = list(range(-bound, bound + 1))
    ideal = [value >= 0 for value in values]
    for seed in range(6):
        assert both(values, Scale(0, bound), seed) == (ideal, ideal)


BOUND = 2**40
EXTREMES = st.sampled_from([0, 1, -1, BOUND, -BOUND, BOUND - 1, 1 - BOUND, BOUND // 2])


@settings(max_examples=6)
@given(st.lists(st.integers(-BOUND, BOUND) | EXTREMES, min_size=1, max_size=4), st.integers(0, 999))
def test_signs_of_any_vector_in_two_trips(values, seed) -> None:
    ideal = [value >= 0 for value in values]
    assert both(values, Scale(20, BOUND), seed) == (ideal, ideal)
    x = sealed(values, Scale(20, BOUND))
    outcome = run(signs(x, entropy=SeededEntropy(seed), masking=MASKING))
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 2 + 1  # and the goodbye


def test_packed_numbers_are_compared_too() -> None:
    values = [5, -5, 0, -1, 1]
    slots = Slots.fit(2**21, plaintext_bits=KEY.public.plaintext_bits, mask_bits=41)
    ideal = [value >= 0 for value in values]
    assert both(values, Scale(0, 2**20), 3, slots) == (ideal, ideal)


# What the key holder sees.

SCALE = Scale(0, 2**12 - 1)
PUBLIC = SignPlan(SCALE.bits, MASKING)


def masked(message):
    return [message.values] if isinstance(message, MaskedNumbers) else []


def blinded(message):
    return [message.tests] if isinstance(message, BlindedTests | SealedTests) else []


def view(entropy, values, program=signs):
    outcome = run(program(sealed(values, SCALE), entropy=entropy, masking=MASKING))
    numbers = masked_slots(outcome, KEY, masked)
    tests = masked_slots(outcome, KEY, blinded)
    groups = [tests[i : i + PUBLIC.count] for i in range(0, len(tests), PUBLIC.count)]
    return numbers, groups


VALUES = [3, -3] * 60


def zero_places(groups):
    return [[i for i, v in enumerate(group) if v % PUBLIC.prime == 0] for group in groups]


@pytest.mark.parametrize("program", [signs, sealed_signs])
def test_the_key_holder_sees_noise_and_fair_coins(program) -> None:
    numbers, groups = view(SeededEntropy(7), VALUES, program)
    reach = 2 ** (SCALE.bits + 1 + 40)
    assert_looks_uniform([number % reach for number in numbers], reach)
    places = zero_places(groups)
    assert {len(place) for place in places} == {0, 1}
    # Whether there is a zero is a coin, whatever the sign; where it is, says nothing.
    for start in (0, 1):
        hits = sum(bool(place) for place in places[start::2])
        assert stats.binomtest(hits, 60).pvalue > 1e-3
    where = [place[0] for place in places if place]
    assert stats.chisquare([where.count(i) for i in range(PUBLIC.count)]).pvalue > 1e-3
    tests = [v for group in groups for v in group]
    nonzero = [v % PUBLIC.prime - 1 for v in tests if v % PUBLIC.prime]
    assert_looks_uniform(nonzero, PUBLIC.prime - 1)
    drown = 2**PUBLIC.drown_bits
    assert_looks_uniform([v // PUBLIC.prime % drown for v in tests], drown)


def test_a_forgotten_mask_would_show() -> None:
    bits = SCALE.bits + 1 + 40
    forgetful = ForgetfulEntropy(7, bits=bits)
    numbers, _ = view(forgetful, VALUES)
    assert forgetful.forgot
    assert_shows_structure([number % 2**bits for number in numbers], 2**bits)


class NoCoin(SeededEntropy):
    def coin(self):
        return False


class NoFactor(SeededEntropy):
    def below(self, bound):
        return 0 if bound == PUBLIC.prime - 1 else super().below(bound)


class NoShuffle(SeededEntropy):
    def shuffled(self, items):
        return list(items)


class NoDrowning(SeededEntropy):
    def bits(self, count):
        return 0 if count == PUBLIC.drown_bits else super().bits(count)


def test_forgetting_the_coin_shows_the_sign() -> None:
    _, groups = view(NoCoin(7), VALUES)
    read = [not place for place in zero_places(groups)]  # the key holder's guess: a zero is a minus
    right = sum(guess == (value >= 0) for guess, value in zip(read, VALUES, strict=True))
    assert right >= 118  # 3 in 4096 numbers carry the other way


def test_forgetting_a_factor_the_order_or_the_drowning_would_show() -> None:
    _, groups = view(NoFactor(7), VALUES)
    nonzero = [v % PUBLIC.prime - 1 for group in groups for v in group if v % PUBLIC.prime]
    assert_shows_structure(nonzero, PUBLIC.prime - 1)

    _, groups = view(NoShuffle(7), [1] * 200)
    where = [place[0] for place in zero_places(groups) if place]
    assert stats.chisquare([where.count(i) for i in range(PUBLIC.count)]).pvalue < 1e-6

    _, groups = view(NoDrowning(7), VALUES)
    drown = 2**PUBLIC.drown_bits
    assert_shows_structure([v // PUBLIC.prime % drown for g in groups for v in g], drown)


def test_factors_are_taken_modulo_a_prime_above_every_test() -> None:
    for bits in (1, 2, 12, 40, 100):
        tests = SignPlan(bits, MASKING)
        assert tests.prime > 3 * bits + 2
        assert all(tests.prime % k for k in range(2, tests.prime))
    assert SignPlan(40, MASKING).prime == 127


# Wrong messages.


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        (sealed([[1]], SCALE), MismatchError, "expected a vector of numbers"),
        (sealed(1, SCALE), MismatchError, "expected a vector of numbers"),
        (sealed([], SCALE), MismatchError, "expected a vector of numbers"),
        (sealed([1], Scale(0, 2**500)), BoundError, "add: needs magnitudes"),
        (sealed([1], SCALE, slots=Slots(20, 2)), BoundError, "over-full slot"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_sent(x, error, words) -> None:
    with pytest.raises(error, match=words):
        next(signs(x, entropy=SeededEntropy(1)))


PAIR = addressed([1, 1], SCALE)
NUMBER = addressed([1], SCALE)
TEST = addressed([1] * 13, PUBLIC.scale)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        (MaskedNumbers(NUMBER, 13), "MaskedNumbers out of range.*1 to 12 bits"),
        (MaskedNumbers(NUMBER, 0), "MaskedNumbers out of range"),
        (MaskedNumbers(addressed([[1]], SCALE), 3), "MaskedNumbers out of range"),
        (
            BlindedTests(TEST, addressed([1, 1], SCALE), 41),
            "BlindedTests out of range.*of 2 numbers",
        ),
        (BlindedTests(TEST, NUMBER, 1), "BlindedTests out of range.*modulo 1"),
        (BlindedTests(addressed([[1]], SCALE), NUMBER, 41), "BlindedTests out of range"),
        (SealedTests(TEST, 2, 41), "SealedTests out of range"),
        (SealedTests(TEST, 0, 41), "SealedTests out of range"),
    ],
)
def test_wrong_questions_are_refused_naming_the_asker(question, words) -> None:
    def program():
        yield from ask(KEY_HOLDER, question)

    with pytest.raises(ViolationError, match=f"evaluator: {words}"):
        run(program())


@pytest.mark.parametrize(
    ("program", "kind", "edit"),
    [
        (signs, NumberBits, lambda a: NumberBits(a.above, a.above)),
        (signs, NumberBits, lambda a: NumberBits(a.bits, a.bits)),
        (signs, Verdicts, lambda a: Verdicts(())),
        (signs, Verdicts, lambda a: Verdicts((True, True))),
        (sealed_signs, Zeros, lambda a: Zeros(sealed([1, 1], BIT))),
        (sealed_signs, Zeros, lambda a: Zeros(sealed([1], SCALE))),
    ],
)
def test_wrong_answers_are_refused_naming_the_key_holder(program, kind, edit) -> None:
    meddler = rewriting(lambda p: is_kind(p, kind), kind, edit, codec_for(KEY))
    with pytest.raises(ViolationError, match="key holder: "):
        run(program(NUMBER, entropy=SeededEntropy(1), masking=MASKING), meddler=meddler)
    assert meddler.done == 1


def test_comparisons_over_budget_are_refused_naming_the_asker() -> None:
    def program():
        for seed in range(3):
            yield from signs(NUMBER, entropy=SeededEntropy(seed), masking=MASKING)

    with pytest.raises(ViolationError, match="evaluator: expected at most 2 questions"):
        run(program(), budget=2)


def curious(kind):
    """An evaluator that deviates: instead of masked tests it asks about what it holds."""
    secrets = addressed([5, 8, 13, 2], Scale(0, 20))
    tests = addressed([1, 1, 1, 1], Scale(0, 1))
    question = BlindedTests(tests, secrets, 2) if kind is Verdicts else SealedTests(secrets, 4, 2)
    return (yield from ask(KEY_HOLDER, question))


@pytest.mark.parametrize("kind", [Verdicts, Zeros])
def test_bits_are_counted_by_number_because_a_verdict_could_be_any_bit(kind) -> None:
    """One question of four numbers reads four parities, so the key holder limits numbers."""
    if kind is Verdicts:
        answer = run(curious(kind), numbers=4).results[EVALUATOR]
        assert answer.flipped == (True, False, True, False)
    with pytest.raises(ViolationError, match=r"evaluator: .* at most 3 numbers, found 4"):
        run(curious(kind), numbers=3)


def test_its_secrets_are_drawn_anew_for_every_comparison() -> None:
    _, groups = view(SeededEntropy(7), [3] * 40)
    assert all(a != b for a, b in pairwise(groups))
