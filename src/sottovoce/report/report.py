"""The report of a study: one self-contained page with pictures, from facts."""

from collections.abc import Iterator

from sottovoce.pictures.charts import Bar, amount, bars, flows
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.page import coded, folded, linked, page, section, tiles
from sottovoce.pictures.quality import compared_html, evaluation_html, growth_html
from sottovoce.report.card_page import card_in_short
from sottovoce.report.facts import ReportFacts
from sottovoce.report.statements import dpia, model_card
from sottovoce.study.study import Study

_NOT_EVALUATED = "No evaluation was held, or none is known here: run `sottovoce evaluate`."
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
    return page(f"Report: {plan.name}", tag("h1", f"Report: {plan.name}"), *report_sections(facts))


def report_sections(facts: ReportFacts) -> Iterator[Html]:
    """The parts of the page, after its title: what matters most stands first."""
    parts = {
        "How good the model is": _quality(facts),
        "Time and bytes": _costs(facts),
        "What each party saw": _seen(facts),
        "Settings": [_settings(facts.card.study)],
        "Ledger": _ledgers(facts),
        "How to reproduce": [tag("pre", "\n".join(facts.reproduce))],
        "Model card": model_card(facts),
        "For a data protection impact assessment": dpia(facts),
        "The study card": [card_in_short(facts.card)],
    }
    yield _summary(facts, tuple(parts))
    for title, content in parts.items():
        yield section(title, *content)


def _summary(facts: ReportFacts, titles: tuple[str, ...]) -> Html:
    study = facts.card.study
    when = f" on {facts.when}" if facts.when else ""
    seen = f"As {facts.seen_from} sees it{when}, by Sottovoce {facts.version}."
    said = [
        (
            f"{len(study.roster.peers)} peers, labels {', '.join(study.plan.labels.names)}, "
            f"engine {study.engine}, release {study.plan.release}."
        )
    ]
    if facts.state:
        said.append(f"State: {facts.state}.")
    figures = [(f"{value:.1%}", name) for name, value in facts.compared.items()]
    return tag(
        "section",
        tag("p", seen, class_="soft"),
        *(tag("p", sentence) for sentence in said),
        tiles(figures) if figures else "",
        tag("p", "Sottovoce has not been audited.", class_="notice"),
        tag("ul", *(tag("li", linked(title)) for title in titles), class_="contents"),
    )


def _quality(facts: ReportFacts) -> Iterator[Html]:
    if facts.compared:
        yield compared_html(facts.compared)
    if facts.chosen:
        yield tag("p", f"Penalty: {facts.chosen}.")
    for title, evaluation in facts.evaluations.items():
        yield evaluation_html(evaluation, title)
    if not facts.evaluations:
        yield tag("p", coded(_NOT_EVALUATED))
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
        yield flows("Who sent how much to whom: a line is thicker where more was", facts.flows)
        rows: list[tuple[object, ...]] = [
            (flow.sender, flow.recipient, flow.messages, amount(flow.bytes)) for flow in facts.flows
        ]
        yield folded(
            "The same in numbers",
            table(("from", "to", "messages", "bytes"), rows),
            name="flows",
        )
    kinds = table(
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
    yield folded("Every kind of message, who sees it, and what it reveals", kinds, name="messages")


def _settings(study: Study) -> Html:
    rows: list[tuple[object, ...]] = [(name, value) for name, value in study.settings]
    return folded("All of them", table(("setting", "value"), rows), name="all-settings")


def _ledgers(facts: ReportFacts) -> Iterator[Html]:
    if facts.ledgers:
        yield table(
            ("seat", "lines", "hash of the last line"),
            [(ledger.seat, ledger.lines, tag("code", ledger.head)) for ledger in facts.ledgers],
        )
    else:
        yield tag(
            "p", "There is no ledger: in memory nothing leaves, and a coordinator keeps none."
        )
    if facts.card.keyed:
        said = "Fingerprint that consent signed: "
        yield tag("p", joined(said, tag("code", facts.card.fingerprint)))
    yield tag("p", joined("Code of the plan: ", tag("code", facts.card.code)))
