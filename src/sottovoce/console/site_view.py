"""The console's page of a study for a site: decisions first, then its state."""

import time
from collections.abc import Iterator

from sottovoce.cli.source_choice import SourceChoice, has_begun
from sottovoce.config.study_file import StudyDescription
from sottovoce.console.guard import ConsoleGuard
from sottovoce.console.layout import button, field, form
from sottovoce.console.progress_view import bar, lead, moment, steps, until
from sottovoce.console.work import Activity
from sottovoce.course.phases import OVER, Phase
from sottovoce.node.api import ConsentQuestion
from sottovoce.node.approval import Request
from sottovoce.node.awaited import awaited
from sottovoce.node.kept_facts import kept_alone
from sottovoce.node.known_studies import site_card, site_evaluations
from sottovoce.node.memberships import SeatStatus
from sottovoce.node.phone_words import in_lines
from sottovoce.node.site.seat_status import is_running, status
from sottovoce.node.site.shown_card import kept_consent
from sottovoce.node.site.site_folder import JoinedStudy
from sottovoce.pictures.charts import Bar, amount, bars
from sottovoce.pictures.html import Html, joined, table, tag
from sottovoce.pictures.markdown import html_of
from sottovoce.pictures.page import coded, folded, section, tiles
from sottovoce.pictures.quality import compared_html, evaluation_html
from sottovoce.sources.inspection import Inspection
from sottovoce.study.release import Opens
from sottovoce.study.roster import Role
from sottovoce.study.study import grouped

_SHOWN_LINES = 40
_EARLY = frozenset({Phase.INVITED, Phase.ENROLMENT, Phase.CONSENT})
_HELPS = "Others get labels only while enough sites are there to compute for them."


def site_sections(study: JoinedStudy, activity: Activity, guard: ConsoleGuard) -> Iterator[Html]:
    """Everything that a site sees of one study, decisions first."""
    seats = status(study.membership)
    phases = {seat.phase for seat in seats}
    yield lead(seats[0].phase, reason=seats[0].reason, attempt=seats[0].attempt)
    if activity.consent is not None:
        yield _consent(study, activity.consent[0], guard)
    if activity.letter is not None:
        yield _approval(study, activity.letter[0], guard)
    if phases != {Phase.INVITED} or activity.joins or activity.error:
        yield section("Now", *_standing(study.description, seats, activity))
    early, over = phases.issubset(_EARLY), phases.issubset(OVER)
    if early:
        yield section("The study card", _card(study))
    if not over and not guard.read_only:
        yield from _acts(study, seats, activity, guard)
    yield from _results(study)
    if not early:
        yield section("The study card", _consented(study))
    if not over and not guard.read_only:
        yield section("Leave", _leave(study, guard))


def _acts(
    study: JoinedStudy, seats: tuple[SeatStatus, ...], activity: Activity, guard: ConsoleGuard
) -> Iterator[Html]:
    """The actions that a person may take next."""
    runs = activity.joins or any(map(is_running, seats))
    if not any(seat.phase == Phase.FINISHED for seat in seats):
        if not runs:
            yield section("Take part", join_form(study, guard))
        return
    if not activity.asks:
        yield section("Use the model", *_use(study, guard))
    if not runs and len(seats) > 1:
        yield section("Help the others", tag("p", _HELPS), join_form(study, guard))


def _results(study: JoinedStudy) -> Iterator[Html]:
    """The results so far, if there are any."""
    if site_evaluations(study):
        yield section("Evaluation", *_evaluations(study))
    if files := _labelled(study):
        yield section("Labelled files", files)


