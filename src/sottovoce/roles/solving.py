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
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.handover import give_share, take_share
from sottovoce.protocols.shares.holders import Dealer, Holder, deal_seeds, take_seed
from sottovoce.protocols.shares.plan import SolvePlan
from sottovoce.protocols.shares.solve import SystemShare, deal_solve, solve
from sottovoce.protocols.shares.truncation import Truncation, deal_truncation, truncated
from sottovoce.roles.contributions import (
    Contributed,
    penalties_of,
    solve_plan,
)
from sottovoce.roles.desk import Desk
from sottovoce.roles.listing import Columns, Lists, completed, part_of
from sottovoce.roles.model import EncryptedModel, SealedModel, take_model
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.reference import WHOLE, Ends, Reference
from sottovoce.roles.scoring import ScorePlan
from sottovoce.roles.study import Study
from sottovoce.roles.totals import Totals

# The rounds of one-time material; queries count on from their own names.
_SOLVE_ROUND = 1
_CUTS = ("model", "folded model")


class SolveNumbers(Message, frozen=True):
    """The public numbers from which the dealer works out what to deal."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of the sealed solve",
        reveals="totals and the ends of the spectrum, all rounded, and who took part",
        assuming="these numbers are on the study card",
    )
    totals: wire.Words
    ceiling_parts: int
    floor_share: int
    cuts: tuple[int, int]
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
    ends: Ends
    moved: "_Moved | None" = None

    @property
    def cuts(self) -> tuple[int, int]:
        return self.scores.first_cut, self.scores.second_cut

    def numbers(self, totals: Words, contributed: Contributed) -> SolveNumbers:
        """What the dealer is told."""
        ends = (self.ends.ceiling_parts, self.ends.floor_share)
        return SolveNumbers(wire.Words.of(totals), *ends, self.cuts, contributed.peers)


@dataclass(frozen=True)
class _Moved:
    """The point that moments were measured from, and how many times its unit the bias is."""

    reference: Reference
    times: int

    def system(self, matrix: Words, vectors: Words, penalties: NDArray[np.float64]) -> SystemShare:
        """A share of the system in φ."""
        vectors = vectors.copy()
        vectors[-1] *= np.uint64(self.times)
        # The bias is penalised by the tilt.
        diagonal = np.append(penalties[:-1], 0.0)
        return SystemShare(
            matrix,
            vectors,
            diagonal,
            tilt=self.reference.tilt(penalties, self.times),
            border=self.reference.border(matrix, self.times),
        )


def _work(study: Study, prepared: Prepared, contributed: Contributed, alpha: float) -> _Work:
    reference = Reference.of(study.plan, prepared.idf_halves)
    if reference is None:
        return _work_of(study, prepared, Ends(contributed.ceiling_parts), alpha)
    interval = reference.ends(
        contributed.ceiling_parts,
        penalties_of(study.plan, len(reference.point) + 1, alpha),
        weight=float(prepared.totals.rows),
        all_peers=set(contributed.peers) == set(prepared.totals.peers),
    )
    work = _work_of(study, prepared, interval.ends, alpha)
    return replace(work, moved=_Moved(reference, interval.times))


def _ends_of(told: SolveNumbers | EncryptedModel, *, sender: str) -> Ends:
    """The ends that dealer and peers are told, if there is an interval between them."""
    parts, share = told.ceiling_parts, told.floor_share
    if parts < 0 or not 0 < share <= WHOLE:
        raise ViolationError(
            f"expected ends of a spectrum (from 0, and 1 to {WHOLE}), found {parts} and {share}",
            party=sender,
        )
    return Ends(parts, share)


def _work_of(study: Study, prepared: Prepared, ends: Ends, alpha: float) -> _Work:
    """What follows from the ends of the spectrum, as peers are told them."""
    plan = solve_plan(study.plan, prepared.totals, alpha=alpha, ends=ends)
    scores = ScorePlan.fit(study.plan, prepared.idf_halves, plan.solution)
    return _Work(study, plan, scores, alpha, ends)


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
        yield from give_share(share, model, key, to=to, entropy=desk.entropy)
        found.append(Solved(work.scores, share))
    return found


def solve_second(
    desk: Desk, prepared: Prepared, contributed: Contributed, lists: Lists
) -> Party[list[Solved]]:
    """At the evaluator: for every penalty the encrypted model, sent to every peer."""
    study = desk.study
    found = []
    for index, alpha in enumerate(study.plan.alphas):
        work = _work(study, prepared, contributed, alpha)
        holder = yield from _seated(desk, contributed.peers, index)
        share = yield from _model_share(holder, work, contributed)
        sender = study.roster.coordinator
        plan, entropy = work.scores.model, desk.entropy
        model = yield from take_share(share, plan, sender=sender, entropy=entropy)
        for name in contributed.peers:
            ends = work.ends
            part = part_of(model, lists, name)
            yield Send(name, EncryptedModel(part, ends.ceiling_parts, ends.floor_share))
        found.append(Solved(work.scores, share))
    return found


def solve_dealt(desk: Desk) -> Party[None]:
    """At the dealer: everything random that the solves need."""
    study = desk.study
    for index, alpha in enumerate(study.plan.alphas):
        told = yield from receive(study.roster.coordinator, SolveNumbers)
        rows, *by_class = (int(one) for one in told.totals.array())
        totals = Totals(rows, tuple(by_class), told.peers)
        ends = _ends_of(told, sender=study.roster.coordinator)
        plan = solve_plan(study.plan, totals, alpha=alpha, ends=ends)
        context = desk.context(told.peers, round=_SOLVE_ROUND + index)
        dealer = yield from deal_seeds(
            study.trio, context, ledger=desk.ledger, entropy=desk.entropy
        )
        yield from deal_solve(dealer, plan)
        yield from _deal_cuts(dealer, told.cuts, plan.shape)


def take_solved(
    desk: Desk, prepared: Prepared, columns: Columns | None
) -> Party[list[SealedModel]]:
    """At a peer: an encrypted model for every penalty."""
    study = desk.study
    found = []
    for alpha in study.plan.alphas:
        told = yield from receive(study.roster.evaluator, EncryptedModel)
        ends = _ends_of(told, sender=study.roster.evaluator)
        work = _work_of(study, prepared, ends, alpha)
        weights = completed(desk, told.weights, work.scores, columns)
        told = EncryptedModel(weights, told.ceiling_parts, told.floor_share)
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
    moved = work.moved
    system = SystemShare if moved is None else moved.system
    theta = yield from solve(holder, work.plan, system(matrix, vectors, penalties))
    first, second = work.cuts
    theta = yield from truncated(holder, theta, Truncation(first), purpose=_CUTS[0])
    folded = work.scores.fold(theta)
    if moved is not None:
        folded[-1] = moved.reference.bias_row(theta, moved.times)
    return (yield from truncated(holder, folded, Truncation(second), purpose=_CUTS[1]))


def _deal_cuts(dealer: Dealer, cuts: tuple[int, int], shape: tuple[int, int]) -> Party[None]:
    for purpose, bits in zip(_CUTS, cuts, strict=True):
        yield from deal_truncation(dealer, Truncation(bits), shape, purpose=purpose)
