"""`sottovoce serve`: the coordinator's one port, for all its studies."""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli import screen
from sottovoce.cli.home import AsJson, Home, PassphraseFile, open_home
from sottovoce.cli.log_file import LogFile, LogPath, time_warnings

if TYPE_CHECKING:
    from sottovoce.node.api import CoordinatorPlace

ANYWHERE = "0.0.0.0"  # noqa: S104 - peers are elsewhere; TLS, pins and signatures keep others out


def serve(
    home: Home = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")
    ] = ANYWHERE,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="The one port; unless told, the one that studies name."
        ),
    ] = None,
    log: LogPath = None,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve all studies of this coordinator over HTTPS, until stopped.

    Peers only ever connect to this port; nothing connects to them. Everything that arrives is
    on disk before it is acknowledged: after a crash or Ctrl-C, run it again and it goes on. A
    service manager ends it with SIGTERM (exit code 0).

    \b
    Examples:
      sottovoce serve
      sottovoce serve --log serve.log
      sottovoce serve --host 127.0.0.1 --port 9443
    """
    from dataclasses import replace

    from sottovoce.cli.running import run
    from sottovoce.cli.watching import Watch
    from sottovoce.node.coordinator.serving import run_coordinator

    site = open_home(home, passphrase_file)
    office = replace(site.office(), host=host, port=_port(site.office(), port))
    with ExitStack() as stack:
        file = stack.enter_context(LogFile(log)) if log is not None else None
        time_warnings()
        watch = stack.enter_context(Watch(as_json=as_json, names_study=True, log=file))
        run(
            run_coordinator(office, on_event=watch.on_event),
            afterwards="`sottovoce serve` again goes on",
            log=file,
        )


def _port(office: "CoordinatorPlace", given: int | None) -> int:
    """Where to listen: as told, else where the invitations say; a difference is said aloud."""
    from urllib.parse import urlsplit

    from sottovoce.cli.invitation_files import PORT
    from sottovoce.node.coordinator.serving import registries

    named = {
        registry.id: urlsplit(registry.address).port or 443
        for registry in registries(office)
        if registry.address
    }
    ports = set(named.values())
    port = given if given is not None else ports.pop() if len(ports) == 1 else PORT
    for study, wanted in named.items():
        if port and wanted != port:
            screen.say(
                f"warning: the invitations to {study} name port {wanted}, this is {port}: they "
                "arrive only if something passes them on",
                err=True,
            )
    return port
