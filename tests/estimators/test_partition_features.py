"""Peers that hold different features of the same entities: sealed equals plain, and sealed."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.entities import PEERS, Entities, fitted, ionosphere, toy, wards
from harness.noise import FEWEST, assert_looks_uniform
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.datasets import load_ionosphere
from sottovoce.errors import (
    InputError,
)
from sottovoce.numbers.ring import decode
from sottovoce.paillier import Ciphertext, decrypt_residues
from sottovoce.protocols.view import leaves
from sottovoce.rados import solve
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.candidates import Candidate
from sottovoce.study.card.card import StudyCard
from sottovoce.study.queries.entities import (
    EntityQuestion,
)
from sottovoce.study.queries.remote import RemoteScores
from sottovoce.study.stages.blocks import BlockPlan
from sottovoce.study.stages.contributions import ShareSeed, penalties_of, share_stream
from sottovoce.study.stages.holdings import block_columns, integer_rows
from sottovoce.study.stages.training import held_back_side, training_side
from sottovoce.wire import Words


def joined_columns(outcome: StudyOutcome, entities: Entities) -> np.ndarray:
    """Every peer's block columns as a friend would add them up, rounded as they travel."""
    plan = BlockPlan.of(outcome.study.plan, outcome.trained.totals)
    return sum(
        decode(plan.write(block)[: plan.size], plan.columns)
        for block in peer_blocks(outcome, entities)
    )


def peer_blocks(outcome: StudyOutcome, entities: Entities) -> list[Any]:
    documents = entities.federation().documents
    model = outcome.models["alice"]
    return [
        block_columns(
            outcome.study,
            model.space,
            peer,
            training_side(
                outcome.parties[peer],
                [document for document in documents[peer] if document.label is not None],
            ),
            key=model.key,
            totals=outcome.trained.totals,
        )
        for peer in PEERS
    ]


def twin(model: Any, entities: Entities, alpha: float | None = None) -> np.ndarray:
    """θ of the plaintext learner on the same rounded block columns."""
    outcome = model.study_
    blocks = peer_blocks(outcome, entities)
    columns = joined_columns(outcome, entities).reshape(blocks[0].rows.shape)
    b = sum(block.moments.products for block in blocks)
    penalties = penalties_of(outcome.study.plan, columns.shape[1], Candidate(alpha or model.alpha))
    return solve(columns.T @ columns, b, penalty=penalties)


def joint_rows(
    outcome: StudyOutcome,
    entities: Entities,
    names: list[str],
    *,
    asker: str,
    peers: tuple[str, ...] = PEERS,
) -> Any:
    """What these peers have of some entities together, in integers; what is shared counts once."""
    model, made = outcome.models[asker], []
    for peer in peers:
        mine = {document.group: document for document in entities.federation().documents[peer]}
        asked = [mine[name] for name in names]
        made.append(
            integer_rows(
                outcome.study, model.space, peer, asked, key=model.key, common=peer == asker
            )
        )
    return sum(made[1:], made[0])


def plain_scores(model: Any, entities: Entities, asker: str, numbers: Any) -> np.ndarray:
    """Scores of the plaintext twin with everybody's features of the same entities."""
    outcome = model.study_
    rows = joint_rows(outcome, entities, entities.names[numbers], asker=asker)
    return rows @ (outcome.models[asker].space.factors[:, np.newaxis] * twin(model, entities))


@pytest.mark.parametrize("asker", PEERS)
def test_ionosphere_sealed_scores_equal_the_plaintext_twin(asker: str) -> None:
    entities = ionosphere()
    model = fitted("ionosphere", remote="full", release="margin")
    numbers = slice(200, 351)
    result = model.decision_function(
        entities.rows(asker, numbers), peer=asker, entities=entities.names[numbers]
    )
    expected = plain_scores(model, entities, asker, numbers)[:, 0]
    assert result == pytest.approx(expected, abs=0.01)
    wrong = np.mean(np.where(result > 0, 1, -1) != load_ionosphere().test.y)
    assert 0.10 < wrong < 0.18


@pytest.mark.soak
def test_ionosphere_error_by_what_stands_for_the_features_of_others() -> None:
    entities, truth = ionosphere(), list(load_ionosphere().test.y)
    wrong = {}
    for remote in ("full", "normalised", "zero"):
        model = fitted("ionosphere", remote=remote)
        numbers = slice(200, 351)
        wrong[remote] = [
            1
            - model.score(
                entities.rows(peer, numbers), truth, peer=peer, entities=entities.names[numbers]
            )
            for peer in PEERS
        ]
    assert max(wrong["full"]) < 0.14
    assert np.mean(wrong["full"]) < np.mean(wrong["normalised"]) < np.mean(wrong["zero"])


