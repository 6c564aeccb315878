"""What a peer has at the end of a study: the encrypted model, and how text is read for it."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, Layout, SecretKey
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.roles.plan import Release
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.totals import Totals
from sottovoce.text.features import FeatureSpace
from sottovoce.text.hashing import DictionaryKey


class EncryptedModel(Message, frozen=True):
    """The model under the coordinator's key, all classes of a word in one ciphertext."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study, sealed against the coordinator",
        reveals="nothing by itself; labels of documents come by queries, which are counted",
        assuming="Paillier hides, and no peer shows it to the coordinator, who has the key",
    )
    weights: Ciphertext
    ceiling_parts: int
    floor_share: int


class ReleasedShare(Message, frozen=True):
    """One of two shares of the model, where the plan releases it to the peers."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study, sealed against everybody else",
        reveals="with the other share the weights of the model, as the study card announced",
        assuming="every peer consented to release = peers",
    )
    words: wire.Words


@dataclass(frozen=True)
class SealedModel:
    """One peer's part: ⟨⟨θ⟩⟩ that it cannot open, the features, and the key that hashes words.

    `released` holds the weights, columns × classes, only where the plan released them;
    `operating_point` the threshold of every score, where it is not 0.
    """

    space: FeatureSpace
    scores: ScorePlan
    weights: Ciphertext
    alpha: float
    key: DictionaryKey = field(repr=False)
    released: NDArray[np.float64] | None = field(default=None, repr=False)
    operating_point: tuple[float, ...] = ()


@dataclass(frozen=True)
class Trained:
    """What the coordinator keeps after training: the key, how scores are written, the totals."""

    scores: ScorePlan
    totals: Totals
    peers: tuple[str, ...]
    key: SecretKey = field(repr=False)
    alpha: float = 1.0


def model_scale(scores: ScorePlan) -> Scale:
    """How large the two shares of a weight can be together."""
    return scores.model.share_scale.plus(scores.model.share_scale)


def release_share(study: Study, peers: Collection[str], share: Words) -> Party[None]:
    """At a holder: its share of the model to every peer, where the plan says so."""
    if study.plan.release is Release.PEERS:
        for name in peers:
            yield Send(name, ReleasedShare(wire.Words.of(share)))


def take_model(
    study: Study, prepared: Prepared, told: EncryptedModel, *, scores: ScorePlan, alpha: float
) -> SealedModel:
    """At a peer: the encrypted model, if it is as agreed."""
    model = scores.model
    layout = Layout(model.shape, model.slots)
    weights = agreed_from(study.roster.evaluator, told.weights, layout, model_scale(scores))
    if prepared.space is None:
        raise MisuseError("model: expected the features of a peer, found none")
    point = study.plan.operating_point
    return SealedModel(prepared.space, scores, weights, alpha, prepared.key, operating_point=point)


def take_release(study: Study, sealed: SealedModel) -> Party[SealedModel]:
    """At a peer: the model with its weights, where the plan releases them."""
    if study.plan.release is not Release.PEERS:
        return sealed
    model = sealed.scores.model
    total = np.zeros(model.shape, np.uint64)
    for name in (study.roster.coordinator, study.roster.evaluator):
        share = yield from receive(name, ReleasedShare)
        if share.words.shape != model.shape:
            raise ViolationError(
                f"expected weights of shape {model.shape}, found {share.words.shape}", party=name
            )
        total = total + share.words.array()
    words = model.ring.signed(model.ring.reduce(total)).astype(np.float64)
    return replace(sealed, released=np.ldexp(words, -sealed.scores.weights.fraction_bits))
