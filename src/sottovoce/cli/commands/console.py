"""`sottovoce console`: a web page on this machine for the person who uses it."""

from pathlib import Path
from typing import Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, open_home
from sottovoce.cli.terminal import screen
from sottovoce.hints import Hint, ShellCommand


def console(
    home: Home = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="A loopback address.")
    ] = "127.0.0.1",
    listen: Annotated[
        str | None,
        typer.Option(
            "--listen",
            metavar="ADDRESS",
            help="Address for others of your organisation, over TLS and with --access-file.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="HOST", help="Name of this machine for others."),
    ] = None,
    access_file: Annotated[
        Path | None,
        typer.Option(
            "--access-file",
            metavar="FILE",
            help="The passphrase that --listen asks for, in a file (mode 600).",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes any free port.")
    ] = 8450,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only show; forms are disabled.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Show this site's studies in a browser until stopped; by default on this machine alone.

    For a coordinator: who is there, who is waited for, how good the model is. For a site: the
    card, consent, approval of messages, progress, evaluation, files to label. For the officer:
    what left, to whom. The printed link opens it once; nobody without it sees anything.

    \b
    Examples:
      sottovoce console
      sottovoce console --read-only --no-browser --port 0
      sottovoce console --listen 0.0.0.0 --access-file passphrase
    """
    import asyncio
    import webbrowser

    from sottovoce.cli.running import run
    from sottovoce.console.guard import ConsoleGuard
    from sottovoce.console.listening import ConsoleAddress, access_of, check_loopback, console_tls
    from sottovoce.console.server import ConsolePages, run_console
    from sottovoce.console.work import ConsoleWork
    from sottovoce.entropy import SystemEntropy

    check_loopback(host)
    access = access_of(access_file) if listen is not None else None
    site = open_home(home, passphrase_file)
    at, shown_certificate = ConsoleAddress(host, port), ""
    if listen is not None:
        tls, shown_certificate = console_tls(site.home)
        at = ConsoleAddress(listen, port, tls, (name,) if name else ())

    def announce(link: str) -> None:
        if as_json:
            screen.say_json({"link": link})
        elif shown_certificate:
            screen.say(f"others open this link, and type the passphrase:\n\n    {link}\n")
            screen.say(f"SHA-256 fingerprint of its certificate:\n    {shown_certificate}")
        else:
            screen.say(f"open this link; it works once, for ten minutes:\n\n    {link}\n")
            if open_browser:
                webbrowser.open(link)

    async def serve() -> None:
        guard = ConsoleGuard(SystemEntropy(), read_only=read_only, passphrase=access)
        shown = ConsolePages(ConsoleWork(site), guard)
        await run_console(shown, at=at, announce=announce, until=asyncio.Event())

    run(serve(), afterwards=Hint("run `", ShellCommand("sottovoce console"), "` to open it again"))
