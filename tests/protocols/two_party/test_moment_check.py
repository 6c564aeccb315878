"""Encrypted moments pass if rows as many as were published can have them, and no others do."""

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from harness.two_party import talk
from sottovoce.errors import ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.guard import AnswerRule
from sottovoce.protocols.two_party import moment_check
from sottovoce.protocols.two_party.comparison import signs
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.moment_check import (
    EncryptedMomentBounds,
    MaskedMoments,
    MomentSizes,
    _diagonals,
    moment_check_stage,
    moments_are_plausible,
)
from sottovoce.protocols.two_party.solve import SolvePlan

KEY = toy_key(bits=768)
ROWS = 40
PLAN = SolvePlan(
    7, lower=1.0, upper=64.0, reach=1.0, matrix_bits=18, fraction_bits=26, masking=Masking(40)
)
BOUNDS = EncryptedMomentBounds(trace=ROWS, length=ROWS * np.sqrt(2), peers=3)


def moments(rows=ROWS, seed=1, *, width=7, classes=2):
    """Of rows of length 1 that all are of one class, in which b is as long as it can be."""
    rng = np.random.default_rng(seed)
    X = np.abs(rng.normal(size=(rows, width)))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X.T @ X, X.T @ np.ones((rows, classes))


def run(A, b, bounds=BOUNDS, *, plan=PLAN, stage=None):
    slots = plan.slots(KEY.public.plaintext_bits)
    seal = {"slots": slots, "entropy": SeededEntropy(1)}
    sealed = encrypt(KEY.public, Plain.of(A, plan.matrix_scale(200.0)), **seal)
    vectors = [
        encrypt(KEY.public, Plain.of(column, plan.vector_scale(500.0)), **seal) for column in b.T
    ]
    program = moments_are_plausible(
        sealed, vectors, bounds, masking=plan.masking, entropy=SeededEntropy(2)
    )
    return talk(KEY, program, [stage or moment_check_stage(KEY, entropy=SeededEntropy(3))])


def passes(A, b, bounds=BOUNDS, **more) -> bool:
    return run(A, b, bounds, **more).results[EVALUATOR]


@pytest.mark.parametrize("seed", range(3))
def test_moments_of_as_many_rows_pass(seed: int) -> None:
    assert passes(*moments(seed=seed))


def test_rows_that_are_all_alike_pass_with_nothing_to_spare() -> None:
    row = np.full(7, 7**-0.5)
    assert passes(ROWS * np.outer(row, row), ROWS * np.outer(row, np.ones(2)))


def test_no_rows_at_all_pass() -> None:
    assert passes(np.zeros((7, 7)), np.zeros((7, 2)))


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 11])
def test_the_diagonal_is_found_in_whatever_slots_it_stands(width: int) -> None:
    slots = PLAN.slots(KEY.public.plaintext_bits)
    numbers = np.random.default_rng(width).integers(-99, 99, size=(width, width))
    sealed = encrypt(
        KEY.public, Plain(numbers, Scale(18, 99)), slots=slots, entropy=SeededEntropy(1)
    )
    decrypted = decrypt(KEY, _diagonals(sealed)).integers
    assert len(decrypted) == min(width, slots.count) < 7
    assert decrypted.diagonal().sum() == numbers.diagonal().sum()


@pytest.mark.parametrize("times", [1.01, -0.01, -3.0])
def test_a_matrix_that_is_too_heavy_does_not(times: float) -> None:
    A, b = moments()
    assert not passes(times * A, b)


@pytest.mark.parametrize("times", [1.1, 5.0, -5.0])
def test_a_right_hand_side_that_is_too_long_does_not(times: float) -> None:
    row = np.full(7, 7**-0.5)
    assert not passes(moments()[0], times * ROWS * np.outer(row, np.ones(2)))


def test_one_column_that_is_too_long_does_not() -> None:
    b = np.zeros((7, 2))
    b[3, 1] = 60.0
    assert not passes(moments()[0], b)


@pytest.mark.parametrize("digit", [2**60, -(2**60), 2**71])
def test_a_slot_that_holds_more_than_any_number_may_does_not(digit: int) -> None:
    """A peer writes its own slots, and may write more into one than its scale allows."""
    slots = PLAN.slots(KEY.public.plaintext_bits)
    assert digit < 1 << slots.width - 2
    A, _ = moments()
    seal = {"slots": slots, "entropy": SeededEntropy(1)}
    sealed = encrypt(KEY.public, Plain.of(A, PLAN.matrix_scale(200.0)), **seal)
    scale = PLAN.vector_scale(500.0)
    numbers = np.zeros(7, dtype=object)
    numbers[2] = digit
    wide = encrypt(KEY.public, Plain(numbers, Scale(scale.fraction_bits, 2**72)), **seal)
    narrowed = wide.within(scale)
    program = moments_are_plausible(
        sealed, [narrowed, narrowed], BOUNDS, masking=PLAN.masking, entropy=SeededEntropy(2)
    )
    outcome = talk(KEY, program, [moment_check_stage(KEY, entropy=SeededEntropy(3))])
    assert not outcome.results[EVALUATOR]


# Who sees what.


def test_the_key_holder_sees_noise_that_the_moments_do_not_move() -> None:
    """The same masks over other moments: what is seen differs by them, within κ bits of noise."""
    seen = []
    for A, b in (moments(seed=1), (np.zeros((7, 7)), np.zeros((7, 2)))):
        question = run(A, b).views[KEY_HOLDER].received[0].message
        assert isinstance(question, MaskedMoments)
        numbers = [*decrypt(KEY, question.diagonals).flat(), *decrypt(KEY, question.vectors).flat()]
        seen.append(numbers)
    slots = PLAN.slots(KEY.public.plaintext_bits)
    for first, other in zip(*seen, strict=True):
        assert abs(first - other).bit_length() + 30 < slots.width
    spread = [number.bit_length() for number in seen[0]]
    assert np.mean(spread) > slots.width - 5


def test_the_evaluator_is_sent_ciphertexts_and_one_bit() -> None:
    outcome = run(*moments())
    came = [message.message for message in outcome.views[EVALUATOR].received]
    kinds = [type(message).__name__ for message in came]
    assert kinds == ["MomentSizes", "NumberBits", "Zeros", "NumberBits", "Verdicts"]
    assert len(came[-1].flipped) == 1


def test_a_second_bit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluator that opens the three signs instead of whether all of them are good."""
    monkeypatch.setattr(moment_check, "sealed_signs", signs)
    with pytest.raises(ViolationError, match="at most 1 numbers, found 3") as caught:
        run(*moments())
    assert caught.value.party == EVALUATOR


def test_an_answer_of_another_shape_names_the_key_holder() -> None:
    first, *rest = moment_check_stage(KEY, entropy=SeededEntropy(3))

    def wrong(question: MaskedMoments) -> MomentSizes:
        right = first.answer(question)
        return MomentSizes(right.trace, right.vectors, right.trace)

    with pytest.raises(ViolationError) as caught:
        run(*moments(), stage=[AnswerRule(MaskedMoments, wrong, 1), *rest])
    assert caught.value.party == KEY_HOLDER
