"""The card's table of every kind of message that this study can send, with its disclosure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType

from sottovoce.protocols import messages
from sottovoce.protocols.blind_sum import messages as blind_sums
from sottovoce.protocols.blind_sum.graphs import ALL_UP_TO
from sottovoce.protocols.messages import Disclosure, Message
from sottovoce.protocols.quorum import bit_check, dealing, fast_labels, labels, opening, told_check
from sottovoce.protocols.quorum import bits as quorum_bits
from sottovoce.protocols.quorum import comparison as quorum_comparison
from sottovoce.protocols.quorum import moment_check as quorum_moment_check
from sottovoce.protocols.quorum import products as quorum_products
from sottovoce.protocols.quorum import rows as quorum_rows
from sottovoce.protocols.quorum import solve as quorum_solve
from sottovoce.protocols.quorum import sums as quorum_sums
from sottovoce.protocols.quorum import tally as quorum_tally
from sottovoce.protocols.quorum import truncation as quorum_truncation
from sottovoce.protocols.shares import (
    handover,
    holders,
    iteration,
    moment_check,
    multiplier,
    products,
    residual,
    signs,
    solve,
    truncation,
)
from sottovoce.protocols.shares.labels import carries, row_scores, undealt, undealt_tally, verdict
from sottovoce.protocols.two_party import comparison as two_party_comparison
from sottovoce.protocols.two_party import directions, lines, matrices, own_masks
from sottovoce.protocols.two_party import moment_check as two_party_moment_check
from sottovoce.protocols.two_party import products as two_party_products
from sottovoce.protocols.two_party import truncation as two_party_truncation
from sottovoce.study.arrangement import Weights
from sottovoce.study.choices import Addition, DictionaryKind, Engine, Verdict
from sottovoce.study.evaluations import evaluation, quorum_roc
from sottovoce.study.queries import (
    budget,
    classification,
    entities,
    key_proof,
    model,
    quorum_queries,
    remote,
    shared_queries,
)
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role
from sottovoce.study.stages import (
    agreement,
    blocks,
    contributions,
    joint_mean,
    kept_buckets,
    listing,
    penalty_choice,
    preparation,
    quorum_contributions,
    quorum_training,
    solving,
)
from sottovoce.study.stages import quorum_sums as study_sums
from sottovoce.study.stages.centring import is_corrected
from sottovoce.study.stages.encrypted import (
    encrypted_training,
    intermediary,
    outsourced,
    uploads,
)
from sottovoce.study.study import Study
from sottovoce.wire.tags import kebab

Stage = tuple[str, tuple[ModuleType, ...]]
_DEALT = (holders, products, signs)


@dataclass(frozen=True)
class Line:
    """One kind of message in one stage."""

    stage: str
    kind: type[Message]

    @property
    def name(self) -> str:
        """The kind's name on the wire."""
        return kebab(self.kind.__name__)

    @property
    def discloses(self) -> Disclosure:
        """Its disclosure: who sees the message, and what it reveals."""
        return self.kind.discloses


def lines_of(study: Study, also: tuple[tuple[str, ModuleType], ...] = ()) -> tuple[Line, ...]:
    """Return every kind of message that this study can send, by stage, each once."""
    stages = (*_stages(study), *((stage, (module,)) for stage, module in also))
    lines: dict[type[Message], Line] = {}
    for stage, modules in stages:
        for module in modules:
            for kind in vars(module).values():
                if _is_sent(kind, module) and _ONLY.get(kind, _always)(study):
                    lines.setdefault(kind, Line(stage, kind))
    return tuple(lines.values())


def sent_section(lines: tuple[Line, ...]) -> Iterator[str]:
    """Yield the table of all messages."""
    yield "## What is sent"
    yield ""
    yield (
        "Whatever goes between two parties other than the coordinator is sealed end to "
        "end, also where the coordinator carries it."
    )
    yield ""
    yield "| stage | message | seen by | reveals | assuming |"
    yield "|---|---|---|---|---|"
    for line in lines:
        tells = line.discloses
        cells = (line.stage, f"`{line.name}`", tells.seen_by, tells.reveals, tells.assuming)
        yield f"| {' | '.join(cells)} |"


