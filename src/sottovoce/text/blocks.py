"""The blocks of columns that a row of text has in addition to the words of its dictionary.

    words | tail | encoder | kernel | further columns | bias

`tail`     what was not selected, hashed with signs into so many columns: words, pairs of words and
           stretches of characters, or single words alone. They share the words' length: words and
           tail together have length 1.
`encoder`  the vector of a frozen encoder, of length 1 times the block's weight.
`kernel`   cos(s·xR + b) of that vector x (without an encoder, of words and tail), with R normal
           and b uniform, drawn from a public seed: linear regression on these columns is
           regression with a Gaussian kernel of x. Each width s to choose from has such columns.

All maps are public, and no document leaves its site through them. Encoder and kernel columns are
integer multiples of a power of two, so that encrypted scoring uses exactly the same numbers.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sottovoce.entropy import Expansion
from sottovoce.errors import SettingFault, refuse_faults
from sottovoce.hints import Hint, PlanSetting
from sottovoce.text.dictionary.hashing import Ids
from sottovoce.text.encoding import EncoderName, Floats, provided

Numbers = NDArray[np.int64]

GRID_BITS = 6
# Additional fraction bits of an encoder's entries, which are about 1/√columns.
_FINER = 4
MOST_TAIL = 1 << 15
WORDS_ALONE = "words"
TAILS = ("all", WORDS_ALONE)
MOST_KERNEL = 1 << 14
# The upper bits of an id select the bucket; column and sign of the tail are drawn anew.
_MIX = np.uint64(0xFF51AFD7ED558CCD)


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of a study: the width and the weight of each (weights are powers of two).

    `tail_idf` is the weight of a tail's word, for which no idf was counted. `tail_of` says what
    falls into the tail: "all" that was not selected, or single "words" alone. An `encoder_weight`
    of 0 leaves the vectors out but keeps their kernel columns. There are `kernel` columns for every
    width s in `kernel_width`.
    """

    tail: int = 0
    tail_idf: float = 3.0
    tail_of: str = "all"
    encoder: EncoderName | None = None
    encoder_weight: float = 1.0
    kernel: int = 0
    kernel_weight: float = 1.0
    kernel_width: float | tuple[float, ...] = 0.5

    def __post_init__(self) -> None:
        refuse_faults(self._faults())

    def _faults(self) -> Iterator[SettingFault]:
        yield SettingFault(
            not 0 <= self.tail <= MOST_TAIL,
            "tail",
            f"expected a tail of 0 to {MOST_TAIL} columns, found {self.tail}",
            Hint(PlanSetting("tail", 2048), ", or ", PlanSetting("tail", 0), " for none"),
        )
        yield SettingFault(
            not (0.5 <= self.tail_idf <= 16 and (2 * self.tail_idf).is_integer()),
            "tail_idf",
            f"expected a tail_idf from 0.5 to 16 in halves, found {self.tail_idf:g}",
            PlanSetting("tail_idf", 3.0),
        )
        yield SettingFault(
            self.tail_of not in TAILS,
            "tail_of",
            f"expected tail_of to be one of {', '.join(TAILS)}, found {self.tail_of!r}",
            PlanSetting("tail_of", WORDS_ALONE),
        )
        yield SettingFault(
            not 0 <= self.waves <= MOST_KERNEL,
            "kernel",
            f"expected 0 to {MOST_KERNEL} kernel columns, found {self.waves}",
            Hint(PlanSetting("kernel", 2048), ", or ", PlanSetting("kernel", 0), " for none"),
        )
        yield from self._width_faults()
        for name, weight in (
            ("encoder_weight", self.encoder_weight),
            ("kernel_weight", self.kernel_weight),
        ):
            none = name == "encoder_weight" and weight == 0
            yield SettingFault(
                not none and not (0.125 <= weight <= 4 and math.frexp(weight)[0] == 0.5),
                name,
                f"expected {name} of 4, 2, 1, 0.5, 0.25 or 0.125, found {weight:g}",
                PlanSetting(name, 1.0),
            )

    def _width_faults(self) -> Iterator[SettingFault]:
        widths = self.kernel_widths
        found_widths = f"found {', '.join(f'{width:g}' for width in widths) or 'none'}"
        yield SettingFault(
            not widths or not all(0 < width <= 16 for width in widths),
            "kernel_width",
            f"expected a kernel_width above 0 and up to 16, {found_widths}",
            PlanSetting("kernel_width", 0.5),
        )
        yield SettingFault(
            len(set(widths)) < len(widths),
            "kernel_width",
            f"expected different kernel widths, {found_widths}",
        )
        yield SettingFault(
            self.has_several_kernels and not self.kernel,
            "kernel_width",
            f"expected kernel columns to choose a width of, {found_widths}",
            PlanSetting("kernel", 512),
        )

    @property
    def kernel_widths(self) -> tuple[float, ...]:
        """The widths to choose from; most studies have one."""
        return self.kernel_width if isinstance(self.kernel_width, tuple) else (self.kernel_width,)

    @property
    def has_several_kernels(self) -> bool:
        """Whether one of several widths is to be chosen."""
        return len(self.kernel_widths) > 1

    @property
    def waves(self) -> int:
        """The number of kernel columns of all widths together."""
        return self.kernel * len(self.kernel_widths)

    @property
    def tail_halves(self) -> tuple[int, ...]:
        """Twice the weight of each column of the tail, in the form of idf."""
        return (round(2 * self.tail_idf),) * self.tail

    @property
    def vectors(self) -> int:
        """The number of columns of the encoder's vector."""
        return self.encoder.columns if self.encoder is not None and self.encoder_weight else 0

    @property
    def dense(self) -> int:
        """The number of columns of encoder and kernel together."""
        return self.vectors + self.waves

    @property
    def width(self) -> int:
        """The number of columns of all blocks together."""
        return self.tail + self.dense

    @property
    def bits(self) -> int:
        """The bits of the grid: encoder and kernel columns are integer multiples of 2^-bits."""
        return max((-math.frexp(unit)[1] + 1 for unit in self._units), default=0)

    @property
    def _units(self) -> tuple[float, ...]:
        """The value of one unit of an encoder column and of a kernel column."""
        units = []
        if self.vectors:
            units.append(math.ldexp(self.encoder_weight, -GRID_BITS - _FINER))
        if self.kernel:
            # √(2/N), rounded to the nearest power of two.
            share = round(math.log2(self.kernel / 2) / 2)
            units.append(math.ldexp(self.kernel_weight, -GRID_BITS - share))
        return tuple(units)

    @property
    def units(self) -> Floats:
        """The value of one unit of every encoder and kernel column."""
        sizes = [size for size in (self.vectors, self.waves) if size]
        return np.repeat(np.array(self._units, np.float64), sizes)

    @property
    def square(self) -> float:
        """The largest squared length of a row's encoder and kernel columns."""
        units, total = iter(self._units), 0.0
        if self.vectors:
            rounding = math.sqrt(self.vectors) * next(units) / 2
            total += (self.encoder_weight + rounding) ** 2
        if self.kernel:
            total += self.waves * math.ldexp(next(units), GRID_BITS) ** 2
        return total

    @property
    def reach(self) -> int:
        """The largest sum of the integers in one row's encoder and kernel columns."""
        columns = self.vectors
        entries = math.ceil(math.sqrt(columns) * 2 ** (GRID_BITS + _FINER)) + columns
        return (entries if columns else 0) + (self.waves << GRID_BITS)

    @property
    def means(self) -> Floats:
        """A public guess of the mean of every encoder and kernel column."""
        if not self.kernel:
            return np.zeros(self.vectors)
        largest, phases = math.ldexp(self._units[-1], GRID_BITS), np.cos(_phases(self))
        of_widths = [largest * math.exp(-(width**2) / 2) * phases for width in self.kernel_widths]
        return np.concatenate([np.zeros(self.vectors), *of_widths])

    def encoded(self, texts: Sequence[str], rows: sparse.csr_array) -> Numbers:
        """Return the encoder and kernel columns of each text, as integers in their units.

        `rows` are the same texts as rows of words and tail; without an encoder the kernel uses
        them.
        """
        parts = [np.zeros((len(texts), 0))]
        seen: Any = rows
        if self.encoder is not None and self.dense:
            seen = provided(self.encoder).encode(texts)
        if self.vectors:
            parts.append(np.rint(np.ldexp(seen, GRID_BITS + _FINER)))
        if self.kernel:
            places = seen @ _directions(self, seen.shape[1])
            phases = _phases(self)
            waves = (np.cos(width * places + phases) for width in self.kernel_widths)
            parts += [np.rint(np.ldexp(wave, GRID_BITS)) for wave in waves]
        return np.hstack(parts).astype(np.int64)


