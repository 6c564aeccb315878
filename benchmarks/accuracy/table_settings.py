"""Settings of the paper's table, chosen inside the training rows alone: five folds, several deals.

Every learner with a penalty is trained on four fifths of the 200 training rows and tested on the
fifth; the candidate with the fewest errors is the table's, of equals the strongest. A candidate
whose descent leaves the schedule's range, in a fold or in a draw of the table, is none: an
encrypted run would be wrong. Nobody looks at the 151 test rows before that: what they say of the
chosen one is printed beside.

The table's penalties are chosen so. Steps and rates of its descents, and the constants of learner
`rado-descent`, were set by hand while the test rows were looked at; `SCHEDULES` says what the folds
choose instead, and what that gives.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import mean, stdev
from typing import Any, Self, TypeAlias

import numpy as np

from sottovoce.cli.terminal.measurements import Row
from sottovoce.errors import BoundError
from sottovoce.paper import table1
from sottovoce.paper.table1 import TableTrial
from sottovoce.rados import (
    Part,
    Schedule,
    descend_on_schedule,
    exact_moments,
    solve,
    summed_moments,
)
from sottovoce.rados.rows import Floats
from sottovoce.study.stages.encrypted import descent_numbers

FOLDS = 5
PENALTIES = tuple(2.0**power for power in range(-3, 8))


@dataclass(frozen=True)
class Descent:
    """The constants of a descent on a schedule."""

    steps: int
    rate: float
    penalty: float

    def __str__(self) -> str:
        return f"{self.steps} steps, rate {Fraction(self.rate)}, penalty {Fraction(self.penalty)}"


@dataclass(frozen=True)
class StudyDescent:
    """The constants of learner `rado-descent` that no study can change."""

    documents: int
    steps: int

    def __str__(self) -> str:
        return f"{self.documents} documents a rado, {self.steps} steps"


Setting: TypeAlias = float | Descent | StudyDescent
Learner = Callable[[TableTrial, Any], Floats]


@dataclass(frozen=True)
class TableSetting:
    """A learner of the table, the settings that it could have, weakest first, and what it has."""

    learner: str
    learn: Learner
    taken: Setting
    candidates: Sequence[Setting] = PENALTIES
    seeds: int = 4
    # How many draws of the table must keep to the schedule's range; 0 where there is none.
    draws: int = 0


class Fold(TableTrial):
    """A trial on four fifths of the training rows, tested on the others."""

    def __init__(self, seed: int, fold: int) -> None:
        """The folds of one seed are disjoint, and drawn by it."""
        super().__init__(seed)
        rows = self.rng("folds").permutation(len(self.train.labels))
        tested = np.isin(np.arange(len(rows)), rows[fold::FOLDS])
        whole = self.train
        self.train = Part.of(whole.rows[~tested], whole.labels[~tested])
        self.test = Part.of(whole.rows[tested], whole.labels[tested])


def _exact(trial: TableTrial, penalty: float) -> Floats:
    moments = exact_moments(trial.parts)
    return np.asarray(solve(moments.second, moments.products, penalty=penalty)[:, 0])


def _m_loss(trial: TableTrial, penalty: float) -> Floats:
    moments = summed_moments(trial.parts, count=table1.N_RADOS, rng=trial.rng("summed"))
    return np.asarray(solve(moments.covariance, moments.mean, penalty=penalty)[:, 0])


def _united(trial: TableTrial, penalty: float) -> Floats:
    return descend_on_schedule(trial.united, penalty=penalty, schedule=table1.SCHEDULE).theta


def _few(trial: TableTrial, penalty: float) -> Floats:
    return descend_on_schedule(trial.few, penalty=penalty, schedule=table1.FEW_SCHEDULE).theta


def _united_on(trial: TableTrial, descent: Descent) -> Floats:
    schedule = replace(table1.SCHEDULE, steps=descent.steps, rate=descent.rate)
    return descend_on_schedule(trial.united, penalty=descent.penalty, schedule=schedule).theta


def _few_on(trial: TableTrial, descent: Descent) -> Floats:
    schedule = replace(table1.FEW_SCHEDULE, steps=descent.steps, rate=descent.rate)
    return descend_on_schedule(trial.few, penalty=descent.penalty, schedule=schedule).theta


def _of_a_study(trial: TableTrial, constants: StudyDescent) -> Floats:
    """Learner `rado-descent` in floating point: 128 rados of all peers, at the default penalty."""
    edges = np.asarray(trial.train.rows * trial.train.labels[:, np.newaxis])
    chance = constants.documents / len(edges)
    taken = trial.rng("taken").random((STUDY_RADOS, len(edges))) < chance
    variance = chance * float(np.linalg.eigvalsh(edges.T @ edges)[-1])
    rados = (taken @ edges) / np.sqrt(variance)
    shrinkage = max(descent_numbers.LEAST_SHRINKAGE / descent_numbers.UNITS, chance / variance)
    centred = rados - rados.mean(axis=0)
    theta = ahead = np.zeros(edges.shape[1])
    momentum = Schedule(constants.steps, momentum_bits=6).momentum
    for step in range(constants.steps):
        exponents = -(centred @ ahead)
        if np.sum(exponents**8) > descent_numbers.BOUND**8:
            raise BoundError(f"rado-descent: exponents leave their range in step {step + 1}")
        weights = np.exp(exponents)
        following = (1 - shrinkage) * ahead + weights @ rados / weights.sum()
        ahead, theta = following + momentum(step) * (following - theta), following
    return np.asarray(theta)


STUDY_RADOS = 128
# Shrinking by 2·rate·penalty is in units of 1/64 in an encrypted run.
_FEW = tuple(2.0**power for power in range(-6, -1))
SETTINGS = (
    TableSetting("exact moments", _exact, table1.RIDGE),
    TableSetting("M-loss", _m_loss, table1.M_PENALTY),
    TableSetting("radoLearn", _united, table1.RADO_PENALTY, draws=20),
    TableSetting("radoLearn, 100 rados", _few, table1.FEW_PENALTY, _FEW, draws=20),
)
SCHEDULES = (
    TableSetting(
        "radoLearn, its schedule too",
        _united_on,
        Descent(table1.SCHEDULE.steps, table1.SCHEDULE.rate, table1.RADO_PENALTY),
        [
            Descent(steps, rate, penalty)
            for steps in (5, 10, 20)
            for rate in (2.0**-8, 2.0**-7, 2.0**-6)
            for penalty in (0.25, 0.5, 1.0, 2.0, 4.0)
        ],
        draws=20,
    ),
    TableSetting(
        "radoLearn, 100 rados, its schedule too",
        _few_on,
        Descent(table1.FEW_SCHEDULE.steps, table1.FEW_SCHEDULE.rate, table1.FEW_PENALTY),
        [
            Descent(steps, rate, penalty)
            for steps in (5, 10)
            for rate in (0.25, 0.5, 1.0)
            for penalty in _FEW
        ],
        draws=20,
    ),
    TableSetting(
        f"rado-descent, {STUDY_RADOS} rados",
        _of_a_study,
        StudyDescent(descent_numbers.DOCUMENTS_A_RADO, descent_numbers.STEPS),
        [
            StudyDescent(documents, steps)
            for documents in (1, 2, 4, 8, 16)
            for steps in (3, 6, 12, 24)
        ],
        draws=20,
    ),
)


@dataclass(frozen=True)
class Trials:
    """The folds, and the draws of the table whose range counts; their rados are drawn once."""

    folds: Sequence[Fold]
    draws: Sequence[TableTrial]

    @classmethod
    def of(cls, setting: TableSetting) -> Self:
        """Those of one learner."""
        folds = [Fold(seed, fold) for seed in range(setting.seeds) for fold in range(FOLDS)]
        return cls(folds, [TableTrial(seed) for seed in range(setting.draws)])

    def errors(self, learn: Learner, setting: Setting) -> float:
        """The share of training rows that are labelled wrongly by who did not see them."""
        try:
            for draw in self.draws:
                learn(draw, setting)
            return mean(fold.misclassification(learn(fold, setting)) for fold in self.folds)
        except BoundError:
            return 1.0


def chosen(setting: TableSetting) -> tuple[Setting, float]:
    """The candidate with the fewest errors, of equals the strongest; and its errors."""
    trials = Trials.of(setting)
    errors = [trials.errors(setting.learn, candidate) for candidate in setting.candidates]
    fewest = min(errors)
    strongest = max(place for place, error in enumerate(errors) if error == fewest)
    return setting.candidates[strongest], fewest


def measure(settings: Sequence[TableSetting], *, seeds: int) -> Iterator[Row]:
    """What was chosen and what the table has, and what the test rows say of both."""
    trials = [TableTrial(seed) for seed in range(seeds)]
    for setting in settings:
        candidate, inside = chosen(setting)
        outside, taken = (
            [trial.misclassification(setting.learn(trial, each)) for trial in trials]
            for each in (candidate, setting.taken)
        )
        yield {
            "learner": setting.learner,
            "chosen": shown(candidate),
            "in the table": shown(setting.taken),
            "error in folds": inside,
            "error on test rows": mean(outside),
            "sd": stdev(outside) if len(outside) > 1 else 0.0,
            "of the table's": mean(taken),
        }


def shown(setting: Setting) -> str:
    """A setting as people read it."""
    return str(Fraction(setting) if isinstance(setting, float) else setting)
