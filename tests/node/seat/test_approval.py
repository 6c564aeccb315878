"""A letter waits until a person or a script lets it go, and is written down before it goes."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError
from sottovoce.ledger import SiteLedger
from sottovoce.node.approval import Gate, Gatekeeper, LetterQuestion, OpenGate, Request, ScriptGate
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.protocols.identities import Identity
from sottovoce.storage.records import Outgoing
from sottovoce.study.relay import Letter
from sottovoce.study.stages.agreement import Consent


def outgoing(number: int = 0) -> Outgoing:
    return Outgoing(Letter(b"s", "north", "coordinator", number, b"content"), "consent")


def request() -> Request:
    return Request("s", "agreement", "consent", "coordinator", 7, "ab" * 32, "C", "noise", "x")


class Person:
    """Answers as it was told, and remembers what it was shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[Request] = []

    def ask(self, question: LetterQuestion) -> bool:
        self.shown.append(question.request)
        return self.answers.pop(0) == "yes"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SiteLedger]:
    identity = Identity.draw("north", SeededEntropy(1))
    with SiteLedger(tmp_path / "ledger", identity) as opened:
        yield opened


def lets_go(gate: Gate, ledger: SiteLedger, letter: Outgoing | None = None) -> bool:
    keeper, asked = Gatekeeper(gate, ledger, study="s"), letter or outgoing()
    question = keeper.question(asked, stage="agreement")
    return keeper.lets_go(asked, stage="agreement", question=question)


def test_a_person_sees_everything_but_the_content(ledger: SiteLedger) -> None:
    person = Person("yes")
    assert lets_go(person, ledger)
    (shown,) = person.shown
    assert (shown.kind, shown.recipient, shown.bytes) == ("consent", "coordinator", 7)
    assert shown.reveals == Consent.discloses.reveals
    assert shown.seen_by == Consent.discloses.seen_by
    assert "content" not in repr(shown)
    (line,) = ledger.entries()
    assert (line.what, line.kind, line.digest) == ("approval", "consent", shown.digest)


def test_what_was_let_go_is_not_asked_again(ledger: SiteLedger) -> None:
    assert lets_go(Person("yes"), ledger)
    again = Person("no")
    assert lets_go(again, ledger)
    assert again.shown == []


def test_a_refusal_is_written_down_as_leaving(ledger: SiteLedger) -> None:
    assert not lets_go(Person("no"), ledger)
    (line,) = ledger.entries()
    assert line.what == "withdrawal"
    assert line.note == "consent to coordinator was refused, and was not sent"


def test_an_open_gate_writes_no_line(ledger: SiteLedger) -> None:
    assert lets_go(OpenGate(), ledger)
    assert list(ledger.entries()) == []


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "approve"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_a_script_decides_by_its_exit_code(tmp_path: Path, ledger: SiteLedger) -> None:
    command = script(tmp_path, """grep -q '"kind":"consent"' || exit 1""")
    gate = ScriptGate(command)
    assert lets_go(gate, ledger)
    other = Outgoing(outgoing(1).letter, "enough")
    assert not lets_go(gate, ledger, other)


@pytest.mark.parametrize(
    ("text", "says"), [("exit 3", "found 3"), ("sleep 5", "no answer in 0.2 s")]
)
def test_a_script_that_does_not_answer_lets_nothing_go(
    tmp_path: Path, ledger: SiteLedger, text: str, says: str
) -> None:
    gate = ScriptGate(script(tmp_path, text), seconds=0.2)
    with pytest.raises(InputError, match=says):
        lets_go(gate, ledger)
    assert list(ledger.entries()) == []


def test_a_script_that_is_not_there(tmp_path: Path, ledger: SiteLedger) -> None:
    gate = ScriptGate(tmp_path / "nothing")
    with pytest.raises(InputError, match="nothing: no such file"):
        lets_go(gate, ledger)


def marked(tmp_path: Path) -> tuple[ScriptGate, Path]:
    """A script that never answers, and the file that it makes when it starts."""
    started = tmp_path / "started"
    return ScriptGate(script(tmp_path, f'touch "{started}"; exec sleep 3600'), 10), started


def test_a_script_is_not_started_for_a_question_that_was_given_up(
    tmp_path: Path, ledger: SiteLedger
) -> None:
    gate, started = marked(tmp_path)
    keeper = Gatekeeper(gate, ledger, study="s")
    question = keeper.question(outgoing(), stage="agreement")
    question.give_up()
    with pytest.raises(CancelledError):
        keeper.lets_go(outgoing(), stage="agreement", question=question)
    assert not started.exists()
    assert list(ledger.entries()) == []


def test_who_gives_up_one_question_ends_no_other(tmp_path: Path) -> None:
    """Several seats of a site share one gate."""
    program = script(tmp_path, "read answer; exit $answer")
    ended, waiting = (LetterQuestion(request()) for _ in range(2))
    with ended.start(program) as first, waiting.start(program) as second:
        ended.give_up()
        assert first.wait() == -signal.SIGKILL
        second.communicate(b"0\n")
        assert second.returncode == 0


class HeldGate:
    """Begins to ask only once its question was given up."""

    def __init__(self, gate: ScriptGate) -> None:
        self.gate = gate
        self.entered, self.given_up = threading.Event(), threading.Event()

    def ask(self, question: LetterQuestion) -> bool:
        self.entered.set()
        self.given_up.wait()
        return self.gate.ask(question)


def test_an_approval_that_begins_after_its_study_was_cancelled_ends_at_once(
    tmp_path: Path, ledger: SiteLedger
) -> None:
    script_gate, started = marked(tmp_path)
    gate = HeldGate(script_gate)

    async def story() -> None:
        leaving = asyncio.create_task(LetterAudit(ledger, gate, study="s").leaving(outgoing(), "x"))
        await asyncio.to_thread(gate.entered.wait)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        gate.given_up.set()

    # The loop's end waits for its threads, and so for a script that was started.
    asyncio.run(story())
    assert not started.exists()
