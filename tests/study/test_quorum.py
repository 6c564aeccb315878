"""Whole studies in engine `quorum`, in memory: every model equals the plain one."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.chains import LongestChain
from harness.entropy import SeededEntropy
from harness.examples.quorum_studies import exact_counts, opened_totals, opened_weights
from harness.studies import BINARY, notes
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import run_study
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.keyfiles.models import read_model, write_model
from sottovoce.numbers.ring import from_ring
from sottovoce.protocols.quorum.plan import PART_DISTANCE, hiding_for
from sottovoce.protocols.runner import Meddler
from sottovoce.protocols.seat import Packet
from sottovoce.protocols.shares.holders import DealtSeed
from sottovoce.protocols.shares.labels.verdict import VerdictShare
from sottovoce.rados import joined, solve
from sottovoce.study import Study, StudyPlan
from sottovoce.study.card.card import StudyCard
from sottovoce.study.choices import Engine, Verdict
from sottovoce.study.evaluations.evaluation import JointConfusion
from sottovoce.study.evaluations.quorum_roc import MOST_TALLIES, _Tally, check_rows, tally_openings
from sottovoce.study.in_memory import Setting
from sottovoce.study.queries.quorum_model import QuorumModel
from sottovoce.study.queries.quorum_queries import label_openings
from sottovoce.study.roster import draw_roster
from sottovoce.study.stages.contributions import local_moments, penalties_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.training import training_side
from sottovoce.text.features import FeatureReader


def plan_of(**settings: Any) -> StudyPlan:
    plan = StudyPlan("quorum", BINARY, features=24, bucket_bits=11, engine=Engine.QUORUM)
    return replace(plan, **settings)


def study_of(
    plan: StudyPlan, sites: int = 3, members: tuple[str, ...] | None = None
) -> tuple[Study, Any]:
    names = tuple(notes(sites=sites, documents=60))
    roster, identities = draw_roster(
        names, entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False, members=members
    )
    return Study(plan, roster), identities


def trained(
    plan: StudyPlan,
    *,
    sites: int = 3,
    meddler: Meddler | None = None,
    members: tuple[str, ...] | None = None,
) -> StudyOutcome:
    study, identities = study_of(plan, sites, members)
    return run_study(
        study,
        notes(sites=sites, documents=60 * sites),
        identities=identities,
        entropy=SeededEntropy(9),
        setting=Setting(meddler=meddler),
    )


@lru_cache
def plain(sites: int = 3, **settings: Any) -> StudyOutcome:
    return trained(plan_of(**settings), sites=sites)


def exact_weights(outcome: StudyOutcome) -> np.ndarray:
    """What a trusted friend would learn from all documents together, folded for scores."""
    study, model = outcome.study, next(iter(outcome.models.values()))
    documents = notes(sites=len(study.roster.peers), documents=60 * len(study.roster.peers))
    moments = []
    for name in outcome.trained.peers:
        prepared = Prepared(
            outcome.trained.totals, model.space.dictionary.idf_halves, model.space, model.key
        )
        mine = training_side(outcome.parties[name], documents[name])
        moments.append(local_moments(study, prepared, mine))
    whole = joined(moments)
    penalties = penalties_of(study.plan, model.space.width, model.candidate)
    theta = solve(whole.second, whole.products, penalty=penalties)
    return model.scores.folded(theta)


@pytest.mark.parametrize("sites", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_the_model_is_that_of_a_trusted_friend(sites: int) -> None:
    outcome = plain(sites)
    exact = exact_weights(outcome)
    assert np.abs(opened_weights(outcome) - exact).max() < 2e-3 * np.abs(exact).max()


def test_labels_are_those_of_the_shared_model() -> None:
    outcome = plain()
    documents = notes(sites=3, documents=180)
    weights = opened_weights(outcome)
    for name, model in outcome.models.items():
        asked = documents[name][:9]
        rows = FeatureReader(model.space, model.key).read(asked).integers()
        scores = np.asarray(rows @ weights)
        names = outcome.study.plan.labels.names
        wanted = [(names[int(score >= 0)],) for score in scores[:, 0]]
        assert outcome.classify(name, asked).classes == wanted


@pytest.mark.parametrize(
    ("sites", "settings"),
    [
        (3, {}),
        pytest.param(3, {"thresholds": (-0.31, 0.0, 0.1, 0.77)}, marks=pytest.mark.soak),
        # As the count among five of protocols/quorum/test_tally.py, with a study around it.
        pytest.param(5, {}, marks=pytest.mark.soak),
    ],
)
def test_evaluation_adds_up_every_peers_table_and_counts_at_every_threshold(
    sites: int, settings: dict[str, Any]
) -> None:
    outcome = trained(plan_of(**settings), sites=sites)
    documents = notes(sites=sites, documents=60 * sites)
    result = outcome.evaluate(documents)
    assert int(result.filled.sum()) >= 20
    (message,) = outcome.views["north"].of(JointConfusion)
    above, shown = from_ring(message.above.array()), message.shown.array().astype(np.bool_)
    exact = exact_counts(outcome)
    assert shown.any()
    assert np.array_equal(above, np.where(shown[:, np.newaxis], exact, 0))
    assert np.array_equal(opened_totals(outcome), exact)
    with pytest.raises(MisuseError):
        outcome.evaluate(documents)


def test_a_released_model_is_the_same_at_every_peer() -> None:
    outcome = trained(plan_of(release="peers"))
    released = [model.released for model in outcome.models.values()]
    assert all(score is not None for score in released)
    assert all(np.array_equal(weights, released[0]) for weights in released)
    exact = np.ldexp(exact_weights(outcome).astype(np.float64), -20)
    assert np.abs(released[0] - exact).max() < 2e-3 * np.abs(exact).max()


def test_margins_come_to_the_asker_alone() -> None:
    outcome = trained(plan_of(release="margin"))
    documents = notes(sites=3, documents=180)["north"][:4]
    answer = outcome.classify("north", documents)
    assert answer.scores is not None
    assert answer.scores.shape == (4, 1)


def test_a_penalty_is_chosen_from_a_list() -> None:
    outcome = trained(plan_of(alpha=(0.5, 4.0)))
    assert {model.candidate.alpha for model in outcome.models.values()} <= {0.5, 4.0}
    assert len({model.candidate.alpha for model in outcome.models.values()}) == 1


def test_members_may_be_named_and_the_others_contribute() -> None:
    names = tuple(notes(sites=4, documents=60))
    outcome = trained(plan_of(), sites=4, members=names[:3])
    assert set(outcome.shared) == {f"member-{name}" for name in names[:3]}
    documents = notes(sites=4, documents=240)[names[3]][:3]
    assert len(outcome.classify(names[3], documents).classes) == 3


@pytest.mark.parametrize("sites", [3, pytest.param(5, marks=pytest.mark.soak)])
def test_labels_that_a_member_deals_for_are_those_of_full_strength(sites: int) -> None:
    full, fast = plain(sites), plain(sites, verdict="fss")
    documents = notes(sites=sites, documents=60 * sites)
    for name in full.models:
        asked = documents[name][:9]
        answer = fast.classify(name, asked)
        assert answer.classes == full.classify(name, asked).classes
        assert answer.verdict is Verdict.FSS
        # Nobody of the asker's organisation compares with it, or deals for it.
        senders = {item.sender for item in fast.views[name].received if is_verdict(item.message)}
        assert senders
        assert f"member-{name}" not in senders
    text = " ".join(StudyCard(fast.study).markdown().split())
    assert "one of them deals (`fss`)" in text
    assert ("These labels are weaker" in text) == (sites == 5)
    named = {line.name for line in StudyCard(fast.study).lines}
    assert set(fast.traffic.kinds) <= named
    first = " ".join(StudyCard(fast.study, organisation="north").first_page().split())
    assert ("they could read scores of what is asked" in first) == (sites == 5)


def is_verdict(message: Any) -> bool:
    return isinstance(message, VerdictShare | DealtSeed)


def test_a_query_that_a_member_deals_for_is_counted_before_labels_are_told() -> None:
    outcome = trained(plan_of(verdict="fss"))
    asked, budget = notes(sites=3, documents=180)["north"][:3], outcome.study.plan.budget
    for step, spent in ((4, 0), (40, 32)):
        outcome.meddler = Stopped("north", step)
        with suppress(AbsenceError):
            outcome.classify("north", asked)
        outcome.meddler = None
        assert budget - outcome.queries.left("north") == spent


class Stopped(Meddler):
    """One party's words do not come any more, after so many messages of everybody."""

    def __init__(self, party: str, messages: int) -> None:
        self.party, self.left = party, messages

    def carry(self, packet: Packet) -> Iterable[Packet]:
        self.left -= 1
        return () if self.left < 0 and packet.sender == self.party else (packet,)


