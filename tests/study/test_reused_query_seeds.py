"""A seed that is used again, with other rows: what hides the rows of a query is another, too."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.entropy import Entropy
from sottovoce.study import Study, StudyPlan
from sottovoce.study.choices import Engine
from sottovoce.study.party_context import PartyContext
from sottovoce.study.queries import classification, quorum_queries
from sottovoce.study.roster import draw_roster

ROWS = np.array([[1, 0, 2], [0, 3, 0]], np.int64)


class DrawnError(Exception):
    """Ends a query where its asker would draw what hides its rows."""


def from_party(party: PartyContext, *_rest: Any) -> Iterator[Any]:
    raise DrawnError(party.entropy.seed())
    yield


def from_entropy(*_rows: Any, entropy: Entropy) -> Iterator[Any]:
    raise DrawnError(entropy.seed())
    yield


def answered(with_what: Any) -> Callable[..., Iterator[Any]]:
    """A step of the conversation that ends at once."""

    def step(*_asked: Any) -> Iterator[Any]:
        yield from ()
        return with_what

    return step


def check_masks(asked: Callable[..., Any], outcome: StudyOutcome) -> None:
    """Ask again and again with one seed, as after a restored backup."""

    def first_drawn(rows: np.ndarray, own: np.ndarray | None = None) -> bytes:
        party = replace(outcome.parties["north"], entropy=SeededEntropy(5))
        model = outcome.models["north"]
        with pytest.raises(DrawnError) as ended:
            next(asked(party, model, sparse.csr_array(rows), number=0, own=own))
        return ended.value.args[0]

    changed = ROWS.copy()
    changed[1, 1] = 2
    masks = first_drawn(ROWS)
    assert first_drawn(ROWS.copy()) == masks
    # The attack: one mask over the rows of two queries shows what is different in them.
    assert first_drawn(changed) != masks
    assert first_drawn(ROWS, np.full((2, 1), 0.5)) != masks


@pytest.mark.parametrize("engine", ["binary", "encrypted"])
def test_a_restored_asker_with_other_rows_draws_other_masks(
    engine: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    case: Case = request.getfixturevalue(engine)
    monkeypatch.setattr(classification, "granted", answered(1))
    for hiding in ("ask_shared", "_score_share"):
        monkeypatch.setattr(classification, hiding, from_party)
    check_masks(classification.ask, case.outcome)


def test_a_restored_asker_of_members_draws_other_masks_for_other_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = notes(90)
    plan = StudyPlan(
        "again", BINARY, features=16, bucket_bits=11, engine=Engine.QUORUM, min_documents=1
    )
    roster, identities = draw_roster(
        tuple(documents), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    study = Study(plan, roster)
    outcome = run_study(study, documents, identities=identities, entropy=SeededEntropy(9))
    members = study.quorum.members
    needed = quorum_queries.MembersNeeded("north", 0, quorum_queries.BATCH, members)
    monkeypatch.setattr(quorum_queries, "granted", answered(1))
    monkeypatch.setattr(quorum_queries, "receive", answered(needed))
    monkeypatch.setattr(quorum_queries, "share_rows", from_entropy)
    check_masks(quorum_queries.ask_members, outcome)
