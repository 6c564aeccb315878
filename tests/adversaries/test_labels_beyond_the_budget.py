"""Whoever is told labels pays for them, under whatever name it asks."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from harness.entropy import SeededEntropy
from harness.studies import BINARY, Case, notes
from sottovoce.course.queries.coordinator import asker_note
from sottovoce.course.queries.records import AskerRecord
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.errors import MisuseError, ViolationError
from sottovoce.node.seat.after_training import training_notes
from sottovoce.paillier import SecretKey
from sottovoce.protocols.shares.material import Ledger
from sottovoce.study import InsecureToyPlan, StudyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.study.plan import ROWS_A_DOCUMENT, default_budget
from sottovoce.study.queries.budget import QueryBook, QueryRequest
from sottovoce.study.queries.label_count import HelpedRows
from sottovoce.study.queries.quorum_queries import MembersNeeded, help_asker
from sottovoce.study.queries.shared_queries import ScoreRequest, share_scores
from sottovoce.study.stages.training import held_back_side
from sottovoce.text.labels import Labels
from sottovoce.text.reading import Level, Reading
from sottovoce.wire import Codec


@pytest.fixture(scope="module")
def case(toy_key: SecretKey) -> Case:
    plan = InsecureToyPlan(
        "notes", BINARY, features=24, key_bits=768, bucket_bits=12, query_budget=120
    )
    return Case(notes(300), plan, toy_key)


def record_labels(outcome: StudyOutcome, peer: str, **counts: int) -> None:
    """Write into the coordinator's record what a peer was told."""
    service = outcome.carrier.coordinator
    asker = service.askers[peer]
    changed = replace(asker, record=asker.record.but(**counts))
    outcome.carrier.coordinator = replace(service, askers={**service.askers, peer: changed})


def test_an_evaluation_of_chosen_documents_is_charged(case: Case) -> None:
    outcome = case.run()
    chosen = case.documents["north"][:20]
    first = outcome.classify("north", chosen, evaluation=True)
    assert first.left == outcome.queries.left("north") <= 100
    record_labels(outcome, "north", spent=112)
    with pytest.raises(MisuseError, match="the query budget of 120 documents is spent"):
        outcome.classify("north", chosen)
    # Another name for the same question does not help.
    record_labels(outcome, "north", evaluated=0)
    with pytest.raises(MisuseError, match="the query budget of 120 documents is spent"):
        outcome.classify("north", chosen, evaluation=True)
    assert outcome.queries.left("valley") == 120


@pytest.mark.parametrize("engine", ["shares", "quorum"])
def test_labels_told_while_a_penalty_is_chosen_are_charged(case: Case, engine: str) -> None:
    """Every penalty of the list is asked about every document that was held back."""
    seats = {"with_dealer": False, "with_evaluator": False} if engine == "quorum" else {}
    case = Case(case.documents, replace(case.plan, engine=engine), case.key, seats)
    spent = []
    for alphas in ((1.0,), (1.0, 4.0), (1.0, 4.0, 16.0)):
        outcome = case.changed(alpha=alphas, query_budget=900).run()
        spent.append(outcome.queries.spent)
        assert all(outcome.queries.left(peer) == 900 - spent[-1][peer] for peer in case.documents)
    for name, mine in case.documents.items():
        held_back = len(held_back_side(outcome.parties[name], mine))
        alone, two, three = (counts[name] for counts in spent)
        # Filled up to whole ciphertexts, which hold other numbers of documents for other penalties.
        assert alone == 0
        assert min(two / 2, three / 3, three - two) >= held_back >= 10


def test_who_was_told_labels_for_penalties_is_told_fewer_afterwards(case: Case) -> None:
    outcome = case.changed(alpha=(1.0, 4.0), query_budget=120).run()
    left = outcome.queries.left("north")
    assert 0 < left < 120
    # Between machines the coordinator's disk says so, too.
    space = outcome.models["north"].space
    prepared = SimpleNamespace(idf_halves=space.dictionary.idf_halves)
    course: Any = SimpleNamespace(trained=outcome.trained, prepared=prepared, held=None)
    note = training_notes(course)[asker_note("north")]
    assert Codec().decode(note, AskerRecord).spent == 120 - left
    with pytest.raises(MisuseError, match=f"is spent: asked for .*, {left} are left"):
        outcome.classify("north", [*case.documents["north"], *case.documents["valley"]][: left + 1])


