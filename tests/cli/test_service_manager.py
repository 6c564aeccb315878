"""What a service manager does with a server: ends it, rotates its log, reads when things were."""

import asyncio
import logging
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sottovoce.cli.log_file import LogFile
from sottovoce.cli.running import run
from sottovoce.cli.watching import Watch
from sottovoce.errors import InputError
from sottovoce.node import events

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
ENROLLED = events.Enrolled("s-1", "north")
_SERVING = """
import asyncio, sys
from pathlib import Path
import typer
from sottovoce import cli
from sottovoce.cli.log_file import LogFile
from sottovoce.cli.running import run

app = typer.Typer()

@app.command()
def waits(log: str) -> None:
    async def forever() -> None:
        print("ready", flush=True)
        await asyncio.Event().wait()
    with LogFile(Path(log)) as file:
        run(forever(), afterwards="again", log=file)

sys.exit(cli.run(app, name="waits"))
"""


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_a_service_manager_that_ends_a_program_finds_nothing_failed(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _SERVING, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stdout is not None
        assert serving.stdout.readline() == "ready\n"
        # A hang-up only opens the log anew; without a log to open it would end the program.
        serving.send_signal(signal.SIGHUP)
        serving.send_signal(number)
        _, told = serving.communicate(timeout=300)
    assert serving.returncode == code, told
    assert "nothing is lost: again" in told


def test_a_log_that_was_rotated_goes_on_in_a_new_file(tmp_path: Path) -> None:
    path, old = tmp_path / "serve.log", tmp_path / "serve.log.1"

    async def serving(watch: Watch) -> None:
        watch.on_event(ENROLLED)
        path.rename(old)
        watch.on_event(ENROLLED)
        os.kill(os.getpid(), signal.SIGHUP)
        while not path.exists():  # noqa: ASYNC110 - a file
            await asyncio.sleep(0.01)
        watch.on_event(ENROLLED)

    with LogFile(path) as log, Watch(quiet=True, log=log) as watch:
        run(serving(watch), afterwards="again", log=log)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(old.read_text().splitlines()) == 2
    for line in (*old.read_text().splitlines(), *path.read_text().splitlines()):
        assert re.fullmatch(STAMP + "north: enrolled", line), line


def test_warnings_stand_in_the_log_with_their_times(tmp_path: Path) -> None:
    path = tmp_path / "serve.log"
    with LogFile(path):
        logging.getLogger("sottovoce.transport").warning("no connection accepted: %s", "OSError")
    assert re.fullmatch(STAMP + "no connection accepted: OSError\n", path.read_text())


def test_a_log_that_cannot_be_written_is_named_before_anything_begins(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written as a log"):
        LogFile(tmp_path / "nowhere" / "serve.log")


def test_a_log_on_a_full_disk_stops_nothing() -> None:
    with LogFile(Path("/dev/full")) as log:
        log.line("lost")
