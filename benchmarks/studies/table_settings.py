"""Settings of the paper's table, chosen inside the training rows alone: five folds, several deals.

Every learner with a penalty is trained on four fifths of the 200 training rows and tested on the
fifth; the candidate with the fewest errors is the table's, of equals the strongest. A candidate
whose descent leaves the schedule's range, in a fold or in a draw of the table, is none: an
encrypted run would be wrong. Nobody looks at the 151 test rows before that: what they say of the
chosen one is printed beside.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Self

import numpy as np

from sottovoce.cli.measurements import Row
from sottovoce.errors import BoundError
from sottovoce.paper import table1
from sottovoce.paper.table1 import TableTrial
from sottovoce.rados import Part, descend_on_schedule, exact_moments, solve, summed_moments
from sottovoce.rados.rows import Floats

FOLDS = 5
PENALTIES = tuple(2.0**power for power in range(-3, 8))
Learner = Callable[[TableTrial, float], Floats]


@dataclass(frozen=True)
class TableSetting:
    """A learner of the table, the penalties that it could have, and the one that it has."""

    learner: str
    learn: Learner
    taken: float
    candidates: Sequence[float] = PENALTIES
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


# Shrinking by 2·rate·penalty is in units of 1/64 in an encrypted run.
_FEW = tuple(2.0**power for power in range(-6, -1))
SETTINGS = (
    TableSetting("exact moments", _exact, table1.RIDGE),
    TableSetting("M-loss", _m_loss, table1.M_PENALTY),
    TableSetting("radoLearn", _united, table1.RADO_PENALTY, draws=20),
    TableSetting("radoLearn, 100 rados", _few, table1.FEW_PENALTY, _FEW, draws=20),
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

    def errors(self, learn: Learner, penalty: float) -> float:
        """The share of training rows that are labelled wrongly by who did not see them."""
        try:
            for draw in self.draws:
                learn(draw, penalty)
            return mean(fold.misclassification(learn(fold, penalty)) for fold in self.folds)
        except BoundError:
            return 1.0


def chosen(setting: TableSetting) -> tuple[float, float]:
    """The penalty with the fewest errors, of equals the strongest; and its errors."""
    trials = Trials.of(setting)
    found = {penalty: trials.errors(setting.learn, penalty) for penalty in setting.candidates}
    best = min(found, key=lambda penalty: (found[penalty], -penalty))
    return best, found[best]


def measure(settings: Sequence[TableSetting], *, seeds: int) -> Iterator[Row]:
    """What was chosen, and what the test rows say of it."""
    for setting in settings:
        penalty, inside = chosen(setting)
        trials = [TableTrial(seed) for seed in range(seeds)]
        outside = [trial.misclassification(setting.learn(trial, penalty)) for trial in trials]
        yield {
            "learner": setting.learner,
            "penalty": penalty,
            "in the table": setting.taken,
            "error in folds": inside,
            "error on test rows": mean(outside),
            "sd": stdev(outside) if len(outside) > 1 else 0.0,
        }
