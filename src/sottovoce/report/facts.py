"""The facts of a report: what a coordinator, a site or a fitted classifier knows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sottovoce.pictures.charts import Flow
from sottovoce.study.card.card import StudyCard
from sottovoce.study.evaluations.figures import Evaluation


@dataclass(frozen=True)
class StageCost:
    """The seconds of a stage, and the bytes sent in it, where they were measured."""

    name: str
    seconds: float | None = None
    bytes: int | None = None


@dataclass(frozen=True)
class LedgerHeadFact:
    """The number of lines of a seat's ledger, and the hash of the last one."""

    seat: str
    lines: int
    head: str


@dataclass(frozen=True)
class ReportFacts:
    """One study as one party sees it. What that party does not know is left out and said.

    `compared` are accuracies by name (alone, joint, pooled), `growth` those by number of sites;
    `reproduce` are commands or lines of Python that do it again; `chosen` is the penalty that was
    picked, where there was a choice.
    """

    card: StudyCard
    seen_from: str
    version: str
    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    compared: Mapping[str, float] = field(default_factory=dict)
    growth: Mapping[int, float] = field(default_factory=dict)
    stages: tuple[StageCost, ...] = ()
    flows: tuple[Flow, ...] = ()
    ledgers: tuple[LedgerHeadFact, ...] = ()
    reproduce: tuple[str, ...] = ()
    chosen: str = ""
    documents: Mapping[str, int] = field(default_factory=dict)
    when: str = ""
    state: str = ""
