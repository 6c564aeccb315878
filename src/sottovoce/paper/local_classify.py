"""Local Classify as the paper prints it (Protocol 3): one rado stands for what others hold.

    peer p, who asks (x, ⟨⟨θ_p⟩⟩)      every other peer q (⟨⟨θ_q⟩⟩)        coordinator (key, ⟨⟨π⟩⟩)
                                         ◀── CommonRado ⟨⟨π_q⟩⟩ ──────────────┤
                                         S.InnerProd ⟨⟨α_q⟩⟩ = ⟨⟨π_qᵀθ_q⟩⟩ ◀──▶│
    ⟨⟨α_p⟩⟩ = x ⊗ ⟨⟨θ_p⟩⟩: no trip
      ── RunningScore ⟨⟨R + α_p⟩⟩ ──▶ adds ⟨⟨α_q⟩⟩ ──▶ … ──▶ p takes R off (SM.Add by a ring)
      ── PrintedScore ⟨⟨α⟩⟩ ──────────────────────────────────────────────────▶ decrypts α
      ◀── ScoreSign sign(α) ──────────────────────────────────────────────────┤

It is here to be compared with what studies do instead (study/queries), for three reasons.
The coordinator holds the key and the common rado, so it can read the rado; it decrypts the
score of every observation; and a rado is the sum of about half of all documents, whose score
drowns that of one document's own features unless it is divided by their number.

Who learns what. p: the label. The other peers: that p asks; they hold ciphertexts. The
coordinator: the score α with its size and sign, the rado if it looks, which features each peer
has (f_p), and noise from S.InnerProd. Assuming that everyone follows the protocol.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    ForKeyHolder,
    Layout,
    Plain,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
)
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import KEY_HOLDER, Party, receive, send
from sottovoce.protocols.disclosures import (
    BY_DECRYPTING_COORDINATOR,
    PAILLIER_HIDES,
    PAILLIER_HIDES_FROM_PEERS,
)
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Outcome, converse
from sottovoce.protocols.sealed_model import closing
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.two_party.products import MaskedVectors, answer_vectors, inner_product
from sottovoce.wire import Codec

# How many times larger than a score the number is that p begins its ring with.
_START_BITS = 40


class CommonRado(Message, frozen=True):
    """⟨⟨π_q⟩⟩: the common extra rado at the features of one peer."""

    discloses: ClassVar = Disclosure(
        seen_by="a peer other than the asker, who cannot decrypt it",
        reveals="nothing: a row of fresh ciphertexts, one for every feature of the peer",
        assuming=PAILLIER_HIDES,
    )
    rado: Ciphertext


class RunningScore(Message, frozen=True):
    """⟨⟨R + α_p + …⟩⟩ on its way around the ring."""

    discloses: ClassVar = Disclosure(
        seen_by="the next peer of the ring, who cannot decrypt it",
        reveals="nothing: one ciphertext, re-randomised at every peer",
        assuming=PAILLIER_HIDES_FROM_PEERS,
    )
    score: Ciphertext


class PrintedScore(Message, frozen=True):
    """⟨⟨α⟩⟩, which the coordinator of the printed protocol decrypts."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_DECRYPTING_COORDINATOR,
        reveals="the score of the observation that is asked about: its sign and its size",
        assuming="nothing: that is how the paper prints it, and why studies do it otherwise",
    )
    score: ForKeyHolder


class ScoreSign(Message, frozen=True):
    """sign(α), +1 or −1."""

    discloses: ClassVar = Disclosure(
        seen_by="the peer that asks",
        reveals="the label that was asked for",
        assuming="the coordinator tells the sign that it found",
    )
    sign: int


@dataclass(frozen=True)
class LocalTerms:
    """The public terms: the features of each peer (the paper's f_p), and the scales of numbers."""

    features: Mapping[str, tuple[int, ...]] = field(repr=False)
    row_scale: Scale
    rado_scale: Scale
    theta_scale: Scale
    masking: Masking = field(default_factory=Masking)

    def __post_init__(self) -> None:
        held = [place for places in self.features.values() for place in places]
        if len(self.features) < 2 or not all(self.features.values()):
            raise InputError(
                "local classify: expected at least two peers with a feature each, found "
                f"{sum(map(bool, self.features.values()))}"
            )
        if len(set(held)) < len(held):
            raise InputError("local classify: a feature is at two peers")
        self.row_scale.check_same_fraction(self.rado_scale, "local classify")

    @property
    def score_scale(self) -> Scale:
        """The scale of the whole score, and of every running sum without its start."""
        largest = max(self.row_scale.bound, self.rado_scale.bound)
        count = sum(map(len, self.features.values()))
        wide = Scale(self.row_scale.fraction_bits, largest)
        return wide.dot(self.theta_scale, count)

    @property
    def running_scale(self) -> Scale:
        """The same with the random start of the ring."""
        return self.score_scale.times_integer(2**_START_BITS)

    def others(self, asker: str) -> tuple[str, ...]:
        """The peers that stand in for what the asker does not hold, in the order of the ring."""
        if asker not in self.features:
            raise InputError(
                f"local classify: expected an asker among {', '.join(self.features)}, "
                f"found {asker!r}"
            )
        return tuple(name for name in self.features if name != asker)


