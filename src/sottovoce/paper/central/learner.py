"""The central-coordinator learner, the short way: each peer sends its own moments.

    peer p                        coordinator C (key)                    evaluator E
      │◀──────────── StudyKey K ───────┤──────────── StudyKey K ──────────────▶│
      │ blind sum "totals": documents, largest eigenvalue ══▶ C and E          │
      │◀──────────── PublicTotals ─────┤──────────── PublicTotals ────────────▶│
      │ A_p = XᵀX, b_p = Xᵀy: written, packed, encrypted                       │
      │ blind sum "moments": ⟨⟨A_p⟩⟩, ⟨⟨b_p⟩⟩ under masks ═════════════════════▶│ adds Γ
      │                                │◀───── S.Solve: masked questions ──────│
      │                                │────── encrypted answers ─────────────▶│
      │                                │◀───── is the residual small? ────────▶│
      │◀─────────────────────────── SealedModel ⟨⟨θ⟩⟩ ────────────────────────┤

θ = (ΣA_p + Γ)⁻¹ Σb_p is ridge regression on the union of all documents. (The paper
prints another way to the same direction; see `printed`. There C holds the key and
receives ⟨⟨b⟩⟩, ⟨⟨A⟩⟩ and ⟨⟨θ⟩⟩, which it could decrypt: E is the repair.)

Who learns what. Peers: the encrypted θ and the public totals. C: the totals, who took part, and
noise. E: the totals, who took part, ciphertexts that it cannot decrypt, and that the residual is
small (else it stops with an error). Nobody sees a rado, a moment or θ.

Assumption: everyone follows the protocol, and C and E do not pool what they saw;
with the key and the ciphertexts together they could read the moments of the union,
from which text can be rebuilt. So E is never C, and should not work for it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.errors import InputError, MismatchError, ViolationError
from sottovoce.paillier import Ciphertext, Layout, PublicKey, SecretKey, encrypt
from sottovoce.paper.central.messages import PublicTotals
from sottovoce.paper.central.terms import CentralTerms, Floats, MomentTerms, RoundedTotals
from sottovoce.protocols.blind_sum import Member, RoundBook, pairwise
from sottovoce.protocols.blind_sum.keys import members_of
from sottovoce.protocols.casting import agreed_from
from sottovoce.protocols.ciphertexts import ciphertexts_under
from sottovoce.protocols.conversation import Party, receive, send
from sottovoce.protocols.guard import AnswerGuard, serve
from sottovoce.protocols.runner import Conversation, Meddler, Outcome
from sottovoce.protocols.sealed_model import SealedModel, StudyKey, check_key, closing
from sottovoce.protocols.two_party.residual import checked_stages, solve_checked
from sottovoce.protocols.two_party.solve import Solved
from sottovoce.rados import Moments
from sottovoce.rados import solve as plain_solve
from sottovoce.wire import Codec


@dataclass(frozen=True)
class LearntModel:
    """The model as a peer holds it, and the peers that it was learnt from."""

    theta: Ciphertext
    peers: tuple[str, ...]


@dataclass(frozen=True)
class CentralParticipant:
    """One party of a study: the terms, who it is, and what it did already."""

    terms: CentralTerms
    who: Member
    book: RoundBook


def ideal(terms: CentralTerms, moments: Mapping[str, Moments]) -> Floats:
    """The ideal: (ΣA + Γ)⁻¹Σb."""
    second = np.sum([own.second for own in moments.values()], axis=0)
    products = np.sum([own.products for own in moments.values()], axis=0)
    return plain_solve(second, products, penalty=np.array(terms.penalties))[:, 0]


def peer(
    here: CentralParticipant, moments: Moments, *, key: PublicKey, entropy: Entropy
) -> Party[LearntModel | None]:
    """At a peer: contribute, and receive the sealed model; None if it came too late for a sum."""
    terms, cast = here.terms, here.terms.cast
    if (moments.features, moments.classes) != (terms.features, 1):
        raise MismatchError(
            f"moments: expected {terms.features} features and 1 class, found {moments.features} "
            f"and {moments.classes}"
        )
    yield from check_key(cast.coordinator, key)
    words = RoundedTotals.words(moments)
    plan = terms.totals_sum()
    counted = yield from pairwise.peer(
        plan, [words, words], who=here.who, book=here.book, entropy=entropy
    )
    if counted is None:
        return None
    totals = yield from hear_totals(cast.coordinator)
    moment_terms = MomentTerms(terms, totals, counted.peers)
    sum_plan = moment_terms.moments_sum(key)
    slots = moment_terms.plan.slots(key.plaintext_bits)
    sealed = [
        encrypt(key, plain, slots=slots, entropy=entropy) for plain in moment_terms.written(moments)
    ]
    added = yield from pairwise.peer(
        sum_plan, sealed, who=here.who, book=here.book, entropy=entropy
    )
    if added is None:
        return None
    model = yield from receive(cast.evaluator, SealedModel)
    layout = Layout((terms.features,), slots)
    scale = moment_terms.plan.direction_scale
    return LearntModel(agreed_from(cast.evaluator, model.theta, layout, scale), added.peers)


def coordinator(
    here: CentralParticipant, *, key: SecretKey, entropy: Entropy
) -> Party[tuple[str, ...]]:
    """At the coordinator: carry both sums, and answer the evaluator's masked questions."""
    terms, cast = here.terms, here.terms.cast
    for name in (*cast.peers, cast.evaluator):
        yield from send(name, StudyKey(key.public.to_bytes()))
    counted = yield from pairwise.coordinator(terms.totals_sum(), who=here.who, book=here.book)
    moment_terms = MomentTerms(terms, RoundedTotals.of(counted.sums[0]), counted.peers)
    for name in (*counted.peers, cast.evaluator):
        yield from send(name, moment_terms.totals.public())
    plan = moment_terms.moments_sum(key.public)
    added = yield from pairwise.coordinator(plan, who=here.who, book=here.book)
    stages = checked_stages(key, moment_terms.plan, entropy=entropy)
    codec = Codec(ciphertexts_under(key.public))
    yield from serve(AnswerGuard(cast.evaluator, stages, codec=codec))
    return added.peers


