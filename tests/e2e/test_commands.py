"""The commands themselves, with keys of full size: every process killed once with -9."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from harness.processes.balancer import Balancer
from harness.processes.machines import free_port
from harness.processes.postgres import postgres_server
from harness.studies import notes

SITES = ("north", "harbour", "valley")
TEXT = """
[study]
name = "urgency of notes"
coordinator = "Institute"
approval = "none needed: made up"
labels = ["routine", "urgent"]
features = 512
query_budget = 4000

[peers]
north = "Northfield Hospital"
harbour = "Harbour Clinic"
valley = "Valley Practice"

[roles]
evaluator = "north"
dealer = "harbour"

[deadlines]
enrolment = "5 minutes"
stage = "1 minute"
"""


class Commands:
    """Homes of all sites in one folder, and the commands that run there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = free_port()
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.starts = 0

    def run(self, site: str, *words: str) -> Any:
        done = subprocess.run(
            self._command(site, words), cwd=self.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def start(self, site: str, *words: str) -> None:
        self.starts += 1
        log = self._log(site).open("ab")
        with log, (self.root / f"{site}.err").open("ab") as errors:
            self.running[site] = subprocess.Popen(
                self._command(site, (*words, "--json")), cwd=self.root, stdout=log, stderr=errors
            )

    def until(self, site: str, event: str, *, seconds: float = 240.0, **like: Any) -> None:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for line in self._log(site).read_text().splitlines():
                facts = json.loads(line) if line.endswith("}") else {"event": ""}
                if facts["event"] == event and like.items() <= facts.items():
                    return
            time.sleep(0.05)
        raise AssertionError((site, event, (self.root / f"{site}.err").read_text()))

    def kill(self, site: str) -> None:
        self.running[site].send_signal(signal.SIGKILL)
        self.running[site].wait()

    def end(self) -> None:
        for site in self.running:
            self.kill(site)

    def _log(self, site: str) -> Path:
        return self.root / f"{site}.jsonl"

    def _command(self, site: str, words: tuple[str, ...]) -> list[str]:
        home = () if "--home" in words else ("--home", str(self.root / site))
        return [sys.executable, "-m", "sottovoce", *words, *home]


def write(path: Path, documents: Any, *, labelled: bool = True) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["note", "urgency"] if labelled else ["note"])
        rows.writerows(
            [document.text, document.label] if labelled else [document.text]
            for document in documents
        )


def created(root: Path, here: Commands, port: int) -> None:
    """The study and its invitations."""
    (root / "study.toml").write_text(TEXT)
    address = ("--address", f"https://127.0.0.1:{port}", "--out", "letters")
    here.run("coordinator-home", "study", "create", "study.toml", *address)


def test_a_second_server_is_refused_or_stands_by_and_follows_a_killed_one(tmp_path: Path) -> None:
    here = Commands(tmp_path)
    created(tmp_path, here, here.port)
    serve = ("serve", "--host", "127.0.0.1", "--home", str(tmp_path / "coordinator-home"))
    try:
        here.start("coordinator-home", *serve, "--port", str(here.port))
        here.until("coordinator-home", "listening")
        here.start("second", *serve, "--port", "0", "--stand-by")
        here.until("second", "standing-by")
        here.start("third", *serve, "--port", "0")
        assert here.running["third"].wait(60) == 1
        assert "another process serves it already" in (tmp_path / "third.err").read_text()
        here.kill("coordinator-home")
        here.until("second", "listening")
    finally:
        here.end()


@pytest.mark.soak
def test_a_study_over_two_servers_and_a_database_of_which_the_first_is_killed(
    tmp_path: Path,
) -> None:
    documents = notes(300)
    here = Commands(tmp_path)
    ports = (free_port(), free_port())
    balancer = Balancer(*ports)
    created(tmp_path, here, balancer.port)
    serve = ("serve", "--host", "127.0.0.1", "--home", str(tmp_path / "coordinator-home"))
    with postgres_server() as server:
        try:
            for name, port in zip(("first", "second"), ports, strict=True):
                where = ("--port", str(port), "--database", server.address, "--stand-by")
                here.start(name, *serve, *where)
                here.until(name, "listening" if name == "first" else "standing-by")
            for site in SITES:
                write(tmp_path / f"{site}.csv", documents[site])
                data = ("--data", f"{site}.csv", "--text", "note", "--label", "urgency", "--yes")
                here.start(site, "join", f"letters/{site}", *data)
            here.until("first", "stage-began", stage="dictionary")
            here.kill("first")
            here.until("second", "listening")
            server.stop()
            server.start()
            for site in SITES:
                here.until(site, "model-stored")
            assert here.running["valley"].wait(240) == 0
            here.run("valley", "ledger", "verify")
        finally:
            here.end()
            balancer.close()
    assert not list(tmp_path.rglob("mailbox.db"))


@pytest.mark.soak
def test_commands_that_are_killed_go_on_and_label_a_file(tmp_path: Path) -> None:
    """Without kills 255 to 262 of the 300 labels are right; who learnt nothing gets 150."""
    documents = notes(900)
    unseen = [document for site in SITES for document in documents[site][-100:]]
    for site in SITES:
        write(tmp_path / f"{site}.csv", documents[site][:-100])
    here = Commands(tmp_path)
    created(tmp_path, here, here.port)
    serve = ("serve", "--host", "127.0.0.1", "--port", str(here.port))
    try:
        here.start("coordinator-home", *serve)
        for site in SITES:
            data = ("--data", f"{site}.csv", "--text", "note", "--label", "urgency", "--yes")
            here.start(site, "join", f"letters/{site}", *data)
        for stage, site in (
            ("agreement", "valley"),
            ("dictionary", "north"),
            ("training", "coordinator-home"),
        ):
            here.until("coordinator-home", "stage-began", stage=stage)
            here.kill(site)
            here.start(site, *(serve if site == "coordinator-home" else ("join", "--yes")))
        here.until("harbour", "model-stored")
        here.kill("harbour")
        here.start("harbour", "join", "--yes")
        assert here.running["valley"].wait(240) == 0
        write(tmp_path / "new.csv", unseen, labelled=False)
        here.run("valley", "classify", "new.csv", "--out", "labelled.csv")
        with (tmp_path / "labelled.csv").open() as file:
            results = [list(row.values())[-1] for row in csv.DictReader(file)]
        right = sum(a == b.label for a, b in zip(results, unseen, strict=True))
        assert right >= 240
        for site in SITES:
            here.run(site, "ledger", "verify")
    finally:
        here.end()
    assert here.starts == 8
    assert (tmp_path / "valley").stat().st_mode & 0o77 == 0
