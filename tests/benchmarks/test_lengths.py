"""`bench long-plaintexts` checks every product and says what a ciphertext weighs."""

import pytest

from benchmarks.arithmetic.lengths import LENGTHS, measure
from harness.keys import toy_key


def test_every_length_has_a_row_and_longer_plaintexts_waste_fewer_bytes() -> None:
    rows = measure(toy_key(bits=768), rounds=1)
    assert [row["s"] for row in rows] == list(LENGTHS)
    sent = [row["bytes sent for a byte"] for row in rows]
    assert sent == pytest.approx([(s + 1) / s for s in LENGTHS], rel=0.01)
    assert all(row["decrypt, kbit/s"] > 0 for row in rows)
