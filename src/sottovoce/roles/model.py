"""What a peer has at the end of a study: the encrypted model, and how text is read for it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import MisuseError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, Layout
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.roles.plan import Release
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
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

    `released` holds the weights, columns × classes, only where the plan released them.
    """

    space: FeatureSpace
    scores: ScorePlan
    weights: Ciphertext
    alpha: float
    key: DictionaryKey = field(repr=False)
    released: NDArray[np.float64] | None = field(default=None, repr=False)


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
) -> Party[SealedModel]:
    """At a peer: the encrypted model as agreed, and its weights if they are released."""
    roster, model = study.roster, scores.model
    layout = Layout(model.shape, model.slots)
    weights = agreed_from(roster.evaluator, told.weights, layout, model_scale(scores))
    released = None
    if study.plan.release is Release.PEERS:
        total = np.zeros(model.shape, np.uint64)
        for name in (roster.coordinator, roster.evaluator):
            share = yield from receive(name, ReleasedShare)
            total = total + share.words.array()
        words = model.ring.signed(model.ring.reduce(total))
        released = np.ldexp(words.astype(np.float64), -scores.weights.fraction_bits)
    if prepared.space is None:
        raise MisuseError("model: expected the features of a peer, found none")
    return SealedModel(prepared.space, scores, weights, alpha, prepared.key, released)
