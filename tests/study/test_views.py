"""What each party of a whole study saw is noise, and attacks find nothing in it."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.noise import FEWEST, assert_looks_uniform, assert_shows_structure
from harness.studies import BINARY, Case, notes
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.numbers.ring import decode
from sottovoce.paillier import Ciphertext, SecretKey, decrypt_residues
from sottovoce.protocols.blind_sum.messages import MaskedParts
from sottovoce.protocols.runner import Conversation, Outcome
from sottovoce.protocols.shares.holders import DealtSeed, HolderNonce
from sottovoce.protocols.shares.labels.carries import CarryPlan, DigitTests, slices
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.two_party.masks import Masking
from sottovoce.protocols.view import View, leaves
from sottovoce.rados import joined
from sottovoce.study import InsecureToyPlan
from sottovoce.study.evaluations.evaluation import JointConfusion
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.classification import MaskedScores
from sottovoce.study.queries.model import PeerModel
from sottovoce.study.queries.scoring import slots_of
from sottovoce.study.stages.agreement import Agreement
from sottovoce.study.stages.contributions import (
    MomentPlan,
    ShareSeed,
    collect,
    contribute,
    expand,
    local_moments,
    share_stream,
)
from sottovoce.study.stages.preparation import (
    Prepared,
    PublishedFeatures,
    PublishedWeights,
    prepare_coordinator,
    prepare_evaluator,
    prepare_peer,
)
from sottovoce.study.stages.solving import SolveNumbers
from sottovoce.text.features import FeatureReader
from sottovoce.wire import Words

PUBLISHED = (PublishedFeatures, PublishedWeights, SolveNumbers, JointConfusion)
SEATS = {
    "independent": {},
    "a peer evaluates": {"evaluator_at": "north"},
    "a peer deals": {"dealer_at": "north"},
}


def small(
    key: SecretKey, seats: dict[str, Any], *, documents: int = 90, features: int = 48
) -> Case:
    """Few documents and no suppression: what is easiest to take apart."""
    plan = InsecureToyPlan(
        "small",
        BINARY,
        features=features,
        bucket_bits=14,
        key_bits=768,
        min_documents=1,
        held_out=0.3,
        query_budget=2000,
    )
    return Case(notes(documents), plan, key, seats)


# A peer that evaluates pools two views; who pools a dealer's: test_labels_on_shares.py.
EVERY_RUN = "a peer evaluates"


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=() if name == EVERY_RUN else pytest.mark.soak) for name in SEATS
    ],
)
def case(request: pytest.FixtureRequest, toy_key: SecretKey) -> Case:
    """A study with queries of every peer and an evaluation."""
    case = small(toy_key, SEATS[request.param])
    for name in case.study.roster.peers:
        case.outcome.classify(name, case.documents[name][:30])
    case.outcome.evaluate(case.documents)
    return case


def numbers_in(view: View, key: SecretKey, *, opens: bool) -> Iterator[Any]:
    """Every number in a view; who holds the key opens every ciphertext, too."""
    for leaf in view.leaves():
        if isinstance(leaf, Ciphertext):
            yield (
                decrypt_residues(key, leaf)
                if opens
                else [int(residue) for residue in leaf.residues]
            )
        else:
            yield leaf


def truth(case: Case, known: PeerModel | Prepared) -> tuple[Any, list[int]]:
    """All rows of all peers as that dictionary reads them, and their labels ±1."""
    assert known.space is not None
    documents = [document for mine in case.documents.values() for document in mine]
    rows = FeatureReader(known.space, known.key).read(documents).unit()
    return rows, [1 if document.label == "urgent" else -1 for document in documents]


def test_attacks_recover_nothing_from_what_any_organisation_saw(case: Case) -> None:
    roster, key = case.study.roster, case.key
    for organisation in {participant.organisation for participant in roster.participants}:
        seen = [
            number
            for view in case.outcome.seen_by(organisation)
            for number in numbers_in(view, key, opens=organisation == "coordinator")
        ]
        report = attack_everything(seen, modulus=key.public.modulus)
        assert seen
        rows = truth(case, case.outcome.models["north"])
        assert score(report.documents, *rows).matched == 0, organisation


def test_what_holders_saw_in_training_is_noise(case: Case) -> None:
    for name in ("coordinator", "evaluator"):
        by_kind: dict[str, list[Any]] = defaultdict(list)
        for item in case.outcome.training_views[name].received:
            if not isinstance(item.message, PUBLISHED):
                words = [leaf for leaf in leaves(item.message) if isinstance(leaf, Words)]
                by_kind[type(item.message).__name__] += [word.array().ravel() for word in words]
        checked = 0
        for kind, arrays in by_kind.items():
            words = np.concatenate(arrays)[:20_000] if arrays else np.zeros(0, np.uint64)
            if len(words) >= FEWEST:
                assert_looks_uniform(words, what=f"{kind} at the {name}")
                checked += 1
        assert checked >= 3


def test_scores_that_the_key_holder_opens_are_noise_mod_n(case: Case) -> None:
    case = case.changed(labels_on="paillier")
    modulus = case.key.public.modulus
    opened = [
        residue
        for message in case.outcome.views["coordinator"].of(MaskedScores)
        for residue in decrypt_residues(case.key, message.scores)
    ]
    while len(opened) < FEWEST:
        case.outcome.classify("valley", case.documents["valley"][:30])
        last = case.outcome.views["coordinator"].of(MaskedScores)[-1]
        opened += decrypt_residues(case.key, last.scores)
    assert_looks_uniform(opened, modulus, what="scores at the coordinator")


def test_attacks_recover_nothing_from_a_study_on_ciphertexts(encrypted: Case) -> None:
    key, outcome = encrypted.key, encrypted.outcome
    outcome.classify("north", encrypted.documents["north"][:20])
    for name, view in outcome.views.items():
        seen = list(numbers_in(view, key, opens=name == "coordinator"))
        report = attack_everything(seen, modulus=key.public.modulus)
        rows = truth(encrypted, outcome.models["north"])
        assert score(report.documents, *rows).matched == 0, name


@pytest.mark.parametrize(
    ("engine", "release"),
    [
        ("shares", "margin"),
        ("shares", "peers"),
        pytest.param("paillier", "peers", marks=pytest.mark.soak),
    ],
)
def test_attacks_recover_nothing_where_scores_or_weights_are_released(
    engine: str, release: str, toy_key: SecretKey
) -> None:
    features, alpha = (48, 1.0) if engine == "shares" else (8, 5.0)
    case = small(toy_key, {}, features=features)
    case = case.changed(engine=engine, release=release, alpha=alpha)
    for name in case.study.roster.peers:
        case.outcome.classify(name, case.documents[name][:30])
    case.outcome.evaluate(case.documents)
    rows = truth(case, case.outcome.models["north"])
    for name, view in case.outcome.views.items():
        seen = list(numbers_in(view, toy_key, opens=name == "coordinator"))
        report = attack_everything(seen, modulus=toy_key.public.modulus)
        assert score(report.documents, *rows).matched == 0, name


def test_a_key_holder_that_helps_to_compare_sees_no_score(toy_key: SecretKey) -> None:
    case = small(toy_key, {}, documents=240, features=16)
    case = case.changed(verdict="dgk", labels_on="paillier")
    scores = case.outcome.trained.scores
    case.outcome.classify("north", case.documents["north"][:64])
    view = case.outcome.views["coordinator"]
    words = [
        decrypted
        for message in view.of(MaskedScores)
        for decrypted in slots_of(
            decrypt_residues(toy_key, message.scores), scores.slots, scores.ring
        ).tolist()
    ]
    assert_looks_uniform(words, 1 << scores.ring.bits)
    asked = view.of(DigitTests)
    zeros, together = 0, 0
    for question in asked:
        # Every number of a ciphertext has a prime of its own; the first ones are the smallest.
        plan = CarryPlan(scores.ring.bits - 1, 1, Masking(case.plan.kappa))
        while plan.scale != question.tests.scale:
            plan = CarryPlan(plan.bits, plan.count + 1, plan.masking)
        slots = plan.slots(toy_key.public.plaintext_bits)
        result = slices(decrypt_residues(toy_key, question.tests), slots, plan.tests)
        zeros += sum(any(value % prime == 0 for value in result) for prime in plan.primes)
        together += plan.count
    assert together >= 64
    assert 0.25 < zeros / together < 0.75


def test_the_dealer_receives_public_numbers_and_random_bytes_alone(case: Case) -> None:
    received = case.outcome.views["dealer"].received
    kinds = {type(item.message).__name__ for item in received}
    assert kinds == {"AgreedStudy", "SolveNumbers", "DealRequest", "HolderNonce"}
    nonces = case.outcome.views["dealer"].of(HolderNonce)
    assert len({message.nonce for message in nonces}) == len(nonces)


def test_whatever_is_dealt_to_the_evaluator_is_bound_to_its_run(case: Case) -> None:
    """In trainings and in queries."""
    drawn = {message.nonce for message in case.outcome.views["dealer"].of(HolderNonce)}
    taken = case.outcome.views["evaluator"].of(DealtSeed)
    assert len(taken) > 1
    assert {dealt.nonce for dealt in taken} == drawn


def contributed(case: Case) -> tuple[Outcome, dict[str, PartyContext], Prepared]:
    """The study up to the contributions, with every party's result."""
    entropy = SeededEntropy(8)
    roster, identities = case.study.roster, case.identities
    parties = {
        name: PartyContext.open(case.study, identities[name], entropy=entropy)
        for name in roster.names
    }
    agreement = Agreement(
        case.key.public, {name: party.box.public for name, party in parties.items()}
    )

    def peer(name: str) -> Any:
        prepared = yield from prepare_peer(parties[name], agreement, case.documents[name])
        yield from contribute(parties[name], prepared, case.documents[name])
        return prepared

    def coordinator() -> Any:
        prepared = yield from prepare_coordinator(parties["coordinator"])
        return (yield from collect(parties["coordinator"], prepared))

    def evaluator() -> Any:
        prepared = yield from prepare_evaluator(parties["evaluator"])
        return (yield from expand(parties["evaluator"], prepared))

    programs = {"coordinator": coordinator(), "evaluator": evaluator()}
    programs |= {name: peer(name) for name in roster.peers}
    outcome = Conversation(programs, codec=case.study.codec(case.key.public)).run()
    return outcome, parties, outcome.results["north"]


