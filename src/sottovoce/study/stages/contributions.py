"""Every peer's moments, sent in two shares under masks that cancel; nobody sees a peer's own.

    peer p                               coordinator C                    evaluator E
      │ ShareSeed ──────────────────────────────────────────────────────────▶│
      │   moments − PRG(seed), in a blind sum ──▶│                            │
      │   both ends of its spectrum, in a blind sum ─────────────────────────▶│ (and to C)

Moments of text are measured from a public point near its mean (joint_mean.py). C ends with one
share of Σ A_p and Σ b_p, E with the other, both with c, an upper end of the joint spectrum.
Who learns what: C and E learn the totals and c, rounded up, and who took part; everything else that
they see is uniform. Even together they see no single peer's part, only the sum. Assuming that they
do not pool: together they could rebuild text of the union of all peers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from sottovoce.entropy import SEED_BYTES, Expansion
from sottovoce.errors import InputError, ViolationError
from sottovoce.numbers.ring import Words
from sottovoce.numbers.rounding import rounded_up
from sottovoce.protocols.blind_sum import SummedVector, WordSpace, pairwise
from sottovoce.protocols.blind_sum.plan import Plan
from sottovoce.protocols.blind_sum.spaces import WordMask
from sottovoce.protocols.conversation import Party, Send, gather
from sottovoce.protocols.disclosures import BY_EVALUATOR_SEALED, TWO_DO_NOT_POOL
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.course import PRECISION, System, largest_condition
from sottovoce.protocols.shares.moment_check import MomentBounds
from sottovoce.protocols.shares.plan import ShareSolvePlan
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.rados.blas_threads import one_blas_thread
from sottovoce.rados.moments import Moments
from sottovoce.study.candidates import Candidate
from sottovoce.study.choices import Contribution
from sottovoce.study.moment_sums import RowWeights, parted_moments
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import StudyPlan
from sottovoce.study.queries.scoring import row_norm
from sottovoce.study.stages.centring import (
    END_PARTS,
    WHOLE,
    Ends,
    Reference,
    ToldSpectrum,
    is_moved,
    moved_norm,
)
from sottovoce.study.stages.joint_mean import (
    bring_mean,
    guess,
    measuring_from,
    open_mean,
    takes_mean,
    watch_mean,
)
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.row_limits import RowLimits
from sottovoce.study.stages.sampling import sampled_moments, solution_weight, upper_end_of_sample
from sottovoce.study.stages.spectrum import upper_end
from sottovoce.study.study import Study
from sottovoce.study.totals import FULL_ROWS, Totals, row_weight
from sottovoce.text.documents import Document
from sottovoce.text.parts import PartedDocuments
from sottovoce.text.passes import Examples, PartReader, kept_columns, training_examples

_ROUND = "contributions"


class ShareSeed(Message, frozen=True):
    """The seed of the evaluator's share of one peer's moments."""

    discloses: ClassVar = Disclosure(
        seen_by=BY_EVALUATOR_SEALED,
        reveals="nothing: random bytes, drawn before any document was read",
        assuming=TWO_DO_NOT_POOL,
    )
    seed: bytes


@dataclass(frozen=True)
class MomentPlan:
    """The plan by which moments of these totals are written and shared, the same at every party."""

    width: int
    classes: int
    scales: MomentScales

    @classmethod
    def of(cls, plan: StudyPlan, totals: Totals) -> Self:
        """Return the plan, from public numbers alone."""
        return cls(plan.width - totals.absent, plan.labels.width, scales_of(plan, totals.rows))

    @property
    def purpose(self) -> str:
        """The name of the shared values."""
        return "moments"

    @property
    def length(self) -> int:
        """The number of words of one peer's moments."""
        return Triangle(self.width).size + self.width * self.classes

    def write(self, moments: Moments) -> Words:
        """Return a peer's moments as one array of words."""
        return self.scales.written(moments.upper, moments.products)

    def split(self, words: Words) -> tuple[Words, Words]:
        """Return the triangle and the right-hand sides in an array of words."""
        size = Triangle(self.width).size
        return words[:size], words[size:].reshape(self.width, self.classes)


