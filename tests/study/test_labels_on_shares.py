"""Labels on shares of the model: the same labels, noise for all, no ciphertext at a peer."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from harness.meddling import is_kind, rewriting
from harness.noise import assert_looks_uniform
from harness.studies import BINARY, Case, notes
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.entropy import Expansion
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.numbers.fixed import Scale
from sottovoce.paillier import Ciphertext, SecretKey
from sottovoce.protocols.shares.labels.row_scores import AskedRows, MaskedModel, RowSeeds
from sottovoce.protocols.shares.labels.verdict import VerdictShare
from sottovoce.protocols.shares.signs import ComparandShare
from sottovoce.study import InsecureToyPlan
from sottovoce.study.arrangement import Arrangement, Weights
from sottovoce.study.card.card import StudyCard
from sottovoce.study.choices import LabelsOn, Verdict
from sottovoce.study.queries.budget import QueryRequest
from sottovoce.study.queries.classification import VerdictWarning
from sottovoce.study.queries.query_seats import query_context
from sottovoce.study.queries.scoring import ScorePlan
from sottovoce.study.queries.shared_queries import AskerShares, CountShare, ScoreRequest
from sottovoce.text.features import FeatureReader
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading


def case_of(key: SecretKey, seats: dict[str, Any] | None = None, **settings: Any) -> Case:
    plan = InsecureToyPlan(
        "notes",
        settings.pop("labels", BINARY),
        features=64,
        key_bits=768,
        bucket_bits=12,
        query_budget=4000,
        **settings,
    )
    result = notes(300, label="diagnosis" if len(plan.labels.names) > 2 else "urgency")
    return Case(result, plan, key, seats or {})


@pytest.fixture(scope="module")
def asked(toy_key: SecretKey) -> Case:
    """A study with a query of every peer, and an evaluation."""
    case = case_of(toy_key, held_out=0.3)
    for name in case.study.roster.peers:
        case.outcome.classify(name, case.documents[name][:30])
    case.outcome.evaluate(case.documents)
    return case


DIAGNOSES = tuple(sorted({note.label for note in notes(300, label="diagnosis")["north"]}))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"operating_point": (0.25,)},
        pytest.param({"labels": Labels(DIAGNOSES)}, marks=pytest.mark.soak),
        {"labels": Labels(DIAGNOSES, exclusive=False)},
        pytest.param({"reading": Reading(Level.SENTENCE)}, marks=pytest.mark.soak),
        {"verdict": "dgk", "thresholds": (0.0,), "held_out": 0.2},
        pytest.param({"alpha": (0.5, 8.0)}, marks=pytest.mark.soak),
    ],
    ids=["two classes", "operating point", "several", "overlap", "sentences", "dgk", "penalties"],
)
def test_labels_and_counts_are_those_of_the_plaintext(
    toy_key: SecretKey, settings: dict[str, Any]
) -> None:
    case = case_of(toy_key, **{"held_out": 0.3, **settings})
    assert case.study.labels_on is LabelsOn.SHARES
    documents = case.documents["north"][:60]
    labels = case.outcome.classify("north", documents).classes
    model = case.outcome.models["north"]
    rows = FeatureReader(model.space, model.key).read(documents).unit()
    theta = case.theta(alpha=model.candidate.alpha)
    point = np.array(case.plan.operating_point or (0.0,))
    expected = case.plan.labels.decide(rows @ theta - point)
    assert sum(label != other for label, other in zip(labels, expected, strict=True)) == 0
    evaluation = case.outcome.evaluate(case.documents)
    held_out = len(case.held_out())
    if case.plan.level is Level.DOCUMENT and case.plan.labels.exclusive:
        assert 0 < evaluation.counts.sum() <= held_out


def test_a_dealers_own_house_deals_for_itself_and_gets_the_same_labels(toy_key: SecretKey) -> None:
    case = case_of(toy_key, {"dealer_at": "north"})
    documents = case.documents["south" if "south" in case.documents else "north"][:40]
    mine = case.outcome.classify("north", documents)
    other = next(name for name in case.study.roster.peers if name != "north")
    theirs = case.outcome.classify(other, documents)
    assert (mine.verdict, theirs.verdict) == (Verdict.DGK, Verdict.FSS)
    assert mine.classes == theirs.classes == case.plain(documents)
    assert any(case.outcome.views["evaluator"].of(AskedRows))


def test_without_the_dealer_a_query_goes_on_and_without_the_evaluator_it_does_not(
    toy_key: SecretKey,
) -> None:
    case = case_of(toy_key)
    outcome, documents = case.run(), case.documents["north"][:20]
    before = outcome.classify("north", documents)
    outcome.leave("dealer")
    with pytest.warns(VerdictWarning, match="without a dealer"):
        answer = outcome.classify("north", documents)
    assert (answer.verdict, answer.classes) == (Verdict.DGK, before.classes)
    outcome.come_back("dealer")
    outcome.leave("evaluator")
    with pytest.raises(AbsenceError) as error:
        outcome.classify("north", documents)
    assert error.value.party == "evaluator"
    outcome.come_back("evaluator")
    after = outcome.classify("north", documents)
    assert before.left - answer.left == answer.left - after.left


def test_no_peer_ever_gets_a_ciphertext_of_the_model(asked: Case, tmp_path: Path) -> None:
    for name in asked.study.roster.names:
        kept = [leaf for leaf in asked.outcome.views[name].leaves() if isinstance(leaf, Ciphertext)]
        assert not kept, name
    assert "encrypted-model" not in asked.outcome.traffic.kinds
    model, path = asked.outcome.models["north"], tmp_path / "part"
    assert model.weights is None
    with pytest.raises(MisuseError, match="it stays in shares"):
        _ = model.ciphertext
    write_model(path, model, asked.study, identity=asked.identities["north"])
    assert read_model(path, asked.study) == ("north", model)
    assert path.stat().st_size < 20_000


def test_what_every_holder_and_asker_sees_of_queries_is_noise(asked: Case) -> None:
    views = asked.outcome.views
    short = views["coordinator"].of(AskedRows)[0].words
    size = 2**32 if type(short).__name__ == "ShortWords" else 2**64
    for name in ("coordinator", "evaluator"):
        for kind in (AskedRows, MaskedModel):
            words = [message.words.array().ravel() for message in views[name].of(kind)]
            assert_looks_uniform(np.concatenate(words)[:4000].astype(np.uint64), size)
        added = [message.shifts.array().ravel() for message in views[name].of(AskerShares)]
        added += [message.groups.array().ravel() for message in views[name].of(AskerShares)]
        assert_looks_uniform(np.concatenate(added))
    bits = asked.outcome.trained.scores.ring.bits
    compared = [
        [message.words.array() for message in views[name].of(ComparandShare)][-6:]
        for name in ("coordinator", "evaluator")
    ]
    opened = np.concatenate([(a + b).ravel() for a, b in zip(*compared, strict=True)])
    assert_looks_uniform((opened & np.uint64(2**bits - 1))[:4000], 2**bits)
    shares: dict[str, list[Any]] = defaultdict(list)
    for message in views["north"].received:
        if isinstance(message.message, VerdictShare):
            shares[message.sender].append(message.message.words.array())
    assert set(shares) == {"coordinator", "evaluator"}
    for words in shares.values():
        assert_looks_uniform(np.concatenate(words), 2**bits)
    assert_looks_uniform(
        np.concatenate([message.words.array().ravel() for message in views["north"].of(CountShare)])
    )


POOLED = [("coordinator", "north"), ("evaluator", "north"), ("dealer", "north")]


@pytest.mark.parametrize("who", POOLED, ids=" with ".join)
def test_an_asker_and_one_helper_together_find_no_row_of_another(
    asked: Case, who: tuple[str, str]
) -> None:
    seen = [leaf for name in who for leaf in asked.outcome.views[name].leaves()]
    report = attack_everything(seen, modulus=2**64)
    model = asked.outcome.models["north"]
    others = [
        document
        for name in asked.documents
        if name != "north"
        for document in asked.documents[name]
    ]
    rows = FeatureReader(model.space, model.key).read(others).unit()
    labels = [1 if other.label == "urgent" else -1 for other in others]
    assert score(report.documents, rows, labels).matched == 0


def test_coordinator_and_dealer_together_read_the_rows_of_a_query(asked: Case) -> None:
    """One party more than may pool, and the attack succeeds: so the tests above could fail."""
    peer = asked.study.roster.peers[-1]
    seeds = asked.outcome.views[peer].of(RowSeeds)[0]  # as the dealer drew them
    masked = next(
        message.message.words.array()
        for message in asked.outcome.views["coordinator"].received
        if message.sender == peer and isinstance(message.message, AskedRows)
    )
    nonce = next(
        message.message.nonce
        for message in asked.outcome.views["coordinator"].received
        if message.sender == peer and isinstance(message.message, QueryRequest)
    )
    context = query_context(asked.study, peer, 0, nonce).encode()
    for seed in (seeds.first, seeds.second):
        stream = Expansion(seed, "shares/rows/v1", context)
        drawn = stream.short_words if masked.dtype == np.uint32 else stream.words
        masked = masked + drawn(*masked.shape)
    model = asked.outcome.models[peer]
    rows = FeatureReader(model.space, model.key).read(asked.documents[peer][:30]).integers()
    expected = asked.outcome.trained.scores.split_norms(rows).toarray()
    assert (masked[:30].astype(np.int64) == expected).all()


def test_an_evaluator_refuses_a_query_that_the_study_does_not_allow(toy_key: SecretKey) -> None:
    case = case_of(toy_key)
    outcome, documents = case.run(), case.documents["north"][:5]
    for change, expected in (
        ({"documents": 3}, "padded to"),
        ({"thresholds": 1}, "thresholds or none"),
        ({"model": 2}, "one of 1 models"),
        ({"asker": "mallory"}, "mallory"),
    ):

        def edit(message: Any, change: dict[str, Any] = change) -> ScoreRequest:
            kept = {name: getattr(message, name) for name in message.__struct_fields__}
            return ScoreRequest(**{**kept, **change})

        outcome.meddler = rewriting(
            lambda packet: is_kind(packet, ScoreRequest), ScoreRequest, edit
        )
        with pytest.raises(ViolationError, match=expected) as error:
            outcome.classify("north", documents)
        assert error.value.party == "coordinator"


def test_where_labels_cannot_be_found_on_shares_the_study_says_so(toy_key: SecretKey) -> None:
    with pytest.raises(InputError, match="found engine paillier"):
        _ = case_of(toy_key, engine="paillier", labels_on="shares").study
    listed = Arrangement(weights=Weights.LISTED)
    with pytest.raises(InputError, match="found weights that peers list"):
        _ = case_of(toy_key, arrangement=listed, labels_on="shares").study
    assert case_of(toy_key, arrangement=listed).study.labels_on is LabelsOn.PAILLIER
    assert case_of(toy_key, engine="paillier").study.labels_on is LabelsOn.PAILLIER
    seats = {"dealer_at": "north"}
    assert case_of(toy_key, seats, verdict="fss").study.labels_on is LabelsOn.PAILLIER
    with pytest.raises(InputError, match="expected a dealer for the queries of 'north'"):
        _ = case_of(toy_key, seats, verdict="fss", labels_on="shares").study
    with pytest.raises(InputError, match="labels_on"):
        case_of(toy_key, labels_on="nothing")


def test_the_card_says_which_path_with_bytes_trips_and_trust(toy_key: SecretKey) -> None:
    shared = StudyCard(case_of(toy_key).study).markdown()
    sealed = StudyCard(case_of(toy_key, labels_on="paillier").study).markdown()
    assert "`labels_on=shares`" in shared
    assert "sends 264 bytes a document to each" in shared
    assert "3 trips of the asker" in shared
    assert "If they pool, any two of coordinator, evaluator and dealer, once there is" in shared
    assert "If they pool, an asker that deals for itself" in shared
    assert "`encrypted-model`" not in shared
    assert "`labels_on=paillier`" in sealed
    assert "which it and the coordinator together could open" in sealed
    assert "`asked-rows`" not in sealed
    strict = StudyCard(case_of(toy_key, verdict="fss").study).markdown()
    assert "an asker that deals for itself" not in strict


def test_words_are_short_where_scores_fit_and_long_where_not(toy_key: SecretKey) -> None:
    plan = case_of(toy_key).plan
    collected = {}
    for bound in (4, 64, 1024, 2**20):
        scores = ScorePlan.fit(plan, (8,) * 64, Scale(30, bound << 30), on_shares=True)
        assert scores.ring.bits <= 32 or scores.bits == 20
        collected[bound] = scores.rows(1).word_bytes, scores.bits
    assert collected[4] == (4, 20)
    assert collected[2**20] == (8, 20)
    assert 12 <= collected[1024][1] < 20


def test_norms_in_two_columns_are_the_norm() -> None:
    table = np.zeros((4, 6), np.int64)
    table[:, -1] = (0, 63, 64, 1000)
    table[1, 2] = 3
    scores = ScorePlan(
        (1,) * 6,
        1,
        exclusive=True,
        solution=Scale(30, 2**30),
        row_norm=1.0,
        largest_norm=1.0,
        reach=10,
        room=700,
        on_shares=True,
    )
    split = scores.split_norms(sparse.csr_array(table)).toarray()
    assert (split[:, :5] == table[:, :5]).all()
    assert (split[:, 5] + 64 * split[:, 6] == table[:, 5]).all()
    assert (split[:, 5] < 64).all()
