"""Means are removed under seal, and the model that comes out is ridge regression with intercept."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform, assert_shows_structure
from harness.opened import opened_words
from harness.text_moments import Floats, TextMoments, text_moments
from sottovoce import wire
from sottovoce.entropy import Entropy
from sottovoce.errors import BoundError, InputError, MismatchError, ViolationError
from sottovoce.numbers.fixed import Scale
from sottovoce.numbers.ring import Words, decode, share, to_ring
from sottovoce.protocols.conversation import Party
from sottovoce.protocols.runner import Meddler, Outcome
from sottovoce.protocols.shares import centring
from sottovoce.protocols.shares.centring import (
    CeilingShare,
    CentringPlan,
    DealtPanel,
    TotalsShare,
    centred,
    deal_centred,
    deal_opened_ceiling,
    opened_ceiling,
)
from sottovoce.protocols.shares.contribution import MomentScales
from sottovoce.protocols.shares.holders import Dealer, Holder, Programs, Trio, run
from sottovoce.protocols.shares.intercept import (
    InterceptPlan,
    deal_with_intercept,
    with_intercept,
)
from sottovoce.protocols.shares.material import Context, Material
from sottovoce.protocols.shares.plan import SolvePlan, System
from sottovoce.protocols.shares.solve import SystemShare, deal_solve, solve
from sottovoce.protocols.shares.triangle import Triangle

Program = Callable[[Holder], Party[Any]]

TRIO = Trio("coordinator", "evaluator", "dealer")
HERE = Context.among("flu", ["alice", "bob", "carol"])
NORM = 1.05
PENALTY = 1.0
DOCUMENTS = 300
PEERS = [slice(0, 80), slice(80, 190), slice(190, 300)]


@dataclass
class Joint:
    """Three peers' moments, totals and bounds, each as two shares of the sum."""

    moments: TextMoments
    weight: float = DOCUMENTS

    def __post_init__(self) -> None:
        features, classes = self.moments.products.shape
        scales = MomentScales.fit(weight=self.weight, row_norm=NORM, penalty=PENALTY)
        self.plan = CentringPlan.fit(
            features, classes, weight=self.weight, row_norm=NORM, moments=scales
        )
        entropy = SeededEntropy(2)
        matrix, vectors = scales.encode(self.moments.second, self.moments.products)
        rows, targets = self.moments.rows, self.moments.targets
        totals = self.plan.encode(rows.sum(axis=0), targets.sum(axis=0))
        bits = 2 * self.plan.totals.fraction_bits
        bound = to_ring(np.array([round(sum(map(self._bound, PEERS)) * 2.0**bits)]))
        parts = [share(words, entropy) for words in (matrix, vectors, totals, bound)]
        self.first, self.second = zip(*parts, strict=True)

    def _bound(self, part: slice) -> float:
        rows = self.moments.rows[part]
        about = rows - rows.mean(axis=0)
        return float(
            np.linalg.eigvalsh(about.T @ about)[-1] + len(rows) * (rows.mean(axis=0) ** 2).sum()
        )

    def centred_second(self) -> Floats:
        total = self.moments.rows.sum(axis=0)
        return self.moments.second - np.outer(total, total) / self.weight


def centre(joint: Joint, meddler: Meddler | None = None) -> Outcome:
    def program(parts: tuple[Words, ...]) -> Program:
        matrix, vectors, totals, _ = parts
        return lambda holder: centred(
            holder, joint.plan, matrix=matrix, vectors=vectors, totals=totals
        )

    programs = Programs(
        program(joint.first),
        program(joint.second),
        lambda dealer: deal_centred(dealer, joint.plan),
    )
    return run(programs, TRIO, HERE, entropy=SeededEntropy(3), meddler=meddler)


@pytest.fixture(scope="module")
def joint() -> Joint:
    return Joint(text_moments(DOCUMENTS, 24, 3))


