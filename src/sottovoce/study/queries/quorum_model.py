"""What stays of a study in engine `quorum`: a member's share of the model, and public numbers."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import MisuseError
from sottovoce.numbers.residues import Planes
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.totals import Totals
from sottovoce.text.features import FeatureSpace
from sottovoce.text.hashing import DictionaryKey


@dataclass(frozen=True)
class QuorumModel:
    """One peer's part: how text is read, and its share of the weights if it is a member.

    `released` holds the weights, columns × classes, only where the plan released them;
    `operating_point` the threshold of every score, where it is not 0.
    """

    space: FeatureSpace
    scores: ScorePlan
    alpha: float
    key: DictionaryKey = field(repr=False)
    members: tuple[str, ...]
    share: Planes | None = field(default=None, repr=False)
    released: NDArray[np.float64] | None = field(default=None, repr=False)
    operating_point: tuple[float, ...] = ()

    @property
    def weights_share(self) -> Planes:
        """This member's share of the folded weights."""
        if self.share is None:
            raise MisuseError(
                "model: expected a member's share of the weights, found a peer's part"
            )
        return self.share


@dataclass(frozen=True)
class QuorumTrained:
    """What the coordinator keeps after training: public numbers, and who holds the model."""

    scores: ScorePlan
    totals: Totals
    peers: tuple[str, ...]
    members: tuple[str, ...]
    alpha: float = 1.0
    told: tuple[tuple[str, int], ...] = ()
