"""Scores of each site's own model as columns: learnt across folds, sealed, and chosen or not."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from harness.studies import Case, told_apart
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.errors import DamagedFileError, InputError, KeyFileError
from sottovoce.estimators.plain_text import NO_SECRET, PlainText, on_side
from sottovoce.keyfiles.models import read_model, read_part, write_model
from sottovoce.keyfiles.own_models import own_path
from sottovoce.paillier import Ciphertext, SecretKey, decrypt_residues
from sottovoce.rados import solve_rows
from sottovoce.study import InsecureToyPlan, StudyPlan
from sottovoce.study.candidates import Candidate
from sottovoce.study.card.card import StudyCard
from sottovoce.study.stages.contributions import penalties_of
from sottovoce.study.stages.own_models import learn_own_scores
from sottovoce.text.blocks import Blocks
from sottovoce.text.dictionary.hashing import PUBLIC
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader, FeatureSpace
from sottovoce.text.labels import Labels
from sottovoce.text.own_scores import folds_of
from sottovoce.text.parts import PartedDocuments, PartTask
from sottovoce.text.passes import training_examples
from sottovoce.text.reading import Level, Reading
from sottovoce.text.splits import Side

THREE = Labels(("calm", "fever", "pain"))
OWN = Blocks(tail=16, own_weight=0.5)
QUORUM = {"with_dealer": False, "with_evaluator": False}


SITES = ("north", "harbour", "valley")


def written(site: str, seed: int, classes: Sequence[str], count: int = 60) -> list[Document]:
    """Documents of a site: most words mean another class at each site, some the same everywhere."""
    rng = np.random.default_rng([seed, *site.encode()])
    turn, documents = SITES.index(site), []
    for number in range(count):
        label = str(rng.choice(classes))
        place = (THREE.names.index(label) + turn) % 3
        words = [*rng.choice(["seen", "left", "right"], 2), f"clue{place}"]
        words += [f"{label}like"] if rng.random() < 0.4 else []
        documents.append(Document(" ".join([*words, f"n{number}"]), label))
    return documents


def parts(seed: int = 1, count: int = 60) -> dict[str, list[Document]]:
    return {name: written(name, seed, THREE.names, count) for name in SITES}


def plan_of(**settings: Any) -> InsecureToyPlan:
    given = {"features": 12, "bucket_bits": 12, "beside": OWN, "query_budget": 9000, "alpha": 4.0}
    return InsecureToyPlan("own", THREE, key_bits=768, held_out=0.3, **{**given, **settings})


def case_of(key: SecretKey, seats: dict[str, Any] | None = None, **settings: Any) -> Case:
    return Case(parts(), plan_of(**settings), key, seats or {})


def twin(case: Case) -> PlainText:
    """The plaintext learner with the words of the sealed study, and the model that it chose."""
    model = next(iter(case.outcome.models.values()))
    plan = case.plan.settled(model.candidate)
    return PlainText.learn(plan, list(case.documents.values()), key=model.key)


def assert_alike(said: Sequence[Any], plain: PlainText, asked: Sequence[Document]) -> None:
    """These labels are those of the plaintext learner, but for ties."""
    same = [label == other for label, other in zip(said, plain.predict(asked), strict=True)]
    margins = [plain.margin(document) for document in asked]
    assert all(each or margin < 1e-3 for each, margin in zip(same, margins, strict=True))
    assert np.mean(same) > 0.95


@pytest.mark.parametrize(
    ("engine", "centre", "seats"),
    [("shares", "mean", {}), ("quorum", "mean", QUORUM), ("quorum", "idf", QUORUM)],
)
def test_sealed_labels_are_those_of_the_plaintext_learner_at_every_site(
    toy_key: SecretKey, engine: str, centre: str, seats: dict[str, Any]
) -> None:
    case = case_of(toy_key, seats, engine=engine, centre=centre)
    plain, bare = twin(case), replace(case.plan, beside=Blocks(tail=16))
    without = PlainText.learn(bare, list(case.documents.values()), key=plain.key)
    asked = parts(seed=2)
    right: dict[str, list[bool]] = {"own": [], "joint": []}
    for number, name in enumerate(case.documents):
        labels = case.outcome.classify(name, asked[name]).classes
        assert_alike(labels, plain.at(number), asked[name])
        true = [case.plan.labels.classes(document) for document in asked[name]]
        for who, said in (("own", labels), ("joint", without.predict(asked[name]))):
            right[who] += [label == other for label, other in zip(said, true, strict=True)]
    # A site's own model knows what its words mean.
    assert np.mean(right["own"]) > np.mean(right["joint"]) + 0.2


def learnt(plan: StudyPlan, documents: list[Document], dictionary: Any) -> FeatureSpace:
    space = FeatureSpace(dictionary, plan.reading, plan.weighting, blocks=plan.beside)
    return replace(space, own=learn_own_scores(plan, space, documents, key=PUBLIC))


def test_no_document_is_scored_by_a_model_that_saw_its_label(toy_key: SecretKey) -> None:
    plan, documents = plan_of(), written("north", 1, THREE.names)
    dictionary = case_of(toy_key).outcome.models["north"].space.dictionary
    before = learnt(plan, documents, dictionary)
    turned = [*documents]
    turned[7] = replace(documents[7], label="pain" if documents[7].label == "calm" else "calm")
    after = learnt(plan, turned, dictionary)
    scores = [FeatureReader(each).read(documents).further for each in (before, after)]
    same = folds_of(documents) == folds_of(documents[7:8])[0]
    assert scores[0][same].tolist() == scores[1][same].tolist()
    assert scores[0][~same].tolist() != scores[1][~same].tolist()


def test_of_a_class_that_a_site_lacks_its_model_says_nothing(toy_key: SecretKey) -> None:
    plan = plan_of()
    dictionary = case_of(toy_key).outcome.models["north"].space.dictionary
    documents = written("north", 1, ("calm", "pain"))
    scores = FeatureReader(learnt(plan, documents, dictionary)).read(documents).further
    assert not scores[:, 1].any()
    assert scores[:, 0].any()
    alone = written("north", 1, ("pain",))
    assert not FeatureReader(learnt(plan, alone, dictionary)).read(alone).further.any()


def test_a_class_of_one_site_alone_is_learnt(toy_key: SecretKey) -> None:
    documents = parts()
    documents["north"] = [each for each in documents["north"] if each.label != "fever"]
    documents["valley"] = [each for each in documents["valley"] if each.label != "fever"]
    case = Case(documents, plan_of(), toy_key)
    asked = parts(seed=2)["harbour"]
    assert_alike(case.outcome.classify("harbour", asked).classes, twin(case).at(1), asked)


@pytest.mark.parametrize("seats", [{}, QUORUM], ids=["shares", "quorum"])
def test_joint_totals_choose_whether_own_scores_are_used(
    toy_key: SecretKey, seats: dict[str, Any]
) -> None:
    listed = replace(OWN, own_weight=(0.0, 0.5))
    case = case_of(toy_key, seats, beside=listed)
    assert {model.candidate for model in case.outcome.models.values()} == {
        Candidate(4.0, own_weight=0.5)
    }
    asked = parts(seed=2)["valley"]
    rest = [case.plan.choice_split.part(mine, Side.TRAIN) for mine in case.documents.values()]
    model = case.outcome.models["valley"]
    settled = case.plan.settled(model.candidate)
    plain = PlainText.learn(settled, rest, key=model.key)
    assert_alike(case.outcome.classify("valley", asked).classes, plain.at(2), asked)


def test_where_own_scores_do_not_help_they_are_left_out(binary: Case, tmp_path: Path) -> None:
    listed = Blocks(own_weight=(0.0, 0.5))
    documents = {name: told_apart(90, seed) for seed, name in enumerate(SITES)}
    plan = replace(binary.plan, features=24, beside=listed, release="peers", min_documents=1)
    case = Case(documents, plan, binary.key)
    model = case.outcome.models["north"]
    assert model.candidate == Candidate(1.0, own_weight=0.0)
    assert model.released is not None
    theta = np.abs(model.released[:, 0] / model.space.factors)
    assert theta[-2] < 1e-3 * theta.max()
    path = tmp_path / "model"
    write_model(path, model, case.study, identity=case.identities["north"])
    assert not own_path(path).exists()
    assert read_model(path, case.study)[1].space.own is None


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_a_lighter_block_is_a_larger_penalty(weight: float) -> None:
    plan = plan_of(beside=Blocks(kernel=24, kernel_weight=(0.5, 2.0)), class_weight=None)
    documents, asked = list(parts().values()), parts(seed=2)["north"]
    heavy = PlainText.learn(plan.settled(Candidate(1.0, kernel_weight=2.0)), documents)
    training = [on_side(plan, mine, Side.TRAIN) for mine in documents]
    read = [
        block
        for mine in training
        for block in training_examples(mine, heavy.space, plan.labelled, fewest=3, key=NO_SECRET)
    ]
    theta = solve_rows(
        sparse.vstack([block.rows for block in read], format="csr"),
        np.vstack([block.targets for block in read]),
        penalty=penalties_of(plan, heavy.space.width, Candidate(1.0, kernel_weight=weight)),
    )
    rows = FeatureReader(heavy.space, NO_SECRET).read(asked).unit()
    light = PlainText.learn(plan.settled(Candidate(1.0, kernel_weight=weight)), documents)
    np.testing.assert_allclose(light.scores(asked), rows @ theta, atol=1e-9)


@pytest.mark.parametrize("seats", [{}, QUORUM], ids=["shares", "quorum"])
def test_joint_totals_choose_a_weight_of_the_kernel(
    toy_key: SecretKey, seats: dict[str, Any]
) -> None:
    beside = Blocks(kernel=48, kernel_weight=(0.125, 4.0))
    case = case_of(toy_key, seats, beside=beside, alpha=8.0)
    asked, model = parts(seed=2)["north"], case.outcome.models["north"]
    assert model.candidate.kernel_weight in {0.125, 4.0}
    rest = [case.plan.choice_split.part(mine, Side.TRAIN) for mine in case.documents.values()]
    labels = case.outcome.classify("north", asked).classes
    plain = {
        candidate: PlainText.learn(case.plan.settled(candidate), rest, key=model.key)
        for candidate in case.plan.candidates
    }
    first, second = (each.predict(asked) for each in plain.values())
    assert first != second
    assert_alike(labels, plain[model.candidate], asked)


def test_attacks_find_no_row_in_what_anybody_saw(toy_key: SecretKey) -> None:
    case = case_of(toy_key, {"evaluator_at": "north"}, min_documents=1, release="peers")
    case = Case(parts(count=30), case.plan, toy_key, case.seats)
    for name in case.study.roster.peers:
        case.outcome.classify(name, case.documents[name][:20])
    case.outcome.evaluate(case.documents)
    documents = [each for mine in case.documents.values() for each in mine]
    signs = [1 if each.label == "pain" else -1 for each in documents]
    rows = np.vstack(
        [
            FeatureReader(case.outcome.models[name].space, case.outcome.models[name].key)
            .read(mine)
            .unit()
            .toarray()
            for name, mine in case.documents.items()
        ]
    )
    for name, view in case.outcome.views.items():
        seen = [
            decrypt_residues(toy_key, leaf) if isinstance(leaf, Ciphertext) else leaf
            for leaf in view.leaves()
        ]
        report = attack_everything(seen, modulus=toy_key.public.modulus)
        assert score(report.documents, sparse.csr_array(rows), signs).matched == 0, name


def test_the_own_model_is_kept_beside_the_part_and_never_handed_over(
    toy_key: SecretKey, tmp_path: Path
) -> None:
    case = case_of(toy_key)
    model, identity = case.outcome.models["north"], case.identities["north"]
    path, asked = tmp_path / "model", parts(seed=2)["north"]
    write_model(path, model, case.study, identity=identity)
    own = own_path(path)
    assert own.stat().st_mode & 0o777 == 0o600
    again = read_model(path, case.study)[1]
    rows = [FeatureReader(each.space, each.key).read(asked).further for each in (model, again)]
    assert rows[0].any()
    assert rows[0].tolist() == rows[1].tolist()
    # A peer's part, as it is handed to one that lost its disk, has no own model.
    handed = read_part(path, case.study)[1]
    assert handed.space.own is None
    write_model(tmp_path / "valley", handed, case.study, identity=case.identities["valley"])
    assert read_model(tmp_path / "valley", case.study)[1].space.own is None
    assert len(own_path(tmp_path / "valley").read_bytes()) < 1000


def test_a_missing_or_damaged_own_model_is_named(toy_key: SecretKey, tmp_path: Path) -> None:
    case = case_of(toy_key)
    path = tmp_path / "model"
    write_model(path, case.outcome.models["north"], case.study, identity=case.identities["north"])
    own = own_path(path)
    kept = own.read_bytes()
    own.unlink()
    with pytest.raises(KeyFileError, match=r"model\.own: .* expected it beside") as missing:
        read_model(path, case.study)
    assert missing.value.hints == ("put model.own back from a copy of its folder",)
    for damaged, message in (
        (kept[:-1] + bytes([kept[-1] ^ 1]), "not as 'north' signed it"),
        (kept[:60], "not as 'north' signed it"),
        (kept.replace(b"version 1", b"version 2", 1), "found another version"),
        (b"text", "found another file"),
    ):
        write_bytes(own, damaged)
        with pytest.raises(KeyFileError, match=message):
            read_model(path, case.study)
    other = tmp_path / "other"
    write_model(
        other, case.outcome.models["valley"], case.study, identity=case.identities["valley"]
    )
    write_bytes(own, own_path(other).read_bytes())
    with pytest.raises(DamagedFileError, match="not as 'north' signed it"):
        read_model(path, case.study)
    # What the hint says.
    write_bytes(own, kept)
    assert read_model(path, case.study)[1].space.own is not None


def write_bytes(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    path.chmod(0o600)


def test_the_card_says_what_own_scores_are(toy_key: SecretKey) -> None:
    card = StudyCard(case_of(toy_key).study).markdown()
    assert "Columns of scores of each site's own model: 3." in card
    listed = case_of(toy_key, beside=replace(OWN, own_weight=(0.0, 0.5)))
    assert "Their weight is one of 0, 0.5, by how many" in StudyCard(listed.study).markdown()
    assert "own model" not in StudyCard(case_of(toy_key, beside=Blocks()).study).markdown()


def test_what_own_scores_are_not_for_is_refused_by_name(encrypted: Case) -> None:
    with pytest.raises(InputError, match=r"engine paillier .* expected no scores") as refused:
        _ = encrypted.changed(features=3, beside=Blocks(own_weight=0.5)).study
    assert refused.value.setting == "own_weight"
    with pytest.raises(InputError, match="for documents of text, found level sentence"):
        plan_of(reading=Reading(Level.SENTENCE))
    with pytest.raises(InputError, match=r"expected different weights, found 0.5, 0.5"):
        Blocks(own_weight=(0.5, 0.5))
    with pytest.raises(InputError, match="expected kernel columns to choose a weight of"):
        Blocks(kernel_weight=(0.5, 1.0))


@dataclass(frozen=True)
class Stretch:
    """Some documents as a part that workers read."""

    held: tuple[Document, ...]

    def documents(self) -> Iterator[Document]:
        return iter(self.held)


def test_documents_in_parts_have_the_same_own_model_and_the_same_rows(toy_key: SecretKey) -> None:
    case = case_of(toy_key)
    parted = {
        name: PartedDocuments(PartTask((Stretch(tuple(mine[:25])), Stretch(tuple(mine[25:])))))
        for name, mine in case.documents.items()
    }
    outcome, asked = case.run_with(parted), parts(seed=2)["north"]  # type: ignore[arg-type]
    model = outcome.models["north"]
    plain = PlainText.learn(case.plan, list(case.documents.values()), key=model.key)
    assert model.space.own is not None
    assert model.space.own.digest == plain.owns[0].digest
    assert_alike(outcome.classify("north", asked).classes, plain.at(0), asked)
