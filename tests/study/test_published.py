"""Everybody trains on the dictionary and the mean that everybody was shown, or nobody does."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from harness.meddling import is_kind, rewriting
from harness.studies import BINARY, Case
from sottovoce import wire
from sottovoce.errors import ViolationError
from sottovoce.protocols.blind_sum import keys, pairwise
from sottovoce.protocols.blind_sum.keys import Keyring
from sottovoce.protocols.blind_sum.messages import KeyBook, MaskedParts, RoundKeys
from sottovoce.protocols.conversation import Party, Send, gather
from sottovoce.protocols.messages import Message
from sottovoce.protocols.seat import Packet
from sottovoce.study import StudyPlan
from sottovoce.study.roster import Role
from sottovoce.study.stages.joint_mean import JointMean
from sottovoce.study.stages.preparation import PublishedFeatures, PublishedWeights
from sottovoce.study.stages.quorum_contributions import SpectrumShare


def without_asking(this: Any, pins: Any, *, listeners: Any = ()) -> Party[Keyring]:
    """A coordinator that passes everybody's keys on, whatever they are signed for."""
    del pins
    came = yield from gather(RoundKeys, this.peers)
    signed = tuple(message.keys for message in came.values())
    for party in (*this.peers, *listeners):
        yield Send(party, KeyBook(signed))
    return Keyring(this, {keys.peer: keys for keys in signed})


def swapped(message: PublishedFeatures) -> Message:
    """Two columns stand for other words; nothing else differs."""
    buckets = message.buckets.array().copy()
    free = sorted(set(range(int(buckets.max()))) - set(buckets.tolist()))
    buckets[0] = free[0]
    return msgspec.structs.replace(message, buckets=wire.Words.of(np.sort(buckets)))


def rarer(message: Any) -> Message:
    """One column counts for more."""
    halves = message.idf_halves.array().copy()
    halves[0] += 1
    return msgspec.structs.replace(message, idf_halves=wire.Words.of(halves))


def more(message: Any) -> Message:
    """There seem to be more rows."""
    totals = message.totals.array().copy()
    totals[0] += 10
    return msgspec.structs.replace(message, totals=wire.Words.of(totals))


def others(message: Any) -> Message:
    """The evaluator is told of other buckets."""
    return msgspec.structs.replace(message, buckets=bytes(32))


@pytest.mark.parametrize("engine", ["shares", "paillier"])
@pytest.mark.parametrize(
    ("to", "kind", "change"),
    [
        ("valley", PublishedFeatures, swapped),
        ("valley", PublishedFeatures, rarer),
        ("valley", PublishedFeatures, more),
        ("evaluator", PublishedWeights, rarer),
        ("evaluator", PublishedWeights, others),
    ],
)
def test_who_is_shown_another_dictionary_is_in_no_sum(
    binary: Case,
    monkeypatch: pytest.MonkeyPatch,
    engine: str,
    to: str,
    kind: type[Message],
    change: Callable[[Any], Message],
) -> None:
    case = binary.changed(engine=engine, features=12)
    sent: list[Packet] = []

    def published(packet: Packet) -> bool:
        if is_kind(packet, MaskedParts):
            sent.append(packet)
        return packet.recipient == to and is_kind(packet, kind)

    monkeypatch.setattr(pairwise, "collect_keys", deviating)
    with pytest.raises(ViolationError, match="or it was shown other values than we were"):
        case.run(meddler=rewriting(published, kind, change))
    # Nothing of the training was sent, by anybody who was shown the same or something else.
    assert {letter.session for letter in sent} == {case.study.session("dictionary", "1")}


def deviating(this: Any, pins: Any, *, listeners: Any = ()) -> Party[Keyring]:
    """The dictionary's own sum as agreed; from then on, whatever peers sign for."""
    honest = keys.collect_keys if not this.shown else without_asking
    return (yield from honest(this, pins, listeners=listeners))


def further(message: Any) -> Message:
    """One word is measured from 1/128 further away; still a point that could be told."""
    steps = message.steps.array().copy()
    steps[0] += 1
    return msgspec.structs.replace(message, steps=wire.Words.of(steps))


@pytest.mark.parametrize("to", ["valley", "evaluator"])
def test_who_is_told_another_mean_is_in_no_sum(
    binary: Case, monkeypatch: pytest.MonkeyPatch, to: str
) -> None:
    case = binary.changed(features=12)
    sent: list[Packet] = []

    def mean(packet: Packet) -> bool:
        if is_kind(packet, MaskedParts) and packet.session == case.study.session("training", "1"):
            sent.append(packet)
        return packet.recipient == to and is_kind(packet, JointMean)

    monkeypatch.setattr(pairwise, "collect_keys", deviating)
    meddler = rewriting(mean, JointMean, further)
    with pytest.raises(ViolationError, match="or it was shown other values than we were"):
        case.run(meddler=meddler)
    # Every peer's part of the mean, and nothing of anybody's moments.
    assert meddler.done == 1
    assert len(sent) == len(case.documents)


@pytest.mark.parametrize("role", [Role.PEER, Role.MEMBER])
def test_in_a_quorum_who_is_told_another_mean_is_in_no_sum(binary: Case, role: Role) -> None:
    seats = {"with_dealer": False, "with_evaluator": False}
    plan = StudyPlan("mean", BINARY, features=12, bucket_bits=11, engine="quorum")
    case = Case(binary.documents, plan, binary.key, seats)
    to = case.study.roster.having(role)[0].name
    opened: list[Packet] = []

    def mean(packet: Packet) -> bool:
        if is_kind(packet, SpectrumShare):
            opened.append(packet)
        return packet.recipient == to and is_kind(packet, JointMean)

    meddler = rewriting(mean, JointMean, further)
    with pytest.raises(ViolationError, match="was shown other public values") as caught:
        case.run(meddler=meddler, key=None)
    assert meddler.done == 1
    assert not opened
    # Who was told another mean is innocent, and so is everybody else who was told one.
    assert caught.value.party == ""