@pytest.mark.parametrize(
    ("verdict", "engine"),
    [
        ("fss", "shares"),
        ("dgk", "shares"),
        ("fss", "paillier"),
        pytest.param("dgk", "paillier", marks=pytest.mark.soak),
    ],
)
def test_both_engines_give_the_labels_of_the_plaintext_twin(engine: str, verdict: str) -> None:
    entities = wards()
    model = fitted("wards", engine=engine, verdict=verdict, alpha=5.0, remote="full")
    numbers = slice(0, 30)
    expected = plain_scores(model, entities, "bob", numbers)[:, 0]
    predicted = model.predict(
        entities.rows("bob", numbers), peer="bob", entities=entities.names[numbers]
    )
    clear = np.abs(expected) > 5e-3
    plain = np.where(expected > 0, "class 1", "class 0")
    assert clear.sum() > 25
    assert predicted[clear].tolist() == plain[clear].tolist()
    assert model.engine_ == engine


@pytest.mark.parametrize(
    ("engine", "remote"),
    [
        ("shares", "full"),
        pytest.param("shares", "zero", marks=pytest.mark.soak),
        pytest.param("shares", "normalised", marks=pytest.mark.soak),
        pytest.param("paillier", "full", marks=pytest.mark.soak),
    ],
)
def test_one_of_several_penalties_is_chosen_as_a_friend_would(engine: str, remote: str) -> None:
    """By all peers' labels of entities that were held back, with the plan's remote part."""
    entities, alphas = wards(150), (0.5, 2.0)
    model = toy(
        engine=engine,
        remote=remote,
        alpha=alphas,
        categories=entities.categories,
        held_out=0.0,
    ).fit(entities.federation())
    outcome = model.study_
    asked = held_back_side(outcome.parties["bob"], entities.federation().documents["bob"])
    names = [question.group for question in asked]
    assert len(names) >= 20
    right = []
    for alpha in alphas:
        theta = twin(model, entities, alpha=alpha)
        result = 0
        for asker in PEERS:
            peers = PEERS if remote == "full" else (asker,)
            rows = joint_rows(outcome, entities, names, asker=asker, peers=peers)
            scores = rows @ (outcome.models[asker].space.factors[:, np.newaxis] * theta)
            labels = [entities.labels[entities.names.index(name)] for name in names]
            result += int(np.sum((scores[:, 0] > 0) == (np.array(labels) == "class 1")))
        right.append(result)
    chosen = outcome.trained.candidate.alpha
    assert {model.candidate.alpha for model in outcome.models.values()} == {chosen}
    if remote != "normalised":
        assert right[0] != right[1]
        assert chosen == alphas[int(np.argmax(right))]
    numbers = slice(0, 30)
    model.alpha = chosen
    expected = plain_scores(model, entities, "bob", numbers)[:, 0]
    if remote == "full":
        result = model.predict(
            entities.rows("bob", numbers), peer="bob", entities=entities.names[numbers]
        )
        clear = np.abs(expected) > 5e-3
        plain = np.where(expected > 0, "class 1", "class 0")
        assert result[clear].tolist() == plain[clear].tolist()


def test_three_classes_and_balanced_weights() -> None:
    entities = wards(120, classes=3)
    settings = {"categories": entities.categories, "class_weight": "balanced", "alpha": 0.5}
    model = toy(remote="full", release="margin", held_out=0.0, **settings).fit(
        entities.federation()
    )
    numbers = slice(0, 20)
    result = model.decision_function(
        entities.rows("carol", numbers), peer="carol", entities=entities.names[numbers]
    )
    assert result == pytest.approx(plain_scores(model, entities, "carol", numbers), abs=0.01)


def test_the_plan_chooses_who_answers_and_a_shared_feature_counts_once() -> None:
    entities = wards()
    model = fitted("wards", remote="full", answering=("carol",), release="margin")
    asked = {"peer": "alice", "entities": entities.names[:10]}
    result = model.decision_function(entities.rows("alice", slice(0, 10)), **asked)
    outcome = model.study_
    rows = joint_rows(
        outcome, entities, entities.names[:10], asker="alice", peers=("alice", "carol")
    )
    weights = outcome.models["alice"].space.factors[:, np.newaxis] * twin(model, entities)
    assert result == pytest.approx((rows @ weights)[:, 0], abs=0.01)
    assert "one peer alone answers" in StudyCard(outcome.study).markdown()
    assert outcome.views["answerer-carol"].of(EntityQuestion)
    assert [name for name, view in outcome.views.items() if view.of(EntityQuestion)] == [
        "answerer-carol"
    ]


