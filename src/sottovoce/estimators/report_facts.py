"""A fitted classifier's facts for a report: all parties side by side, as in memory."""

from typing import TYPE_CHECKING

from sottovoce import __version__
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.estimators.comparison import Comparison
from sottovoce.pictures.charts import Flow
from sottovoce.report.facts import ReportFacts, StageCost
from sottovoce.study.card.card import StudyCard

if TYPE_CHECKING:
    from sottovoce.estimators.sealed_study import SealedEstimator


def report_facts(
    model: "SealedEstimator", outcome: StudyOutcome, comparison: Comparison | None
) -> ReportFacts:
    """The facts of a study in memory; its joint evaluation is held if it was not yet."""
    joint = model.evaluation_ if hasattr(model, "evaluation_") else model.evaluate()
    plan, traffic = outcome.study.plan, outcome.traffic
    flows = tuple(
        Flow(*pair, count, traffic.bytes[pair]) for pair, count in traffic.messages.items()
    )
    return ReportFacts(
        StudyCard(outcome.study, totals=outcome.trained.totals),
        "a federation in memory",
        __version__,
        evaluations={"all peers": joint},
        compared=comparison.accuracies if comparison else {"all peers": joint.accuracy},
        growth=comparison.growth if comparison else {},
        stages=(
            *(StageCost(stage, seconds) for stage, seconds in model.seconds_.items()),
            *(StageCost(stage, bytes=sent) for stage, sent in outcome.record.stage_bytes.items()),
        ),
        flows=flows,
        reproduce=(
            "from sottovoce import LocalFederation, TextClassifier",
            f"model = {model!r}.fit(federation)",
            "model.report('report.html')",
        ),
        chosen=outcome.trained.candidate.told_among(plan.candidates),
        documents={name: len(part) for name, part in model.federation_.documents.items()},
    )