def test_the_means_are_gone(joint: Joint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(centring, "_PANEL_WORDS", 50)
    assert len(list(joint.plan.panels())) > 5
    outcome = centre(joint)
    matrix, vectors = (
        one + other
        for one, other in zip(
            outcome.results["coordinator"], outcome.results["evaluator"], strict=True
        )
    )
    scales = joint.plan.moments
    second = decode(Triangle(24).unpack(matrix), scales.matrix)
    # The totals are as fine as their squares allow: about 2^-22 of their own size.
    assert np.allclose(second, joint.centred_second(), rtol=0, atol=2e-5)
    rows, targets = (
        part - part.mean(axis=0) for part in (joint.moments.rows, joint.moments.targets)
    )
    assert np.allclose(decode(vectors, scales.vectors), rows.T @ targets, rtol=0, atol=2e-5)


def test_what_everybody_sees_is_noise_and_the_dealer_sees_nothing(joint: Joint) -> None:
    outcome = centre(joint)
    assert_looks_uniform(opened_words(outcome))
    for name in ("coordinator", "evaluator"):
        assert_looks_uniform(outcome.views[name].words(), what=name)
    assert outcome.views["dealer"].received == []


class Zeros(Entropy):
    """A door behind which there is nothing."""

    def read(self, count: int) -> bytes:
        return bytes(count)


@pytest.mark.parametrize("purpose", ["totals mask", "panel division"])
def test_one_forgotten_mask_shows(
    joint: Joint, purpose: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Material.stream

    def forgetful(self: Material, name: str, index: int = 0) -> Entropy:
        stream = drawn(self, name, index)
        return Zeros() if name == purpose else stream

    monkeypatch.setattr(Material, "stream", forgetful)
    assert_shows_structure(opened_words(centre(joint)))


def ceiling_of(joint: Joint, penalty: float = PENALTY) -> Outcome:
    def program(parts: tuple[Words, ...]) -> Program:
        *_, totals, bound = parts
        return lambda holder: opened_ceiling(
            holder, joint.plan, bound=bound, totals=totals, penalty=penalty
        )

    programs = Programs(
        program(joint.first),
        program(joint.second),
        lambda dealer: deal_opened_ceiling(dealer, joint.plan, penalty=penalty),
    )
    return run(programs, TRIO, HERE, entropy=SeededEntropy(4))


@pytest.mark.parametrize(("seed", "rounded"), [(0, 300), (1, 300), (2, 310)])
def test_the_opened_ceiling_is_above_the_centred_spectrum_and_far_below_the_raw_one(
    seed: int, rounded: float
) -> None:
    joint = Joint(text_moments(DOCUMENTS, 64, 1, seed=seed), weight=rounded)
    outcome = ceiling_of(joint)
    found = outcome.results["coordinator"]
    assert found == outcome.results["evaluator"]
    true = np.linalg.eigvalsh(joint.centred_second())[-1]
    assert true <= found <= 2 * true + 2 + 0.1 * joint.moments.largest
    assert found < 0.4 * joint.moments.largest
    assert found == math.floor(found)
    assert len(outcome.views["evaluator"].of(CeilingShare)) == 1


def test_a_study_with_centring_equals_ridge_regression_with_an_intercept() -> None:
    """Centre, solve and give the intercept back, with one dealer and one material."""
    moments = text_moments(DOCUMENTS, 48, 3)
    joint = Joint(moments)
    ceiling = ceiling_of(joint).results["coordinator"] + PENALTY
    scales = joint.plan.moments
    plan = SolvePlan.fit(
        System(48, 3, DOCUMENTS, PENALTY, ceiling),
        matrix_bits=scales.matrix.fraction_bits,
        vector_bits=scales.vectors.fraction_bits,
    )
    last = InterceptPlan.fit(joint.plan, plan.solution)

    def holder(parts: tuple[Words, ...]) -> Program:
        def program(who: Holder) -> Party[tuple[Words, Words]]:
            matrix, vectors = yield from centred(
                who, joint.plan, matrix=parts[0], vectors=parts[1], totals=parts[2]
            )
            system = SystemShare(matrix, vectors, np.full(48, PENALTY))
            theta = yield from solve(who, plan, system)
            return (yield from with_intercept(who, last, theta=theta, totals=parts[2]))

        return program

    def dealer(who: Dealer) -> Party[None]:
        yield from deal_centred(who, joint.plan)
        yield from deal_solve(who, plan)
        yield from deal_with_intercept(who, last)

    programs = Programs(holder(joint.first), holder(joint.second), dealer)
    outcome = run(programs, TRIO, HERE, entropy=SeededEntropy(5))
    theta, intercept = (
        decode(one + other, last.model)
        for one, other in zip(
            outcome.results["coordinator"], outcome.results["evaluator"], strict=True
        )
    )
    mean_row, mean_target = moments.rows.mean(axis=0), moments.targets.mean(axis=0)
    rows, targets = moments.rows - mean_row, moments.targets - mean_target
    exact = np.linalg.solve(rows.T @ rows + np.eye(48), rows.T @ targets)
    assert np.linalg.norm(theta - exact) < 1e-4 * np.linalg.norm(exact)
    assert np.allclose(intercept, mean_target - mean_row @ exact, rtol=0, atol=1e-4)
    assert outcome.views["dealer"].received == []


def test_wrong_shapes_are_refused(joint: Joint) -> None:
    plan = joint.plan
    with pytest.raises(MismatchError, match="totals of 24 features and 3 classes"):
        plan.encode(np.zeros(24), np.zeros(2))
    matrix, vectors, totals, _ = joint.first
    holder = Holder(TRIO, first=True, material=None)  # type: ignore[arg-type]  # refused before it is used
    for change, what in (
        ({"vectors": vectors[1:]}, r"b of shape \(24, 3\)"),
        ({"totals": totals[1:]}, r"totals of shape \(27,\)"),
        ({"matrix": matrix[1:]}, "300 words"),
    ):
        parts = {"matrix": matrix, "vectors": vectors, "totals": totals, **change}
        with pytest.raises(MismatchError, match=what):
            next(centred(holder, plan, **parts))
    with pytest.raises(MismatchError, match="one word for the bound"):
        next(opened_ceiling(holder, plan, bound=matrix, totals=totals, penalty=1.0))
    last = InterceptPlan.fit(plan, Scale(30, 2**34))
    with pytest.raises(MismatchError, match=r"a model of shape \(24, 3\) and 27 totals"):
        next(with_intercept(holder, last, theta=vectors[1:], totals=totals))


def test_totals_too_coarse_and_models_too_large_are_refused() -> None:
    fine = MomentScales(Scale(40, 2**50), Scale(60, 2**61))
    with pytest.raises(InputError, match="too coarse for moments of 60"):
        CentringPlan.fit(3, 1, weight=1e6, row_norm=1.0, moments=fine)
    plan = Joint(text_moments(DOCUMENTS, 24, 3)).plan
    with pytest.raises(BoundError, match="expected at least 8"):
        InterceptPlan.fit(plan, Scale(20, 2**61))


@pytest.mark.parametrize(("weight", "norm"), [(1.0, 1), (100, 10), (10**5, 2**9), (10**8, 2**12)])
def test_products_of_the_intercept_fit_into_words(weight: float, norm: int) -> None:
    moments = MomentScales(Scale(4, 2**40), Scale(6, 2**40))
    plan = CentringPlan.fit(3, 1, weight=weight, row_norm=1.0, moments=moments)
    last = InterceptPlan.fit(plan, Scale(30, norm * 2**30))
    largest = math.sqrt(weight) * (1 + norm)
    bits = last.model.fraction_bits
    assert largest * 2.0 ** (bits + plan.totals.fraction_bits) < 2**62
    assert largest * 2.0**bits * last.factor < 2**62
    assert math.isclose(last.factor / 2**last.factor_bits, 1 / math.sqrt(weight), rel_tol=1e-5)


def test_a_panel_of_the_wrong_size_names_the_dealer(joint: Joint) -> None:
    short = wire.Words.of(np.zeros(2, np.uint64))
    meddler = rewriting(
        lambda packet: is_kind(packet, DealtPanel),
        DealtPanel,
        lambda message: DealtPanel(short, short, short),
    )
    with pytest.raises(ViolationError, match="DealtPanel: expected words of shape") as error:
        centre(joint, meddler=meddler)
    assert error.value.party == "dealer"


def test_the_totals_are_opened_once(joint: Joint) -> None:
    assert len(centre(joint).views["evaluator"].of(TotalsShare)) == 1
