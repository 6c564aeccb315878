"""The blocks of columns that a row of text has in addition to the words of its dictionary.

    words | tail | encoder | kernel | own scores | further columns | bias

`tail`     what was not selected, hashed with signs into so many columns: words, pairs of words and
           stretches of characters, or single words alone. They share the words' length: words and
           tail together have length 1.
`encoder`  the vector of a frozen encoder, of length 1 times the block's weight.
`kernel`   cos(s·xR + b) of that vector x (without an encoder, of words and tail), with R normal
           and b uniform, drawn from a public seed: linear regression on these columns is
           regression with a Gaussian kernel of x. Each width s to choose from has such columns.
`own`      what a model of the site's own documents alone says of the document, a score a class
           (own_scores.py), of length 1 at most times the block's weight.

The other maps are public, and no document leaves its site through any of them. These columns are
integer multiples of a power of two, so that encrypted scoring uses exactly the same numbers.
"""

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    width s in `kernel_width`. An `own_weight` of 0 means no own scores; the plan says how many
    `own_scores` there are. Of several weights of a block the heaviest is that of the columns, and
    lighter ones follow from penalties.
    """

    tail: int = 0
    tail_idf: float = 3.0
    tail_of: str = "all"
    encoder: EncoderName | None = None
    encoder_weight: float = 1.0
    kernel: int = 0
    kernel_weight: float | tuple[float, ...] = 1.0
    kernel_width: float | tuple[float, ...] = 0.5
    own_weight: float | tuple[float, ...] = 0.0
    own_scores: int = 0

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
        yield from _weight_faults("encoder_weight", (self.encoder_weight,), or_none=True)
        yield from _weight_faults("kernel_weight", self.kernel_weights)
        yield from _weight_faults("own_weight", self.own_weights, or_none=True)
        yield SettingFault(
            len(self.kernel_weights) > 1 and not self.kernel,
            "kernel_weight",
            f"expected kernel columns to choose a weight of, found weights {self.kernel_weights}",
            PlanSetting("kernel", 512),
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
        return _several(self.kernel_width)

    @property
    def kernel_weights(self) -> tuple[float, ...]:
        """The weights of the kernel to choose from; most studies have one."""
        return _several(self.kernel_weight)

    @property
    def own_weights(self) -> tuple[float, ...]:
        """The weights of own scores to choose from; most studies have none of these columns."""
        return _several(self.own_weight)

    def of_scores(self, scores: int) -> "Blocks":
        """Return the blocks of a study whose models give so many scores."""
        return replace(self, own_scores=scores if self.has_own_scores else 0)

    @property
    def has_own_scores(self) -> bool:
        """Whether rows have scores of the site's own model."""
        return any(self.own_weights)

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
    def mapped(self) -> int:
        """The number of columns of encoder and kernel together."""
        return self.vectors + self.waves

    @property
    def dense(self) -> int:
        """The number of columns of encoder, kernel and own scores together."""
        return self.mapped + self.own_scores

    @property
    def width(self) -> int:
        """The number of columns of all blocks together."""
        return self.tail + self.dense

    @property
    def bits(self) -> int:
        """The bits of the grid: the dense columns are integer multiples of 2^-bits."""
        used = (unit for unit, size in self._units if size)
        return max((-math.frexp(unit)[1] + 1 for unit in used), default=0)

    @property
    def _units(self) -> tuple[tuple[float, int], ...]:
        """The value of one unit of an encoder, a kernel and an own column, and how many there are.

        √(2/N) of N kernel columns is rounded to the nearest power of two.
        """
        share = round(math.log2(self.kernel / 2) / 2) if self.kernel else 0
        return (
            (math.ldexp(self.encoder_weight, -GRID_BITS - _FINER), self.vectors),
            (math.ldexp(max(self.kernel_weights), -GRID_BITS - share), self.waves),
            (math.ldexp(max(self.own_weights), -GRID_BITS), self.own_scores),
        )

    @property
    def units(self) -> Floats:
        """The value of one unit of every encoder, kernel and own column."""
        return np.concatenate([np.full(size, unit) for unit, size in self._units])

    @property
    def square(self) -> float:
        """The largest squared length of a row's dense columns."""
        (vector, vectors), (wave, waves), _ = self._units
        rounding = math.sqrt(vectors) * vector / 2
        total = (self.encoder_weight + rounding) ** 2 if vectors else 0.0
        total += waves * math.ldexp(wave, GRID_BITS) ** 2
        own: float = max(self.own_weights) if self.own_scores else 0.0
        return total + own**2

    @property
    def reach(self) -> int:
        """The largest sum of the integers in one row's dense columns."""
        columns = self.vectors
        entries = math.ceil(math.sqrt(columns) * 2 ** (GRID_BITS + _FINER)) + columns
        own: int = math.ceil(math.sqrt(self.own_scores) * (1 << GRID_BITS))
        return (entries if columns else 0) + (self.waves << GRID_BITS) + own

    @property
    def means(self) -> Floats:
        """A public guess of the mean of every dense column."""
        before, after = np.zeros(self.vectors), np.zeros(self.own_scores)
        if not self.kernel:
            return np.concatenate([before, after])
        _, (wave, _), _ = self._units
        largest, phases = math.ldexp(wave, GRID_BITS), np.cos(_phases(self))
        of_widths = [largest * math.exp(-(width**2) / 2) * phases for width in self.kernel_widths]
        return np.concatenate([before, *of_widths, after])

    def encoded(self, texts: Sequence[str], rows: sparse.csr_array) -> Numbers:
        """Return the encoder and kernel columns of each text, as integers in their units.

        `rows` are the same texts as rows of words and tail; without an encoder the kernel uses
        them.
        """
        parts = [np.zeros((len(texts), 0))]
        seen: Any = rows
        if self.encoder is not None and self.mapped:
            seen = provided(self.encoder).encode(texts)
        if self.vectors:
            parts.append(np.rint(np.ldexp(seen, GRID_BITS + _FINER)))
        if self.kernel:
            places = seen @ _directions(self, seen.shape[1])
            phases = _phases(self)
            waves = (np.cos(width * places + phases) for width in self.kernel_widths)
            parts += [np.rint(np.ldexp(wave, GRID_BITS)) for wave in waves]
        return np.hstack(parts).astype(np.int64)


def _several(setting: float | tuple[float, ...]) -> tuple[float, ...]:
    return setting if isinstance(setting, tuple) else (setting,)


def _weight_faults(
    name: str, weights: tuple[float, ...], *, or_none: bool = False
) -> Iterator[SettingFault]:
    """Yield the faults of a block's weights; 0 means none, if that may be."""
    powers = "4, 2, 1, 0.5, 0.25 or 0.125"
    found_weights = f"found {', '.join(f'{weight:g}' for weight in weights) or 'none'}"
    fits = (
        (or_none and weight == 0) or (0.125 <= weight <= 4 and math.frexp(weight)[0] == 0.5)
        for weight in weights
    )
    yield SettingFault(
        not weights or not all(fits),
        name,
        f"expected {name} of {powers}, {found_weights}",
        PlanSetting(name, 1.0),
    )
    twice = len(set(weights)) < len(weights)
    yield SettingFault(twice, name, f"expected different weights, {found_weights}")


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
