"""One wrong share of a member, in every kind of opening, is caught before a result is used."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.studies import notes
from sottovoce import wire
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.errors import SottovoceError, ViolationError
from sottovoce.numbers.residues import PRIMES
from sottovoce.protocols.messages import Message
from sottovoce.protocols.quorum.bit_check import BitCheck
from sottovoce.protocols.quorum.bits import FlippedBit
from sottovoce.protocols.quorum.comparison import MaskedScore
from sottovoce.protocols.quorum.fast_labels import CoveredScore
from sottovoce.protocols.quorum.labels import QuorumLabel
from sottovoce.protocols.quorum.moment_check import CheckShare, CoinShare, WeightBit
from sottovoce.protocols.quorum.opening import OpeningShare
from sottovoce.protocols.quorum.products import MaskedProduct
from sottovoce.protocols.quorum.solve import SolvedBit
from sottovoce.protocols.quorum.sums import SumShare
from sottovoce.protocols.quorum.tally import TallyShare
from sottovoce.protocols.quorum.truncation import MaskedDividend
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster, member_of
from sottovoce.study.stages.quorum_contributions import SpectrumShare
from sottovoce.text.labels import Labels

GROUPS = tuple(sorted({note.label for note in notes(90, label="diagnosis")["north"]}))[:3]
IN_TRAINING = (SumShare, SpectrumShare, MaskedDividend, MaskedScore, MaskedProduct, SolvedBit)
IN_TRAINING += (CheckShare, CoinShare, WeightBit)
IN_QUERIES = (MaskedScore, MaskedProduct, BitCheck, FlippedBit, QuorumLabel)
IN_EVALUATIONS = (MaskedScore, MaskedProduct, BitCheck, FlippedBit, TallyShare, SumShare)


def documents(sites: int) -> dict[str, list[Any]]:
    result = notes(120 * sites, sites=sites, label="diagnosis")
    return {
        name: [document for document in mine if document.label in GROUPS]
        for name, mine in result.items()
    }


def trained(sites: int, meddler: Meddler | None = None, *, verdict: str = "auto") -> StudyOutcome:
    """One member in three, and in five, may pool: five leave two shares to spare."""
    plan = StudyPlan("wrong", Labels(GROUPS), features=8, bucket_bits=11, engine=Engine.QUORUM)
    plan = replace(plan, min_documents=1, alpha=8.0, threshold=1, thresholds=(-0.25, 0.25))
    plan = replace(plan, evaluations=len(IN_EVALUATIONS))
    plan = replace(plan, verdict=verdict)  # type: ignore[arg-type]
    roster, identities = draw_roster(
        tuple(documents(sites)), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    return run_study(
        Study(plan, roster),
        documents(sites),
        identities=identities,
        entropy=SeededEntropy(9),
        setting=Setting(meddler=meddler),
    )


def first_of(kind: type[Message], sender: str) -> Any:
    """Adds 1 to a residue of the first share of a kind from one sender."""
    seen = []

    def when(packet: Packet) -> bool:
        if packet.sender == sender and is_kind(packet, kind):
            seen.append(packet)
        return len(seen) == 1 and seen[0] is packet

    def edit(message: Any) -> Message:
        planes = message.share.planes().copy()
        flat = planes[0].reshape(-1)
        flat[0] = (int(flat[0]) + 1) % PRIMES[0]
        return msgspec.structs.replace(message, share=wire.Residues.of(planes))

    return rewriting(when, kind, edit)


def test_every_kind_of_opening_is_tried() -> None:
    known = {
        kind
        for kind in (*IN_TRAINING, *IN_QUERIES, *IN_EVALUATIONS)
        if issubclass(kind, OpeningShare)
    }
    ours = {kind for kind in OpeningShare.__subclasses__() if "sottovoce" in kind.__module__}
    assert known == ours


@pytest.mark.parametrize("kind", IN_TRAINING, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("sites", [3, 5])
def test_a_wrong_share_stops_a_training(sites: int, kind: type[Message]) -> None:
    culprit = member_of(tuple(documents(sites))[1])
    meddler = first_of(kind, culprit)
    with pytest.raises(SottovoceError) as caught:
        trained(sites, meddler)
    assert meddler.done == 1
    if sites == 5:
        assert isinstance(caught.value, ViolationError)
        assert caught.value.party == culprit


@pytest.mark.parametrize("sites", [3, 5])
def test_a_wrong_share_stops_a_query(sites: int) -> None:
    outcome, mine = trained(sites), documents(sites)
    asker, other, *_ = mine
    expected = outcome.classify(asker, mine[asker][:3]).classes
    for kind in IN_QUERIES:
        outcome.meddler = meddler = first_of(kind, member_of(other))
        result = _refused(outcome, asker, mine[asker][:3])
        assert meddler.done == 1, kind
        if sites == 5:
            assert isinstance(result, ViolationError), kind
            assert result.party == member_of(other), kind
        elif not isinstance(result, SottovoceError):
            # With no share to spare, a wrong product may meet a zero: then nothing changes.
            assert result == expected, kind


@pytest.mark.parametrize("sites", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_a_wrong_share_stops_a_query_that_a_member_deals_for(sites: int) -> None:
    outcome, mine = trained(sites, verdict="fss"), documents(sites)
    asker, other, *_ = mine
    outcome.meddler = meddler = first_of(CoveredScore, member_of(other))
    with pytest.raises(ViolationError) as caught:
        outcome.classify(asker, mine[asker][:3])
    assert meddler.done == 1
    if sites == 5:
        assert caught.value.party == member_of(other)


@pytest.mark.parametrize("sites", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_a_wrong_share_stops_an_evaluation(sites: int) -> None:
    outcome, mine = trained(sites), documents(sites)
    for name in mine:
        outcome.tested(name, mine[name])
    culprit = member_of(tuple(mine)[1])
    for kind in IN_EVALUATIONS:
        outcome.meddler = meddler = first_of(kind, culprit)
        with pytest.raises(ViolationError) as caught:
            outcome.evaluate(mine)
        assert meddler.done == 1, kind
        if sites == 5:
            assert caught.value.party == culprit, kind


def _refused(outcome: StudyOutcome, asker: str, asked: list[Any]) -> Any:
    """The error that a query ends with, or its labels."""
    try:
        return outcome.classify(asker, asked).classes
    except SottovoceError as error:
        return error
