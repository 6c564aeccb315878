"""Protocol 3 as printed: the label of its ideal, what the coordinator sees, what peers do not."""

from dataclasses import replace

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.errors import InputError, MismatchError
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, decrypt
from sottovoce.paper.local_classify import (
    LocalQuery,
    LocalTerms,
    PrintedScore,
    RunningScore,
    ideal,
    run,
)
from sottovoce.protocols.conversation import KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking

KEY = toy_key(bits=768)
TERMS = LocalTerms(
    {"alice": (0, 3), "bob": (1, 4), "carol": (2,)},
    Scale(6, 64),
    Scale(6, 64 * 40),
    Scale(10, 2**12),
    Masking(40),
)


def asked(seed: int, asker: str = "alice") -> tuple[LocalQuery, Plain]:
    rng = np.random.default_rng(seed)
    row = Plain.of(rng.uniform(-1, 1, len(TERMS.features[asker])), TERMS.row_scale)
    rado = Plain.of(rng.uniform(-40, 40, 5), TERMS.rado_scale)
    return LocalQuery(asker, row, rado), Plain.of(rng.uniform(-2, 2, 5), TERMS.theta_scale)


@pytest.mark.parametrize("asker", ["alice", "bob", "carol"])
def test_it_says_the_sign_of_its_ideal(asker: str) -> None:
    signs = set()
    for seed in range(8):
        query, theta = asked(seed, asker)
        outcome = run(TERMS, query, theta, key=KEY, entropy=SeededEntropy(seed))
        assert outcome.results[asker] == ideal(TERMS, query, theta)
        signs.add(outcome.results[asker])
    assert signs == {-1, 1}


def test_the_coordinator_reads_the_score_and_peers_see_ciphertexts_with_a_start_of_their_own() -> (
    None
):
    query, theta = asked(1)
    outcome = run(TERMS, query, theta, key=KEY, entropy=SeededEntropy(5))
    (score,) = outcome.views[KEY_HOLDER].of(PrintedScore)
    local = query.row.floats() @ theta.floats()[[0, 3]]
    remote = query.rado.floats()[[1, 4, 2]] @ theta.floats()[[1, 4, 2]]
    assert float(decrypt(KEY, score.score).floats()) == pytest.approx(local + remote)
    # Only pooled with the key would a peer open the running sum, and find R on top of it.
    (running,) = outcome.views["bob"].of(RunningScore)
    assert abs(float(decrypt(KEY, running.score).floats()) - local) > 2**30


def test_what_does_not_fit_is_named() -> None:
    query, theta = asked(2)
    with pytest.raises(InputError, match="expected an asker among alice, bob, carol, found 'dora'"):
        run(TERMS, replace(query, asker="dora"), theta, key=KEY, entropy=SeededEntropy(1))
    with pytest.raises(MismatchError, match="expected 1 features"):
        run(TERMS, replace(query, asker="carol"), theta, key=KEY, entropy=SeededEntropy(1))
    with pytest.raises(InputError, match="a feature is at two peers"):
        replace(TERMS, features={"alice": (0,), "bob": (0,)})
    with pytest.raises(InputError, match="at least two peers with a feature each, found 1"):
        replace(TERMS, features={"alice": (0,)})