def _stages(study: Study) -> Iterator[Stage]:
    yield "agreement", (agreement,)
    if study.outsourced:
        yield "contributions", (intermediary, uploads)
        yield "sealed solve", (matrices, directions, two_party_truncation)
        yield "sealed solve", _descending(study)
        yield "sealed solve", (two_party_products, two_party_comparison, messages)
        yield "encrypted model", (outsourced,)
        return
    quorum = study.engine is Engine.QUORUM
    sums: tuple[ModuleType, ...] = (quorum_sums, study_sums) if quorum else (blind_sums,)
    filters = (kept_buckets,) if study.leaves_out_buckets else ()
    yield "dictionary and totals", (preparation, *filters, *sums)
    arrangement = study.plan.arrangement
    if arrangement.by_features:
        yield "contributions", (blocks,)
    yield from _SOLVES[study.engine](study)
    if arrangement.weights is Weights.LISTED:
        yield "encrypted model", (listing,)
    if len(study.plan.candidates) > 1:
        yield "choice of the model", (penalty_choice, messages)
    yield from _asked(study)
    if study.is_evaluated:
        yield "evaluation", (evaluation,)
        if study.members_count:
            yield "evaluation", (quorum_roc, quorum_tally, bit_check)


def _shared_solve(study: Study) -> Iterator[Stage]:
    yield "contributions", (*_mean(study), contributions)
    yield (
        "sealed solve",
        (
            *_DEALT,
            moment_check,
            truncation,
            solve,
            multiplier,
            iteration,
            residual,
            solving,
        ),
    )
    if study.on_shares:
        yield "model in shares", (model,)
    else:
        yield "encrypted model", (handover, model)


def _encrypted_solve(study: Study) -> Iterator[Stage]:
    if study.roster.having(Role.INTERMEDIARY):
        yield "contributions", (intermediary, uploads)
    descends = study.plan.descends
    solve_masks = (directions,) if descends else (own_masks, two_party_moment_check)
    yield "sealed solve", (encrypted_training, matrices, *solve_masks, two_party_truncation)
    yield "sealed solve", _descending(study)
    yield "sealed solve", (two_party_products, two_party_comparison, messages)
    yield "encrypted model", (model,)


def _descending(study: Study) -> tuple[ModuleType, ...]:
    return (lines,) if study.plan.descends else ()


def _mean(study: Study) -> tuple[ModuleType, ...]:
    return (joint_mean,) if is_corrected(study.plan) else ()


def _quorum_solve(study: Study) -> Iterator[Stage]:
    yield "contributions", (quorum_sums, *_mean(study), quorum_contributions)
    yield "contributions", (quorum_moment_check,)
    yield "sealed solve", (dealing, opening, quorum_truncation, quorum_products)
    yield "sealed solve", (quorum_comparison, quorum_solve, told_check)
    yield "model in shares", (quorum_training,)


# The stages from contributions to the model, by engine.
_SOLVES: Mapping[Engine, Callable[[Study], Iterator[Stage]]] = {
    Engine.QUORUM: _quorum_solve,
    Engine.SHARES: _shared_solve,
    Engine.PAILLIER: _encrypted_solve,
}


def _asked(study: Study) -> Iterator[Stage]:
    if study.engine is Engine.QUORUM:
        if study.plan.release.opens is not Opens.WEIGHTS:
            yield "queries", (budget, quorum_queries, quorum_rows, quorum_bits)
            fast = (fast_labels, *_DEALT, verdict)
            yield "queries", fast if study.fast_labels else (labels, bit_check)
        return
    if study.plan.release.opens is not Opens.WEIGHTS:
        yield "queries", (budget, classification)
        if study.on_shares:
            yield "queries", (holders, row_scores, shared_queries)
        verdicts = _verdicts(study)
        if Verdict.FSS in verdicts:
            yield "queries", (*_DEALT, verdict)
        if Verdict.DGK in verdicts:
            yield "queries", (key_proof, carries, undealt)
            if study.plan.counts_sealed:
                yield "queries", (undealt_tally,)
    if study.plan.arrangement.asks_holders:
        yield "queries", (entities, remote)
    if study.plan.arrangement.brings_rados:
        yield "encrypted model", (remote,)


def _counts_dealt(study: Study) -> bool:
    """Whether an evaluation counts scores above thresholds with a dealer's help."""
    counted = study.plan.counts_sealed and study.is_evaluated
    return counted and Verdict.FSS in _verdicts(study)


def _verdicts(study: Study) -> set[Verdict]:
    """Return every way in which a peer's labels may be found."""
    first = {study.verdict_for(name) for name in study.roster.peers}
    back = {Verdict.DGK} if study.plan.falls_back else set()
    return {line for line in first if line is not None} | back