@dataclass(frozen=True)
class LocalQuery:
    """One question: who asks, its own features of the observation, and the common extra rado."""

    asker: str
    row: Plain
    rado: Plain


def ideal(terms: LocalTerms, query: LocalQuery, theta: Plain) -> int:
    """The ideal: the sign of α_p + Σ α_q."""
    mine = list(terms.features[query.asker])
    rest = [place for name in terms.others(query.asker) for place in terms.features[name]]
    local = _wide(query.row) @ _wide(theta)[mine]
    return _sign(int(local + _wide(query.rado)[rest] @ _wide(theta)[rest]))


def asker(
    terms: LocalTerms, query: LocalQuery, theta: Encrypted, *, entropy: Entropy
) -> Party[int]:
    """At peer p: S.local.innerProd, SM.Add around the others, and the sign."""
    mine = terms.features[query.asker]
    if query.row.shape != (len(mine),) or query.row.scale != terms.row_scale:
        raise MismatchError(
            f"local classify: expected {len(mine)} features on {terms.row_scale}, "
            f"found {query.row.shape} on {query.row.scale}"
        )
    reach = terms.running_scale.bound - terms.score_scale.bound
    start = Plain(np.array(entropy.below(reach), object), terms.running_scale)
    local = theta.dot(query.row).within(terms.running_scale)
    running: Encrypted = (local + start).within(terms.running_scale)
    others = terms.others(query.asker)
    yield from send(others[0], RunningScore(_fresh(running, entropy)))
    came = yield from receive(others[-1], RunningScore)
    whole = agreed_from(others[-1], came.score, Layout(()), terms.running_scale)
    score = (whole - start).within(terms.score_scale)
    yield from send(KEY_HOLDER, PrintedScore(score.for_key_holder(entropy=entropy)))
    answer = yield from receive(KEY_HOLDER, ScoreSign)
    return answer.sign


def other(
    terms: LocalTerms, name: str, asked_by: str, theta: Encrypted, *, entropy: Entropy
) -> Party[None]:
    """At a peer q ≠ p: S.InnerProd of the rado and its weights, and its place in the ring."""
    sent = yield from receive(KEY_HOLDER, CommonRado)
    layout = Layout((len(terms.features[name]),))
    rado = agreed_from(KEY_HOLDER, sent.rado, layout, terms.rado_scale)
    part = yield from closing(inner_product(rado, theta, entropy=entropy, masking=terms.masking))
    ring = (asked_by, *terms.others(asked_by), asked_by)
    place = ring.index(name)
    came = yield from receive(ring[place - 1], RunningScore)
    running = agreed_from(ring[place - 1], came.score, Layout(()), terms.running_scale)
    added = (running + part.within(terms.running_scale)).within(terms.running_scale)
    yield from send(ring[place + 1], RunningScore(_fresh(added, entropy)))


def coordinator(
    terms: LocalTerms, asked_by: str, rado: Encrypted, *, key: SecretKey, entropy: Entropy
) -> Party[None]:
    """At C: the common rado to every other peer, answers to S.InnerProd, and the sign of α."""
    codec = Codec(ciphertexts_under(key.public))
    for name in terms.others(asked_by):
        part = rado[list(terms.features[name])]
        yield from send(name, CommonRado(_fresh(part, entropy)))
        rule = AnswerRule(MaskedVectors, lambda q: answer_vectors(key, q, entropy=entropy), 1)
        yield from serve(AnswerGuard(name, [[rule]], codec=codec))
    asked = yield from receive(asked_by, PrintedScore)
    score = int(decrypt(key, asked.score).integers)
    yield from send(asked_by, ScoreSign(_sign(score)))


def run(
    terms: LocalTerms, query: LocalQuery, theta: Plain, *, key: SecretKey, entropy: Entropy
) -> Outcome:
    """The whole story in memory; the asker's result is the sign, its label."""
    weights = {
        name: encrypt(key.public, _part(theta, places), entropy=entropy)
        for name, places in terms.features.items()
    }
    rado = encrypt(key.public, query.rado, entropy=entropy)
    programs: dict[str, Party[Any]] = {
        name: other(terms, name, query.asker, weights[name], entropy=entropy)
        for name in terms.others(query.asker)
    }
    programs[query.asker] = asker(terms, query, weights[query.asker], entropy=entropy)
    programs[KEY_HOLDER] = coordinator(terms, query.asker, rado, key=key, entropy=entropy)
    codec = Codec(ciphertexts_under(key.public))
    return converse(programs, session=b"local classify as printed/v1", codec=codec)


def _fresh(tensor: Encrypted, entropy: Entropy) -> Ciphertext:
    made = tensor if isinstance(tensor, Unsent) else tensor.within(tensor.scale)
    return made.fresh(entropy=entropy)


def _part(plain: Plain, places: tuple[int, ...]) -> Plain:
    return Plain(plain.integers[list(places)], plain.scale)


def _sign(score: int) -> int:
    return 1 if score > 0 else -1


def _wide(plain: Plain) -> NDArray[Any]:
    return plain.integers.astype(object)
