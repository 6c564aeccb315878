"""What a `TextClassifier` does beyond one label a document: labels that overlap, tokens with
their places, words that speak for a class, parts in files, and documents of every kind."""

import stat
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.consent import ANYTHING
from sottovoce.datasets import clinical_notes
from sottovoce.entropy import SystemEntropy
from sottovoce.errors import (
    AbsenceError,
    DamagedFileError,
    InputError,
    KeyFileError,
    MismatchError,
    MisuseError,
    OpenPermissionsError,
)
from sottovoce.estimators import LocalFederation, TextClassifier
from sottovoce.estimators.plain_text import PlainText
from sottovoce.keyfiles.models import HEAD, StoredPart
from sottovoce.protocols.identities import SIGNATURE_BYTES, Identity
from sottovoce.protocols.runner import Meddler
from sottovoce.study import InsecureToyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.study.queries.budget import QueryBudgetWarning
from sottovoce.study.queries.classification import VerdictWarning
from sottovoce.study.stages.training import training_side
from sottovoce.text.documents import Document, Fragment, Span
from sottovoce.wire import Codec

PEERS = ("north", "harbour", "stanmore")


class ToyTextClassifier(TextClassifier):
    """With keys that anybody can break, for tests."""

    _plan_type = InsecureToyPlan


def toy(**settings):
    return ToyTextClassifier(**({"features": 32, "key_bits": 768, "query_budget": 3000} | settings))


@cache
def urgency(**settings):
    notes = clinical_notes(300, sites=PEERS, random_state=4)
    parts = {
        site: [note.document("urgency") for note in notes if note.site == site] for site in PEERS
    }
    return toy(**settings).fit(LocalFederation(parts, policy=ANYTHING))


# Two things that a note may speak of, none, one or both of them.
HEART, BONE = "chest pain and palpitations", "fracture of the wrist"


def several(number):
    topics = [((), "routine letter"), (("bone",), BONE), (("heart",), HEART)]
    topics.append((("bone", "heart"), f"{HEART}, {BONE}"))
    labels, text = topics[number % 4]
    return labels, f"{text}, visit {number}"


@cache
def overlapping():
    made = [several(number) for number in range(96)]
    parts = {
        name: ([text for _, text in made[place::3]], [labels for labels, _ in made[place::3]])
        for place, name in enumerate(PEERS)
    }
    return toy(features=32, alpha=0.1).fit(LocalFederation(parts))


def test_labels_that_overlap_come_as_tuples() -> None:
    model = overlapping()
    *known, unknown = model.predict([f"{HEART}, {BONE}", HEART, BONE, "routine letter"])
    assert known == [("bone", "heart"), ("heart",), ("bone",)]
    # Of a text without a word that was learnt only the bias speaks, here a near tie.
    assert set(unknown) <= {"bone", "heart"}
    assert model.classes_.tolist() == ["bone", "heart"]
    assert model.score([HEART, BONE], [("heart",), ("heart",)]) == 0.5


def marked(number):
    drug = ("oral aspirin", "calcium heparin", "sodium warfarin")[number % 3]
    text = f"Started {drug} on day {number}, tolerated well."
    span = Span("Drug", (Fragment(8, 8 + len(drug)),))
    return Document(text, group=str(number), spans=(span,))


@cache
def tokens(**settings):
    parts = {
        name: [marked(number) for number in range(place, 60, 3)] for place, name in enumerate(PEERS)
    }
    return toy(level="token", entities=("Drug",), **settings).fit(LocalFederation(parts))


@pytest.mark.parametrize(
    ("labelling", "drug", "other"),
    [
        # The other schemes: study/test_levels.py.
        pytest.param("types", ("Drug",), (), marks=pytest.mark.soak),
        ("inside", "inside", "outside"),
        pytest.param("bio", "I-Drug", "O", marks=pytest.mark.soak),
    ],
)
def test_tokens_get_the_classes_of_entities_with_their_places(labelling, drug, other) -> None:
    text = "Started calcium heparin on day 7."
    (classes,) = tokens(labelling=labelling).predict([text])
    of_word = {text[start:end]: label for start, end, label in classes}
    assert of_word["heparin"] == drug
    assert of_word["day"] == other


def test_entities_of_tokens_are_not_for_documents() -> None:
    with pytest.raises(InputError, match="labelling bio: expected level token, found document"):
        toy(labelling="bio", entities=("Drug",)).fit(overlapping().federation_)
    with pytest.raises(InputError, match="at least one type, found no type"):
        toy(labelling="types").fit(overlapping().federation_)
    with pytest.raises(InputError, match="labelling: expected one of label, levels, types"):
        toy(labelling="entity").fit(overlapping().federation_)


