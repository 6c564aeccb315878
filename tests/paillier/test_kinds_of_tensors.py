"""Which operations give a ciphertext that may be sent, and what a tensor's repr shows."""

import copy
import pickle
from collections.abc import Callable

import pytest

from paillier.test_mistakes import COVERED, ROWS, SLOTS, SYMMETRIC, X, plain, sealed
from sottovoce.errors import MisuseError
from sottovoce.paillier import Ciphertext, SparseRows, Unsent, outer, stack, total


def test_unsent_tensors_have_no_way_out_but_fresh() -> None:
    stale = X + X
    assert isinstance(stale, Unsent)
    for name in ("to_bytes", "__bytes__", "expected"):
        assert not hasattr(stale, name)
    with pytest.raises(MisuseError, match="never pickled"):
        pickle.dumps(stale)
    with pytest.raises(MisuseError, match="never pickled"):
        pickle.dumps(X)
    assert copy.deepcopy(stale) is stale


@pytest.mark.parametrize(
    "act",
    [
        lambda: X + X,
        lambda: -X,
        lambda: X * 1,
        lambda: X + plain([0, 0, 0]),
        X.sum,
        lambda: X.packed(SLOTS),
        lambda: X.cover([0, 0, 0]),
        X.halved,
        lambda: stack([X, X]),
        lambda: total([X]),
        lambda: plain([[1, 0, 0]]) @ X,
        lambda: X @ plain([1, 0, 0]),
        lambda: SparseRows.of_words([[0]], width=3, reach=1) @ X,
        lambda: outer(X, plain([1])),
    ],
)
def test_every_operation_gives_an_unsent_tensor(act: Callable[[], object]) -> None:
    assert type(act()) is Unsent


@pytest.mark.parametrize(
    "act",
    [
        lambda: X[1],
        lambda: X[:2],
        lambda: X.reshaped(3, 1),
        lambda: X.reshaped(3, 1).T,
        lambda: X.divided(2),
    ],
)
def test_taking_parts_keeps_a_ciphertext_a_ciphertext(act: Callable[[], object]) -> None:
    assert type(act()) is Ciphertext


def test_plaintexts_and_words_do_not_show_their_values() -> None:
    assert "471" not in repr(plain([471]))
    assert "17" not in repr(SparseRows.of_words([[17, 17]], width=99, reach=5))


def test_a_tensor_says_what_it_is() -> None:
    assert repr(ROWS).startswith("Ciphertext(2 × 3 in 15 slots of 32 bits; Scale(")
    assert "symmetric" in repr(SYMMETRIC)
    assert "covered" in repr(COVERED)
    assert "scalar" in repr(sealed(1))
    assert str(X.residues[0]) not in repr(X)
