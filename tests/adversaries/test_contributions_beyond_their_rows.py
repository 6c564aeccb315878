"""One peer that claims its few documents and contributes as if they were many: named, or stopped.

What it contributes is moments of true rows that are all called urgent, several times over; and
it tells the end of the spectrum that belongs to them. So the solve converges, its residual is
small, and nothing but the comparison with the claimed rows can notice.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, notes
from sottovoce.course.memory import Setting, StudyOutcome, run_study
from sottovoce.errors import MismatchError, ViolationError
from sottovoce.paillier import SecretKey
from sottovoce.protocols.conversation import Party
from sottovoce.rados.moments import Moments
from sottovoce.study import InsecureToyPlan, Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages import contributions, quorum_contributions, solving
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
    plan = kind(
        "heavy", BINARY, features=48, dictionary="hashed", engine=engine, **more, **settings
    )
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


@contextmanager
def unchecked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Everybody leaves the comparison out."""

    def nothing(*_: Any, **__: Any) -> Party[None]:
        yield from ()

    with monkeypatch.context() as patched:
        patched.setattr(quorum_contributions, "check_weights", nothing)
        patched.setattr(quorum_contributions, "open_weights", nothing)
        patched.setattr(solving, "bounds_of", lambda *_, **__: None)
        yield


def share_called_urgent(outcome: StudyOutcome) -> float:
    asked = [note for note in notes(240)["north"] if note.label == "routine"]
    found = outcome.classify("north", asked).classes
    return found.count(("urgent",)) / len(asked)


def test_in_a_quorum_the_peer_is_named(toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    deviate(monkeypatch)
    with pytest.raises(ViolationError, match="the rows that the peer claimed") as caught:
        trained(Engine.QUORUM, toy_key)
    assert caught.value.party == MALLORY


def test_in_shares_the_study_stops(toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> None:
    deviate(monkeypatch)
    with pytest.raises(MismatchError, match="no more than the published rows can have"):
        trained(Engine.SHARES, toy_key)


@pytest.mark.parametrize("engine", [Engine.QUORUM, Engine.SHARES])
def test_without_the_comparison_the_residual_is_small_and_the_model_is_the_peers(
    engine: Engine, toy_key: SecretKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = share_called_urgent(trained(engine, toy_key))
    deviate(monkeypatch)
    with unchecked(monkeypatch):
        assert share_called_urgent(trained(engine, toy_key)) > honest + 0.25
