"""The console's page of a study for its coordinator: who joined, who is waited for, and quality."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.layout import button, field, form
from sottovoce.console.progress_view import ago, bar, lead, moment, steps, until
from sottovoce.course.phases import OVER, Phase
from sottovoce.node.awaited import awaited
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.kept_facts import kept_costs, kept_evaluations, kept_totals
from sottovoce.node.memberships import StudyStatus
from sottovoce.node.phone_words import in_lines
from sottovoce.node.site.shown_card import card_of
from sottovoce.pictures.charts import Bar, Flow, amount, bars
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import coded, folded, section
from sottovoce.pictures.quality import evaluation_html
from sottovoce.study.attempts import Stage
from sottovoce.study.totals import Totals

_FRESH_SECONDS = 120.0


def coordinator_sections(
    registry: Registry, guard: ConsoleGuard, flows: tuple[Flow, ...]
) -> Iterator[Html]:
    """Everything that the coordinator sees of one study; `flows` are those of its ledger."""
    described = parse_study(registry.text)
    now = registry.status(described)
    received = {flow.sender: flow.bytes for flow in flows}
    yield lead(now.phase, reason=now.reason, attempt=now.attempt)
    if now.phase not in OVER:
        yield section("Now", steps(described, now.phase), *_now(described, registry, now))
    early = now.phase in {Phase.ENROLMENT, Phase.AGREEMENT}
    if now.words and early:
        yield section("Words", *_words(now))
    if early:
        yield section("Invitations", *_invitations(described, registry, guard, now))
    yield section("Sites", _sites(described, now, received))
    totals = kept_totals(registry.folder)
    if totals is not None:
        yield _summed(described, totals)
    if now.phase == Phase.FINISHED or kept_evaluations(registry.folder):
        yield section("Evaluation", *_evaluations(registry))
    if kept_costs(registry.folder).seconds:
        yield section("Time", _costs(registry))
    if not early:
        yield section("Invitations and words", *_later(described, registry, guard, now))
    yield section("The end of the study", *_ends(registry, guard, now))


def _summed(described: StudyDescription, totals: Totals) -> Html:
    """What the first sums over all sites showed."""
    title, _, sums = replace(card_of(described), totals=totals).sums().partition("\n")
    return section(title.removeprefix("## "), html_of(sums))


def _now(described: StudyDescription, registry: Registry, now: StudyStatus) -> Iterator[Html]:
    """Show the stage under way, the time it takes, and the parties that are waited for."""
    if now.done:
        seconds = max(now.ends - time.time(), 0.0) if now.ends else None
        yield from bar(str(now.phase).capitalize(), now.done, seconds)
    yield _awaited(described, registry, now)


def _awaited(described: StudyDescription, registry: Registry, now: StudyStatus) -> Html:
    """Say who is waited for, and until when, from the server's status."""
    if now.phase == Phase.FINISHED:
        return tag("p", "Nobody is waited for.")
    if now.waits_for:
        whom = _organisations(described, now.waits_for)
        what = awaited(now.waits_what)
        return tag("p", f"Waited for: {whom} ({what}), {until(now.waits_until)}.")
    if now.phase == Phase.ENROLMENT:
        missing = [name for name in now.expected if name not in now.enrolled]
        made = (registry.folder / "study.toml").stat().st_mtime
        limit = until(made + described.deadlines.enrolment.total_seconds())
        serving = "" if now.seen else " Sites can come once `sottovoce serve` runs."
        whom = _organisations(described, missing) or "nobody"
        return tag(
            "p", coded(f"Waited for: {whom} ({awaited(Phase.ENROLMENT)}), {limit}.{serving}")
        )
    silent = [
        name
        for name in now.enrolled
        if time.time() - dict(now.seen).get(name, 0.0) > _FRESH_SECONDS
    ]
    if not silent:
        return tag("p", "Nobody is waited for: every site was seen within two minutes.")
    minutes = described.deadlines.stage.total_seconds() / 60
    whom = _organisations(described, silent)
    return tag("p", f"Not seen for two minutes: {whom}. A stage waits {minutes:g} minutes for it.")


def _organisations(described: StudyDescription, seats: Sequence[str]) -> str:
    """The organisations of these seats; each once."""
    whose = (seat.organisation for seat in described.seats if seat.name in seats)
    return ", ".join(dict.fromkeys(whose))


def _sites(described: StudyDescription, now: StudyStatus, received: dict[str, int]) -> Html:
    """A row an organisation: its seats speak for the same people."""
    seen, versions = dict(now.seen), dict(now.versions)
    rows: list[tuple[object, ...]] = []
    for invited in described.organisations:
        own = {seat.name for seat in invited.seats}
        seats = [name for name in now.expected if name in own]
        times = [seen[name] for name in seats if name in seen]
        rows.append(
            (
                invited.organisation,
                ", ".join(seats),
                "; ".join(dict.fromkeys(_stage(name, now) for name in seats)),
                ago(max(times)) if times else "never",
                amount(sum(received.get(name, 0) for name in seats)),
                ", ".join(dict.fromkeys(versions[name] for name in seats if name in versions)),
            )
        )
    heads = ("organisation", "seats", "stage", "last seen", "received", "version")
    return table(heads, rows)