def _consent(study: JoinedStudy, question: ConsentQuestion, guard: ConsoleGuard) -> Html:
    rows: list[tuple[object, ...]] = [
        (participant.name, participant.organisation, str(participant.role))
        for participant in question.study.roster.participants
    ]
    return section(
        "Your consent is needed",
        tag("p", "Compare these words with the other sites by phone:"),
        tag("p", "\n".join(in_lines(question.words)), class_="words"),
        tag(
            "p",
            f"The others wait for your answer {until(question.until)}. A site that was away has as "
            "long, counted from when everybody had come. The console may be stopped meanwhile.",
        ),
        form(
            guard,
            f"/study/{study.id}/consent",
            field("name", "Your name", hint="it is kept with your consent, in this site's ledger"),
            tag("p", "By sending this you confirm that the others have the same words."),
            button=button("The words are the same, and we consent"),
        ),
        form(
            guard,
            f"/study/{study.id}/refuse",
            button=button("The words differ, or we do not consent", kind="danger"),
        ),
        tag("h3", "What your consent signs"),
        tag("p", joined("Fingerprint: ", tag("code", grouped(question.study.digest)))),
        table(("seat", "organisation", "role"), rows),
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
        "An outgoing message waits for your approval",
        table(("what", "value"), rows),
        form(guard, f"/study/{study.id}/let-go", shown, button=button("Let it go")),
        form(
            guard,
            f"/study/{study.id}/hold-back",
            shown,
            button=button("Refuse it, and leave the study", kind="danger"),
        ),
    )


def _standing(
    described: StudyDescription | None, seats: tuple[SeatStatus, ...], activity: Activity
) -> Iterator[Html]:
    phase = seats[0].phase
    if described is not None and phase not in OVER:
        yield steps(described, phase)
    yield from _moving(activity)
    if activity.waits is not None:
        whom, what = ", ".join(activity.waits.whom), awaited(activity.waits.what)
        yield tag("p", f"Waits for {whom} ({what}), {until(activity.waits.until)}.")
    if phase not in OVER:
        yield tag("p", coded(_who_runs(seats, activity)))
    for seat in seats:
        labels = _budget_left(described, seat)
        if labels is not None:
            yield tag("p", f"Labels left of this site's budget: {labels:,}.")
    if activity.error:
        yield tag("p", activity.error, class_="notice")
    if len({seat.phase for seat in seats}) > 1:
        yield table(("seat", "phase"), [(seat.seat, str(seat.phase)) for seat in seats])
    if activity.said:
        lines = tag("pre", "\n".join(activity.said[-_SHOWN_LINES:]))
        yield folded("What happened", lines, name="happened")


def _who_runs(seats: tuple[SeatStatus, ...], activity: Activity) -> str:
    """Say which process takes part for this site."""
    if activity.joins or activity.asks:
        return f"This console is {activity.what}."
    if any(map(is_running, seats)):
        return "A `sottovoce join` of this site takes part in it now."
    return "No process of this site takes part now."


def _moving(activity: Activity) -> Iterator[Html]:
    """Each seat's progress in its stage, with the time left where it is known."""
    now = time.time()
    for (name, stage), progress in activity.moves.items():
        share = progress.share
        if share is None:
            yield tag("p", f"{name}: {stage}, {amount(progress.moved)} moved.")
        else:
            yield from bar(f"{name}: {stage}", share, progress.seconds_left(now))


def _budget_left(described: StudyDescription | None, seat: SeatStatus) -> int | None:
    """The labels that a peer may still ask for; None without a budget or a model.

    Before the first query this is the whole budget.
    """
    if described is None or seat.phase != Phase.FINISHED:
        return None
    plan, peers = described.plan, {seat.name for seat in described.seats if seat.role is Role.PEER}
    if seat.seat not in peers or plan.release.opens is Opens.WEIGHTS:
        return None
    return plan.budget if seat.labels_left is None else seat.labels_left


def _use(study: JoinedStudy, guard: ConsoleGuard) -> Iterator[Html]:
    """The uses of a model: label a file, and see how good it is."""
    yield form(
        guard,
        f"/study/{study.id}/classify",
        tag("label", "A file to label: choose it, or drop it here", for_="file"),
        tag("input", type="file", id="file", name="file", required="required"),
        tag("small", "Nobody else learns its labels.", class_="soft"),
        button=button("Label this file"),
        kind="drops",
    )
    yield form(
        guard,
        f"/study/{study.id}/evaluate",
        tag(
            "p",
            "How good is the model on documents that nobody trained on? This site's figures come "
            "at once; joint ones once enough other sites evaluate, too.",
        ),
        button=button("Evaluate on the held-out documents", kind="second"),
    )


