"""What a ciphertext pays on its way to the key holder: a uniform power, beside a short one."""

from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.paillier import PublicKey, generate
from sottovoce.paillier.uniform_powers import UniformPowers

# So many ciphertexts a turn.
_COUNT = 8
_SHORT = "a power of the key's base"
_DIRECT, _PRODUCT = "uniform r^N", "product of uniform powers"


def measure(*, bits: int, rounds: int) -> list[Row]:
    """Milliseconds of CPU time for each ciphertext, every way, and their ratios."""
    return measure_key(generate(bits, entropy=SystemEntropy()).public, rounds=rounds)


def measure_key(key: PublicKey, *, rounds: int) -> list[Row]:
    """The same for a key that is there already, its tables made."""
    entropy, powers = SystemEntropy(), UniformPowers(key)
    key.rerandomisers(_COUNT, entropy=entropy)
    powers.draw(powers.count + 1, entropy=entropy)
    seconds = interleaved(
        {
            _SHORT: lambda: key.rerandomisers(_COUNT, entropy=entropy),
            _DIRECT: lambda: key.direct_powers(_COUNT, entropy=entropy),
            _PRODUCT: lambda: powers.draw(_COUNT, entropy=entropy),
        },
        rounds=rounds,
    )
    each = {name: 1000 * spent / _COUNT for name, spent in seconds.items()}
    return [
        {
            "operation": name,
            "partner": _SHORT,
            "ours": each[name],
            "theirs": each[_SHORT],
            "ratio": each[name] / each[_SHORT],
        }
        for name in (_DIRECT, _PRODUCT)
    ]
