"""Whatever can be wrong with a plan, a roster, or a peer's documents, by its name."""

from dataclasses import replace
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.meddling import Crashing
from harness.studies import BINARY, Case, notes
from sottovoce.errors import (
    AbsenceError,
    InputError,
    MisuseError,
    RareClassError,
    SottovoceError,
    ViolationError,
)
from sottovoce.protocols.runner import converse
from sottovoce.study import InsecureToyPlan, Participant, Policy, Role, Roster, Study, StudyPlan
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries.budget import QueryBook, QueryBudgetWarning, QueryRequest
from sottovoce.study.release import Release
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.agreement import collected, consented
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"alpha": 0.0}, "expected penalties alpha above 0, found 0.0"),
        ({"alpha": -1.0}, "expected penalties alpha above 0, found -1.0"),
        ({"alpha": (1.0, 1.0)}, "different penalties"),
        ({"alpha": ()}, "penalties alpha above 0"),
        ({"features": 0}, "at least 1 feature, found 0"),
        ({"name": " "}, "a name for the study"),
        ({"key_bits": 1024}, "key_bits 2048 or 3072 or 4096, found 1024"),
        ({"release": "everybody"}, "release to be one of sealed, "),
        ({"engine": "magic"}, "engine to be one of auto, quorum, shares, paillier"),
        ({"min_peers": 1}, "min_peers of at least 2, found 1"),
        ({"epsilon": 0.0}, "0 < epsilon <= 1"),
        ({"distrusted": (5000,)}, "distrusted features below 2048"),
        ({"class_weight": "even"}, "class_weight None, 'root' or 'balanced'"),
        ({"dictionary": "given"}, "a given dictionary and its words belong together"),
        ({"dictionary": "given", "words": ("a", "b")}, "as many features as words"),
        (
            {"alpha": (1.0, 2.0), "release": "margin"},
            "expected one model where scores are released",
        ),
        ({"query_budget": 0}, "query_budget of at least 1"),
        ({"kappa": 20}, "kappa of at least 40"),
        ({"held_out": 2.0}, "share from 0 to 1"),
    ],
)
def test_a_plan_that_cannot_work_is_refused_by_name(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        StudyPlan(**{"name": "notes", "labels": BINARY} | settings)


@pytest.mark.parametrize(
    ("seats", "match"),
    [
        ({"evaluator_at": "coordinator"}, "the evaluator is never the coordinator"),
        ({"dealer_at": "coordinator"}, "the dealer is never the coordinator"),
        ({"dealer_at": "evaluator"}, "the dealer is never the evaluator"),
        ({"evaluator_at": "bob", "dealer_at": "bob"}, "the dealer is never the evaluator"),
    ],
)
def test_roles_of_one_organisation_are_refused(seats: dict[str, str], match: str) -> None:
    with pytest.raises(InputError, match=match):
        draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy(), **seats)


def test_a_roster_with_names_twice_or_roles_missing_is_refused() -> None:
    roster, _ = draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy())
    coordinator, evaluator, dealer, *peers = roster.participants
    alice = peers[0]
    with pytest.raises(InputError, match="'alice' twice"):
        Roster((*roster.participants, alice))
    with pytest.raises(InputError, match="exactly 1 evaluator, found 0"):
        _ = Roster((coordinator, dealer, *peers)).evaluator
    with pytest.raises(InputError, match="at least 2 peers, found 1"):
        Roster((coordinator, evaluator, alice))
    with pytest.raises(InputError, match="one peer an organisation, found 'alice' as several"):
        Roster((coordinator, evaluator, alice, replace(peers[1], organisation="alice")))
    with pytest.raises(InputError, match="the peer is never the coordinator"):
        Roster((coordinator, evaluator, peers[1], replace(alice, organisation="coordinator")))
    with pytest.raises(InputError, match="identity key of 32 bytes"):
        Participant("dan", "dan", Role.PEER, b"short")


def test_too_few_peers_and_engines_that_nobody_can_run_are_refused() -> None:
    two, _ = draw_roster(("alice", "bob"), entropy=SeededEntropy())
    plan = StudyPlan("notes", BINARY)
    with pytest.raises(InputError, match=r"at least 3 peers, found 2 \(alice, bob\)"):
        Study(plan, two)
    alone, _ = draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy(), with_dealer=False)
    with pytest.raises(InputError, match="engine shares needs a dealer, and none is named"):
        Study(replace(plan, engine="shares"), alone)
    with pytest.raises(InputError, match="engine paillier is for at most 128 features, found 2048"):
        Study(plan, alone)


