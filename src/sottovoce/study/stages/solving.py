"""The sealed solve of a study in engine shares, and the part of the model that peers get.

    dealer D            coordinator C                   evaluator E              peers
      │◀── SolveNumbers ────│                                │                      │
      │◀── HolderNonce ──────────────────────────────────────│   (shares/holders.py)
      │   shares/moment_check.py: no more than the published rows can have          │
      │   shares/solve.py: (A + λΓ)θ = b on shares           │                      │
      │   shares/truncation.py, twice: θ times idf, as short as labels allow        │
      │   labels on shares: C and E keep θ_C, θ_E            │── SharedModel ──────▶│
      │   labels on ciphertexts (shares/handover.py): ⟨⟨θ_C⟩⟩ ▶│── EncryptedModel ───▶│
      │                     │── ReleasedShare ── only if the plan says so ─────────▶│

Who learns what: C and E see uniform words. If labels are found on shares, peers learn public
numbers and hold no part of the model; else E and the peers hold ciphertexts that they cannot open.
D learns public numbers, and receives random bytes. If the plan releases the model to peers, every
peer learns θ. Assuming that no two of C, E, D pool, and that E's messages to peers are sealed
against C.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.paillier import PublicKey, SecretKey
from sottovoce.protocols.conversation import Party, Send, followed_by, receive
from sottovoce.protocols.disclosures import NUMBERS_ARE_NAMED_ON_THE_CARD
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.handover import give_share, take_share
from sottovoce.protocols.shares.holders import Dealer, Holder, deal_to_run, seated
from sottovoce.protocols.shares.material import Context
from sottovoce.protocols.shares.moment_check import check_moments, deal_moment_check
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.solve import SystemShare, deal_solve, solve
from sottovoce.protocols.shares.truncation import RingTruncation, deal_truncation, truncated
from sottovoce.study.candidates import Candidate, ColumnsLeftOut
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import (
    EncryptedModel,
    PeerModel,
    SharedModel,
    take_model,
    take_shared,
)
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.stages.centring import WHOLE, Ends, Reference
from sottovoce.study.stages.contributions import (
    Contributed,
    bounds_of,
    penalties_of,
    solve_plan,
    weight_of,
)
from sottovoce.study.stages.listing import Columns, Lists, completed, part_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.study import Study
from sottovoce.study.totals import Totals

# The round numbers of one-time material; queries have contexts of their own.
_SOLVE_ROUND = 1
_HELD = "study/contributions at a holder/v1"
_CUTS = ("model", "folded model")


class SolveNumbers(Message, frozen=True):
    """The public numbers from which the dealer computes what to deal."""

    discloses: ClassVar = Disclosure(
        seen_by="the dealer of the sealed solve",
        reveals="totals and the ends of the spectrum, all rounded, and who took part",
        assuming=NUMBERS_ARE_NAMED_ON_THE_CARD,
    )
    totals: wire.Words
    ceiling_parts: int
    floor_share: int
    cuts: tuple[int, int]
    peers: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class SolvedShare:
    """A holder's share of one model, and the scales of its scores."""

    scores: ScorePlan
    share: Words

    @property
    def weights(self) -> Words:
        """Return the share without the additional weights for scores on shares."""
        return self.share[: len(self.scores.factors)]


@dataclass(frozen=True)
class _StudySolve:
    """One solve: its numbers, and the scales of scores."""

    study: Study
    plan: ShareSolvePlan
    scores: ScorePlan
    candidate: Candidate
    ends: Ends
    moved: "_Moved | None" = None

    @property
    def cuts(self) -> tuple[int, int]:
        return self.scores.first_cut, self.scores.second_cut

    def numbers(self, totals: Totals, contributed: Contributed) -> SolveNumbers:
        """Return the numbers for the dealer."""
        ends = (self.ends.ceiling_parts, self.ends.floor_share)
        return SolveNumbers(totals.written, *ends, self.cuts, contributed.peers)


@dataclass(frozen=True)
class _Moved:
    """The point from which moments were measured, and the bias in its units."""

    reference: Reference
    times: int

    def system(
        self,
        matrix: Words,
        vectors: Words,
        penalties: NDArray[np.float64],
        left_out: ColumnsLeftOut,
    ) -> SystemShare:
        """Return a share of the system in φ."""
        vectors = vectors.copy()
        vectors[-1] *= np.uint64(self.times)
        # The bias is penalised by the tilt.
        diagonal = np.append(penalties[:-1], 0.0)
        return SystemShare(
            matrix,
            vectors,
            diagonal,
            tilt=left_out.cleared(self.reference.tilt(penalties, self.times)),
            border=self.reference.border(matrix, self.times),
        )


