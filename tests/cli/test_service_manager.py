"""What a service manager does with a server: ends it, rotates its log, reads when things were."""

import asyncio
import gc
import logging
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from sottovoce.cli.commands.serve import _settle
from sottovoce.cli.running import run
from sottovoce.cli.terminal.log_file import LogFile
from sottovoce.cli.terminal.watching import Watch
from sottovoce.errors import InputError
from sottovoce.node import events

STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ "
ENROLLED = events.Enrolled("s-1", "north")
_SERVING = """
import asyncio, sys
from pathlib import Path
import typer
from sottovoce import cli
from sottovoce.cli.terminal.log_file import LogFile
from sottovoce.cli.running import run

app = typer.Typer()

@app.command()
def waits(log: str) -> None:
    async def forever() -> None:
        print("ready", flush=True)
        await asyncio.Event().wait()
    with LogFile(Path(log)):
        run(forever(), afterwards="again")

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
        _, output = serving.communicate(timeout=300)
    assert serving.returncode == code, output
    assert "nothing is lost: again" in output


# Sends itself the signal whenever it loads a module of ours: at every step of its start.
_HUNG_UP = """
import os, signal, sys
# Whoever started the tests may ignore the signal, and children inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
class HangUp:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("sottovoce."):
            os.kill(os.getpid(), signal.SIGHUP)
from sottovoce.cli.process import run_process
sys.meta_path.insert(0, HangUp())
run_process()
"""


@pytest.mark.parametrize(("more", "code"), [(["--log", "serve.log"], 1), ([], -signal.SIGHUP)])
def test_a_hang_up_while_a_server_starts_ends_it_only_without_a_log(
    tmp_path: Path, more: list[str], code: int
) -> None:
    """There is no such address, and it lives to say so."""
    command = ["serve", "--home", "home", "--host", "192.0.2.1", *more]
    started = subprocess.run(
        [sys.executable, "-c", _HUNG_UP, *command], cwd=tmp_path, capture_output=True, check=False
    )
    assert started.returncode == code, started.stderr


# The log is renamed, and the signal comes, before the process handles it.
_RENAMED = """
import os, signal
from pathlib import Path
from sottovoce.cli.hangups import hold_hangups
from sottovoce.cli.terminal.log_file import LogFile
hold_hangups()
opened = LogFile._opened
def renamed(log):
    descriptor = opened(log)
    if not Path("old").exists():
        Path("log").rename("old")
        os.kill(os.getpid(), signal.SIGHUP)
    return descriptor
LogFile._opened = renamed
with LogFile(Path("log")) as log:
    log.line("begins")
"""


def test_a_hang_up_that_came_before_the_log_was_open_opens_it_anew(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _RENAMED], cwd=tmp_path, check=True)
    assert (tmp_path / "old").read_text() == ""
    assert (tmp_path / "log").read_text().endswith("begins\n")


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
        run(serving(watch), afterwards="again")
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


def test_a_server_that_listens_leaves_its_modules_out_of_garbage_collections() -> None:
    before = gc.get_freeze_count()
    try:
        _settle(ENROLLED)
        assert gc.get_freeze_count() == before
        _settle(events.Listening("https://127.0.0.1:8443", bytes(32), ()))
        assert gc.get_freeze_count() > before + 1000
    finally:
        gc.unfreeze()
