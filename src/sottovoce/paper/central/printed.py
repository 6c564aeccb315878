"""The central-coordinator learner as the paper prints it (Protocol 2), with an evaluator.

    peer p                        coordinator C (key)                    evaluator E
      │◀──────────── StudyKey K ───────┤──────────── StudyKey K ──────────────▶│
      │ Protocol 1: ⟨⟨π_i⟩⟩ from ⟨⟨σ⟩⟩, ⟨⟨y⟩⟩, ⟨⟨x⟩⟩ ◀────▶│ (or its rados, encrypted)  │
      │ ⟨⟨π_(p)⟩⟩ = ⊕ ⟨⟨π_i⟩⟩            │                                       │
      │ SM.Add "sums": ⟨⟨π_(p)⟩⟩ under masks ══════════════════════════════════▶│
      │◀───────────────────────────── SealedSum n·⟨⟨b⟩⟩ ───────────────────────┤
      │ ⟨⟨u_i⟩⟩ = n ⊗ ⟨⟨π_i⟩⟩ ⊖ n·⟨⟨b⟩⟩: no trip                                  │
      │ S.OuterProd ⟨⟨u_i u_iᵀ⟩⟩ ◀────▶│ for every rado                          │
      │ SM.Add "products": ⊕ ⟨⟨u_i u_iᵀ⟩⟩ under masks ═════════════════════════▶│ adds Γ
      │                                │◀───── S.Inv, S.MatProd(V, b) ────────▶│
      │◀─────────────────────────── SealedModel ⟨⟨θ⟩⟩ ────────────────────────┤

θ = (A + Γ)⁻¹ b, with b the mean of all n rados and A their covariance; the paper's
sum differs from A by the factor n, which we put into Γ. The mean is never divided
out: everything is n (or n², n³) times larger until the end, where the factors are
public. Two changes: the sums go to E instead of C, who holds the key and could read
them; and θ goes whole to every peer, who then uses its own features, because the
paper's f_p would tell which words a peer's documents have.

The short way (`learner`) gives the same direction with a fraction of the work: plaintext work at
the peer replaces one outer product a rado. This protocol is here to show that both agree; it is
practical only for a handful of features.

Who learns what. Peers: the encrypted b and θ. C: who took part, and noise, also from
the peers' own questions. E: who took part, ciphertexts, and that the inverse is one.
Nobody sees a rado, b, A or θ.

Assumption: everyone follows the protocol, and C pools with nobody. All peers of the
first sum must be there for the second.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import (
    Ciphertext,
    Encrypted,
    Layout,
    Plain,
    PublicKey,
    SecretKey,
    Unsent,
    encrypt,
    total,
)
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import Floats
from sottovoce.paper.encrypted_rados import Documents, Signs, as_printed, plain_rados
from sottovoce.paper.inversion.inverse import check_inverse, checked_stages, invert
from sottovoce.protocols.blind_sum import Member, RoundBook, pairwise
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, receive, send
from sottovoce.protocols.disclosures import PAILLIER_HIDES_FROM_PEERS
from sottovoce.protocols.guard import AnswerGuard, AnswerRule, serve
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.runner import Meddler, Outcome, converse
from sottovoce.protocols.sealed_model import SealedModel, StudyKey, check_key, closing
from sottovoce.protocols.two_party.matrices import FixedFactors, matrix_product
from sottovoce.protocols.two_party.products import (
    MaskedColumnAndRow,
    answer_column_and_row,
    outer_product,
)
from sottovoce.rados import solve as plain_solve
from sottovoce.wire import Codec


class SealedSum(Message, frozen=True):
    """n·⟨⟨b⟩⟩, re-randomised."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer, who cannot decrypt it; sealed against the coordinator on its way",
        reveals="nothing: the sum of everybody's rados is a row of ciphertexts",
        assuming=PAILLIER_HIDES_FROM_PEERS,
    )
    total: Ciphertext


@dataclass(frozen=True)
class PrintedParticipant:
    """One party of a study: the terms, who it is, and what it did already."""

    terms: PrintedTerms
    who: Member
    book: RoundBook


@dataclass(frozen=True)
class SignedDocuments:
    """A peer's input of Protocol 1: its documents, and a signature for every rado."""

    documents: Documents
    signatures: Signs = field(repr=False)

    def rados(self) -> Plain:
        """The rados in plaintext."""
        return plain_rados(self.documents, self.signatures)


