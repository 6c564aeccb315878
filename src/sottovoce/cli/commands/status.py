"""`sottovoce status`: how far every study of this site is."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sottovoce.cli import screen
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.errors import InputError

if TYPE_CHECKING:
    from sottovoce.node.memberships import SeatStatus, StudyStatus


def status(
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Say how far the studies are that this site runs or joined, from its own disk.

    \b
    Examples:
      sottovoce status
      sottovoce status --study urgency --json
    """
    from sottovoce.node.coordinator.study_statuses import studies
    from sottovoce.node.site.seat_status import is_running
    from sottovoce.node.site.seat_status import status as seats_of
    from sottovoce.node.site.site_folder import choose

    site = open_home(home, passphrase_file)
    run = studies(site.coordinator_place())
    joined = site.joined()
    titles = {one.study: one.name for one in run} | {one.id: one.invitation.title for one in joined}
    if not titles:
        raise InputError(
            f"{site.home}: expected a study, found none",
            hints=("sottovoce study create", "sottovoce join INVITATION", "or another --home"),
        )
    wanted = titles if study is None else {choose(study, titles)}
    run = [one for one in run if one.study in wanted]
    seats = [seat for one in joined if one.id in wanted for seat in seats_of(one.membership)]
    if as_json:
        joined_seats = [asdict(one) | {"runs": is_running(one)} for one in seats]
        _print({"run": [asdict(one) for one in run], "joined": joined_seats})
        return
    for one in run:
        _show_run(one)
    if seats:
        _show_seats(seats, titles)


def _show_run(one: "StudyStatus") -> None:
    from sottovoce.cli.screen import moment
    from sottovoce.node.phone_words import in_lines

    attempt = f", attempt {one.attempt}" if one.attempt > 1 else ""
    reason = f": {one.reason}" if one.reason else ""
    screen.say(f"{one.study} ({one.name}): {one.phase}{attempt}{reason}")
    if one.waits_for:
        screen.say(f"  {_waits(one)}")
    if one.words:
        screen.say("  words that the sites compare over the phone:")
        for line in in_lines(one.words):
            screen.say(f"    {line}")
    seen, versions = {name: moment(when) for name, when in one.seen}, dict(one.versions)
    rows = [
        (
            name,
            "yes" if name in one.enrolled else "no",
            seen.get(name, "never"),
            versions.get(name, ""),
        )
        for name in one.expected
    ]
    screen.table(("seat", "enrolled", "last seen", "version"), rows)


def _show_seats(seats: "list[SeatStatus]", titles: dict[str, str]) -> None:
    from sottovoce.node.site.seat_status import is_running

    rows = []
    for one in seats:
        name = titles.get(one.study, one.study)
        runs = f"{one.process} runs" if is_running(one) else "none runs"
        rows.append((name, one.seat, one.phase, f"{one.attempt or ''}", f"{one.letters:,}", runs))
    screen.table(("study", "seat", "phase", "attempt", "letters", "process"), rows)
    for one in seats:
        if one.reason:
            party = f" (because of {one.party})" if one.party else ""
            screen.say(f"{one.seat}: {one.phase} because {one.reason}{party}")
        if one.waits_for:
            screen.say(f"{one.seat} {_waits(one)}")
        if one.labels_left is not None:
            screen.say(f"{one.seat}: {one.labels_left:,} labels left of this study's budget")


def _waits(one: "StudyStatus | SeatStatus") -> str:
    from sottovoce.cli.screen import waiting

    return waiting(one.waits_what, one.waits_for, one.waits_until)


def _print(content: Any) -> None:
    import json

    screen.say(json.dumps(content))
