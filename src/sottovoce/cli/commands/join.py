"""`sottovoce join`: take part in a study, from its card to its model."""

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.shell_words import placed
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.event_text import REFUSED
from sottovoce.cli.terminal.log_file import LogFile, LogFormat, LogLines, LogPath, time_warnings
from sottovoce.errors import InputError
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sottovoce.cli.notices import Notices
    from sottovoce.cli.source_choice import SourceChoice
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.config.study_file import StudyDescription
    from sottovoce.node.api import Consent, ConsentQuestion
    from sottovoce.node.events import Event, OnEvent
    from sottovoce.node.site.site_folder import JoinedStudy, Site
    from sottovoce.sources import Problems
    from sottovoce.text.documents import Document

_STAYS = (
    "this command keeps running, and waits for queries of the sites to compute for, until the "
    "coordinator closes the study"
)
_ASKS = (
    "; label files in another terminal: `",
    ShellCommand("sottovoce classify FILE --out labelled.csv"),
    "`",
)
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="SOURCE", help="This site's documents: a file or a folder."),
]
InvitationLine = Annotated[
    str | None,
    typer.Argument(
        metavar="[INVITATION]",
        help="The line from the coordinator, a file with it, or - to read it from standard "
        "input. Not needed to continue.",
    ),
]
Yes = Annotated[
    bool,
    typer.Option("--yes", help="Consent to what the study card says, without being asked."),
]
Approve = Annotated[
    str | None,
    typer.Option(
        "--approve",
        metavar="each|SCRIPT",
        help="Hold every outgoing message until a person or a program approves it.",
    ),
]


