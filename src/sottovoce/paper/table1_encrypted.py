"""The encrypted rows of the paper's table, each beside its plaintext twin in the same run.

All parties take turns in this process, and whoever computes may use all cores (cores.py). The
seconds are those of all of them together, from the peers' first encryption to the model. Making
the key is not counted: a study does it once, before anybody waits.
"""

import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from statistics import median
from typing import TypeVar

import numpy as np

from sottovoce.entropy import Entropy
from sottovoce.paillier import Plain, SecretKey, decrypt
from sottovoce.paper.central import learner as central
from sottovoce.paper.central.terms import CentralTerms, Precision, RoundedTotals
from sottovoce.paper.operations import Counting
from sottovoce.paper.rado_learn import learner as rado_learn
from sottovoce.paper.rado_learn.contribution import written
from sottovoce.paper.rado_learn.plain_theta import run_showing_theta
from sottovoce.paper.table1 import (
    FEW_BITS,
    FEW_PENALTY,
    FEW_RADOS,
    FEW_SCHEDULE,
    PEERS,
    RIDGE,
    EncryptionCost,
    TableEntry,
    TableTrial,
    TrialResult,
)
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.rado_descent.plan import Bits, DescentPlan, Ranges
from sottovoce.protocols.runner import Outcome
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Moments, Schedule, descend_on_schedule
from sottovoce.rados.rows import Floats

KAPPA = 40
# How near to its solution the sealed closed form stops.
SEALED_TOLERANCE = 5e-4
# No entry of a document is larger than 1, no peer has more than 64 of them, and a sixteenth is 4.
REACH = 4.0
CAST = Cast(("alice", "bob", "carol", "dave"))

R = TypeVar("R")


@dataclass(frozen=True)
class EncryptionSetting:
    """The key of the encrypted rows, and where their secrets come from."""

    key: SecretKey
    entropy: Entropy
    # The CPU time of all processes that compute with this key.
    cpu_clock: Callable[[], float] = time.process_time

    def counted(self) -> SecretKey:
        """The key on arithmetic that counts, from zero."""
        arithmetic = Counting(self.key.arithmetic, bits=self.key.bits)
        return self.key.with_arithmetic(arithmetic)


@dataclass(frozen=True)
class EncryptedRun:
    """One encrypted run: what came of it, and how long it took."""

    outcome: Outcome
    key: SecretKey
    wall: float
    cpu: float

    @classmethod
    def timed(
        cls, setting: EncryptionSetting, job: Callable[[SecretKey], Outcome]
    ) -> "EncryptedRun":
        """Run the job with a key that counts, and look at both clocks."""
        key, cpu_clock = setting.counted(), setting.cpu_clock
        cpu, wall = cpu_clock(), time.perf_counter()
        outcome = job(key)
        wall = time.perf_counter() - wall
        return cls(outcome, key, wall, cpu_clock() - cpu)

    def learnt(self, trial: TableTrial, theta: Floats, twin: "Twin", *, steps: int) -> TrialResult:
        """The row: the encrypted θ beside its twin's."""
        arithmetic = self.key.arithmetic
        assert isinstance(arithmetic, Counting)
        traffic = self.outcome.traffic
        sealed_signs, plain_signs = (
            trial.test.rows @ weights > 0 for weights in (theta, twin.theta)
        )
        sealed = EncryptionCost(
            kappa=KAPPA,
            cpu_seconds=self.cpu,
            twin_seconds=twin.seconds,
            trips=traffic.trips(CAST.coordinator, CAST.evaluator),
            bytes_sent=traffic.total_bytes,
            operations=arithmetic.tally,
            theta_apart=float(np.abs(theta - twin.theta).max()),
            predictions_equal=bool(np.array_equal(sealed_signs, plain_signs)),
            exp_apart=twin.exp_apart,
        )
        return TrialResult(trial.misclassification(theta), steps, sealed, self.wall)


@dataclass(frozen=True)
class Twin:
    """The same learner in plaintext."""

    theta: Floats = field(repr=False)
    seconds: float
    exp_apart: float | None = None

    @classmethod
    def of(cls, learner: Callable[[], Floats]) -> "Twin":
        """Learn in plaintext, several times, to measure the time."""
        return cls(learner(), median(timeit.repeat(learner, number=1, repeat=5)))


def descent_plan(trial: TableTrial) -> DescentPlan:
    """The public numbers of the encrypted descents of one trial."""
    rados, features = trial.few.shape
    return descent_plan_of(features, rados)


