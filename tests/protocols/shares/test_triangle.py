import numpy as np
import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import MismatchError
from sottovoce.protocols.shares import triangle
from sottovoce.protocols.shares.triangle import Triangle


@pytest.mark.parametrize("side", [1, 2, 5, 8, 13])
def test_a_symmetric_matrix_comes_back(side: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle, "_MIRROR", 4)
    half = SeededEntropy(side).words(side, side)
    matrix = half + half.T
    shape = Triangle(side)
    packed = shape.pack(matrix)
    assert packed.shape == (shape.size,)
    assert (shape.unpack(packed) == matrix).all()
    assert (packed[shape.diagonal()] == np.diag(matrix)).all()
    assert (packed[shape.last_column()] == matrix[:, -1]).all()
    again = np.ones_like(matrix)
    assert shape.unpack(packed, out=again) is again
    assert (again == matrix).all()


def test_parts_of_a_message_join_to_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triangle, "MESSAGE_WORDS", 7)
    shape = Triangle(6)
    packed = np.arange(shape.size, dtype=np.uint64)
    parts = [packed[part] for part in Triangle.messages(shape.size)]
    assert [len(part) for part in parts] == [7, 7, 7]
    assert (np.concatenate(parts) == packed).all()


def test_panels_are_all_rows_in_order() -> None:
    for side, words in ((1, 1), (6, 7), (6, 1000), (9, 1)):
        shape = Triangle(side)
        panels = list(shape.panels(words))
        assert [row for panel in panels for row in panel] == list(range(side))
        sizes = [shape.start(panel.stop) - shape.start(panel.start) for panel in panels]
        assert all(
            size <= words or len(panel) == 1 for size, panel in zip(sizes, panels, strict=True)
        )


def test_wrong_shapes_are_named() -> None:
    with pytest.raises(MismatchError, match=r"matrix of 3 × 3, found \(2, 3\)"):
        Triangle(3).pack(np.zeros((2, 3), np.uint64))
    with pytest.raises(MismatchError, match=r"6 words for a side of 3, found shape \(7,\)"):
        Triangle(3).unpack(np.zeros(7, np.uint64))
