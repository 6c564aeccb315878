"""The models of which a study chooses one: a penalty, and the width of the kernel.

Peers contribute once, with columns for every width. A candidate leaves out the columns of the other
widths: holders set these rows and columns of their shares to zero. That is a product with a public
diagonal on both sides, so the sealed solve has the model of the remaining columns, exact zeros
elsewhere, and no larger spectrum.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import isfinite
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import SettingFault
from sottovoce.hints import Hint, PlanSetting
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.text.blocks import Blocks

N = TypeVar("N", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the models: its penalty and, where there are several, the width of its kernel."""

    alpha: float = 1.0
    kernel_width: float | None = None

    @classmethod
    def all_of(cls, alphas: Iterable[float], beside: Blocks) -> tuple[Self, ...]:
        """Return every penalty with every width."""
        widths = beside.kernel_widths if beside.has_several_kernels else (None,)
        return tuple(cls(*pair) for pair in product(alphas, widths))

    @property
    def preference(self) -> tuple[float, float]:
        """Among equally good ones the highest wins: it reveals least about any document."""
        return self.alpha, -(self.kernel_width or 0.0)

    @property
    def written(self) -> str:
        """Return it in the form in which records keep it."""
        numbers = (self.alpha, self.kernel_width)
        return " ".join(number.hex() for number in numbers if number is not None)

    @classmethod
    def read(cls, written: str) -> Self:
        """Return it as it was written."""
        return cls(*map(float.fromhex, written.split()))

    def told_among(self, candidates: Sequence[Self]) -> str:
        """Return it in words for people, with the others if there was a choice."""
        several = len(candidates) > 1
        return f"{self} was chosen of {', '.join(map(str, candidates))}" if several else str(self)

    def __str__(self) -> str:
        width = "" if self.kernel_width is None else f" with kernel width {self.kernel_width:g}"
        return f"{self.alpha:g}{width}"


@dataclass(frozen=True, slots=True)
class ColumnsLeftOut:
    """The columns of a row that a candidate leaves out."""

    columns: tuple[slice, ...] = ()

    @classmethod
    def of(cls, candidate: Candidate, beside: Blocks, *, end: int) -> Self:
        """Return the kernels of other widths, if the last of them ends at column `end`."""
        if candidate.kernel_width is None:
            return cls()
        first = end - beside.kernel * len(beside.kernel_widths)
        starts = range(first, end, beside.kernel)
        others = zip(starts, beside.kernel_widths, strict=True)
        return cls(
            tuple(
                slice(start, start + beside.kernel)
                for start, width in others
                if width != candidate.kernel_width
            )
        )

    def cleared(self, entries: NDArray[N], *, axis: int = 0) -> NDArray[N]:
        """Return the entries of each column along this axis, zero where it is left out."""
        if not self.columns:
            return entries
        kept = entries.copy()
        for columns in self.columns:
            np.moveaxis(kept, axis, 0)[columns] = 0
        return kept

    def cleared_triangle(self, packed: NDArray[N], side: int) -> NDArray[N]:
        """Return a packed triangle, along its last axis, without these rows and columns."""
        if not self.columns:
            return packed
        kept, triangle = packed.copy(), Triangle(side)
        for row, columns in product(range(side), self.columns):
            whole = columns.start <= row < columns.stop
            first, last = (row, side) if whole else (max(row, columns.start), columns.stop)
            start = triangle.start(row) - row
            kept[..., start + first : start + max(first, last)] = 0
        return kept


def candidate_faults(
    alphas: Sequence[float],
    candidates: Sequence[Candidate],
    *,
    held_back: float,
    opens_scores: bool,
) -> Iterator[SettingFault]:
    """Yield the faults of the penalties, and of a choice among several models."""
    found_penalties = f"found {', '.join(map(str, alphas)) or 'none'}"
    yield SettingFault(
        not alphas or not all(isfinite(penalty) and penalty > 0 for penalty in alphas),
        "alpha",
        f"expected penalties alpha above 0, {found_penalties}",
        Hint(
            "without a penalty the system may have no single solution: ",
            PlanSetting("alpha", 1.0),
        ),
    )
    twice = len(set(alphas)) < len(alphas)
    yield SettingFault(twice, "alpha", f"expected different penalties, {found_penalties}")
    setting = "alpha" if len(alphas) > 1 else "kernel_width"
    yield SettingFault(
        len(candidates) > 1 and not 0 < held_back < 1,
        "held_back",
        f"choosing one of several models needs held_back between 0 and 1, found {held_back:g}",
        PlanSetting("held_back", 0.2),
    )
    yield SettingFault(
        len(candidates) > 1 and opens_scores,
        setting,
        "expected one penalty and one kernel width where scores are released (more would give "
        f"moments), found {len(candidates)} models",
        PlanSetting("release", "sealed"),
    )
