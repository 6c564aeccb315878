"""Arithmetic on all cores gives what `GMP` gives, in the same order, and counts all CPU time."""

import time
from collections.abc import Iterator
from math import prod

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.keys import toy_key
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.modular import GMP, Modulus
from sottovoce.paillier import Plain, decrypt, encrypt
from sottovoce.paper.cores import Cores

MODULUS = 2**521 - 1
KEY = toy_key(bits=768)


@pytest.fixture(scope="module")
def cores() -> Iterator[Cores]:
    with Cores(workers=2) as opened:
        yield opened


@pytest.fixture
def ring(cores: Cores) -> Modulus:
    return cores.modulo(MODULUS)


@pytest.mark.parametrize("length", range(8))
def test_every_process_does_a_part_and_order_stays(ring: Modulus, length: int) -> None:
    bases = ring.reduced([3 + 7 * number for number in range(length)])
    exponents = [5 + 11 * number for number in range(length)]
    assert ring.powers(bases, exponents) == [
        pow(int(b), e, MODULUS) for b, e in zip(bases, exponents, strict=True)
    ]
    assert ring.powers_of_all(bases, 99) == [pow(int(b), 99, MODULUS) for b in bases]
    power = ring.fixed_base(ring.reduced([5])[0], exponent_bits=64)
    power.prepare(length)
    assert power(exponents * 9) == [pow(5, e, MODULUS) for e in exponents * 9]


def test_products_of_powers(ring: Modulus) -> None:
    bases = ring.reduced(range(2, 25))
    rows = [[(-1) ** n * (n * 7919) ** 9 for n in range(k, k + len(bases))] for k in range(3)]
    wanted = [
        prod(pow(int(b), e, MODULUS) for b, e in zip(bases, row, strict=True)) % MODULUS
        for row in rows
    ]
    assert ring.combined(bases, rows) == wanted
    short = [[1, 2, *[0] * (len(bases) - 2)]]
    assert ring.combined(bases, short) == GMP.modulo(MODULUS).combined(bases, short)
    above = [[abs(e) for e in row] for row in rows]
    for tables in (
        ring.fixed_bases(bases, exponent_bits=192, uses=3),
        ring.mixed_powers(bases, exponent_bits=192),
    ):
        assert tables(above) == GMP.modulo(MODULUS).combined(bases, above)


@pytest.mark.parametrize("place", range(3))
def test_an_error_in_any_process_is_raised_here_and_nothing_is_left_over(
    cores: Cores, place: int
) -> None:
    ring = cores.modulo(21)
    bases = [2, 2, 2]
    bases[place] = 7  # shares a factor with 21
    with pytest.raises(ValueError, match="not invertible"):
        ring.powers(bases, [-1] * 3)
    assert ring.powers([2, 4, 5], [-1] * 3) == [11, 16, 17]


def test_a_key_encrypts_and_decrypts_as_on_one_core(cores: Cores) -> None:
    plain = Plain(np.arange(-4, 4), Scale(0, 16))
    there, here = (
        encrypt(key, plain, entropy=SeededEntropy(1)) for key in (KEY.with_arithmetic(cores), KEY)
    )
    assert there.residues == here.residues
    assert decrypt(KEY.with_arithmetic(cores), here).integers.tolist() == list(range(-4, 4))


def test_the_time_of_workers_counts() -> None:
    with Cores(workers=1) as opened:
        before, mine = opened.cpu_seconds(), time.process_time()
        opened.modulo(MODULUS).powers_of_all([3, 5], (1 << 600_000) - 1)
        mine = time.process_time() - mine
        assert opened.cpu_seconds() - before > 1.2 * mine
        (worker,) = opened._workers
        assert worker._process.is_alive()
    assert not worker._process.is_alive()


def test_without_a_second_core_everything_is_done_here() -> None:
    with Cores(workers=0) as alone:
        assert alone.modulo(MODULUS).powers([3, 5], [2, 2]) == [9, 25]
