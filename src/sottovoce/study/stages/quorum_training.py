"""The training of a study in engine `quorum`, from the joint moments to a model in shares.

    peer p                                member i                        coordinator C
      │                                       │   quorum/solve.py: (A + λΓ)θ = b
      │                                       │   quorum/truncation.py, twice: θ times idf
      │                                       │   quorum/told_check.py: was this what was opened?
      │◀─────────────────────────────────────── ModelHeld ────────────────────│
      │◀── ReleasedPart, only if the plan says so ──│                         │

Each member begins with its share of the joint moments (`quorum_contributions.py`) and ends with a
share of the model, which t members together cannot read. If a member leaves, the opener continues
with the others; if masks of that member are missing, all masks are dealt again in another attempt.
Who learns what: everybody learns that the solve succeeded. C holds no part of the model. If the
plan releases the model to peers, every peer learns θ. Assuming that at most t members pool, with or
without C.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sottovoce import wire
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.residues import Base, Planes
from sottovoce.protocols.conversation import Party, Send, followed_by, gather, receive
from sottovoce.protocols.disclosures import (
    BY_EVERY_PEER,
    BY_EVERY_PEER_SEALED,
    CONSENT_TO_RELEASE,
    ROSTER_IS_PUBLIC,
)
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum.dealing import seated
from sottovoce.protocols.quorum.opening import Opener, read_planes
from sottovoce.protocols.quorum.plan import QuorumPlan
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.protocols.quorum.solve import SystemPart, open_solve, solve
from sottovoce.protocols.quorum.told_check import check_told, keeping_told, tell_who_is_there
from sottovoce.protocols.quorum.truncation import FusedTruncation, truncated
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.study.attempts import MOST_ATTEMPTS
from sottovoce.study.candidates import Candidate
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.quorum_model import MemberShare, QuorumModel, QuorumTrained
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.release import Opens
from sottovoce.study.stages.centring import Ends, Reference
from sottovoce.study.stages.contributions import penalties_of, solve_plan, weight_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.quorum_contributions import JointSums
from sottovoce.study.study import Study

_BASE = Base()
_SOLVE_ROUND = 1


class ModelHeld(Message, frozen=True):
    """Says that the solve is over, and which members hold the model."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_PEER,
        reveals="that the solve succeeded, and which members were there to its end",
        assuming=ROSTER_IS_PUBLIC,
    )
    members: tuple[str, ...]


class ReleasedPart(Message, frozen=True):
    """One member's share of the model, sent if the plan releases it to the peers."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVERY_PEER_SEALED,
        reveals="with the other members' shares the weights, as the study card announced",
        assuming=CONSENT_TO_RELEASE,
    )
    share: wire.Residues


@dataclass(frozen=True)
class QuorumSolve:
    """One solve: its numbers, the scales of scores, and the point from which rows are measured."""

    plan: QuorumPlan
    scores: ScorePlan
    candidate: Candidate
    reference: Reference | None
    times: int = 1

    @classmethod
    def of(
        cls, party: PartyContext, prepared: Prepared, sums: JointSums, candidate: Candidate
    ) -> "QuorumSolve":
        """Return the plan from the sums of peers' bounds, the same at every party."""
        study, quorum, spectrum = party.study, party.study.quorum_of(party.peers), sums.spectrum
        reference = sums.reference
        ends, times = Ends(spectrum.largest), 1
        if reference is not None:
            interval = reference.ends(
                spectrum,
                penalties_of(study.plan, len(reference.point) + 1, candidate),
                weight=weight_of(study.plan, prepared.totals.rows),
                all_peers=set(sums.peers) == set(prepared.totals.peers),
            )
            ends, times = interval.ends, interval.times
        fit = solve_plan(study.plan, prepared.totals, candidate, ends=ends)
        scores = ScorePlan.fit(study.plan, prepared.idf_halves, fit.solution)
        return cls(QuorumPlan(fit, quorum, MOST_ATTEMPTS), scores, candidate, reference, times)

    def cuts(self) -> tuple[FusedTruncation, FusedTruncation]:
        """The truncations of θ, before and after it is folded."""
        first, second = self.scores.first_cut, self.scores.second_cut
        return self.plan.divided_by(first), self.plan.divided_by(second)

    def system(self, study: Study, share: Planes) -> SystemPart:
        """Return a member's part of the system, from its share of the sum of all moments."""
        width, classes = self.plan.solve.shape
        size = Triangle(width).size
        left_out = study.plan.left_out(self.candidate, width)
        matrix = left_out.cleared_triangle(share[:, :size], width)
        vectors = share[:, size:].reshape(_BASE.count, width, classes)
        vectors = left_out.cleared(vectors, axis=1)
        penalties = penalties_of(study.plan, width, self.candidate)
        if self.reference is None:
            return SystemPart(matrix, vectors, penalties)
        vectors = vectors.copy()
        vectors[:, -1:] = _BASE.scale(vectors[:, -1:], self.times)
        column = matrix[:, Triangle(width).last_column()]
        border = _BASE.scale(column, self.times - 1)
        border[:, -1:] = _BASE.scale(column[:, -1:], self.times**2 - 1)
        # The bias is penalised by the tilt.
        diagonal = np.append(penalties[:-1], 0.0)
        tilt = left_out.cleared(self.reference.tilt(penalties, self.times))
        return SystemPart(matrix, vectors, diagonal, tilt=tilt, border=border)

    def folded(self, theta: Planes) -> Planes:
        """Return a share of θ times the public factors of scores."""
        factors = _BASE.of(np.array(self.scores.factors, np.int64))[:, :, np.newaxis]
        folded = _BASE.times(theta, factors)
        if self.reference is not None:
            unit, point = self.reference.bias_factors(self.times)
            terms = [theta[:, -1], *(theta[:, row] for row in range(len(point)))]
            folded[:, -1] = _BASE.combine(terms, [unit, *(-threshold for threshold in point)])
        return folded