def descent_plan_of(features: int, rados: int) -> DescentPlan:
    """The same for any number of features and rados."""
    return DescentPlan(
        features,
        rados,
        FEW_SCHEDULE,
        FEW_PENALTY,
        Ranges(REACH),
        bits=Bits(rado=FEW_BITS),
        masking=Masking(KAPPA),
    )


def _descent(trial: TableTrial) -> tuple[rado_learn.DescentTerms, dict[str, Plain], Twin]:
    """Terms, every peer's rados, and the plaintext twin with its distance to the true exp."""
    terms = rado_learn.DescentTerms(CAST, descent_plan(trial))
    rados = {
        name: written(trial.few[own.first : own.first + own.count], terms.plan)
        for name, own in terms.places().items()
    }

    def learn(schedule: Schedule = FEW_SCHEDULE) -> Floats:
        return descend_on_schedule(trial.few, penalty=FEW_PENALTY, schedule=schedule).theta

    # With thirty squarings the polynomial is exp to seven digits.
    exact = learn(replace(FEW_SCHEDULE, squarings=30))
    twin = Twin.of(learn)
    apart = float(np.linalg.norm(twin.theta - exact) / np.linalg.norm(exact))
    return terms, rados, replace(twin, exp_apart=apart)


def theta_plain(setting: EncryptionSetting) -> Callable[[TableTrial], TrialResult]:
    """RadoLearn with rados encrypted and θ plain."""

    def run(trial: TableTrial) -> TrialResult:
        terms, rados, twin = _descent(trial)
        done = EncryptedRun.timed(
            setting, lambda key: run_showing_theta(terms, rados, key=key, entropy=setting.entropy)
        )
        theta = done.outcome.results[CAST.evaluator].floats()
        return done.learnt(trial, theta, twin, steps=FEW_SCHEDULE.steps)

    return run


def both_encrypted(setting: EncryptionSetting) -> Callable[[TableTrial], TrialResult]:
    """RadoLearn with rados and θ encrypted."""

    def run(trial: TableTrial) -> TrialResult:
        terms, rados, twin = _descent(trial)
        done = EncryptedRun.timed(
            setting, lambda key: rado_learn.run(terms, rados, key=key, entropy=setting.entropy)
        )
        theta = decrypt(setting.key, done.outcome.results[CAST.peers[0]]).floats()
        return done.learnt(trial, theta, twin, steps=FEW_SCHEDULE.steps)

    return run


def sealed_closed_form(setting: EncryptionSetting) -> Callable[[TableTrial], TrialResult]:
    """The central-coordinator learner on exact moments."""

    def run(trial: TableTrial) -> TrialResult:
        features = trial.train.rows.shape[1]
        precision = Precision(tolerance=SEALED_TOLERANCE, masking=Masking(KAPPA))
        terms = CentralTerms("table1", CAST, (RIDGE,) * features, precision=precision)

        def moments() -> dict[str, Moments]:
            pairs = zip(CAST.peers, trial.parts, strict=True)
            return {name: Moments.of(part.rows, part.labels) for name, part in pairs}

        done = EncryptedRun.timed(
            setting, lambda key: central.run(terms, moments(), key=key, entropy=setting.entropy)
        )
        theta = decrypt(setting.key, done.outcome.results[CAST.peers[0]].theta).floats()
        twin = Twin.of(lambda: central.ideal(terms, moments()))
        totals = RoundedTotals.of(
            np.sum([RoundedTotals.words(own) for own in moments().values()], axis=0)
        )
        return done.learnt(trial, theta, twin, steps=terms.solve_plan(totals).steps)

    return run


def entries(setting: EncryptionSetting) -> tuple[TableEntry, ...]:
    """The encrypted rows; one seed each, their twins over many are rows of their own."""
    bits = setting.key.bits
    return (
        TableEntry(
            "radoLearn",
            PEERS,
            theta_plain(setting),
            FEW_RADOS,
            rados="encrypted",
            bits=bits,
            paper_misclassification=0.10,
            paper_seconds=75.0,
            seeds=1,
        ),
        TableEntry(
            "radoLearn",
            PEERS,
            both_encrypted(setting),
            FEW_RADOS,
            rados="encrypted",
            theta="encrypted",
            bits=bits,
            paper_misclassification=0.085,
            paper_seconds=87.0,
            seeds=1,
        ),
        TableEntry(
            "sealed closed form",
            PEERS,
            sealed_closed_form(setting),
            rados="encrypted",
            theta="encrypted",
            bits=bits,
            seeds=1,
        ),
    )
