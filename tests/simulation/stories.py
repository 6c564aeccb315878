"""The studies that are simulated: a light one, and real ones with tiny keys and few features."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from harness.entropy import SeededEntropy
from harness.examples.arrangements import BY_NAME
from harness.network import read_toy
from harness.studies import BINARY, Case, notes
from simulation.copies import AskedCopyWorld, CopyWorld
from simulation.copies import Case as CopyCase
from simulation.invariants import Trained
from simulation.journals import CrashingJournal
from simulation.parts import Parts
from simulation.serving import ServingParts
from simulation.serving_world import ServingWorld
from simulation.site import CONTROL, COORDINATOR, Site
from simulation.toy import _CODEC, DIGIT, ToyCourse, ToyMask
from simulation.toy_queries import ToyPrograms
from simulation.toy_queries import ideal as ideal_label
from simulation.world import World
from sottovoce.course.seat_course import SeatCourse
from sottovoce.course.seat_course import counted as counted_in
from sottovoce.course.terms import Terms, WaitingLimits, planned
from sottovoce.numbers.residues import Base
from sottovoce.paillier import SecretKey, decrypt, generate_insecure_for_tests
from sottovoce.protocols.quorum.sharing import put_together
from sottovoce.rados import joined, solve
from sottovoce.study import InsecureToyPlan
from sottovoce.study.attempts import Stage
from sottovoce.study.choices import Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.model import HeldShare, PeerModel
from sottovoce.study.queries.quorum_model import MemberShare
from sottovoce.study.relay import Letter, Relay
from sottovoce.study.stages.contributions import local_moments, penalties_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.training import training_side
from sottovoce.study.study import Study
from sottovoce.text.documents import Document
from sottovoce.wire.codec import tag_of


@dataclass(frozen=True)
class Story:
    """A study to simulate, and how to read what came of it."""

    parts: Parts
    trained: Callable[[dict[str, Site]], Trained | None]
    length: int
    masks: Callable[[list[Letter]], list[bytes]] = lambda _: []
    open_kinds: frozenset[str] = frozenset()

    def tell(self, folder: Path, seed: int, **settings: Any) -> World:
        given = {"length": self.length, "open_kinds": self.open_kinds, **settings}
        return World(self.parts, folder, seed, self.trained, self.masks, **given)

    def copied(self, case: CopyCase, folder: Path, seed: int, **settings: Any) -> CopyWorld:
        """A world in which a disk is copied, and the copy is used."""
        made = {"folder": folder, "seed": seed, "trained": self.trained, "masks": self.masks}
        made |= {"length": self.length, "open_kinds": self.open_kinds}
        return CopyWorld(case, parts=self.parts, **{**made, **settings})

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
        engine={"assisted": "paillier", "spare": "quorum"}.get(engine, engine),
        alpha=50.0,
    )
    seats: dict[str, Any] = {} if engine == "shares" else {"with_dealer": False}
    if engine == "assisted":
        seats["intermediaries"] = {"north": "cloud"}
        return Case(notes(60, sites=3), plan, key, seats)
    if engine in {"quorum", "spare"}:
        seats["with_evaluator"] = False
        given = notes(60, sites=3) if engine == "quorum" else notes(80, sites=4)
        return Case(given, replace(plan, threshold=1), key, seats)
    return Case(notes(80, sites=4), plan, key, seats)


@lru_cache
def toy() -> Story:
    """The light one."""
    study = _case("shares").study
    parts = Parts(
        study,
        terms_of(study),
        lambda name, now, sums, edition: ToyCourse(now, name, sums, edition),
        lambda course: course.kept.get(Stage.TRAINING),
        lambda result: getattr(result, "peers", ()),
    )
    return Story(parts, _toy_trained, 130, _toy_masks, frozenset({"toy-set", "toy-sum"}))


def asking(folder: Path, seed: int, **settings: Any) -> ServingWorld:
    """A world of light queries and evaluations."""
    study = _asked_study()
    parts = ServingParts(study, terms_of(study), lambda name, sums: ToyPrograms(study, name, sums))
    return ServingWorld(parts, folder, seed, ideal=ideal_label, **settings)


def asked_copied(
    case: CopyCase,
    folder: Path,
    seed: int,
    journal: type[CrashingJournal] = CrashingJournal,
    **settings: Any,
) -> AskedCopyWorld:
    """The same, in which a disk is copied, and the copy is used."""
    study = _asked_study()
    parts = ServingParts(
        study, terms_of(study), lambda name, sums: ToyPrograms(study, name, sums), journal=journal
    )
    made = {"folder": folder, "seed": seed, "ideal": ideal_label, **settings}
    return AskedCopyWorld(case, parts=parts, **made)


@lru_cache
def _asked_study() -> Study:
    """Where the plan lets queries go on without the dealer, and two evaluations be held."""
    return _case("shares").changed(evaluations=2).study


def terms_of(study: Study) -> Terms:
    """The terms of a simulated study: a stage waits a hundred seconds."""
    limits = WaitingLimits(gather=100, receive=300, unseen=30, silent=100, enrolment=1000)
    return Terms("simulated", study.plan, planned(study.roster.participants), limits)


def _toy_masks(letters: list[Letter]) -> list[bytes]:
    """Every mask that was ever sent."""
    bodies = [letter.body[8:] for letter in letters if letter.session != CONTROL]
    return [_CODEC.decode(body, ToyMask).mask for body in bodies if tag_of(body) == "toy-mask"]


def _toy_trained(sites: dict[str, Site]) -> Trained | None:
    coordinator = sites[COORDINATOR]
    if not coordinator.finished:
        return None
    peers, model = _peers(coordinator), coordinator.model
    counted = {}
    for name in peers:
        mine = sites[name].model
        if sites[name].finished and mine is not None:
            counted[name] = _digits(peers, mine.total)
    return Trained(model.peers, counted, same=len(set(counted.values())) < 2)


def _peers(coordinator: Site) -> tuple[str, ...]:
    """The peers of the last roster."""
    return coordinator.state.record.seating[0].roster().peers


def _digits(peers: tuple[str, ...], total: int) -> tuple[str, ...]:
    """Whose numbers are in a sum, each as often as it is."""
    counted = []
    for place, peer in enumerate(peers):
        counted += [peer] * (total // DIGIT**place % DIGIT)
    return tuple(counted)


def _course(
    case: Case,
    name: str,
    study: Study | None = None,
    sums: Any = None,
    edition: int = 0,
    kind: type[SeatCourse] = SeatCourse,
) -> SeatCourse:
    """A seat's things as they lie on its disk, and its course at the beginning."""
    place = case.study.roster.names.index(name)
    entropy, now = SeededEntropy(100 + place), study or case.study
    party = PartyContext.open(now, case.identities[name], entropy=entropy)
    if sums is not None:
        party = replace(party, book=sums.book)
    keyed = name == COORDINATOR and case.study.engine is not Engine.QUORUM
    key = case.key if keyed else None
    return kind(party, documents=edited(case.documents.get(name), edition), key=key)


