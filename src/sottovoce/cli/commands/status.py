"""`sottovoce status`: the progress of every study of this site."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen

if TYPE_CHECKING:
    from sottovoce.node.memberships import SeatStatus, StudyStatus


def status(
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Show the progress of the studies that this site runs or joined, from its own disk.

    \b
    Examples:
      sottovoce status
      sottovoce status --study urgency --json
    """
    from sottovoce.node.coordinator.study_statuses import studies
    from sottovoce.node.known_studies import study_titles
    from sottovoce.node.site.seat_status import is_running
    from sottovoce.node.site.seat_status import status as seats_of
    from sottovoce.node.site.site_folder import choose

    site = open_home(home, passphrase_file)
    run = studies(site.coordinator_place())
    joined = site.joined()
    titles = study_titles(site)
    wanted = titles if study is None else {choose(study, titles)}
    run = [study for study in run if study.study in wanted]
    seats = [
        seat
        for joined_study in joined
        if joined_study.id in wanted
        for seat in seats_of(joined_study.membership)
    ]
    if as_json:
        joined_seats = [asdict(seat) | {"runs": is_running(seat)} for seat in seats]
        screen.say_json({"run": [asdict(study) for study in run], "joined": joined_seats})
        return
    for served in run:
        _show_run(served)
    if seats:
        _show_seats(seats, titles)


def _show_run(study: "StudyStatus") -> None:
    from sottovoce.cli.terminal.screen import moment
    from sottovoce.course.phases import OVER
    from sottovoce.node.phone_words import in_lines

    attempt = f", attempt {study.attempt}" if study.attempt > 1 else ""
    reason = f": {study.reason}" if study.reason else ""
    screen.say(f"{study.study} ({study.name}): {study.phase}{attempt}{reason}")
    if study.waits_for:
        screen.say(f"  {_waits(study)}")
    if study.words and study.phase not in OVER:
        screen.say("  words that the sites compare by phone:")
        for line in in_lines(study.words):
            screen.say(f"    {line}")
    seen, versions = {name: moment(when) for name, when in study.seen}, dict(study.versions)
    rows = [
        (
            name,
            "yes" if name in study.enrolled else "no",
            seen.get(name, "never"),
            versions.get(name, ""),
        )
        for name in study.expected
    ]
    screen.table(("seat", "enrolled", "last seen", "version"), rows)


def _show_seats(seats: "list[SeatStatus]", titles: dict[str, str]) -> None:
    """A table for each study, and below it why a seat stopped, what it waits for, its budget."""
    from itertools import groupby

    from sottovoce.cli.exit_states import why_stopped
    from sottovoce.course.phases import OVER, Phase
    from sottovoce.node.site.seat_status import is_running

    for study, grouped in groupby(seats, key=lambda seat: seat.study):
        own = list(grouped)
        screen.say(f"{study} ({titles[study]})" if study in titles else study)
        rows = [
            (
                seat.seat,
                seat.phase,
                f"{seat.attempt or ''}",
                f"{seat.letters:,}",
                f"{seat.process} runs" if is_running(seat) else "none runs",
            )
            for seat in own
        ]
        screen.table(("seat", "phase", "attempt", "letters", "process"), rows)
        for seat in own:
            if seat.reason:
                screen.say(f"{seat.seat}: {seat.phase}, because {why_stopped(seat)}")
            if seat.waits_for:
                screen.say(f"{seat.seat} {_waits(seat)}")
            elif seat.phase == Phase.ENROLMENT:
                screen.say(f"{seat.seat} waits until everybody has joined")
            if seat.labels_left is not None and seat.phase not in OVER:
                screen.say(f"{seat.seat}: {seat.labels_left:,} labels left of this study's budget")


def _waits(status: "StudyStatus | SeatStatus") -> str:
    from sottovoce.cli.terminal.screen import waiting

    return waiting(status.waits_what, status.waits_for, status.waits_until)
