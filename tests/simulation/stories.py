"""The studies that are simulated: a light one, and real ones with tiny keys and few features."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from simulation.invariants import Trained
from simulation.site import CONTROL, COORDINATOR, Parts, Site
from simulation.toy import _CODEC, DIGIT, ToyCourse, ToyMask
from simulation.world import World
from sottovoce.paillier import SecretKey, decrypt, generate_insecure_for_tests
from sottovoce.rados import joined, solve
from sottovoce.roles import InsecureToyPlan
from sottovoce.roles.attempts import Stage
from sottovoce.roles.contributions import local_moments, penalties_of
from sottovoce.roles.course import Course
from sottovoce.roles.desk import Desk
from sottovoce.roles.model import SealedModel
from sottovoce.roles.preparation import Prepared
from sottovoce.roles.relay import Letter, Relay
from sottovoce.roles.training import training_side
from sottovoce.wire.codec import tag_of


@dataclass(frozen=True)
class Story:
    """A study to simulate, and how to read what came of it."""

    parts: Parts
    trained: Callable[[dict[str, Site]], Trained | None]
    length: int
    masks: Callable[[list[Letter]], list[bytes]] = lambda _: []

    def tell(self, folder: Path, seed: int, **settings: Any) -> World:
        told = {"length": self.length, **settings}
        return World(self.parts, folder, seed, self.trained, self.masks, **told)

    def changed(self, **parts: Any) -> "Story":
        return replace(self, parts=replace(self.parts, **parts))


@lru_cache
def _case(engine: str) -> Case:
    key = generate_insecure_for_tests(512, entropy=SeededEntropy(31))
    plan = InsecureToyPlan(
        "notes",
        BINARY,
        features=8,
        key_bits=512,
        bucket_bits=8,
        query_budget=400,
        engine=engine,
        alpha=50.0,
    )
    seats = {} if engine == "shares" else {"with_dealer": False}
    return Case(notes(80, sites=4), plan, key, seats)


@lru_cache
def toy() -> Story:
    """The light one."""
    study = _case("shares").study
    return Story(Parts(study, lambda name: ToyCourse(study, name)), _toy_trained, 130, _toy_masks)


def _toy_masks(letters: list[Letter]) -> list[bytes]:
    """Every mask that was ever sent."""
    bodies = [one.body[8:] for one in letters if one.session != CONTROL]
    return [_CODEC.decode(one, ToyMask).mask for one in bodies if tag_of(one) == "toy-mask"]


def _toy_trained(sites: dict[str, Site]) -> Trained | None:
    coordinator = sites[COORDINATOR]
    if not coordinator.state.finished:
        return None
    study = coordinator.study
    found = coordinator.course.kept[Stage.TRAINING]
    counted = {}
    for name in study.roster.peers:
        mine = sites[name].course.kept.get(Stage.TRAINING)
        if sites[name].state.finished and mine is not None:
            counted[name] = _digits(study.roster.peers, mine.total)
    return Trained(found.peers, counted, same=len(set(counted.values())) < 2)


def _digits(peers: tuple[str, ...], total: int) -> tuple[str, ...]:
    """Whose numbers are in a sum, each as often as it is."""
    counted = []
    for place, peer in enumerate(peers):
        counted += [peer] * (total // DIGIT**place % DIGIT)
    return tuple(counted)


def _course(case: Case, name: str) -> Course:
    """A seat's things as they lie on its disk, and its course at the beginning."""
    place = case.study.roster.names.index(name)
    desk = Desk.open(case.study, case.identities[name], entropy=SeededEntropy(100 + place))
    key = case.key if name == COORDINATOR else None
    return Course(desk, documents=case.documents.get(name), key=key)


def _relay(name: str, course: Course) -> Relay:
    return Relay(course.desk, course.agreement)


def _real(engine: str) -> Story:
    case = _case(engine)
    parts = Parts(case.study, lambda name: _course(case, name), _relay)
    return Story(parts, lambda sites: _really_trained(case, sites), 350)


@lru_cache
def shares() -> Story:
    """A real study with engine shares."""
    return _real("shares")


@lru_cache
def paillier() -> Story:
    """A real study with engine paillier."""
    return _real("paillier")


def _really_trained(case: Case, sites: dict[str, Site]) -> Trained | None:
    """Whose documents each model was trained with: it is compared with the plaintext learner."""
    coordinator = sites[COORDINATOR]
    if not coordinator.state.finished:
        return None
    trained = coordinator.course.trained
    counted, found = {}, []
    for name in case.study.roster.peers:
        model = sites[name].course.model
        if sites[name].state.finished and model is not None:
            weights = _opened(model, case.key)
            expected = _plain(case, model, trained)
            close = np.allclose(weights, expected, atol=1e-3 * np.abs(expected).max())
            counted[name] = trained.peers if close else ("others",)
            found.append(weights.tobytes())
    return Trained(trained.peers, counted, same=len(set(found)) < 2)


def _opened(model: SealedModel, key: SecretKey) -> Any:
    """The weights that nobody sees."""
    plan = model.scores.model
    values = decrypt(key, model.weights).integers
    words = np.array([int(one) % 2**64 for one in values.ravel()], np.uint64)
    values = plan.ring.signed(plan.ring.reduce(words.reshape(values.shape)))
    return np.ldexp(values.astype(np.float64), -model.scores.weights.fraction_bits)


def _plain(case: Case, model: SealedModel, trained: Any) -> Any:
    """What the plaintext learner finds on the documents of the peers that were named."""
    halves = model.space.dictionary.idf_halves
    prepared = Prepared(trained.totals, halves, model.space, model.key)
    desk = _course(case, COORDINATOR).desk
    moments = joined(
        local_moments(case.study, prepared, training_side(desk, case.documents[name]))
        for name in trained.peers
    )
    penalties = penalties_of(case.plan, moments.features, case.plan.alphas[0])
    theta = solve(moments.second, moments.products, penalty=penalties)
    factors = np.ldexp(np.array(model.scores.factors, np.float64), -14)
    return theta.reshape(len(factors), -1) * factors[:, None]
