import numpy as np
import pytest

from harness.examples.text_moments import text_moments
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.ring import decode
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import System
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.triangle import Triangle


def test_contributions_of_peers_add_up_to_that_of_all() -> None:
    moments = text_moments(300, 20, 3)
    scales = MomentScales.fit(weight=300, row_norm=1.05, penalty=1.0)
    parts = [slice(0, 100), slice(100, 130), slice(130, 300)]
    words = [
        scales.encode(
            moments.rows[part].T @ moments.rows[part], moments.rows[part].T @ moments.targets[part]
        )
        for part in parts
    ]
    matrix, vectors = (np.add.reduce(column) for column in zip(*words, strict=True))
    tolerance = 2.0**-scales.matrix.fraction_bits * len(parts)
    decoded = decode(Triangle(20).unpack(matrix), scales.matrix)
    assert np.allclose(decoded, moments.second, rtol=0, atol=tolerance)
    assert np.allclose(decode(vectors, scales.vectors), moments.products, rtol=0, atol=tolerance)


@pytest.mark.parametrize("weight", [1, 50, 10_000, 10**6, 10**9])
def test_a_solve_has_room_for_them_even_where_one_eigenvalue_is_the_whole_trace(
    weight: float,
) -> None:
    scales = MomentScales.fit(weight=weight, penalty=weight / 1000)
    plan = ShareSolvePlan.fit(
        System(2048, 12, weight, weight / 1000, weight * 1.001),
        matrix_bits=scales.matrix.fraction_bits,
        vector_bits=scales.vectors.fraction_bits,
    )
    assert plan.lift >= 0


def test_what_does_not_fit_is_refused() -> None:
    scales = MomentScales.fit(weight=10, penalty=1.0)
    with pytest.raises(MismatchError, match=r"shape \(3, 2\) and products of shape \(3, 1\)"):
        scales.encode(np.zeros((3, 2)), np.zeros((3, 1)))
    with pytest.raises(BoundError):
        scales.encode(np.full((1, 1), 1e6), np.zeros((1, 1)))
    with pytest.raises(InputError, match="weight and a length of rows above 0, found 0 and 1"):
        MomentScales.fit(weight=0, penalty=1.0)
    with pytest.raises(InputError, match=r"from 1 to 1e.12 leaves no fraction bits"):
        MomentScales.fit(weight=1e12, penalty=1.0)
    with pytest.raises(InputError, match="a penalty above 0, found 0"):
        MomentScales.fit(weight=10, penalty=0)


def test_an_agreed_ceiling_makes_them_finer() -> None:
    coarse = MomentScales.fit(weight=10_000, penalty=1.0)
    fine = MomentScales.fit(weight=10_000, penalty=1.0, ceiling=150.0)
    assert fine.matrix.fraction_bits >= coarse.matrix.fraction_bits + 6
