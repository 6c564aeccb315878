"""Damgård and Jurik's longer plaintexts beside Paillier's: plaintext bits per CPU second."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, SecretKey, decrypt, encrypt
from sottovoce.paillier.damgard_jurik import LongSecretKey, lengthened

LENGTHS = (1, 2, 3)
_COUNT = 8
_FACTOR = 2**20 - 3


def measure(key: SecretKey, *, rounds: int = 3) -> list[Row]:
    """One row for every length: bits per second of each operation, and bytes for a byte."""
    keys = {s: lengthened(key, s) for s in LENGTHS}
    jobs = {s: _jobs(long) for s, long in keys.items()}
    rates: dict[int, dict[str, float]] = {s: {} for s in LENGTHS}
    for operation in jobs[LENGTHS[0]]:
        turns = {str(s): jobs[s][operation] for s in LENGTHS}
        seconds = interleaved(turns, rounds=rounds)
        for s, long in keys.items():
            rates[s][operation] = _COUNT * long.public.plaintext_bits / seconds[str(s)]
    return [
        {
            "s": s,
            **{f"{operation}, kbit/s": rate / 1000 for operation, rate in rates[s].items()},
            "bytes sent for a byte": 8 * long.public.ciphertext_bytes / long.public.plaintext_bits,
        }
        for s, long in keys.items()
    ]


def _jobs(key: LongSecretKey) -> dict[str, Callable[[], Any]]:
    entropy, bound = SystemEntropy(), key.public.plaintext_bound
    numbers = [entropy.below(bound // _FACTOR) for _ in range(_COUNT)]
    plain = Plain(np.array(numbers, object), Scale(0, bound // _FACTOR))
    key.public.prepare(_COUNT)
    key.prepare(_COUNT)
    sealed = encrypt(key, plain, entropy=entropy)
    if decrypt(key, sealed * _FACTOR).integers.tolist() != [number * _FACTOR for number in numbers]:
        raise AssertionError(f"s = {key.public.length}: wrong product")
    return {
        "encrypt": partial(encrypt, key.public, plain, entropy=entropy),
        "encrypt as owner": partial(encrypt, key, plain, entropy=entropy),
        "decrypt": partial(decrypt, key, sealed),
        "times 20 bits": lambda: sealed * _FACTOR,
    }