def tail_places(ids: Ids, columns: int) -> tuple[Numbers, Numbers]:
    """Return each id's column of the tail and its sign, both as secret as the ids' key."""
    mixed = (ids ^ (ids >> np.uint64(33))) * _MIX
    mixed ^= mixed >> np.uint64(33)
    places = ((mixed >> np.uint64(32)) * np.uint64(columns)) >> np.uint64(32)
    signs = 1 - 2 * (mixed & np.uint64(1)).astype(np.int64)
    return places.astype(np.int64), signs


@lru_cache(maxsize=2)
def _directions(blocks: Blocks, columns: int) -> NDArray[np.float32]:
    """Return R of the kernel columns, drawn from a public seed."""
    drawn, half = _drawn(blocks, f"directions of {columns}"), -(-columns // 2)
    directions = np.empty((2 * half, blocks.kernel), np.float32)
    for row in range(half):
        # Box and Muller: two normal numbers from two uniform ones.
        first, second = (_uniform(drawn, blocks.kernel) for _ in range(2))
        lengths, angles = np.sqrt(-2 * np.log(first)), 2 * np.pi * second
        directions[2 * row], directions[2 * row + 1] = (
            lengths * np.cos(angles),
            lengths * np.sin(angles),
        )
    return directions[:columns]


def _phases(blocks: Blocks) -> Floats:
    """Return b of the kernel columns."""
    return 2 * np.pi * _uniform(_drawn(blocks, "phases"), blocks.kernel)


def _drawn(blocks: Blocks, purpose: str) -> Expansion:
    seed = hashlib.sha256(f"{blocks.encoder} {blocks.kernel} {purpose}".encode()).digest()
    return Expansion(seed, "text/kernel/v1")


def _uniform(drawn: Expansion, count: int) -> Floats:
    """Return uniform numbers above 0 and up to 1."""
    return np.ldexp((drawn.words(count) >> np.uint64(11)).astype(np.float64) + 1, -53)