def test_words_that_speak_for_a_class_are_named_where_weights_are_released() -> None:
    parts = {
        name: (["heart pain today", "bone break today"] * 9, ["heart", "bone"] * 9)
        for name in PEERS
    }
    words = {"ngrams": (1, 1), "characters": None}
    model = toy(features=4, release="peers", **words).fit(LocalFederation(parts, policy=ANYTHING))
    top = model.top_words("harbour", 2)
    assert {weighted.word for weighted in top["heart"]} == {"heart", "pain"}
    assert {weighted.word for weighted in top["bone"]} == {"bone", "break"}
    assert all(word.weight > 0 for words in top.values() for word in words)
    assert all(word.share == 0.5 for words in top.values() for word in words)
    with pytest.raises(InputError, match="found 'mallory'"):
        model.top_words("mallory")


def test_a_sealed_study_names_no_words() -> None:
    with pytest.raises(MisuseError, match="nobody knows the weights") as refused:
        urgency().top_words()
    assert 'release="peers"' in refused.value.hints[0]


# By default study/test_training.py.
@pytest.mark.soak
def test_balanced_classes_weigh_the_same_sealed_and_plain() -> None:
    model = urgency(class_weight="balanced")
    plan, documents = model.study_.study.plan, model.federation_.documents
    key = model.study_.models["north"].key
    plain = PlainText.learn(plan, list(documents.values()), key=key)
    other = PlainText.learn(urgency().study_.study.plan, list(documents.values()), key=key)
    test = [document for part in documents.values() for document in part]
    sealed = model.study_.classify("north", test).classes
    same = [first == two for first, two in zip(sealed, plain.predict(test), strict=True)]
    assert np.mean(same) > 0.99
    assert plain.predict(test) != other.predict(test)


def test_a_document_without_a_known_word_gets_the_label_of_the_bias_alone() -> None:
    model = urgency()
    nothing, strange, *unknown = model.predict(["", "胸痛と動悸", "боль в груди", "   \n", "zzzz"])
    assert nothing in set(model.classes_)
    assert {strange, *unknown} == {nothing}


def test_text_in_another_script_is_learnt_like_any_other() -> None:
    # Six words and no stretches of characters, so that all of them are features, whatever the key.
    texts = ["боль груди сильная", "плановый осмотр жалоб"] * 9
    labels = ["срочно", "планово"] * 9
    parts = dict.fromkeys(PEERS, (texts, labels))
    model = toy(features=6, characters=None).fit(LocalFederation(parts))
    assert model.predict(["Боль груди", "плановый осмотр"]).tolist() == ["срочно", "планово"]


def test_a_budget_that_is_spent_is_said_before_and_after() -> None:
    texts = ["heart pain", "bone break"] * 9
    parts = dict.fromkeys(PEERS, (texts, ["heart", "bone"] * 9))
    batch = toy(features=4).fit(LocalFederation(parts)).study_.models["north"].batch
    model = toy(features=4, query_budget=batch).fit(LocalFederation(parts))
    with pytest.warns(QueryBudgetWarning, match=f"0 of {batch} labels of documents are left"):
        model.predict(["heart pain"])
    with pytest.raises(MisuseError, match=f"query budget of {batch} documents is spent"):
        model.predict(["heart pain"])
    with pytest.warns(QueryBudgetWarning):
        assert model.predict(["heart pain"], peer="harbour").tolist() == ["heart"]


@pytest.mark.filterwarnings("ignore:blind sum .* may be over two peers")
@pytest.mark.parametrize(
    ("peers", "helpers", "settings", "engine"),
    [
        (3, {}, {}, "quorum"),
        pytest.param(4, {}, {"release": "sealed"}, "quorum", marks=pytest.mark.soak),
        (2, {}, {"min_peers": 2}, "shares"),
        (3, {"dealer_at": "north"}, {}, "shares"),
        (3, {}, {"verdict": "fss"}, "shares"),
        (3, {}, {"engine": "quorum", "verdict": "fss"}, "quorum"),
        (3, {}, {"engine": "shares"}, "shares"),
    ],
)
def test_auto_lets_three_peers_compute_by_themselves(
    peers: int, helpers: dict[str, str], settings: dict[str, Any], engine: str
) -> None:
    texts, labels = ["heart pain", "bone break"] * 5, ["heart", "bone"] * 5
    parts = dict.fromkeys(("north", "harbour", "valley", "lake")[:peers], (texts, labels))
    federation = LocalFederation(parts, policy=ANYTHING, **helpers)
    model = toy(features=4, **settings).fit(federation)
    assert model.engine_ == engine
    seats = set(model.study_.study.roster.names)
    assert ("evaluator" in seats) == (engine != "quorum")
    assert model.predict(["heart pain"]).tolist() == ["heart"]