@pytest.mark.parametrize("remote", ["full", "normalised"])
def test_whom_nobody_answers_asks_with_what_it_has(remote: str, tmp_path: Path) -> None:
    entities = wards()
    model = fitted("wards", remote=remote, answering=("carol",), release="margin")
    numbers, asked = slice(0, 10), {"peer": "carol", "entities": entities.names[:10]}
    result = model.decision_function(entities.rows("carol", numbers), **asked)
    outcome = model.study_
    rows = joint_rows(outcome, entities, entities.names[:10], asker="carol", peers=("carol",))
    weights = outcome.models["carol"].space.factors[:, np.newaxis] * twin(model, entities)
    assert result == pytest.approx((rows @ weights)[:, 0], abs=0.01)
    model.save(tmp_path / "carol.model", peer="carol")
    assert type(model).load(tmp_path / "carol.model", study=model)


def test_a_few_entities_are_few_however_many_peers_ask_about_them() -> None:
    """Ten entities at three peers are thirty rows, and still ten."""
    entities = wards(60)
    model = toy(categories=entities.categories, remote="full", held_out=0.2).fit(
        entities.federation()
    )
    with pytest.raises(InputError, match="at least 20 held-out documents over all peers"):
        model.evaluate()


def test_evaluate_holds_the_same_entities_out_at_every_peer() -> None:
    entities = wards(150)
    model = toy(categories=entities.categories, remote="full", held_out=0.3).fit(
        entities.federation()
    )
    figures = model.evaluate()
    held_out = [
        document.group
        for document in entities.federation().documents["alice"]
        if document.group
        not in {
            two.group
            for two in training_side(
                model.study_.parties["alice"], entities.federation().documents["alice"]
            )
        }
    ]
    # Every held-out entity counts once for each peer that asks about it, so a cell of three
    # entities is one of nine: smaller ones are left out.
    assert figures.fewest == 9
    left_out = 3 * len(held_out) - int(figures.counts.sum())
    assert left_out % 3 == 0
    assert 0 <= left_out <= 6 * int(figures.left_out.sum())
    assert figures.accuracy > 0.7


# What everybody saw


def seen_numbers(view: Any, key: Any, *, opens: bool) -> list[Any]:
    return [
        (decrypt_residues(key, leaf) if opens else [int(residue) for residue in leaf.residues])
        if isinstance(leaf, Ciphertext)
        else leaf
        for leaf in view.leaves()
    ]


@pytest.mark.parametrize(
    ("engine", "remote"),
    [("shares", "full"), pytest.param("paillier", "normalised", marks=pytest.mark.soak)],
)
def test_attacks_recover_nothing_from_any_view(engine: str, remote: str) -> None:
    entities = wards()
    model = fitted("wards", engine=engine, remote=remote, alpha=5.0)
    asked = {"peer": "alice", "entities": entities.names[:8]}
    model.predict(entities.rows("alice", slice(0, 8)), **asked)
    outcome = model.study_
    key = outcome.trained.key
    rows = joint_rows(outcome, entities, entities.names, asker="alice")
    signs = [1 if label == "class 1" else -1 for label in entities.labels]
    for name, view in outcome.views.items():
        seen = seen_numbers(view, key, opens=name == "coordinator")
        report = attack_everything(seen, modulus=key.public.modulus)
        assert score(report.documents, rows, signs).matched == 0, name


def test_what_holders_saw_of_blocks_is_noise() -> None:
    outcome = fitted("ionosphere", remote="zero").study_
    for name in ("coordinator", "evaluator"):
        arrays = [
            leaf.array().ravel()
            for item in outcome.training_views[name].received
            if type(item.message).__name__ in {"FactorShare", "DividendShare", "StepShares"}
            for leaf in leaves(item.message)
            if isinstance(leaf, Words)
        ]
        words = np.concatenate(arrays)[:20_000]
        assert len(words) > FEWEST
        assert_looks_uniform(words, what=f"blocks at the {name}")