def test_queries_go_on_without_a_member_where_enough_are_left() -> None:
    outcome = trained(plan_of(), sites=4)
    names = list(outcome.models)
    asked = notes(sites=4, documents=240)[names[0]][:3]
    before = outcome.classify(names[0], asked).classes
    outcome.leave(f"member-{names[1]}")
    assert outcome.classify(names[0], asked).classes == before
    outcome.leave(f"member-{names[2]}")
    with pytest.raises(AbsenceError, match=r"member-.*: left"):
        outcome.classify(names[0], asked)


class Gone(Meddler):
    """One party leaves before one of its actions."""

    def __init__(self, party: str, step: int) -> None:
        self.party, self.step = party, step

    def crashes(self, party: str, step: int) -> bool:
        return party == self.party and step == self.step


@pytest.mark.parametrize("sites", [4, pytest.param(6, marks=pytest.mark.soak)])
@pytest.mark.parametrize("verdict", ["auto", "fss"])
def test_a_query_begins_anew_without_a_member_that_leaves_in_it(sites: int, verdict: str) -> None:
    outcome = plain(sites, verdict=verdict)
    north, other, *_, last = outcome.models
    asked, budget = notes(sites=sites, documents=60 * sites)[north][:3], outcome.queries.left(north)
    before = outcome.classify(north, asked).classes
    for place, step in enumerate((1, 3, 5, 12), 2):
        # Nobody waits for a member that deals no masks, once it has what it deals for.
        outcome.meddler = Gone(f"member-{last if step > 3 else other}", step)
        try:
            assert outcome.classify(north, asked).classes == before
        finally:
            outcome.meddler = None
        assert outcome.queries.left(north) >= budget - 64 * place


