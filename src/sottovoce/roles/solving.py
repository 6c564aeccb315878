"""The sealed solve of a study, and the encrypted model in every peer's hands.

    dealer D            coordinator C                   evaluator E              peers
      │◀── SolveNumbers ────│                                │                      │
      │   shares/solve.py: (A + λΓ)θ = b on shares           │                      │
      │   shares/truncation.py, twice: θ times idf, as short as labels allow        │
      │   shares/handover.py: ⟨⟨θ_C⟩⟩, or masks of D's ─────▶│                      │
      │                     │                                │── EncryptedModel ───▶│
      │                     │── ReleasedShare ── only if the plan says so ─────────▶│

Who learns what: C and E see uniform words; E and the peers hold ciphertexts that they cannot
open. D learns public numbers. If the plan releases the model to peers, every peer learns θ.
Assuming that no two of C, E, D pool, and that what E sends to peers is sealed against C.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words
from sottovoce.paillier import Ciphertext, SecretKey
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.handover import (
    ModelPlan,
    deal_model_masks,
    give_masked_share,
    give_share,
    take_masked_share,
    take_share,
)
from sottovoce.protocols.shares.holders import Dealer, Holder, deal_seeds, take_seed
from sottovoce.protocols.shares.plan import SolvePlan
from sottovoce.protocols.shares.rings import Ring
from sottovoce.protocols.shares.solve import SystemShare, deal_solve, solve
from sottovoce.protocols.shares.truncation import Truncation, deal_truncation, truncated
from sottovoce.roles.agreement import Agreement
from sottovoce.roles.contributions import (
    Contributed,
    penalties_of,
    solve_plan,
)
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import EncryptedModel, SealedModel, take_model
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.scoring import SCORE_BITS, ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.totals import Totals

# The rounds of one-time material; queries count on from their own names.
_SOLVE_ROUND = 1
_CUTS = ("model", "folded model")


class SolveNumbers(Message, frozen=True):
    """The public numbers from which the dealer works out what to deal."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of the sealed solve",
        reveals="totals and the upper end of the spectrum, all rounded up, and who took part",
        assuming="these numbers are on the study card",
    )
    totals: wire.Words
    ceiling_parts: int
    cuts: tuple[int, int]
    weight_bound: int
    ring_bits: int
    peers: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Solved:
    """A holder's share of the model for one penalty, and how scores are written with it."""

    scores: ScorePlan
    share: Words


@dataclass(frozen=True)
class _Work:
    """One solve: its numbers, and how scores will be written."""

    study: Study
    plan: SolvePlan
    scores: ScorePlan
    alpha: float

    @property
    def cuts(self) -> tuple[int, int]:
        return self.scores.first_cut, self.scores.second_cut

    def numbers(self, totals: Words, contributed: Contributed) -> SolveNumbers:
        """What the dealer is told."""
        size = (self.scores.weights.bound, self.scores.ring.bits)
        parts = contributed.ceiling_parts
        return SolveNumbers(wire.Words.of(totals), parts, self.cuts, *size, contributed.peers)


def _work(study: Study, prepared: Prepared, contributed: Contributed, alpha: float) -> _Work:
    parts = contributed.ceiling_parts
    plan = solve_plan(study.plan, prepared.totals, alpha=alpha, ceiling_parts=parts)
    scores = ScorePlan.fit(study.plan, prepared.idf_halves, plan.solution)
    return _Work(study, plan, scores, alpha)


def solve_first(
    desk: Desk, prepared: Prepared, contributed: Contributed, key: SecretKey
) -> Party[list[Solved]]:
    """At the coordinator: for every penalty its share of θ, handed over encrypted."""
    study = desk.study
    totals = np.array((prepared.totals.rows, *prepared.totals.by_class), np.uint64)
    found = []
    for index, alpha in enumerate(study.plan.alphas):
        work = _work(study, prepared, contributed, alpha)
        yield Send(study.trio.dealer, work.numbers(totals, contributed))
        holder = yield from _seated(desk, contributed.peers, index)
        share = yield from _model_share(holder, work, contributed)
        model, to = work.scores.model, study.roster.evaluator
        if work.scores.packed:
            yield from give_share(share, model, key, to=to, entropy=desk.entropy)
        else:
            yield from give_masked_share(holder, share, model)
        found.append(Solved(work.scores, share))
    return found


