"""`sottovoce study …`: make a study, invite people to it, see it, stop it, end it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home, refuse_both
from sottovoce.cli.invitation_files import checked_address, checked_out, hand_out, invitation_for
from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.event_text import REFUSED
from sottovoce.errors import InputError
from sottovoce.hints import ShellCommand

if TYPE_CHECKING:
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.node.memberships import CoordinatorPlace
    from sottovoce.sources import Problems

app = typer.Typer(
    no_args_is_help=True, help="Make a study, invite people, see it, stop it, end it."
)

ShortName = Annotated[
    str, typer.Argument(metavar="NAME", help="Short name of the organisation in study.toml.")
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address",
        metavar="URL",
        help="Where peers reach the server: https://HOST:PORT. By default the study's earlier "
        "address or this machine's name.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Write each invitation to a file of its own."),
]
Name = Annotated[
    str | None, typer.Argument(metavar="[STUDY]", help="Name of the study, or the beginning of it.")
]


@app.callback()
def root() -> None:
    """Make a study, invite people to it, see it, stop it, end it."""


@app.command(short_help="Make a study and print an invitation for every organisation.")
def create(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="study.toml; without it, an example.")
    ] = None,
    home: Home = None,
    old: Annotated[
        str | None,
        typer.Option("--from", metavar="STUDY", help="Take the settings of an earlier study."),
    ] = None,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="The new name, with --from.")
    ] = None,
    example: Annotated[
        bool, typer.Option("--example", help="Print a study.toml with every setting explained.")
    ] = False,
    address: Address = None,
    out: Out = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make a study from FILE and print one invitation for every organisation in it.

    An invitation is one line that works once, until the enrolment ends. Send each to its
    organisation only, in a way that you trust: it pins this server's certificate.

    \b
    Examples:
      sottovoce study create --example > study.toml
      sottovoce study create study.toml --address https://study.example.org:8443
      sottovoce study create study.toml --out invitations
      sottovoce study create --from urgency --name "urgency, second round"
    """
    from sottovoce.config.study_file import example as example_text
    from sottovoce.config.study_file import load_study

    refuse_both(("FILE", file), ("--from", old))
    if example or (file is None and old is None):
        screen.say(example_text(), nl=False)
        return
    if name is not None and old is None:
        raise InputError(
            "--name: this option needs --from",
            hints=(f"or write name = {name!r} in {file}",),
        )
    # Every mistake is reported before anything is made.
    if file is not None:
        load_study(file)
    if address is not None:
        checked_address(address)
    place = open_home(home, passphrase_file).coordinator_place()
    if file is not None:
        described, before = load_study(file), ""
    else:
        described, before = _again(place, old or "", name)
    from sottovoce.node.coordinator.serving import create_study

    reached_at = checked_address(address, known=before)
    checked_out(out, *(invited.name for invited in described.organisations))
    tokens = create_study(place, described.text, address=reached_at)
    letters = [invitation_for(place, described, token, reached_at) for token in tokens]
    hand_out(described, letters, out=out, as_json=as_json)


@app.command(short_help="Try a study.toml on your own text, before anybody is invited.")
@options.grouped
def rehearse(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="study.toml")],
    data: Annotated[
        Path, typer.Option("--data", metavar="SOURCE", help="Labelled text: a file or a folder.")
    ],
    text: options.TextColumns = None,
    columns: options.ColumnFlags = options.ColumnFlags(),
    group: options.GroupColumn = None,
    file_flags: options.FileFlags = options.FileFlags(),
    encoder: options.EncoderPlace = None,
    home: Home = None,  # noqa: ARG001 - for its settings
    as_json: AsJson = False,
) -> None:
    """Try FILE on text of your own, dealt at random to its peers.

    Every peer's part is checked as `join` checks it. Shows columns, bytes and the accuracy in
    plaintext. Nothing is sent, and no study is made.

    \b
    Examples:
      sottovoce study rehearse study.toml --data notes.csv --label urgency
      sottovoce study rehearse study.toml --data notes.csv --json
    """
    from sottovoce.cli.rehearsing import PlanRehearsal
    from sottovoce.cli.source_choice import SourceChoice
    from sottovoce.config.study_file import load_study

    described = load_study(file)
    choice = SourceChoice.of(
        str(data), text, group, columns=columns, file=file_flags, encoder=encoder
    )

    def tell_losses(problems: "Problems") -> None:
        for line in problems.sentences():
            screen.say(f"{data}: {line}", err=True)

    tried = PlanRehearsal.of(described, choice.read(described.plan, report=tell_losses))
    if as_json:
        screen.say_json(tried.facts())
        return
    for line in tried.sentences():
        screen.say(line)


