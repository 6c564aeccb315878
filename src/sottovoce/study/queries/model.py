"""The records after a training: what a peer needs to ask for labels, and the holders' model.

If labels are found on ciphertexts, every peer holds the encrypted model. If they are found on
shares, no peer holds any part of it: coordinator and evaluator keep a share each.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, Layout, PublicKey, SecretKey
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.disclosures import (
    BY_EVERY_PEER,
    BY_EVERY_PEER_SEALED,
    CONSENT_TO_RELEASE,
    NUMBERS_ARE_NAMED_ON_THE_CARD,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.study.candidates import Candidate
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.release import Opens
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals
from sottovoce.text.dictionary.hashing import DictionaryKey
from sottovoce.text.features import FeatureSpace


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


class SharedModel(Message, frozen=True):
    """Says that the model is learnt and stays in shares, with the numbers to read scores."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_PEER,
        reveals="the ends of the spectrum, rounded, from which sizes of scores follow",
        assuming=NUMBERS_ARE_NAMED_ON_THE_CARD,
    )
    ceiling_parts: int
    floor_share: int


class ReleasedShare(Message, frozen=True):
    """One of two shares of the model, where the plan releases it to the peers."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_PEER_SEALED,
        reveals="with the other share the weights of the model, as the study card announced",
        assuming=CONSENT_TO_RELEASE,
    )
    words: wire.Words


@dataclass(frozen=True)
class PeerModel:
    """One peer's record: the features, the key that hashes words, and how scores are read.

    `weights` are ⟨⟨θ⟩⟩, which the peer cannot open, or None if labels are found on shares; `public`
    is the study's Paillier key. `released` holds the weights, columns × classes, only if the plan
    released them; `operating_point` the threshold of every score, if it is not 0. `remote` is the
    encrypted score that stands for others' columns in all queries of this peer.
    """

    space: FeatureSpace
    scores: ScorePlan
    weights: Ciphertext | None
    candidate: Candidate
    key: DictionaryKey = field(repr=False)
    released: NDArray[np.float64] | None = field(default=None, repr=False)
    operating_point: tuple[float, ...] = ()
    public: PublicKey | None = field(default=None, repr=False)
    remote: Ciphertext | None = None

    @property
    def batch(self) -> int:
        """Queries are filled up to a multiple of this."""
        return self.scores.batch

    @property
    def ciphertext(self) -> Ciphertext:
        """Return ⟨⟨θ⟩⟩, which the peer holds if labels are found on ciphertexts."""
        if self.weights is None:
            raise MisuseError("model: it stays in shares, and there is no encrypted one")
        return self.weights

    @property
    def paillier(self) -> PublicKey:
        """The study's Paillier key, whose secret half the coordinator has."""
        if self.weights is not None:
            return self.weights.key
        if self.public is None:
            raise MisuseError("model: the study's key is missing")
        return self.public


@dataclass(frozen=True)
class Trained:
    """The coordinator's record after training: the key, the scales of scores, the totals.

    `share` is its share of the model, if labels are found on shares; `labels_told` is the number of
    labels that every peer received while a model was chosen.
    """

    scores: ScorePlan
    totals: Totals
    peers: tuple[str, ...]
    key: SecretKey = field(repr=False)
    candidate: Candidate = field(default_factory=Candidate)
    share: Words | None = field(default=None, repr=False)
    labels_told: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class HeldShare:
    """The evaluator's record after training, if labels are found on shares."""

    scores: ScorePlan
    words: Words = field(repr=False)


def model_scale(scores: ScorePlan) -> Scale:
    """Return the scale of the weights in an encrypted model."""
    return scores.model.handed_scale


def release_share(study: Study, peers: Collection[str], share: Words) -> Party[None]:
    """At a holder: send every peer its share of the model, if the plan releases it."""
    if study.plan.release.opens is Opens.WEIGHTS:
        for name in peers:
            yield Send(name, ReleasedShare(wire.Words.of(share)))


def take_model(
    study: Study,
    prepared: Prepared,
    sent: EncryptedModel,
    *,
    scores: ScorePlan,
    candidate: Candidate,
) -> PeerModel:
    """At a peer: return its record with the encrypted model, after checking its form."""
    model = scores.model
    layout = Layout(model.shape, model.slots)
    weights = agreed_from(study.roster.evaluator, sent.weights, layout, model_scale(scores))
    if prepared.space is None:
        raise MisuseError("model: the features of the peer are missing")
    point = study.plan.operating_point
    return PeerModel(
        prepared.space, scores, weights, candidate, prepared.key, operating_point=point
    )


def take_shared(
    study: Study, prepared: Prepared, *, scores: ScorePlan, candidate: Candidate, public: PublicKey
) -> PeerModel:
    """At a peer: return its record for queries, if the model stays in shares."""
    if prepared.space is None:
        raise MisuseError("model: the features of the peer are missing")
    point = study.plan.operating_point
    return PeerModel(
        prepared.space, scores, None, candidate, prepared.key, operating_point=point, public=public
    )


def take_release(study: Study, sealed: PeerModel) -> Party[PeerModel]:
    """At a peer: add the weights to its record, if the plan releases them."""
    if study.plan.release.opens is not Opens.WEIGHTS:
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
