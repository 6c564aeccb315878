"""The card says everything that a study sends, and what pooling would give."""

from typing import Any

import pytest

from harness.studies import Case
from sottovoce.roles.card import StudyCard


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        ("binary", {}),
        ("binary", {"verdict": "dgk", "features": 12, "held_out": 0.06}),
        ("binary", {"alpha": (1.0, 2.0)}),
        ("encrypted", {"features": 8, "release": "peers"}),
    ],
)
def test_every_message_of_a_whole_study_stands_on_the_card(
    engine: str, settings: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    case: Case = request.getfixturevalue(engine).changed(**settings)
    outcome = case.run()
    outcome.classify("north", case.documents["north"][:2])
    outcome.evaluate(case.documents)
    card = StudyCard(case.study)
    assert set(outcome.traffic.kinds) <= {line.name for line in card.lines}
    for line in card.lines:
        assert f"`{line.name}`" in card.markdown()
        assert line.discloses.reveals in card.markdown()


def test_the_card_changes_with_the_plan_and_the_roster(binary: Case) -> None:
    other = Case(binary.documents, binary.plan, binary.key, {"evaluator_at": "north"})
    cards = [StudyCard(one.study) for one in (binary, other, binary.changed(alpha=2.0))]
    assert len({card.fingerprint for card in cards}) == 3
    assert "north is a peer and the evaluator" in cards[1].markdown()
    assert "north is a peer and the evaluator" not in cards[0].markdown()


def test_the_card_names_what_is_released_and_the_budget(binary: Case) -> None:
    sealed = StudyCard(binary.study).markdown()
    assert "never scores" in sealed
    assert "Each peer may ask for 4000 labels" in sealed
    assert "no two of coordinator, evaluator and dealer pool" in sealed
    assert "weights, to every peer" in StudyCard(binary.changed(release="peers").study).markdown()
