"""For every kind of question: what the key holder decrypts is noise, and one forgotten mask shows.

Questions of products are looked at here; the others in the tests of their own protocols.
"""

import pkgutil
from importlib import import_module

import pytest

import sottovoce.protocols.two_party
from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import masked_values, sealed, talk
from sottovoce.numbers.fixed import Scale
from sottovoce.protocols.messages import Question, message_kinds
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.matrices import (
    FixedFactor,
    FixedFactors,
    MaskedRows,
    matrix_product,
)
from sottovoce.protocols.two_party.products import (
    MaskedColumnAndRow,
    MaskedFactors,
    MaskedVectors,
    inner_product,
    multiply,
    outer_product,
    product_rules,
)

KEY = toy_key()
COUNT = 70
SCALE = Scale(8, 2**20)
MASKING = Masking(40)
BITS = SCALE.bits + 40
X, Y = sealed([7] * COUNT, SCALE), sealed([-9] * COUNT, SCALE)
SHORT = sealed([5, 5], SCALE)
COLUMN = sealed([[3]] * COUNT, SCALE)


def products(program):
    return talk(KEY, program, [product_rules(KEY, budget=1, entropy=SeededEntropy(5))])


def matrices(program):
    return talk(KEY, program, [FixedFactors(KEY).rules(budget=1, entropy=SeededEntropy(5))])


# The program, who answers it, the question and its field, and how many masks are drawn before.
CASES = [
    (lambda e: multiply(X, Y, entropy=e, masking=MASKING), products, MaskedFactors, "left", 0),
    (lambda e: multiply(X, Y, entropy=e, masking=MASKING), products, MaskedFactors, "right", COUNT),
    (lambda e: inner_product(X, Y, entropy=e, masking=MASKING), products, MaskedVectors, "left", 0),
    (
        lambda e: inner_product(X, Y, entropy=e, masking=MASKING),
        products,
        MaskedVectors,
        "right",
        COUNT,
    ),
    (
        lambda e: outer_product(X, SHORT, entropy=e, masking=MASKING),
        products,
        MaskedColumnAndRow,
        "left",
        0,
    ),
    (
        lambda e: outer_product(SHORT, Y, entropy=e, masking=MASKING),
        products,
        MaskedColumnAndRow,
        "right",
        2,
    ),
    (
        lambda e: matrix_product(X, COLUMN, entropy=e, masking=MASKING),
        matrices,
        MaskedRows,
        "rows",
        0,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[2].__name__}.{case[3]}")
def test_masked_operands_are_noise_and_one_forgotten_mask_shows(case) -> None:
    program, answered, kind, name, before = case

    def seen(entropy):
        outcome = answered(program(entropy))

        def pick(message):
            return getattr(message, name) if isinstance(message, kind) else None

        values = masked_values(outcome, KEY, pick)
        bound, modulus = KEY.public.plaintext_bound, KEY.public.modulus
        return [(v - modulus if v > bound else v) % 2**BITS for v in values]

    assert_looks_uniform(seen(SeededEntropy(7)), 2**BITS)
    forgetful = ForgetfulEntropy(7, bits=BITS, which=before + 4)
    assert_shows_structure(seen(forgetful), 2**BITS)
    assert forgetful.forgot


class ForgetsAnElement(SeededEntropy):
    """Draws 0 as the fifth element of Z_N."""

    elements = 0

    def below(self, bound):
        drawn = super().below(bound)
        self.elements += bound == KEY.public.modulus
        return 0 if self.elements == 5 and bound == KEY.public.modulus else drawn


def test_a_fixed_operand_is_uniform_and_one_forgotten_element_shows() -> None:
    def seen(entropy):
        outcome = matrices(matrix_product(X, COLUMN, entropy=entropy, masking=MASKING))

        def pick(message):
            return message.matrix if isinstance(message, FixedFactor) else None

        return masked_values(outcome, KEY, pick)

    assert_looks_uniform(seen(SeededEntropy(7)), KEY.public.modulus)
    assert_shows_structure(seen(ForgetsAnElement(7)), KEY.public.modulus)


def test_no_kind_of_question_is_left_out() -> None:
    package = sottovoce.protocols.two_party
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        import_module(module.name)
    asked = {
        kind.__name__
        for kind in message_kinds()
        if issubclass(kind, Question) and kind.__module__.startswith(package.__name__)
    }
    here = {case[2].__name__ for case in CASES} | {"FixedFactor"}
    elsewhere = {
        "MaskedTruncation",  # test_truncation, test_logarithm
        "MaskedDirection",  # test_solve
        "MaskedLines",  # test_lines, test_exponential, test_division
        "MaskedNumbers",  # test_comparison
        "BlindedTests",  # test_comparison
        "SealedTests",  # test_comparison
        "OwnFactor",  # test_own_masks
        "OwnDirection",  # test_own_masks
        "MaskedMoments",  # test_moment_check
    }
    assert asked == here | elsewhere
