"""A coordinator tells the members of a quorum that the joint spectrum ends elsewhere.

It alone opens the sum of what the peers told of their spectra. With an end that is too low, the
numbers of the solve grow out of their masks (protocols/quorum/test_told_check.py shows what it then
reads).
"""

from typing import Any

import msgspec
import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import Change, is_kind, rewriting
from harness.studies import BINARY, notes
from sottovoce import wire
from sottovoce.course.training.memory import run_study
from sottovoce.errors import SottovoceError, ViolationError
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.quorum.opening import OpenedValues
from sottovoce.protocols.quorum.solve import QuorumPlanHash
from sottovoce.protocols.quorum.sums import COUNT_BASE
from sottovoce.protocols.seat import Packet
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import quorum_contributions
from sottovoce.study.stages.quorum_contributions import SpectrumShare


class Lower:
    """Tells all members that the spectrum ends at a quarter of what was opened."""

    def __init__(self) -> None:
        self.asked = self.solving = False
        self.meddler: Change = rewriting(self.when, OpenedValues, self.edit)

    def when(self, packet: Packet) -> bool:
        self.asked = self.asked or is_kind(packet, SpectrumShare)
        self.solving = self.solving or is_kind(packet, QuorumPlanHash)
        return self.asked and not self.solving and is_kind(packet, OpenedValues)

    @staticmethod
    def edit(message: Any) -> Any:
        ends = COUNT_BASE.signed(message.values.planes())
        planes = COUNT_BASE.of(np.array([int(ends[0]) // 4, *ends[1:]], object))
        return msgspec.structs.replace(message, values=wire.Residues.of(planes))


def trained(lower: Lower) -> None:
    roster, identities = draw_roster(
        tuple(notes(90)), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    plan = StudyPlan("ends", BINARY, features=8, bucket_bits=11, engine=Engine.QUORUM)
    run_study(
        Study(plan, roster),
        notes(90),
        identities=identities,
        entropy=SeededEntropy(9),
        setting=Setting(meddler=lower.meddler),
    )


def test_the_coordinator_is_named_before_the_solve_begins() -> None:
    lower = Lower()
    with pytest.raises(ViolationError, match="we were told something else") as caught:
        trained(lower)
    assert caught.value.party == "coordinator"
    assert lower.meddler.done == 3
    assert not lower.solving


def test_members_that_believe_it_begin_to_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> Party[None]:
        yield from ()

    monkeypatch.setattr(quorum_contributions, "check_told", nothing)
    monkeypatch.setattr(quorum_contributions, "tell_who_is_there", nothing)
    lower = Lower()
    # An honest program of the coordinator has the true end: a dishonest one would agree.
    with pytest.raises(SottovoceError, match="the plan for the solve is not ours"):
        trained(lower)
    assert lower.solving
