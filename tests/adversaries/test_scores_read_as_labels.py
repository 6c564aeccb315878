"""A peer that asks about rows no document has, to be told scores where labels are told."""

from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.errors import ViolationError
from sottovoce.study import Study, StudyPlan
from sottovoce.study.in_memory import Setting
from sottovoce.study.queries import quorum_queries
from sottovoce.study.roster import draw_roster

BUDGET = 64


@pytest.fixture(scope="module")
def outcome() -> StudyOutcome:
    documents = notes(120)
    roster, identities = draw_roster(
        tuple(documents), entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    plan = StudyPlan(
        "scores", BINARY, features=16, dictionary="hashed", engine="quorum", query_budget=BUDGET
    )
    return run_study(
        Study(plan, roster), documents, identities=identities, entropy=SeededEntropy(9),
        setting=Setting(key=None),
    )  # fmt: skip


def deviate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text seems to have each of its words a billion times."""
    honest = quorum_queries.share_rows

    def share_rows(sharing: Any, rows: Any, *what: Any, **more: Any) -> Any:
        return honest(sharing, rows << np.int64(30), *what, **more)

    monkeypatch.setattr(quorum_queries, "share_rows", share_rows)


def test_rows_that_no_document_has_are_told_no_label_and_are_charged(
    outcome: StudyOutcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = notes(120)["valley"][:5]
    deviate(monkeypatch)
    with pytest.raises(ViolationError, match="expected signs of scores, found a larger number"):
        outcome.classify("valley", asked)
    # That they are no rows tells something, too: it is not for nothing.
    spent = outcome.queries.spent["valley"]
    assert spent == BUDGET - outcome.queries.left("valley") > 0
    monkeypatch.undo()
    assert len(outcome.classify("north", asked).classes) == 5
