import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import MisuseError
from sottovoce.protocols.shares.rings import RING64, Ring


def test_words_read_as_integers_of_either_sign() -> None:
    ring = Ring(5)
    values = np.arange(-16, 16)
    words = ring.reduce(values.astype(np.int64).view(np.uint64))
    assert words.max() < 32
    assert (ring.signed(words) == values).all()
    assert (ring.top(words) == (values < 0)).all()
    assert (ring.low(words) == values % 16).all()
    assert RING64.signed(np.array([2**64 - 3], np.uint64))[0] == -3


def test_drawn_words_stay_in_the_ring_and_fill_it() -> None:
    assert set(Ring(3).draw(SeededEntropy(), 500).tolist()) == set(range(8))


@pytest.mark.parametrize("bits", [2, 65])
def test_a_ring_has_3_to_64_bits(bits: int) -> None:
    with pytest.raises(MisuseError, match=f"3 to 64 bits, found {bits}"):
        Ring(bits)


def test_spread_words_are_the_same_in_their_ring_and_fill_the_word() -> None:
    """A sum of shares below 2^bits would tell how many of them ran over."""
    ring, entropy = Ring(12), SeededEntropy(1)
    words = ring.draw(entropy, 4, 500)
    spread = ring.spread(words, entropy)
    assert (ring.reduce(spread) == words).all()
    over = spread.sum(axis=0) >> np.uint64(ring.bits)
    assert (over > len(words)).all()
    assert 0.4 < np.mean(over >> np.uint64(51)) < 0.6
    assert (RING64.spread(words, entropy) == words).all()
