"""The paper's table: UCI Ionosphere, shipped with its source and licence, checked by its hash.

V. Sigillito, S. Wing, L. Hutton and K. Baker (1989), doi 10.24432/C5W01B, CC BY 4.0;
`ionosphere.LICENSE.md` beside the data says it in full.
"""

import hashlib
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError

_FILE = "ionosphere.data"
_SHA256 = "46d52186b84e20be52918adb93e8fb9926b34795ff7504c24350ae0616a04bbd"
_ROWS, _FEATURES, _TRAIN = 351, 34, 200


@dataclass(frozen=True, eq=False)
class LabelledTable:
    """Numbers with a label a row: `y` is +1 or −1, and `labels` says what they are called."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    feature_names: tuple[str, ...]
    labels: tuple[str, str]
    """The names of −1 and of +1."""

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.y)

    def rows(self, chosen: slice) -> "LabelledTable":
        """The same table with the `chosen` rows alone."""
        return LabelledTable(self.X[chosen], self.y[chosen], self.feature_names, self.labels)


@dataclass(frozen=True, eq=False)
class Ionosphere(LabelledTable):
    """351 radar returns, 34 numbers each; good returns are +1. Column 2 is constant 0."""

    @property
    def train(self) -> LabelledTable:
        """The first 200 rows: the training part of the classic split."""
        return self.rows(slice(None, _TRAIN))

    @property
    def test(self) -> LabelledTable:
        """The last 151 rows: the test part of the classic split."""
        return self.rows(slice(_TRAIN, None))


def load_ionosphere() -> Ionosphere:
    """The 351 × 34 table in its original order, or InputError where the file was altered."""
    data = resources.files(__package__).joinpath(_FILE).read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != _SHA256:
        raise InputError(
            f"{_FILE}: expected the shipped file, SHA-256 {_SHA256[:16]}…, found {digest[:16]}…",
            hints=("pip install --force-reinstall sottovoce",),
        )
    fields = [line.split(",") for line in data.decode().split()]
    X = np.array([row[:-1] for row in fields], dtype=np.float64)
    y = np.array([1 if row[-1] == "g" else -1 for row in fields], dtype=np.int64)
    assert X.shape == (_ROWS, _FEATURES)
    names = tuple(f"radar_{index + 1}" for index in range(_FEATURES))
    return Ionosphere(X, y, names, ("b", "g"))
