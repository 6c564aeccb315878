"""The demo's report: what it found, as the page that `sottovoce report` writes for a study."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from sottovoce import __version__
from sottovoce.config.study_file import StudyDescription
from sottovoce.ledger import LineKind, read_ledger
from sottovoce.node.site.shown_card import card_of
from sottovoce.pictures.charts import Flow
from sottovoce.report.facts import LedgerHeadFact, ReportFacts, StageCost
from sottovoce.report.report import report
from sottovoce.study.evaluations.figures import Evaluation


def demo_report(
    described: StudyDescription,
    folder: Path,
    *,
    joint: Evaluation,
    compared: Mapping[str, float],
    growth: Mapping[int, float],
    seconds: Mapping[str, float],
) -> str:
    """One page; everything in it lay side by side on this machine, as it never does elsewhere."""
    return report(
        ReportFacts(
            card_of(described),
            "the demo",
            __version__,
            evaluations={"all three, without small cells": joint},
            compared=compared,
            growth=growth,
            stages=(
                *(StageCost(stage, spent) for stage, spent in seconds.items()),
                *(StageCost(stage, bytes=sent) for stage, sent in _stage_bytes(folder).items()),
            ),
            flows=_flows(folder),
            ledgers=_ledgers(folder),
            reproduce=("make demo", "sottovoce demo"),
        )
    )


def _flows(folder: Path) -> tuple[Flow, ...]:
    messages: Counter[tuple[str, str]] = Counter()
    sizes: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.glob("**/ledger.jsonl")):
        for line in read_ledger(path):
            if line.what == LineKind.SENT:
                messages[path.parent.name, line.party] += 1
                sizes[path.parent.name, line.party] += line.bytes
    return tuple(Flow(*pair, count, sizes[pair]) for pair, count in messages.items())


def _stage_bytes(folder: Path) -> Counter[str]:
    """The bytes that all parties sent in each stage."""
    sizes: Counter[str] = Counter()
    for path in sorted(folder.glob("**/ledger.jsonl")):
        for line in read_ledger(path):
            if line.what == LineKind.SENT:
                sizes[line.stage or "before the stages"] += line.bytes
    return sizes


def _ledgers(folder: Path) -> tuple[LedgerHeadFact, ...]:
    heads = []
    for path in sorted(folder.glob("**/ledger.jsonl")):
        lines = list(read_ledger(path))
        end = hashlib.sha256(lines[-1].encoded()).hexdigest() if lines else ""
        heads.append(LedgerHeadFact(path.parent.name, len(lines), end[:32]))
    return tuple(heads)
