"""The training of a study in engine `quorum`: one program for peers, one for the coordinator.

    peer p                                member i                        coordinator C
      │ moments, in shares ──────────────────▶│                               │
      │ upper end of its spectrum, in shares ▶│ share of the sum of ends ────▶│
      │                                       │◀───────────── the sum ────────│
      │                                       │   quorum/solve.py: (A + λΓ)θ = b
      │                                       │   quorum/truncation.py, twice: θ times idf
      │◀────────────────────────────────────── TrainedNumbers ────────────────│
      │◀── ReleasedPart, only if the plan says so ──│                         │

Who learns what: everybody learns the ends of the joint spectrum, rounded up, and who took part;
each member ends with a share of the model, which t members together cannot read. C holds nothing.
If the plan releases the model to peers, every peer learns θ. Assuming that at most t members
pool, with or without C.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.conversation import Party, Send, receive
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import QuorumMember, seated
from sottovoce.protocols.quorum.members import Quorum
from sottovoce.protocols.quorum.opening import Opener, Opening, OpeningShare, opened, read_planes
from sottovoce.protocols.quorum.plan import QuorumPlan
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.solve import SystemPart, open_solve, solve
from sottovoce.protocols.quorum.truncation import FusedTruncation, truncated
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.quorum_model import QuorumModel, QuorumTrained
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.release import Opens
from sottovoce.study.stages.centring import Ends, Reference
from sottovoce.study.stages.contributions import (
    MomentPlan,
    drawn_moments,
    penalties_of,
    solve_plan,
    told_parts,
)
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.quorum_sums import (
    COUNT_BASE,
    note_opened,
    quorum_of,
    shared_sum,
    summand,
)
from sottovoce.study.study import Study
from sottovoce.study.totals import rounded_up
from sottovoce.text.documents import Document

_BASE = Base()
_SUM = "contributions"
_SOLVE_ROUND = 1


class SpectrumShare(OpeningShare, frozen=True):
    """A share of the sum of what all peers tell of their spectra."""

    discloses: ClassVar = Disclosure(
        seen_by="the coordinator, and with its answer every member",
        reveals="an upper end of the joint spectrum: a sum over all peers of rounded numbers",
        assuming="no more members than the threshold pool with each other and the coordinator",
    )


class TrainedNumbers(Message, frozen=True):
    """The ends of the spectrum, from which every peer works out how scores are written."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study",
        reveals="the sum of all peers' upper ends, rounded up, as the study card announced",
        assuming="at least three peers are in the sum",
    )
    ceiling_parts: int


class ReleasedPart(Message, frozen=True):
    """One member's share of the model, where the plan releases it to the peers."""

    discloses: ClassVar = Disclosure(
        seen_by="every peer of the study, sealed against everybody else",
        reveals="with the other members' shares the weights, as the study card announced",
        assuming="every peer consented to release = peers",
    )
    share: wire.Residues


@dataclass(frozen=True)
class QuorumSolve:
    """One solve: its numbers, how scores will be written, and from where rows are measured."""

    plan: QuorumPlan
    scores: ScorePlan
    alpha: float
    reference: Reference | None
    times: int = 1

    @classmethod
    def of(cls, party: PartyContext, prepared: Prepared, parts: int, alpha: float) -> "QuorumSolve":
        """What follows from the sum of what peers told, the same at everybody."""
        study, quorum = party.study, quorum_of(party)
        reference = Reference.of(study.plan, prepared.idf_halves)
        ends, times = Ends(parts), 1
        if reference is not None:
            interval = reference.ends(
                parts,
                penalties_of(study.plan, len(reference.point) + 1, alpha),
                weight=float(prepared.totals.rows),
                all_peers=set(party.peers) == set(prepared.totals.peers),
            )
            ends, times = interval.ends, interval.times
        fit = solve_plan(study.plan, prepared.totals, alpha=alpha, ends=ends)
        scores = ScorePlan.fit(study.plan, prepared.idf_halves, fit.solution)
        return cls(QuorumPlan(fit, quorum), scores, alpha, reference, times)

    def cuts(self) -> tuple[FusedTruncation, FusedTruncation]:
        """How θ is brought down, before and after it is folded."""
        first, second = self.scores.first_cut, self.scores.second_cut
        return self.plan.divided_by(first), self.plan.divided_by(second)

    def system(self, study: Study, share: Planes) -> SystemPart:
        """A member's part of the system, from its share of the sum of all moments."""
        width, classes = self.plan.solve.shape
        size = Triangle(width).size
        matrix = share[:, :size]
        vectors = share[:, size:].reshape(_BASE.count, width, classes)
        penalties = penalties_of(study.plan, width, self.alpha)
        if self.reference is None:
            return SystemPart(matrix, vectors, penalties)
        vectors = vectors.copy()
        vectors[:, -1:] = _BASE.scale(vectors[:, -1:], self.times)
        column = matrix[:, Triangle(width).last_column()]
        border = _BASE.scale(column, self.times - 1)
        border[:, -1:] = _BASE.scale(column[:, -1:], self.times**2 - 1)
        # The bias is penalised by the tilt.
        diagonal = np.append(penalties[:-1], 0.0)
        tilt = self.reference.tilt(penalties, self.times)
        return SystemPart(matrix, vectors, diagonal, tilt=tilt, border=border)

    def folded(self, theta: Planes) -> Planes:
        """A share of θ times the public factors of scores."""
        factors = _BASE.of(np.array(self.scores.factors, np.int64))[:, :, np.newaxis]
        folded = _BASE.times(theta, factors)
        if self.reference is not None:
            unit, point = self.reference.bias_factors(self.times)
            terms = [theta[:, -1], *(theta[:, row] for row in range(len(point)))]
            folded[:, -1] = _BASE.combine(terms, [unit, *(-one for one in point)])
        return folded