def test_a_policy_refuses_what_its_owner_did_not_consent_to(binary: Case) -> None:
    study = binary.changed(release="peers", min_peers=2).study
    with pytest.raises(InputError) as caught:
        Policy().check(study)
    for part in (
        "release: expected sealed, found peers",
        "min_peers: expected at least 3, found 2",
    ):
        assert part in str(caught.value)
    assert "key_bits: expected at least 3072, found 768" in str(caught.value)
    with pytest.raises(InputError, match="dictionary: expected given, found joint"):
        Policy(dictionaries=frozenset({"given"}), key_bits=768).check(binary.study)
    consented = Policy(releases={"margin"}, dictionaries="joint")
    assert (consented.releases, consented.dictionaries) == ({Release.MARGIN}, {"joint"})
    with pytest.raises(InputError, match=r"expected remotes to be one of .*, found 'ful'"):
        Policy(remotes={"ful"})
    seated = Case(binary.documents, binary.plan, binary.key, {"evaluator_at": "north"})
    with pytest.raises(InputError, match="independent organisation, found the peer 'north'"):
        Policy(key_bits=768, independent_evaluator=True).check(seated.study)
    with pytest.raises(
        InputError, match=r"north: policy: .*release: expected sealed, found margin"
    ):
        binary.changed(release="margin").run(policies={"north": Policy(key_bits=768)})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"features": 95}, "bob: agreed to another study: expected features 96, found 95"),
        ({"labels": Labels(("no", "yes"))}, "bob: agreed to another study: expected labels"),
        ({"min_documents": 1}, "expected min_documents 3, found 1"),
    ],
)
def test_peers_that_disagree_are_named_with_what_differs(
    binary: Case, change: dict[str, Any], match: str
) -> None:
    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy())
    entropy = SeededEntropy(1)
    right = Study(binary.plan, roster)
    wrong = Study(replace(binary.plan, **change), roster)
    programs: dict[str, Any] = {}
    for name in roster.names:
        study = wrong if name == "bob" else right
        party = PartyContext.open(study, identities[name], entropy=entropy)
        programs[name] = collected(party, binary.key) if name == "coordinator" else consented(party)
    with pytest.raises(ViolationError, match=match):
        converse(programs)


def _changed(binary: Case, documents: dict[str, list[Document]], **settings: Any) -> Case:
    case = binary.changed(**settings)
    return Case({**case.documents, **documents}, case.plan, case.key)


def test_documents_that_cannot_be_used_name_their_peer(binary: Case) -> None:
    one_class = [document for document in binary.documents["valley"] if document.label == "urgent"]
    with pytest.raises(
        InputError, match="valley: expected documents of at least two classes, found only 'urgent'"
    ):
        _changed(binary, {"valley": one_class}).run()
    strangers = [Document(f"word{i}", "urgent" if i % 2 else "routine") for i in range(40)]
    with pytest.raises(InputError, match="valley: no feature occurs in 3 of its documents"):
        _changed(binary, {"valley": strangers}).run()
    with pytest.raises(InputError, match="valley: there are no documents to train with"):
        _changed(binary, {"valley": []}).run()
    with pytest.raises(InputError, match="valley: counting: expected documents with words"):
        _changed(binary, {"valley": [Document("", "urgent"), Document("…", "routine")] * 9}).run()
    with pytest.raises(InputError, match="expected documents of harbour, north, valley"):
        binary.run_with({"north": binary.documents["north"]})
    with pytest.raises(InputError, match=r"(?s)expected a label of the study.*valley"):
        _changed(binary, {"valley": [Document(f"fever {i}", "maybe") for i in range(9)]}).run()


def test_a_class_below_the_minimum_stops_the_study(binary: Case) -> None:
    labels = Labels(("never", "routine", "urgent"))
    with pytest.raises(RareClassError, match=r"class 'never': expected at least 9 documents"):
        binary.changed(labels=labels, rare="stop").run()


def test_a_dictionary_takes_what_there_is(binary: Case) -> None:
    few = binary.changed(features=4000)
    totals, model = few.outcome.trained.totals, few.outcome.models["north"]
    words = model.space.dictionary.size
    assert 96 < words < 4000
    assert totals.absent == 4000 - words
    assert model.scores.shape[0] == words + 1
    held_out = few.held_out()
    labels = few.outcome.classify("north", held_out).classes
    assert labels == few.plain(held_out)


def test_text_in_another_script_and_empty_documents_get_the_label_of_the_bias(
    binary: Case,
) -> None:
    strange = [Document(""), Document("   "), Document("患者は発熱"), Document("лихорадка")]
    labels = binary.outcome.classify("north", strange).classes
    assert labels == binary.plain(strange)
    assert len(set(labels)) == 1


def test_only_peers_with_a_model_may_ask_and_only_for_something(binary: Case) -> None:
    with pytest.raises(InputError, match=r"expected a peer with a model .*, found 'mallory'"):
        binary.outcome.classify("mallory", [Document("fever")])
    with pytest.raises(InputError, match="north: there is no document to classify"):
        binary.outcome.classify("north", [])


def test_a_query_budget_warns_near_its_end_and_then_is_spent(binary: Case) -> None:
    outcome = binary.changed(query_budget=46).run()
    batch = outcome.trained.scores.batch
    few = binary.held_out()[:batch]
    while outcome.queries.left("north") >= 2 * batch:
        outcome.classify("north", few)
    with pytest.warns(QueryBudgetWarning, match=r"north: \d+ of 46 labels of documents are left"):
        outcome.classify("north", few[:1])
    with pytest.raises(MisuseError, match="north: the query budget of 46 documents is spent"):
        outcome.classify("north", few)
    assert outcome.classify("valley", few).left == 46 - batch