def test_a_dealer_that_leaves_after_the_training_is_done_without_and_said() -> None:
    texts = ["heart pain", "bone break"] * 9
    parts = dict.fromkeys(PEERS, (texts, ["heart", "bone"] * 9))
    model = toy(features=4).fit(LocalFederation(parts, dealer_at="north"))
    model.study_.leave("dealer")
    with pytest.warns(VerdictWarning, match="harbour: 'dealer' does not answer"):
        assert model.predict(["heart pain"], peer="harbour").tolist() == ["heart"]
    # For its own organisation the evaluator deals, who is there.
    assert model.predict(["bone break"], peer="north").tolist() == ["bone"]
    alone = toy(features=4, verdict="fss").fit(LocalFederation(parts))
    alone.study_.leave("dealer")
    with pytest.raises(AbsenceError, match="dealer"):
        alone.predict(["heart pain"])


# By default study/test_training.py.
@pytest.mark.soak
def test_labels_without_a_dealer_and_a_penalty_from_a_list() -> None:
    model = urgency(verdict="dgk", alpha=(0.5, 2.0), features=16)
    assert model.study_.models["north"].candidate.alpha in {0.5, 2.0}
    texts = [document.text for document in model.federation_.documents["north"][:5]]
    key = model.study_.models["north"].key
    plan = replace(model.study_.study.plan, alpha=model.study_.models["north"].candidate.alpha)
    # What chose the penalty did not train the model.
    parties, documents = model.study_.parties, model.federation_.documents
    training = [training_side(parties[name], documents[name]) for name in PEERS]
    plain = PlainText.learn(plan, training, key=key)
    assert model.predict(texts).tolist() == [
        classes[0] for classes in plain.predict(documents["north"][:5])
    ]


class Leaves(Meddler):
    """One peer is gone after its first few words in training."""

    def crashes(self, party, step) -> bool:
        return party == "leaver" and step >= 4


class LeftTextClassifier(ToyTextClassifier):
    """With a peer that leaves in the middle of training."""

    _meddler = Leaves()


def test_a_peer_that_left_has_no_model_and_too_few_stop_the_study() -> None:
    texts, labels = ["heart pain", "bone break"] * 9, ["heart", "bone"] * 9
    parts = dict.fromkeys((*PEERS, "leaver"), (texts, labels))
    left = LeftTextClassifier(features=4, key_bits=768, query_budget=3000)
    model = left.fit(LocalFederation(parts))
    assert "leaver" not in model.study_.models
    assert model.predict(["heart pain"]).tolist() == ["heart"]
    with pytest.raises(InputError, match="found 'leaver'"):
        model.predict(["heart pain"], peer="leaver")
    del parts["stanmore"]
    with pytest.raises(AbsenceError):
        left.fit(LocalFederation(parts))


@pytest.mark.parametrize("release", ["sealed", pytest.param("peers", marks=pytest.mark.soak)])
def test_a_stored_part_answers_as_it_did(tmp_path, release) -> None:
    model, path = urgency(release=release), tmp_path / "harbour.model"
    model.save(path, peer="harbour")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded = ToyTextClassifier.load(path, study=model)
    texts = ["chest pain at rest", "routine review"]
    assert list(loaded.study_.models) == ["harbour"]
    assert loaded.predict(texts).tolist() == model.predict(texts).tolist()
    assert model.study_.models["harbour"].key.secret in path.read_bytes()
    if release == "peers":
        assert loaded.top_words("harbour") == model.top_words("harbour")
    with pytest.raises(InputError, match="found 'north'"):
        loaded.predict(texts, peer="north")


def test_a_stored_part_is_not_overwritten_unless_asked(tmp_path) -> None:
    path = tmp_path / "north.model"
    urgency().save(path, peer="north")
    with pytest.raises(KeyFileError, match="already exists"):
        urgency().save(path, peer="north")
    urgency().save(path, peer="north", replace=True)
    with pytest.raises(InputError, match="expected a peer that has one"):
        urgency().save(path, peer="mallory")


def test_a_part_that_was_changed_or_shown_to_others_is_refused(tmp_path) -> None:
    model, path = urgency(), tmp_path / "north.model"
    model.save(path, peer="north")
    whole = path.read_bytes()
    for place in (len(HEAD) + 5, len(HEAD) + 64 + 40, len(whole) - 1):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises((DamagedFileError, MismatchError)):
            TextClassifier.load(path, study=model)
    path.write_bytes(whole[:-1])
    with pytest.raises(DamagedFileError, match="not what was written"):
        TextClassifier.load(path, study=model)
    path.write_bytes(b"sottovoce sealed model, version 1\n" + whole)
    with pytest.raises(KeyFileError, match="of version 2, found version 1"):
        TextClassifier.load(path, study=model)
    path.write_bytes(b"a letter")
    with pytest.raises(KeyFileError, match="of version 2, found another file"):
        TextClassifier.load(path, study=model)
    path.write_bytes(whole)
    path.chmod(0o644)
    with pytest.raises(OpenPermissionsError, match="found 644"):
        TextClassifier.load(path, study=model)


