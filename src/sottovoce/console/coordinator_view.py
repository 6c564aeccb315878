"""The console's page of a study for its coordinator: who is there, who is waited for, how good."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from sottovoce.config.study_file import StudyDescription, parse_study
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.layout import choice, field, form
from sottovoce.course.phases import OVER, Phase
from sottovoce.node.api import StudyStatus
from sottovoce.node.coordinator.registry import Registry
from sottovoce.node.kept_facts import kept_costs, kept_evaluations
from sottovoce.node.phone_words import in_lines
from sottovoce.pictures.charts import Bar, Flow, amount, bars
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.page import section
from sottovoce.pictures.quality import evaluation_html
from sottovoce.study.attempts import Stage

_FRESH_SECONDS = 120.0


def coordinator_sections(
    registry: Registry, guard: ConsoleGuard, flows: tuple[Flow, ...]
) -> Iterator[Html]:
    """Everything that the coordinator sees of one study; `flows` are those of its ledger."""
    described = parse_study(registry.text)
    now = registry.status(described)
    received = {flow.sender: flow.bytes for flow in flows}
    yield _state(now)
    yield _progress(described, now)
    yield section("Sites", _sites(described, now, received), _awaited(described, registry, now))
    if now.words:
        said = "The sites compare these words over the phone; they must have the same:"
        words = tag("p", "\n".join(in_lines(now.words)), class_="words")
        yield section("Words", tag("p", said), words)
    yield section("Invitations", *_invitations(described, registry, guard, now))
    yield section("Cost so far", _costs(registry))
    yield section("Evaluation", *_evaluations(registry))
    yield section("Stop or close", *_ends(registry, guard, now))


def _state(now: StudyStatus) -> Html:
    attempt = f", attempt {now.attempt}" if now.attempt > 1 else ""
    because = f": {now.reason}" if now.reason else ""
    return tag("p", f"State: {now.phase}{attempt}{because}.")


def _progress(described: StudyDescription, now: StudyStatus) -> Html:
    """Which of the stages is under way; nothing before the first and after the last."""
    stages = [str(stage) for stage in Stage.of(described.rehearsed())]
    if now.phase not in stages:
        return Html("")
    done = stages.index(now.phase)
    bar = tag("progress", value=done, max=len(stages), aria_label="Stages that are done")
    return tag("p", joined(f"Stage {done + 1} of {len(stages)} ", bar))


def _sites(described: StudyDescription, now: StudyStatus, received: dict[str, int]) -> Html:
    seen, versions = dict(now.seen), dict(now.versions)
    organisations = {seat.name: seat.organisation for seat in described.seats}
    rows: list[tuple[object, ...]] = [
        (
            name,
            organisations.get(name, ""),
            _stage(name, now),
            amount(received.get(name, 0)),
            _ago(seen[name]) if name in seen else "never",
            versions.get(name, ""),
        )
        for name in now.expected
    ]
    heads = ("seat", "organisation", "stage", "received from it", "last seen", "version")
    return table(heads, rows)


def _stage(name: str, now: StudyStatus) -> str:
    """How far a seat is: not there yet, or where the study is."""
    if name not in now.enrolled:
        return "not enrolled"
    said = f", {dict(now.reported)[name]}" if name in dict(now.reported) else ""
    attempt = f", attempt {now.attempt}" if now.attempt > 1 else ""
    return f"{now.phase}{attempt}{said}"


def _awaited(described: StudyDescription, registry: Registry, now: StudyStatus) -> Html:
    """Who is waited for, and until when, as far as the server wrote it down."""
    if now.phase in OVER or now.phase == Phase.FINISHED:
        return tag("p", "Nobody is waited for.")
    if now.waits_for:
        said = f"Waited for: {', '.join(now.waits_for)} ({now.waits_what}), "
        return tag("p", f"{said}until {_moment(now.waits_until)}.")
    if now.phase == Phase.ENROLMENT:
        missing = [name for name in now.expected if name not in now.enrolled]
        made = (registry.folder / "study.toml").stat().st_mtime
        until = made + described.deadlines.enrolment.total_seconds()
        return tag("p", f"Waited for: {', '.join(missing) or 'nobody'}, until {_moment(until)}.")
    silent = [
        name
        for name in now.enrolled
        if time.time() - dict(now.seen).get(name, 0.0) > _FRESH_SECONDS
    ]
    long = described.deadlines.stage
    said = f"Not seen for two minutes: {', '.join(silent) or 'nobody'}. "
    return tag("p", f"{said}A stage waits {long} for one that is silent.")


def _invitations(
    described: StudyDescription, registry: Registry, guard: ConsoleGuard, now: StudyStatus
) -> Iterator[Html]:
    open_ones = [one for one in registry.tickets() if not set(one.seats) & set(now.enrolled)]
    rows: list[tuple[object, ...]] = [
        (
            ticket.organisation,
            ", ".join(ticket.seats),
            f"open until {_moment(ticket.expires)}" if ticket in open_ones else "used",
        )
        for ticket in registry.tickets()
    ]
    yield table(("organisation", "seats", "invitation"), rows)
    if now.phase in OVER:
        return
    names = {invited.organisation: invited.name for invited in described.organisations}
    yield form(
        guard,
        f"/study/{registry.id}/invite",
        choice(
            "organisation", "Organisation", names.values(), hint="its old invitation is void then"
        ),
        button="Make a new invitation",
    )
    if open_ones:
        yield form(
            guard,
            f"/study/{registry.id}/revoke",
            choice(
                "organisation",
                "Organisation whose invitation becomes void",
                [names[ticket.organisation] for ticket in open_ones],
                hint="only one that has not come yet",
                at="revoked-organisation",
            ),
            button="Revoke the invitation",
            danger=True,
        )


def _costs(registry: Registry) -> Html:
    costs = kept_costs(registry.folder)
    rows = [Bar(stage, spent, f"{spent:.1f} s") for stage, spent in costs.seconds.items()]
    return bars("Seconds by stage", rows) if rows else tag("p", "No stage has ended yet.")


def _evaluations(registry: Registry) -> Iterator[Html]:
    kept = [
        kept_evaluation
        for kept_evaluation in kept_evaluations(registry.folder)
        if kept_evaluation.joint is not None
    ]
    if not kept:
        yield tag("p", "No evaluation was held yet: the sites run `sottovoce evaluate`.")
    for evaluation in kept[-1:]:
        assert evaluation.joint is not None
        yield evaluation_html(evaluation.joint, f"all sites, {_moment(evaluation.at)}")


def _ends(registry: Registry, guard: ConsoleGuard, now: StudyStatus) -> Iterator[Html]:
    if now.phase in OVER:
        yield tag("p", "The study is over.")
        return
    finished = now.phase == Phase.FINISHED
    act, what = ("close", "Close") if finished else ("cancel", "Stop")
    destroys = (
        "Closing deletes key and parts of the model, here and where they are computed with: nobody "
        "gets labels from it any more."
        if finished
        else "Stopping ends the study for everybody; what was computed so far is deleted."
    )
    yield tag("p", destroys, class_="notice")
    yield form(
        guard,
        f"/study/{registry.id}/{act}",
        field("name", f"Type the study's name to {act} it", hint=now.name),
        button=f"{what} this study",
        danger=True,
    )


def _ago(seconds: float) -> str:
    spent = max(time.time() - seconds, 0.0)
    for unit, size in (("days", 86400), ("hours", 3600), ("minutes", 60)):
        if spent >= 2 * size:
            return f"{spent / size:.0f} {unit} ago"
    return f"{spent:.0f} seconds ago"


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
