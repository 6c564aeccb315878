"""An untrusted machine builds a peer's contribution, and sees ciphertexts and a number of rows."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.consent import ANYTHING
from harness.entities import PEERS, ToySealedClassifier, toy, wards
from harness.noise import FEWEST, assert_looks_uniform, assert_shows_structure
from harness.studies import notes
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.datasets import load_ionosphere
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import AbsenceError, InputError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.paillier import Ciphertext, decrypt_residues
from sottovoce.protocols.two_party.matrices import FixedFactor, MaskedRows
from sottovoce.protocols.view import leaves
from sottovoce.study import InsecureToyPlan, Study
from sottovoce.study.attempts import Attempt, Stage, following
from sottovoce.study.card.card import StudyCard
from sottovoce.study.roster import Roster, draw_roster
from sottovoce.study.stages.encrypted.uploads import SealedRows

COLUMNS = (2, 4, 6)
CLOUDS = {"alice": "cloud", "bob": "other cloud", "carol": "cloud"}


def rows() -> tuple[np.ndarray, np.ndarray]:
    data = load_ionosphere()
    return data.train.X[:48][:, COLUMNS], data.train.y[:48]


def federation(**settings: Any) -> LocalFederation:
    X, y = rows()
    parts = {name: (X[k::3], y[k::3]) for k, name in enumerate(PEERS)}
    return LocalFederation(parts, policy=ANYTHING, **settings)


@cache
def fitted(rados: int = 0, *, helped: bool = True, **settings: Any) -> ToySealedClassifier:
    chosen = {"engine": "paillier", "alpha": 10.0, "held_out": 0.0, "release": "peers"} | settings
    clouds = CLOUDS if helped else {}
    chosen["contribution"] = "rados" if rados else "exact"
    return toy(rados=rados, **chosen).fit(federation(intermediaries=clouds))


def weights(model: ToySealedClassifier) -> np.ndarray:
    released = model.study_.models["alice"].released
    assert released is not None
    return released[:, 0]


def distance(first: np.ndarray, other: np.ndarray) -> float:
    return float(np.linalg.norm(first - other) / np.linalg.norm(other))


def test_exact_moments_give_the_model_that_peers_alone_would_give() -> None:
    assert distance(weights(fitted()), weights(fitted(helped=False))) < 1e-4


@pytest.mark.soak
def test_rados_of_forgotten_signatures_come_near() -> None:
    exact = weights(fitted(helped=False))
    assert 1e-4 < distance(weights(fitted(64)), exact) < 0.4


@pytest.mark.soak
def test_some_peers_may_build_for_themselves_and_classes_be_balanced() -> None:
    settings = {"engine": "paillier", "alpha": 10.0, "held_out": 0.0, "release": "peers"}
    some, none = (
        toy(class_weight="balanced", **settings).fit(federation(intermediaries=clouds))
        for clouds in ({"bob": "cloud"}, {})
    )
    assert distance(weights(some), weights(none)) < 1e-4
    assert "intermediary-bob" in some.study_.views
    assert "intermediary-alice" not in some.study_.views


# By default e2e/test_arrangements.py and study/test_arrangement_views.py.
@pytest.mark.soak
def test_texts_go_through_intermediaries_too_and_labels_stay_sealed() -> None:
    class ToyTextClassifier(TextClassifier):
        _plan_type = InsecureToyPlan

    documents = notes(60)
    settings = {"key_bits": 768, "min_documents": 1, "alpha": 3.0, "held_out": 0.0}
    model, alone = (
        ToyTextClassifier(features=4, engine=engine, query_budget=500, **settings).fit(
            LocalFederation(documents, intermediaries=clouds, policy=ANYTHING)
        )
        for engine, clouds in (("auto", {"north": "cloud"}), ("paillier", {}))
    )
    assert model.engine_ == "paillier"
    asked = [document.text for document in documents["north"][:20]]
    result = model.predict(asked, peer="north") == alone.predict(asked, peer="north")
    assert np.mean(result) > 0.9


# What everybody saw


@pytest.mark.parametrize("rados", [0, 64])
def test_an_intermediary_sees_ciphertexts_and_how_many_rows_there_are(rados: int) -> None:
    outcome = fitted(rados).study_
    view = outcome.views["intermediary-bob"]
    kinds = {type(item.message).__name__ for item in view.received}
    assert kinds == {"AgreedStudy", "TableNumbers", "SealedRows", "Fixed", "RowProducts"}
    uploaded = sum(len(message.rows) for message in view.of(SealedRows))
    # Exact moments: as many as all peers have together, rounded up, whoever has how many.
    assert uploaded == (16 if rados else 48)
    square = outcome.trained.key.public.modulus**2
    residues = [
        int(residue)
        for item in view.received
        for leaf in leaves(item.message)
        if isinstance(leaf, Ciphertext)
        for residue in leaf.residues
    ]
    assert len(residues) > FEWEST
    assert_looks_uniform(residues, square, what="ciphertexts at the intermediary")


@pytest.mark.parametrize("rados", [0, 64])
def test_the_key_holder_sees_noise_of_what_intermediaries_ask(rados: int) -> None:
    outcome = fitted(rados).study_
    key, view = outcome.trained.key, outcome.views["coordinator"]
    asked = [
        message.message for message in view.received if message.sender.startswith("intermediary")
    ]
    fixed = [
        residue
        for question in asked
        if isinstance(question, FixedFactor)
        for residue in decrypt_residues(key, question.matrix)
    ]
    assert_looks_uniform(fixed, key.public.modulus, what="fixed factors at the key holder")
    uploads = outcome.views["intermediary-alice"].of(SealedRows)
    opened = [residue for part in uploads for residue in decrypt_residues(key, part.rows)]
    assert_shows_structure(opened, key.public.modulus, what="rows without masks")
    masked = [
        residue
        for question in asked
        if isinstance(question, MaskedRows)
        for residue in decrypt_residues(key, question.rows)
    ]
    # Masks reach κ bits beyond the rows: the lower bits are uniform.
    kappa = outcome.study.plan.kappa
    assert_looks_uniform([number % 2**kappa for number in masked], 2**kappa, what="masked rows")


def test_attacks_recover_nothing_from_any_view() -> None:
    model = fitted(0, release="sealed")
    X, y = rows()
    model.predict(X[:4], peer="alice")
    outcome = model.study_
    key = outcome.trained.key
    for name, view in outcome.views.items():
        seen = [
            (
                decrypt_residues(key, leaf)
                if name == "coordinator"
                else [int(residue) for residue in leaf.residues]
            )
            if isinstance(leaf, Ciphertext)
            else leaf
            for leaf in view.leaves()
        ]
        report = attack_everything(seen, modulus=key.public.modulus)
        assert score(report.documents, np.rint(64 * X), y).matched == 0, name


def test_every_message_stands_on_the_card_and_so_does_what_pooling_gives() -> None:
    outcome = fitted(64).study_
    card = StudyCard(outcome.study)
    assert set(outcome.traffic.kinds) <= {line.name for line in card.lines}
    page = card.markdown()
    assert "64 rados" in page
    assert "with other cloud, which builds for bob, could read that peer's rows" in page
    assert "Intermediaries" not in StudyCard(fitted(helped=False).study_.study).markdown()


# Bad input by name


def test_mistakes_are_named() -> None:
    with pytest.raises(InputError, match="of alice, bob, carol, found one of 'dora'"):
        federation(intermediaries={"dora": "cloud"})
    refusal = "work on ciphertexts needs engine paillier, found shares"
    with pytest.raises(InputError, match=refusal) as refused:
        toy(engine="shares").fit(federation(intermediaries=CLOUDS))
    assert refused.value.setting == "engine"
    with pytest.raises(InputError, match="a power of 4 of rados, found 100"):
        toy(engine="paillier", contribution="rados", rados=100).fit(
            federation(intermediaries=CLOUDS)
        )
    with pytest.raises(InputError, match="intermediary is never the coordinator, found 'coord"):
        toy(engine="paillier").fit(federation(intermediaries={"bob": "coordinator"}))


def test_an_intermediary_is_named_after_its_peer() -> None:
    roster, _ = draw_roster(PEERS, entropy=SystemEntropy(), intermediaries={"bob": "cloud"})
    assert roster.intermediary("bob") == "intermediary-bob"
    assert roster.intermediary("alice") is None
    without = tuple(participant for participant in roster.participants if participant.name != "bob")
    with pytest.raises(InputError, match="an intermediary named after its peer"):
        Roster(without)


def test_partition_features_has_no_intermediaries() -> None:
    entities = wards()
    with pytest.raises(InputError, match="intermediaries are for partition documents"):
        toy(categories=entities.categories, held_out=0.0, engine="paillier").fit(
            entities.federation(intermediaries={"bob": "cloud"})
        )


def test_a_study_without_a_peer_goes_on_without_its_intermediary() -> None:
    roster, _ = draw_roster(
        (*PEERS, "dora"), entropy=SystemEntropy(), intermediaries={"dora": "cloud"}
    )
    plan = fitted().study_.study.plan
    study = Study(plan, roster)
    attempt = Attempt.first(study, Stage.TRAINING)
    assert "intermediary-dora" in attempt.parties(study)
    after = following(study, attempt, missing=["intermediary-dora"], opened=False)
    assert after.peers == PEERS
    assert "intermediary-dora" not in after.parties(study)
    with pytest.raises(AbsenceError, match="too few peers"):
        following(study, after, missing=["bob"], opened=False)