def edited(documents: Sequence[Document] | None, edition: int) -> Sequence[Document] | None:
    """The documents, or another edition of them: in each as many of them are redacted."""
    if documents is None or not edition:
        return documents
    return [
        replace(document, text="redacted") if at < edition else document
        for at, document in enumerate(documents)
    ]


def _relay(name: str, course: SeatCourse) -> Relay:
    return Relay(course.party, course.agreement)


def _real(engine: str) -> Story:
    return _real_of(_case(engine))


def _real_of(case: Case) -> Story:
    parts = Parts(
        case.study,
        terms_of(case.study),
        lambda name, study, sums, edition: _course(case, name, study, sums, edition),
        lambda course: course.trained or course.model or course.held,
        counted_in,
        _relay,
    )
    open_kinds = frozenset({"key-book", "left-out"})
    return Story(parts, lambda sites: _really_trained(case, sites), 350, open_kinds=open_kinds)


@lru_cache
def shares() -> Story:
    """A real study with engine shares."""
    return _real("shares")


@lru_cache
def paillier() -> Story:
    """A real study with engine paillier."""
    return _real("paillier")


@lru_cache
def assisted() -> Story:
    """A real study with engine paillier, in which an intermediary builds for one peer."""
    return _real("assisted")


@lru_cache
def by_features() -> Story:
    """A real study of a table whose columns are spread over the peers: none of them may leave."""
    toy = BY_NAME["features-zero-shares"]
    plan = read_toy(toy.text).plan
    key = generate_insecure_for_tests(plan.key_bits, entropy=SeededEntropy(31))
    case = Case(toy.parts, plan, key)
    trained = partial(_trained_by_features, case, _weights_of(case.run(), key))
    return replace(_real_of(case), trained=trained)


@lru_cache
def quorum() -> Story:
    """A real study with engine quorum: three sites, and a member at each."""
    return _quorum("quorum")


@lru_cache
def spare() -> Story:
    """A real study with engine quorum, in which one of four members may leave."""
    return _quorum("spare")


def _quorum(name: str) -> Story:
    case, story = _case(name), _real(name)
    return replace(story, trained=lambda sites: _jointly_trained(case, sites), length=500)


class _UnboundToy(ToyCourse):
    """Draws the same masks whatever the documents are."""

    @property
    def inputs(self) -> bytes:
        return bytes(32)


class _UnboundCourse(SeatCourse):
    """Draws the same masks whatever the documents are."""

    inputs = bytes(32)


def unbound(name: str) -> Story:
    """A study whose masks are not bound to the documents: broken on purpose."""
    if name == "toy":
        return toy().changed(course=lambda seat, *what: _UnboundToy(what[0], seat, *what[1:]))
    case = _case(name)
    return _real(name).changed(course=lambda *what: _course(case, *what, kind=_UnboundCourse))


