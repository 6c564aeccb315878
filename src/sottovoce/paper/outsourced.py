"""The paper's single-party case: one owner holds data and key, an evaluator learns on ciphertexts.

    owner (documents, key)                            evaluator
      ── SealedDocuments ⟨⟨x_i⟩⟩, ⟨⟨y_i x_i⟩⟩ ────────▶   draws signatures σ
                                                       ⟨⟨π_σ⟩⟩ = ½(Σσ_i⟨⟨x_i⟩⟩ + Σ⟨⟨y_i x_i⟩⟩)
                                                       forgets σ
      ◀── masked questions of the learner ────────────   the Secure Rado Solver,
      ── encrypted answers ───────────────────────────▶   or radoLearn with θ encrypted
      ◀── SealedModel ⟨⟨θ⟩⟩ ───────────────────────────
    decrypts θ

The owner gives the work to a machine that it does not trust; only ciphertexts leave the owner. The
plan decides on the learner: a `SolverPlan` uses the closed form, a `DescentPlan` gradient descent.

Who learns what. The owner: θ, and from the questions noise. The evaluator: how many
documents of how many features there are, and that the inverse is one; it holds
ciphertexts and the signatures that it drew, with which opened rados would give every
document away.

Assumption: both follow the protocol. There is nobody to pool with: the owner alone can
decrypt, and what it could decrypt is its own. So the owner is never the evaluator.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    Encrypted,
    Layout,
    SecretKey,
    Unsent,
    decrypt,
    encrypt,
)
from sottovoce.paper.encrypted_rados import (
    Documents,
    SealedDocuments,
    from_sealed,
)
from sottovoce.paper.rado_solver import SolverPlan, solve_encrypted
from sottovoce.paper.rado_solver import stages as solver_stages
from sottovoce.protocols.casting import Cast, agreed_from
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, receive, send
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.rado_descent import sealed_theta
from sottovoce.protocols.rado_descent.plan import DescentPlan
from sottovoce.protocols.rado_descent.steps import EncryptedRados
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.sealed_model import SealedModel, closing
from sottovoce.rados.signatures import draw_signs
from sottovoce.wire import Codec

LearnerPlan: TypeAlias = SolverPlan | DescentPlan
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OutsourcingTerms:
    """The terms of owner and evaluator: parties, shape and scale of the documents, the plan.

    Rados are read as smaller by the bits that the plan's rados have more than the
    documents; what may be in them must then fit the plan's scale.
    """

    owner: str
    evaluator: str
    documents: int
    document_scale: Scale
    plan: LearnerPlan

    def __post_init__(self) -> None:
        Cast((), coordinator=self.owner, evaluator=self.evaluator)
        rados = self.document_scale.sum_of(self.documents)
        if self.shrink_bits < 0 or rados.bound > self.plan.rado_scale.bound:
            raise BoundError(
                f"outsourced: rados of {self.documents} documents on {self.document_scale} do not "
                f"fit the plan's {self.plan.rado_scale}",
                hints=("give the plan's rados more fraction bits, or a larger reach",),
            )

    @property
    def cast(self) -> Cast:
        """The owner holds the key; nobody else takes part."""
        return Cast((), coordinator=self.owner, evaluator=self.evaluator)

    @property
    def shrink_bits(self) -> int:
        """By how many bits rados are read as smaller."""
        return self.plan.rado_scale.fraction_bits - self.document_scale.fraction_bits

    @property
    def shape(self) -> tuple[int, int]:
        """Documents × features."""
        return self.documents, self.plan.features


def owner(
    order: OutsourcingTerms, documents: Documents, *, key: SecretKey, entropy: Entropy
) -> Party[Floats]:
    """At the owner: upload, answer masked questions, and decrypt θ."""
    if documents.rows.shape != order.shape or documents.rows.scale != order.document_scale:
        raise MismatchError(
            f"outsourced: expected documents {order.shape} on {order.document_scale}, found "
            f"{documents.rows.shape} on {documents.rows.scale}"
        )
    sealed = [encrypt(key, plain, entropy=entropy) for plain in (documents.rows, documents.edges)]
    yield from send(order.evaluator, SealedDocuments(*sealed))
    codec = Codec(ciphertexts_under(key.public))
    stages = learner_stages(key, order.plan, entropy=entropy)
    yield from serve(AnswerGuard(order.evaluator, stages, codec=codec))
    model = yield from receive(order.evaluator, SealedModel)
    return decrypt(key, model.theta).floats()


def evaluator(order: OutsourcingTerms, *, entropy: Entropy) -> Party[None]:
    """At the evaluator: encrypted rados of signatures that it forgets, and a model from them."""
    sealed = yield from receive(order.owner, SealedDocuments)
    for part in (sealed.documents, sealed.edges):
        agreed_from(order.owner, part, Layout(order.shape), order.document_scale)
    signs = draw_signs(order.plan.rados, order.documents, entropy=entropy)
    rados = from_sealed(sealed, signs).divided(order.shrink_bits).within(order.plan.rado_scale)
    theta = yield from order.cast.seated(closing(_learn(rados, order.plan, entropy=entropy)))
    yield from send(order.owner, SealedModel(theta.fresh(entropy=entropy)))


def _learn(rados: Encrypted, plan: LearnerPlan, *, entropy: Entropy) -> Party[Unsent]:
    """⟨⟨θ⟩⟩ from a row of ciphertexts for every rado."""
    if isinstance(plan, SolverPlan):
        return (yield from solve_encrypted(rados, plan, entropy=entropy))
    bits = rados.key.plaintext_bits
    both = EncryptedRados(
        rados.packed(plan.feature_slots(bits)), rados.T.packed(plan.rado_slots(bits))
    )
    return (yield from sealed_theta.descend_sealed(both, plan, entropy=entropy))


def learner_stages(
    key: SecretKey, plan: LearnerPlan, *, entropy: Entropy
) -> list[list[AnswerRule[Any]]]:
    """The owner's stages as key holder, for either learner."""
    if isinstance(plan, SolverPlan):
        return solver_stages(key, plan, entropy=entropy)
    return sealed_theta.stages(key, plan, entropy=entropy)


def run(
    order: OutsourcingTerms,
    documents: Documents,
    *,
    key: SecretKey,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: the owner's documents in, its θ out."""
    programs: dict[str, Party[Any]] = {
        order.owner: owner(order, documents, key=key, entropy=entropy),
        order.evaluator: evaluator(order, entropy=entropy),
    }
    return converse(programs, codec=Codec(ciphertexts_under(key.public)), meddler=meddler)
