"""The noise test has power: it passes noise, and sees each way of spoiling it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.entropy import SeededEntropy
from harness.noise import assert_looks_uniform, assert_shows_structure, p_values

COUNT = 600
N = (2**521 - 1) // 7


def noise(seed: int, count: int = COUNT) -> NDArray[np.uint64]:
    return SeededEntropy(seed).words(count)


def test_noise_passes_at_every_size() -> None:
    for seed in range(60):
        assert_looks_uniform(noise(seed, 64 + 40 * seed))
    assert_looks_uniform(noise(0, 50_000))
    for seed in range(10):
        entropy = SeededEntropy(seed)
        assert_looks_uniform([entropy.below(N) for _ in range(COUNT)], N)
        assert_looks_uniform([entropy.below(97) for _ in range(COUNT)], 97)


def test_its_false_alarms_are_as_rare_as_it_says() -> None:
    worst = sorted(min(p_values(noise(seed, 200)).values()) for seed in range(200))
    assert worst[0] > 1e-4
    assert 0 < sum(p < 0.05 for p in worst) < 24


def small_values(count: int) -> NDArray[np.uint64]:
    """Fixed-point values as documents give them: small, of both signs."""
    rng = np.random.default_rng(0)
    return np.round(rng.normal(size=count) * 2**20).astype(np.int64).view(np.uint64)


@pytest.mark.parametrize("seed", range(5))
def test_it_sees_what_is_not_noise(seed: int) -> None:
    mask, values = noise(seed), small_values(COUNT)
    forgotten = mask + values
    forgotten[seed] = values[seed]
    spoilt = {
        "no mask at all": values,
        "one mask forgotten": forgotten,
        "a mask that ends 16 bits too low": values + (mask >> np.uint64(16)),
        "a mask that ends 2 bits too low": values + (mask >> np.uint64(2)),
        "a mask whose low bits are zero": (values & ~np.uint64(15)) + (mask << np.uint64(4)),
        "a mask used twice": np.concatenate([mask[:300] + values[:300], mask[:300] + values[:300]]),
        "neighbours that depend on each other": np.cumsum(mask >> np.uint64(8), dtype=np.uint64),
        "one value": np.full(COUNT, mask[0]),
    }
    for name, seen in spoilt.items():
        assert_shows_structure(seen, what=name)
    assert_looks_uniform(values + mask)


def test_it_sees_a_short_mask_on_residues() -> None:
    entropy = SeededEntropy(1)
    assert_shows_structure([entropy.bits(517) for _ in range(COUNT)], N)
    assert_shows_structure([entropy.below(N // 16) * 16 for _ in range(COUNT)], N)


def test_it_says_which_test_failed_and_refuses_too_few() -> None:
    with pytest.raises(AssertionError, match=r"her view is not noise: .* has p = "):
        assert_looks_uniform(small_values(COUNT), what="her view")
    with pytest.raises(AssertionError, match="passes for noise"):
        assert_shows_structure(noise(0))
    with pytest.raises(ValueError, match="at least 64 values, found 3"):
        p_values([1, 2, 3])
    with pytest.raises(ValueError, match="found a value outside"):
        p_values([100] * 64, 100)
