"""Matrices cut and multiplied in one trip equal their ideals, and show the key holder noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.entropy import ForgetfulEntropy, SeededEntropy
from harness.keys import toy_key
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.two_party import addressed, codec_for, opened, sealed, talk
from sottovoce.errors import BoundError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.packing import Slots
from sottovoce.paillier import decrypt
from sottovoce.paper.inversion.crossed import (
    Crossed,
    Factors,
    MaskedMatrices,
    MaskedMatrix,
    MatrixCut,
    MatrixProducts,
    cut_and_multiply_matrices,
    matrix_rule,
)
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER, ask
from sottovoce.protocols.two_party.masks import Masking

KEY = toy_key(bits=768)
MASKING = Masking(40)
WHOLE = Scale(20, 2**24)
SLOTS = Slots(190, 4)
LONG = Scale(20, 2**80)


def run(program, *, budget=2, meddler=None):
    rules = [[matrix_rule(KEY, budget=budget, entropy=SeededEntropy(5))]]
    return talk(KEY, program, rules, meddler=meddler)


def trip(cuts, products, *, entropy=None):
    return cut_and_multiply_matrices(
        cuts, products, masking=MASKING, entropy=entropy or SeededEntropy(4)
    )


def crossed(values, parts, seed=1):
    """A matrix in one part, or in two long ones whose sum is short."""
    whole = np.array(values, dtype=object)
    if parts == 1:
        return Crossed.of(sealed(whole, WHOLE, key=KEY, slots=SLOTS))
    rng = np.random.default_rng(seed)
    noise = np.array(
        [[int(rng.integers(-(2**60), 2**60)) << 19 for _ in row] for row in values], dtype=object
    )
    return Crossed(
        sealed(whole - noise, LONG, key=KEY, slots=SLOTS),
        sealed(noise.T, LONG, key=KEY, slots=SLOTS, seed=2),
        WHOLE,
    )


def cut_of(matrix, bits=12):
    return MatrixCut(matrix, bits, WHOLE.truncated(bits))


def whole_of(matrix):
    """What a matrix in parts stands for."""
    upright = np.array(opened(KEY, matrix.upright), dtype=object)
    if matrix.across is None:
        return upright
    return upright + np.array(opened(KEY, matrix.across), dtype=object).T


VALUES = st.integers(-(2**24), 2**24) | st.sampled_from([-(2**24), 2**24, 0, 1, -1])


@settings(max_examples=20)
@given(st.data(), st.integers(1, 5), st.sampled_from([1, 2]), st.integers(1, 20))
def test_values_and_products_equal_the_ideal(data, size, parts, bits) -> None:
    line = st.lists(VALUES, min_size=size, max_size=size)
    A, B = (data.draw(st.lists(line, min_size=size, max_size=size)) for _ in range(2))
    cuts = [cut_of(crossed(A, parts), bits), cut_of(crossed(B, 3 - parts, seed=3), bits)]
    outcome = run(trip(cuts, [Factors(0, 1), Factors(1, 1)]))
    result = outcome.results[EVALUATOR]
    p, q = (whole_of(value) for value in result.values)
    for whole, cut in ((A, p), (B, q)):
        assert np.isin(cut - (np.array(whole, dtype=object) >> bits), [0, 1]).all()
    assert (whole_of(result.products[0]) == p @ q).all()
    assert (whole_of(result.products[1]) == q @ q).all()
    assert outcome.traffic.trips(EVALUATOR, KEY_HOLDER) == 1 + 1  # and the goodbye


def seen(entropy):
    """Every slot that the key holder saw of a matrix in two parts."""
    size = 9
    matrix = crossed([[5] * size] * size, 2)
    outcome = run(trip([cut_of(matrix)], [], entropy=entropy))
    (question,) = outcome.views[KEY_HOLDER].of(MaskedMatrices)
    masked = question.matrices[0]
    upright, across = (decrypt(KEY, part).integers.astype(object) for part in masked.parts)
    total = (upright + across.T) % 2**masked.reach
    return {
        "upright": [v % 2 ** (LONG.bits + 40) for v in upright.ravel().tolist()],
        "across": [(v >> REACH) % 2**ABOVE for v in across.ravel().tolist()],
        "below": [v % 2**REACH for v in across.ravel().tolist()],
        "sum": [v % 2 ** (WHOLE.bits + 40) for v in total.ravel().tolist()],
    }


REACH = WHOLE.bits + 41
ABOVE = LONG.bits + 40 - REACH
BITS = {"upright": LONG.bits + 40, "across": ABOVE, "below": REACH, "sum": WHOLE.bits + 40}


def test_the_key_holder_sees_noise_in_both_parts_and_in_their_sum() -> None:
    for name, values in seen(SeededEntropy(7)).items():
        assert_looks_uniform(values, 2 ** BITS[name], what=name)


@pytest.mark.parametrize("name", ["upright", "across", "sum"])
def test_a_forgotten_mask_would_show(name) -> None:
    forgetful = ForgetfulEntropy(7, bits=BITS[name])
    values = seen(forgetful)[name]
    assert forgetful.forgot
    assert_shows_structure(values, 2 ** BITS[name])


def test_parts_without_room_raise_before_anything_is_sent() -> None:
    narrow = Slots(90, 4)
    matrix = sealed([[1]], LONG, key=KEY, slots=narrow)
    with pytest.raises(BoundError, match="over-full slot"):
        next(trip([cut_of(Crossed(matrix, matrix, WHOLE))], []))


ONE = addressed([[1]], WHOLE, key=KEY, slots=SLOTS)
OTHER = sealed([[1, 0], [0, 1]], WHOLE, key=KEY, slots=SLOTS)
TWO = addressed([[1, 0], [0, 1]], WHOLE, key=KEY, slots=SLOTS)


@pytest.mark.parametrize(
    "question",
    [
        MaskedMatrices((), ()),
        MaskedMatrices((MaskedMatrix((), 70, 12),), ()),
        MaskedMatrices((MaskedMatrix((ONE, ONE, ONE), 70, 12),), ()),
        MaskedMatrices((MaskedMatrix((ONE, TWO), 70, 12),), ()),
        MaskedMatrices((MaskedMatrix((ONE,), 70, 0),), ()),
        MaskedMatrices((MaskedMatrix((ONE,), 70, 21),), ()),
        MaskedMatrices((MaskedMatrix((ONE,), 5, 12),), ()),
        MaskedMatrices((MaskedMatrix((ONE,), 70, 12),), (Factors(0, 1),)),
        MaskedMatrices((MaskedMatrix((ONE,), 70, 12),), (Factors(-1, 0),)),
        MaskedMatrices((MaskedMatrix((addressed([[1]], WHOLE, key=KEY),), 70, 12),), ()),
        MaskedMatrices(
            (MaskedMatrix((addressed([[1, 2]], WHOLE, key=KEY, slots=SLOTS),), 70, 12),), ()
        ),
    ],
)
def test_wrong_questions_are_refused_naming_the_asker(question) -> None:
    def program():
        yield from ask(KEY_HOLDER, question)

    with pytest.raises(ViolationError, match="evaluator: MaskedMatrices out of range"):
        run(program())


@pytest.mark.parametrize(
    "edit",
    [
        lambda a: MatrixProducts((), a.columns, a.products),
        lambda a: MatrixProducts(a.rows, (), a.products),
        lambda a: MatrixProducts(a.rows, a.columns, ()),
        lambda a: MatrixProducts(a.products, a.columns, a.products),
        lambda a: MatrixProducts(a.rows, a.columns, a.rows),
        lambda a: MatrixProducts((OTHER,), a.columns, a.products),
    ],
)
def test_wrong_answers_are_refused_naming_the_key_holder(edit) -> None:
    meddler = rewriting(lambda p: is_kind(p, MatrixProducts), MatrixProducts, edit, codec_for(KEY))
    with pytest.raises(ViolationError, match="key holder: "):
        run(trip([cut_of(Crossed.of(ONE))], [Factors(0, 0)]), meddler=meddler)
    assert meddler.done == 1


def test_sums_and_multiples_act_on_both_parts() -> None:
    A, B = crossed([[3, -4], [5, 6]], 2), crossed([[1, 2], [3, 4]], 1)
    total = A.plus(B, WHOLE).times(-3, 0, WHOLE)
    assert whole_of(total).tolist() == [[-12, 6], [-24, -30]]
    assert whole_of(B.plus(A, WHOLE)).tolist() == [[4, -2], [8, 10]]
    assert whole_of(A.plus(A, WHOLE).negated()).tolist() == [[-6, 8], [-10, -12]]
    with pytest.raises(MismatchError, match="scales differ"):
        A.plus(Crossed.of(B.upright.divided(1)), WHOLE)