def _work(
    study: Study, prepared: Prepared, contributed: Contributed, candidate: Candidate
) -> _StudySolve:
    reference = contributed.reference
    if reference is None:
        return _work_of(study, prepared, Ends(contributed.spectrum.largest), candidate)
    interval = reference.ends(
        contributed.spectrum,
        penalties_of(study.plan, len(reference.point) + 1, candidate),
        weight=weight_of(study.plan, prepared.totals.rows),
        all_peers=set(contributed.peers) == set(prepared.totals.peers),
    )
    work = _work_of(study, prepared, interval.ends, candidate)
    return replace(work, moved=_Moved(reference, interval.times))


def _ends_of(numbers: SolveNumbers | EncryptedModel | SharedModel, *, sender: str) -> Ends:
    """Return the ends of the spectrum in a message, after checking that they form an interval."""
    parts, share = numbers.ceiling_parts, numbers.floor_share
    if parts < 0 or not 0 < share <= WHOLE:
        raise ViolationError(
            f"expected ends of a spectrum (from 0, and 1 to {WHOLE}), found {parts} and {share}",
            party=sender,
        )
    return Ends(parts, share)


def _work_of(study: Study, prepared: Prepared, ends: Ends, candidate: Candidate) -> _StudySolve:
    """Return the solve that follows from the ends of the spectrum."""
    plan = solve_plan(study.plan, prepared.totals, candidate, ends=ends)
    on_shares = study.on_shares
    scores = ScorePlan.fit(study.plan, prepared.idf_halves, plan.solution, on_shares=on_shares)
    return _StudySolve(study, plan, scores, candidate, ends)


def solve_first(
    party: PartyContext, prepared: Prepared, contributed: Contributed, key: SecretKey
) -> Party[list[SolvedShare]]:
    """At the coordinator: return its share of every model's θ; hand it over if needed."""
    study = party.study
    shares = []
    for index, candidate in enumerate(study.plan.candidates):
        work = _work(study, prepared, contributed, candidate)
        yield Send(study.trio.dealer, work.numbers(prepared.totals, contributed))
        holder = yield from _seated(party, contributed, index)
        yield from _check_first(holder, study, prepared, contributed, index=index)
        later = (len(study.plan.candidates) - index - 1) * len(work.plan.steps)
        share = yield from followed_by(later, _model_share(holder, work, contributed))
        if not study.on_shares:
            model, to = work.scores.model, study.roster.evaluator
            yield from give_share(share, model, key, to=to, entropy=party.entropy)
        shares.append(SolvedShare(work.scores, share))
    return shares


def solve_second(
    party: PartyContext, prepared: Prepared, contributed: Contributed, lists: Lists
) -> Party[list[SolvedShare]]:
    """At the evaluator: return its share of every model's θ; send every peer its part."""
    study = party.study
    shares = []
    for index, candidate in enumerate(study.plan.candidates):
        work = _work(study, prepared, contributed, candidate)
        holder = yield from _seated(party, contributed, index)
        yield from _check_first(holder, study, prepared, contributed, index=index)
        later = (len(study.plan.candidates) - index - 1) * len(work.plan.steps)
        share = yield from followed_by(later, _model_share(holder, work, contributed))
        if study.on_shares:
            for name in contributed.peers:
                yield Send(name, SharedModel(work.ends.ceiling_parts, work.ends.floor_share))
        else:
            yield from _hand_out(party, work, share, contributed.peers, lists)
        shares.append(SolvedShare(work.scores, share))
    return shares


def _hand_out(
    party: PartyContext, work: _StudySolve, share: Words, peers: Collection[str], lists: Lists
) -> Party[None]:
    """At the evaluator: send every peer the encrypted model, or the part that it listed."""
    sender, plan, ends = party.study.roster.coordinator, work.scores.model, work.ends
    model = yield from take_share(share, plan, sender=sender, entropy=party.entropy)
    for name in peers:
        part = part_of(model, lists, name)
        yield Send(name, EncryptedModel(part, ends.ceiling_parts, ends.floor_share))


