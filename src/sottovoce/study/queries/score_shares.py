"""A query's scores in two shares: the asker's masks, and the noise that the coordinator opens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.entropy import Entropy
from sottovoce.errors import ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, to_ring
from sottovoce.paillier import Ciphertext, ForKeyHolder, Layout, SecretKey, Unsent, decrypt_residues
from sottovoce.protocols.shares.labels.tally import GROUPS
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.scoring import ScorePlan, half_slots, slots_of
from sottovoce.study.queries.thresholds import Floats, row_thresholds, shifts
from sottovoce.text.labels import Classes, Labels

T = TypeVar("T")


@dataclass(frozen=True, repr=False)
class RowOrder:
    """The order in which the padded rows of a query are asked about.

    In an evaluation it is random. A coordinator that deviates can give single rows a weight in the
    sums that it opens, so only the asker may know to which documents the rows belong.
    """

    places: NDArray[np.intp]

    @classmethod
    def given(cls, size: int) -> Self:
        """Return the order in which rows stay where they are."""
        return cls(np.arange(size))

    @classmethod
    def drawn(cls, size: int, entropy: Entropy) -> Self:
        """Draw an order uniformly."""
        return cls(np.array(entropy.shuffled(range(size))))

    def back(self, count: int) -> NDArray[np.intp]:
        """Return the positions of the answers to the first `count` rows."""
        return np.argsort(self.places)[:count]

    def restored(self, answers: Sequence[T], count: int) -> list[T]:
        """Return the answers to the first `count` rows, in the rows' own order."""
        return [answers[place] for place in self.back(count).tolist()]


def row_bytes(rows: sparse.csr_array) -> tuple[bytes, bytes, bytes]:
    """Return rows as bytes, from which the entropy that hides them is derived."""
    return rows.indptr.tobytes(), rows.indices.tobytes(), rows.data.tobytes()


def padded(rows: sparse.csr_array, count: int) -> sparse.csr_array:
    """Return the rows with empty rows added below them."""
    missing = count - int(rows.shape[0])
    ends = np.concatenate([rows.indptr, np.full(missing, rows.indptr[-1])])
    return sparse.csr_array((rows.data, rows.indices, ends), shape=(count, rows.shape[1]))


def masked_scores(
    model: PeerModel, products: Unsent, *, entropy: Entropy
) -> tuple[ForKeyHolder, Words]:
    """Return scores under masks, to be sent, and the asker's shares of every score."""
    plan, key = model.scores, model.paillier
    if plan.model.exact:
        # A row's words alone would allow for more; Cauchy and Schwarz say what scores can be.
        products = products.within(plan.score)
    secrets = key.masks(len(products) // plan.batch, entropy=entropy)
    lift = half_slots(plan.slots)
    masks = [(secret + lift) % key.modulus for secret in secrets]
    shares = slots_of(secrets, plan.slots, plan.ring).reshape(-1, plan.classes)
    # Half a slot is added in every slot, which is a multiple of the ring's modulus.
    masked = products.joined_for_key_holder(plan.slots, masks, entropy=entropy)
    return masked, plan.ring.reduce(np.negative(shares))


def opened_scores(
    key: SecretKey, plan: ScorePlan, scores: Ciphertext, documents: int, *, asker: str
) -> Words:
    """Return the coordinator's shares of every score: noise, cut into slots."""
    layout = Layout((documents * plan.classes,), plan.slots).cover()
    scale = Scale(plan.weights.fraction_bits, key.public.plaintext_bound)
    try:
        checked = scores.expected(layout, scale)
    except ViolationError as error:
        raise error.by(asker) from error
    words = slots_of(decrypt_residues(key, checked), plan.slots, plan.ring)
    return words.reshape(documents, plan.classes)


def less(plan: ScorePlan, share: Words, rows: sparse.csr_array, thresholds: Floats) -> Words:
    """Return the asker's shares of the scores, less the threshold of every row and class."""
    taken = to_ring(shifts(rows, thresholds, bits=plan.score.fraction_bits))
    return plan.ring.reduce(share - taken)


def above(
    plan: ScorePlan, share: Words, rows: sparse.csr_array, thresholds: tuple[float, ...]
) -> Words:
    """Return the asker's shares of each score less each threshold: rows × classes × thresholds."""
    taken = to_ring(shifts(rows, thresholds, bits=plan.score.fraction_bits))
    return plan.ring.reduce(share[:, :, np.newaxis] - taken[:, np.newaxis, :])


def groups_of(truth: NDArray[np.bool_], padded: int) -> Words:
    """Mark the rows of a class, and the rows of other classes; padding has neither mark."""
    groups = np.zeros((padded, truth.shape[1], GROUPS), np.uint64)
    groups[: len(truth)] = np.stack([truth, ~truth], axis=2)
    return groups


def arranged(plan: ScorePlan, share: Words) -> Words:
    """Return scores as the verdict takes them: a row a document, or a row for each class."""
    return share if plan.exclusive else share.reshape(-1, 1)


def classes_of(labels: Labels, winners: NDArray[np.int64], width: int) -> list[Classes]:
    """Return the winners' names; if labels overlap, every one whose sign is positive."""
    if labels.exclusive:
        return [(labels.names[index],) for index in winners.tolist()]
    table = winners.reshape(-1, width)
    return [
        tuple(name for name, bit in zip(labels.names, row, strict=True) if bit) for row in table
    ]


def decided(
    labels: Labels, scores: Floats, point: tuple[float, ...], own: Floats | None = None
) -> list[Classes]:
    """Return the classes of unit scores, at an operating point (by default 0) plus `own`."""
    rows, width = scores.shape
    return labels.decide(scores - row_thresholds(point, own, rows=rows, width=width))
