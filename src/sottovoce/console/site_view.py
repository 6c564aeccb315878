"""The console's page of a study for a site: what to decide first, then how it stands."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from sottovoce.cli.source_choice import has_begun
from sottovoce.config.study_file import StudyDescription
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.layout import field, form
from sottovoce.console.work import Activity, StageMove
from sottovoce.course.phases import OVER, Phase
from sottovoce.node.api import ConsentQuestion, SeatStatus
from sottovoce.node.approval import Request
from sottovoce.node.kept_facts import kept_alone
from sottovoce.node.phone_words import in_lines
from sottovoce.node.report_facts import site_evaluations
from sottovoce.node.site.seat_status import is_running, status
from sottovoce.node.site.shown_card import agreed_card, card_of, kept_consent
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.pictures.charts import Bar, amount, bars
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import section
from sottovoce.pictures.quality import compared_html, evaluation_html
from sottovoce.sources.inspection import Inspection
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role
from sottovoce.study.study import grouped

_SHOWN_LINES = 40


def site_sections(study: JoinedStudy, activity: Activity, guard: ConsoleGuard) -> Iterator[Html]:
    """Everything that a site sees of one study; what it must decide stands first."""
    seats = status(study.membership)
    if activity.consent is not None:
        yield _consent(study, activity.consent[0], guard)
    if activity.letter is not None:
        yield _approval(study, activity.letter[0], guard)
    yield section("Where it stands", *_standing(study.description, seats, activity))
    over = all(seat.phase in OVER for seat in seats)
    trained = any(seat.phase == Phase.FINISHED for seat in seats)
    if not over and not (activity.asks or (activity.joins and not trained)):
        yield section("Next", *_next(study, seats, guard))
    yield section("Evaluation", *_evaluations(study))
    yield section("Labelled files", *_labelled(study))
    yield section("The study card", _card(study))
    if not over:
        yield section("Leave", *_leave(study, guard))


def _consent(study: JoinedStudy, question: ConsentQuestion, guard: ConsoleGuard) -> Html:
    rows: list[tuple[object, ...]] = [
        (participant.name, participant.organisation, str(participant.role))
        for participant in question.study.roster.participants
    ]
    return section(
        "Your consent is needed",
        tag("p", "Compare these words with the other sites over the phone:"),
        tag("p", "\n".join(in_lines(question.words)), class_="words"),
        tag(
            "p",
            f"The others wait for your answer until {_moment(question.until)}; for a site that was "
            "away, as long from when everybody had come. The console may be stopped meanwhile.",
        ),
        tag("p", joined("Fingerprint: ", tag("code", grouped(question.study.digest)))),
        table(("seat", "organisation", "role"), rows),
        form(
            guard,
            f"/study/{study.id}/consent",
            field("name", "Your name: it is kept with your consent"),
            tag("p", "By sending this you say that the others have the same words."),
            button="The words are the same, and we consent",
        ),
        form(
            guard,
            f"/study/{study.id}/refuse",
            button="The words differ, or we do not consent",
            danger=True,
        ),
    )


def _approval(study: JoinedStudy, request: Request, guard: ConsoleGuard) -> Html:
    rows: list[tuple[object, ...]] = [
        ("message", request.kind),
        ("stage", request.stage),
        ("to", request.recipient),
        ("bytes", request.bytes),
        ("seen by", request.seen_by),
        ("reveals", request.reveals),
        ("assuming", request.assuming),
        ("SHA-256", tag("code", request.digest)),
    ]
    shown = tag("input", type="hidden", name="letter", value=request.digest)
    return section(
        "A message wants to leave",
        table(("what", "value"), rows),
        form(guard, f"/study/{study.id}/let-go", shown, button="Let it go"),
        form(
            guard,
            f"/study/{study.id}/hold-back",
            shown,
            button="Hold it back, and leave the study",
            danger=True,
        ),
    )


def _standing(
    described: StudyDescription | None, seats: tuple[SeatStatus, ...], activity: Activity
) -> Iterator[Html]:
    rows: list[tuple[object, ...]] = [
        (seat.seat, str(seat.phase), seat.attempt or "", seat.letters) for seat in seats
    ]
    yield table(("seat", "phase", "attempt", "letters"), rows)
    for reason in dict.fromkeys(seat.reason for seat in seats if seat.reason):
        yield tag("p", f"It ended because {reason}.", class_="notice")
    if activity.joins or activity.asks:
        yield tag("p", f"This console is {activity.what}.")
    elif any(map(is_running, seats)) and not any(seat.phase in OVER for seat in seats):
        yield tag("p", "A `sottovoce join` of this site takes part in it now.")
    now = time.time()
    for (name, stage), move in activity.moves.items():
        yield _progress(f"{name}: {stage}", move, now)
    for seat in seats:
        labels = _budget_left(described, seat)
        if labels is not None:
            yield tag("p", f"{seat.seat}: {labels:,} labels left of the budget.")
    if activity.waits is not None:
        whom, until = ", ".join(activity.waits.whom), activity.waits.until
        limit = f"until {_moment(until)}" if until else "for as long as it takes"
        yield tag("p", f"Waits for {whom} ({activity.waits.what}) {limit}.")
    if activity.error:
        yield tag("p", activity.error, class_="notice")
    if activity.said:
        lines = tag("pre", "\n".join(activity.said[-_SHOWN_LINES:]))
        yield tag("details", tag("summary", "What happened"), lines)


def _budget_left(described: StudyDescription | None, seat: SeatStatus) -> int | None:
    """How many labels a peer may still ask for; None where no budget counts, or no model is there.

    Before the first query it is all of the budget.
    """
    if described is None or seat.phase != Phase.FINISHED:
        return None
    plan, peers = described.plan, {seat.name for seat in described.seats if seat.role is Role.PEER}
    if seat.seat not in peers or plan.release.opens is Opens.WEIGHTS:
        return None
    return plan.budget if seat.labels_left is None else seat.labels_left


def _progress(name: str, move: StageMove, now: float) -> Html:
    """How far a stage is, with the time left where that can be said."""
    left = move.seconds_left(now)
    said = f"{name}, {amount(move.moved)}"
    if not move.expected:
        return tag("p", f"{said} moved.")
    most = max(move.expected, move.moved)
    bar = tag("progress", value=move.moved, max=most, aria_label=name)
    when = f", about {left:.0f} seconds left" if left is not None else ""
    return tag("p", joined(f"{said} of {amount(most)}{when} ", bar))


def _next(study: JoinedStudy, seats: tuple[SeatStatus, ...], guard: ConsoleGuard) -> Iterator[Html]:
    trained = any(seat.phase == Phase.FINISHED for seat in seats)
    if trained:
        yield form(
            guard,
            f"/study/{study.id}/evaluate",
            tag("p", "Joint figures are opened once enough peers do this at the same time."),
            button="Evaluate on the documents held out",
        )
        yield form(
            guard,
            f"/study/{study.id}/classify",
            tag("label", "A file to label: choose it, or drop it here", for_="file"),
            tag("input", type="file", id="file", name="file", required="required"),
            button="Label this file",
            drops=True,
        )
        return
    begun = has_begun(study)
    asked = (
        ()
        if begun
        else (
            field("data", "File or folder with this site's documents", hint="as a full path"),
            field("text", "Column of the text", value="text"),
            field("label", "Column of the label", value="label"),
            field("group", "Column of the group, such as the patient", needed=False),
        )
    )
    each = tag("input", type="checkbox", id="each", name="each", value="yes")
    approve = tag("label", "Ask me before each message", for_="each")
    if not begun:
        yield form(guard, f"/study/{study.id}/inspect", *asked, button="Look at the data first")
    yield form(
        guard,
        f"/study/{study.id}/join",
        *(_again(request) for request in asked),
        tag("p", each, approve, class_="inline"),
        button="Go on" if begun else "Take part, as the card says",
    )


def _again(asked: Html) -> Html:
    """The same field in a second form, under an id of its own."""
    for name in ("data", "text", "label", "group"):
        asked = Html(
            asked.replace(f'for="{name}"', f'for="join-{name}"')
            .replace(f'id="{name}"', f'id="join-{name}"')
            .replace(f'="{name}-hint"', f'="join-{name}-hint"')
        )
    return asked


def inspected(inspection: Inspection) -> Iterator[Html]:
    """What a look at the data finds: numbers and balance, never text."""
    rows: list[tuple[object, ...]] = [
        ("documents", inspection.documents),
        ("skipped", inspection.skipped),
        ("labels", inspection.distinct_labels),
    ]
    yield table(("what", "how many"), rows)
    shares = [
        Bar(label.label, label.documents, f"{label.documents:,}")
        for label in inspection.labels[:30]
    ]
    if shares:
        yield bars("Documents by label", shares)
    for line in (*inspection.warnings, *inspection.notes):
        yield tag("p", line, class_="notice")


def _evaluations(study: JoinedStudy) -> Iterator[Html]:
    kept = site_evaluations(study)
    if not kept:
        yield tag("p", "None was held here yet.")
        return
    last = kept[-1]
    alone = kept_alone(study.folder)
    measured = {} if alone is None else {"alone, here": alone}
    sides = {"joint, here": last.own, "joint, all sites": last.joint}
    measured |= {name: side.accuracy for name, side in sides.items() if side is not None}
    yield compared_html(measured)
    if last.joint is None:
        yield tag("p", "The joint figures come once enough other sites evaluate, too.")
    if last.own is not None:
        yield evaluation_html(last.own, f"joint model, documents of this site, {_moment(last.at)}")
    if last.joint is not None:
        yield evaluation_html(last.joint, "joint model, documents of all sites")


def _labelled(study: JoinedStudy) -> Iterator[Html]:
    folder = study.folder / "labelled"
    # One that is being written has a name with a dot before it.
    files = sorted(folder.glob("[!.]*")) if folder.is_dir() else []
    if not files:
        yield tag("p", "None yet.")
        return
    yield tag(
        "ul",
        *(
            tag("li", tag("a", file.name, href=f"/study/{study.id}/labelled/{file.name}"))
            for file in files
        ),
    )


def _card(study: JoinedStudy) -> Html:
    described = study.description
    if described is None:
        return tag("p", "The study's text has not come yet.")
    organisation = described.organisation(study.invitation.short_name).organisation
    agreed = kept_consent(study.folder)
    card = (
        card_of(described, organisation)
        if agreed is None
        else agreed_card(described, agreed, organisation)
    )
    said = "" if agreed is None else f"Consented by {agreed.by} on {_moment(agreed.at)}."
    return joined(
        html_of(card.first_page().replace("# Study card", "### Study card", 1)),
        tag("p", said),
        tag("p", tag("a", "The whole card, to print and sign", href=f"/study/{study.id}/card")),
    )


def _leave(study: JoinedStudy, guard: ConsoleGuard) -> Iterator[Html]:
    yield tag(
        "p",
        "Leaving deletes this site's journals and its part of the model. What is in a sum already "
        "cannot be taken out of it.",
        class_="notice",
    )
    yield form(
        guard,
        f"/study/{study.id}/withdraw",
        field("name", "Type the study's name to leave it", hint=study.invitation.title),
        button="Leave this study",
        danger=True,
    )


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