def _is_sent(kind: object, module: ModuleType) -> bool:
    """Whether this is a kind of message that the module itself sends."""
    return (
        isinstance(kind, type)
        and issubclass(kind, Message)
        and kind.__module__ == module.__name__
        and "discloses" in vars(kind)
    )


def _always(_study: Study) -> bool:
    return True


def _never(_study: Study) -> bool:
    return False


def _opens(opened: Opens) -> Callable[[Study], bool]:
    return lambda study: study.plan.release.opens is opened


def _multiplies_sealed(study: Study) -> bool:
    return study.multiplies_sealed


def _adds_around_rings(study: Study) -> bool:
    return study.plan.addition is Addition.RING


def _checks_bits(study: Study) -> bool:
    return study.plan.release.opens is not Opens.SCORES or study.is_evaluated


def _checks_moments(study: Study) -> bool:
    return not study.outsourced and not study.plan.descends


def _chooses_among_several(study: Study) -> bool:
    labels = study.plan.labels
    return labels.exclusive and len(labels.names) > 2


def _has_graph(study: Study) -> bool:
    """Whether peers share masks with only some of the others."""
    return len(study.roster.peers) > ALL_UP_TO


def _tournament(study: Study) -> bool:
    """Whether scores meet in more than one level, or a search for thresholds has more than one."""
    if study.plan.release.opens is not Opens.LABELS:
        return False
    several = study.plan.labels.exclusive and study.plan.labels.width > 2
    searched = study.is_evaluated and bool(study.plan.thresholds)
    return searched or (several and not study.fast_labels)


# Kinds that only some studies send although all studies use their module, and which these are.
_ONLY: Mapping[type[Message], Callable[[Study], bool]] = {
    preparation.DictionaryKeyBox: lambda study: study.plan.dictionary is not DictionaryKind.GIVEN,
    blocks.BlockNumbers: lambda study: study.engine is Engine.SHARES,
    intermediary.SealedContribution: lambda study: not study.outsourced,
    blind_sums.GraphCommitment: _has_graph,
    blind_sums.GraphNonce: _has_graph,
    blind_sums.RingHop: _adds_around_rings,
    blind_sums.RingTotal: _adds_around_rings,
    holders.HolderNonce: lambda study: study.engine is Engine.SHARES,
    holders.MaskedShare: _never,
    quorum_training.ReleasedPart: _opens(Opens.WEIGHTS),
    study_sums.SumNoted: study_sums.may_shrink,
    quorum_queries.LabelsReady: lambda study: study.fast_labels,
    quorum_queries.TellLabels: lambda study: study.fast_labels,
    labels.QuorumScore: _opens(Opens.SCORES),
    labels.QuorumLabel: _opens(Opens.LABELS),
    quorum_bits.FlippedBit: _tournament,
    bit_check.CheckPromise: _checks_bits,
    bit_check.CheckedShare: _checks_bits,
    bit_check.BitCheck: _checks_bits,
    model.ReleasedShare: _opens(Opens.WEIGHTS),
    model.EncryptedModel: lambda study: not study.on_shares,
    model.SharedModel: lambda study: study.on_shares,
    classification.MaskedScores: lambda study: not study.on_shares,
    row_scores.RowSeeds: lambda study: Verdict.FSS in _verdicts(study),
    shared_queries.AskerShares: lambda study: Verdict.FSS in _verdicts(study),
    shared_queries.CountShare: _counts_dealt,
    shared_queries.RenewedShares: lambda study: study.deals_itself,
    shared_queries.HandedScores: lambda study: study.deals_itself,
    verdict.VerdictTold: lambda study: study.on_shares,
    encrypted_training.CoveredModel: _opens(Opens.WEIGHTS),
    matrices.FixedFactor: lambda study: _multiplies_sealed(study) or study.plan.descends,
    matrices.MaskedRows: _multiplies_sealed,
    matrices.RowProducts: _multiplies_sealed,
    two_party_products.MaskedFactors: _never,
    two_party_products.Products: _never,
    two_party_products.MaskedColumnAndRow: _never,
    two_party_products.OuterProduct: _never,
    two_party_comparison.SealedTests: _checks_moments,
    two_party_comparison.Zeros: _checks_moments,
    classification.ScoreShare: _opens(Opens.SCORES),
    classification.DealRequest: lambda study: study.plan.deals_verdicts,
    key_proof.KeyProof: lambda study: study.on_shares,
    undealt.Choices: _chooses_among_several,
    undealt.MaskedChoices: _chooses_among_several,
}
