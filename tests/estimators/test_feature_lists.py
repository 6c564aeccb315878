"""The paper's f_p: weights of a peer's own features alone, at the price that its name says."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.consent import ANYTHING
from harness.entities import PEERS, toy, wards
from harness.entropy import SeededEntropy
from harness.studies import BINARY, notes
from sottovoce.errors import InputError, ViolationError
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.paillier import decrypt_residues
from sottovoce.study import InsecureToyPlan, Policy, Study
from sottovoce.study.arrangement import Partition, Remote, Weights
from sottovoce.study.card.card import StudyCard
from sottovoce.study.queries.model import EncryptedModel
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.listing import FeatureList, ListedFeatures, take_lists
from sottovoce.study.stages.preparation import Prepared
from sottovoce.text.passes import kept_columns
from sottovoce.wire import Words

REVEAL = "reveal_feature_lists_to_coordinator"


class ToyTextClassifier(TextClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan
    _keeps_views = True


@cache
def documents() -> dict[str, Any]:
    return notes(90)


@cache
def fitted(weights: str, engine: str = "shares", **settings: Any) -> ToyTextClassifier:
    chosen = {"key_bits": 768, "min_documents": 2, "alpha": 2.0, "held_out": 0.0} | settings
    size = 60 if engine == "shares" else 5
    if engine == "paillier":
        # Five columns would all be stretches of characters, which say little.
        chosen |= {"characters": None}
    return ToyTextClassifier(
        features=size, engine=engine, weights=weights, query_budget=2000, **chosen
    ).fit(LocalFederation(documents(), policy=ANYTHING))


@pytest.mark.parametrize("engine", ["shares", pytest.param("paillier", marks=pytest.mark.soak)])
def test_a_peer_is_sent_the_weights_of_its_own_words_and_labels_its_own_texts(engine: str) -> None:
    listed, whole = fitted(REVEAL, engine), fitted("whole", engine)
    asked = [document.text for document in documents()["north"][:25]]
    result = listed.predict(asked, peer="north") == whole.predict(asked, peer="north")
    # Both are right to rounding, so a near tie may fall either way.
    assert np.mean(result) > 0.9
    outcome = listed.study_
    model = outcome.models["north"]
    kept = kept_columns(documents()["north"], model.space, fewest=2, key=model.key)
    own = np.flatnonzero(np.append(kept, True))
    sent = outcome.views["north"].of(EncryptedModel)[0].weights
    assert len(sent) == len(own)
    if engine == "shares":
        assert len(own) < model.space.width, "a peer that has every word would show nothing"
    opened = decrypt_residues(outcome.trained.key, model.weights)
    line = len(opened) // model.space.width
    for column in set(range(model.space.width)) - set(own.tolist()):
        assert not any(opened[column * line : (column + 1) * line])


def test_the_coordinator_learns_the_lists_and_by_default_nobody_does() -> None:
    listed, whole = fitted(REVEAL).study_, fitted("whole").study_
    assert len(listed.views["coordinator"].of(FeatureList)) == 3
    assert len(listed.views["evaluator"].of(ListedFeatures)) == 3
    for view in whole.views.values():
        assert not view.of(FeatureList)
        assert not view.of(ListedFeatures)


def test_the_default_policy_refuses_it_and_the_card_says_it_aloud() -> None:
    study = fitted(REVEAL).study_.study
    with pytest.raises(InputError, match=f"weights: expected whole, found {REVEAL}"):
        Policy(key_bits=768, min_documents=2).check(study)
    allowed = frozenset(Weights)
    Policy(key_bits=768, min_documents=2, weights=allowed).check(study)
    Policy(key_bits=768, min_documents=2).check(fitted("whole").study_.study)
    page = StudyCard(study).markdown()
    assert "tells the coordinator which features its documents have" in page
    assert "`feature-list`" in page
    assert "`feature-list`" not in StudyCard(fitted("whole").study_.study).markdown()
    kinds = set(fitted(REVEAL).study_.traffic.kinds)
    assert kinds <= {line.name for line in StudyCard(study).lines}


def test_partition_features_with_lists() -> None:
    entities = wards()
    settings = {"categories": entities.categories, "held_out": 0.0, "remote": "full"}
    model = toy(weights=REVEAL, **settings).fit(entities.federation())
    sizes = {peer: len(model.study_.views[peer].of(EncryptedModel)[0].weights) for peer in PEERS}
    # The intercept and the norm's column, five shared columns, two of its own.
    assert set(sizes.values()) == {9}
    asked = {"peer": "bob", "entities": entities.names[:6]}
    assert len(model.predict(entities.rows("bob", slice(0, 6)), **asked)) == 6


def test_the_default_policy_refuses_to_tell_who_is_asked_about() -> None:
    entities = wards()
    settings = {"categories": entities.categories, "held_out": 0.0}
    study = toy(remote="full", **settings).fit(entities.federation()).study_.study
    with pytest.raises(InputError, match="remote: expected normalised or zero, found full"):
        Policy(key_bits=768).check(study)
    Policy(key_bits=768, remotes=frozenset(Remote)).check(study)


@pytest.mark.parametrize(
    ("peer", "columns"), [("north", (9, 4)), ("north", ()), ("north", (4, 10**6)), ("dora", (1, 2))]
)
def test_a_list_that_is_none_names_the_coordinator(peer: str, columns: tuple[int, ...]) -> None:
    study = fitted(REVEAL).study_
    program = take_lists(study.parties["evaluator"], Prepared(study.trained.totals, ()))
    next(program)
    words = Words.of(np.array(columns, np.uint64))
    with pytest.raises(ViolationError, match="coordinator: expected columns of the peer below"):
        program.send(ListedFeatures(peer, words))


def test_another_word_for_it_is_refused() -> None:
    with pytest.raises(InputError, match="weights to be one of whole, reveal_feature"):
        fitted("some")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"release": "margin"}, "release: expected sealed, found margin"),
        ({"weights": REVEAL}, f"weights: expected whole, found {REVEAL}"),
        ({"min_peers": 2}, "min_peers: expected at least 3, found 2"),
    ],
)
def test_estimators_ask_the_default_policy_before_anything_is_done(
    settings: dict[str, Any], says: str
) -> None:
    parts = dict.fromkeys(("north", "south", "west"), (["a b", "c d"] * 6, ["one", "two"] * 6))
    with pytest.raises(InputError, match=says) as refused:
        ToyTextClassifier(features=4, key_bits=768, **settings).fit(LocalFederation(parts))
    assert "policy=Policy(" in refused.value.hints[0]
    with pytest.raises(InputError, match="federation: expected a Policy, found a text"):
        LocalFederation(parts, policy="anything")


def test_a_policy_names_every_arrangement() -> None:
    study = toy(held_out=0.0, categories=wards().categories).fit(wards().federation()).study_.study
    with pytest.raises(InputError, match="partition: expected documents, found features"):
        Policy(key_bits=768, partitions=frozenset({Partition.DOCUMENTS})).check(study)
    roster, _ = draw_roster(
        ("north", "south", "west"),
        entropy=SeededEntropy(1),
        with_dealer=False,
        intermediaries={"north": "cloud"},
    )
    helped = Study(InsecureToyPlan("helped", BINARY, features=4, key_bits=768), roster)
    Policy(key_bits=768).check(helped)
    with pytest.raises(InputError, match="intermediaries: expected none, found 'cloud'"):
        Policy(key_bits=768, intermediaries=False).check(helped)
