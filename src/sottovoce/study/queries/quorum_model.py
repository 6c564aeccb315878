"""The records after a study in engine `quorum`: each member's share, and public numbers."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce.numbers.residues import Planes
from sottovoce.study.candidates import Candidate
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.features import FeatureSpace

# Queries are filled up to a multiple of this.
BATCH = 32


@dataclass(frozen=True)
class QuorumModel:
    """One peer's record: how text is read, and which members hold the weights in shares.

    `released` holds the weights, columns × classes, only if the plan released them;
    `operating_point` the threshold of every score, if it is not 0.
    """

    space: FeatureSpace
    scores: ScorePlan
    candidate: Candidate
    key: DictionaryKey = field(repr=False)
    members: tuple[str, ...]
    released: NDArray[np.float64] | None = field(default=None, repr=False)
    operating_point: tuple[float, ...] = ()

    @property
    def batch(self) -> int:
        """Queries are filled up to a multiple of this."""
        return BATCH


@dataclass(frozen=True)
class MemberShare:
    """One member's record: its share of the folded weights, and the other holders."""

    idf_halves: tuple[int, ...]
    scores: ScorePlan
    members: tuple[str, ...]
    share: Planes = field(repr=False)


@dataclass(frozen=True)
class QuorumTrained:
    """The coordinator's record after training: public numbers, and the holders of the model."""

    scores: ScorePlan
    totals: Totals
    peers: tuple[str, ...]
    members: tuple[str, ...]
    candidate: Candidate = field(default_factory=Candidate)
    labels_told: tuple[tuple[str, int], ...] = ()
