"""Joint figures equal the plaintext learner's, and what is shown gives no small cell away."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harness.entropy import SeededEntropy
from harness.meddling import Crashing, is_kind, rewriting
from harness.studies import Case, accuracy, notes
from sottovoce.datasets.notes import DIAGNOSES
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.protocols.blind_sum import pairwise
from sottovoce.study.evaluations.evaluation import (
    CountedOver,
    CountSum,
    EvaluationSize,
    JointConfusion,
)
from sottovoce.study.evaluations.figures import Evaluation, confusion, own_view, truth_of
from sottovoce.study.evaluations.roc import Roc, RocSide, counted, shown_points
from sottovoce.study.party_context import PartyContext
from sottovoce.study.plan import FEWEST_EVALUATED
from sottovoce.study.queries.budget import QueryRequest
from sottovoce.study.queries.classification import DealRequest, VerdictWarning
from sottovoce.study.queries.scoring import counting_ring
from sottovoce.text.documents import Document
from sottovoce.text.labels import Labels

TWO = Labels(("a", "b"))
THREE = Labels(("a", "b", "c"))
OVERLAP = Labels(("a", "b"), exclusive=False)


def by_hand(case: Case) -> tuple[Evaluation, Any]:
    """The same figures from the plaintext learner's scores over all held-out documents."""
    test, plan = case.held_out(), case.plan
    scores = case.scores(test)
    true = [plan.labels.classes(document) for document in test]
    table = confusion(plan.labels, true, plan.labels.decide(scores))
    whole = Evaluation.of(plan.labels, table, case.study.roster.peers, fewest=3)
    above = counted(scores, truth_of(plan.labels, true), plan.thresholds).astype(np.int64)
    return whole.with_roc(plan.thresholds, above, whole.points(above)), above


def assert_same(evaluation: Evaluation, wanted: Evaluation) -> None:
    assert np.array_equal(evaluation.counts, wanted.counts)
    assert evaluation.accuracy == wanted.accuracy
    assert evaluation.f1 == wanted.f1
    assert evaluation.roc == wanted.roc


def test_a_sealed_roc_is_that_of_the_plaintext_learner(binary: Case) -> None:
    outcome = binary.run()
    figures = outcome.evaluate(binary.documents)
    assert_same(figures, by_hand(binary)[0])
    assert list(figures.roc) == ["urgent"]
    roc = figures.roc["urgent"]
    assert len(roc.thresholds) > 5
    assert accuracy(binary.held_out(), binary.plain(binary.held_out())) < roc.auc < 1
    message = outcome.views["valley"].of(JointConfusion)
    assert len(message) == 1


@pytest.mark.parametrize("release", ["margin", "peers"])
def test_released_scores_give_the_same_roc_and_every_site_its_own(
    binary: Case, release: str
) -> None:
    case = binary.changed(release=release)
    assert_same(case.outcome.evaluate(case.documents), by_hand(binary)[0])
    own = own_view(case.plan, case.outcome.own[0, "north"], "north")
    assert own.peers == ("north",)
    assert own.roc["urgent"].auc > 0.7


def test_a_site_sees_its_own_table_whole_and_no_roc_of_sealed_scores(binary: Case) -> None:
    outcome = binary.run()
    own = own_view(binary.plan, outcome.tested("north", binary.documents["north"]), "north")
    mine = binary.held_out("north")
    assert own.counts.sum() == len(mine)
    assert own.accuracy == round(accuracy(mine, binary.plain(mine)), 3)
    assert not own.left_out.any()
    assert own.roc == {}
    # Asked again it costs nothing, and the joint evaluation uses the same answers.
    outcome.tested("north", binary.documents["north"])
    assert outcome.evaluate(binary.documents).counts.sum() == len(binary.held_out())
    assert outcome.queries.evaluated["north"] == 1
    # A site's share of the counts is no count.
    words = outcome.own[0, "north"].counted
    assert words is not None
    assert np.mean(words > len(mine)) > 0.9


@pytest.fixture(scope="module")
def four(binary: Case) -> Case:
    labels = Labels(DIAGNOSES[:4])
    documents = {
        name: [document for document in mine if document.label in labels.names]
        for name, mine in notes(700, label="diagnosis").items()
    }
    plan = replace(binary.plan, labels=labels, min_documents=2, features=48, held_out=0.35)
    return Case(documents, plan, binary.key)


def test_every_class_of_several_has_a_roc(four: Case) -> None:
    figures = four.outcome.evaluate(four.documents)
    assert_same(figures, by_hand(four)[0])
    assert list(figures.roc) == list(four.plan.labels.names)
    assert all(curve.auc > 0.6 for curve in figures.roc.values())


