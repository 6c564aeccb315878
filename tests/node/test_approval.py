"""A letter waits until a person or a script lets it go, and is written down before it goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.entropy import SeededEntropy
from sottovoce.errors import InputError
from sottovoce.ledger import SiteLedger
from sottovoce.node.approval import Gatekeeper, OpenGate, Request, ScriptGate
from sottovoce.protocols.identities import Identity
from sottovoce.storage.records import Outgoing
from sottovoce.study.relay import Letter
from sottovoce.study.stages.agreement import Consent


def outgoing(number: int = 0) -> Outgoing:
    return Outgoing(Letter(b"s", "north", "coordinator", number, b"content"), "consent")


class Person:
    """Answers as it was told, and remembers what it was shown."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.shown: list[Request] = []

    def ask(self, request: Request) -> bool:
        self.shown.append(request)
        return self.answers.pop(0) == "yes"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SiteLedger]:
    identity = Identity.draw("north", SeededEntropy(1))
    with SiteLedger(tmp_path / "ledger", identity) as opened:
        yield opened


def test_a_person_sees_everything_but_the_content(ledger: SiteLedger) -> None:
    person = Person("yes")
    assert Gatekeeper(person, ledger, study="s").lets_go(outgoing(), stage="agreement")
    (shown,) = person.shown
    assert (shown.kind, shown.recipient, shown.bytes) == ("consent", "coordinator", 7)
    assert shown.reveals == Consent.discloses.reveals
    assert shown.seen_by == Consent.discloses.seen_by
    assert "content" not in repr(shown)
    (line,) = ledger.entries()
    assert (line.what, line.kind, line.digest) == ("approval", "consent", shown.digest)


def test_what_was_let_go_is_not_asked_again(ledger: SiteLedger) -> None:
    assert Gatekeeper(Person("yes"), ledger, study="s").lets_go(outgoing(), stage="agreement")
    again = Person("no")
    assert Gatekeeper(again, ledger, study="s").lets_go(outgoing(), stage="agreement")
    assert again.shown == []


def test_a_refusal_is_written_down_as_leaving(ledger: SiteLedger) -> None:
    assert not Gatekeeper(Person("no"), ledger, study="s").lets_go(outgoing(), stage="agreement")
    (line,) = ledger.entries()
    assert line.what == "withdrawal"
    assert line.note == "consent to coordinator was refused, and was not sent"


def test_an_open_gate_writes_no_line(ledger: SiteLedger) -> None:
    assert Gatekeeper(OpenGate(), ledger, study="s").lets_go(outgoing(), stage="agreement")
    assert list(ledger.entries()) == []


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "approve"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


def test_a_script_decides_by_its_exit_code(tmp_path: Path, ledger: SiteLedger) -> None:
    command = script(tmp_path, """grep -q '"kind":"consent"' || exit 1""")
    keeper = Gatekeeper(ScriptGate(command), ledger, study="s")
    assert keeper.lets_go(outgoing(), stage="agreement")
    other = Outgoing(outgoing(1).letter, "enough")
    assert not keeper.lets_go(other, stage="agreement")


@pytest.mark.parametrize(
    ("text", "says"), [("exit 3", "found 3"), ("sleep 5", "no answer in 0.2 s")]
)
def test_a_script_that_does_not_answer_lets_nothing_go(
    tmp_path: Path, ledger: SiteLedger, text: str, says: str
) -> None:
    keeper = Gatekeeper(ScriptGate(script(tmp_path, text), seconds=0.2), ledger, study="s")
    with pytest.raises(InputError, match=says):
        keeper.lets_go(outgoing(), stage="agreement")
    assert list(ledger.entries()) == []


def test_a_script_that_is_not_there(tmp_path: Path, ledger: SiteLedger) -> None:
    keeper = Gatekeeper(ScriptGate(tmp_path / "nothing"), ledger, study="s")
    with pytest.raises(InputError, match="nothing: no such file"):
        keeper.lets_go(outgoing(), stage="agreement")