def scales_of(plan: StudyPlan, rows: int) -> MomentScales:
    """Return the scales of the moments of `rows` rows; refuse a penalty that is too small.

    One peer's rows may already be too many, before those of the others are known.
    """
    smallest = min(plan.alphas) * (plan.epsilon if plan.distrusted else 1.0)
    norm = moved_norm(plan) if is_moved(plan) else row_norm(plan)
    return MomentScales.fit(weight=weight_of(plan, rows), row_norm=norm, penalty=smallest)


def weight_of(plan: StudyPlan, rows: int) -> float:
    """Return the joint weight of these rows; in partition `features` each row counts in full."""
    return rows * (1.0 if plan.arrangement.by_features else row_weight(rows))


@dataclass(frozen=True)
class Contributed:
    """A holder's result of this stage; peers have only the set of peers."""

    peers: tuple[str, ...]
    spectrum: ToldSpectrum = field(default_factory=ToldSpectrum)
    words: Words | None = field(default=None, repr=False)
    reference: Reference | None = None


def solve_plan(
    plan: StudyPlan, totals: Totals, candidate: Candidate, *, ends: Ends
) -> ShareSolvePlan:
    """Return the sealed solve's plan for one model, from numbers that holders and dealer know."""
    moments = MomentPlan.of(plan, totals)
    penalties = penalties_of(plan, moments.width, candidate)
    system = System(
        moments.width,
        moments.classes,
        weight=solution_weight(
            plan,
            weight_of(plan, totals.rows),
            penalty=float(penalties.min()),
            ceiling=ends.ceiling_parts / END_PARTS,
        ),
        penalty=float(penalties.min()) * ends.floor_share / WHOLE,
        ceiling=ends.ceiling_parts / END_PARTS + float(penalties.max()),
    )
    return ShareSolvePlan.fit(
        system,
        matrix_bits=moments.scales.matrix.fraction_bits,
        vector_bits=moments.scales.vectors.fraction_bits,
    )


def doubtful_penalty(plan: StudyPlan) -> float:
    """Return the penalty below which a solve of `FULL_ROWS` rows could take too many steps.

    That happens if nearly all rows point in one direction. Nobody knows it before the peers have
    contributed their upper ends: at most the trace of their rows, rounded up to two digits.
    """
    trace = RowLimits.of(plan).trace * FULL_ROWS * row_norm(plan) ** 2
    return 1.1 * trace / largest_condition(PRECISION)


def bounds_of(plan: StudyPlan, totals: Totals, *, peers: int) -> MomentBounds:
    """Return upper bounds on the sum of all moments."""
    moments, limits = MomentPlan.of(plan, totals), RowLimits.of(plan)
    return MomentBounds.of(
        moments.scales,
        (moments.width, moments.classes),
        peers=peers,
        heavier=(limits.trace, limits.length),
    )


def penalties_of(plan: StudyPlan, width: int, candidate: Candidate) -> NDArray[np.float64]:
    """Return λΓ: the penalty of every column.

    It is smaller for distrusted features, and larger for lighter blocks.
    """
    penalties = np.full(width, candidate.alpha)
    # Of a joint dictionary with fewer words than were asked for the last places are missing.
    words = plan.features - (plan.width - width)
    kept = (feature for feature in plan.distrusted if not words <= feature < plan.features)
    places = [place if place < words else place - plan.features + words for place in kept]
    penalties[places] *= plan.epsilon
    for columns, times in plan.lighter(candidate, width):
        penalties[columns] *= times
    return penalties


def local_moments(
    study: Study, prepared: Prepared, training: Sequence[Document], *, seed: bytes = b""
) -> Moments:
    """Return a peer's own sums over all its training rows, weighted as the plan says.

    A column that fewer than `min_documents` of the peer's documents have is zero in its rows.
    Signatures of sampled rados, if the plan has them, are drawn from `seed`.
    """
    assert prepared.space is not None
    plan, totals = study.plan, prepared.totals
    # The order in which several BLAS threads add changes the last bits, and a peer that was
    # interrupted must compute exactly the same words again.
    if isinstance(training, PartedDocuments) and plan.contribution is not Contribution.RADOS:
        return _moments_of_parts(study, prepared, training)
    with one_blas_thread():
        blocks = training_examples(
            training,
            prepared.space,
            plan.labelled,
            fewest=plan.min_documents,
            key=prepared.key,
            memory=prepared.memory,
        )
        if plan.contribution is Contribution.RADOS:
            kept = list(blocks)
            heavy = [row_weights(study, totals, block) for block in kept]
            return sampled_moments(kept, heavy, rados=plan.rados, seed=seed)
        moments = Moments(prepared.space.width, plan.labels.width)
        for block in blocks:
            weights = row_weights(study, totals, block)
            moments.add(block.rows, block.targets, weights=weights)
    return moments


