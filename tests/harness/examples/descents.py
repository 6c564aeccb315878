"""Small descents on encrypted rados."""

import numpy as np

from harness.entropy import SeededEntropy
from harness.learners import NAMES
from sottovoce.paillier import Plain
from sottovoce.paper.rado_learn.contribution import written
from sottovoce.paper.rado_learn.learner import DescentTerms
from sottovoce.protocols.casting import Cast
from sottovoce.protocols.rado_descent.plan import DescentPlan, Ranges
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.rados import Part, Schedule, random_rados

SCHEDULE = Schedule(steps=4, rate=0.5, bound=8.0, squarings=6, centre=-5.0, momentum_bits=6)


def plan_for(*, features=3, rados=9, steps=4, **more):
    schedule = Schedule(**{**SCHEDULE.__dict__, "steps": steps})
    settings = {"penalty": 0.125, "ranges": Ranges(4.0), "masking": Masking(40)} | more
    return DescentPlan(features, rados, schedule, **settings)


def terms_for(peers=3, **more):
    return DescentTerms(Cast(NAMES[:peers], coordinator="cate", evaluator="eve"), plan_for(**more))


def rados_for(terms, *, seed=0, documents=8):
    """Each peer's own rados of made-up documents, a quarter of their size, in fixed point."""
    rng = np.random.default_rng(seed)
    collected = {}
    for name, places in terms.places().items():
        X = rng.uniform(-1, 1, (documents, terms.plan.features))
        y = np.where(X.sum(axis=1) + rng.normal(size=documents) > 0, 1.0, -1.0)
        drawn = random_rados(Part.of(X, y), count=places.count, rng=rng) / 4
        collected[name] = written(drawn, terms.plan)
    return collected


def all_rados(rados, plan):
    return Plain(np.concatenate([own.integers for own in rados.values()]), plan.rado_scale)


def entropy(seed=1):
    return SeededEntropy(seed)
