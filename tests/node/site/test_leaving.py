"""Whoever leaves, refuses, fails or is cancelled: the others go on, or everybody hears why not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.examples.absence import Absence
from harness.network import Network, network, read_toy
from sottovoce.course import control
from sottovoce.course.news import SeatWaiting, StageBegan, StageEnded, StudyStopped
from sottovoce.course.training.training_state import Training
from sottovoce.errors import InputError, StoppedError, WithdrawnError
from sottovoce.ledger import Entry, LineKind, SiteLedger, read_ledger
from sottovoce.node.api import ConsentQuestion, Joined
from sottovoce.node.approval import LetterQuestion
from sottovoce.node.coordinator.serving import close_study, study_status
from sottovoce.node.memberships import Membership
from sottovoce.node.seat.retrying_line import RetryingLine
from sottovoce.node.site.leaving import how_far, withdraw
from sottovoce.node.site.seat_status import status, withdrawal_mark
from sottovoce.protocols.identities import Identity
from sottovoce.protocols.messages import Enough, kind_of
from sottovoce.protocols.seat import Packet
from sottovoce.study.relay import Letter, Relay
from sottovoce.study.stages import preparation
from sottovoce.study.study import Study
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.wire import Codec
from sottovoce.wire.codec import tag_of

SITES = ("north", "harbour", "valley")
HELPERS = '[helpers]\ntrust = "Trust"\nlender = "Lender"\n'


def four(root: Path, **changes: str) -> Network:
    """Four peers, of whom three are enough, and an evaluator and a dealer that are no peers."""
    roles = {"evaluator": "trust", "dealer": 'dealer = "lender"', "helpers": HELPERS}
    return network(root, sites=4, documents=160, **{"features": "8", **roles, **changes})


async def say_no(question: ConsentQuestion) -> bool:
    return False


async def results(net: Network, *seats: str, **changes: dict[str, Any]) -> dict[str, Any]:
    """What comes of joining, by seat: a result or an error."""
    tasks = [net.join(seat, **changes.get(seat, {})) for seat in seats]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    return dict(zip(seats, results, strict=True))


def everybody(net: Network, **changes: dict[str, Any]) -> dict[str, Any]:
    """All sites join while the coordinator serves."""

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *net.documents, "evaluator", "dealer", **changes)

    return asyncio.run(story())


def models(results: dict[str, Any]) -> set[str]:
    return {name for name, result in results.items() if isinstance(result, Joined) and result.model}


def test_a_peer_that_declines_is_left_behind(tmp_path: Path) -> None:
    net = four(tmp_path)
    results = everybody(net, valley={"consent": say_no})
    assert isinstance(results["valley"], WithdrawnError)
    assert models(results) == set(net.documents) - {"valley"}


def test_a_data_error_at_a_peer_tells_nobody_what_was_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, counted = four(tmp_path), preparation.own_counts
    secret = "aneurysm of the famous patient"

    def unreadable(study: Study, name: str, *given: Any, **options: Any) -> Any:
        # Under the study's own key: where documents are only looked at before, all is well.
        if name == "valley" and given[-1] is not PUBLIC:
            raise InputError(f"notes.csv, line 7: expected a label, found {secret!r}")
        return counted(study, name, *given, **options)

    monkeypatch.setattr(preparation, "own_counts", unreadable)
    results = everybody(net)
    with pytest.raises(InputError, match="aneurysm"):
        raise results["valley"]
    assert models(results) == set(net.documents) - {"valley"}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"aneurysm" not in path.read_bytes(), path


def test_too_few_peers_stop_the_study_with_its_reason_everywhere(tmp_path: Path) -> None:
    net = network(tmp_path)

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *SITES, valley={"consent": say_no})

    outcomes = asyncio.run(story())
    assert isinstance(outcomes["valley"], WithdrawnError)
    for name in ("north", "harbour"):
        with pytest.raises(StoppedError, match="expected at least 3 peers, found 2"):
            raise outcomes[name]
    assert study_status(net.place, net.study, read=read_toy).phase == "stopped"
    assert {seat.phase for seat in status(net.membership("north"))} == {"stopped"}
    stopped = [event for event in net.events if isinstance(event, StudyStopped)]
    assert {event.seat for event in stopped} >= {"coordinator", "north", "evaluator", "harbour"}


def test_a_violation_stops_the_study_and_names_the_party(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, packed = network(tmp_path), Relay.pack

    def other_words(self: Relay, packet: Packet, **options: Any) -> Letter:
        if self.party.name == "valley" and b"dealt-shares" in packet.body[:20]:
            head = (packet.session, packet.sender, packet.recipient, packet.number)
            packet = Packet(*head, Codec().encode(Enough()))
        return packed(self, packet, **options)

    monkeypatch.setattr(Relay, "pack", other_words)

    async def story() -> dict[str, Any]:
        async with net.serving():
            return await results(net, *SITES)

    for error in asyncio.run(story()).values():
        assert isinstance(error, StoppedError)
        assert error.party == "valley"
        assert "was not as agreed" in error.message


def _sent_after_withdrawal(net: Network) -> list[str]:
    """The kinds of everything that valley sent once its consent was withdrawn."""
    path = net.membership("valley").folder / "valley/ledger.jsonl"
    lines = [line.entry for line in read_ledger(path)]
    end = next(at for at, line in enumerate(lines) if line.what is LineKind.WITHDRAWAL)
    return [line.kind for line in lines[end:] if line.what is LineKind.SENT]


def test_a_peer_that_never_returns_is_left_behind_after_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    net, absence = four(tmp_path), Absence(monkeypatch)
    monkeypatch.setattr(
        Training,
        "unseen",
        lambda _, seats, **__: tuple(seat for seat in seats if seat in absence.gone),
    )
    began = net.when(
        lambda event: (
            isinstance(event, StageBegan)
            and event.seat == "valley"
            and event.attempt == 1
            and event.stage == "dictionary"
        ),
    )

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = [peer for peer in net.documents if peer != "valley"]
            dying = asyncio.create_task(net.join("valley"))
            rest = asyncio.create_task(results(net, *others, "evaluator", "dealer"))
            await began.wait()
            dying.cancel()
            await asyncio.gather(dying, return_exceptions=True)
            absence.of("valley")
            return await rest

    outcomes = asyncio.run(story())
    assert models(outcomes) == set(net.documents) - {"valley"}


@pytest.mark.parametrize("stage", [pytest.param("dictionary", marks=pytest.mark.soak), "training"])
def test_who_withdraws_early_is_in_no_sum_and_sends_nothing_more(
    tmp_path: Path, stage: str
) -> None:
    net = four(tmp_path)
    began = net.when(
        lambda event: (
            isinstance(event, StageBegan) and event.seat == "valley" and event.stage == stage
        )
    )

    async def story() -> dict[str, Any]:
        async with net.serving():
            others = [peer for peer in net.documents if peer != "valley"]
            leaving = asyncio.create_task(net.join("valley"))
            rest = asyncio.create_task(results(net, *others, "evaluator", "dealer"))
            await began.wait()
            far = await withdraw(net.membership("valley"), options=net.options())
            with pytest.raises(WithdrawnError, match="withdrew"):
                await leaving
            outcomes = await rest
            with pytest.raises(WithdrawnError, match="withdrew"):
                await net.join("valley")
            return {**outcomes, "far": far}

    outcomes = asyncio.run(story())
    far = outcomes.pop("far")
    after = _sent_after_withdrawal(net)
    assert {kind_of(message).__module__ for message in after} == {control.__name__}
    assert after[-1] == "leaving"
    if not far.in_sum:
        assert models(outcomes) == set(net.documents) - {"valley"}
        began_with = [
            event.peers
            for event in net.events
            if isinstance(event, StageBegan) and event.stage == "training"
        ]
        assert "valley" not in began_with[-1]


def test_who_withdraws_after_the_training_is_told_that_its_part_stays_in_the_sum(
    trained: Network,
) -> None:
    net = trained
    asks = net.when(
        lambda event: isinstance(event, SeatWaiting) and event.what == "an answer to our query"
    )
    mine = net.documents["valley"][:2]

    async def story() -> None:
        async with net.serving():
            membership = net.membership("valley")
            model = membership.folder / "valley" / "model"
            assert model.exists()
            # The dealer is not there: this process of the site asks, and waits.
            asking = asyncio.create_task(net.classify("valley", mine))
            await asks.wait()
            far = await withdraw(membership, options=net.options())
            assert far.in_sum
            assert "cannot be taken out" in far.says
            assert not model.exists()
            with pytest.raises(WithdrawnError, match="this site withdrew"):
                await asking
            for again in (net.classify("valley", mine), net.evaluate("valley")):
                with pytest.raises(WithdrawnError, match="this site withdrew"):
                    await again

    asyncio.run(story())
    assert _sent_after_withdrawal(net)[-2:] == ["ledger-head", "leaving"]
    assert not {"query-request", "masked-scores"} & set(_sent_after_withdrawal(net))


def test_nothing_leaves_once_a_site_withdrew_even_before_its_process_looked(
    trained: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("sottovoce.node.site.leaving.watch_for_withdrawal", never)
    posted, post = list[str](), RetryingLine.post

    async def noted(self: RetryingLine, letter: Letter) -> int:
        posted.append(tag_of(letter.body))
        done = await post(self, letter)
        if posted[-1] == "query-request":
            # Another process of this site writes it down, while this one waits for an answer.
            withdrawal_mark(trained.membership("valley")).touch()
        return done

    monkeypatch.setattr(RetryingLine, "post", noted)

    async def story() -> None:
        async with trained.serving():
            with pytest.raises(WithdrawnError, match="this site withdrew"):
                await trained.classify("valley", trained.documents["valley"][:2])

    asyncio.run(story())
    assert posted[-2:] == ["ledger-head", "leaving"]
    assert "masked-scores" not in posted
    assert _sent_after_withdrawal(trained)[-1:] == ["leaving"]


def test_a_cancelled_study_stops_everywhere(tmp_path: Path) -> None:
    net = network(tmp_path, features="16")
    ended = lambda event: isinstance(event, StageEnded) and event.stage == "agreement"  # noqa: E731
    reason = "the committee asked us to"

    async def cancelled() -> None:
        async with net.serving():
            with net.cancelled_when(ended, reason):
                errors = await results(net, *SITES)
            for error in errors.values():
                assert isinstance(error, StoppedError)
                assert reason in error.message

    asyncio.run(cancelled())


def test_a_closed_study_answers_nothing(trained: Network) -> None:
    async def closed() -> None:
        async with trained.serving():
            close_study(trained.place, trained.study)
            while (  # noqa: ASYNC110 - another process would look at this file, too
                study_status(trained.place, trained.study, read=read_toy).phase != "closed"
            ):
                await asyncio.sleep(0.1)
            with pytest.raises(StoppedError, match="the study is closed"):
                await trained.classify("valley", trained.documents["valley"][:2])

    asyncio.run(closed())
    assert not list((trained.place.folder / "studies").rglob("coordinator/key"))


# By default test_approving.py refuses letters.
@pytest.mark.soak
def test_a_gate_that_refuses_a_letter_takes_the_site_out(tmp_path: Path) -> None:
    net = four(tmp_path)

    class NoCounts:
        def ask(self, question: LetterQuestion) -> bool:
            return question.request.kind != "masked-parts"

    results = everybody(net, valley={"gate": NoCounts()})
    assert isinstance(results["valley"], WithdrawnError)
    assert "masked-parts" in str(results["valley"])
    assert models(results) == set(net.documents) - {"valley"}
    path = net.membership("valley").folder / "valley/ledger.jsonl"
    kinds = [line.entry.kind for line in read_ledger(path) if line.entry.what is LineKind.SENT]
    assert "masked-parts" not in kinds
    assert kinds[-1] == "leaving"


@pytest.mark.parametrize(
    ("stages", "in_sum", "says"),
    [
        ((), False, "nothing of this site is in any sum"),
        (("dictionary",), False, "word counts are in the sums of the dictionary"),
        (("dictionary", "contributions"), True, "in the sum that the model came from"),
    ],
)
def test_a_site_of_a_quorum_knows_from_its_ledger_what_stays_in_sums(
    stages: tuple[str, ...], *, in_sum: bool, says: str, tmp_path: Path
) -> None:
    membership = Membership(tmp_path, "", b"", "s-1", ("north",), b"", bytes(32))
    (tmp_path / "north").mkdir(mode=0o700)
    with SiteLedger(
        tmp_path / "north" / "ledger.jsonl", Identity.draw("north", SeededEntropy(1))
    ) as ledger:
        for number, stage in enumerate(stages):
            letter = Letter(b"session", "coordinator", "north", number, b"body")
            ledger.append(
                Entry.of_letter(LineKind.RECEIVED, letter, study="s-1", stage=stage, kind="add-up")
            )
    progress = how_far(membership)
    assert progress.in_sum is in_sum
    assert says in progress.says
