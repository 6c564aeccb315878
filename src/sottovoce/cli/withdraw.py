"""`sottovoce withdraw`: take part back, as far as mathematics allows."""

from typing import Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, StudyName, open_home
from sottovoce.cli.telling import REFUSED


def withdraw(
    study: StudyName = None,
    home: Home = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Take part back, as far as mathematics allows, and say how far that is.

    Nothing more is sent, and this site's journals and its part of the model are deleted.
    What is in a sum cannot be taken out of it, which is what protected it: after the
    dictionary its word counts stay, after the training its contribution.

    \b
    Examples:
      sottovoce withdraw
      sottovoce withdraw --study urgency --yes
    """
    from sottovoce.cli.consent import asked
    from sottovoce.cli.running import run
    from sottovoce.cli.watching import Watch
    from sottovoce.service.api import AskOptions
    from sottovoce.service.leaving import withdraw as leave
    from sottovoce.service.study_file import parse_study

    site = open_home(home, passphrase_file)
    found = site.study(study)
    title = found.invitation.title
    if not asked(f"Withdraw from {title!r}? This cannot be undone.", yes=yes):
        typer.echo("nothing was changed", err=True)
        raise typer.Exit(REFUSED)
    with Watch(quiet=as_json) as watch:
        came = run(
            leave(found.membership, options=AskOptions(parse_study, on_event=watch.on_event)),
            afterwards="`sottovoce withdraw` again goes on",
        )
    if as_json:
        import json

        typer.echo(json.dumps({"study": found.id, "in_sum": came.in_sum, "says": came.says}))
    else:
        typer.echo(came.says)