def test_every_label_of_those_that_overlap_has_a_roc(binary: Case) -> None:
    documents = {
        name: [
            Document(
                document.text, tuple(w for w in ("review", "since") if w in document.text.lower())
            )
            for document in mine
        ]
        for name, mine in binary.documents.items()
    }
    labels = Labels(("review", "since"), exclusive=False)
    case = Case(documents, replace(binary.plan, labels=labels, features=48), binary.key)
    figures = case.outcome.evaluate(case.documents)
    assert_same(figures, by_hand(case)[0])
    assert figures.roc


def test_without_a_dealer_the_roc_is_the_same(binary: Case) -> None:
    """Peers that asked with a dealer and peers that asked without one are added up alike."""
    few, fewer = (-0.125, 0.0, 0.25), Case(notes(400), binary.plan, binary.key)
    cases = [
        fewer.changed(verdict=verdict, features=12, thresholds=few)
        for verdict in ("fss", "dgk", "auto")
    ]
    mixed = cases[2].outcome
    mixed.tested("north", cases[2].documents["north"])
    mixed.leave("dealer")
    with pytest.warns(VerdictWarning):
        shares = [counted_shares(case) for case in cases]
    dealt, undealt, released = (case.outcome.evaluate(case.documents) for case in cases)
    # The coordinator's shares are of no more use, and do not stay.
    assert not any(case.outcome.counted for case in cases)
    assert dealt.roc["urgent"].thresholds
    for other in (undealt, released):
        assert_same(other, dealt)
    kinds = {type(message.message) for message in cases[1].outcome.views["dealer"].received}
    assert DealRequest not in kinds
    for case, mine in zip(cases, shares, strict=True):
        assert_only_a_sum_is_opened(case, mine)


def counted_shares(case: Case) -> dict[str, Any]:
    """The coordinator's shares of what every peer's held-out documents count."""
    for name, documents in case.documents.items():
        case.outcome.tested(name, documents)
    return dict(case.outcome.counted)


def assert_only_a_sum_is_opened(case: Case, shares: Mapping[str, Any]) -> None:
    """How often sites' shares ran over, beside the coordinator's, would tell of single counts."""
    outcome, peers = case.outcome, case.study.roster.peers
    mine = [outcome.own[0, name].counted for name in peers]
    opened = np.sum(np.array([part for part in mine if part is not None]), axis=0)
    scores = outcome.trained.scores.ring
    ring = counting_ring(case.plan, scores, peers=len(peers))
    sums = opened + np.sum(np.array([shares[name] for name in peers]), axis=0)
    assert ring.reduce(sums).max() <= len(case.held_out())
    assert np.mean(sums >> np.uint64(scores.bits) > len(peers)) > 0.9


def test_who_leaves_between_both_sums_stops_the_second(binary: Case) -> None:
    """Else the difference of both sums would be what the leaver brought."""
    case = Case(notes(500, sites=4), binary.plan, binary.key)
    outcome = case.run()
    tested = {name: outcome.tested(name, mine) for name, mine in case.documents.items()}
    assert len(tested) == 4
    outcome.meddler = Crashing({"lakeside": 6})
    with pytest.raises(AbsenceError, match="lakeside"):
        outcome.evaluate(case.documents)
    assert outcome.views["north"].of(EvaluationSize) == [EvaluationSize(enough=True)]
    assert outcome.views["north"].of(JointConfusion) == []


