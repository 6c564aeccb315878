"""RadoLearn among several peers: encrypted rados in, an encrypted model out.

    peer p                        coordinator C (key)                    evaluator E
      │◀──────────── StudyKey K ───────┤──────────── StudyKey K ──────────────▶│
      │ SealedRados ⟨⟨π⟩⟩ ─────────────────────────────────────────────────────▶│
      │                                │◀── `sealed_theta`: masked questions ──│
      │                                │────── encrypted answers ─────────────▶│
      │◀─────────────────────────── SealedModel ⟨⟨θ⟩⟩ ────────────────────────┤

Who learns what. Peers: the encrypted θ. C: who takes part, shapes, and noise. E: who
takes part, and ciphertexts. How many rados each peer makes is public. Nobody sees a
rado or θ. What goes from peers to E and back is sealed against C by the transport:
with its key C could read it.

Assumption: everyone follows the protocol, and C and E do not pool what they saw.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sottovoce.entropy import Entropy
from sottovoce.errors import AbsenceError, InputError
from sottovoce.paillier import Ciphertext, Layout, Plain, PublicKey, SecretKey, Unsent
from sottovoce.paper.rado_learn.contribution import (
    Places,
    SealedRados,
    check,
    seal,
    united,
)
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, gather, receive, send
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.steps import EncryptedRados
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.sealed_model import SealedModel, StudyKey, check_key, closing
from sottovoce.wire import Codec


@dataclass(frozen=True)
class DescentTerms:
    """The terms that all parties agreed on: parties, and the public numbers of the descent."""

    cast: Cast
    plan: DescentPlan

    def places(self) -> dict[str, Places]:
        """The places of every peer's rados."""
        peers = self.cast.peers
        return dict(zip(peers, Places.dealt(self.plan.rados, len(peers)), strict=True))


def contributor(
    terms: DescentTerms, name: str, rados: Plain, *, key: PublicKey, entropy: Entropy
) -> Party[None]:
    """At a peer: its rados, encrypted, to the evaluator."""
    places = terms.places()[name]
    sealed = seal(rados, places, plan=terms.plan, key=key, entropy=entropy)
    yield from check_key(terms.cast.coordinator, key)
    yield from send(terms.cast.evaluator, sealed)


def peer(
    terms: DescentTerms, name: str, rados: Plain, *, key: PublicKey, entropy: Entropy
) -> Party[Ciphertext]:
    """At a peer: contribute, and receive the sealed model."""
    yield from contributor(terms, name, rados, key=key, entropy=entropy)
    model = yield from receive(terms.cast.evaluator, SealedModel)
    plan = terms.plan
    layout = Layout((plan.features,), plan.feature_slots(key.plaintext_bits))
    return agreed_from(terms.cast.evaluator, model.theta, layout, plan.following_scale)


def coordinator(
    terms: DescentTerms, stages: Sequence[Sequence[AnswerRule[Any]]], *, key: SecretKey
) -> Party[None]:
    """At the coordinator: tell the key, and answer the evaluator's masked questions."""
    for name in (*terms.cast.peers, terms.cast.evaluator):
        yield from send(name, StudyKey(key.public.to_bytes()))
    codec = Codec(ciphertexts_under(key.public))
    yield from serve(AnswerGuard(terms.cast.evaluator, stages, codec=codec))


def collect(terms: DescentTerms, *, key: PublicKey) -> Party[EncryptedRados]:
    """At the evaluator: everybody's rados; the plan counts on all of them."""
    yield from check_key(terms.cast.coordinator, key)
    came = yield from gather(SealedRados, terms.cast.peers)
    places = terms.places()
    for name in terms.cast.peers:
        if name not in came:
            raise AbsenceError(
                f"expected rados from all of {', '.join(terms.cast.peers)}, found none", party=name
            )
    parts = [
        check(came[name], places[name], sender=name, plan=terms.plan) for name in terms.cast.peers
    ]
    return united(parts, terms.plan)


def evaluator(terms: DescentTerms, *, key: PublicKey, entropy: Entropy) -> Party[Unsent]:
    """At the evaluator: descend on ciphertexts, and hand ⟨⟨θ⟩⟩ to every peer."""
    cast = terms.cast
    rados = yield from collect(terms, key=key)
    descent = sealed_theta.descend_sealed(rados, terms.plan, entropy=entropy)
    theta = yield from cast.seated(closing(descent))
    for name in cast.peers:
        yield from send(name, SealedModel(theta.fresh(entropy=entropy)))
    return theta


def check_rados(terms: DescentTerms, rados: Mapping[str, Plain]) -> None:
    """Refuse rados of other peers than those of the cast."""
    if set(rados) != set(terms.cast.peers):
        raise InputError(f"rados: expected those of {terms.cast.peers}, found {tuple(rados)}")


def run(
    terms: DescentTerms,
    rados: Mapping[str, Plain],
    *,
    key: SecretKey,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: every peer's rados in, the sealed model out."""
    check_rados(terms, rados)
    cast, public = terms.cast, key.public
    programs: dict[str, Party[Any]] = {
        name: peer(terms, name, rados[name], key=public, entropy=entropy) for name in cast.peers
    }
    stages = sealed_theta.stages(key, terms.plan, entropy=entropy)
    programs[cast.coordinator] = coordinator(terms, stages, key=key)
    programs[cast.evaluator] = evaluator(terms, key=public, entropy=entropy)
    return converse(programs, codec=Codec(ciphertexts_under(public)), meddler=meddler)