@app.command(short_help="Print a new invitation for an organisation that lost its own.")
def invite(
    short_name: ShortName,
    study: StudyName = None,
    home: Home = None,
    address: Address = None,
    out: Out = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Print a new invitation for an organisation; its old one becomes void.

    A study that has begun admits nobody new. An organisation that took part and lost its disk can
    return: after it joined again, another peer runs `sottovoce hand`.

    \b
    Examples:
      sottovoce study invite north
      sottovoce study invite north --study urgency --out invitations
    """
    from sottovoce.node.coordinator.serving import invite_again, registry_of

    if address is not None:
        checked_address(address)
    place = open_home(home, passphrase_file).coordinator_place()
    study_id, described = _chosen(place, study, option="--study ")
    registry, organisation = (
        registry_of(place, study_id),
        described.organisation(short_name).organisation,
    )
    registry.check_open(described, organisation)
    reached = checked_address(address, known=registry.address)
    checked_out(out)
    if out is not None and (out / short_name).exists():
        screen.say(f"{out / short_name}: the old invitation is void and was replaced", err=True)
    token = invite_again(place, study_id, organisation)
    if address is not None:
        registry.address = reached
    letters = [invitation_for(place, described, token, reached)]
    hand_out(described, letters, out=out, as_json=as_json)


@app.command(short_help="Make an unused invitation void.")
def revoke(
    short_name: ShortName,
    study: StudyName = None,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Make an organisation's invitation void, if it was not used yet.

    \b
    Examples:
      sottovoce study revoke north
      sottovoce study revoke north --study urgency --json
    """
    from sottovoce.node.coordinator.serving import registry_of

    place = open_home(home, passphrase_file).coordinator_place()
    study_id, described = _chosen(place, study, option="--study ")
    organisation = described.organisation(short_name).organisation
    registry_of(place, study_id).revoke(described, organisation)
    if as_json:
        screen.say_json({"study": study_id, "name": described.plan.name, "revoked": short_name})
    else:
        screen.say(f"{study_id}: the invitation of {organisation} is void")
        again = ShellCommand(f"sottovoce study invite {short_name} --study {study_id}")
        screen.say(placed("a new one: ", again))


@app.command(short_help="Show the study card, or the text of the study.")
def show(
    study: Name = None,
    home: Home = None,
    card: Annotated[
        bool, typer.Option("--card", help="The whole study card, with every message.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="The card as a page to print and sign."),
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print study.toml as sites get it.")] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a study that this site runs or joined: its card in plain words, and how good it is.

    \b
    Examples:
      sottovoce study show
      sottovoce study show urgency --card
      sottovoce study show urgency --html card.html
      sottovoce study show urgency --toml > study.toml
    """
    from sottovoce.cli.consent import card_facts, show_card
    from sottovoce.cli.shown_study import chosen, evaluated, show_study, summed, write_card
    from sottovoce.node.known_studies import known_study

    known = known_study(open_home(home, passphrase_file), study, option="")
    if toml:
        screen.say(known.described.text, nl=False)
    elif as_json:
        facts = card_facts(known.described, known.card)
        screen.say_json(facts | summed(known) | chosen(known) | evaluated(known))
    elif html is not None:
        write_card(known.card, html)
    elif card:
        show_card(known.card)
    else:
        show_study(known)


@app.command("list", short_help="Every study that this site runs or joined.")
def list_studies(
    home: Home = None, passphrase_file: PassphraseFile = None, as_json: AsJson = False
) -> None:
    """List every study that this site runs or joined.

    \b
    Examples:
      sottovoce study list
      sottovoce study list --json
    """
    from sottovoce.node.coordinator.study_statuses import studies
    from sottovoce.node.site.seat_status import status as seats_of

    site = open_home(home, passphrase_file)
    rows = [
        {"study": study.study, "name": study.name, "as": "coordinator", "phase": study.phase}
        for study in studies(site.coordinator_place())
    ]
    rows += [
        {
            "study": joined_study.id,
            "name": joined_study.invitation.title,
            "as": ", ".join(joined_study.invitation.seats),
            "phase": ", ".join(
                dict.fromkeys(str(seat.phase) for seat in seats_of(joined_study.membership))
            ),
        }
        for joined_study in site.joined()
    ]
    nothing = "no study here: begin with `sottovoce study create` or `sottovoce join INVITATION`"
    _table(rows, as_json=as_json, nothing=nothing)


@app.command(short_help="Stop a study that is not finished; everybody is told why.")
def cancel(
    study: Name = None,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="What everybody is told.")
    ] = "the coordinator cancelled it",
    home: Home = None,
    yes: options.Unasked = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Stop a study that is not finished. The running server tells everybody why.

    \b
    Examples:
      sottovoce study cancel urgency --reason "approval was withdrawn"
      sottovoce study cancel urgency --yes --json
    """
    from sottovoce.node.coordinator.serving import cancel_study

    place = open_home(home, passphrase_file).coordinator_place()
    study_id, described = _chosen(place, study)
    _check_phase(place, study_id, finished=False)
    _sure(f"Stop {described.plan.name!r} for everybody?", yes=yes)
    cancel_study(place, study_id, reason=reason)
    _ordered(study_id, described, "stopped", as_json=as_json)


@app.command(short_help="End a finished study: the keys or shares that answer queries are deleted.")
def close(
    study: Name = None,
    home: Home = None,
    yes: options.Unasked = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """End a finished study: key or shares are deleted, and no query is answered any more.

    \b
    Examples:
      sottovoce study close urgency
      sottovoce study close urgency --yes --json
    """
    from sottovoce.node.coordinator.serving import close_study

    place = open_home(home, passphrase_file).coordinator_place()
    study_id, described = _chosen(place, study)
    _check_phase(place, study_id, finished=True)
    _sure(f"Close {described.plan.name!r}? Nobody gets labels from its model then.", yes=yes)
    close_study(place, study_id)
    _ordered(study_id, described, "closed", as_json=as_json)


def _check_phase(place: "CoordinatorPlace", study: str, *, finished: bool) -> None:
    """Refuse an order that the study cannot follow in its phase, and name the right one."""
    from sottovoce.course.phases import OVER, Phase
    from sottovoce.node.coordinator.serving import study_status

    now = study_status(place, study)
    expected = "a finished one" if finished else "one that is not finished"
    because = f": {now.reason}" if now.reason else ""
    if now.phase in OVER:
        raise InputError(f"study {study}: expected {expected}, found it {now.phase}{because}")
    if (now.phase == Phase.FINISHED) is not finished:
        cancel, close = (
            ShellCommand(f"sottovoce study cancel {study}"),
            ShellCommand(f"sottovoce study close {study}"),
        )
        raise InputError(
            f"study {study}: expected {expected}, found its phase {now.phase}",
            hints=(cancel if finished else close,),
        )


def _ordered(study: str, described: "StudyDescription", what: str, *, as_json: bool) -> None:
    facts = {"study": study, "name": described.plan.name, "ordered": what}
    done = f"{study}: the server ends it as {what}, at once, or when it is started"
    screen.tell(done, facts, as_json=as_json)


def _again(place: "CoordinatorPlace", old: str, name: str | None) -> tuple["StudyDescription", str]:
    """An earlier study's text, with the new name if one is given, and its address."""
    from sottovoce.config.study_file import parse_study, renamed
    from sottovoce.node.coordinator.serving import registry_of

    study_id, described = _chosen(place, old)
    again = parse_study(renamed(described.text, name)) if name else described
    return again, registry_of(place, study_id).address


def _chosen(
    place: "CoordinatorPlace", name: str | None, *, option: str = ""
) -> tuple[str, "StudyDescription"]:
    """The chosen study of this coordinator, and its description."""
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.coordinator.serving import registries
    from sottovoce.node.site.site_folder import choose

    described_by_id = {registry.id: parse_study(registry.text) for registry in registries(place)}
    if not described_by_id:
        raise InputError(
            "study: this site runs no study",
            hints=(ShellCommand("sottovoce study create study.toml"), "or give another --home"),
        )
    titles = {study: described.plan.name for study, described in described_by_id.items()}
    chosen = choose(name, titles, option=option)
    return chosen, described_by_id[chosen]


def _sure(question: str, *, yes: bool) -> None:
    from sottovoce.cli.consent import asked

    if not asked(question, yes=yes):
        screen.say("nothing was changed", err=True)
        raise typer.Exit(REFUSED)


def _table(rows: list[dict[str, str]], *, as_json: bool, nothing: str) -> None:
    if as_json:
        screen.say_json(rows)
    elif not rows:
        screen.say(nothing)
    else:
        screen.table(tuple(rows[0]), (tuple(row.values()) for row in rows))
