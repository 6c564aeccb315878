"""Residues on the wire: one encoding, and every residue below its prime."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from sottovoce.errors import MalformedError
from sottovoce.numbers.residues import PRIMES, Base
from sottovoce.wire import Codec, Residues


@given(count=st.integers(1, 7), sides=st.lists(st.integers(0, 7), max_size=3))
def test_planes_come_back(count: int, sides: list[int]) -> None:
    planes = Base(count).draw(SeededEntropy(1), *sides)
    codec = Codec()
    read = codec.decode(codec.encode(Residues.of(planes)), Residues)
    assert (read.planes() == planes).all()
    assert read.shape == planes.shape


def test_a_residue_takes_21_bits() -> None:
    planes = Base(7).draw(SeededEntropy(1), 3000)
    assert len(Residues.of(planes).data) == 7 * 3000 * 8 // 3


@pytest.mark.parametrize(
    ("shape", "size"), [((), 0), ((0,), 0), ((8, 1), 24), ((1, -1), 0), ((2, 2), 8), ((1,) * 9, 8)]
)
def test_shapes_that_cannot_be_are_refused(shape: tuple[int, ...], size: int) -> None:
    with pytest.raises(ValueError, match="residues: expected"):
        Residues(shape, bytes(size))


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (PRIMES[0], f"below {PRIMES[0]}, found {PRIMES[0]}"),
        (PRIMES[1] << 21, f"below {PRIMES[1]}, found {PRIMES[1]}"),
        (1 << 42, "nothing after the last one"),
        (1 << 63, "top bit"),
    ],
)
def test_a_residue_out_of_range_is_refused(word: int, message: str) -> None:
    with pytest.raises(MalformedError, match=message):
        Residues((2, 1), word.to_bytes(8, "little")).planes()


def test_a_size_that_no_array_has_is_refused() -> None:
    with pytest.raises(ValueError, match="sides that an array can have"):
        Residues((1, 0, 2**41), b"")


def test_nothing_of_it_is_shown() -> None:
    assert repr(Residues.of(np.ones((2, 3), np.uint32))) == "Residues(shape=(2, 3))"