def test_the_evaluator_opens_no_table_of_too_few_documents_whatever_it_is_told(
    binary: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = binary.changed(held_out=0.01)
    outcome = few.run()
    with pytest.raises(InputError, match="expected at least 20 held-out documents over all peers"):
        outcome.evaluate(few.documents)
    outcome = few.run()
    outcome.meddler = rewriting(
        lambda packet: is_kind(packet, EvaluationSize),
        EvaluationSize,
        lambda _: EvaluationSize(enough=True),
    )
    # A coordinator that goes on all the same, having told everybody that there are enough.
    monkeypatch.setattr(CountSum, "check_size", lambda *_: None)
    with pytest.raises(ViolationError, match=r"coordinator: expected at least 20 .* found fewer"):
        outcome.evaluate(few.documents)
    assert outcome.views["north"].of(EvaluationSize) == [EvaluationSize(enough=True)]
    assert outcome.views["north"].of(JointConfusion) == []


def test_a_second_evaluation_is_over_the_peers_of_the_first(binary: Case) -> None:
    """Else the difference of both tables would be the table of who is in one of them."""
    case = Case(notes(500, sites=4), replace(binary.plan, evaluations=3), binary.key)
    outcome = case.run()
    everybody = outcome.evaluate(case.documents)
    kept = outcome.models.pop("lakeside")
    with pytest.raises(AbsenceError, match="too few peers were ready"):
        outcome.evaluate(case.documents)
    assert len(outcome.views["north"].of(JointConfusion)) == 1
    outcome.models["lakeside"] = kept
    assert_same(outcome.evaluate(case.documents), everybody)


def test_of_its_number_of_documents_a_site_says_only_that_it_is_enough(
    binary: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody has more than enough: the coordinator opens that, and no number."""
    opened: list[Any] = []
    whole = pairwise.coordinator

    def coordinator(*args: Any, **settings: Any) -> Any:
        summed = yield from whole(*args, **settings)
        opened.append(summed.sums)
        return summed

    monkeypatch.setattr(pairwise, "coordinator", coordinator)
    outcome = binary.run()
    opened.clear()
    outcome.evaluate(binary.documents)
    counts = [len(binary.held_out(name)) for name in binary.study.roster.peers]
    assert min(counts) > FEWEST_EVALUATED
    assert opened[0][0].tolist() == [3 * FEWEST_EVALUATED]
    assert int(opened[1][0].sum()) == sum(counts)


@pytest.mark.parametrize(("kind", "thresholds"), [("query", 32), ("evaluation", 7)])
def test_a_query_counts_at_all_thresholds_of_an_evaluation_or_none(
    binary: Case, kind: str, thresholds: int
) -> None:
    outcome = binary.outcome

    def more(request: QueryRequest) -> QueryRequest:
        return QueryRequest(request.number, request.documents, kind == "evaluation", thresholds)

    outcome.meddler = rewriting(lambda packet: is_kind(packet, QueryRequest), QueryRequest, more)
    try:
        with pytest.raises(ViolationError, match=f"north: .*thresholds, found {thresholds}"):
            outcome.classify("north", binary.documents["north"][:2])
    finally:
        outcome.meddler = None


tables = st.lists(st.integers(0, 12), min_size=9, max_size=9)


@given(tables, st.integers(0, 8), st.integers(2, 6))
def test_what_is_shown_of_a_table_is_the_same_whatever_a_small_cell_holds(
    cells: list[int], place: int, fewest: int
) -> None:
    shown = []
    for held in range(1, fewest):
        counts = np.array(cells).reshape(3, 3)
        counts.flat[place] = held
        result = Evaluation.of(THREE, counts, ("x",), fewest=fewest)
        shown.append((result.counts.tolist(), result.left_out.tolist(), result.accuracy, result.f1))
    assert all(card == shown[0] for card in shown)


@given(st.lists(st.integers(0, 9), min_size=8, max_size=8), st.integers(3, 6))
def test_overlapping_labels_do_not_tell_a_small_cell_by_their_common_total(
    cells: list[int], fewest: int
) -> None:
    """Every table has the same total: from the tables that are whole it is known."""
    counts = np.array(cells).reshape(2, 2, 2)
    counts[:, 0, 0] = 0
    counts[:, 0, 0] = 100 - counts.sum(axis=(1, 2))
    small = (counts > 0) & (counts < fewest)
    assume(small[0].any())
    result = Evaluation.of(OVERLAP, counts, ("x",), fewest=fewest)
    total = int(counts[1].sum())
    standing_in = int(small[0].sum()) * (fewest // 2)
    assert total - result.counts[0].sum() == standing_in
    assert (result.filled[0].sum(), result.filled[1].sum()) == (total, total)
    assert result.sides(0) is None


def test_figures_of_a_table_without_small_cells_are_its_own() -> None:
    counts = np.array([[50, 10], [5, 35]])
    result = Evaluation.of(TWO, counts, ("x",), fewest=3)
    assert result.accuracy == 0.85
    assert result.f1 == {"a": round(100 / 115, 3), "b": round(70 / 85, 3)}
    assert np.array_equal(result.filled, counts)
    small = Evaluation.of(TWO, np.array([[50, 2], [5, 35]]), ("x",), fewest=3)
    assert small.left_out.tolist() == [[False, True], [False, False]]
    assert small.counts.tolist() == [[50, 0], [5, 35]]
    assert small.accuracy == round(85 / 91, 3)


@given(
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.lists(st.integers(0, 30), min_size=8, max_size=8),
    st.integers(2, 6),
)
def test_between_points_that_are_shown_lie_no_rows_or_enough(
    of_class: list[int], of_others: list[int], fewest: int
) -> None:
    below = [np.array(side) for side in (of_class, of_others)]
    # A side below the minimum would stand in a cell that is left out.
    assume(all(side.sum() == 0 or side.sum() >= fewest for side in below))
    above = np.array([side[::-1].cumsum()[::-1][1:] for side in below])
    sides = [RocSide(float(side.sum()), int(side.sum()), whole=True) for side in below]
    kept = shown_points(above, (sides[0], sides[1]), fewest=fewest)
    for side, counts in enumerate(above):
        ends = [0, *(int(counts[item]) for item in kept), int(below[side].sum())]
        steps = np.diff(ends)
        assert ((steps == 0) | (steps >= fewest)).all()


def test_a_point_never_tells_what_a_cell_that_is_left_out_holds() -> None:
    """Of class b 40 are found and 1 or 2 are not: no point may show more than 37 of them."""
    collected = []
    for missed in (1, 2):
        table = Evaluation.of(TWO, np.array([[50, 10], [missed, 40]]), ("x",), fewest=3)
        above = np.array([[[40 + missed, 40, 37, 20], [60, 10, 6, 0]]])
        collected.append(table.with_roc((-0.5, 0.0, 0.25, 0.5), above, table.points(above)).roc)
    assert collected[0] == collected[1]
    assert collected[0]["b"].thresholds == (0.5, 0.25)


def roc(*points: tuple[float, float, float]) -> Roc:
    thresholds, wrong, right = zip(*points, strict=True)
    return Roc(tuple(thresholds), (0.0, *wrong, 1.0), (0.0, *right, 1.0))


def test_the_area_is_that_of_the_points() -> None:
    perfect, few = roc((0.0, 0.0, 1.0)), roc((0.5, 0.0, 0.75), (0.0, 0.25, 0.875))
    assert (perfect.auc, perfect.area) == (1.0, "1.000")
    assert few.auc_range == (0.84375, 0.96875)
    assert (few.auc, few.area) == (0.90625, "0.906")
    assert Roc((), (0.0, 1.0), (0.0, 1.0)).auc is None


def test_an_area_that_could_be_far_off_is_no_number() -> None:
    # All of the rows of other classes but two are below the one threshold that may be shown.
    hidden = roc((0.0, 0.0, 0.66))
    assert hidden.auc_range == (0.66, 1.0)
    assert hidden.auc is None
    assert hidden.area == "0.66 to 1.00"


def test_rules_for_an_operating_point() -> None:
    curve = roc((0.5, 0.0, 0.5), (0.25, 0.1, 0.8), (-0.125, 0.2, 0.9), (-0.5, 0.7, 0.95))
    assert curve.youden() == -0.125  # as good as 0.25, and nearer to 0
    assert curve.reaching(0.8) == 0.25
    assert curve.reaching(0.9) == -0.125
    with pytest.raises(InputError, match=r"a point of sensitivity 0.99, found at most 0.950"):
        curve.reaching(0.99)
    with pytest.raises(InputError, match="a sensitivity from 0 to 1, found 2"):
        curve.reaching(2)
    with pytest.raises(MisuseError, match="no point of it may be shown"):
        Roc((), (0.0, 1.0), (0.0, 1.0)).youden()
    table = Evaluation.of(TWO, np.array([[50, 10], [5, 40]]), ("x",), fewest=3)
    with pytest.raises(InputError, match=r"'youden' or a sensitivity such as 0.95, found 'best'"):
        replace(table, roc={"b": curve}).operating_point("best")
    assert replace(table, roc={"b": curve}).operating_point(0.9) == (-0.125,)


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"thresholds": tuple(n / 20 for n in range(-20, 13))}, "at most 32 thresholds"),
        ({"thresholds": (0.0, 0.0)}, "rising thresholds from -1 to 1"),
        ({"thresholds": (-2.0, 0.0)}, "rising thresholds from -1 to 1"),
        ({"operating_point": (0.1, 0.2)}, r"of 1 threshold\(s\), for urgent, found 2"),
        ({"operating_point": (1.5,)}, "thresholds from -1 to 1, found"),
        ({"operating_point": (float("nan"),)}, "thresholds from -1 to 1, found"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(
    binary: Case, settings: dict[str, Any], match: str
) -> None:
    with pytest.raises(InputError, match=match):
        binary.changed(**settings)


@pytest.mark.parametrize(
    ("over", "says", "hint"),
    [
        (CountedOver.HELD_OUT, "evaluation: expected at least 20 held-out documents", "held_out"),
        (CountedOver.HELD_BACK, "choice of a model: expected at least 20 .* back", "held_back"),
    ],
)
def test_too_few_documents_are_named_by_what_they_are_for(
    binary: Case, over: CountedOver, says: str, hint: str
) -> None:
    party = PartyContext.open(binary.study, binary.identities["north"], entropy=SeededEntropy(1))
    counted = CountSum(party, "few", (2,), over=over)
    with pytest.raises(InputError, match=says) as caught:
        counted.check_size(EvaluationSize(enough=False))
    assert hint in caught.value.hints[0]