def join_form(study: JoinedStudy, guard: ConsoleGuard, given: SourceChoice | None = None) -> Html:
    """The form for the documents' place, to look at them or take part; typed values stay."""
    join = f"/study/{study.id}/join"
    each = tag("input", type="checkbox", id="each", name="each", value="yes")
    approve = tag("label", "Ask me before each message that leaves", for_="each")
    asks = tag("p", each, approve, class_="inline")
    if has_begun(study):
        return form(guard, join, asks, button=button("Go on"))
    text = given.text[0] if given and given.text else "text"
    label = given.label[0] if given and given.label else "label"
    group = (given.group or "") if given else ""
    data = given.data if given else ""
    looks = button("Look at the data first", kind="second", to=f"/study/{study.id}/inspect")
    return form(
        guard,
        join,
        field("data", "File or folder with this site's documents", value=data, hint="a full path"),
        field("text", "Column of the text", value=text),
        field("label", "Column of the label", value=label),
        field(
            "group",
            "Column of the group, such as the patient (optional)",
            value=group,
            hint="documents of one group are never split between training and evaluation",
            needed=False,
        ),
        asks,
        button=joined(looks, button("Take part as the card describes")),
    )


def inspected(inspection: Inspection) -> Iterator[Html]:
    """A summary of the data: numbers and balance, never text."""
    figures = (
        (f"{inspection.documents:,}", "documents"),
        (f"{inspection.skipped:,}", "skipped"),
        (f"{inspection.distinct_labels:,}", "labels"),
    )
    yield tiles(figures)
    shares = [
        Bar(label.label, label.documents, f"{label.documents:,}")
        for label in inspection.labels[:30]
    ]
    if shares:
        yield bars("Documents by label", shares)
    for line in (*inspection.warnings, *inspection.notes):
        yield tag("p", line, class_="notice")


def _evaluations(study: JoinedStudy) -> Iterator[Html]:
    last = site_evaluations(study)[-1]
    alone = kept_alone(study.folder)
    measured = {} if alone is None else {"alone, here": alone}
    sides = {"joint, here": last.own, "joint, all sites": last.joint}
    measured |= {name: side.accuracy for name, side in sides.items() if side is not None}
    yield compared_html(measured)
    if last.joint is None:
        yield tag("p", "The joint figures come once enough other sites evaluate too.")
    if last.own is not None:
        yield evaluation_html(last.own, f"joint model, documents of this site, {moment(last.at)}")
    if last.joint is not None:
        yield evaluation_html(last.joint, "joint model, documents of all sites")


def _labelled(study: JoinedStudy) -> Html:
    """The files that this console labelled; nothing where there is none."""
    folder = study.folder / "labelled"
    # Unfinished files have a name that begins with a dot.
    files = sorted(folder.glob("[!.]*")) if folder.is_dir() else []
    links = (
        tag("li", tag("a", file.name, href=f"/study/{study.id}/labelled/{file.name}"))
        for file in files
    )
    return tag("ul", *links) if files else Html("")


def _card(study: JoinedStudy) -> Html:
    """The first page of the card, before anybody consented."""
    if study.description is None:
        return tag("p", "The study's description has not arrived yet.")
    title, _, page = site_card(study).first_page().partition("\n")
    assert title.startswith("# "), "the page has this heading already"
    return joined(html_of(page), _whole_card(study))


def _consented(study: JoinedStudy) -> Html:
    """Say who consented when, and where the card is."""
    agreed = kept_consent(study.folder)
    said = "" if agreed is None else f"Consented by {agreed.by} on {moment(agreed.at)}."
    return joined(tag("p", said), html_of(site_card(study).sums()), _whole_card(study))


def _whole_card(study: JoinedStudy) -> Html:
    where = f"/study/{study.id}/card"
    return tag("p", tag("a", "The whole card, to print and sign", href=where))


def _leave(study: JoinedStudy, guard: ConsoleGuard) -> Html:
    return folded(
        "Leave this study",
        tag(
            "p",
            "Leaving deletes this site's journals and its part of the model. What was already "
            "added up stays in the sum.",
            class_="notice",
        ),
        form(
            guard,
            f"/study/{study.id}/withdraw",
            field("name", "Type the study's name to leave it", hint=study.invitation.title),
            button=button("Leave this study", kind="danger"),
        ),
        name="leave",
    )
