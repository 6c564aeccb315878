"""The upload of encrypted rados to the evaluator: by rado, and by feature.

    peer p                                                evaluator
    its rados, written in fixed point
      ── SealedRados: a packed row for each rado, ──────▶   puts the rows together, and
         and a packed row for each feature                  adds the rows by feature up

Sums over rados need the first form, exponents (sums over features) the second. In
the second every peer fills its own places and fresh encrypted zeros elsewhere (lift),
so that the evaluator joins them by addition. The evaluator cannot decrypt either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError
from sottovoce.paillier import (
    Ciphertext,
    Layout,
    Plain,
    PublicKey,
    Unsent,
    encrypt,
    stack,
    total,
)
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.disclosures import BY_EVALUATOR_ALONE, PAILLIER_HIDES_FROM_EVALUATOR
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.steps import EncryptedRados


class SealedRados(Message, frozen=True):
    """⟨⟨π⟩⟩ of one peer: a packed row for each of its rados, and one for each feature."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVALUATOR_ALONE,
        reveals="nothing: how many rados a peer makes is public, and all of them are ciphertexts",
        assuming=PAILLIER_HIDES_FROM_EVALUATOR,
    )
    by_rado: Ciphertext
    by_feature: Ciphertext


@dataclass(frozen=True)
class Places:
    """One peer's places among all rados: `count` of them from number `first`."""

    first: int
    count: int

    @classmethod
    def dealt(cls, rados: int, peers: int) -> "list[Places]":
        """All rados dealt to the peers as evenly as can be, in order."""
        if not 0 < peers <= rados:
            raise InputError(
                f"rados: expected at least one for each of {peers} peers, found {rados}"
            )
        shares = np.array_split(np.arange(rados), peers)
        return [cls(int(share[0]), len(share)) for share in shares]


def written(rados: object, plan: DescentPlan) -> Plain:
    """Rados (rows) in fixed point; one that is larger than agreed raises before it is sent."""
    rows = np.asarray(rados, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != plan.features:
        raise MismatchError(
            f"rados: expected rows of {plan.features} features, found shape {rows.shape}"
        )
    try:
        return Plain.of(rows, plan.rado_scale)
    except BoundError as error:
        raise BoundError(
            f"rados: {error.message}", hints=("give the plan a larger reach",)
        ) from None


def seal(
    rados: Plain, places: Places, *, plan: DescentPlan, key: PublicKey, entropy: Entropy
) -> SealedRados:
    """At a peer: its rados in both forms."""
    if rados.shape != (places.count, plan.features):
        raise MismatchError(
            f"rados: expected {places.count} of {plan.features} features, found {rados.shape}"
        )
    features = plan.feature_slots(key.plaintext_bits)
    lifted = np.zeros((plan.features, plan.rados), dtype=object)
    lifted[:, places.first : places.first + places.count] = rados.integers.astype(object).T
    return SealedRados(
        encrypt(key, rados, slots=features, entropy=entropy),
        encrypt(
            key,
            Plain(lifted, plan.rado_scale),
            slots=plan.rado_slots(key.plaintext_bits),
            entropy=entropy,
        ),
    )


def check(sealed: SealedRados, places: Places, *, sender: str, plan: DescentPlan) -> SealedRados:
    """At the evaluator: return a peer's message, after checking its forms; errors name the peer."""
    bits = sealed.by_rado.key.plaintext_bits
    rows = Layout((places.count, plan.features), plan.feature_slots(bits))
    columns = Layout((plan.features, plan.rados), plan.rado_slots(bits))
    agreed_from(sender, sealed.by_rado, rows, plan.rado_scale)
    agreed_from(sender, sealed.by_feature, columns, plan.rado_scale)
    return sealed


def united(parts: Sequence[SealedRados], plan: DescentPlan) -> EncryptedRados:
    """At the evaluator: everybody's rados as one matrix, in both forms."""
    rows = [part.by_rado[number] for part in parts for number in range(len(part.by_rado))]
    columns: Unsent = total([part.by_feature for part in parts])
    # Each place was filled by one peer, the others added zeros.
    return EncryptedRados(stack(rows), columns.within(plan.rado_scale))
