"""`sottovoce serve`: the coordinator's one port, for all its studies."""

from typing import Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, open_home

ANYWHERE = "0.0.0.0"  # noqa: S104 - peers are elsewhere; TLS, pins and signatures keep others out


def serve(
    home: Home = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")
    ] = ANYWHERE,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The one port.")] = 8443,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve all studies of this coordinator over HTTPS, until stopped.

    Peers only ever connect to this port; nothing connects to them. Everything that arrives is
    on disk before it is acknowledged: after a crash or Ctrl-C, run it again and it goes on.

    \b
    Examples:
      sottovoce serve
      sottovoce serve --host 127.0.0.1 --port 9443
    """
    from dataclasses import replace

    from sottovoce.cli.running import run
    from sottovoce.cli.watching import Watch
    from sottovoce.service.coordinator import run_coordinator

    site = open_home(home, passphrase_file)
    office = replace(site.office(), host=host, port=port)
    with Watch(as_json=as_json) as watch:
        run(
            run_coordinator(office, on_event=watch.on_event),
            afterwards="`sottovoce serve` again goes on",
        )
