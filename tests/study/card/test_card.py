"""The card says everything that a study sends, and what pooling would give."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.studies import Case
from sottovoce.errors import BoundError
from sottovoce.protocols.sealing import OVERHEAD
from sottovoce.study.candidates import Candidate
from sottovoce.study.card.agreed import JOINT_DICTIONARY
from sottovoce.study.card.card import StudyCard
from sottovoce.study.card.seat_sizes import helper_sizes
from sottovoce.study.card.sizes import peer_sizes
from sottovoce.study.queries.scoring import row_norm
from sottovoce.study.relay import padded_size
from sottovoce.study.stages.centring import END_PARTS, Ends
from sottovoce.study.stages.contributions import doubtful_penalty, solve_plan
from sottovoce.study.study import Study
from sottovoce.study.totals import FULL_ROWS, Totals
from sottovoce.text.labels import Labels
from sottovoce.text.reading import NGrams
from sottovoce.wire.tags import kebab


@pytest.mark.parametrize(
    ("engine", "settings"),
    [
        pytest.param("binary", {}, marks=pytest.mark.soak),
        ("binary", {"verdict": "dgk", "features": 12, "held_out": 0.06, "thresholds": (0.0,)}),
        pytest.param("binary", {"alpha": (1.0, 2.0)}, marks=pytest.mark.soak),
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
    cards = [StudyCard(variant.study) for variant in (binary, other, binary.changed(alpha=2.0))]
    assert len({card.fingerprint for card in cards}) == 3
    assert "north is a peer and the evaluator" in cards[1].markdown()
    assert "north is a peer and the evaluator" not in cards[0].markdown()


def test_the_card_says_what_the_first_sums_showed(binary: Case) -> None:
    names = ("never", "routine", "urgent")
    plan = replace(binary.plan, labels=Labels(names), features=2_048, rare="leave out")
    study = Study(plan, binary.study.roster)
    totals = Totals(960, (0, 900, 60), binary.study.roster.peers, absent=438)
    card = StudyCard(study, totals=totals)
    assert "- 1,610 words were chosen, of at most 2,048." in card.sums().splitlines()
    assert "Up to 960 rows to train with, rounded up: routine 900, urgent 60." in card.sums()
    few = "All sites together have too few documents of never: what they have is left out."
    assert few in card.sums()
    assert card.sums() in card.markdown()
    assert StudyCard(study).sums() == ""
    assert few not in StudyCard(study).markdown()
    joins = replace(plan, rare="other", labels=Labels(("never", "other", "routine")))
    joined = StudyCard(Study(joins, binary.study.roster), totals=totals)
    assert "of never: what they have counts as 'other'." in joined.sums()


def test_the_card_warns_of_a_penalty_that_may_be_refused_after_everybody_contributed(
    binary: Case,
) -> None:
    warning = "may prove too small"
    assert warning not in StudyCard(binary.study).markdown()
    doubtful = doubtful_penalty(binary.plan)
    assert warning in StudyCard(binary.changed(alpha=0.9 * doubtful).study).markdown()
    assert warning not in StudyCard(binary.changed(alpha=1.1 * doubtful).study).markdown()
    # The solve of so many rows in one direction is refused below it, and not above.
    totals = Totals(FULL_ROWS, (FULL_ROWS // 2,) * 2, ("north",))
    ends = Ends(math.ceil(1.1 * FULL_ROWS * row_norm(binary.plan) ** 2 * END_PARTS))
    with pytest.raises(BoundError, match="the limit is 4096"):
        solve_plan(binary.plan, totals, Candidate(0.9 * doubtful), ends=ends)
    assert solve_plan(binary.plan, totals, Candidate(1.1 * doubtful), ends=ends).steps


def test_the_card_names_what_is_released_and_the_budget(binary: Case) -> None:
    sealed = StudyCard(binary.study).markdown()
    assert "never scores" in sealed
    assert "Each peer may ask for 4000 labels" in sealed
    assert "no two of coordinator, evaluator and dealer pool" in sealed
    assert "weights, to every peer" in StudyCard(binary.changed(release="peers").study).markdown()


def test_the_card_says_how_many_letters_of_a_word_count(binary: Case) -> None:
    line = "Of a longer word only the first 7 letters count."
    cut = replace(binary.plan.reading, ngrams=NGrams(letters=7))
    assert line in StudyCard(binary.changed(reading=cut).study).markdown()
    assert "letters count" not in StudyCard(binary.study).markdown()


def test_the_card_quotes_the_page_on_dictionaries(binary: Case) -> None:
    page = (Path(__file__).parents[3] / "docs" / "text.md").read_text(encoding="utf-8")
    quoted = JOINT_DICTIONARY.format(bits=18, fewest="`min_documents`")
    assert quoted in " ".join(page.split())
    assert "confirm a guess" in StudyCard(binary.study).markdown()
    assert "confirm a guess" not in StudyCard(binary.changed(dictionary="hashed").study).markdown()


def test_the_card_names_approval_words_waits_and_double_seats(binary: Case) -> None:
    case = Case(binary.documents, binary.plan, binary.key, {"evaluator_at": "north"})
    words = tuple(f"word{number}" for number in range(16))
    card = StudyCard(case.changed(approval="Committee 7").study, words, (("A stage waits", "1 h"),))
    page = card.markdown()
    assert "Approval under which it runs: Committee 7" in page
    assert "none was named" in StudyCard(binary.study).markdown()
    assert "word0 word1 word2 word3\n" in page
    assert "- A stage waits: 1 h." in page
    assert "- north is evaluator and peer: whatever its seats see, it sees." in page
    assert "sixteen a feature" in page


@pytest.mark.parametrize(
    ("engine", "settings", "slack"),
    [
        ("binary", {}, 0.02),
        ("binary", {"dictionary": "hashed"}, 0.05),
        ("binary", {"feature_min_peers": 2, "features": 40}, 0.02),
        ("encrypted", {"features": 8}, 0.3),
    ],
)
def test_the_sizes_on_the_card_are_those_of_a_study(
    engine: str, settings: dict[str, Any], slack: float, request: pytest.FixtureRequest
) -> None:
    case: Case = request.getfixturevalue(engine).changed(**settings)
    outcome = case.run()
    peer = case.study.roster.peers[0]
    sent = 0
    for name, view in outcome.views.items():
        boxed = name != case.study.roster.coordinator
        for item in view.received:
            if item.sender == peer:
                sent += padded_size(item.size) + OVERHEAD if boxed else item.size
    said = sum(row.total for row in peer_sizes(case.study))
    assert said == pytest.approx(sent, rel=slack)
    assert f"{said:,}" in StudyCard(case.study).markdown()


@pytest.mark.parametrize(
    ("engine", "settings", "slack"),
    [
        ("binary", {}, 0.1),
        ("binary", {"release": "peers"}, 0.1),
        ("encrypted", {"features": 8}, 0.6),
    ],
)
def test_what_passes_through_the_other_seats_stands_on_the_card(
    engine: str, settings: dict[str, Any], slack: float, request: pytest.FixtureRequest
) -> None:
    case: Case = request.getfixturevalue(engine).changed(**settings)
    views, roster = case.run().views, case.study.roster
    kind = "own-direction" if engine == "encrypted" else "step-shares"
    coordinator = views[roster.coordinator].received
    steps = sum(kebab(type(packet.message).__name__) == kind for packet in coordinator)
    rows = helper_sizes(case.study)
    assert {row.seat for row in rows} == {"evaluator"} | ({"dealer"} if roster.dealer else set())
    for seat in {row.seat for row in rows}:
        moved = sum(
            item.size if roster.coordinator in {name, item.sender} else boxed(item.size)
            for name, view in views.items()
            for item in view.received
            if seat in {name, item.sender}
        )
        said = sum(row.total * (steps if row.each else 1) for row in rows if row.seat == seat)
        assert said == pytest.approx(moved, rel=slack), seat
    page = StudyCard(case.study).markdown()
    assert all(f"| {row.seat} | {row.stage} | {row.kind} |" in page for row in rows)


def boxed(size: int) -> int:
    return padded_size(size) + OVERHEAD


def test_the_card_names_thresholds_and_the_operating_point(binary: Case) -> None:
    card = StudyCard(binary.changed(operating_point=(0.25,)).study).markdown()
    assert "Operating point (scores are near -1 and 1): urgent above 0.25." in card
    sampled = StudyCard(binary.changed(contribution="rados", rados=70).study).markdown()
    assert "the moments of 70 sampled rados" in sampled
    assert "the moments of 70 sampled rados" not in card
    assert "Its ROC is looked at 32 public thresholds" in card
    assert "ROC" not in StudyCard(binary.changed(thresholds=()).study).markdown().split("##")[2]
