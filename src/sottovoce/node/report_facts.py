"""The facts of a report, from the disk of the coordinator or site that writes it."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from sottovoce import __version__
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.ledger import verify as verify_ledger
from sottovoce.node.coordinator.serving import registry_of
from sottovoce.node.kept_facts import kept_alone, kept_costs
from sottovoce.node.known_studies import KnownStudy
from sottovoce.node.site.ledgers import SeatLedger, ledgers_of
from sottovoce.node.site.seat_status import status
from sottovoce.node.site.site_folder import Site
from sottovoce.pictures.charts import Flow
from sottovoce.report.facts import LedgerHeadFact, ReportFacts, StageCost
from sottovoce.study.evaluations.evaluation_record import KeptEvaluation


def facts_of(site: Site, known: KnownStudy) -> ReportFacts:
    """The facts that this site has of a study."""
    return _coordinator_facts(site, known) if known.joined is None else _site_facts(site, known)


def _coordinator_facts(site: Site, known: KnownStudy) -> ReportFacts:
    """The facts that the coordinator of a study has."""
    study, organisation = known.id, known.described.coordinator.organisation
    registry = registry_of(site.coordinator_place(), study)
    evaluations = {
        f"all sites, {_moment(evaluation.at)}": evaluation.joint
        for evaluation in known.evaluations
        if evaluation.joint
    }
    now = registry.status(known.described)
    because = f" ({now.reason})" if now.reason else ""
    return ReportFacts(
        known.card,
        f"{organisation} (coordinator)",
        __version__,
        evaluations=evaluations,
        compared={name: evaluation.accuracy for name, evaluation in evaluations.items()},
        stages=stage_costs(registry.folder),
        flows=flows_of(ledgers_of(site, study)),
        ledgers=tuple(map(_head, ledgers_of(site, study))),
        reproduce=(
            f"sottovoce study show {study} --toml > study.toml",
            "sottovoce study create study.toml",
            "sottovoce serve",
        ),
        when=_moment(datetime.now(UTC).timestamp()),
        state=f"{now.phase}{because}",
    )


def _site_facts(site: Site, known: KnownStudy) -> ReportFacts:
    """The facts that a joined site has."""
    joined = known.joined
    assert joined is not None, "the coordinator has other facts"
    organisation = joined.organisation(known.described).organisation
    last = known.last or KeptEvaluation(0.0)
    sides = {f"{organisation} (own documents)": last.own, "all sites": last.joint}
    evaluations = {name: evaluation for name, evaluation in sides.items() if evaluation is not None}
    alone = kept_alone(joined.folder)
    compared = {} if alone is None else {f"{organisation}, alone": alone}
    ledgers = ledgers_of(site, joined.id)
    seats = status(joined.membership)
    return ReportFacts(
        known.card,
        organisation,
        __version__,
        evaluations=evaluations,
        compared=compared | {name: evaluation.accuracy for name, evaluation in evaluations.items()},
        stages=tuple(
            cost for seat in joined.invitation.seats for cost in stage_costs(joined.folder / seat)
        ),
        flows=flows_of(ledgers),
        ledgers=tuple(map(_head, ledgers)),
        reproduce=(
            f"sottovoce join --study {joined.id}",
            f"sottovoce evaluate --study {joined.id}",
            f"sottovoce ledger verify --study {joined.id}",
        ),
        chosen=known.told_model,
        when=_moment(datetime.now(UTC).timestamp()),
        state=", ".join(f"{seat.seat} {seat.phase}" for seat in seats),
    )


def stage_costs(folder: Path) -> tuple[StageCost, ...]:
    """Seconds and bytes of every finished stage."""
    costs = kept_costs(folder)
    name = folder.name if folder.parent.name != "studies" else "coordinator"
    return tuple(
        StageCost(f"{name}: {stage}", seconds, costs.bytes.get(stage))
        for stage, seconds in costs.seconds.items()
    )


def flows_of(ledgers: list[SeatLedger]) -> tuple[Flow, ...]:
    """Add up from these ledgers how many bytes went from whom to whom."""
    messages: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for ledger in ledgers:
        for line in read_ledger(ledger.path):
            if line.what not in {LineKind.SENT, LineKind.RECEIVED}:
                continue
            pair = (ledger.seat, line.party)
            pair = pair if line.what == LineKind.SENT else (line.party, ledger.seat)
            messages[pair] += 1
            sizes[pair] += line.bytes
    return tuple(Flow(*pair, count, sizes[pair]) for pair, count in messages.items())


def _head(ledger: SeatLedger) -> LedgerHeadFact:
    done = verify_ledger(ledger.path, ledger.whose, noted=ledger.kept_receipt())
    return LedgerHeadFact(ledger.seat, done.lines, done.words)


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