@options.grouped
def join(
    invitation: InvitationLine = None,
    data: Data = None,
    text: options.TextColumns = None,
    columns: options.ColumnFlags = options.ColumnFlags(),
    group: options.GroupColumn = None,
    file: options.FileFlags = options.FileFlags(),
    encoder: options.EncoderPlace = None,
    cluster: options.ClusterName = "local",
    study: StudyName = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the study card and sizes, ask nothing, send nothing."),
    ] = False,
    yes: Yes = False,
    approve: Approve = None,
    stay: Annotated[
        bool,
        typer.Option(
            "--stay/--no-stay",
            help="Whether a helper (member, evaluator, dealer) stays to serve queries.",
        ),
    ] = True,
    notify: options.Notify = None,
    log: LogPath = None,
    log_format: LogFormat = LogLines.TEXT,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Take part in a study: read its card, consent, and follow it until the model is trained.

    Before you consent, only a request for the study's description is sent; with --dry-run nothing
    else is sent at all. After an interruption or a crash, `sottovoce join` without an invitation
    continues, with the same documents.

    \b
    Exit codes: 0 finished, or ended by SIGTERM, 1 a mistake at this site,
    2 a wrong option, 3 another party's fault or the study was stopped,
    4 no consent, 130 interrupted.

    \b
    Examples:
      sottovoce join sottovoce-1-mfra… --data notes.csv --text note --label dx
      sottovoce join invitations/north --data notes.jsonl --label dx --dry-run
      sottovoce join sottovoce-1-mfra… --data corpus/ --format brat --yes
      sottovoce join --study urgency --approve each
    """
    from sottovoce.cli.approval_prompt import gate_name
    from sottovoce.cli.exit_states import check_goes_on
    from sottovoce.cli.invitation_prompt import check_seats, read_invitation
    from sottovoce.cli.source_choice import SourceChoice

    # Mistakes at this site are reported first: before a passphrase is asked for or anything is
    # sent.
    choice = None
    if data is not None:
        choice = SourceChoice.of(
            str(data), text, group, columns=columns, file=file, encoder=encoder
        )
        choice.check()
        choice = choice.absolute()
    elif invitation is None:
        _refuse_columns_alone(text, columns.label)
    gate_name(approve)
    given = None if invitation is None else read_invitation(invitation)
    site = open_home(home, passphrase_file)
    if given is not None:
        check_seats(site, given)
    joined_study = site.study(study) if given is None else site.accept(given)
    check_goes_on(joined_study)
    if not as_json:
        # The imports below take a second, so say first what is being done.
        invited = joined_study.invitation
        who = f"{invited.short_name} is invited by {invited.address}"
        screen.say(f"{invited.title}: {who}", err=True)

    from sottovoce.cli.terminal.progress import PartLines
    from sottovoce.clusters import open_cluster
    from sottovoce.text.chunks import working_with

    joining = Joining(site, joined_study, choice, yes=yes, dry_run=dry_run, as_json=as_json)
    progress = None if as_json else PartLines()
    with open_cluster(cluster, progress=progress) as workers, working_with(workers):
        joining.run(approve=approve, stay=stay, log=log, lines=log_format, notify=notify)


class Joining:
    """One run of the command."""

    def __init__(
        self,
        site: "Site",
        study: "JoinedStudy",
        choice: "SourceChoice | None",
        *,
        yes: bool,
        dry_run: bool,
        as_json: bool,
    ) -> None:
        from sottovoce.cli.source_choice import recall

        self._site = site
        self._study = study
        self._fresh = choice is not None
        self._choice = choice or recall(site, study)
        self._yes = yes
        self._dry_run = dry_run
        self._as_json = as_json
        self._left_out: dict[str, int] = {}
        self._checked: frozenset[str] = frozenset()
        self._notices: Notices | None = None

    def run(
        self,
        *,
        approve: str | None,
        stay: bool,
        log: Path | None,
        lines: LogLines,
        notify: str | None,
    ) -> None:
        """Card, documents, consent, and then the study."""
        from sottovoce.cli.consent import asked, show_card
        from sottovoce.cli.notices import Notices
        from sottovoce.cli.source_choice import check_brings_text, has_begun, remember
        from sottovoce.node.site.shown_card import card_of

        described = self._described()
        seats = self._study.invitation.seats
        peers = [
            seat.name
            for invited in described.organisations
            for seat in invited.seats
            if seat.role == "peer"
        ]
        check_brings_text(seats, peers, self._choice)
        begun = has_begun(self._study)
        if not self._as_json and (self._dry_run or not begun):
            organisation = self._study.organisation(described).organisation
            show_card(card_of(described, organisation), pages=not self._yes)
        self._site.policy.check(described.rehearsed())
        mine = sorted(set(peers) & set(seats))
        documents = self._documents(described, () if begun else mine)
        if self._dry_run:
            self._rehearse(described, len(documents))
            return
        if not begun and not asked("Take part as the card describes it?", yes=self._yes):
            screen.say(
                "not joined: only the request for the study's description was sent", err=True
            )
            raise typer.Exit(REFUSED)
        if self._fresh and self._choice is not None:
            remember(self._site, self._study, self._choice)
        with ExitStack() as stack:
            file = stack.enter_context(LogFile(log, lines)) if log is not None else None
            time_warnings()
            if notify is not None:
                self._notices = stack.enter_context(Notices(notify))
            self._follow(described, documents, approve=approve, stay=stay, log=file)

    def _documents(
        self, described: "StudyDescription", peers: "Sequence[str]"
    ) -> "Sequence[Document]":
        """Read and check this site's documents, and show how many there are."""
        from sottovoce.study.rehearsal import check_documents

        if self._choice is None:
            return ()
        mine = self._study.organisation(described).peer
        documents = self._choice.read(described.plan, peer=mine, report=self._told_losses)
        said = [f"{self._choice.data}: {len(documents):,} documents"]
        for peer in peers:
            rehearsed = check_documents(described.rehearsed(), peer, documents)
            said.extend(f"{peer}: {line}" for line in rehearsed.sentences(described.plan))
        self._checked = frozenset(peers)
        for line in () if self._as_json else said:
            screen.say(line, err=True)
        return documents

    def _told_losses(self, problems: "Problems") -> None:
        """Warn about rows that are skipped, and suggest a label map."""
        assert self._choice is not None
        self._left_out = {str(kind): count for kind, count in problems.counts.most_common()}
        if not self._as_json:
            for line in problems.sentences():
                screen.say(f"{self._choice.data}: {line}", err=True)

    @property
    def _again(self) -> ShellCommand:
        """The command that continues: `join`, or `assist` for a site without documents."""
        command = "join" if self._choice is not None else "assist"
        return ShellCommand(f"sottovoce {command} --study {self._study.id}")

    def _rehearse(self, described: "StudyDescription", documents: int) -> None:
        """Show what would be sent, and send nothing."""
        if not self._as_json:
            screen.say("dry run: only the request for the study's description was sent")
            return
        from sottovoce.cli.consent import card_facts
        from sottovoce.node.site.shown_card import card_of

        organisation = self._study.organisation(described).organisation
        facts = card_facts(described, card_of(described, organisation))
        mine: dict[str, object] = {
            "seats": list(self._study.invitation.seats),
            "documents": documents,
        }
        mine["left_out"] = self._left_out
        screen.say_json({"study": self._study.id, **mine, **facts})

    def _described(self) -> "StudyDescription":
        """The study's description: from this disk, or else from the coordinator."""
        from sottovoce.cli.running import run
        from sottovoce.node.site.site_study import describe

        known = self._study.description
        if known is not None:
            return known
        self._study.invitation.check_time(datetime.now(UTC))

        asking = f"asking {self._study.invitation.address} what the study is"
        with screen.console(err=True).status(asking):
            text = run(describe(self._study.membership), afterwards="nothing was begun")
        return self._study.keep_text(text)

    def _closed(self) -> bool:
        """Whether this site stayed until the study was closed."""
        from sottovoce.course.phases import Phase
        from sottovoce.node.site.seat_status import status

        return any(seat.phase == Phase.CLOSED for seat in status(self._study.membership))

    def _follow(
        self,
        described: "StudyDescription",
        documents: "Sequence[Document]",
        *,
        approve: str | None,
        stay: bool,
        log: "LogFile | None",
    ) -> None:
        from sottovoce.cli.approval_prompt import gate_of
        from sottovoce.cli.exit_states import stopped, withdrawn
        from sottovoce.cli.running import run
        from sottovoce.cli.source_choice import has_begun, mark_begun
        from sottovoce.cli.terminal.watching import Watch
        from sottovoce.config.study_file import parse_study
        from sottovoce.errors import StoppedError, WithdrawnError
        from sottovoce.node.api import JoinOptions
        from sottovoce.node.site.joining import join as follow
        from sottovoce.study.card.stage_bytes import stage_bytes

        if not (has_begun(self._study) or self._as_json):
            screen.say(
                placed(
                    "the study begins when everybody has joined; you may interrupt this command, "
                    "and `",
                    self._again,
                    "` continues",
                ),
                err=True,
            )
        mark_begun(self._study)
        waits = _stays(described, self._study.invitation.seats) if stay else ""
        source = None if self._choice is None else lambda: documents
        expected = stage_bytes(described.rehearsed())
        with Watch(as_json=self._as_json, ends=False, expected=expected, log=log) as watch:
            asked = JoinOptions(
                parse_study,
                self._consent(watch),
                policy=self._site.policy,
                gate=gate_of(approve, watch),
                on_event=self._heard_by(watch, waits),
                stay=stay,
                checked=self._checked,
            )
            try:
                joined = run(
                    follow(self._study.membership, source, options=asked),
                    afterwards=Hint("`", self._again, "` continues"),
                )
            except StoppedError as error:
                raise stopped(self._study, str(error)) from None
            except WithdrawnError as error:
                raise withdrawn(self._study, error.message) from None
        if self._as_json:
            model = None if joined.model is None else str(joined.model)
            screen.say_json({"event": "result", "study": self._study.id, "model": model})
        elif joined.model is not None and not self._closed():
            screen.say(placed("next: ", ShellCommand("sottovoce classify FILE --out labelled.csv")))

    def _heard_by(self, watch: "Watch", stays: str) -> "OnEvent":
        """Show every event, send notices of those that need a person, and say why it `stays`."""
        from sottovoce.course.news import StudyFinished

        notices, finished = self._notices, set[str]()

        def on_event(event: "Event") -> None:
            watch.on_event(event)
            if notices is not None:
                notices.on_event(event)
            if isinstance(event, StudyFinished):
                finished.add(event.seat)
                if stays and finished == set(self._study.invitation.seats):
                    watch.say(placed(stays))

        return on_event

    def _consent(self, watch: "Watch") -> "Consent":
        """Ask whether the words are the same at every site, once everybody's keys are known."""
        import asyncio
        import time

        from sottovoce.cli.consent import asked, show_roster
        from sottovoce.node.api import ConsentBy
        from sottovoce.node.site.shown_card import keep_consent

        def answer(question: "ConsentQuestion") -> ConsentBy | None:
            watch.paused()
            if not self._as_json:
                show_roster(question)
            agreed = asked("Do the other sites have the same words?", yes=self._yes)
            person = _person()
            if agreed:
                keep_consent(self._study.folder, question, by=person, at=time.time())
            watch.resumed()
            return ConsentBy(person, compared=not self._yes) if agreed else None

        async def consent(question: "ConsentQuestion") -> bool | ConsentBy:
            return await asyncio.to_thread(answer, question) or False

        return consent


def _stays(described: "StudyDescription", seats: "Sequence[str]") -> str:
    """Why the command of a site with these seats does not end with the training; or nothing."""
    from sottovoce.node.seat.query_seat import stays

    study = described.rehearsed()
    if not any(stays(study, seat) for seat in seats):
        return ""
    return Hint(_STAYS, *(_ASKS if set(seats) & set(study.roster.peers) else ()))


def _person() -> str:
    """The person at this machine, by account name."""
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "an account without a name on this machine"


def _refuse_columns_alone(*columns: list[str] | None) -> None:
    """A site that continues reads the same columns as before; others would be ignored."""
    if any(columns):
        raise InputError(
            "--text, --label: these need --data; a study continues with the documents that it "
            "began with",
            hints=("leave them out to continue",),
        )