def solve_members(
    party: PartyContext, prepared: Prepared, sums: JointSums
) -> Party[list[MemberShare]]:
    """At a member: return its share of every model."""
    if sums.share is None:
        raise InputError(f"{party.name}: expected a member with its share of the joint moments")
    shares = []
    for index, candidate in enumerate(party.study.plan.candidates):
        work = QuorumSolve.of(party, prepared, sums, candidate)
        later = _later_steps(party, work, index)
        share = yield from followed_by(later, _solved(party, work, sums.share, index))
        members = work.plan.quorum.members
        shares.append(MemberShare(prepared.idf_halves, work.scores, members, share))
    return shares


def _later_steps(party: PartyContext, work: QuorumSolve, index: int) -> int:
    """Return about how many steps the solves of later models take."""
    return (len(party.study.plan.candidates) - index - 1) * len(work.plan.solve.steps)


def _solved(party: PartyContext, work: QuorumSolve, share: Planes, index: int) -> Party[Planes]:
    """At a member: return its share of one folded model."""
    context = party.context(party.peers, round=_SOLVE_ROUND + index)
    member = yield from seated(
        work.plan.quorum, party.name, context, entropy=party.entropy, ledger=party.ledger
    )
    member = keeping_told(member)
    theta = yield from solve(member, work.plan, work.system(party.study, share))
    first, second = work.cuts()
    theta = yield from truncated(member, first, theta, purpose="model")
    model = yield from truncated(member, second, work.folded(theta), purpose="folded model")
    yield from check_told(member, purpose="model")
    return model


def open_solves(
    party: PartyContext, prepared: Prepared, sums: JointSums
) -> Party[list[QuorumTrained]]:
    """At the coordinator: open masked values; keep no part of the model."""
    opener = Opener(party.study.quorum_of(party.peers))
    plans = []
    for index, candidate in enumerate(party.study.plan.candidates):
        work = QuorumSolve.of(party, prepared, sums, candidate)
        yield from followed_by(_later_steps(party, work, index), open_solve(opener, work.plan))
        for cut in work.cuts():
            yield from opener.open(cut.opening(opener.quorum, work.plan.solve.shape))
        yield from tell_who_is_there(opener.quorum, opener.present)
        plans.append(work.scores)
    # A member that left during the last solve has no share of its model.
    members = tuple(opener.present)
    for name in party.peers:
        yield Send(name, ModelHeld(members))
    return [
        QuorumTrained(scores, prepared.totals, party.peers, members, candidate)
        for scores, candidate in zip(plans, party.study.plan.candidates, strict=True)
    ]


def hear_solved(
    party: PartyContext, prepared: Prepared, sums: JointSums
) -> Party[list[QuorumModel]]:
    """At a peer: return its record of every model: the holders, and how scores are read."""
    study, quorum = party.study, party.study.quorum_of(party.peers)
    if prepared.space is None:
        raise InputError(f"{party.name}: the features of the peer are missing")
    members = (yield from receive(study.roster.coordinator, ModelHeld)).members
    if members != quorum.among(members).members:
        raise ViolationError(
            f"the members are not those of this attempt ({', '.join(quorum.members)})",
            party=study.roster.coordinator,
        )
    models = []
    for candidate in study.plan.candidates:
        scores = QuorumSolve.of(party, prepared, sums, candidate).scores
        model = QuorumModel(prepared.space, scores, candidate, prepared.key, members)
        models.append(replace(model, operating_point=study.plan.operating_point))
    return models


def give_release(party: PartyContext, held: MemberShare) -> Party[None]:
    """At a member: send every peer its share of the weights, if the plan releases them."""
    if party.study.plan.release.opens is Opens.WEIGHTS:
        for name in party.peers:
            yield Send(name, ReleasedPart(wire.Residues.of(held.share)))


def take_release(party: PartyContext, model: QuorumModel) -> Party[QuorumModel]:
    """At a peer: add the weights to its record, if the plan releases them."""
    if party.study.plan.release.opens is not Opens.WEIGHTS:
        return model
    quorum = party.study.quorum.among(model.members)
    messages = yield from gather(ReleasedPart, quorum.members)
    shape = (_BASE.count, *model.scores.shape)
    shares = {
        name: read_planes(message.share, shape, sender=name, what="ReleasedPart")
        for name, message in messages.items()
    }
    degree = quorum.threshold
    value = put_together(shares, degree=degree, quorum=quorum.among(shares), what="ReleasedPart")
    words = _BASE.signed(value).astype(np.float64)
    return replace(model, released=np.ldexp(words, -model.scores.weights.fraction_bits))
