import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sottovoce.errors import MismatchError
from sottovoce.numbers.row_products import reference, row_products


@pytest.mark.parametrize("kind", [np.uint32, np.uint64])
@pytest.mark.parametrize("classes", [1, 2, 6, 7, 20])
def test_products_of_rows_are_numpys_own(kind: type[np.unsignedinteger], classes: int) -> None:
    rng = np.random.default_rng(classes)
    top = int(np.iinfo(kind).max)
    for features in (1, 2, 65, 2050):
        rows = rng.integers(0, top, size=(33, features), dtype=kind, endpoint=True)
        columns = rng.integers(0, top, size=(features, classes), dtype=kind, endpoint=True)
        rows[0], columns[:, 0] = top, top
        assert (row_products(rows, columns) == reference(rows, columns)).all()


def test_more_features_than_a_sum_of_limbs_is_long() -> None:
    rows = np.full((2, 2**16 + 3), 2**32 - 1, np.uint32)
    columns = np.full((2**16 + 3, 8), 2**32 - 1, np.uint32)
    assert (row_products(rows, columns) == reference(rows, columns)).all()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=8, max_size=8))
def test_any_words(values: list[int]) -> None:
    rows = np.array(values, np.uint32).reshape(2, 4)
    columns = np.resize(rows[::-1], (4, 9)).astype(np.uint32)
    assert (row_products(rows, columns) == reference(rows, columns)).all()


def test_words_of_different_sizes_do_not_multiply() -> None:
    with pytest.raises(MismatchError, match="do not multiply"):
        row_products(np.zeros((1, 2), np.uint32), np.zeros((2, 1), np.uint64))
    with pytest.raises(MismatchError, match="do not multiply"):
        row_products(np.zeros((1, 2), np.uint32), np.zeros((3, 1), np.uint32))
