"""The bytes that a seat moves in a stage, for progress bars and the time left."""

from collections import Counter
from collections.abc import Mapping

from sottovoce.protocols.conversation import COORDINATOR
from sottovoce.study.attempts import Stage
from sottovoce.study.card.seat_sizes import MODEL, helper_sizes
from sottovoce.study.card.sizes import MEMBERS, Size, member_sizes, peer_sizes
from sottovoce.study.choices import Engine
from sottovoce.study.study import Study

_STAGES = {"agreement": Stage.AGREEMENT, "dictionary and totals": Stage.DICTIONARY}


def stage_bytes(study: Study) -> Mapping[tuple[str, str], int]:
    """Return bytes by seat and stage: sent and, at members and the coordinator, received.

    The number of steps of a solve is not known beforehand, so no step is counted.
    """
    moved: Counter[tuple[str, str]] = Counter()
    by_seat = dict.fromkeys(study.roster.peers, peer_sizes(study))
    if study.engine is Engine.QUORUM:
        by_seat |= dict.fromkeys(study.quorum.members, member_sizes(study))
    for seat, rows in by_seat.items():
        for row in rows:
            stage = str(_stage_of(study, row.stage))
            if not row.each:
                moved[seat, stage] += row.total
                for recipient, size in _received(study, row).items():
                    moved[recipient, stage] += size
    for row in helper_sizes(study):
        if row.stage == MODEL and row.to == "peers":
            for peer in study.roster.peers:
                moved[peer, str(Stage.TRAINING)] += row.bytes
    return moved


def _received(study: Study, row: Size) -> Mapping[str, int]:
    """Return the bytes of a seat that each recipient counts in its own progress bar."""
    if row.to == COORDINATOR:
        return {COORDINATOR: row.total}
    if row.to != MEMBERS:
        return {}
    # The first members get a seed that gives their part; the others get their part itself.
    members, seeded = study.quorum.members, study.quorum.threshold
    chosen = members[:seeded] if row.kind == "contribution-seed" else members[seeded:]
    return dict.fromkeys(chosen, row.total // len(chosen))


def _stage_of(study: Study, named: str) -> Stage:
    """Return the stage of a row of the card; only engine quorum has one for adding up."""
    stage = _STAGES.get(named, Stage.CONTRIBUTIONS)
    return stage if stage in Stage.of(study) else Stage.TRAINING