def solve_dealt(party: PartyContext) -> Party[None]:
    """At the dealer: deal everything that the solves need."""
    study = party.study
    for index, candidate in enumerate(study.plan.candidates):
        solve_numbers = yield from receive(study.roster.coordinator, SolveNumbers)
        totals = Totals.read(
            study, solve_numbers.totals, solve_numbers.peers, sender=study.roster.coordinator
        )
        ends = _ends_of(solve_numbers, sender=study.roster.coordinator)
        plan = solve_plan(study.plan, totals, candidate, ends=ends)
        context = party.context(solve_numbers.peers, round=_SOLVE_ROUND + index)
        dealer = yield from deal_to_run(
            study.trio, context, ledger=party.ledger, entropy=party.entropy
        )
        if not index:
            bounds = bounds_of(study.plan, totals, peers=len(solve_numbers.peers))
            yield from deal_moment_check(dealer, bounds)
        yield from deal_solve(dealer, plan)
        width, classes = plan.shape
        # A model that stays in shares has two weights for the norm (scoring.py).
        kept = (width + study.on_shares, classes)
        yield from _deal_cuts(dealer, solve_numbers.cuts, (plan.shape, kept))


def take_solved(
    party: PartyContext, prepared: Prepared, columns: Columns | None, *, public: PublicKey
) -> Party[list[PeerModel]]:
    """At a peer: return its record of every model."""
    study = party.study
    models = []
    for candidate in study.plan.candidates:
        if study.on_shares:
            shared = yield from receive(study.roster.evaluator, SharedModel)
            ends = _ends_of(shared, sender=study.roster.evaluator)
            scores = _work_of(study, prepared, ends, candidate).scores
            model = take_shared(study, prepared, scores=scores, candidate=candidate, public=public)
            models.append(model)
            continue
        encrypted = yield from receive(study.roster.evaluator, EncryptedModel)
        ends = _ends_of(encrypted, sender=study.roster.evaluator)
        work = _work_of(study, prepared, ends, candidate)
        weights = completed(party, encrypted.weights, work.scores, columns)
        encrypted = EncryptedModel(weights, encrypted.ceiling_parts, encrypted.floor_share)
        model = take_model(study, prepared, encrypted, scores=work.scores, candidate=candidate)
        models.append(model)
    return models


def _seated(party: PartyContext, contributed: Contributed, index: int) -> Party[Holder]:
    assert contributed.words is not None
    context = party.context(contributed.peers, round=_SOLVE_ROUND + index)
    return (yield from holding(party, context, _HELD, contributed.words))


def holding(party: PartyContext, context: Context, purpose: str, words: Words) -> Party[Holder]:
    """Seat a holder of shares; what the second draws depends on its share."""
    trio = party.study.trio
    if party.name == trio.second:
        party = party.drawing(purpose, words.data)
    return (
        yield from seated(trio, party.name, context, ledger=party.ledger, entropy=party.entropy)
    )


def _check_first(
    holder: Holder, study: Study, prepared: Prepared, contributed: Contributed, *, index: int
) -> Party[None]:
    """Before the first solve: check that all contributions together are not too heavy."""
    if not index:
        bounds = bounds_of(study.plan, prepared.totals, peers=len(contributed.peers))
        assert contributed.words is not None
        yield from check_moments(holder, bounds, contributed.words)


def _model_share(holder: Holder, work: _StudySolve, contributed: Contributed) -> Party[Words]:
    """Return a holder's share of the folded model."""
    study = work.study
    assert contributed.words is not None
    width, classes = work.plan.shape
    size = contributed.words.size - width * classes
    matrix, vectors = contributed.words[:size], contributed.words[size:].reshape(width, classes)
    penalties = penalties_of(study.plan, width, work.candidate)
    left_out = study.plan.left_out(work.candidate, width)
    matrix, vectors = left_out.cleared_triangle(matrix, width), left_out.cleared(vectors)
    moved = work.moved
    if moved is None:
        system = SystemShare(matrix, vectors, penalties)
    else:
        system = moved.system(matrix, vectors, penalties, left_out)
    theta = yield from solve(holder, work.plan, system)
    first, second = work.cuts
    theta = yield from truncated(holder, theta, RingTruncation(first), purpose=_CUTS[0])
    folded = work.scores.fold(theta)
    if moved is not None:
        folded[-1] = moved.reference.bias_row(theta, moved.times)
    folded = work.scores.with_norms(folded)
    return (yield from truncated(holder, folded, RingTruncation(second), purpose=_CUTS[1]))


def _deal_cuts(
    dealer: Dealer, cuts: tuple[int, int], shapes: tuple[tuple[int, int], tuple[int, int]]
) -> Party[None]:
    for purpose, bits, shape in zip(_CUTS, cuts, shapes, strict=True):
        yield from deal_truncation(dealer, RingTruncation(bits), shape, purpose=purpose)
