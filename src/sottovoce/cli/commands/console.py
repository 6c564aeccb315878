"""`sottovoce console`: a web page at this machine for the person who sits at it."""

from typing import Annotated

import typer

from sottovoce.cli import screen
from sottovoce.cli.home import AsJson, Home, PassphraseFile, open_home


def console(
    home: Home = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="A loopback address.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="0 takes any that is free.")
    ] = 8450,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Only show; no form does anything.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Whether to open a browser.")
    ] = True,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Show this site's studies in a browser, on this machine alone, until stopped.

    For a coordinator: who is there, who is waited for, how good the model is. For a site: the
    card, consent, approval of messages, progress, evaluation, files to label. For the officer:
    what left, to whom. The printed link opens it once; nobody without it sees anything.

    \b
    Examples:
      sottovoce console
      sottovoce console --read-only --no-browser --port 0
    """
    import asyncio
    import json
    import webbrowser

    from sottovoce.cli.running import run
    from sottovoce.console.guard import ConsoleGuard
    from sottovoce.console.server import ConsolePages, check_loopback, run_console
    from sottovoce.console.work import ConsoleWork
    from sottovoce.entropy import SystemEntropy

    check_loopback(host)
    site = open_home(home, passphrase_file)

    def told(link: str) -> None:
        if as_json:
            screen.say(json.dumps({"link": link}))
            return
        screen.say(f"open this link, which is good once and for ten minutes:\n\n    {link}\n")
        if open_browser:
            webbrowser.open(link)

    async def serve() -> None:
        shown = ConsolePages(ConsoleWork(site), ConsoleGuard(SystemEntropy(), read_only=read_only))
        await run_console(shown, host=host, port=port, told=told, until=asyncio.Event())

    run(serve(), afterwards="`sottovoce console` again shows the same")
