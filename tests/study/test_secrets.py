"""Every secret of a study is drawn at random and anew, and seen by those alone whom it is for."""

from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform
from harness.studies import Case
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.paillier import decrypt_residues
from sottovoce.study.in_memory import Setting
from sottovoce.study.queries.model import ReleasedShare
from sottovoce.study.stages.contributions import MomentPlan, ShareSeed, share_stream
from sottovoce.study.stages.encrypted.encrypted_training import CoveredModel
from sottovoce.study.stages.preparation import DictionaryKeyBox
from sottovoce.text.dictionary.hashing import PUBLIC


@pytest.fixture(scope="module")
def runs(binary: Case) -> list[StudyOutcome]:
    """The same study twice, with other randomness."""
    case = binary.changed(features=16)
    return [
        run_study(
            case.study,
            case.documents,
            identities=case.identities,
            entropy=SeededEntropy(seed),
            setting=Setting(key=case.key),
        )
        for seed in (21, 22)
    ]


def test_the_key_of_the_dictionary_is_drawn_anew_and_sealed(runs: list[StudyOutcome]) -> None:
    keys = [{model.key.secret for model in run.models.values()} for run in runs]
    assert len(keys[0]) == len(keys[1]) == 1
    assert keys[0] != keys[1]
    assert PUBLIC.secret not in keys[0] | keys[1]
    first = runs[0].study.roster.peers[0]
    for run, (key,) in zip(runs, keys, strict=True):
        assert run.models[first].key.secret == key
        assert run.views["coordinator"].of(DictionaryKeyBox) == []
        boxes = [
            message.box for view in run.views.values() for message in view.of(DictionaryKeyBox)
        ]
        assert len(boxes) == 2
        # Nobody but the two at its ends finds the key in what was sent.
        assert not any(key in box for box in boxes)


def test_seeds_of_shares_are_drawn_anew_by_every_peer(runs: list[StudyOutcome]) -> None:
    seeds = [message.seed for run in runs for message in run.views["evaluator"].of(ShareSeed)]
    assert len(seeds) == len(set(seeds)) == 6
    assert all(len(set(seed)) > 8 for seed in seeds)


def test_a_seed_gives_other_shares_in_another_attempt(binary: Case) -> None:
    """Else the differences of two attempts would be moments without masks."""
    layout = MomentPlan.of(binary.plan, binary.outcome.trained.totals)
    party = binary.outcome.parties["north"]
    seed = bytes(range(32))
    first, other = (
        share_stream(session, seed, layout).words(layout.length)
        for session in (party.session, b"other")
    )
    assert not (first == other).any()
    assert_looks_uniform(first[:20_000])


@pytest.mark.parametrize("engine", ["binary", "encrypted"])
def test_a_released_model_is_noise_to_the_coordinator_and_to_the_evaluator(
    engine: str, request: pytest.FixtureRequest
) -> None:
    """Each of them has one share; the peers alone have both."""
    case: Case = request.getfixturevalue(engine).changed(features=12, release="peers")
    outcome, ring = case.outcome, case.outcome.trained.scores.ring
    shares = {
        message.sender: message.message.words.array()
        for message in received(outcome, ReleasedShare)
    }
    assert set(shares) == {"coordinator", "evaluator"}
    model = outcome.models["north"]
    assert model.released is not None
    weights = np.ldexp(model.released, model.scores.weights.fraction_bits).astype(np.int64)
    for share in shares.values():
        # A share is as long as the ring, whatever the weight; half of the top bits are set.
        assert np.mean(share >> np.uint64(ring.bits - 8) != 0) > 0.9
        assert not np.array_equal(ring.signed(ring.reduce(share)), weights)
    assert np.array_equal(ring.signed(ring.reduce(sum(shares.values()))), weights)


def received(outcome: StudyOutcome, kind: type) -> list[Any]:
    return [
        message for message in outcome.views["north"].received if isinstance(message.message, kind)
    ]


def test_the_model_that_the_coordinator_opens_is_covered(encrypted: Case) -> None:
    case = encrypted.changed(features=12, release="peers")
    modulus = case.key.public.modulus
    (covered,) = case.outcome.views["coordinator"].of(CoveredModel)
    residues = decrypt_residues(case.key, covered.weights)
    assert len(residues) == 13
    # Without its masks every residue is a weight or two, far below N or just below it.
    assert sum(modulus >> 20 < residue < modulus - (modulus >> 20) for residue in residues) >= 12
    assert len({residue % 2**32 for residue in residues}) == 13