def test_coordinator_and_evaluator_together_would_see_block_sums_as_the_card_says() -> None:
    entities = ionosphere()
    outcome = fitted("ionosphere", remote="zero").study_
    plan = BlockPlan.of(outcome.study.plan, outcome.trained.totals)
    received = outcome.training_views["coordinator"].received
    masked = [
        item.message.parts[0].array()
        for item in received
        if type(item.message).__name__ == "MaskedParts"
        and item.message.parts[0].shape == (plan.length,)
    ]
    seeds = {
        item.sender: item.message.seed
        for item in outcome.training_views["evaluator"].received
        if isinstance(item.message, ShareSeed)
    }
    assert len(masked) == len(seeds) == 3
    session = Attempt(Stage.TRAINING, 1, PEERS).session(outcome.study)
    for number in masked:
        for seed in seeds.values():
            part = number + share_stream(session, seed, plan).words(plan.length)
            assert_looks_uniform(part, what="one peer's part, with both halves")
    card = StudyCard(outcome.study).markdown()
    assert "has that holder's name on it" in card
    # Sums over at least three entities each, from which the attacks rebuild no entity.
    columns = joined_columns(outcome, entities).reshape(plan.blocks, -1)
    rows = joint_rows(outcome, entities, entities.names[:200], asker="alice")
    recovered = attack_everything([columns]).documents
    assert score(recovered, rows, entities.labels[:200]).matched == 0


def test_blocks_of_one_entity_would_give_it_away() -> None:
    entities = wards(40)
    single = {"ward": tuple(range(40)), "sex": ("f", "m")}
    table = entities.table.assign(ward=range(40))
    lonely = Entities(table, entities.labels, single, entities.own)
    chosen = {"categories": lonely.categories, "held_out": 0.0, "remote": "zero"}
    model = toy(**chosen, min_documents=1, alpha=5.0).fit(lonely.federation())
    columns = joined_columns(model.study_, lonely).reshape(model.study_.study.plan.blocks, -1)
    rows = joint_rows(model.study_, lonely, lonely.names, asker="alice").toarray()
    present = columns[np.abs(columns).sum(axis=1) > 0]
    # In units of 1/1024; the first column is the intercept.
    assert np.array_equal(
        np.sort(np.rint(1024 * present[:, -3:-1]), axis=0), np.sort(rows[:, -3:-1], axis=0)
    )


def test_a_remote_part_is_ciphertexts_and_full_alone_names_entities() -> None:
    entities = wards()
    asked = {"peer": "alice", "entities": entities.names[:4]}
    for remote in ("full", "normalised", "zero"):
        model = fitted("wards", remote=remote, alpha=2.0)
        model.predict(entities.rows("alice", slice(0, 4)), **asked)
        model.predict(entities.rows("alice", slice(0, 4)), **asked)
        views = model.study_.views
        named = [view.of(EntityQuestion) for view in views.values()]
        assert any(named) is (remote == "full")
        if remote == "full":
            seen = views["answerer-bob"].of(EntityQuestion)[0].entities
            assert set(seen) == set(entities.names[:4])
        # Normalised rados come once, from both others, before anybody asks.
        expected = {"full": None, "normalised": 2, "zero": 0}[remote]
        assert expected in {None, len(views["alice"].of(RemoteScores))}
        for answer in views["alice"].of(RemoteScores):
            opened = decrypt_residues(model.study_.trained.key, answer.scores)
            assert min(opened) > 2**100, "masks reach over the whole of Z_N"
        assert not views["coordinator"].of(RemoteScores)


def test_every_message_stands_on_the_card() -> None:
    entities = wards()
    for settings in ({"remote": "full"}, {"remote": "normalised", "engine": "paillier"}):
        model = fitted("wards", alpha=5.0, **settings)
        model.predict(entities.rows("bob", slice(0, 3)), peer="bob", entities=entities.names[:3])
        card = StudyCard(model.study_.study)
        assert set(model.study_.traffic.kinds) <= {line.name for line in card.lines}
        assert "blocks" in card.markdown()
    assert (
        "learn which entities are asked about"
        in StudyCard(fitted("wards", alpha=5.0, remote="full").study_.study).markdown()
    )


def test_the_arrangement_is_part_of_what_is_signed() -> None:
    digests = {
        dict(fitted("wards", remote=remote, alpha=2.0).study_.study.settings)["arrangement"]
        for remote in ("full", "normalised", "zero")
    }
    assert len(digests) == 3


@pytest.mark.parametrize("remote", ["full", "normalised"])
def test_a_stored_part_asks_the_others_as_before(remote: str, tmp_path: Path) -> None:
    entities = wards()
    model = fitted("wards", remote=remote, alpha=2.0)
    asked = {"peer": "bob", "entities": entities.names[:20]}
    before = model.predict(entities.rows("bob", slice(0, 20)), **asked)
    model.save(tmp_path / "bob.model", peer="bob")
    alone = type(model).load(tmp_path / "bob.model", study=model)
    again = alone.predict(entities.rows("bob", slice(0, 20)), **asked)
    assert again.tolist() == before.tolist()