def _stage(name: str, now: StudyStatus) -> str:
    """The stage of a seat, if it has joined."""
    if name not in now.enrolled:
        return "has not come"
    said = f", {dict(now.reported)[name]}" if name in dict(now.reported) else ""
    came = "has come" if now.phase == Phase.ENROLMENT else str(now.phase)
    return f"{came}{said}"


def _words(now: StudyStatus) -> Iterator[Html]:
    yield tag("p", "The sites compare these words by phone; they must be the same:")
    yield tag("p", "\n".join(in_lines(now.words)), class_="words")


def _later(
    described: StudyDescription, registry: Registry, guard: ConsoleGuard, now: StudyStatus
) -> Iterator[Html]:
    """The links of the beginning, folded, because they are seldom needed afterwards."""
    rows = _invitations(described, registry, guard, now)
    yield folded("Invitations, also for a site that lost its disk", *rows, name="invitations")
    if now.words:
        yield folded("The words that the sites compared", *_words(now), name="words")


def _invitations(
    described: StudyDescription, registry: Registry, guard: ConsoleGuard, now: StudyStatus
) -> Iterator[Html]:
    names = {invited.organisation: invited.name for invited in described.organisations}
    rows: list[tuple[object, ...]] = []
    for ticket in registry.tickets():
        is_open = not set(ticket.seats) & set(now.enrolled)
        acts = [Html("")]
        if now.phase not in OVER:
            acts = [_act(registry, guard, names[ticket.organisation], "invite", "New line")]
            if is_open:
                acts.append(_act(registry, guard, names[ticket.organisation], "revoke", "Revoke"))
        said = f"open until {moment(ticket.expires)}" if is_open else "used"
        rows.append((ticket.organisation, said, joined(*acts)))
    yield table(("organisation", "invitation", "change"), rows)
    if now.phase not in OVER and not guard.read_only:
        yield tag("p", "A new line makes the old one void; so does revoking it.", class_="soft")


def _act(registry: Registry, guard: ConsoleGuard, name: str, act: str, words: str) -> Html:
    """One organisation's invitation made anew, or void."""
    whose = tag("input", type="hidden", name="organisation", value=name)
    kind = "danger" if act == "revoke" else "second"
    # A screen reader must say whose invitation it is.
    sends = tag(
        "button", words, type="submit", class_=kind, aria_label=f"{words}: invitation of {name}"
    )
    return form(guard, f"/study/{registry.id}/{act}", whose, button=sends, kind="line")


def _costs(registry: Registry) -> Html:
    spent = kept_costs(registry.folder).seconds
    rows = [Bar(stage, seconds, f"{seconds:,.1f} s") for stage, seconds in spent.items()]
    said = "In the agreement, people are waited for." if Stage.AGREEMENT in spent else ""
    return joined(bars("Seconds by stage", rows), tag("p", said, class_="soft"))


def _evaluations(registry: Registry) -> Iterator[Html]:
    kept = [
        kept_evaluation
        for kept_evaluation in kept_evaluations(registry.folder)
        if kept_evaluation.joint is not None
    ]
    if not kept:
        yield tag(
            "p",
            coded(
                "None was held yet. Once enough sites run `sottovoce evaluate`, or press Evaluate "
                "in their consoles, the joint figures stand here."
            ),
        )
    for evaluation in kept[-1:]:
        assert evaluation.joint is not None
        yield evaluation_html(evaluation.joint, f"all sites, {moment(evaluation.at)}")


def _ends(registry: Registry, guard: ConsoleGuard, now: StudyStatus) -> Iterator[Html]:
    if now.phase in OVER:
        yield tag("p", "It is over. Its report, figures and ledger stay here.")
        return
    finished = now.phase == Phase.FINISHED
    act, what = ("close", "Close") if finished else ("cancel", "Stop")
    destroys = (
        "Closing deletes what labels need, here and at the sites: nobody gets labels from this "
        "model any more. Ledgers, figures and this page stay."
        if finished
        else "Stopping ends the study for everybody; what was computed so far is deleted."
    )
    yield folded(
        f"{what} this study",
        tag("p", destroys, class_="notice"),
        form(
            guard,
            f"/study/{registry.id}/{act}",
            field("name", f"Type the study's name to {what.lower()} it", hint=now.name),
            button=button(f"{what} this study", kind="danger"),
        ),
        name="ends",
    )
