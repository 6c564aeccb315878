"""What a peer has at the end of a study: the encrypted model, and how text is read for it."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sottovoce.paillier import Ciphertext
from sottovoce.roles.scoring import ScorePlan
from sottovoce.text.features import FeatureSpace
from sottovoce.text.hashing import DictionaryKey


@dataclass(frozen=True)
class SealedModel:
    """One peer's part: ⟨⟨θ⟩⟩ that it cannot open, the features, and the key that hashes words.

    `released` holds the weights, columns × classes, only where the plan released them.
    """

    space: FeatureSpace
    scores: ScorePlan
    weights: Ciphertext
    alpha: float
    key: DictionaryKey = field(repr=False)
    released: NDArray[np.float64] | None = field(default=None, repr=False)