def solve_second(desk: Desk, prepared: Prepared, contributed: Contributed) -> Party[list[Solved]]:
    """At the evaluator: for every penalty the encrypted model, sent to every peer."""
    study = desk.study
    found = []
    for index, alpha in enumerate(study.plan.alphas):
        work = _work(study, prepared, contributed, alpha)
        holder = yield from _seated(desk, contributed.peers, index)
        share = yield from _model_share(holder, work, contributed)
        model = yield from _handed_over(desk, holder, work, share)
        for name in contributed.peers:
            yield Send(name, EncryptedModel(model, contributed.ceiling_parts))
        found.append(Solved(work.scores, share))
    return found


def _handed_over(desk: Desk, holder: Holder, work: _Work, share: Words) -> Party[Ciphertext]:
    """At the evaluator: the model mod 2^b, or its true integers for verdicts without a dealer."""
    model, sender = work.scores.model, desk.study.roster.coordinator
    if work.scores.packed:
        return (yield from take_share(share, model, sender=sender, entropy=desk.entropy))
    return (yield from take_masked_share(holder, share, model, entropy=desk.entropy))


def solve_dealt(desk: Desk, agreement: Agreement) -> Party[None]:
    """At the dealer: everything random that the solves need."""
    study = desk.study
    for index, alpha in enumerate(study.plan.alphas):
        told = yield from receive(study.roster.coordinator, SolveNumbers)
        rows, *by_class = (int(one) for one in told.totals.array())
        totals = Totals(rows, tuple(by_class), told.peers)
        plan = solve_plan(study.plan, totals, alpha=alpha, ceiling_parts=told.ceiling_parts)
        context = desk.context(told.peers, round=_SOLVE_ROUND + index)
        dealer = yield from deal_seeds(
            study.trio, context, ledger=desk.ledger, entropy=desk.entropy
        )
        yield from deal_solve(dealer, plan)
        yield from _deal_cuts(dealer, told.cuts, plan.shape)
        if not study.plan.packs_scores:
            scale = Scale(SCORE_BITS, told.weight_bound)
            model = ModelPlan(plan.shape, scale, Ring(told.ring_bits))
            yield from deal_model_masks(dealer, model, agreement.key, entropy=desk.entropy)


def take_solved(desk: Desk, prepared: Prepared) -> Party[list[SealedModel]]:
    """At a peer: an encrypted model for every penalty."""
    study = desk.study
    found = []
    for alpha in study.plan.alphas:
        told = yield from receive(study.roster.evaluator, EncryptedModel)
        work = _work(study, prepared, Contributed((), told.ceiling_parts), alpha)
        found.append(take_model(study, prepared, told, scores=work.scores, alpha=alpha))
    return found


def _seated(desk: Desk, peers: Collection[str], index: int) -> Party[Holder]:
    context = desk.context(peers, round=_SOLVE_ROUND + index)
    return (yield from take_seed(desk.study.trio, desk.name, context, ledger=desk.ledger))


def _model_share(holder: Holder, work: _Work, contributed: Contributed) -> Party[Words]:
    """A holder's share of the folded model."""
    study = work.study
    assert contributed.words is not None
    width, classes = work.plan.shape
    size = contributed.words.size - width * classes
    matrix, vectors = contributed.words[:size], contributed.words[size:].reshape(width, classes)
    penalties = penalties_of(study.plan, width, work.alpha)
    theta = yield from solve(holder, work.plan, SystemShare(matrix, vectors, penalties))
    first, second = work.cuts
    theta = yield from truncated(holder, theta, Truncation(first), purpose=_CUTS[0])
    folded = work.scores.fold(theta)
    return (yield from truncated(holder, folded, Truncation(second), purpose=_CUTS[1]))


def _deal_cuts(dealer: Dealer, cuts: tuple[int, int], shape: tuple[int, int]) -> Party[None]:
    for purpose, bits in zip(_CUTS, cuts, strict=True):
        yield from deal_truncation(dealer, Truncation(bits), shape, purpose=purpose)
