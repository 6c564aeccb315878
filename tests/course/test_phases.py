"""A phase is a member of an enumeration: no text of one is compared anywhere in the product."""

import ast
from pathlib import Path

import pytest

from sottovoce.course.phases import STAGES, Phase, admits
from sottovoce.course.queries.answering import AnsweringPhase
from sottovoce.course.queries.asking import AskingPhase
from sottovoce.course.queries.evaluating import EvaluatingPhase
from sottovoce.course.queries.evaluations import EvaluationsPhase
from sottovoce.study.attempts import Stage

PACKAGE = Path(__file__).parents[2] / "src" / "sottovoce"
ENUMERATIONS = (Phase, AnsweringPhase, AskingPhase, EvaluatingPhase, EvaluationsPhase)
PHASES = {str(phase) for phases in ENUMERATIONS for phase in phases}
# A form of the console is called consent, and a client of a cluster is closed: these are no phases.
OTHER_WORDS = {("console/form_handlers.py", "consent"), ("clusters/dask_cluster.py", "closed")}


def compared(tree: ast.AST) -> set[str]:
    """The texts that a module compares something with."""
    comparisons = [
        node for node in ast.walk(tree) if isinstance(node, ast.Compare | ast.MatchValue)
    ]
    constants = (inner for node in comparisons for inner in ast.walk(node))
    return {str(node.value) for node in constants if isinstance(node, ast.Constant)}


@pytest.mark.parametrize("source", ['x.phase == "finished"', 'if a in {"stopped", b}: ...'])
def test_a_comparison_with_a_text_is_seen(source: str) -> None:
    assert compared(ast.parse(source)) & PHASES


def test_every_stage_is_a_phase() -> None:
    assert tuple(Phase.of(stage) for stage in Stage) == STAGES


def test_no_phase_is_compared_as_a_text() -> None:
    results = {
        (str(path.relative_to(PACKAGE)), word)
        for path in sorted(PACKAGE.rglob("*.py"))
        for word in compared(ast.parse(path.read_text(encoding="utf-8"))) & PHASES
    }
    assert results == OTHER_WORDS


def test_a_study_that_has_begun_admits_who_enrolled_before() -> None:
    assert admits(Phase.ENROLMENT, enrolled=False)
    later = set(Phase) - {Phase.ENROLMENT}
    assert all(admits(phase, enrolled=True) for phase in later)
    assert not any(admits(phase, enrolled=False) for phase in later)
