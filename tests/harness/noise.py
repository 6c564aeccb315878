"""Does it look like noise? Tests of what a party saw against the uniform distribution.

Together they see, in a few hundred values, a single small value whose mask was
forgotten, a mask that is too short at either end, a mask
that was used twice, and neighbours that depend on each other.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FEWEST = 64
# A false alarm in about one of ten thousand calls; tests draw from seeds, so none comes and goes.
ALARM = 1e-4


def assert_looks_uniform(
    values: NDArray[np.uint64] | Sequence[int], modulus: int = 2**64, *, what: str = "the view"
) -> None:
    """Fails unless `values` look like independent uniform residues of `modulus`."""
    worst, name = min((p, name) for name, p in p_values(values, modulus).items())
    assert worst > ALARM, f"{what} is not noise: {name} has p = {worst:.2g}"


def assert_shows_structure(
    values: NDArray[np.uint64] | Sequence[int], modulus: int = 2**64, *, what: str = "the view"
) -> None:
    """Fails if `values` pass for noise: the proof that the test above could have failed."""
    assert min(p_values(values, modulus).values()) <= ALARM, f"{what} passes for noise"


def p_values(values: NDArray[np.uint64] | Sequence[int], modulus: int = 2**64) -> dict[str, float]:
    """For each test the chance of values that look at least as odd, corrected for their number."""
    numbers = [int(value) for value in np.asarray(values, dtype=object).reshape(-1)]
    if len(numbers) < FEWEST:
        raise ValueError(f"noise: expected at least {FEWEST} values, found {len(numbers)}")
    if any(not 0 <= number < modulus for number in numbers):
        raise ValueError("noise: expected residues of the modulus, found a value outside")
    fractions = np.array([(number << 53) // modulus for number in numbers]) / 2.0**53
    collected = {
        "the order of size": stats.kstest(fractions, "uniform").pvalue,
        "a value too close to zero": _closest(numbers, modulus),
        "the correlation of neighbours": _neighbours(fractions),
        "repeated values": _repeats(numbers, modulus),
    }
    for place, digits in _digits(numbers, modulus):
        collected[f"the {place} bits"] = _chi_square(digits, len(numbers))
    return {name: min(1.0, p * len(collected)) for name, p in collected.items()}


def _closest(numbers: list[int], modulus: int) -> float:
    """The chance that the value nearest to zero, from either side, is at least so near."""
    nearest = min(min(number, modulus - number) for number in numbers)
    return min(1.0, len(numbers) * (2 * nearest + 1) / modulus)


def _digits(numbers: list[int], modulus: int) -> list[tuple[str, NDArray[np.int64]]]:
    """Groups of bits at the top, in the middle and at the bottom, each as small integers."""
    base = 16 if len(numbers) < 4096 else 256
    levels = {"top": base, "second": base**2, "third": base**3}
    digits = [
        (place, np.array([number * scale // modulus % base for number in numbers]))
        for place, scale in levels.items()
        if scale <= modulus // 64
    ]
    # The bottom digits of a residue are uniform when the modulus is far above them.
    for place, shift in {"bottom": 0, "last but one": base.bit_length() - 1}.items():
        if modulus >> shift >= 2**20 * base:
            digits.append((place, np.array([(number >> shift) % base for number in numbers])))
    return [(f"{place} {base.bit_length() - 1}", digit) for place, digit in digits]


def _chi_square(digits: NDArray[np.int64], count: int) -> float:
    base = 16 if count < 4096 else 256
    return float(stats.chisquare(np.bincount(digits, minlength=base)).pvalue)


def _neighbours(fractions: NDArray[np.float64]) -> float:
    if np.ptp(fractions) == 0:
        return 0.0
    return float(stats.pearsonr(fractions[:-1], fractions[1:]).pvalue)


def _repeats(numbers: list[int], modulus: int) -> float:
    """The chance of at least so many pairs of equal values (Poisson)."""
    pairs = len(numbers) - len(set(numbers))
    expected = len(numbers) ** 2 / (2 * modulus)
    return float(stats.poisson.sf(pairs - 1, expected)) if expected < 1 else 1.0
