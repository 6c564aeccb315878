"""The report of a study: one self-contained page with pictures, from facts."""

from collections.abc import Iterator

from sottovoce.pictures.charts import Bar, amount, bars, flows
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.page import page, section
from sottovoce.pictures.quality import compared_html, evaluation_html, growth_html
from sottovoce.report.card_page import card_html
from sottovoce.report.facts import ReportFacts
from sottovoce.report.statements import dpia, model_card
from sottovoce.study.study import Study

_GROWTH = (
    "Learnt in plaintext from the first site, the first two and so on, and measured on the same "
    "documents: only where all documents lie side by side, as in memory and in the demo."
)
_NO_GROWTH = (
    "No learning curve over sites: each point would be a study of its own, which nobody agreed to."
)


def report(facts: ReportFacts) -> str:
    """The whole page."""
    plan = facts.card.study.plan
    return page(f"Report: {plan.name}", *_sections(facts))


def _sections(facts: ReportFacts) -> Iterator[Html]:
    yield _summary(facts)
    yield section("How good the model is", *_quality(facts))
    yield section("Time and bytes", *_costs(facts))
    yield section("What each party saw", *_seen(facts))
    yield section("Settings", _settings(facts.card.study))
    yield section("Ledger", *_ledgers(facts))
    yield section("How to reproduce", tag("pre", "\n".join(facts.reproduce)))
    yield section("Model card", *model_card(facts))
    yield section("For a data protection impact assessment", *dpia(facts))
    yield section("The study card", card_html(facts.card))


def _summary(facts: ReportFacts) -> Html:
    study = facts.card.study
    best = max(facts.compared.items(), key=lambda entrytence: entrytence[1], default=None)
    said = [
        (
            f"{len(study.roster.peers)} peers, labels {', '.join(study.plan.labels.names)}, "
            f"engine {study.engine}, release {study.plan.release}."
        )
    ]
    if facts.state:
        said.append(f"State: {facts.state}.")
    if best:
        said.append("; ".join(f"{name}: {value:.1%}" for name, value in facts.compared.items()))
    when = f" on {facts.when}" if facts.when else ""
    return tag(
        "header",
        tag("h1", f"Report: {study.plan.name}"),
        tag(
            "p", f"As {facts.seen_from} sees it{when}, by Sottovoce {facts.version}.", class_="soft"
        ),
        *(tag("p", entrytence) for entrytence in said),
        tag("p", "Sottovoce has not been audited.", class_="notice"),
    )


def _quality(facts: ReportFacts) -> Iterator[Html]:
    if facts.compared:
        yield compared_html(facts.compared)
    if facts.chosen:
        yield tag("p", f"Penalty: {facts.chosen}.")
    for title, evaluation in facts.evaluations.items():
        yield evaluation_html(evaluation, title)
    if not facts.evaluations:
        yield tag("p", "No evaluation was held, or none is known here: run `sottovoce evaluate`.")
    if facts.growth:
        yield growth_html(facts.growth)
        yield tag("p", _GROWTH, class_="soft")
    else:
        yield tag("p", _NO_GROWTH, class_="soft")


def _costs(facts: ReportFacts) -> Iterator[Html]:
    timed = [stage for stage in facts.stages if stage.seconds is not None]
    if timed:
        rows = [Bar(stage.name, stage.seconds or 0, f"{stage.seconds:.1f} s") for stage in timed]
        yield bars("Seconds by stage", rows)
    sized = [stage for stage in facts.stages if stage.bytes is not None]
    if sized:
        rows = [Bar(stage.name, stage.bytes or 0, amount(stage.bytes or 0)) for stage in sized]
        yield bars("Bytes by stage", rows)
    if not facts.stages:
        yield tag("p", "No stage was measured here.")


def _seen(facts: ReportFacts) -> Iterator[Html]:
    if facts.flows:
        yield flows("Who sent how much to whom", facts.flows)
        yield table(
            ("from", "to", "messages", "bytes"),
            [(flow.sender, flow.recipient, flow.messages, flow.bytes) for flow in facts.flows],
        )
    yield table(
        ("message", "stage", "seen by", "reveals", "assuming"),
        [
            (
                line.name,
                line.stage,
                line.discloses.seen_by,
                line.discloses.reveals,
                line.discloses.assuming,
            )
            for line in facts.card.lines
        ],
        caption="Every kind of message that this study can send",
    )


def _settings(study: Study) -> Html:
    return table(("setting", "value"), [(name, value) for name, value in study.settings])


def _ledgers(facts: ReportFacts) -> Iterator[Html]:
    if facts.ledgers:
        yield table(
            ("seat", "lines", "hash of the last line"),
            [(ledger.seat, ledger.lines, tag("code", ledger.head)) for ledger in facts.ledgers],
        )
    else:
        yield tag(
            "p", "No ledger lies here: in memory nothing leaves, and a coordinator keeps none."
        )
    if facts.card.keyed:
        said = "Fingerprint that consent signed: "
        yield tag("p", joined(said, tag("code", facts.card.fingerprint)))
    yield tag("p", joined("Code of the plan: ", tag("code", facts.card.code)))
