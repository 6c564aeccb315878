"""`sottovoce withdraw`: withdraw this site from a study."""

import typer

from sottovoce.cli import options
from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.event_text import REFUSED
from sottovoce.hints import Hint, ShellCommand


def withdraw(
    study: StudyName = None,
    home: Home = None,
    yes: options.Unasked = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Withdraw this site from a study; what was already added up stays.

    Nothing more is sent, and this site's journals and its part of the model are deleted.
    A sum cannot be undone: after the dictionary stage this site's word counts stay in it, after the
    training its contribution.

    \b
    Examples:
      sottovoce withdraw
      sottovoce withdraw --study urgency --yes
    """
    from sottovoce.cli.consent import asked
    from sottovoce.cli.running import run
    from sottovoce.cli.terminal.watching import Watch
    from sottovoce.config.study_file import parse_study
    from sottovoce.node.api import AskOptions
    from sottovoce.node.site.leaving import withdraw as leave

    site = open_home(home, passphrase_file)
    joined_study = site.study(study)
    title = joined_study.invitation.title
    if not asked(f"Withdraw from {title!r}? This cannot be undone.", yes=yes):
        screen.say("nothing was changed", err=True)
        raise typer.Exit(REFUSED)
    with Watch(quiet=as_json) as watch:
        came = run(
            leave(
                joined_study.membership, options=AskOptions(parse_study, on_event=watch.on_event)
            ),
            afterwards=Hint("run `", ShellCommand("sottovoce withdraw"), "` again to continue"),
        )
    facts = {"study": joined_study.id, "in_sum": came.in_sum, "says": came.says}
    screen.tell(came.says, facts, as_json=as_json)