def test_a_part_of_another_study_is_refused(tmp_path) -> None:
    path = tmp_path / "north.model"
    urgency().save(path, peer="north")
    with pytest.raises(MismatchError, match="belongs to study"):
        TextClassifier.load(path, study=urgency(class_weight="balanced"))


def test_a_stored_part_says_what_it_is_without_its_study(tmp_path) -> None:
    model, path = urgency(), tmp_path / "north.model"
    model.save(path, peer="north")
    result = TextClassifier.look(path)
    study = model.study_.study
    assert (result.version, result.peer, result.study) == (2, "north", "local federation")
    assert (result.labels, result.features) == (("routine", "urgent"), 32)
    assert result.fingerprint == StudyCard(study).fingerprint
    assert result.space == model.study_.models["north"].space.fingerprint
    assert dict(study.settings) == result.settings
    assert not result.released
    assert "settings" not in repr(result)
    path.chmod(0o640)
    with pytest.raises(OpenPermissionsError, match="found 640"):
        TextClassifier.look(path)


def test_a_part_whose_settings_or_signature_are_not_its_own_is_refused(tmp_path) -> None:
    """Whoever changes a setting must change the hash, and cannot sign either."""
    model, path = urgency(), tmp_path / "north.model"
    model.save(path, peer="north")
    whole = path.read_bytes()
    start = len(HEAD) + SIGNATURE_BYTES
    codec = Codec(limit=2**30)
    part = codec.decode(whole[start:], StoredPart)
    fields = {name: getattr(part, name) for name in part.__struct_fields__}
    other = (*part.settings[:-1], ("peer stanmore", "elsewhere"))
    stranger = Identity.draw("north", SystemEntropy())

    def written(signer, **changes):
        body = codec.encode(StoredPart(**(fields | changes)))
        path.write_bytes(HEAD + signer.sign("sealed model file/v2", body) + body)

    own = model.study_.parties["north"].identity
    for signer, changes, words in (
        (own, {"settings": other}, "not those that its study hashed"),
        (own, {"peer": "mallory"}, "expected a part of a peer of its study"),
        (stranger, {}, "not as 'north' signed it"),
        (own, {"peer": "harbour"}, "not as 'harbour' signed it"),
    ):
        written(signer, **changes)
        with pytest.raises(DamagedFileError, match=words):
            TextClassifier.look(path)
    written(stranger)
    with pytest.raises(DamagedFileError, match="not as 'north' signed it"):
        TextClassifier.load(path, study=model)
    written(own, space="0" * 64)
    with pytest.raises(MismatchError, match="text is read in another way here"):
        TextClassifier.load(path, study=model)
    path.write_bytes(whole)
    assert TextClassifier.look(path).peer == "north"


def test_a_stored_part_keeps_its_operating_point(tmp_path) -> None:
    parts = dict.fromkeys(PEERS, (["heart pain", "bone break"] * 9, ["heart", "bone"] * 9))
    model, path = toy(features=4).fit(LocalFederation(parts)), tmp_path / "north.model"
    model.operate_at(1.0).save(path, peer="north")
    model.operate_at(None)
    assert model.predict(["heart pain"]).tolist() == ["heart"]
    loaded = ToyTextClassifier.load(path, study=model)
    assert loaded.operating_point_ == {"heart": 1.0}
    assert loaded.predict(["heart pain"]).tolist() == ["bone"]


@pytest.mark.filterwarnings("ignore:.* counts as 'other':UserWarning")
def test_rare_classes_join_a_class_that_nobody_had() -> None:
    texts = ["heart pain", "bone break", "odd thing", "odd thing too", "odd sort", "odd sort too"]
    labels = ["heart", "bone", "odd thing", "odd thing", "odd sort", "odd sort"]
    part = (texts[:2] * 5 + texts[2:], labels[:2] * 5 + labels[2:])
    model = toy(features=6, rare="other", held_out=0).fit(
        LocalFederation(dict.fromkeys(PEERS, part))
    )
    assert model.classes_.tolist() == ["bone", "heart", "odd sort", "odd thing", "other"]
    assert model.predict(["odd thing", "bone break"]).tolist() == ["other", "bone"]