def _really_trained(case: Case, sites: dict[str, Site]) -> Trained | None:
    """Whose documents each model was trained with: it is compared with the plaintext learner."""
    coordinator = sites[COORDINATOR]
    if not coordinator.finished:
        return None
    trained, held = coordinator.model, _held(sites)
    counted, totals = {}, []
    for name in _peers(coordinator):
        model = sites[name].model
        if sites[name].finished and model is not None:
            if model.weights is None and held is None:
                # The evaluator was lost with its share: nobody can ask this model anything.
                counted[name] = trained.peers
                continue
            weights = _opened(model, case.key, trained, held)
            expected = _plain(case, model, trained)
            close = np.allclose(weights, expected, atol=1e-3 * np.abs(expected).max())
            counted[name] = trained.peers if close else ("others",)
            totals.append(weights.tobytes())
    return Trained(trained.peers, counted, same=len(set(totals)) < 2)


def _weights_of(outcome: Any, key: SecretKey) -> dict[str, Any]:
    """The weights of every peer's model, from a study in memory."""
    return {
        name: _opened(model, key, outcome.trained, None) for name, model in outcome.models.items()
    }


def _trained_by_features(
    case: Case, weights: dict[str, Any], sites: dict[str, Site]
) -> Trained | None:
    """Everybody has the model of the undisturbed study in memory."""
    coordinator = sites[COORDINATOR]
    if not coordinator.finished:
        return None
    counted, trained = {}, coordinator.model
    for name in _peers(coordinator):
        model = sites[name].model
        if sites[name].finished and model is not None:
            expected = weights[name]
            mine = _opened(model, case.key, trained, None)
            close = np.allclose(mine, expected, atol=1e-3 * np.abs(expected).max())
            counted[name] = trained.peers if close else ("others",)
    return Trained(trained.peers, counted, same=True)


def _jointly_trained(case: Case, sites: dict[str, Site]) -> Trained | None:
    """The same in a quorum: what the members hold is put together, as no t of them ever do."""
    coordinator = sites[COORDINATOR]
    if not coordinator.finished:
        return None
    trained, counted = coordinator.model, {}
    # After an organisation left the agreement, members are others, at other points.
    study = coordinator.course.party.study
    # Who left between the sum of the moments and the training stays in that sum.
    summed = replace(trained, peers=coordinator.course.sums.peers)
    shares = {
        name: held.share
        for name in trained.members
        for held in (sites[name].model, *sites[name].results.values())
        if isinstance(held, MemberShare)
    }
    for name in _peers(coordinator):
        model = sites[name].model
        if sites[name].finished and model is not None:
            group = study.quorum_of(trained.peers).among(shares)
            value = put_together(shares, degree=group.threshold, quorum=group, what="model")
            weights = Base().signed(value).astype(np.float64)
            expected = model.scores.folded(_theta(case, model, summed))
            close = np.allclose(weights, expected, atol=5e-3 * np.abs(expected).max())
            counted[name] = trained.peers if close else ("others",)
    return Trained(trained.peers, counted, same=True)


def _held(sites: dict[str, Site]) -> HeldShare | None:
    """The evaluator's share; one that was lost after its part was done has it as a result."""
    evaluator = sites["evaluator"]
    results = (evaluator.model, *evaluator.results.values())
    return next((result for result in results if isinstance(result, HeldShare)), None)


def _opened(model: PeerModel, key: SecretKey, trained: Any, held: HeldShare | None) -> Any:
    """The weights that nobody sees: under the key at a peer, or in shares at two holders."""
    plan = model.scores.model
    if model.weights is None:
        assert held is not None
        assert held.scores == trained.scores == model.scores
        words = (trained.share + held.words)[: len(model.scores.factors)]
    else:
        values = decrypt(key, model.weights).integers
        words = np.array([int(value) % 2**64 for value in values.ravel()], np.uint64)
        words = words.reshape(values.shape)
    values = plan.ring.signed(plan.ring.reduce(words))
    return np.ldexp(values.astype(np.float64), -model.scores.weights.fraction_bits)


def _plain(case: Case, model: PeerModel, trained: Any) -> Any:
    """What the plaintext learner finds on the documents of the peers that were named."""
    factors = np.ldexp(np.array(model.scores.factors, np.float64), -14)
    return _theta(case, model, trained).reshape(len(factors), -1) * factors[:, None]


def _theta(case: Case, model: Any, trained: Any) -> Any:
    halves = model.space.dictionary.idf_halves
    prepared = Prepared(trained.totals, halves, model.space, model.key)
    party = _course(case, COORDINATOR).party
    moments = joined(
        local_moments(case.study, prepared, training_side(party, case.documents[name]))
        for name in trained.peers
    )
    penalties = penalties_of(case.plan, moments.features, case.plan.candidates[0])
    return solve(moments.second, moments.products, penalty=penalties)