def test_an_evaluation_is_no_way_around_the_budget(binary: Case) -> None:
    book = QueryBook(budget=46, evaluations=1)
    assert not book.grant("north", QueryRequest(0, 47, evaluation=True))
    assert book.grant("north", QueryRequest(0, 46, evaluation=True))
    assert not book.grant("north", QueryRequest(1, 1, evaluation=True))
    outcome = binary.changed(query_budget=46).run()
    many = [document for mine in binary.documents.values() for document in mine][:100]
    with pytest.raises(InputError, match="north: expected an evaluation of at most 46 documents"):
        outcome.classify("north", many, evaluation=True)


def test_a_peer_takes_part_in_no_more_evaluations_than_were_agreed(binary: Case) -> None:
    """With released weights no query asks the coordinator, so every party counts for itself."""
    outcome = binary.changed(release="peers").run()
    outcome.evaluate(binary.documents)
    with pytest.raises(MisuseError, match="the study allows 1 evaluations, and all were held"):
        outcome.evaluate(binary.documents)


@pytest.mark.parametrize("stop", range(0, 15, 2))
def test_a_peer_that_leaves_in_any_stage_is_named_or_left_behind(binary: Case, stop: int) -> None:
    case = Case(notes(400, sites=4), binary.plan, binary.key)
    outcome = None
    try:
        outcome = case.run(meddler=Crashing({"lakeside": stop}))
    except AbsenceError as error:
        assert "lakeside" in str(error)  # noqa: PT017 - either end is right, and both are checked
    if outcome is not None:
        assert "lakeside" not in outcome.models
        assert set(outcome.models) == {"north", "harbour", "valley"}
        assert outcome.classify("north", case.documents["north"][:3]).classes


def test_too_few_peers_left_ends_the_study_and_reveals_nothing(binary: Case) -> None:
    with pytest.raises(AbsenceError, match=r"too few peers are left .*missing valley"):
        binary.run(meddler=Crashing({"valley": 1}))


def test_every_error_of_a_study_is_one_of_ours(binary: Case) -> None:
    with pytest.raises(SottovoceError):
        binary.run(meddler=Crashing({"dealer": 0}))
    with pytest.raises(SottovoceError):
        binary.run(meddler=Crashing({"evaluator": 3}))


def test_a_toy_plan_has_toy_keys_and_says_so() -> None:
    plan = InsecureToyPlan("notes", BINARY, key_bits=512)
    assert type(plan.generate(entropy=SeededEntropy())).__name__ == "InsecureToySecretKey"
    with pytest.raises(InputError, match="key_bits 256 or 384"):
        InsecureToyPlan("notes", BINARY, key_bits=3072)


@pytest.mark.parametrize("name", ["alice", "evaluator", "dealer"])
def test_who_leaves_before_everybody_agreed_is_named(binary: Case, name: str) -> None:
    roster, identities = draw_roster(("alice", "bob", "carol"), entropy=SeededEntropy())
    entropy = SeededEntropy(1)
    programs: dict[str, Any] = {}
    for participant in roster.names:
        party = PartyContext.open(
            Study(binary.plan, roster), identities[participant], entropy=entropy
        )
        programs[participant] = (
            collected(party, binary.key) if participant == "coordinator" else consented(party)
        )
    with pytest.raises(
        AbsenceError, match=f"{name}: left, or was late, while coordinator waited for Consent"
    ):
        converse(programs, meddler=Crashing({name: 0}))


@pytest.mark.parametrize(("features", "budget"), [(16, 512), (256, 512), (2048, 4096)])
def test_a_budget_is_two_a_feature_and_some_whole_ciphertexts_at_least(
    features: int, budget: int
) -> None:
    assert StudyPlan("notes", BINARY, features=features).budget == budget
    assert StudyPlan("notes", BINARY, features=features, query_budget=7).budget == 7


@pytest.mark.parametrize("evaluation", [False, True])
def test_a_dealer_that_is_not_there_ends_a_query_that_is_not_counted(
    binary: Case, *, evaluation: bool
) -> None:
    outcome = binary.changed(verdict="fss").run()
    few = binary.documents["north"][:3]
    left = outcome.queries.left("north")
    outcome.meddler = Crashing({"dealer": 0})
    with pytest.raises(
        AbsenceError, match=r"dealer: .*a new query is dealt again; this one was not answered"
    ) as error:
        outcome.classify("north", few, evaluation=evaluation)
    assert error.value.hints[0] == "ask again when 'dealer' is back: this query was not counted"
    assert "verdict='auto'" in error.value.hints[1]
    assert outcome.queries.left("north") == left
    assert outcome.queries.evaluated["north"] == 0
    outcome.meddler = None
    assert outcome.classify("north", few, evaluation=evaluation).classes == binary.plain(few)