@pytest.fixture(scope="module", params=["shares", "quorum"])
def trained(request: pytest.FixtureRequest, case: Case) -> StudyOutcome:
    engine = request.param
    seats = {"with_dealer": False, "with_evaluator": False} if engine == "quorum" else {}
    return Case(case.documents, replace(case.plan, engine=engine), case.key, seats).run()


def test_a_coordinator_that_forgets_what_its_friend_was_told_is_stopped_by_the_others(
    case: Case, trained: StudyOutcome
) -> None:
    outcome, rows = trained, case.documents["north"][:96]
    for _ in range(2):
        outcome.classify("north", rows)
        record_labels(outcome, "north", spent=0)
    with pytest.raises(ViolationError, match="the coordinator let it ask for more") as caught:
        outcome.classify("north", rows)
    assert caught.value.party == "coordinator"
    # Nobody else pays for it.
    assert len(outcome.classify("valley", rows).classes) == len(rows)


def helped(outcome: StudyOutcome, asker: str, *, number: int, rows: int, seed: int) -> None:
    """A helper begins to work on a query, in a process that remembers no earlier one."""
    needed: Any
    if outcome.shared:
        name, share = next(iter(outcome.shared.items()))
        needed = MembersNeeded(asker, number, rows, share.members)
    else:
        name = outcome.study.roster.evaluator
        needed = ScoreRequest(asker, number, rows, 0, dealt=True)
    party = replace(outcome.parties[name], ledger=Ledger(), entropy=SeededEntropy(seed))
    if outcome.shared:
        program = help_asker(party, outcome.shared[name])
    else:
        assert outcome.held is not None
        program = share_scores(party, (outcome.held,))
    next(program)
    program.send(needed)
    program.close()


def test_a_coordinator_that_gives_all_queries_one_number_is_stopped_by_the_others(
    trained: StudyOutcome,
) -> None:
    """Also one that opens a query again after it was answered: its number is the same, too."""
    batch = trained.trained.scores.batch if trained.held is not None else 32
    rows = 120 // batch * batch
    for seed in range(240 // rows):
        helped(trained, "harbour", number=0, rows=rows, seed=seed)
        # After a crash the same run goes on.
        helped(trained, "harbour", number=0, rows=rows, seed=seed)
    with pytest.raises(ViolationError, match="the coordinator let it ask for more"):
        helped(trained, "harbour", number=0, rows=rows, seed=99)


def test_a_query_that_is_run_again_after_a_crash_counts_once() -> None:
    count = HelpedRows()
    # Attempts count together: the coordinator says which one it is.
    for run in (("north", 1, 8), ("north", 1, 8), ("north", 2, 9), ("north", 2, 9)):
        count.add(run, 100, budget=100, coordinator="coordinator")
    with pytest.raises(ViolationError, match="expected at most 200 rows in all"):
        count.add(("north", 3, 10), 1, budget=100, coordinator="coordinator")


def test_what_is_given_back_is_what_was_counted() -> None:
    book = QueryBook(budget=100, evaluations=1)
    for evaluation in (False, True):
        assert book.grant("north", QueryRequest(0, 60, evaluation=evaluation))
        book.give_back("north")
    assert (book.spent["north"], book.evaluated["north"]) == (0, 0)
    assert book.grant("north", QueryRequest(1, 60, evaluation=True))
    book.keep_charged("north")
    assert not book.grant("north", QueryRequest(2, 60, evaluation=False))
    assert book.spent == Counter({"north": 60})


def test_the_default_lets_a_site_label_and_evaluate_its_own_annotated_reports() -> None:
    """Two hundred reports of 150 tokens, and a fifth of them once more in an evaluation."""
    plan = StudyPlan("reports", Labels(("O", "Drug")), reading=Reading(Level.TOKEN))
    assert plan.budget >= 200 * 150 * 1.2
    assert plan.budget == 512 * ROWS_A_DOCUMENT[Level.TOKEN]
    assert default_budget(2048, models=3) == 4 * 4096


def test_the_card_names_the_unit_and_the_figures(case: Case) -> None:
    page = StudyCard(case.study).markdown()
    assert "Each peer may ask for 120 labels of documents, all told" in page
    assert "cosine of .98 after two labels a feature and of .99 after four" in page