def train_member_or_peer(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Party[list[QuorumModel]]:
    """At a peer: a model for every penalty; a member computes, others hear the numbers."""
    study, quorum = party.study, quorum_of(party)
    layout = MomentPlan.of(study.plan, prepared.totals)
    words, end = _own_words(party, prepared, layout, training)
    what = summand(party, "moments", party.peers, layout.length, _BASE)
    share = yield from shared_sum(party, what, words, party.peers, quorum)
    del words
    told = summand(party, "spectrum", party.peers, 1, COUNT_BASE)
    ends = yield from shared_sum(party, told, np.array([end]), party.peers, quorum)
    note_opened(party, _SUM, party.peers)
    shares: list[Planes | None] = [None] * len(study.plan.alphas)
    if share is not None and ends is not None:
        opening = _spectrum_opening(quorum)
        parts = _parts_of((yield from opened(quorum, opening, ends)))
        for index, alpha in enumerate(study.plan.alphas):
            work = QuorumSolve.of(party, prepared, parts, alpha)
            shares[index] = yield from _solved(party, work, share, index)
    numbers = yield from receive(study.roster.coordinator, TrainedNumbers)
    if share is not None and numbers.ceiling_parts != parts:
        raise ViolationError(
            f"expected the ends of the spectrum that were opened, {parts}, "
            f"found {numbers.ceiling_parts}",
            party=study.roster.coordinator,
        )
    return _models(party, prepared, numbers.ceiling_parts, shares)


def _models(
    party: PartyContext, prepared: Prepared, parts: int, shares: Sequence[Planes | None]
) -> list[QuorumModel]:
    study, quorum = party.study, quorum_of(party)
    if prepared.space is None or parts < 0:
        raise InputError(f"{party.name}: expected the features of a peer and ends of a spectrum")
    models = []
    for alpha, share in zip(study.plan.alphas, shares, strict=True):
        scores = QuorumSolve.of(party, prepared, parts, alpha).scores
        model = QuorumModel(prepared.space, scores, alpha, prepared.key, quorum.members, share)
        models.append(replace(model, operating_point=study.plan.operating_point))
    return models


def _own_words(
    party: PartyContext, prepared: Prepared, layout: MomentPlan, training: Sequence[Document]
) -> tuple[np.ndarray, int]:
    """A peer's moments as integers, and what it tells of its spectrum."""
    study = party.study
    moments = drawn_moments(party, prepared, training)
    reference = Reference.of(study.plan, prepared.idf_halves)
    if reference is not None:
        reference.move(moments)
    words, bits = layout.write(moments), layout.scales.matrix.fraction_bits
    return from_ring(words), told_parts(study.plan, moments, reference, fraction_bits=bits)


def _solved(party: PartyContext, work: QuorumSolve, share: Planes, index: int) -> Party[Planes]:
    """At a member: its share of the folded model for one penalty."""
    quorum = work.plan.quorum
    context = party.context(party.peers, round=_SOLVE_ROUND + index)
    member: QuorumMember = yield from seated(
        quorum, party.name, context, entropy=party.entropy, ledger=party.ledger
    )
    theta = yield from solve(member, work.plan, work.system(party.study, share))
    first, second = work.cuts()
    theta = yield from truncated(member, first, theta, purpose="model")
    return (yield from truncated(member, second, work.folded(theta), purpose="folded model"))


def train_opener(party: PartyContext, prepared: Prepared) -> Party[list[QuorumTrained]]:
    """At the coordinator: it opens the sum of ends and what is masked, and holds nothing."""
    study, quorum = party.study, quorum_of(party)
    opener = Opener(quorum)
    parts = _parts_of((yield from opener.open(_spectrum_opening(quorum))))
    note_opened(party, _SUM, party.peers)
    trained = []
    for alpha in study.plan.alphas:
        work = QuorumSolve.of(party, prepared, parts, alpha)
        yield from open_solve(opener, work.plan)
        for cut in work.cuts():
            yield from opener.open(cut.opening(quorum, work.plan.solve.shape))
        trained.append(
            QuorumTrained(work.scores, prepared.totals, party.peers, quorum.members, alpha)
        )
    for name in party.peers:
        yield Send(name, TrainedNumbers(parts))
    return trained


def _spectrum_opening(quorum: Quorum) -> Opening:
    return Opening(SpectrumShare, quorum.threshold, COUNT_BASE, (1,))


def _parts_of(value: Planes) -> int:
    return rounded_up(int(COUNT_BASE.integers(value)[0]))


def give_release(party: PartyContext, model: QuorumModel) -> Party[QuorumModel]:
    """At a peer: the model with its weights, where the plan releases them."""
    study = party.study
    if study.plan.release.opens is not Opens.WEIGHTS:
        return model
    quorum = quorum_of(party)
    shares = {}
    if model.share is not None:
        shares[party.name] = model.share
        for name in party.peers:
            if name != party.name:
                yield Send(name, ReleasedPart(wire.Residues.of(model.share)))
    shape = (_BASE.count, *model.scores.shape)
    for name in quorum.members:
        if name != party.name:
            told = yield from receive(name, ReleasedPart)
            shares[name] = read_planes(told.share, shape, sender=name, what="ReleasedPart")
    degree = quorum.threshold
    value = put_together(shares, degree=degree, quorum=quorum, what="ReleasedPart")
    words = _BASE.signed(value).astype(np.float64)
    return replace(model, released=np.ldexp(words, -model.scores.weights.fraction_bits))
