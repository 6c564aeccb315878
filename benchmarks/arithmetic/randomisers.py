"""What a ciphertext pays on its way to the key holder: a uniform r^N, beside a short power."""

from benchmarks.timing import interleaved
from sottovoce.cli.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.paillier import PublicKey, generate

# So many ciphertexts a turn.
_COUNT = 8


def measure(*, bits: int, rounds: int) -> list[Row]:
    """Milliseconds of CPU time for each ciphertext, both ways, and their ratio."""
    return measure_key(generate(bits, entropy=SystemEntropy()).public, rounds=rounds)


def measure_key(key: PublicKey, *, rounds: int) -> list[Row]:
    """The same for a key that is there already, its table of powers made."""
    entropy = SystemEntropy()
    key.rerandomisers(_COUNT, entropy=entropy)
    seconds = interleaved(
        {
            "short": lambda: key.rerandomisers(_COUNT, entropy=entropy),
            "uniform": lambda: key.uniform_randomisers(_COUNT, entropy=entropy),
        },
        rounds=rounds,
    )
    uniform, short = (1000 * seconds[name] / _COUNT for name in ("uniform", "short"))
    return [
        {
            "operation": "uniform r^N",
            "partner": "a power of the key's base",
            "ours": uniform,
            "theirs": short,
            "ratio": uniform / short,
        }
    ]
