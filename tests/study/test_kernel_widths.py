"""A kernel's width chosen from a list: one contribution, and models without the other columns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.studies import Case, accuracy
from sottovoce.errors import InputError
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.protocols.shares.triangle import Triangle
from sottovoce.rados import joined, solve
from sottovoce.study.candidates import Candidate, ColumnsLeftOut
from sottovoce.study.card.card import StudyCard
from sottovoce.study.stages.contributions import penalties_of
from sottovoce.study.stages.training import held_back_side
from sottovoce.text.blocks import Blocks
from sottovoce.text.documents import Document
from sottovoce.text.features import FeatureReader

WIDTHS = (6.0, 0.5)
BESIDE = Blocks(tail=16, kernel=48, kernel_weight=4.0, kernel_width=WIDTHS)
QUORUM = {"with_dealer": False, "with_evaluator": False}


def alone(case: Case, width: float) -> np.ndarray:
    """θ of the columns of one width, from all peers' rows, and zeros for the other columns."""
    moments = joined(map(case._moments_of, case.outcome.trained.peers))
    first = moments.features - 1 - 48 * len(WIDTHS)
    columns = np.arange(moments.features)
    place = (columns - first) // 48
    kept = np.flatnonzero((columns < first) | (place == WIDTHS.index(width)) | (place == 2))
    theta = np.zeros_like(moments.products)
    theta[kept] = solve(
        moments.second[np.ix_(kept, kept)],
        moments.products[kept],
        penalty=penalties_of(case.plan, moments.features, Candidate())[kept],
    )
    return theta


def labels(case: Case, documents: list[Document], theta: np.ndarray) -> list[Any]:
    model = next(iter(case.outcome.models.values()))
    rows = FeatureReader(model.space, model.key).read(documents).unit()
    return case.plan.labels.decide(rows @ theta)


@pytest.mark.parametrize(
    ("engine", "centre", "seats"),
    [("shares", "mean", {}), ("quorum", "mean", QUORUM), ("quorum", "idf", QUORUM)],
)
def test_the_chosen_width_has_the_model_of_its_columns_alone(
    binary: Case, engine: str, centre: str, seats: dict[str, bool]
) -> None:
    plan = replace(binary.plan, engine=engine, centre=centre, features=40, beside=BESIDE)
    case = Case(binary.documents, plan, binary.key, seats)
    held_back = [
        document
        for name, mine in case.documents.items()
        for document in held_back_side(case.outcome.parties[name], mine)
    ]
    thetas = {width: alone(case, width) for width in WIDTHS}
    right = {
        width: accuracy(held_back, labels(case, held_back, theta))
        for width, theta in thetas.items()
    }
    assert right[6.0] != right[0.5]
    best = max(WIDTHS, key=lambda width: right[width])
    assert {model.candidate for model in case.outcome.models.values()} == {Candidate(1.0, best)}
    assert case.outcome.trained.candidate == Candidate(1.0, best)
    test = case.held_out()
    sealed = case.outcome.classify("north", test).classes
    assert sealed == labels(case, test, thetas[best])
    others = (*(theta for width, theta in thetas.items() if width != best), case.theta())
    assert all(sealed != labels(case, test, theta) for theta in others)


def test_released_weights_are_zero_where_columns_are_left_out(binary: Case, tmp_path: Path) -> None:
    case = binary.changed(features=12, beside=BESIDE, release="peers", alpha=(0.5, 2.0))
    model = case.outcome.models["north"]
    assert model.candidate in case.plan.candidates
    write_model(tmp_path / "north.model", model, case.study, identity=case.identities["north"])
    _, again = read_model(tmp_path / "north.model", case.study)
    assert again.candidate == model.candidate
    (columns,) = case.plan.left_out(model.candidate, model.space.width).columns
    assert model.released is not None
    weights = np.abs(model.released[-97:-1, 0])
    left_out = np.abs(model.released[columns, 0])
    assert left_out.max() < 1e-3 * np.median(np.sort(weights)[48:])


def test_a_triangle_without_columns_is_the_matrix_without_them() -> None:
    matrix = np.arange(1, 50).reshape(7, 7)
    matrix = matrix + matrix.T
    left_out = ColumnsLeftOut((slice(1, 3), slice(4, 6)))
    packed = np.stack([Triangle(7).pack(matrix), Triangle(7).pack(2 * matrix)])
    expected = matrix.copy()
    expected[[1, 2, 4, 5]] = expected[:, [1, 2, 4, 5]] = 0
    cleared = left_out.cleared_triangle(packed, 7)
    assert cleared[0].tolist() == Triangle(7).pack(expected).tolist()
    assert cleared[1].tolist() == Triangle(7).pack(2 * expected).tolist()
    assert packed[0].tolist() == Triangle(7).pack(matrix).tolist()


def test_records_keep_the_candidate_in_one_form() -> None:
    for candidate in (Candidate(0.3), Candidate(3.0, 0.25)):
        assert Candidate.read(candidate.written) == candidate
    assert Candidate(0.3).written == (0.3).hex()
    assert str(Candidate(0.3, 1.0)) == "0.3 with kernel width 1"


def test_the_larger_penalty_and_the_wider_kernel_win_a_tie() -> None:
    several = Candidate.all_of((0.5, 2.0), BESIDE)
    assert len(several) == 4
    assert max(several, key=lambda candidate: candidate.preference) == Candidate(2.0, 0.5)


def test_the_card_says_what_all_widths_are_for(binary: Case) -> None:
    card = StudyCard(binary.changed(features=12, beside=BESIDE).study).markdown()
    assert "- 96 columns are random waves of the words, from a public seed" in card
    assert "(kernel width 6, 0.5)" in card
    assert "48 of these columns are for each of the 2 widths" in card
    assert "choice of the model" in card


def test_engine_paillier_refuses_several_widths_by_name(encrypted: Case) -> None:
    beside = Blocks(kernel=4, kernel_width=WIDTHS)
    with pytest.raises(InputError, match="expected one kernel_width, found 2"):
        _ = encrypted.changed(features=3, beside=beside).study


def test_several_widths_are_refused_where_scores_are_released(binary: Case) -> None:
    with pytest.raises(InputError, match="found 2 models") as caught:
        binary.changed(features=12, beside=BESIDE, release="margin")
    assert caught.value.setting == "kernel_width"


def test_one_width_leaves_nothing_out(binary: Case) -> None:
    plan = replace(binary.plan, beside=replace(BESIDE, kernel_width=(0.5,)))
    assert [candidate.kernel_width for candidate in plan.candidates] == [None]
    assert plan.left_out(plan.candidates[0], plan.width) == ColumnsLeftOut()
    assert plan.choice_split.validation == 0
