"""`python -m benchmarks all` runs every benchmark, and passes over one that lacks its data."""

import typer
from typer.testing import CliRunner

from benchmarks import commands
from sottovoce.errors import InputError


def test_every_command_runs_once_and_a_missing_folder_stops_nothing(monkeypatch) -> None:
    app = typer.Typer()
    ran = []

    @app.command()
    def first() -> None:
        ran.append("first")

    @app.command()
    def lacking() -> None:
        raise InputError("no folder of real data")

    @app.command("third-one")
    def third() -> None:
        ran.append("third")

    monkeypatch.setattr(commands, "app", app)
    shell = typer.Typer()
    shell.command()(commands.everything)
    done = CliRunner().invoke(shell)
    assert done.exit_code == 0
    assert ran == ["first", "third"]
    assert "bench third-one" in done.output
    assert "passed over: no folder of real data" in done.output