PeerRados = Plain | SignedDocuments


def ideal(terms: PrintedTerms, rados: Mapping[str, PeerRados]) -> Floats:
    """The ideal: (A + Γ)⁻¹ b of everybody's rados."""
    plain = (own.rados() if isinstance(own, SignedDocuments) else own for own in rados.values())
    rows = np.concatenate([own.floats() for own in plain])
    mean = rows.mean(axis=0)
    covariance = (rows - mean).T @ (rows - mean) / len(rows)
    return plain_solve(covariance, mean[:, None], penalty=np.array(terms.penalties))[:, 0]


def peer(
    here: PrintedParticipant, rados: PeerRados, *, key: PublicKey, entropy: Entropy
) -> Party[Ciphertext]:
    """At a peer: encrypted rados, centred under encryption, and their products asked for."""
    terms, cast = here.terms, here.terms.cast
    _check_rados(terms, rados)
    yield from check_key(cast.coordinator, key)
    sealed: Encrypted
    if isinstance(rados, SignedDocuments):
        made = _by_protocol_1(rados, terms, key=key, entropy=entropy)
        sealed = yield from cast.seated(closing(made))
    else:
        sealed = encrypt(key, rados, entropy=entropy)
    yield from pairwise.peer(
        terms.sums(key), [sealed.sum(axis=0)], who=here.who, book=here.book, entropy=entropy
    )
    mean_sum = yield from receive(cast.evaluator, SealedSum)
    mean = agreed_from(cast.evaluator, mean_sum.total, Layout((terms.features,)), terms.sum_scale)
    products = yield from cast.seated(closing(_products(sealed, mean, terms, entropy=entropy)))
    yield from pairwise.peer(
        terms.products(key), [products], who=here.who, book=here.book, entropy=entropy
    )
    model = yield from receive(cast.evaluator, SealedModel)
    layout = Layout((terms.features,), terms.inversion.slots(key.plaintext_bits))
    return agreed_from(cast.evaluator, model.theta, layout, terms.theta_scale)


def _check_rados(terms: PrintedTerms, rados: PeerRados) -> None:
    signed = isinstance(rados, SignedDocuments)
    if signed != terms.by_protocol_1:
        wanted = "documents with signatures" if terms.by_protocol_1 else "rados"
        raise MismatchError(f"rados: expected {wanted}, found {type(rados).__name__}")
    if isinstance(rados, SignedDocuments):
        shape = (len(rados.signatures), rados.documents.rows.shape[1])
        scale = rados.documents.rado_scale()
        fits = scale.fraction_bits == terms.rado_scale.fraction_bits
        fits = fits and scale.bound <= terms.rado_scale.bound
    else:
        shape, scale = (len(rados.integers), rados.shape[-1]), rados.scale
        fits = scale == terms.rado_scale and rados.shape == shape
    if shape != (terms.rados_each, terms.features) or not fits:
        raise MismatchError(
            f"rados: expected {terms.rados_each} of {terms.features} features on "
            f"{terms.rado_scale}, found {shape} on {scale}"
        )


def _by_protocol_1(
    own: SignedDocuments, terms: PrintedTerms, *, key: PublicKey, entropy: Entropy
) -> Party[Unsent]:
    """⟨⟨π⟩⟩ = S.MatProd(½ ⊗ (⟨⟨σ⟩⟩ ⊕ ⟨⟨y⟩⟩), ⟨⟨x⟩⟩), value by value."""
    signs = Scale(0, 1)
    rows, labels, signatures = (
        encrypt(key, plain, entropy=entropy)
        for plain in (
            own.documents.rows,
            Plain(own.documents.labels, signs),
            Plain(own.signatures, signs),
        )
    )
    made = yield from as_printed(rows, labels, signatures, entropy=entropy, masking=terms.masking)
    return made.within(terms.rado_scale)


def _products(
    rados: Encrypted, mean: Encrypted, terms: PrintedTerms, *, entropy: Entropy
) -> Party[Unsent]:
    """⊕ ⟨⟨u_i u_iᵀ⟩⟩ of one peer's rados, each by S.OuterProd."""
    products: list[Encrypted] = []
    for number in range(len(rados)):
        u = (rados[number] * terms.rados - mean).within(terms.centred_scale)
        products.append((yield from outer_product(u, u, entropy=entropy, masking=terms.masking)))
    return total(products).within(terms.product_scale)


