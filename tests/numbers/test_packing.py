"""Slots at the extremes: every slot full, every sign, after the last addition that fits."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.numbers.packing import Slots, symmetric, triangle

SLOTS = st.builds(Slots, width=st.integers(2, 200), count=st.integers(1, 60))


@st.composite
def full(draw: st.DrawFn) -> tuple[Slots, list[int]]:
    """Slots, and values that like the edges."""
    slots = draw(SLOTS)
    edge = slots.bound
    value = st.sampled_from([edge, -edge, 0, 1, -1]) | st.integers(-edge, edge)
    return slots, draw(st.lists(value, max_size=slots.count))


@given(full())
def test_unpack_undoes_pack_and_packing_is_the_sum(case: tuple[Slots, list[int]]) -> None:
    slots, values = case
    packed = slots.pack(values)
    assert packed == sum(value << slots.width * i for i, value in enumerate(values))
    assert slots.unpack(packed, len(values)) == values
    assert slots.unpack(packed) == values + [0] * (slots.count - len(values))
    assert abs(packed) < 2 ** (slots.bits - 1)


@given(
    st.integers(0, 2**80),
    st.integers(1, 1000),
    st.integers(0, 70),
    st.integers(300, 3071),
    st.data(),
)
def test_the_width_holds_bound_additions_and_mask(
    bound: int, additions: int, mask_bits: int, plaintext_bits: int, data: st.DataObject
) -> None:
    slots = Slots.fit(
        bound, plaintext_bits=plaintext_bits, additions=additions, mask_bits=mask_bits
    )
    assert slots.bits <= plaintext_bits < slots.bits + slots.width
    signs = data.draw(
        st.lists(st.sampled_from([-1, 1]), min_size=slots.count, max_size=slots.count)
    )
    packed = slots.pack([sign * bound for sign in signs])
    total = additions * packed
    sums = [sign * bound * additions for sign in signs]
    assert slots.unpack(total) == sums
    if mask_bits:
        bits = (bound * additions).bit_length()
        lift = slots.pack([2**bits] * slots.count)
        for mask in (0, 2 ** (bits + mask_bits) - 1):
            masked = total + lift + slots.pack([mask] * slots.count)
            assert slots.unpack(masked) == [value + 2**bits + mask for value in sums]
            assert abs(masked) < 2 ** (plaintext_bits - 1)


def test_the_width_is_bound_additions_mask_and_two_bits() -> None:
    assert Slots.fit(2**20 - 1, plaintext_bits=3071) == Slots(21, 146)
    assert (
        Slots.fit(2**10 - 1, plaintext_bits=3071, additions=2**3, mask_bits=64).width == 13 + 64 + 2
    )
    assert Slots.fit(2**79 - 1, plaintext_bits=3071) == Slots(80, 38)
    assert Slots.fit(2**79 - 1, plaintext_bits=2047) == Slots(80, 25)


@given(full(), st.data())
def test_packed_arithmetic_equals_arithmetic_slot_by_slot(
    case: tuple[Slots, list[int]], data: st.DataObject
) -> None:
    slots, _ = case
    bound = slots.bound // data.draw(st.integers(2, 5))
    value = st.sampled_from([bound, -bound, 0]) | st.integers(-bound, bound)
    xs = data.draw(st.lists(value, max_size=3 * slots.count))
    ys = data.draw(st.lists(value, min_size=len(xs), max_size=len(xs)))
    a, b = slots.pack_all(xs), slots.pack_all(np.array(ys, dtype=object))
    sums = [left + right for left, right in zip(a, b, strict=True)]
    assert slots.unpack_all(sums, len(xs)) == [x + y for x, y in zip(xs, ys, strict=True)]
    for factor in (0, 1, -1, slots.bound // max(bound, 1), -(slots.bound // max(bound, 1))):
        products = [plaintext * factor for plaintext in a]
        assert slots.unpack_all(products, len(xs)) == [x * factor for x in xs]
        assert len(products) == slots.plaintexts_for(len(xs))


def test_bad_values_are_refused_by_name() -> None:
    slots = Slots(8, 3)
    for over in (128, -128, 10**30):
        with pytest.raises(BoundError, match=r"over-full slot 1, expected magnitudes below 2\^7"):
            slots.pack([0, over])
    with pytest.raises(BoundError, match="expected at most 3 values, found 4"):
        slots.pack([0] * 4)
    for bad in ([1.5], ["1"], np.array([1.0]), np.zeros((2, 2), dtype=np.int64)):
        with pytest.raises(InputError, match="pack: expected"):
            slots.pack(bad)  # type: ignore[arg-type]
    with pytest.raises(BoundError, match="pack: over-full slot, 8 bits and a sign"):
        slots.check_holds(128, "pack")


def test_bad_plaintexts_are_refused_by_name() -> None:
    slots = Slots(8, 3)
    for over in (2**23, -(2**23) - 2**15 - 2**7 - 1):
        with pytest.raises(BoundError, match="unpack: over-full plaintext"):
            slots.unpack(over)
    with pytest.raises(BoundError, match="over-full plaintext, 9 bits do not fit into 1 slots"):
        slots.unpack(256, 1)
    with pytest.raises(BoundError, match="unpack: over-full slot 1"):
        slots.unpack(-128 << 8)
    with pytest.raises(InputError, match="unpack: expected up to 3 slots, found 4"):
        slots.unpack(0, 4)
    with pytest.raises(MismatchError, match="7 values fill 3 plaintexts of 3 slots, found 2"):
        slots.unpack_all([0, 0], 7)


def test_slots_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="slots: expected a width"):
        Slots(1, 1)
    with pytest.raises(InputError, match="slots: expected a width"):
        Slots(8, 0)
    for width, count in ((2**16, 1), (2, 2**15), (10**12, 10**12)):
        with pytest.raises(InputError, match="at most 65535 bits in all"):
            Slots(width, count)
    with pytest.raises(BoundError, match="one slot needs 100 bits, the plaintext has 99"):
        Slots.fit(2**99 - 1, plaintext_bits=99)
    for bound, additions, mask_bits in ((-1, 1, 0), (1, 0, 0), (1, 1, -1)):
        with pytest.raises(InputError, match="slots: expected a bound"):
            Slots.fit(bound, plaintext_bits=99, additions=additions, mask_bits=mask_bits)


@pytest.mark.parametrize(("width", "count"), [(77, 39), (80, 38), (77, 850)])
def test_time_grows_with_the_number_of_values_not_with_its_square(width: int, count: int) -> None:
    slots = Slots(width, count)

    def spent(length: int) -> float:
        values = [(-1) ** i * (slots.bound - i) for i in range(length)]
        start = time.process_time()
        assert slots.unpack_all(slots.pack_all(values), length) == values
        return time.process_time() - start

    spent(1000)
    # Eight times the values: a square would take 64 times as long.
    assert min(spent(80_000) for _ in range(2)) < 30 * max(spent(10_000) for _ in range(3))


@given(st.integers(0, 12), st.sampled_from([np.int64, np.uint64, np.object_]))
def test_a_symmetric_matrix_is_its_upper_triangle(size: int, dtype: type) -> None:
    square = np.arange(size * size).reshape(size, size).astype(dtype)
    matrix = square + square.T
    entries = triangle(matrix)
    rows, columns = np.triu_indices(size)
    assert entries.tolist() == matrix[rows, columns].tolist()
    assert entries.dtype == matrix.dtype
    assert np.array_equal(symmetric(entries, size), matrix)


def test_matrices_that_are_not_symmetric_are_refused() -> None:
    with pytest.raises(MismatchError, match=r"found \(0, 1\) unlike \(1, 0\)"):
        triangle(np.array([[1, 2], [3, 4]]))
    with pytest.raises(MismatchError, match=r"expected a square matrix, found shape \(2, 3\)"):
        triangle(np.zeros((2, 3), dtype=np.int64))
    with pytest.raises(MismatchError, match="expected 6 entries for size 3, found shape"):
        symmetric(np.zeros(5, dtype=np.int64), 3)
