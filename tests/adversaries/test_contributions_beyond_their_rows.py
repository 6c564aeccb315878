"""One peer that claims its few documents and contributes as if they were many: named, or stopped.

What it contributes is moments of true rows that are all called urgent, several times over; and
it tells the end of the spectrum that belongs to them. So the solve converges, its residual is
small, and nothing but the comparison with the claimed rows can notice.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from harness.entities import toy, wards
from harness.entropy import SeededEntropy
from harness.studies import BINARY, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.rados.moments import Moments
from sottovoce.study import InsecureToyPlan, Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.in_memory import Setting
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import (
    blocks,
    contributions,
    quorum_contributions,
    solving,
)
from sottovoce.study.stages.encrypted import encrypted_training
from sottovoce.study.stages.holdings import PeerBlocks
from sottovoce.text.documents import Document

MALLORY = "valley"
TIMES = 9.0


def study_of(engine: Engine, **settings: Any) -> tuple[Study, Any]:
    names, quorum = tuple(notes(30)), engine is Engine.QUORUM
    roster, identities = draw_roster(
        names, entropy=SeededEntropy(3), with_dealer=not quorum, with_evaluator=not quorum
    )
    kind = StudyPlan if quorum else InsecureToyPlan
    more = {} if quorum else {"key_bits": 768}
    settings = {"features": 6 if engine is Engine.PAILLIER else 48} | settings
    plan = kind("heavy", BINARY, dictionary="hashed", engine=engine, **more, **settings)
    return Study(plan, roster), identities


def trained(engine: Engine, key: SecretKey, **settings: Any) -> StudyOutcome:
    study, identities = study_of(engine, **settings)
    return run_study(
        study,
        notes(240),
        identities=identities,
        entropy=SeededEntropy(9),
        setting=Setting(key=None if engine is Engine.QUORUM else key),
    )


def deviate(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = contributions.drawn_moments

    def drawn(party: Any, prepared: Any, training: Sequence[Document]) -> Moments:
        moments = honest(party, prepared, training)
        if party.name == MALLORY:
            moments._upper *= TIMES
            moments.totals *= TIMES
            moments.weight *= TIMES
            moments.products[:] = moments.totals[:, np.newaxis]
            moments.target_totals[:] = moments.weight
        return moments

    monkeypatch.setattr(contributions, "drawn_moments", drawn)
    monkeypatch.setattr(quorum_contributions, "drawn_moments", drawn)
    monkeypatch.setattr(encrypted_training, "drawn_moments", drawn)


@contextmanager
def unchecked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everybody leaves the comparison out."""

    def nothing(*_: Any, **__: Any) -> Party[None]:
        yield from ()

    with monkeypatch.context() as patched:
        patched.setattr(quorum_contributions, "check_weights", nothing)
        patched.setattr(quorum_contributions, "open_weights", nothing)
        for name in ("check_moments", "deal_moment_check"):
            patched.setattr(solving, name, nothing)
        patched.setattr(encrypted_training, "_check", nothing)
        yield


def share_called_urgent(outcome: StudyOutcome) -> float:
    asked = [note for note in notes(240)["north"] if note.label == "routine"][:24]
    labels = outcome.classify("north", asked).classes
    return labels.count(("urgent",)) / len(asked)


# Exact moments, or rados that stand for them: of few rados chance alone may make much.
KINDS = [{}, {"contribution": "rados", "rados": 4000}]


@pytest.mark.parametrize("kind", KINDS, ids=["exact", "rados"])
def test_in_a_quorum_the_peer_is_named(
    kind: dict[str, Any], toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    deviate(monkeypatch)
    with pytest.raises(ViolationError, match="larger than its claimed rows can give") as caught:
        trained(Engine.QUORUM, toy_key, **kind)
    assert caught.value.party == MALLORY


@pytest.mark.parametrize("kind", KINDS, ids=["exact", "rados"])
@pytest.mark.parametrize("engine", [Engine.SHARES, Engine.PAILLIER])
def test_on_shares_and_on_ciphertexts_the_study_stops(
    engine: Engine, kind: dict[str, Any], toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    deviate(monkeypatch)
    with pytest.raises(MismatchError, match="larger than the published rows can give"):
        trained(engine, toy_key, **kind)


@dataclass(frozen=True, repr=False)
class Larger(PeerBlocks):
    """Block columns that are too large, beside the right-hand side and the end of true ones."""

    true: PeerBlocks

    @property
    def moments(self) -> Moments:
        return self.true.moments


@pytest.mark.parametrize("engine", [Engine.SHARES, Engine.PAILLIER])
def test_columns_of_entities_that_are_larger_than_columns_can_be_stop_the_study(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In partition `features` one peer writes the largest numbers that there is room for."""
    honest = blocks.own_blocks

    def own(party: Any, prepared: Any, training: Any) -> PeerBlocks:
        mine = honest(party, prepared, training)
        if party.name != "bob":
            return mine
        largest = 0.99 * prepared.totals.rows**0.5
        return Larger(np.where(mine.rows, largest, 0.0), mine.targets, mine.blocks, mine)

    for module in (blocks, encrypted_training):
        monkeypatch.setattr(module, "own_blocks", own)
    peers = wards()
    with pytest.raises(MismatchError, match="larger than the published rows can give"):
        toy(engine=engine, categories=peers.categories, held_out=0.0).fit(peers.federation())


@pytest.mark.parametrize(
    "engine", [Engine.QUORUM, Engine.SHARES, pytest.param(Engine.PAILLIER, marks=pytest.mark.soak)]
)
def test_without_the_comparison_the_residual_is_small_and_the_model_is_the_peers(
    engine: Engine, toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = share_called_urgent(trained(engine, toy_key))
    deviate(monkeypatch)
    with unchecked(monkeypatch):
        assert share_called_urgent(trained(engine, toy_key)) > honest + 0.25
