"""The coordinator's selection of features from joint counts, and their rounded idf."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import InputError
from sottovoce.text.dictionary.counts import Counts
from sottovoce.text.dictionary.dictionaries import JointDictionary


class FeatureScore(Protocol):
    """A function that rates features by joint counts."""

    def __call__(self, counts: Counts, *, exclusive: bool) -> NDArray[np.float64]:
        """Return one number for each feature; `exclusive` says whether a row has one class."""


@dataclass(frozen=True)
class SelectionRule:
    """A ranking of features: `score` gives each a number, and the highest are chosen.

    study.toml uses `name`, the card uses `words`. A rule sees only the sums over all peers, so no
    rule changes what is sent.
    """

    name: str
    words: str = field(repr=False)
    score: FeatureScore = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.name


def chi_squared(counts: Counts, *, exclusive: bool) -> NDArray[np.float64]:
    """Return Pearson's χ² of each feature, in one table of all classes if they are exclusive.

    If classes overlap, it is the sum over one table per class.
    """
    rows = float(max(counts.rows, 1))
    having = counts.total.astype(np.float64)
    score = np.zeros(len(having))
    for observed, members in zip(counts.by_class, counts.rows_by_class, strict=True):
        expected = having * (members / rows)
        part = np.divide(
            (observed - expected) ** 2, expected, out=np.zeros_like(having), where=expected > 0
        )
        lacking = 1.0 if exclusive else rows / max(rows - members, 1.0)
        score += part * lacking
    return score * (rows / np.maximum(rows - having, 1.0))


def document_frequency(
    counts: Counts,
    *,
    exclusive: bool,  # noqa: ARG001 - classes do not matter to this rule
) -> NDArray[np.float64]:
    """Return the number of rows that have each feature."""
    return counts.total.astype(np.float64)


CHI_SQUARED = SelectionRule("chi-squared", "tell the classes apart best (χ²)", chi_squared)
FREQUENCY = SelectionRule("frequency", "stand in the most documents", document_frequency)

SELECTION_RULES: dict[str, SelectionRule] = {rule.name: rule for rule in (CHI_SQUARED, FREQUENCY)}


@dataclass(frozen=True, slots=True)
class Selection:
    """The settings of the choice: the best `features`, each kept by `min_peers` peers."""

    features: int = 2048
    min_peers: int = 1
    rule: SelectionRule = CHI_SQUARED

    def __post_init__(self) -> None:
        if self.features < 1 or self.min_peers < 1:
            raise InputError(
                "selection: expected at least 1 feature and 1 peer, "
                f"found {self.features} and {self.min_peers}",
                setting="features",
            )


def chosen(counts: Counts, selection: Selection, *, exclusive: bool = True) -> JointDictionary:
    """Return the features that the rule ranks highest, with idf rounded to 0.5.

    They are fewer than `selection.features` if fewer survived suppression.
    """
    alive = np.flatnonzero((counts.total > 0) & (counts.peers >= selection.min_peers))
    if not len(alive):
        raise InputError(
            f"joint dictionary: no feature of {int((counts.total > 0).sum())} was kept by "
            f"{selection.min_peers} of the peers",
            hints=("lower min_documents or feature_min_peers, or bring more documents",),
        )
    if exclusive and np.count_nonzero(counts.rows_by_class) < 2:
        raise InputError(
            f"joint dictionary: expected documents of at least 2 classes, "
            f"found {counts.rows} of one"
        )
    scores = selection.rule.score(counts, exclusive=exclusive)[alive]
    # The sort is stable: among equal scores the lower bucket wins, on every machine.
    best = np.sort(alive[np.argsort(-scores, kind="stable")[: selection.features]])
    halves = np.rint(2 * (np.log((1 + counts.rows) / (1 + counts.total[best])) + 1))
    return JointDictionary(
        tuple(best.tolist()),
        tuple(np.maximum(halves, 1).astype(int).tolist()),
        bits=len(counts.total).bit_length() - 1,
    )


def rule_named(value: object) -> SelectionRule:
    """Return the rule of this name; a rule is returned as it is."""
    if isinstance(value, SelectionRule):
        return value
    if isinstance(value, str) and value in SELECTION_RULES:
        return SELECTION_RULES[value]
    known = ", ".join(SELECTION_RULES)
    raise InputError(
        f"expected select to be one of {known}, found {value!r}", place="plan", setting="select"
    )
