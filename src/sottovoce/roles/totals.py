"""Totals as they are published: rounded up to two digits, so that no document shows in them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.roles.study import Study


def rounded_up(number: int) -> int:
    """The next number of two significant digits: 1,234 becomes 1,300."""
    unit = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // unit) * unit


@dataclass(frozen=True)
class Totals:
    """Rows altogether and per class, rounded up, and the peers that brought them."""

    rows: int
    by_class: tuple[int, ...]
    peers: tuple[str, ...]

    def weights(self) -> NDArray[np.float64]:
        """Balanced weights of the classes: the same total for each, and `rows` altogether."""
        counts = np.maximum(np.array(self.by_class, np.float64), 1.0)
        return self.rows / (len(counts) * counts)


def published(
    study: Study, rows: int, by_class: NDArray[np.int64], peers: tuple[str, ...]
) -> Totals:
    """What the coordinator publishes; a class with too few rows stops the study."""
    holders = 1 if study.plan.arrangement.by_features else len(peers)
    fewest = study.plan.min_documents * holders
    for name, count in zip(study.plan.labels.names, by_class.tolist(), strict=True):
        if count < fewest:
            raise InputError(
                f"class {name!r}: expected at least {fewest} documents "
                f"({study.plan.min_documents} for each of {holders} peers), found fewer",
                hints=("join rare classes, or bring more documents",),
            )
    return Totals(rounded_up(rows), tuple(rounded_up(one) for one in by_class.tolist()), peers)