def test_coordinator_and_evaluator_together_get_the_joint_sum_and_no_single_part(
    toy_key: SecretKey,
) -> None:
    case = small(toy_key, {}, documents=60, features=300)
    outcome, parties, prepared = contributed(case)
    layout = MomentPlan.of(case.plan, prepared.totals)
    reference = outcome.results["coordinator"].reference
    moments = {
        name: local_moments(case.study, prepared, mine) for name, mine in case.documents.items()
    }
    for own in moments.values():
        reference.move(own)
    pooled = outcome.results["coordinator"].words + outcome.results["evaluator"].words
    sums = [layout.write(moment) for moment in moments.values()]
    assert np.array_equal(pooled, sums[0] + sums[1] + sums[2])

    seeds = {
        message.sender: message.message.seed
        for message in outcome.views["evaluator"].received
        if isinstance(message.message, ShareSeed)
    }
    masked = {
        packet.sender: packet.message.parts[0].array()
        for packet in outcome.views["coordinator"].received
        if isinstance(packet.message, MaskedParts)
        and packet.message.parts[0].shape == (layout.length,)
    }
    assert set(seeds) == set(masked) == set(case.study.roster.peers)
    for name in case.study.roster.peers:
        part = masked[name] + share_stream(parties[name].session, seeds[name], layout).words(
            layout.length
        )
        assert_looks_uniform(part, what=f"what both together have of {name}")
        assert_shows_structure(layout.write(moments[name]), what="a part without its masks")

    # What pooling gives, as the study card says: text of the union, though not whose it is.
    second = decode(Triangle(layout.width).unpack(layout.split(pooled)[0]), layout.scales.matrix)
    joint = joined(moments.values())
    assert np.allclose(second, joint.second, atol=1e-3)
    # The point is public: whoever has both shares measures from the origin again.
    joint.move(-np.append(reference.mean, 0.0))
    assert score(attack_everything([joint.second]).documents, *truth(case, prepared)).matched > 0


def test_the_same_attacks_do_find_documents_in_moments_without_masks(toy_key: SecretKey) -> None:
    case = small(toy_key, {}, documents=60, features=300)
    _, _, prepared = contributed(case)
    layout = MomentPlan.of(case.plan, prepared.totals)
    exposed = layout.write(local_moments(case.study, prepared, case.documents["north"]))
    recovered = attack_everything(list(layout.split(exposed))).documents
    assert score(recovered, *truth(case, prepared)).word_for_word > 0
