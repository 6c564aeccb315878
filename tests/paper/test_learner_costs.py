"""What the cost model says of every learner is what counting arithmetic and the wire count."""

import pytest

from benchmarks.arithmetic import learner_costs
from benchmarks.arithmetic.costs import Cost
from benchmarks.arithmetic.learner_costs import LearnerCost
from harness.conversations.counting import Counting
from harness.entropy import SeededEntropy
from harness.examples.descents import plan_for, rados_for, terms_for
from harness.keys import toy_key
from harness.learners import NAMES, numeric_parts
from harness.two_party import talk
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Plain, encrypt
from sottovoce.paper.central import learner, printed
from sottovoce.paper.central.printed_terms import PrintedTerms
from sottovoce.paper.central.terms import CentralTerms, Precision, RoundedTotals
from sottovoce.paper.rado_learn import learner as rado_learn
from sottovoce.paper.rado_learn.plain_theta import run_showing_theta
from sottovoce.paper.rado_solver import SolverPlan, solve_encrypted, stages
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.conversation import EVALUATOR, KEY_HOLDER
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Moments

BITS = 768
PLAIN = toy_key(bits=BITS).public.plaintext_bits
MASKING = Masking(40)


class Counted:
    """A key on counting arithmetic, ready to count one conversation."""

    def __init__(self) -> None:
        self.counting = Counting()
        self.key = toy_key(bits=BITS).with_arithmetic(self.counting)
        self.key.prepare(1)
        self.key.public.prepare(1)
        self.counting.counts.clear()

    def of(self, what, bits):
        return self.counting.counts.get(f"{what} {bits}", 0)

    def counted(self, trips):
        """What was done: powers of h and uniform ones without the key, and the questions."""
        questions = Cost(
            trips,
            self.of("powers", BITS) // 2,
            self.of("randomisers", BITS) // 2,
            self.of("powers", 2 * BITS),
            self.of("shifted", 2 * BITS),
        )
        return self.of("randomisers", 2 * BITS), self.of("uniform", 2 * BITS), questions


def check(cost, counted, trips):
    assert counted.counted(trips) == (cost.randomisers, cost.uniform_randomisers, cost.questions)


@pytest.mark.parametrize(("peers", "features"), [(3, 2), (4, 9)])
def test_the_central_learner(peers, features) -> None:
    cast = Cast(NAMES[:peers])
    precision = Precision(tolerance=0.05, masking=MASKING)
    terms = CentralTerms("study", cast, (2.0,) * features, precision=precision)
    parts = numeric_parts(peers, features=features)
    moments = {name: Moments.of(part.rows, part.labels) for name, part in parts.items()}
    totals = RoundedTotals.of(sum(RoundedTotals.words(own) for own in moments.values()))
    counted = Counted()
    outcome = learner.run(terms, moments, key=counted.key, entropy=SeededEntropy(1))
    cost = learner_costs.central(terms, totals, plaintext_bits=PLAIN)
    # Three trips of the two blind sums, and the goodbye.
    check(cost, counted, outcome.traffic.trips(cast.coordinator, cast.evaluator) - 4)


@pytest.mark.parametrize(("peers", "features", "steps"), [(3, 2, 1), (2, 9, 2), (3, 3, 4)])
def test_the_descents(peers, features, steps) -> None:
    terms = terms_for(peers, features=features, rados=8, steps=steps)
    rados = rados_for(terms)
    for run, model, asked in (
        (rado_learn.run, learner_costs.sealed_descent, 1),
        (run_showing_theta, learner_costs.plain_descent, 1),
    ):
        counted = Counted()
        outcome = run(terms, rados, key=counted.key, entropy=SeededEntropy(1))
        cost = model(terms.plan, peers, plaintext_bits=PLAIN)
        check(cost, counted, outcome.traffic.trips("eve", "cate") - asked)  # the goodbye


@pytest.mark.parametrize("order", [2, 3])
def test_the_rado_solver(order) -> None:
    plan = SolverPlan(5, (1.0,) * 3, Scale(8, 2**9), 60.0, order=order, masking=MASKING)
    plain = Plain.of([[0.5, -1.0, 1.5]] * 5, plan.rado_scale)
    counted = Counted()
    sealed = encrypt(counted.key.public, plain, entropy=SeededEntropy(1))
    program = solve_encrypted(sealed, plan, entropy=SeededEntropy(2))
    outcome = talk(counted.key, program, stages(counted.key, plan, entropy=SeededEntropy(3)))
    trips = outcome.traffic.trips(EVALUATOR, KEY_HOLDER) - 1
    check(LearnerCost(15, 0, learner_costs.rado_solver(plan, plaintext_bits=PLAIN)), counted, trips)


def test_the_printed_learner() -> None:
    cast = Cast(NAMES[:3])
    terms = PrintedTerms("study", cast, (0.5,) * 2, 2, Scale(8, 2**9), 30.0, masking=MASKING)
    rados = {name: terms.written([[0.5, -1.0], [1.0, 0.25]]) for name in cast.peers}
    counted = Counted()
    outcome = printed.run(terms, rados, key=counted.key, entropy=SeededEntropy(1))
    traffic = outcome.traffic
    asked = traffic.kinds["masked-column-and-row"]
    # The evaluator's own trips, without those of the blind sums and the goodbye.
    trips = asked + traffic.trips(cast.coordinator, cast.evaluator) - 4
    check(learner_costs.printed(terms, plaintext_bits=PLAIN), counted, trips)


def test_costs_grow_as_they_should() -> None:
    """Trips do not depend on features or peers; ciphertexts do, by whole packs."""
    small, large = (
        learner_costs.sealed_descent(plan_for(features=d, rados=40), 4, plaintext_bits=2047)
        for d in (10, 60)
    )
    assert small.questions.trips == large.questions.trips
    assert small.questions.answered < large.questions.answered
    many = learner_costs.sealed_descent(plan_for(features=10, rados=40), 8, plaintext_bits=2047)
    assert many.questions == small.questions
    assert many.sealed > small.sealed
