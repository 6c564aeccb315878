"""What the members of a quorum may pool is noise, and one member more reads everything."""

from functools import lru_cache
from itertools import chain, combinations
from typing import Any

import numpy as np
import pytest

from harness.conversations.pooled import contributed_shares, guessed, integers
from harness.entropy import SeededEntropy
from harness.noise import FEWEST, assert_looks_uniform, assert_shows_structure
from harness.studies import BINARY, notes
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.numbers.residues import PRIMES
from sottovoce.numbers.ring import decode, from_ring, to_ring
from sottovoce.protocols.quorum.bit_check import CheckedShare
from sottovoce.protocols.quorum.fast_labels import CoveredScore
from sottovoce.protocols.quorum.opening import OpenedValues
from sottovoce.protocols.quorum.rows import RowSeed, RowShares
from sottovoce.protocols.quorum.sums import SumShare
from sottovoce.protocols.quorum.tally import TallyShare
from sottovoce.protocols.quorum.told_check import ToldShare
from sottovoce.protocols.shares.signs import ComparandShare
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.protocols.view import View, leaves
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.quorum_queries import MembersNeeded, _QuorumQuery
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.centring import Reference
from sottovoce.study.stages.contributions import MomentPlan, local_moments
from sottovoce.study.stages.joint_mean import JointMean
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.quorum_contributions import SpectrumShare
from sottovoce.study.stages.training import training_side
from sottovoce.text.features import FeatureReader
from sottovoce.wire import Residues

SIZES = {3: 1, 5: 2}
# Shares of results that the study card lists; of masked values everything else is.
LISTED = (SumShare, SpectrumShare, TallyShare)


