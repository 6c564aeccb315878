"""The models of which a study chooses one: a penalty, and the width and the weights of blocks.

Peers contribute once, with columns for every width. A candidate leaves out the columns of the other
widths: holders set these rows and columns of their shares to zero. That is a product with a public
diagonal on both sides, so the sealed solve has the model of the remaining columns, exact zeros
elsewhere, and no larger spectrum. A lighter block has a larger penalty.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from math import isfinite
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.errors import SettingFault
from sottovoce.hints import Hint, PlanSetting
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.text.blocks import Blocks
from sottovoce.text.reading import Level

N = TypeVar("N", bound=np.generic)

_OTHERS = ("kernel_width", "kernel_weight", "own_weight")
# Stands in records for what there is no list of.
_NONE = "-"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the models: its penalty, and of the kernel and own scores what there is a list of."""

    alpha: float = 1.0
    kernel_width: float | None = None
    kernel_weight: float | None = None
    own_weight: float | None = None

    @classmethod
    def all_of(cls, alphas: Iterable[float], beside: Blocks) -> tuple[Self, ...]:
        """Return every penalty with every width and every weight."""
        lists = (beside.kernel_widths, beside.kernel_weights, beside.own_weights)
        choices = [(None,) if len(each) == 1 else each for each in lists]
        return tuple(cls(alpha, *others) for alpha in alphas for others in product(*choices))

    @property
    def _others(self) -> tuple[float | None, ...]:
        return tuple(getattr(self, name) for name in _OTHERS)

    @property
    def preference(self) -> tuple[float, ...]:
        """Among equally good ones the highest wins: it reveals least about any document."""
        return self.alpha, *(-(number or 0.0) for number in self._others)

    @property
    def written(self) -> str:
        """Return it in the form in which records keep it."""
        others = (_NONE if number is None else number.hex() for number in self._others)
        return " ".join((self.alpha.hex(), *others)).rstrip(f" {_NONE}")

    @classmethod
    def read(cls, written: str) -> Self:
        """Return it as it was written."""
        alpha, *others = written.split()
        numbers = (None if part == _NONE else float.fromhex(part) for part in others)
        return cls(float.fromhex(alpha), **dict(zip(_OTHERS, numbers, strict=False)))

    def settled(self, beside: Blocks) -> Blocks:
        """Return the blocks of a study that has this model alone."""
        return replace(
            beside,
            kernel_width=self.kernel_width or beside.kernel_width,
            kernel_weight=self.kernel_weight or beside.kernel_weight,
            own_weight=beside.own_weight if self.own_weight is None else self.own_weight,
        )

    def told_among(self, candidates: Sequence[Self]) -> str:
        """Return it in words for people, with the others if there was a choice."""
        several = len(candidates) > 1
        return f"{self} was chosen of {', '.join(map(str, candidates))}" if several else str(self)

    def __str__(self) -> str:
        numbers = zip(_OTHERS, self._others, strict=True)
        parts = [f"{name} {number:g}" for name, number in numbers if number is not None]
        words = " and ".join(parts).replace("_", " ")
        return f"{self.alpha:g}{' with ' if parts else ''}{words}"


@dataclass(frozen=True, slots=True)
class ColumnsLeftOut:
    """The columns of a row that a candidate leaves out."""

    columns: tuple[slice, ...] = ()

    @classmethod
    def of(cls, candidate: Candidate, beside: Blocks, *, end: int) -> Self:
        """Return kernels of other widths, and own scores of no weight; the blocks end at `end`."""
        first = end - beside.own_scores - beside.waves
        left_out = []
        if candidate.kernel_width is not None:
            starts = range(first, first + beside.waves, beside.kernel)
            others = zip(starts, beside.kernel_widths, strict=True)
            left_out = [
                slice(start, start + beside.kernel)
                for start, width in others
                if width != candidate.kernel_width
            ]
        if candidate.own_weight == 0:
            left_out.append(slice(end - beside.own_scores, end))
        return cls(tuple(left_out))

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


def lighter_columns(
    candidate: Candidate, beside: Blocks, *, end: int
) -> Iterator[tuple[slice, float]]:
    """Yield the columns of lighter blocks, and what their penalty is multiplied by.

    Columns that weigh w times as much under a penalty have the model of columns as they are, under
    1/w² times that penalty.
    """
    own = end - beside.own_scores
    if candidate.kernel_weight is not None:
        times = (max(beside.kernel_weights) / candidate.kernel_weight) ** 2
        yield slice(own - beside.waves, own), times
    if candidate.own_weight:
        yield slice(own, end), (max(beside.own_weights) / candidate.own_weight) ** 2


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
    setting = _listed(candidates)
    yield SettingFault(
        len(candidates) > 1 and not 0 < held_back < 1,
        "held_back",
        f"choosing one of several models needs held_back between 0 and 1, found {held_back:g}",
        PlanSetting("held_back", 0.2),
    )
    yield SettingFault(
        len(candidates) > 1 and opens_scores,
        setting,
        "expected one model where scores are released (several would give moments), "
        f"found {len(candidates)} models",
        PlanSetting("release", "sealed"),
    )


def own_faults(beside: Blocks, *, level: Level, has_text: bool) -> Iterator[SettingFault]:
    """Yield the faults of scores of sites' own models."""
    yield SettingFault(
        beside.has_own_scores and (level is not Level.DOCUMENT or not has_text),
        "own_weight",
        "scores of sites' own models are for documents of text, "
        f"found {f'level {level}' if has_text else 'columns alone'}",
        PlanSetting("own_weight", 0),
    )


def encrypted_faults(beside: Blocks) -> Iterator[SettingFault]:
    """Yield what of these blocks engine paillier does not have."""
    yield SettingFault(
        beside.has_several_kernels,
        "kernel_width",
        "engine paillier cannot leave columns out of encrypted sums, expected one kernel_width, "
        f"found {len(beside.kernel_widths)}",
        PlanSetting("kernel_width", 0.5),
    )
    yield SettingFault(
        beside.has_own_scores,
        "own_weight",
        "engine paillier is for words, expected no scores of sites' own models, found some",
        Hint(PlanSetting("own_weight", 0), ", or let a participant deal"),
    )


def _listed(candidates: Sequence[Candidate]) -> str:
    """Return the first setting in which they differ."""
    names = (setting.name for setting in fields(Candidate))
    differ = (name for name in names if len({getattr(each, name) for each in candidates}) > 1)
    return next(differ, "alpha")