def evaluator(here: CentralParticipant, *, key: PublicKey, entropy: Entropy) -> Party[Solved]:
    """At the evaluator: add up the sealed moments, solve with the key holder, send ⟨⟨θ⟩⟩."""
    terms, cast = here.terms, here.terms.cast
    yield from check_key(cast.coordinator, key)
    counted = yield from pairwise.evaluator(
        terms.totals_sum(), who=here.who, book=here.book, entropy=entropy
    )
    totals = RoundedTotals.of(counted.sums[0])
    if (yield from hear_totals(cast.coordinator)) != totals:
        raise ViolationError(
            "the totals are not those that we opened ourselves", party=cast.coordinator
        )
    moment_terms = MomentTerms(terms, totals, counted.peers)
    added = yield from pairwise.evaluator(
        moment_terms.moments_sum(key), who=here.who, book=here.book, entropy=entropy
    )
    second, products = added.sums
    # The bounds are those of the sum over all peers.
    A = second.within(moment_terms.matrix_scale) + moment_terms.penalty()
    b = products.within(moment_terms.vector_scale)
    solved = yield from cast.seated(
        closing(solve_checked(A, b, moment_terms.plan, entropy=entropy))
    )
    for name in added.peers:
        yield from send(name, SealedModel(solved.theta.fresh(entropy=entropy)))
    return solved


def hear_totals(coordinator: str) -> Party[RoundedTotals]:
    """Receive the public totals from the coordinator."""
    totals = yield from receive(coordinator, PublicTotals)
    return RoundedTotals.heard(totals)


def table(
    terms: CentralTerms,
    moments: Mapping[str, Moments],
    *,
    key: SecretKey,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Conversation:
    """The programs of all parties, with new identities."""
    cast = terms.cast
    missing = [name for name in cast.peers if name not in moments]
    if missing or len(moments) != len(cast.peers):
        raise InputError(f"moments: expected those of {cast.peers}, found {tuple(moments)}")
    this = terms.totals_sum().this
    here = {
        name: CentralParticipant(terms, member, RoundBook())
        for name, member in members_of(this, entropy).items()
    }
    programs: dict[str, Party[Any]] = {
        name: peer(here[name], moments[name], key=key.public, entropy=entropy)
        for name in cast.peers
    }
    programs[cast.coordinator] = coordinator(here[cast.coordinator], key=key, entropy=entropy)
    programs[cast.evaluator] = evaluator(here[cast.evaluator], key=key.public, entropy=entropy)
    codec = Codec(ciphertexts_under(key.public))
    return Conversation(programs, session=this.context, codec=codec, meddler=meddler)


def run(
    terms: CentralTerms,
    moments: Mapping[str, Moments],
    *,
    key: SecretKey,
    entropy: Entropy,
    meddler: Meddler | None = None,
) -> Outcome:
    """The whole story in memory: every peer's moments in, the sealed model out."""
    return table(terms, moments, key=key, entropy=entropy, meddler=meddler).run()
