"""Fixed point against python integers and fractions, at the extremes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.fixed import Scale, check_integers, decode, encode

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
FRACTIONS = st.integers(0, 90)
BOUNDS = st.one_of(
    st.integers(0, 100),
    st.sampled_from(
        [2**k + j for k in (31, 52, 53, 54, 62, 63, 64, 200, 1022, 1100) for j in (-1, 0, 1)]
    ),
)


def ideal(value: float, scale: Scale) -> int:
    return round(Fraction(value) * 2**scale.fraction_bits)


@given(
    hnp.arrays(np.float64, SHAPES, elements=st.floats(allow_nan=False, allow_infinity=False)),
    FRACTIONS,
    BOUNDS,
)
def test_encode_equals_exact_rounding_or_raises(values: np.ndarray, f: int, bound: int) -> None:
    scale = Scale(f, bound)
    wanted = [ideal(value, scale) for value in values.ravel().tolist()]
    if any(abs(value) > bound for value in wanted):
        with pytest.raises(BoundError, match="encode: expected magnitudes up to"):
            encode(values, scale)
        return
    encoded = encode(values, scale)
    assert encoded.shape == values.shape
    assert encoded.dtype == (np.int64 if bound < 2**63 else object)
    assert [int(value) for value in encoded.ravel().tolist()] == wanted
    assert all(type(value) is int for value in encoded.ravel().tolist())


@given(st.data(), FRACTIONS, BOUNDS)
def test_values_at_the_bound_go_in_and_the_next_raise(
    data: st.DataObject, f: int, bound: int
) -> None:
    scale = Scale(f, bound)
    for sign in (1, -1):
        edge = np.array([Fraction(0), Fraction(sign * bound, 2**f)], dtype=object)
        assert encode(edge, scale)[1] == sign * bound
        over = np.array([Fraction(0), Fraction(sign * (bound + 1), 2**f)], dtype=object)
        with pytest.raises(BoundError, match="at index 1"):
            encode(over, scale)


@given(
    hnp.arrays(st.sampled_from([np.int8, np.uint8, np.int64, np.uint64, np.bool_]), SHAPES),
    FRACTIONS,
    BOUNDS,
)
def test_integers_are_shifted_exactly_or_raise(values: np.ndarray, f: int, bound: int) -> None:
    scale = Scale(f, bound)
    wanted = [int(value) << f for value in values.ravel().tolist()]
    if any(abs(value) > bound for value in wanted):
        with pytest.raises(BoundError):
            encode(values, scale)
    else:
        assert encode(values, scale).ravel().tolist() == wanted


@pytest.mark.parametrize(
    ("value", "wanted"), [(0.5, 0), (1.5, 2), (2.5, 2), (-0.5, 0), (-1.5, -2), (0.75, 1)]
)
def test_ties_go_to_the_even_neighbour(value: float, wanted: int) -> None:
    assert encode(value, Scale(0, 10)) == wanted
    assert encode(np.array([value], dtype=object), Scale(0, 10))[0] == wanted
    assert encode(np.longdouble(value), Scale(0, 10)) == wanted


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.longdouble])
def test_other_floats_are_exact_too(dtype: type) -> None:
    values = np.array([0.1, -3.0, 1 / 3], dtype=dtype)
    wanted = [round(Fraction(*value.as_integer_ratio()) * 2**70) for value in values]
    assert encode(values, Scale(70, 2**80)).tolist() == wanted


@given(st.lists(st.integers(-(2**300), 2**300), max_size=5), st.integers(0, 1300))
def test_decode_is_the_nearest_float(integers: list[int], f: int) -> None:
    scale = Scale(f, 2**300)
    decoded = decode(np.array(integers, dtype=object), scale)
    assert decoded.dtype == np.float64
    assert decoded.tolist() == [float(Fraction(value, 2**f)) for value in integers]


@given(hnp.arrays(np.int64, SHAPES), st.integers(0, 1300))
def test_decode_of_int64_is_the_nearest_float(integers: np.ndarray, f: int) -> None:
    decoded = decode(integers, Scale(f, 2**63))
    wanted = [float(Fraction(value, 2**f)) for value in integers.ravel().tolist()]
    assert decoded.shape == integers.shape
    assert decoded.ravel().tolist() == wanted


@given(hnp.arrays(np.float64, SHAPES, elements=st.floats(-1e6, 1e6)), st.integers(0, 40))
def test_decode_undoes_encode_to_half_a_step(values: np.ndarray, f: int) -> None:
    scale = Scale.covering(1e6, fraction_bits=f)
    back = decode(encode(values, scale), scale)
    assert np.all(np.abs(back - values) <= 2.0 ** -(f + 1))


@given(
    st.integers(0, 2**70), st.integers(0, 2**70), st.integers(0, 20), st.integers(0, 9), st.data()
)
def test_bounds_hold_for_every_chain_of_operations(
    a: int, b: int, f: int, count: int, data: st.DataObject
) -> None:
    left, right = Scale(f, a), Scale(f, b)
    x = data.draw(st.sampled_from([-a, a]))
    y = data.draw(st.sampled_from([-b, b]))
    worst = {
        left.plus(right): a + b,
        left.minus(right): a + b,
        left.times(right): a * b,
        left.times_integer(count): a * count,
        left.sum_of(count): a * count,
        left.dot(right, count): a * b * count,
        left.refined(count): a << count,
        left.negated(): a,
    }
    for scale, magnitude in worst.items():
        assert scale.bound == magnitude
    assert abs(x + y) <= left.plus(right).bound
    assert abs(x - y) <= left.minus(right).bound
    assert left.times(right).fraction_bits == 2 * f
    assert left.refined(count).fraction_bits == f + count
    cut = left.truncated(min(count, f))
    for result in (x >> min(count, f), (x >> min(count, f)) + 1):
        assert abs(result) <= cut.bound


def test_an_overflow_is_named_before_it_happens() -> None:
    scale = Scale(20, 2**40)
    assert scale.plus(scale).check_fits(2**62, "plus") == Scale(20, 2**41)
    with pytest.raises(
        BoundError, match=r"matvec: needs magnitudes up to 2\^89, the limit is 4611686018427387904"
    ):
        scale.dot(scale, 2**8).check_fits(2**62, "matvec")
    with pytest.raises(BoundError, match="sum: needs magnitudes up to 9, the limit is 8"):
        Scale(0, 3).sum_of(3).check_fits(8, "sum")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_named_with_its_place(bad: float) -> None:
    values = np.zeros((3, 4))
    values[2, 1] = bad
    for array in (values, values.astype(object), values.astype(np.longdouble)):
        with pytest.raises(InputError, match=rf"found {bad} at index \(2, 1\)"):
            encode(array, Scale(8, 2**70))
    with pytest.raises(InputError, match=f"found {bad}$"):
        encode(bad, Scale(8, 100))


def test_a_value_over_the_bound_is_named_with_its_place() -> None:
    with pytest.raises(
        BoundError, match=r"expected magnitudes up to 256 at 8 fraction bits, found 1\.5 at index 2"
    ):
        encode([0.0, -1.0, 1.5], Scale(8, 256))
    with pytest.raises(BoundError, match=r"found 1e\+300 at index \(0, 1\)"):
        encode([[0.0, 1e300]], Scale(900, 2**62))
    with pytest.raises(BoundError, match="found 18446744073709551615 at index 0"):
        encode(np.array([2**64 - 1], dtype=np.uint64), Scale(0, 2**63 - 1))
    with pytest.raises(BoundError, match=f"found {-(2**63)} at index 0"):
        encode(np.array([-(2**63)]), Scale(0, 2**63 - 1))


@pytest.mark.parametrize(
    "bad", [["1.5"], [1j], [None], [object()], np.array(["2020-01-01"], dtype="M8[D]")]
)
def test_what_is_not_a_number_is_refused(bad: object) -> None:
    with pytest.raises(InputError, match="encode: expected a"):
        encode(bad, Scale(8, 256))  # type: ignore[arg-type]


def test_decode_refuses_what_the_scale_rules_out() -> None:
    with pytest.raises(
        BoundError,
        match="decode: expected magnitudes up to 4 at 1 fraction bits, found -5 at index 1",
    ):
        decode([0, -5], Scale(1, 4))
    with pytest.raises(
        InputError, match="decode: expected an array of integers, found dtype float64"
    ):
        decode([0.0], Scale(1, 4))
    with pytest.raises(InputError, match=r"decode: expected an integer at index 1, found 0\.5"):
        decode(np.array([1, 0.5], dtype=object), Scale(1, 4))
    with pytest.raises(BoundError, match="decode: a float64 cannot hold a value of 1101 bits"):
        decode(np.array([2**1100], dtype=object), Scale(0, 2**1100))


def test_checked_integers_come_back_as_int64_or_plain_integers() -> None:
    assert check_integers(np.array([3], dtype=np.uint8), Scale(0, 3), "x").dtype == np.int64
    wide = check_integers(np.array([2**64 - 1], dtype=np.uint64), Scale(0, 2**64), "x")
    assert wide.dtype == object
    assert type(wide[0]) is int
    mixed = check_integers(np.array([np.int8(1), 2], dtype=object), Scale(0, 3), "x")
    assert [type(value) for value in mixed] == [int, int]


def test_different_grids_do_not_mix() -> None:
    for what in ("plus", "minus"):
        with pytest.raises(MismatchError, match=f"{what}: scales differ, 8 fraction bits beside 9"):
            getattr(Scale(8, 1), what)(Scale(9, 1))


def test_scales_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="expected fraction_bits of at least 0, found -1"):
        Scale(-1, 1)
    with pytest.raises(InputError, match="expected bound of at least 0, found -1"):
        Scale(1, -1)
    with pytest.raises(InputError, match=r"expected an integer for bound, found 1\.5"):
        Scale(1, 1.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected a finite magnitude of at least 0, found nan"):
        Scale.covering(float("nan"), fraction_bits=3)
    with pytest.raises(InputError, match="expected a finite magnitude of at least 0, found -1"):
        Scale.covering(-1, fraction_bits=3)
    with pytest.raises(BoundError, match="truncated: 9 bits are more than the 8 behind the point"):
        Scale(8, 1).truncated(9)
    with pytest.raises(InputError, match="expected sum_of: count of at least 0, found -2"):
        Scale(8, 1).sum_of(-2)


def test_scales_from_elsewhere_cannot_make_us_shift_for_ever() -> None:
    for f, bound in ((2**17, 1), (10**15, 1), (1, 1 << 2**17)):
        with pytest.raises(BoundError, match="scale: expected at most 65535 bits, found"):
            Scale(f, bound)
    for attempt in (
        lambda: Scale(1, 1).refined(10**15),
        lambda: Scale(40_000, 1).times(Scale(40_000, 1)),
    ):
        with pytest.raises(BoundError, match="scale: expected at most 65535 bits, found"):
            attempt()
    with pytest.raises(BoundError, match="scale: expected at most 65535 bits"):
        Scale.covering(1.0, fraction_bits=10**15)


def test_a_scalar_is_an_array_without_dimensions() -> None:
    for value in (1, 1.0, True, Fraction(1)):
        for bound in (2**10, 2**70):
            encoded = encode(value, Scale(3, bound))
            assert isinstance(encoded, np.ndarray)
            assert (encoded.shape, encoded.tolist()) == ((), 8)
            assert isinstance(decode(encoded, Scale(3, bound)), np.ndarray)


def test_floats_whose_integers_no_float_could_hold_are_exact() -> None:
    scale = Scale(200, 2**1200)
    assert encode([1e300, -0.1], scale).tolist() == [ideal(1e300, scale), ideal(-0.1, scale)]


def test_a_magnitude_beyond_floats_is_covered() -> None:
    assert Scale.covering(Fraction(10**400), fraction_bits=1).bound == 2 * 10**400
    assert Scale.covering(10**400, fraction_bits=1).bound == 2 * 10**400


def test_numpy_integers_do_not_wrap_inside_a_scale() -> None:
    scale = Scale(np.int64(4), np.int64(2**62))  # type: ignore[arg-type]
    assert scale.times(scale).bound == 2**124
    assert type(scale.bound) is int
    assert scale.bits == 63
    assert type(Scale(True, True).bound) is int  # noqa: FBT003 - what a careless caller does


def test_the_covering_scale_takes_its_ends() -> None:
    scale = Scale.covering(0.3, fraction_bits=4)
    assert encode([0.3, -0.3], scale).tolist() == [5, -5]
    assert scale == Scale(4, 5)
