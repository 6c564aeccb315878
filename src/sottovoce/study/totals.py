"""The published totals, rounded up to two digits so that they reveal no single document.

Every peer rounds its own totals before they are added (text/dictionary/counts.py); the sum is
rounded again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import RareClassError, ViolationError
from sottovoce.numbers.rounding import rounded_up
from sottovoce.study.choices import Rare
from sottovoce.study.study import Study

# The number of rows that have full weight; more rows weigh less each.
FULL_ROWS = 2**17


def row_weight(rows: int) -> float:
    """Return the weight of each row: 1 up to `FULL_ROWS` rows, then a half, a quarter etc.

    Together they never weigh more than `FULL_ROWS`. So sums of any number of rows fit the words of
    a sealed solve, with enough digits for the penalty, and a solve takes no more steps. The model
    is that of a penalty which grows with the number of rows. A power of two changes no digit of a
    sum.
    """
    return 2.0 ** -max(0, (rows - 1).bit_length() - (FULL_ROWS - 1).bit_length())


@dataclass(frozen=True)
class Totals:
    """The numbers of rows in all and of each class, rounded up, and the peers that have them.

    `absent` is the number of the plan's features that the dictionary lacks, because no more words
    are in enough documents.
    """

    rows: int
    by_class: tuple[int, ...]
    peers: tuple[str, ...]
    absent: int = 0

    @property
    def written(self) -> wire.Words:
        """Return the numbers as words to send."""
        return wire.Words.of(np.array((self.rows, self.absent, *self.by_class), np.uint64))

    @classmethod
    def read(cls, study: Study, words: wire.Words, peers: tuple[str, ...], *, sender: str) -> Self:
        """Return received totals, after checking that they are possible in this study."""
        plan = study.plan
        classes = len(plan.labels.names)
        if words.shape != (2 + classes,):
            raise ViolationError(
                f"expected totals of {classes} classes, found {words.shape}", party=sender
            )
        rows, absent, *by_class = (int(count) for count in words.array())
        if not 0 <= absent < plan.features:
            raise ViolationError(
                f"expected at most {plan.features} features to be absent, found {absent}",
                party=sender,
            )
        return cls(rows, tuple(by_class), peers, absent)

    def weights(self, class_weight: str | None) -> NDArray[np.float64]:
        """Return the weight of a row of each class; all rows together weigh `rows`.

        "balanced" gives all classes the same total. "root" gives each a total in proportion to the
        square root of its number of rows, which is halfway. None gives all rows the same weight.
        """
        counts = np.array(self.by_class, np.float64)
        if class_weight is None:
            return np.ones(len(counts))
        totals = np.sqrt(counts) if class_weight == "root" else (counts > 0).astype(np.float64)
        share = totals / max(float(totals.sum()), 1.0)
        return np.where(counts > 0, self.rows * share / np.maximum(counts, 1.0), 1.0)

    def absent_classes(self, names: Sequence[str]) -> set[str]:
        """Return the classes of which all peers together have too few documents."""
        return {name for name, rows in zip(names, self.by_class, strict=True) if not rows}


def published(
    study: Study, rows: int, by_class: NDArray[np.int64], peers: tuple[str, ...]
) -> Totals:
    """Return the totals to publish; a class with too few rows is left out, or stops the study."""
    holders = 1 if study.plan.arrangement.by_features else len(peers)
    fewest = study.plan.min_documents * holders
    tolerant = study.plan.rare is not Rare.STOP and np.count_nonzero(by_class >= fewest) > 1
    if tolerant and study.plan.labels.exclusive:
        by_class = np.where(by_class >= fewest, by_class, 0)
    for name, count in zip(study.plan.labels.names, by_class.tolist(), strict=True):
        if count < fewest and (count or not tolerant):
            raise RareClassError(
                f"class {name!r}: expected at least {fewest} documents "
                f"({study.plan.min_documents} for each of {holders} peers), found fewer",
                hints=("join rare classes, or bring more documents",),
            )
    return Totals(rounded_up(rows), tuple(rounded_up(count) for count in by_class.tolist()), peers)
