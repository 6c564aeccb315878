"""What anybody saw in any arrangement: noise, in which attacks find no row of anybody."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from harness.examples.arrangements import BY_NAME, one_draw
from harness.noise import FEWEST, assert_looks_uniform
from sottovoce.attacks.everything import attack_everything
from sottovoce.attacks.recovered import score
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.paillier import Ciphertext, decrypt_residues
from sottovoce.protocols.blind_sum.rounds import TwoPeersWarning
from sottovoce.protocols.two_party.comparison import BlindedTests
from sottovoce.protocols.view import View, leaves
from sottovoce.study.stages.encrypted.outsourced import OwnersModel
from sottovoce.text.features import FeatureReader

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


@pytest.mark.soak
@pytest.mark.parametrize("name", BY_NAME)
def test_attacks_find_no_row_of_anybody(name: str) -> None:
    outcome, parts = asked(name), BY_NAME[name].parts
    roster, modulus = outcome.study.roster, outcome.trained.key.public.modulus
    model = outcome.models["north"]
    examples = FeatureReader(model.space, model.key).read(parts["north"])
    truth = examples.unit()
    signs = [
        1 if document.label == "sick" else -1
        for document, rows in zip(parts["north"], examples.places, strict=True)
        for _ in rows
    ]
    for organisation in {participant.organisation for participant in roster.participants}:
        if organisation == roster.organisation("north"):
            continue  # the rows are its own
        opens = organisation == roster.organisation(roster.coordinator)
        seen = [
            number
            for view in outcome.seen_by(organisation)
            for number in numbers_in(view, outcome, opens=opens)
        ]
        report = attack_everything(seen, modulus=modulus)
        assert score(report.documents, truth, signs).matched == 0, organisation