def coordinator(here: PrintedParticipant, *, key: SecretKey, entropy: Entropy) -> Party[None]:
    """At the coordinator: carry both sums, and answer peers and evaluator, one after the other."""
    terms, cast = here.terms, here.terms.cast
    codec = Codec(ciphertexts_under(key.public))
    for name in (*cast.peers, cast.evaluator):
        yield from send(name, StudyKey(key.public.to_bytes()))
    for name in cast.peers if terms.by_protocol_1 else ():
        made = FixedFactors(key).stages(budget=1, entropy=entropy)
        yield from serve(AnswerGuard(name, made, codec=codec))
    yield from pairwise.coordinator(terms.sums(key.public), who=here.who, book=here.book)
    for name in cast.peers:
        rule = AnswerRule(
            MaskedColumnAndRow,
            lambda q: answer_column_and_row(key, q, entropy=entropy),
            terms.rados_each,
        )
        yield from serve(AnswerGuard(name, [[rule]], codec=codec))
    yield from pairwise.coordinator(terms.products(key.public), who=here.who, book=here.book)
    stages = [
        *checked_stages(key, terms.inversion, entropy=entropy),
        *FixedFactors(key).stages(budget=1, entropy=entropy),
    ]
    yield from serve(AnswerGuard(cast.evaluator, stages, codec=codec))


def evaluator(here: PrintedParticipant, *, key: PublicKey, entropy: Entropy) -> Party[Unsent]:
    """At the evaluator: both sums, Γ, the inverse, and ⟨⟨θ⟩⟩ to every peer."""
    terms, cast = here.terms, here.terms.cast
    yield from check_key(cast.coordinator, key)
    summed = yield from pairwise.evaluator(
        terms.sums(key), who=here.who, book=here.book, entropy=entropy
    )
    mean = summed.sums[0].within(terms.sum_scale)
    for name in cast.peers:
        yield from send(name, SealedSum(mean.fresh(entropy=entropy)))
    added = yield from pairwise.evaluator(
        terms.products(key), who=here.who, book=here.book, entropy=entropy
    )
    theta = yield from cast.seated(closing(_solve(added.sums[0], mean, terms, entropy=entropy)))
    for name in cast.peers:
        yield from send(name, SealedModel(theta.fresh(entropy=entropy)))
    return theta


def _solve(
    products: Encrypted, sums: Encrypted, terms: PrintedTerms, *, entropy: Entropy
) -> Party[Unsent]:
    """⟨⟨θ⟩⟩ = n²·(Σuuᵀ + n³Γ)⁻¹ Σπ."""
    plan = terms.inversion
    read = products.divided(terms.shrink_bits)
    packed = read.packed(plan.slots(products.key.plaintext_bits))
    A = packed.within(plan.matrix_scale(terms.factor * terms.ceiling)) + terms.penalty()
    V = yield from invert(A, plan, entropy=entropy)
    yield from check_inverse(A, V, plan, entropy=entropy)
    # V is symmetric, so V·b is the row bᵀ·V.
    theta = yield from matrix_product(sums, V, entropy=entropy, masking=terms.masking)
    return (theta * terms.rados**2).divided(terms.shrink_bits)


def run(
    terms: PrintedTerms,
    rados: Mapping[str, PeerRados],
    *,
    key: SecretKey,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: every peer's rados in, the sealed model out."""
    cast, public = terms.cast, key.public
    if set(rados) != set(cast.peers):
        raise InputError(f"rados: expected those of {cast.peers}, found {tuple(rados)}")
    this = terms.sums(public).this
    here = {
        name: PrintedParticipant(terms, member, RoundBook())
        for name, member in members_of(this, entropy).items()
    }
    programs: dict[str, Party[Any]] = {
        name: peer(here[name], rados[name], key=public, entropy=entropy) for name in cast.peers
    }
    programs[cast.coordinator] = coordinator(here[cast.coordinator], key=key, entropy=entropy)
    programs[cast.evaluator] = evaluator(here[cast.evaluator], key=public, entropy=entropy)
    codec = Codec(ciphertexts_under(public))
    return converse(programs, session=this.context, codec=codec, meddler=meddler)
