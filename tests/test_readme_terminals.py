"""The tutorial's session was executed, one process a line, in four terminals."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.processes.terminals import WAIT_SECONDS, Machine, exported, opened, typed

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "tutorials" / "three-machines.md").read_text(encoding="utf-8")


def lines_of(number: int) -> list[str]:
    return typed(PAGE, number)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    with opened(tmp_path) as typed:
        yield typed


# The demo and tests/e2e type the same commands, of the same kind of study.
@pytest.mark.soak
def test_the_session_in_four_terminals_works(machine: Machine) -> None:
    cate, (*prepare, serve) = exported(lines_of(1))
    for line in prepare:
        machine.done(line, "prepare.log", home=cate)
    machine.type(serve, "serve.log", home=cate)
    machine.wait_for("serving at", "serve.log")
    north, harbour = lines_of(2)
    machine.type(north, "north.log")
    interrupt(machine, harbour)
    carol, (inspect, dry_run, join) = exported(lines_of(3))
    assert "routine" in machine.done(inspect, "inspect.log", home=carol)
    shown = machine.done(dry_run, "dry.log", home=carol)
    assert "| contributions | contribution-plane | members |" in shown
    assert "dry run: only the request" in shown
    assert "stanmore: enrolled" not in (machine.folder / "serve.log").read_text(encoding="utf-8")
    third = machine.type(join, "join.log", home=carol)
    assert third.stdin is not None
    third.stdin.write(b"y\ny\n")
    third.stdin.flush()
    machine.wait_for("member-stanmore: the training is finished", "join.log")
    said = (machine.folder / "join.log").read_text(encoding="utf-8")
    assert "# Study card: urgency of clinical notes" in said
    assert "stanmore: Stanmore Practice, peer (this site)" in said
    assert "Compare these words with the other sites" in said
    use_the_model(machine)
    check_mistakes(machine, join)


def use_the_model(machine: Machine) -> None:
    """Label a file, evaluate with the others, and look at what left."""
    carol, lines = exported(lines_of(4))
    said = {}
    for number, line in enumerate(lines):
        words = tuple(line.split()[1:3])
        if line.endswith(" &"):
            machine.type(line, "beside.log")
        else:
            said[words] = machine.done(line, f"used-{number}.log", home=carol)
    assert "finished" in said["status",]
    assert "rows labelled" in said["classify", "site-notes/valley.csv"]
    labelled = (machine.folder / "labelled.csv").read_text(encoding="utf-8")
    assert labelled.splitlines()[0].startswith("text,label,")
    assert "all of north, harbour, stanmore: accuracy" in said["evaluate",]
    sent = said["ledger", "show"].partition("sent to member-harbour: ")[2]
    assert "× contribution-plane of stanmore (dictionary), " in sent
    assert "reveals nothing: as many shares as the threshold are uniform" in sent
    assert said["ledger", "verify"].count("whole") == 2
    report = (machine.folder / "report.html").read_text(encoding="utf-8")
    assert "Confusion, all sites" in report
    assert "accuracy" in (machine.folder / "north-evaluated.txt").read_text(encoding="utf-8")


def interrupt(machine: Machine, join: str) -> None:
    """Ctrl-C while it waits for the others; `join` without an invitation goes on."""
    waiting = machine.type(join, "harbour.log")
    machine.wait_for("member-harbour: enrolled", "harbour.log")
    waiting.send_signal(signal.SIGINT)
    assert waiting.wait(timeout=WAIT_SECONDS) == 130
    said = (machine.folder / "harbour.log").read_text(encoding="utf-8")
    again = r"stopped, and nothing is lost: `sottovoce join --home harbour --study \w+` continues"
    assert re.search(again, said)
    machine.type("sottovoce join --home harbour --yes", "again.log")


def check_mistakes(machine: Machine, join: str) -> None:
    """The same server, and people who do not do as they should."""
    again = machine.type(f"{join} --yes", "reused.log", home="thief")
    assert again.wait(timeout=WAIT_SECONDS) == 1
    log = (machine.folder / "reused.log").read_text(encoding="utf-8")
    assert "already used with another key" in log
    column = join.replace("--label urgency", "--label urgncy")
    wrong = machine.type(f"{column} --dry-run", "column.log", home="carol-again")
    assert wrong.wait(timeout=WAIT_SECONDS) == 1
    said = (machine.folder / "column.log").read_text(encoding="utf-8")
    assert "error: " in said
    assert "urgncy" in said
