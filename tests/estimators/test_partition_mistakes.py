"""Mistakes of people and parties where peers hold different features of the same entities."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harness.consent import ANYTHING
from harness.entities import PEERS, Entities, fitted, toy, wards
from harness.meddling import Crashing
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MismatchError,
    MisuseError,
    OtherEntitiesError,
    ViolationError,
)
from sottovoce.estimators import LocalFederation
from sottovoce.protocols.conversation import Receive
from sottovoce.study.attempts import Attempt, Stage
from sottovoce.study.queries.entities import (
    EntityQuestion,
    EntityUnknown,
    HeldEntities,
    answer_entities,
    remote_part,
)
from sottovoce.study.queries.remote import RemoteScores
from sottovoce.study.queries.score_shares import RowOrder
from sottovoce.study.stages.blocks import BlockNumbers, deal_blocks


def fit(entities: Entities, federation: LocalFederation | None = None, **settings: Any) -> Any:
    chosen = {"categories": entities.categories, "held_out": 0.0, "remote": "zero"} | settings
    return toy(**chosen).fit(federation or entities.federation())


def test_blocks_that_are_all_too_small() -> None:
    with pytest.raises(InputError, match=r"alice: blocks: expected at least one block of 40 rows"):
        fit(wards(), min_documents=40)


def test_a_value_that_the_plan_does_not_list() -> None:
    entities = wards()
    with pytest.raises(InputError, match=r"alice row \d+: .*shared column ward \(eye, heart\)"):
        fit(entities, categories=entities.categories | {"ward": ("eye", "heart")})
    rows = entities.rows("alice", slice(0, 1)).assign(ward=None)
    with pytest.raises(InputError, match=r"predict row 1: .*shared column ward .*found nothing"):
        fitted("wards", remote="zero", alpha=2.0).predict(rows, peer="alice")


def test_a_shared_column_without_a_public_list() -> None:
    entities = wards()
    parts = {
        peer: (entities.table[["ward", "sex", f"{peer} 1"]], entities.labels) for peer in PEERS
    }
    federation = LocalFederation(parts, partition="features", shared=["ward", "sex"])
    with pytest.raises(InputError, match="shared column 'sex' has no public list"):
        fit(entities, federation, categories={"ward": entities.categories["ward"]})


def test_overlapping_and_missing_columns() -> None:
    entities = wards()
    table = {peer: (entities.rows(peer), entities.labels) for peer in PEERS}
    both = table | {"bob": (entities.rows("bob").assign(**{"alice 1": 0.0}), entities.labels)}
    with pytest.raises(InputError, match="at one peer or shared by all, found 'alice 1'"):
        fit(entities, LocalFederation(both, partition="features", shared=entities.shared))
    less = table | {"bob": (entities.rows("bob").drop(columns=["sex"]), entities.labels)}
    with pytest.raises(MismatchError, match="bob: expected the shared column 'sex'"):
        fit(entities, LocalFederation(less, partition="features", shared=entities.shared))
    none = table | {"bob": (entities.rows("bob")[entities.shared], entities.labels)}
    with pytest.raises(InputError, match="'bob' has no column of its own"):
        fit(entities, LocalFederation(none, partition="features", shared=entities.shared))
    with pytest.raises(MismatchError, match="bob: expected the columns of 'alice'"):
        fit(entities, LocalFederation(table))


def test_peers_with_other_entities_are_named() -> None:
    entities = wards()
    parts = dict(entities.federation().parts)
    rows, labels, names = parts["carol"]
    parts["carol"] = (rows.iloc[1:], labels[1:], names[1:])
    federation = LocalFederation(parts, partition="features", shared=entities.shared)
    with pytest.raises(OtherEntitiesError, match=r"^carol: expected the same blocks and counts"):
        fit(entities, federation)
    parts["carol"] = (
        rows,
        ["class 0" if label == "class 1" else "class 1" for label in labels],
        names,
    )
    federation = LocalFederation(parts, partition="features", shared=entities.shared)
    with pytest.raises(OtherEntitiesError, match=r"^carol: expected the same blocks and counts"):
        fit(entities, federation)


def test_an_entity_that_another_peer_does_not_hold() -> None:
    entities = wards()
    model = fitted("wards", remote="full", alpha=2.0)
    with pytest.raises(
        InputError,
        match="alice: expected entities that 'bob' holds, too, found that it has none",
    ):
        model.predict(entities.rows("alice", slice(0, 1)), peer="alice", entities=["nobody"])
    # Nothing is left waiting: the next query works.
    asked = {"peer": "alice", "entities": entities.names[:1]}
    assert len(model.predict(entities.rows("alice", slice(0, 1)), **asked)) == 1


def test_names_of_entities_where_they_are_needed() -> None:
    entities = wards()
    anonymous = entities.federation(named=False)
    with pytest.raises(InputError, match="remote full: every peer must name the entity"):
        fit(entities, anonymous, remote="full")
    with pytest.raises(InputError, match="hold out the same entities by their names"):
        fit(entities, anonymous, held_out=0.2)
    assert fit(entities, anonymous, remote="normalised").study_
    with pytest.raises(InputError, match="predict: name the entity of each row"):
        fitted("wards", remote="full", alpha=2.0).predict(entities.rows("bob"), peer="bob")
    parts = dict(entities.federation().parts)
    rows, labels, names = parts["bob"]
    parts["bob"] = (rows, labels, [names[1], *names[1:]])
    seats = {"partition": "features", "shared": entities.shared, "policy": ANYTHING}
    twice = LocalFederation(parts, **seats)
    model = fit(entities, twice, remote="full")
    with pytest.raises(InputError, match="every entity once at 'bob'"):
        model.predict(entities.rows("alice", slice(0, 1)), peer="alice", entities=[names[1]])


def test_one_class_no_number_and_other_mistakes() -> None:
    entities = wards()
    parts = dict(entities.federation().parts)
    rows, labels, names = parts["bob"]
    parts["bob"] = (rows, ["class 1"] * len(labels), names)
    with pytest.raises(InputError, match="bob: expected documents of at least two classes"):
        fit(entities, LocalFederation(parts, partition="features", shared=entities.shared))
    rows = rows.copy()
    rows.iloc[3, 2] = np.nan
    parts["bob"] = (rows, labels, names)
    with pytest.raises(
        InputError, match="bob row 4: expected a number in column bob 1, found nothing"
    ):
        fit(entities, LocalFederation(parts, partition="features", shared=entities.shared))
    with pytest.raises(
        InputError, match="partition to be one of documents, features, found 'rows'"
    ):
        LocalFederation({"a": (rows, labels)}, partition="rows")
    with pytest.raises(
        InputError, match="remote to be one of full, zero, normalised, found 'none'"
    ):
        fit(entities, remote="none")
    with pytest.raises(InputError, match="answering peers among alice, bob, carol, found 'dora'"):
        fit(entities, answering=["dora"])
    with pytest.raises(InputError, match="released weights score what a peer holds, found remote"):
        fit(entities, release="peers", remote="full")
    three = wards(90, classes=3)
    with pytest.raises(InputError, match="normalised remote part is for two classes, found 3"):
        fit(three, remote="normalised")
    values = tuple(range(48))
    with pytest.raises(InputError, match=r"expected at most 4096 blocks, found 4608: 48 × 48"):
        fit(entities, categories={"ward": values, "sex": values})
    with pytest.raises(InputError, match="shared columns are for partition features"):
        LocalFederation(parts, shared=["ward"])


def test_one_time_masks_of_an_answer_are_used_once() -> None:
    outcome = fitted("wards", remote="full", answering=("carol",), release="margin").study_
    party, seats = outcome.parties["answerer-carol"], outcome.study.answering_seats("alice")

    def answered() -> None:
        held = outcome.entities["answerer-carol"]
        program = answer_entities(party, held, asker="alice", answering=seats)
        next(program)
        program.send(EntityQuestion(77, (wards().names[0],)))

    answered()
    with pytest.raises(MisuseError, match=r"'remote part of answerer-carol' .* was used already"):
        answered()


def test_nobody_may_be_left_out_of_who_hold_features() -> None:
    entities = wards()
    model = toy(categories=dict(entities.categories), held_out=0.0)
    model._meddler = Crashing({PEERS[-1]: 3})
    with pytest.raises(AbsenceError, match=PEERS[-1]):
        model.fit(entities.federation())
    study = fitted("wards").study_.study
    study = replace(study, plan=replace(study.plan, min_peers=2))
    with pytest.raises(AbsenceError, match="expected at least 3, found 2, missing carol"):
        Attempt.first(study, Stage.TRAINING, peers=PEERS[:-1])


def test_answers_that_were_not_agreed_name_the_peer() -> None:
    outcome = fitted("wards", remote="full", alpha=2.0).study_
    party, model = outcome.parties["alice"], outcome.models["alice"]

    def asked() -> Any:
        seats = outcome.study.answering_seats("alice")
        bring = remote_part(party, model, ["entity 1"], number=7, answering=seats)
        program = bring(RowOrder.given(1))
        action = next(program)
        while not isinstance(action, Receive):
            action = program.send(None)
        return program

    with pytest.raises(
        ViolationError, match="answerer-bob: names an entity that was not asked about"
    ):
        asked().send(EntityUnknown(3))
    program = asked()
    program.send(RemoteScores(model.weights))
    with pytest.raises(ViolationError, match="answerer-bob: ciphertext: expected layout 1 × 1"):
        program.send(RemoteScores(model.weights))


def test_a_peer_that_may_not_answer_refuses() -> None:
    outcome = fitted("wards", remote="full", answering=("carol",), release="margin").study_
    documents = wards().federation().documents["bob"]
    program = answer_entities(
        outcome.parties["bob"],
        HeldEntities("bob", outcome.models["bob"], documents),
        asker="alice",
        answering=outcome.study.answering_seats("alice"),
    )
    next(program)
    with pytest.raises(ViolationError, match="alice: asks 'bob', whom the plan does not let"):
        program.send(EntityQuestion(0, ("entity 1",)))


def test_a_dealer_refuses_a_truncation_that_cannot_be() -> None:
    outcome = fitted("wards", remote="full", alpha=2.0).study_
    program = deal_blocks(outcome.parties["dealer"])
    next(program)
    with pytest.raises(ViolationError, match="coordinator: expected a truncation of 1 to 60 bits"):
        program.send(BlockNumbers(0))
