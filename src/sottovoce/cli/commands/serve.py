"""`sottovoce serve`: the coordinator's one port, for all its studies."""

from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from sottovoce.cli.home import AsJson, Home, PassphraseFile, open_home
from sottovoce.cli.options import Notify
from sottovoce.cli.terminal import screen
from sottovoce.cli.terminal.log_file import LogFile, LogFormat, LogLines, LogPath, time_warnings
from sottovoce.hints import Hint, ShellCommand

if TYPE_CHECKING:
    from sottovoce.node.events import Event, OnEvent
    from sottovoce.node.memberships import CoordinatorPlace

ANYWHERE = "0.0.0.0"  # noqa: S104 - peers are elsewhere; TLS, pins and signatures keep others out


def serve(
    home: Home = None,
    host: Annotated[
        str | None,
        typer.Option(
            "--host",
            metavar="ADDRESS",
            help="Address to listen on; by default all, or this machine alone if studies name no "
            "other.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port to listen on; by default the one that studies name.",
        ),
    ] = None,
    monitor: Annotated[
        str | None,
        typer.Option(
            "--monitor",
            metavar="HOST:PORT",
            help="Also answer /healthz, /readyz and /metrics there, without TLS; counts only.",
        ),
    ] = None,
    push_metrics: Annotated[
        str | None,
        typer.Option(
            "--push-metrics",
            metavar="URL",
            help="Send the metrics there every 30 seconds (PUT), where nobody may call in.",
        ),
    ] = None,
    database: Annotated[
        str,
        typer.Option(
            "--database",
            metavar="ADDRESS",
            help="Keep waiting letters in this PostgreSQL database (extra `postgres`) instead of "
            "the studies' folders; put its password into a passfile, not into this address.",
        ),
    ] = "",
    stand_by: Annotated[
        bool,
        typer.Option(
            "--stand-by", help="Wait while another process serves this home, and follow it."
        ),
    ] = False,
    notify: Notify = None,
    log: LogPath = None,
    log_format: LogFormat = LogLines.TEXT,
    passphrase_file: PassphraseFile = None,
    as_json: AsJson = False,
) -> None:
    """Serve all studies of this coordinator over HTTPS, until stopped.

    Peers only ever connect to this port; nothing connects to them. Everything that arrives is
    on disk before it is acknowledged: after a crash or Ctrl-C, run it again and it continues. A
    service manager ends it with SIGTERM (exit code 0).

    \b
    Examples:
      sottovoce serve
      sottovoce serve --log serve.log --log-format json
      sottovoce serve --monitor 127.0.0.1:9464
      sottovoce serve --host 127.0.0.1 --port 9443
      sottovoce serve --database postgresql://letters@db.example.org/letters
      sottovoce serve --stand-by --monitor 127.0.0.1:9465
    """
    from dataclasses import replace

    from sottovoce.cli.notices import Notices
    from sottovoce.cli.running import run
    from sottovoce.cli.terminal.watching import Watch

    site = open_home(home, passphrase_file)
    place = site.coordinator_place()
    place = replace(place, host=host or _host(place), port=_port(place, port), database=database)
    with ExitStack() as stack:
        file = stack.enter_context(LogFile(log, log_format)) if log is not None else None
        time_warnings()
        named = StudyNames(place)
        watch = stack.enter_context(Watch(as_json=as_json, study_name=named, log=file))
        hearers: list[OnEvent] = [watch.on_event, _settle]
        if notify is not None:
            hearers.append(stack.enter_context(Notices(notify)).on_event)
        run(
            _served(place, hearers, (monitor, push_metrics), stand_by=stand_by),
            afterwards=Hint("run `", ShellCommand("sottovoce serve"), "` again to continue"),
        )


def _settle(event: "Event") -> None:
    """Leave what was imported out of garbage collections, for which every letter would wait."""
    import gc

    from sottovoce.node.events import Listening

    if isinstance(event, Listening):
        gc.collect()
        gc.freeze()


class StudyNames:
    """The names of a coordinator's studies; two of one name have their ids beside it."""

    def __init__(self, place: "CoordinatorPlace") -> None:
        """Look them up at `place`, as they come."""
        self._place = place
        self._names: dict[str, str] = {}

    def __call__(self, study: str) -> str:
        """The name of a study, by its id."""
        from sottovoce.node.coordinator.study_statuses import studies

        if study not in self._names:
            self._names = {known.study: known.name for known in studies(self._place)}
        name = self._names.setdefault(study, study)
        return name if [*self._names.values()].count(name) == 1 else f"{name} ({study})"


async def _served(
    place: "CoordinatorPlace",
    hearers: "list[OnEvent]",
    watched: tuple[str | None, str | None],
    *,
    stand_by: bool,
) -> None:
    """The coordinator, and the monitoring endpoint for the operator's tools."""
    from sottovoce.node.coordinator.monitor import Monitor, address_of
    from sottovoce.node.coordinator.serving import run_coordinator, serving_alone

    def on_event(event: "Event") -> None:
        for hear in hearers:
            hear(event)

    async with AsyncExitStack() as stack:
        watching, (monitor, push) = Monitor(place), watched
        hearers.append(watching.on_event)
        if monitor is not None:
            await stack.enter_async_context(watching.serving(*address_of(monitor)))
        if push is not None:
            await stack.enter_async_context(watching.pushing(push))
        await stack.enter_async_context(serving_alone(place, stand_by=stand_by, on_event=on_event))
        await run_coordinator(place, on_event=on_event)


def _host(place: "CoordinatorPlace") -> str:
    """Every address, unless all invitations name this machine itself, as those of a trial do."""
    from urllib.parse import urlsplit

    from sottovoce.node.coordinator.serving import registries

    named = {urlsplit(registry.address).hostname for registry in registries(place)}
    return "127.0.0.1" if named and named <= {"127.0.0.1", "localhost"} else ANYWHERE


def _port(place: "CoordinatorPlace", given: int | None) -> int:
    """The port: as given, or else as the invitations say; a difference is a warning."""
    from urllib.parse import urlsplit

    from sottovoce.cli.invitation_files import PORT
    from sottovoce.node.coordinator.serving import registries

    named = {
        registry.id: urlsplit(registry.address).port or 443
        for registry in registries(place)
        if registry.address
    }
    ports = set(named.values())
    port = given if given is not None else ports.pop() if len(ports) == 1 else PORT
    for study, wanted in named.items():
        if port and wanted != port:
            screen.say(
                f"warning: the invitations to {study} name port {wanted}, this is {port}: peers "
                f"reach it only if something forwards that port",
                err=True,
            )
    return port
