"""Text that people take over: a model card (Mitchell et al. 2019), and parts of a DPIA."""

from collections.abc import Iterator

from sottovoce.pictures.html import Html, joined, tag
from sottovoce.report.facts import ReportFacts
from sottovoce.study.card.facts import ENGINES, keeping, poolings
from sottovoce.study.card.leaving import leaving
from sottovoce.study.plan import StudyPlan
from sottovoce.study.study import Study


def model_card(facts: ReportFacts) -> Iterator[Html]:
    """The nine headings of a model card, filled with what a program knows."""
    study, plan = facts.card.study, facts.card.study.plan
    grounds = plan.grounds
    held = "; ".join(f"{name} {value:.1%}" for name, value in facts.compared.items())
    yield _said(
        "Model details",
        f"A linear classifier of {_columns(facts)} columns, closed form, penalty "
        f"{facts.chosen or _candidates(plan)}, trained by "
        f"engine {study.engine} of Sottovoce {facts.version}. Labels: "
        f"{', '.join(plan.labels.names)}. One row is one {plan.level}.",
    )
    yield _said("Intended use", grounds.purpose or _MISSING)
    yield _said("Factors", f"Sites: {', '.join(study.roster.peers)}. {_MISSING}")
    yield _said("Metrics", "Accuracy, precision, recall, F1 by class, confusion, ROC where opened.")
    yield _said(
        "Evaluation data",
        f"{plan.held_out:.0%} of every site's documents, held out by content before training.",
    )
    yield _said("Training data", _training_data(facts))
    yield _said("Quantitative analyses", held or "None was opened.")
    yield _said("Ethical considerations", plan.approval or _MISSING)
    yield _said(
        "Caveats and recommendations",
        f"{plan.release.caveat} A label is no diagnosis; check the figures of each class.",
    )


def _columns(facts: ReportFacts) -> str:
    plan, totals = facts.card.study.plan, facts.card.totals
    # Of several kernels a model has one.
    width = plan.settled(plan.candidates[0]).width
    return f"at most {width:,}" if totals is None else f"{width - totals.absent:,}"


def _candidates(plan: StudyPlan) -> str:
    several = "one of " if len(plan.candidates) > 1 else ""
    return several + ", ".join(map(str, plan.candidates))


def _training_data(facts: ReportFacts) -> str:
    if not facts.documents:
        return "Each site's own documents; their totals are known to all, rounded up."
    return "; ".join(f"{name}: {count:,} documents" for name, count in facts.documents.items())


def dpia(facts: ReportFacts) -> Iterator[Html]:
    """Description, necessity, risks and measures, as Article 35 asks for them."""
    study = facts.card.study
    grounds = study.plan.grounds
    yield _said("Description of the processing", " ".join(_processing(study)))
    yield _said("Purpose", grounds.purpose or _MISSING)
    yield _said("Legal basis", grounds.legal_basis or _MISSING)
    yield _said("Controller", grounds.controller or _MISSING)
    yield _said("Retention", " ".join((_ended(grounds.retention or _MISSING), *_kept(study))))
    yield _said("Contact", grounds.contact or _MISSING)
    yield tag("h3", "Risks")
    yield tag("ul", *(tag("li", risk) for risk in _risks(study)))
    yield tag("h3", "Measures")
    yield tag("ul", *(tag("li", measure) for measure in _measures(study)))
    yield tag("p", "SECURITY.md says what is not covered. Sottovoce has not been audited.")


def _processing(study: Study) -> Iterator[str]:
    yield "No text leaves a site."
    for row in leaving(study):
        yield f"To {row.to}: {'; '.join(row.holds)}."
    if study.engine in ENGINES:
        yield ENGINES[study.engine].hides


def _kept(study: Study) -> Iterator[str]:
    for row in keeping(study):
        yield f"{row.what.capitalize()}, at {row.who}: {row.until}."


def _risks(study: Study) -> Iterator[str]:
    if not study.outsourced:
        for group in poolings(study):
            pooling = " and ".join(group.organisations)
            yield f"{pooling} pool what they saw: they could {group.gives}."
    yield study.plan.release.risk.format(budget=f"{study.plan.budget:,}")
    yield "A party deviates from the protocol on purpose: this is not prevented."


def _measures(study: Study) -> Iterator[str]:
    plan = study.plan
    yield f"A feature in fewer than {plan.min_documents} of a site's documents is never sent."
    yield f"At least {plan.min_peers} peers; totals are rounded up; small cells are left out."
    yield "Each site consents to plan and people by signature, and keeps a signed ledger."
    yield "Whatever passes the coordinator between others is sealed end to end."


def _ended(words: str) -> str:
    """Return somebody else's words as a sentence of their own."""
    return words if words.endswith((".", "!", "?")) else f"{words}."


_MISSING = "(to be filled in by the controller)"


def _said(title: str, words: str) -> Html:
    return joined(tag("h3", title), tag("p", words))
