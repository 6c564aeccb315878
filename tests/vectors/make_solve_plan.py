"""Writes solve_plan.json: the constants of Chebyshev iterations, in exact rational numbers.

    .venv/bin/python tests/vectors/make_solve_plan.py

Three parties on different machines must come to the same integers, so the recurrence
(Saad, Iterative Methods for Sparse Linear Systems, algorithm 12.1) is followed here without
any rounding but the last: the momentum up, the gain to the nearest.
"""

import json
from fractions import Fraction
from math import ceil, frexp
from pathlib import Path

# Ends of the spectrum, fraction bits of the constants, number of steps.
SYSTEMS = [
    (Fraction(1), Fraction(150), 8, 40),
    (Fraction(1, 4), Fraction(2001, 2), 10, 120),
    (Fraction(3), Fraction(4), 8, 6),
]


def constants(low: Fraction, high: Fraction, bits: int, steps: int) -> list[tuple[int, int]]:
    """Momentum and gain of every step, for the spectrum divided by the power of two above it."""
    scale = Fraction(2) ** frexp(float(high))[1]
    centre, radius = (high + low) / 2 / scale, (high - low) / 2 / scale
    ratio, constants = radius / centre, [(0, round(2**bits / centre))]
    for _ in range(steps - 1):
        following = 1 / (2 * centre / radius - ratio)
        momentum, gain = ratio * following, 2 * following / radius
        constants.append((ceil(momentum * 2**bits), round(gain * 2**bits)))
        # A dyadic number of 200 bits stands for the ratio: exact ones would double every step.
        ratio = Fraction(round(following * 2**200), 2**200)
    return constants


def main() -> None:
    stored = {
        "provenance": "make_solve_plan.py: Saad's algorithm 12.1 in rational numbers",
        "systems": [
            {
                "penalty": float(low),
                "ceiling": float(high),
                "constant_bits": bits,
                "constants": constants(low, high, bits, steps),
            }
            for low, high, bits, steps in SYSTEMS
        ],
    }
    path = Path(__file__).with_name("solve_plan.json")
    path.write_text(json.dumps(stored) + "\n")


if __name__ == "__main__":
    main()
