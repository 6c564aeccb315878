"""`sottovoce assist`: work for others in a study, on numbers that this machine cannot read."""

from typing import Annotated

import typer

from sottovoce.cli import options
from sottovoce.cli.commands.join import Approve, InvitationLine, Joining, Yes
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal.log_file import LogFormat, LogLines, LogPath


def assist(
    invitation: InvitationLine = None,
    study: StudyName = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show the study card, ask nothing, send nothing."),
    ] = False,
    yes: Yes = False,
    approve: Approve = None,
    notify: options.Notify = None,
    log: LogPath = None,
    log_format: LogFormat = LogLines.TEXT,
    home: Home = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Work for others in a study, on numbers that this machine cannot read.

    For an organisation without documents: an intermediary, which builds the contribution of a peer
    from ciphertexts, an evaluator, or a dealer. An intermediary is done when the model is trained;
    a machine that queries need stays. After an interruption or a crash, `sottovoce assist` without
    an invitation continues.

    \b
    Exit codes: 0 finished, or ended by SIGTERM, 1 a mistake at this site,
    2 a wrong option, 3 another party's fault or the study was stopped,
    4 no consent, 130 interrupted.

    \b
    Examples:
      sottovoce assist sottovoce-1-mfra…
      sottovoce assist invitations/cloud --yes
    """
    from sottovoce.cli.approval_prompt import gate_name
    from sottovoce.cli.exit_states import check_goes_on
    from sottovoce.cli.invitation_prompt import check_seats, read_invitation

    gate_name(approve)
    given = None if invitation is None else read_invitation(invitation)
    site = open_home(home, passphrase_file)
    if given is not None:
        check_seats(site, given)
    joined_study = site.study(study) if given is None else site.accept(given)
    check_goes_on(joined_study)
    joining = Joining(site, joined_study, None, yes=yes, dry_run=dry_run, as_json=as_json)
    joining.run(approve=approve, stay=True, log=log, lines=log_format, notify=notify)