@lru_cache
def studied(members: int, verdict: str = "auto") -> StudyOutcome:
    """A whole study without any suppression: a training, a query of every peer, an evaluation."""
    documents = notes(30 * members, sites=members)
    plan = StudyPlan(
        "pooled",
        BINARY,
        features=40,
        bucket_bits=11,
        engine=Engine.QUORUM,
        min_documents=1,
        held_out=0.5,
        alpha=4.0,
        thresholds=(-0.25, 0.0, 0.25),
        verdict=verdict,  # type: ignore[arg-type]
    )
    roster, identities = draw_roster(
        tuple(documents), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    outcome = run_study(
        Study(plan, roster), documents, identities=identities, entropy=SeededEntropy(9)
    )
    for name in documents:
        outcome.classify(name, documents[name][:4])
    outcome.evaluate(documents)
    return outcome


def allowed(outcome: StudyOutcome) -> list[tuple[str, ...]]:
    """Every set of members that the study card lets pool, the coordinator with each of them."""
    quorum = outcome.study.quorum
    sizes = range(quorum.threshold + 1)
    return list(chain.from_iterable(combinations(quorum.members, size) for size in sizes))


def one_more(outcome: StudyOutcome) -> list[tuple[str, ...]]:
    """Every set with one member more than that."""
    quorum = outcome.study.quorum
    return list(combinations(quorum.members, quorum.threshold + 1))


def views_of(outcome: StudyOutcome, pool: tuple[str, ...]) -> list[View]:
    """All seats of the members' organisations, and the coordinator's."""
    roster = outcome.study.roster
    organisations = {roster.organisation(name) for name in pool} | {
        roster.organisation(roster.coordinator)
    }
    return [
        view for organisation in sorted(organisations) for view in outcome.seen_by(organisation)
    ]


def moments_of(outcome: StudyOutcome, pool: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """What the pool has of the moments of the peers outside it."""
    roster = outcome.study.roster
    inside = {roster.organisation(name) for name in pool}
    shares = contributed_shares({name: outcome.views[name] for name in pool}, "moments")
    return {peer: mine for peer, mine in shares.items() if roster.organisation(peer) not in inside}


def documents_of(outcome: StudyOutcome) -> dict[str, list[Any]]:
    members = len(outcome.study.quorum.members)
    return notes(30 * members, sites=members)


def truth(outcome: StudyOutcome) -> tuple[Any, list[int]]:
    """All rows of all peers, and their labels ±1."""
    model = next(iter(outcome.models.values()))
    documents = [document for mine in documents_of(outcome).values() for document in mine]
    rows = FeatureReader(model.space, model.key).read(documents).unit()
    return rows, [1 if document.label == "urgent" else -1 for document in documents]


@pytest.mark.parametrize("members", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_what_may_be_pooled_is_noise(members: int) -> None:
    outcome = studied(members)
    assert outcome.study.quorum.threshold == SIZES[members]
    pools = allowed(outcome)
    assert len(pools) == {3: 4, 5: 16}[members]
    for pool in pools:
        by_kind: dict[type, list[Any]] = {}
        for view in views_of(outcome, pool):
            for item in view.received:
                if isinstance(item.message, LISTED):
                    continue
                for leaf in leaves(item.message):
                    # Opened values of two residues are sums that the card lists.
                    opened = isinstance(item.message, OpenedValues | ToldShare)
                    if isinstance(leaf, Residues) and not (opened and leaf.shape[0] == 2):
                        by_kind.setdefault(type(item.message), []).append(leaf.planes()[0].ravel())
        # All members are shown the same share of a check.
        for kind in (CheckedShare, ToldShare):
            shown = {array.tobytes(): array for array in by_kind.pop(kind, [])}
            # Random halves of a single masked value are its share, or nothing.
            shown = {data: array for data, array in shown.items() if len(set(array.tolist())) > 2}
            by_kind[kind] = [np.empty(0, np.uint32), *shown.values()]
        for kind, arrays in by_kind.items():
            residues = np.concatenate(arrays)[:4000]
            if len(residues) >= FEWEST:
                assert_looks_uniform(residues, PRIMES[0], what=f"{kind.__name__} of {pool}")
        assert len(by_kind) >= 3


def test_labels_that_a_member_deals_for_are_noise_to_one_of_three() -> None:
    """An asker's organisation, the one that compares and the one that deals, each with C."""
    outcome = studied(3, "fss")
    for pool in allowed(outcome):
        seen = [item.message for view in views_of(outcome, pool) for item in view.received]
        for kind, field, modulus in (
            (CoveredScore, "share", PRIMES[0]),
            (ComparandShare, "words", None),
        ):
            matches = [getattr(each, field) for each in seen if isinstance(each, kind)]
            assert bool(matches) == bool(pool)
            if not pool:
                continue
            if modulus is not None:
                assert_looks_uniform(
                    np.concatenate([each.planes()[0].ravel() for each in matches]), modulus
                )
            else:
                ring = outcome.trained.scores.ring
                words = np.concatenate([each.array() for each in matches])
                assert_looks_uniform(words, 1 << ring.bits)


@pytest.mark.parametrize("members", SIZES)
def test_shares_of_one_peers_moments_are_noise_to_a_pool_and_its_moments_to_one_more(
    members: int,
) -> None:
    outcome = studied(members)
    quorum = outcome.study.quorum
    for pool in allowed(outcome)[1:]:
        for peer, shares in moments_of(outcome, pool).items():
            result = guessed(shares, pool, quorum)[0]
            assert_looks_uniform(result, PRIMES[0], what=f"what {pool} have of {peer}")
    for pool in one_more(outcome):
        for peer, shares in moments_of(outcome, pool).items():
            result = guessed(shares, pool, quorum)
            assert_shows_structure(result[0], PRIMES[0], what=f"what {pool} have of {peer}")


@pytest.mark.parametrize("members", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_attacks_find_nothing_in_what_may_be_pooled(members: int) -> None:
    outcome = studied(members)
    quorum, rows = outcome.study.quorum, truth(outcome)
    # Whoever sees more, sees what its part sees: the largest pools contain all others.
    for pool in (pool for pool in allowed(outcome) if len(pool) == quorum.threshold):
        seen: list[Any] = [leaf for view in views_of(outcome, pool) for leaf in view.leaves()]
        seen += [
            integers(guessed(shares, pool, quorum)) for shares in moments_of(outcome, pool).values()
        ]
        assert score(attack_everything(seen).documents, *rows).matched == 0, pool


def told_point(outcome: StudyOutcome, halves: tuple[int, ...]) -> Reference:
    """The point from which everybody measured, as every member was told it."""
    guess = Reference.of(outcome.study.plan, halves)
    views = views_of(outcome, one_more(outcome)[0])
    message = next(
        item.message
        for view in views
        for item in view.received
        if isinstance(item.message, JointMean)
    )
    assert guess is not None
    point = guess.corrected(from_ring(message.steps.array()))
    assert point is not None
    return point


@pytest.mark.parametrize("members", SIZES)
def test_one_member_more_rebuilds_text(members: int) -> None:
    outcome = studied(members)
    study, model = outcome.study, next(iter(outcome.models.values()))
    halves = model.space.dictionary.idf_halves
    prepared = Prepared(outcome.trained.totals, halves, model.space, model.key)
    layout = MomentPlan.of(study.plan, prepared.totals)
    reference = told_point(outcome, halves)
    for pool in one_more(outcome):
        peer, shares = next(iter(moments_of(outcome, pool).items()))
        words = to_ring(integers(guessed(shares, pool, study.quorum)).astype(np.int64))
        mine = training_side(outcome.parties[peer], documents_of(outcome)[peer])
        moments = local_moments(study, prepared, mine)
        reference.move(moments)
        words = words[: layout.length]  # the rows that it claimed come after them
        assert np.array_equal(words, layout.write(moments))
    second = decode(Triangle(layout.width).unpack(layout.split(words)[0]), layout.scales.matrix)
    np.testing.assert_allclose(second, moments.second, atol=1e-4)
    # The point is public: who has the moments measures from the origin again.
    moments.move(-np.append(reference.mean, 0.0))
    recovered = attack_everything([moments.second]).documents
    assert score(recovered, *truth(outcome)).matched > 0


def rows_of(outcome: StudyOutcome, pool: tuple[str, ...], asker: str) -> dict[str, Any]:
    """What each of the pool has of the rows of an asker's first query."""
    model = outcome.models[asker]
    needed = next(
        item.message
        for item in outcome.views[pool[0]].received
        if isinstance(item.message, MembersNeeded) and item.message.asker == asker
    )
    assert isinstance(model, QuorumModel)
    query = _QuorumQuery.of(outcome.parties[pool[0]], needed, model.scores, model.members)
    sharing, by_member = query.plan.sharing(query.context), {}
    for member in pool:
        for item in outcome.views[member].received:
            message = item.message
            if not isinstance(message, RowSeed | RowShares) or item.sender != asker:
                continue
            if message.context == sharing.context.encode() and member not in by_member:
                seeded = isinstance(message, RowSeed)
                planes = sharing.drawn(message.seed, 0)[0] if seeded else message.rows.planes()
                by_member[member] = planes.reshape(len(planes), -1)
    return by_member


@pytest.mark.parametrize("members", SIZES)
def test_one_member_more_reads_the_rows_of_a_query(members: int) -> None:
    outcome, asker = studied(members), "north"
    quorum, model = outcome.study.quorum, outcome.models[asker]
    asked = documents_of(outcome)[asker][:4]
    rows = FeatureReader(model.space, model.key).read(asked).integers().toarray()
    for pool in one_more(outcome):
        result = integers(guessed(rows_of(outcome, pool, asker), pool, quorum))
        assert np.array_equal(result.reshape(-1, rows.shape[1])[: len(rows)], rows)
    for pool in allowed(outcome)[1:]:
        result = guessed(rows_of(outcome, pool, asker), pool, quorum)[0]
        assert_looks_uniform(result, PRIMES[0], what=f"what {pool} have of a query")


@pytest.mark.parametrize("members", SIZES)
def test_one_member_more_reads_the_model(members: int) -> None:
    outcome = studied(members)
    quorum = outcome.study.quorum
    shares = {name: held.share for name, held in outcome.shared.items()}
    flat = {name: share.reshape(len(share), -1) for name, share in shares.items()}
    models = [guessed(flat, pool, quorum) for pool in one_more(outcome)]
    assert all(np.array_equal(models[0], model) for model in models)
    for pool in allowed(outcome)[1:]:
        assert (guessed(flat, pool, quorum)[0] != models[0][0]).mean() > 0.9
