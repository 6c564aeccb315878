"""`sottovoce backup` and `sottovoce restore`: a site's folder as one file, and back."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.home import AsJson, Home
from sottovoce.cli.terminal import screen


def backup(
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, e.g. home.tar.")],
    with_key: Annotated[
        bool,
        typer.Option("--with-key", help="Include the key that opens sealed files."),
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Copy this site's whole folder into one file.

    Stop `serve` and `join` first: a database that is in use is not copied. The key (storage.key) is
    left out by default; without it no copy can be used.

    \b
    Examples:
      sottovoce backup home.tar
      sottovoce backup /backup/home.tar --home /srv/sottovoce --with-key
    """
    from sottovoce.node.site.site_folder import home_folder
    from sottovoce.storage.backups import write_backup

    summary = write_backup(home_folder(home), out, with_key=with_key)
    key = "including storage.key" if summary.has_key else "without storage.key"
    done = f"{out}: {summary.files:,} files, {summary.size:,} bytes, {key}"
    screen.tell(done, {**asdict(summary), "out": str(out)}, as_json=as_json)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sottovoce backup` wrote.")],
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="FILE", help="The copy of storage.key that you kept."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Restore a copy of a site's folder to a place where there is no folder yet.

    Do not use the original folder any longer. A seat that sent something after the copy was made
    notices it at its next start, stops, and sends nothing.

    \b
    Examples:
      sottovoce restore home.tar --home /srv/sottovoce --key storage.key
    """
    from sottovoce.node.site.site_folder import home_folder
    from sottovoce.storage.backups import read_backup

    place = home_folder(home)
    summary = read_backup(file, place, key=key)
    if as_json:
        screen.say_json({**asdict(summary), "home": str(place)})
        return
    screen.say(f"{place}: {summary.files:,} files as they were at {summary.at}")
    screen.say("do not use the original folder any longer", err=True)
