"""A site that lets every letter go one by one, through whole studies; and one that refuses."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.network import Network, network
from sottovoce.cli.terminal.event_text import REFUSED, code_of
from sottovoce.errors import StoppedError, WithdrawnError
from sottovoce.ledger import LedgerLine, LineKind, read_ledger
from sottovoce.node.api import Joined
from sottovoce.node.approval import LetterQuestion, Request, ScriptGate
from sottovoce.node.seat.letter_audit import LetterAudit
from sottovoce.node.site.seat_status import status

SITES = ("north", "harbour", "valley")
HELPERS = '[helpers]\ntrust = "Trust"\n'


class Person:
    """Lets everything go but letters of one kind, and remembers what was asked."""

    def __init__(self, refuses: str = "", stage: str = "") -> None:
        self.refuses, self.stage = refuses, stage
        self.asked: list[Request] = []

    def ask(self, question: LetterQuestion) -> bool:
        request = question.request
        self.asked.append(request)
        here = self.stage in {"", request.stage}
        return not (here and request.kind == self.refuses)


async def joined(net: Network, *seats: str, **gates: Any) -> dict[str, Any]:
    """What comes of joining, by seat."""
    async with net.serving():
        tasks = [
            net.join(seat, **({"gate": gates[seat]} if seat in gates else {})) for seat in seats
        ]
        results = await asyncio.gather(*tasks, return_exceptions=True)
    return dict(zip(seats, results, strict=True))


def lines_of(net: Network, seat: str) -> list[LedgerLine]:
    return list(read_ledger(net.membership(seat).folder / seat / "ledger.jsonl"))


def has_model(result: Any) -> bool:
    return isinstance(result, Joined) and result.model is not None


def test_a_study_in_which_everybody_is_asked_about_everything(tmp_path: Path) -> None:
    net = network(tmp_path, documents=120, features="8")
    gates = {site: Person() for site in SITES}
    results = asyncio.run(joined(net, *SITES, **gates))
    assert all(map(has_model, results.values())), results
    for organisation, seats in (("valley", ("valley",)), ("north", ("north", "evaluator"))):
        approved = Counter[str]()
        for seat in seats:
            lines = lines_of(net, seat)
            let_go = [(line.kind, line.digest) for line in lines if line.what == LineKind.APPROVAL]
            sent = [(line.kind, line.digest) for line in lines if line.what == LineKind.SENT]
            # The last one was let go, and may not have left when the site was at its end.
            assert let_go[: len(sent)] == sent
            assert len(let_go) - len(sent) <= 1
            approved.update(digest for _, digest in let_go)
        # Each was asked for once.
        assert approved == Counter(question.digest for question in gates[organisation].asked)


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("consent", "agreement"),
        # By default refused below, by a process that dies then.
        pytest.param("masked-parts", "dictionary", marks=pytest.mark.soak),
        pytest.param("done", "", marks=pytest.mark.soak),
        pytest.param("revealed-shares", "training", marks=pytest.mark.soak),
    ],
)
def test_who_refuses_a_letter_leaves_and_the_others_go_on(
    tmp_path: Path, kind: str, stage: str
) -> None:
    net = network(tmp_path, documents=160, sites=4, features="8")
    person = Person(kind, stage)
    results = asyncio.run(joined(net, *net.documents, valley=person))
    with pytest.raises(WithdrawnError, match=f"{kind} to 'coordinator' was refused"):
        raise results["valley"]
    assert code_of(results["valley"]) == REFUSED == 4
    others = {peer: has_model(results[peer]) for peer in net.documents if peer != "valley"}
    assert all(others.values()), results
    lines = lines_of(net, "valley")
    refused = next(at for at, line in enumerate(lines) if line.what == LineKind.WITHDRAWAL)
    after = [line.kind for line in lines[refused:] if line.what == LineKind.SENT]
    assert after == ["leaving"]
    refusals = [question for question in person.asked if question.kind == kind]
    assert refusals[-1].digest not in {line.digest for line in lines if line.what == LineKind.SENT}
    assert person.asked[-1] == refusals[-1]
    with pytest.raises(WithdrawnError, match="withdrew"):
        asyncio.run(net.join("valley"))
    assert {seat.phase for seat in status(net.membership("valley"))} == {"withdrawn"}


def test_where_too_few_are_left_everybody_hears_that_the_owner_declined(tmp_path: Path) -> None:
    net = network(tmp_path, documents=120, features="8")
    results = asyncio.run(joined(net, *SITES, valley=Person("dealt-shares", "dictionary")))
    assert isinstance(results["valley"], WithdrawnError)
    for name in ("north", "harbour"):
        assert isinstance(results[name], StoppedError)
        assert results[name].party == "valley"
        message = results[name].message
        assert "declined by its owner" in message
        assert "valley (declined by its owner)" in message
        assert "not as agreed" not in message
        assert "left, or too few" not in message
        assert "does not answer" not in message


def test_a_helper_that_refuses_ends_the_study_by_its_name_and_takes_its_site_along(
    tmp_path: Path,
) -> None:
    net = network(tmp_path, documents=120, features="8")
    # North holds a peer's seat and the evaluator's.
    results = asyncio.run(joined(net, *SITES, north=Person("arrived", "dictionary")))
    assert isinstance(results["north"], WithdrawnError)
    for name in ("harbour", "valley"):
        assert isinstance(results[name], StoppedError)
        assert results[name].party in {"evaluator", "north"}
        assert "declined by its owner" in results[name].message
    sent = [line.kind for line in lines_of(net, "evaluator") if line.what == LineKind.SENT]
    assert sent[-1] == "leaving"
    # Its other seat leaves too, if the study is not over there before it looks.
    assert {seat.phase for seat in status(net.membership("north"))} == {"withdrawn"}


class Killed(BaseException):
    """The process is gone."""


def test_a_refusal_is_final_though_the_process_died_before_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = network(tmp_path, documents=160, sites=4, features="8")
    first, left = LetterAudit.leaving, [1]

    async def dying(self: LetterAudit, outgoing: Any, stage: str) -> None:
        try:
            await first(self, outgoing, stage)
        except WithdrawnError:
            if left:
                left.clear()
                raise Killed from None
            raise

    monkeypatch.setattr(LetterAudit, "leaving", dying)
    forgetful = Person()

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = {peer: asyncio.create_task(net.join(peer)) for peer in net.documents}
            others.pop("valley").cancel()
            with pytest.raises(Killed):
                await net.join("valley", gate=Person("masked-parts", "dictionary"))
            with pytest.raises(WithdrawnError, match="masked-parts to 'coordinator' was refused"):
                await net.join("valley", gate=forgetful)
            results = await asyncio.gather(*others.values(), return_exceptions=True)
        return dict(zip(others, results, strict=True))

    results = asyncio.run(asyncio.wait_for(story(), 400))
    assert all(map(has_model, results.values())), results
    assert forgetful.asked == []


def test_a_script_is_ended_when_nobody_waits_for_its_answer_any_longer(tmp_path: Path) -> None:
    """A study that stops elsewhere ends here at once, though a letter waits for approval."""
    net = network(tmp_path, documents=120, features="8")
    script = tmp_path / "approve"
    asked = tmp_path / "asked"
    script.write_text(f'#!/bin/sh\necho $$ >> "{asked}"\nexec sleep 3600\n')
    script.chmod(0o700)

    async def story() -> Any:
        async with net.serving():
            waiting = asyncio.create_task(net.join("valley", gate=ScriptGate(script)))
            others = [asyncio.create_task(net.join(site)) for site in ("north", "harbour")]
            while not asked.exists():  # noqa: ASYNC110 - a program writes it
                await asyncio.sleep(0.05)
            waiting.cancel()
            for task in others:
                task.cancel()
            await asyncio.gather(waiting, *others, return_exceptions=True)

    asyncio.run(asyncio.wait_for(story(), 400))
    for pid in asked.read_text().split():
        assert not Path(f"/proc/{pid}/cmdline").exists()