def _moments_of_parts(study: Study, prepared: Prepared, training: PartedDocuments) -> Moments:
    """Return the same sums, computed by the workers that read the parts of the documents."""
    assert prepared.space is not None
    plan = study.plan
    space, key = prepared.space, prepared.key
    plan.labelled.check(space.reading.level)
    kept = kept_columns(training, space, fewest=plan.min_documents, key=key)
    return parted_moments(
        training,
        PartReader(space, plan.labelled, key, kept),
        _weights(study, prepared.totals),
        classes=plan.labels.width,
        rows=prepared.totals.rows,
        row_norm=row_norm(plan),
    )


def drawn_moments(party: PartyContext, prepared: Prepared, training: Sequence[Document]) -> Moments:
    """At a peer: return its own moments, with its own signatures if rados are sampled."""
    sampled = party.study.plan.contribution is Contribution.RADOS
    seed = party.entropy.seed() if sampled else b""
    moments = local_moments(party.study, prepared, training, seed=seed)
    check_weight(party.name, moments, prepared.totals)
    return moments


def row_weights(study: Study, totals: Totals, block: Examples) -> NDArray[np.float64] | None:
    """Return the weight of each row, if the plan weighs classes."""
    return _weights(study, totals).of(block)


def _weights(study: Study, totals: Totals) -> RowWeights:
    name, binary = study.plan.class_weight, study.plan.labels.width == 1
    return RowWeights(None if name is None else tuple(totals.weights(name).tolist()), binary)


def contribute(
    party: PartyContext, prepared: Prepared, training: Sequence[Document]
) -> Party[Contributed | None]:
    """At a peer: send its moments in two shares; None if they came too late."""
    study = party.study
    layout = MomentPlan.of(study.plan, prepared.totals)
    moments = drawn_moments(party, prepared, training)
    moments.scale(row_weight(prepared.totals.rows))
    reference = guess(party, prepared)
    if takes_mean(party, reference):
        reference = yield from bring_mean(party, prepared, moments)
        if reference is None:
            return None
    if reference is not None:
        reference.move(moments)
    words, bits = layout.write(moments), layout.scales.matrix.fraction_bits
    spectrum = told_parts(study.plan, moments, reference, fraction_bits=bits)
    # Moments have the square of all columns in size, and are not needed while we wait for others.
    del moments
    party = measuring_from(party, reference)
    return (yield from send_halves(party, layout, words, spectrum=spectrum))


def collect(party: PartyContext, prepared: Prepared) -> Party[Contributed]:
    """At the coordinator: return the first share of the sum, and c."""
    reference = yield from open_mean(party, guess(party, prepared))
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    held = yield from first_half(measuring_from(party, reference), layout)
    return replace(held, reference=reference)


def expand(party: PartyContext, prepared: Prepared) -> Party[Contributed]:
    """At the evaluator: return the second share of the sum, from the peers' seeds, and c."""
    reference = yield from watch_mean(party, guess(party, prepared))
    layout = MomentPlan.of(party.study.plan, prepared.totals)
    held = yield from second_half(measuring_from(party, reference), layout)
    return replace(held, reference=reference)


class Shared(Protocol):
    """The layout of words that are sent in two shares, under masks that cancel."""

    @property
    def purpose(self) -> str:
        """The name of the shared values, used in the names of masks and streams."""

    @property
    def length(self) -> int:
        """The number of shared values."""