@pytest.mark.parametrize("step", [2, 6])
def test_a_member_that_leaves_before_a_sum_is_opened_is_left_out(step: int) -> None:
    names = tuple(notes(sites=4, documents=60))
    outcome = trained(plan_of(), sites=4, meddler=Gone(names[0], step))
    assert set(outcome.models) == set(names[1:])
    assert np.abs(opened_weights(outcome)).max() > 0


def test_with_three_members_nobody_may_leave() -> None:
    with pytest.raises(AbsenceError):
        trained(plan_of(), meddler=Gone("north", 3))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"threshold": 2}, "expected at least 5 members for a threshold of 2, found 3"),
        ({"engine": "shares", "threshold": 1}, "members and a threshold are for engine quorum"),
        ({"engine": "shares"}, "members and a threshold are for engine quorum"),
    ],
)
def test_what_cannot_be_is_refused_by_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        study_of(plan_of(**settings))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (("north", "harbour", "nowhere"), "expected members among the peers .* found 'nowhere'"),
        (("north", "harbour"), "expected at least 3 members"),
        ((), "expected at least 3 members for a threshold of 1, found 0"),
    ],
)
def test_members_that_cannot_be_are_refused_by_name(members: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        study_of(plan_of(), members=members)


def test_helpers_have_no_place_in_it() -> None:
    names = tuple(notes(sites=3, documents=60))
    roster, _ = draw_roster(names, entropy=SeededEntropy(3))
    with pytest.raises(InputError, match="engine quorum has no evaluator and no dealer"):
        Study(plan_of(), roster)


def test_two_peers_are_refused() -> None:
    names = tuple(notes(sites=2, documents=60))
    roster, _ = draw_roster(
        names, entropy=SeededEntropy(3), with_dealer=False, with_evaluator=False
    )
    with pytest.raises(InputError, match="expected at least 3 members for a threshold of 1"):
        Study(plan_of(min_peers=2), roster)


def test_auto_takes_it_where_there_are_no_helpers() -> None:
    study, _ = study_of(plan_of(engine="auto"))
    assert study.engine is Engine.QUORUM
    assert study.quorum.threshold == 1


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"verdict": Verdict.FSS},
        {"release": "margin"},
    ],
    ids=["among members", "with a dealer", "scores"],
)
@pytest.mark.parametrize("sites", [3, 5])
def test_a_query_takes_the_trips_that_the_card_says(
    sites: int, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = plain(sites, **settings)
    asker, documents = next(iter(notes(sites=sites, documents=60 * sites).items()))
    chain = LongestChain(monkeypatch)
    outcome.classify(asker, documents[:3])
    (most,) = re.findall(r"A query takes at most (\d+) trips", StudyCard(outcome.study).markdown())
    # Scores of a real study may be longer than these, and take some steps more.
    assert 0.9 * int(most) <= chain.length <= int(most)


def test_the_card_says_who_may_pool_and_names_every_message_that_was_sent() -> None:
    outcome = plain(5)
    card = StudyCard(outcome.study)
    text = " ".join(card.markdown().split())
    assert "at most 2 of the 5 members" in text
    assert "The threshold of this study is 2: no 3 members may pool." in text
    assert "evaluator and dealer pool" not in text
    assert "An asker sends up to 467 bytes a document to each of 3 members" in text
    assert "A query takes at most 38 trips, one after the other." in text
    named = {line.name for line in card.lines}
    assert set(outcome.traffic.kinds) <= named
    for organisation in (*outcome.models, "coordinator"):
        page = StudyCard(outcome.study, organisation=organisation).first_page()
        assert len(page.splitlines()) <= 60
        assert "and say whose they are" in " ".join(page.split())


@pytest.mark.parametrize(
    "settings", [{}, {"alpha": (0.5, 1.0, 2.0)}, {"query_budget": 10**6, "evaluations": 50}]
)
def test_masks_of_a_study_are_made_for_all_that_it_may_open(settings: dict[str, Any]) -> None:
    study, _ = study_of(plan_of(**settings), sites=5)
    plan, peers = study.plan, len(study.roster.peers)
    # Every row that peers may ask about, at every level of a search, and as often as it is tried.
    counted = plan.evaluations * plan.budget * peers * len(plan.thresholds).bit_length()
    assert tally_openings(study) >= MOST_TALLIES * counted
    assert label_openings(study) >= plan.budget * peers * (1 + plan.evaluations)
    parts = [tally_openings(study), label_openings(study)]
    assert all(count * 2.0 ** (1 - hiding_for(count)) <= PART_DISTANCE for count in parts)
    # A solve for each penalty, the checks of contributions, labels, and ROCs.
    assert study.quorum_distance == (len(plan.alphas) + 3) * PART_DISTANCE <= 2.0**-40


def test_more_solves_than_stay_within_the_distance_are_refused() -> None:
    penalties = tuple(float(number) for number in range(1, 15))
    study, _ = study_of(plan_of(alpha=penalties[:13]))
    assert study.quorum_distance == 2.0**-40
    with pytest.raises(InputError, match=r"from noise, expected at most 2\^-40") as caught:
        study_of(plan_of(alpha=penalties))
    assert "choose from fewer penalties" in caught.value.hints[0]


def test_an_evaluation_that_comes_to_nothing_is_not_begun_for_ever() -> None:
    outcome = plain()
    party = outcome.parties["coordinator"]
    late = replace(party, attempt=replace(party.attempt, number=MOST_TALLIES + 1))
    rows = dict.fromkeys(outcome.models, 32)
    with pytest.raises(MisuseError, match="expected at most 64 attempts, found number 65"):
        _Tally.of(late, outcome.trained.scores, rows, 0)


@pytest.mark.parametrize("rows", [0, 31, 33, 544])
def test_held_out_rows_that_no_evaluation_has_are_refused_by_name(rows: int) -> None:
    with pytest.raises(ViolationError, match="held-out rows, padded to 32, found") as caught:
        check_rows(plain().study, "north", rows)
    assert caught.value.party == "north"


def test_too_many_penalties_would_open_too_much() -> None:
    with pytest.raises(InputError, match="expected at most 2\\^-40"):
        study_of(plan_of(alpha=tuple(float(number) for number in range(1, 20))))


@pytest.mark.parametrize("peer", ["north", "valley"])
def test_a_stored_part_is_read_again(peer: str, tmp_path: Path) -> None:
    outcome = plain()
    path, model = tmp_path / "part", outcome.models[peer]
    write_model(path, model, outcome.study, identity=outcome.parties[peer].identity)
    name, again = read_model(path, outcome.study)
    assert (name, again.candidate, again.space) == (peer, model.candidate, model.space)
    assert isinstance(again, QuorumModel)
    assert isinstance(model, QuorumModel)
    assert again.members == model.members
