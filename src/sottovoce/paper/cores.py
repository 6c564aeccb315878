"""Arithmetic on all cores: lists are divided among this process and workers.

    this process                                    a worker for each further core
      ── an object's number, a method, a part ────▶   does its part, with tables of its own
         does the first part meanwhile
      ◀── results ─────────────────────────────────

Python multiplies in one thread at a time, so more cores need more processes. Results are those of
`GMP`. Workers belong to this process: they are sent the numbers that it computes with, secret ones
too, through pipes that nobody else has, and end with it.
"""

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import count, pairwise
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Self

from sottovoce.clusters.local_cores import usable_cores
from sottovoce.numbers.modular import (
    GMP,
    Arithmetic,
    FixedBases,
    FixedPower,
    Modulus,
    Residue,
)
from sottovoce.numbers.multiexp import SparseRow

# From so much work on, half of it takes longer than the way through the pipe: bits of all exponents
# of a product, powers of one base from its tables, powers or products of a base each.
_DIVIDED_BITS = 1 << 10
_DIVIDED_POWERS = 16
_DIVIDED_ITEMS = 2
# What every worker has from the beginning.
_ARITHMETIC, _CLOCK = 0, -1


class Cores(Arithmetic):
    """`GMP` on several cores, and a context manager that ends the workers."""

    name = "CORES"

    def __init__(self, workers: int | None = None) -> None:
        """Start `workers`; by default one for each core but this process's own."""
        number = usable_cores() - 1 if workers is None else workers
        self._workers = [_Worker() for _ in range(number)]
        self._numbers = count(1)
        self._turns = count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()

    def cpu_seconds(self) -> float:
        """The CPU time of this process and the workers."""
        for worker in self._workers:
            worker.order(_CLOCK, "__call__")
        theirs = sum(float(worker.result()) for worker in self._workers)
        return time.process_time() + theirs

    def modulo(self, modulus: int) -> Modulus:
        """The same modulus, on all cores."""
        return _DividedModulus(self, GMP.modulo(modulus))

    def gcd(self, left: int, right: int) -> int:
        """The greatest common divisor."""
        return GMP.gcd(left, right)

    def jacobi(self, number: int, modulus: int) -> int:
        """The Jacobi symbol."""
        return GMP.jacobi(number, modulus)

    def is_prime(self, number: int) -> bool:
        """Whether the number is prime."""
        return GMP.is_prime(number)

    def made(self, place: int, method: str, *arguments: Any, **named: Any) -> int:
        """Let every worker make an object by a method of another one; return its number."""
        number = next(self._numbers)
        for worker in self._workers:
            worker.order(place, method, *arguments, becomes=number, **named)
        return number

    def parts(self, length: int, *, fewest: int) -> list[slice]:
        """Cut a list into a part for each process; each has the longer one in turn.

        Fewer than `fewest` values stay here.
        """
        processes = 1 + len(self._workers)
        if length < fewest:
            return [slice(0, length), *[slice(length, length)] * (processes - 1)]
        turn = next(self._turns) % processes
        cuts = [(i * length + turn) // processes for i in range(processes + 1)]
        return [slice(start, stop) for start, stop in pairwise(cuts)]

    def divided(
        self,
        place: int,
        method: str,
        mine: Callable[..., list[Residue]],
        parts: Sequence[Sequence[Sequence[Any]]],
    ) -> list[list[Residue]]:
        """Return the results of each process's arguments; those of the first are `mine`."""
        busy = [
            (worker, part) for worker, part in zip(self._workers, parts[1:], strict=True) if part[0]
        ]
        for worker, part in busy:
            worker.order(place, method, *part)
        try:
            results = [mine(*parts[0])]
        finally:
            answers = [worker.result() for worker, _ in busy]
        return results + [_checked(answer) for answer in answers]


class _Worker:
    def __init__(self) -> None:
        # A forked process would inherit locks that threads of this one hold.
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def order(
        self, place: int, method: str, *arguments: Any, becomes: int | None = None, **named: Any
    ) -> None:
        self._pipe.send((place, method, arguments, named, becomes))

    def result(self) -> Any:
        return self._pipe.recv()

    def close(self) -> None:
        self._pipe.close()
        self._process.join()


def _work(pipe: Connection) -> None:
    """In a worker: do what is ordered until the pipe is closed."""
    objects: dict[int, Any] = {_ARITHMETIC: GMP, _CLOCK: time.process_time}
    while True:
        try:
            place, method, arguments, named, becomes = pipe.recv()
        except EOFError:
            return
        try:
            result = getattr(objects[place], method)(*arguments, **named)
        except (ArithmeticError, ValueError) as error:
            result = error
        if becomes is None:
            pipe.send(result)
        else:
            objects[becomes] = result


def _checked(answer: Any) -> Any:
    if isinstance(answer, Exception):
        raise answer
    return answer


class _Divided:
    """A function of one list at a place of every process."""

    def __init__(
        self,
        cores: Cores,
        place: int,
        mine: Callable[[Sequence[Any]], list[Residue]],
        *,
        fewest: int,
    ) -> None:
        self._cores = cores
        self._place = place
        self._mine = mine
        self._fewest = fewest

    def results(self, values: Sequence[Any]) -> list[Residue]:
        cuts = self._cores.parts(len(values), fewest=self._fewest)
        parts = [(values[cut],) for cut in cuts]
        results = self._cores.divided(self._place, "__call__", self._mine, parts)
        return [value for result in results for value in result]


class _DividedPower:
    def __init__(self, cores: Cores, place: int, mine: FixedPower) -> None:
        self._divided = _Divided(cores, place, mine, fewest=_DIVIDED_POWERS)
        self._prepared = partial(cores.made, place, "prepare")
        self._mine = mine

    def __call__(self, exponents: Sequence[int]) -> list[Residue]:
        return self._divided.results(exponents)

    def prepare(self, uses: int) -> None:
        self._prepared(uses)
        self._mine.prepare(uses)


class _DividedBases:
    def __init__(self, cores: Cores, place: int, mine: FixedBases) -> None:
        self._divided = _Divided(cores, place, mine, fewest=_DIVIDED_ITEMS)

    def __call__(self, rows: Sequence[Sequence[int]]) -> list[Residue]:
        return self._divided.results(rows)


class _DividedModulus(Modulus):
    def __init__(self, cores: Cores, inner: Modulus) -> None:
        super().__init__(inner.modulus)
        self.modulus = inner.modulus
        self._cores = cores
        self._inner = inner

    @cached_property
    def _place(self) -> int:
        return self._cores.made(_ARITHMETIC, "modulo", self.modulus)

    def reduced(self, values: Sequence[int]) -> list[Residue]:
        return self._inner.reduced(values)

    def multiplied(self, left: Sequence[Residue], right: Sequence[Residue]) -> list[Residue]:
        return self._inner.multiplied(left, right)

    def product(self, values: Sequence[Residue]) -> Residue:
        return self._inner.product(values)

    def powers(self, bases: Sequence[Residue], exponents: Sequence[int]) -> list[Residue]:
        cuts = self._cores.parts(len(bases), fewest=_DIVIDED_ITEMS)
        parts = [(bases[cut], exponents[cut]) for cut in cuts]
        results = self._cores.divided(self._place, "powers", self._inner.powers, parts)
        return [power for result in results for power in result]

    def powers_of_all(self, bases: Sequence[Residue], exponent: int) -> list[Residue]:
        # The inner twin's method of this name would start threads on top.
        return self.powers(bases, [exponent] * len(bases))

    def inverses(self, values: Sequence[Residue]) -> list[Residue]:
        return self._inner.inverses(values)

    def invertible(self, values: Sequence[Residue]) -> bool:
        return self._inner.invertible(values)

    def fixed_base(self, base: Residue, *, exponent_bits: int) -> FixedPower:
        mine = self._inner.fixed_base(base, exponent_bits=exponent_bits)
        place = self._cores.made(self._place, "fixed_base", base, exponent_bits=exponent_bits)
        return _DividedPower(self._cores, place, mine)

    def fixed_bases(self, bases: Sequence[Residue], *, exponent_bits: int, uses: int) -> FixedBases:
        named = {"exponent_bits": exponent_bits, "uses": uses}
        place = self._cores.made(self._place, "fixed_bases", bases, **named)
        return _DividedBases(self._cores, place, self._inner.fixed_bases(bases, **named))

    def combined(self, bases: Sequence[Residue], rows: Sequence[Sequence[int]]) -> list[Residue]:
        bits = sum(int(exponent).bit_length() for row in rows for exponent in row)
        if bits < _DIVIDED_BITS:
            return self._inner.combined(bases, rows)
        cuts = self._cores.parts(len(bases), fewest=_DIVIDED_ITEMS)
        parts = [(bases[cut], [row[cut] for row in rows]) for cut in cuts]
        results = self._cores.divided(self._place, "combined", self._inner.combined, parts)
        return [self._inner.product(factors) for factors in zip(*results, strict=True)]

    def joined(self, values: Sequence[Residue], *, shift: int) -> Residue:
        return self._inner.joined(values, shift=shift)

    def joined_with_power(
        self, values: Sequence[Residue], *, shift: int, base: Residue, exponent: int
    ) -> Residue:
        return self._inner.joined_with_power(values, shift=shift, base=base, exponent=exponent)

    def combined_sparse(self, bases: Sequence[Residue], rows: Sequence[SparseRow]) -> list[Residue]:
        return self._inner.combined_sparse(bases, rows)