def send_halves(
    party: PartyContext, layout: Shared, words: Words, *, spectrum: ToldSpectrum
) -> Party[Contributed | None]:
    """At a peer: send the evaluator a seed, and the coordinator the masked difference."""
    seed = party.entropy.seed()
    yield Send(party.study.roster.evaluator, ShareSeed(seed))
    WordMask(words).add(share_stream(party.session, seed, layout), -1)
    summed = yield from pairwise.peer(
        _blind_plan(party, layout),
        [words, spectrum.words, spectrum.words],
        who=party.member,
        book=party.book,
        entropy=party.entropy,
    )
    return None if summed is None else Contributed(summed.peers)


def first_half(party: PartyContext, layout: Shared) -> Party[Contributed]:
    """At the coordinator: return the sum of the differences, and c."""
    plan = _blind_plan(party, layout)
    summed = yield from pairwise.coordinator(plan, who=party.member, book=party.book)
    words, opened_sums = summed.sums
    return Contributed(summed.peers, ToldSpectrum.opened(opened_sums.tolist()), words)


def second_half(party: PartyContext, layout: Shared) -> Party[Contributed]:
    """At the evaluator: return the sum of the expanded seeds, and c."""
    seeds = yield from gather(ShareSeed, party.peers)
    for name, message in seeds.items():
        if len(message.seed) != SEED_BYTES:
            raise ViolationError(f"expected a seed of {SEED_BYTES} bytes", party=name)
    plan = _blind_plan(party, layout)
    # Only a peer that sent both shares is in the sum: a share without its seed is noise.
    summed = yield from pairwise.evaluator(
        plan, who=party.member, book=party.book, entropy=party.entropy, among=seeds
    )
    words = np.zeros(layout.length, np.uint64)
    for name in summed.peers:
        WordMask(words).add(share_stream(party.session, seeds[name].seed, layout), 1)
    return Contributed(summed.peers, ToldSpectrum.opened(summed.sums[0].tolist()), words)


def _blind_plan(party: PartyContext, layout: Shared) -> Plan:
    roster = party.study.roster
    coordinator, evaluator = roster.coordinator, roster.evaluator
    parts = (
        SummedVector(coordinator, layout.purpose, WordSpace((layout.length,))),
        SummedVector(coordinator, "spectrum", WordSpace((2,))),
        SummedVector(evaluator, "spectrum", WordSpace((2,))),
    )
    return Plan(party.round(_ROUND, party.peers), parts)


def share_stream(session: bytes, seed: bytes, layout: Shared) -> Expansion:
    """Return the stream of the evaluator's share of one peer's words in this attempt."""
    return Expansion(seed, f"roles/{layout.purpose}/v1", session)


def told_parts(
    plan: StudyPlan, moments: Moments, reference: Reference | None, *, fraction_bits: int
) -> ToldSpectrum:
    """Return a peer's bounds of its spectrum, measured from its rows' origin."""
    if reference is None:
        contribution = plan.contribution
        return ToldSpectrum(
            end_parts(moments, fraction_bits=fraction_bits, contribution=contribution)
        )
    with one_blas_thread():
        spectrum = reference.figures(moments)
    parts = (_parts(end, moments.features, fraction_bits=fraction_bits) for end in spectrum)
    return ToldSpectrum(*parts)


def end_parts(
    moments: Moments, *, fraction_bits: int, contribution: Contribution = Contribution.EXACT
) -> int:
    """Return an upper end of the spectrum of the written moments, which rounding changed a little.

    It is rounded up to two digits here, because the opener of the sum sees the sum before that is
    rounded.
    """
    exact = contribution is Contribution.EXACT
    with one_blas_thread():
        end = upper_end(moments.upper) if exact else upper_end_of_sample(moments)
    return _parts(end, moments.features, fraction_bits=fraction_bits)


def _parts(end: float, features: int, *, fraction_bits: int) -> int:
    rounding = math.ldexp(features, -fraction_bits)
    return rounded_up(math.ceil((end + rounding) * END_PARTS))


def check_weight(name: str, moments: Moments, totals: Totals) -> None:
    """Refuse a peer's moments that weigh more than all rows together."""
    if moments.weight > totals.rows:
        raise InputError(
            f"{name}: expected at most the published total of {totals.rows} rows, "
            f"found {moments.weight:g} of its own"
        )
