"""What blocks cost is measured for each of them."""

import pytest

from benchmarks.studies.blocks import BlockTrial


@pytest.mark.soak
def test_every_block_adds_columns_and_bytes() -> None:
    rows = list(BlockTrial(250, features=64, tail=32, kernel=16).rows())
    assert [row["columns"] for row in rows] == [65, 97, 113]
    sent = [float(str(row["sent_mb"])) for row in rows]
    assert sent == sorted(sent)
    assert rows[-1]["blocks"] == "words, tail, kernel"
