"""Our Paillier beside phe's and sf-heu's: the same tasks, in turns, with every answer checked.

Keys, and the tables that belong to a key, are made beforehand by everybody.
Whatever belongs to a ciphertext (ours: the pool of randomisers) is made while
the clock runs. A slow partner does a part of a task and its rate is computed
from that part; rows of a matrix and documents cost the same each.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from benchmarks.arithmetic.schemes import VALUE_BITS, WORDS, LibraryScheme, Ours, partners
from benchmarks.timing import interleaved
from sottovoce.cli.terminal.measurements import Row
from sottovoce.entropy import SystemEntropy
from sottovoce.paillier import SecretKey, generate

SIZE = 256
ENTRY_BITS = 20
DOCUMENTS = 1000
VOCABULARY = 2048
WEIGHT_BITS = 30

Job = Callable[[], Any]
Making = Callable[[LibraryScheme, int], Job]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class PaillierTask:
    """One operation: how each library does it, what it must give, and how much of it is one."""

    operation: str
    job: Making
    answer: Callable[[LibraryScheme, Any], list[int]]
    expected: Sequence[int]
    ours: int
    theirs: int
    # Rates are counted in these: 1 for single operations, 256 rows for one matrix product.
    whole: int = 1
    # What takes microseconds is done several times while the clock runs.
    times: int = 1


def measure(*, bits: int, rounds: int = 5, progress: Progress = lambda _: None) -> list[Row]:
    """One row per operation and partner: rates per second of CPU time, and their ratio."""
    progress("making keys")
    return measure_key(generate(bits, entropy=SystemEntropy()), rounds=rounds, progress=progress)


def measure_key(key: SecretKey, *, rounds: int, progress: Progress) -> list[Row]:
    """The same for a key that is there already."""
    ours, others = Ours(key), partners(key)
    rows: list[Row] = []
    for task in _tasks(ours):
        progress(task.operation)
        rows += _rows(task, ours, others, rounds)
    return rows


def _rows(
    task: PaillierTask, ours: Ours, others: Sequence[LibraryScheme], rounds: int
) -> list[Row]:
    counts: dict[LibraryScheme, int] = {ours: task.ours} | dict.fromkeys(others, task.theirs)
    jobs = {scheme: task.job(scheme, count) for scheme, count in counts.items()}
    for scheme, job in jobs.items():
        answer = task.answer(scheme, job())
        if answer != list(task.expected[: counts[scheme]]):
            raise AssertionError(f"{scheme.name}: wrong answer to {task.operation}")
    turns = {scheme.name: _repeated(job, task.times) for scheme, job in jobs.items()}
    seconds = interleaved(turns, rounds=rounds)
    rate = {s.name: n * task.times / task.whole / seconds[s.name] for s, n in counts.items()}
    return [
        {
            "operation": task.operation,
            "partner": other.name,
            "ours": rate[ours.name],
            "theirs": rate[other.name],
            "ratio": rate[ours.name] / rate[other.name],
        }
        for other in others
    ]


def _tasks(ours: Ours) -> list[PaillierTask]:
    random = Random(1)  # noqa: S311 - sample values, not secrets
    return [*_single_tasks(random), *_packed_tasks(random, ours), *_whole_tasks(random)]


def _single_tasks(random: Random) -> list[PaillierTask]:
    values = _signed(random, 200, VALUE_BITS)
    sums = [a + b for a, b in zip(values, reversed(values), strict=True)]
    tasks = [
        PaillierTask("encrypt", _encrypts(values), _decrypted, values, ours=120, theirs=8),
        PaillierTask("decrypt", _decrypts(values), _as_it_is, values, ours=60, theirs=12),
        PaillierTask("add", _adds(values), _decrypted, sums, ours=200, theirs=200, times=20),
    ]
    # sf-heu takes factors that fit into an int64.
    for bits, magnitude in ((20, 20), (64, 63)):
        factors = _signed(random, len(values), magnitude)
        products = [a * f for a, f in zip(values, factors, strict=True)]
        job = _multiplies(values, factors)
        tasks.append(PaillierTask(f"times{bits}", job, _decrypted, products, ours=40, theirs=40))
    return tasks


def _packed_tasks(random: Random, ours: Ours) -> list[PaillierTask]:
    values = _signed(random, 60 * ours.slots, VALUE_BITS)
    return [
        PaillierTask(
            "encrypt_packed",
            lambda scheme, n: lambda: scheme.encrypt_packed(values[:n]),
            lambda scheme, packed: scheme.decrypt_packed(packed),
            values,
            ours=len(values),
            theirs=8,
        ),
        PaillierTask(
            "decrypt_packed",
            lambda scheme, n: _with(scheme.encrypt_packed(values[:n]), scheme.decrypt_packed),
            _as_it_is,
            values,
            ours=len(values),
            theirs=12,
        ),
    ]


def _whole_tasks(random: Random) -> list[PaillierTask]:
    vector = _signed(random, SIZE, VALUE_BITS)
    matrix = [_signed(random, SIZE, ENTRY_BITS) for _ in range(SIZE)]
    product = [sum(a * x for a, x in zip(row, vector, strict=True)) for row in matrix]
    weights = _signed(random, VOCABULARY, WEIGHT_BITS)
    documents = [random.sample(range(VOCABULARY), WORDS) for _ in range(DOCUMENTS)]
    scores = [sum(weights[word] for word in words) for words in documents]
    return [
        PaillierTask(
            "matvec256",
            lambda scheme, n: _with(
                scheme.prepared(vector, bits=VALUE_BITS), lambda x: scheme.matvec(matrix[:n], x)
            ),
            _decrypted,
            product,
            ours=SIZE,
            theirs=6,
            whole=SIZE,
        ),
        PaillierTask(
            "classify1000",
            lambda scheme, n: _with(
                scheme.prepared(weights, bits=WEIGHT_BITS),
                lambda x: scheme.classify(documents[:n], x),
            ),
            _as_it_is,
            scores,
            ours=DOCUMENTS,
            theirs=40,
            whole=DOCUMENTS,
        ),
    ]


def _signed(random: Random, count: int, bits: int) -> list[int]:
    """Numbers of exactly `bits` bits, of either sign."""
    top = 1 << bits - 1
    return [random.choice((-1, 1)) * (top | random.getrandbits(bits - 1)) for _ in range(count)]


def _repeated(job: Job, times: int) -> Job:
    def run() -> None:
        for _ in range(times):
            job()

    return run


def _with(value: Any, act: Callable[[Any], Any]) -> Job:
    return lambda: act(value)


def _encrypts(values: Sequence[int]) -> Making:
    return lambda scheme, n: lambda: scheme.encrypt(values[:n])


def _decrypts(values: Sequence[int]) -> Making:
    return lambda scheme, n: _with(scheme.encrypt(values[:n]), scheme.decrypt)


def _adds(values: Sequence[int]) -> Making:
    def make(scheme: LibraryScheme, count: int) -> Job:
        left = scheme.prepared(values[:count], bits=VALUE_BITS)
        right = scheme.prepared(values[::-1][:count], bits=VALUE_BITS)
        return lambda: scheme.add(left, right)

    return make


def _multiplies(values: Sequence[int], factors: Sequence[int]) -> Making:
    def make(scheme: LibraryScheme, count: int) -> Job:
        numbers = scheme.prepared(values[:count], bits=VALUE_BITS)
        return lambda: scheme.times(numbers, factors[:count])

    return make


def _decrypted(scheme: LibraryScheme, ciphertexts: Any) -> list[int]:
    return scheme.decrypt(ciphertexts)


def _as_it_is(_: LibraryScheme, numbers: Any) -> list[int]:
    return list(numbers)
