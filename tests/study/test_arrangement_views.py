"""What anybody saw in any arrangement: noise, in which attacks find no row of anybody."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from harness.examples.arrangements import BY_NAME, one_draw
from harness.noise import FEWEST, assert_looks_uniform
from sottovoce.attacks import everything
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import LEAST_FEATURES, score
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.paillier import Ciphertext, decrypt_residues
from sottovoce.protocols.blind_sum.rounds import TwoPeersWarning
from sottovoce.protocols.two_party.comparison import BlindedTests
from sottovoce.protocols.view import View, leaves
from sottovoce.study.stages.encrypted.outsourced import OwnersModel
from sottovoce.study.stages.holdings import HeldSpace, read_rows
from sottovoce.text.documents import Document

pytestmark = pytest.mark.filterwarnings(f"ignore::{TwoPeersWarning.__module__}.TwoPeersWarning")
# What the key holder is meant to read: an owner its own model, and which of blinded values are 0.
MEANT = (OwnersModel, BlindedTests)
LOW = 1 << 32
# The others have tests of their own with more documents, in tests/estimators and in test_views.py.
EVERY_RUN = {"intermediary-texts", "feature-lists", "descent-ring", "descent-outsourced"}
CASES = [
    pytest.param(name, marks=() if name in EVERY_RUN else pytest.mark.soak) for name in BY_NAME
]


@cache
def asked(name: str) -> StudyOutcome:
    """A trained study in memory, and some labels."""
    toy = BY_NAME[name]
    with one_draw():
        outcome = toy.in_memory()
    outcome.classify("north", toy.asked)
    return outcome


def ciphertexts(view: View) -> Iterator[tuple[str, Ciphertext]]:
    for item in view.received:
        if not isinstance(item.message, MEANT):
            for leaf in leaves(item.message):
                if isinstance(leaf, Ciphertext):
                    yield type(item.message).__name__, leaf


@pytest.mark.parametrize("name", CASES)
def test_what_everybody_saw_is_noise(name: str) -> None:
    outcome = asked(name)
    key, checked = outcome.trained.key, set()
    for seat, view in outcome.views.items():
        seen: dict[str, list[int]] = defaultdict(list)
        for kind, tensor in ciphertexts(view):
            opens = seat == outcome.study.roster.coordinator
            numbers = decrypt_residues(key, tensor) if opens else tensor.residues
            seen[kind] += [int(number) % LOW for number in numbers]
        for kind, numbers in seen.items():
            if len(numbers) >= FEWEST:
                assert_looks_uniform(numbers[:20_000], LOW, what=f"{kind} at {seat}")
                checked.add(kind)
    assert checked or outcome.study.engine != "paillier"


def numbers_in(view: View, outcome: StudyOutcome, *, opens: bool) -> Iterator[Any]:
    for leaf in view.leaves():
        if isinstance(leaf, Ciphertext):
            key = outcome.trained.key
            yield (
                decrypt_residues(key, leaf)
                if opens
                else [int(residue) for residue in leaf.residues]
            )
        else:
            yield leaf


def truth(outcome: StudyOutcome, peer: str, documents: Sequence[Document]) -> tuple[Any, list[int]]:
    """A peer's rows among all columns of the study, zero in those of others, and labels ±1."""
    study, model = outcome.study, outcome.models[peer]
    examples = read_rows(study, model.space, peer, documents, key=model.key)
    rows = examples.unit()
    if study.plan.arrangement.by_features:
        rows = HeldSpace.of(study, model.space, peer).lifted(rows, common=True)
    signs = [
        1 if document.label == "sick" else -1
        for document, places in zip(documents, examples.places, strict=True)
        for _ in places
    ]
    return rows, signs


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables here have four columns and more: attacks try matrices as narrow as that, too."""
    monkeypatch.setattr(everything, "_LEAST_COLUMNS", LEAST_FEATURES)


@pytest.mark.soak
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("name", BY_NAME)
def test_attacks_find_no_row_of_anybody(name: str) -> None:
    outcome, parts = asked(name), BY_NAME[name].parts
    roster, modulus = outcome.study.roster, outcome.trained.key.public.modulus
    truths = {peer: truth(outcome, peer, documents) for peer, documents in parts.items()}
    for organisation in {participant.organisation for participant in roster.participants}:
        opens = organisation == roster.organisation(roster.coordinator)
        seen = [
            number
            for view in outcome.seen_by(organisation)
            for number in numbers_in(view, outcome, opens=opens)
        ]
        assert seen, organisation
        report = attack_everything(seen, modulus=modulus)
        for peer, rows_and_signs in truths.items():
            if organisation != roster.organisation(peer):  # else the rows are its own
                assert score(report.documents, *rows_and_signs).matched == 0, (organisation, peer)


@pytest.mark.soak
@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("name", BY_NAME)
def test_attacks_would_find_rows_in_rados_with_their_signatures(name: str) -> None:
    outcome = asked(name)
    for peer, documents in BY_NAME[name].parts.items():
        rows, signs = truth(outcome, peer, documents)
        signatures = np.random.default_rng(1).choice([-1, 1], (2 * len(signs), len(signs)))
        rados = signatures @ (rows.toarray() * np.array(signs)[:, np.newaxis])
        report = attack_everything([signatures, rados])
        assert score(report.documents, rows, signs).matched > 0, peer
