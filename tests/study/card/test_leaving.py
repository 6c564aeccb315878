"""Whoever leaves, whenever: everybody who stays has the same model, or the same named failure."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from harness.entropy import SeededEntropy
from harness.meddling import Crashing, Holding, is_kind, rewriting
from harness.studies import BINARY, Case, notes
from sottovoce.course.seat_course import SeatCourse
from sottovoce.course.trained_study import StudyOutcome
from sottovoce.course.training.memory import StudyRun
from sottovoce.errors import AbsenceError, InputError, MisuseError, ViolationError
from sottovoce.paillier import SecretKey
from sottovoce.rados import joined, solve
from sottovoce.study import InsecureToyPlan
from sottovoce.study.attempts import Attempt, Stage, Stop, following
from sottovoce.study.in_memory import Setting
from sottovoce.study.party_context import PartyContext
from sottovoce.study.stages.contributions import ShareSeed, local_moments, penalties_of
from sottovoce.study.stages.preparation import Prepared
from sottovoce.study.stages.training import training_side


@dataclass
class Leaving(Crashing):
    """Stops parties before an action of theirs, counted from the beginning of a stage."""

    stage: str = ""
    counting: bool = False
    marks: dict[str, dict[str, int]] = field(default_factory=dict)

    def note_stage(self, stage: str) -> None:
        if stage in set(Stage):
            self.marks[stage] = dict(self.seen)
            if stage == self.stage and not self.counting:
                self.counting = True
                self.seen.clear()

    def crashes(self, party: str, step: int) -> bool:
        return super().crashes(party, step) and (self.counting or not self.stage)


@pytest.fixture(scope="module")
def five(toy_key: SecretKey) -> Case:
    plan = InsecureToyPlan(
        "notes",
        BINARY,
        features=12,
        key_bits=768,
        bucket_bits=10,
        release="peers",
        held_out=0.1,
        query_budget=4000,
    )
    return Case(notes(400, sites=5), plan, toy_key)


@pytest.fixture(scope="module")
def six(five: Case) -> Case:
    return Case(notes(480, sites=6), five.plan, five.key)


def started(case: Case, meddler: Leaving) -> StudyRun:
    parties = {
        name: PartyContext.open(case.study, case.identities[name], entropy=SeededEntropy(6))
        for name in case.study.roster.names
    }
    setting = Setting(key=case.key, meddler=meddler, on_stage=meddler.note_stage)
    return StudyRun(case.study, case.documents, parties, setting)


def run(case: Case, *gone: str, stage: str = "", step: int = 0) -> tuple[StudyRun, StudyOutcome]:
    began = started(case, Leaving(dict.fromkeys(gone, step), stage=stage))
    return began, began.run(SeededEntropy(7))


def ideal(case: Case, outcome: StudyOutcome) -> Any:
    """θ of the plaintext learner on the documents of who is in the model, and of nobody else."""
    model = next(iter(outcome.models.values()))
    space = model.space
    prepared = Prepared(outcome.trained.totals, space.dictionary.idf_halves, space, model.key)
    moments = joined(
        local_moments(
            case.study, prepared, training_side(outcome.parties[name], case.documents[name])
        )
        for name in outcome.trained.peers
    )
    penalties = penalties_of(case.plan, moments.features, outcome.trained.candidate)
    theta = solve(moments.second, moments.products, penalty=penalties)
    return theta * np.array(model.scores.factors, np.float64)[:, np.newaxis]


def check_same_model(case: Case, outcome: StudyOutcome) -> None:
    """Everybody who has a model has the same, and it is that of the documents in it."""
    assert set(outcome.models) <= set(outcome.trained.peers)
    released = [model.released for model in outcome.models.values()]
    assert all(np.array_equal(released[0], score) for score in released)
    expected, weights = ideal(case, outcome), released[0]
    assert weights is not None
    cosine = (weights * expected).sum() / np.sqrt((weights**2).sum() * (expected**2).sum())
    assert cosine > 1 - 1e-6


def check_stopped(began: StudyRun, *, by: str) -> None:
    """Everybody who is still there says the same, with the party named."""
    assert set(began.stops) == set(began.study.roster.names) - began.gone
    texts = {str(stop) for stop in began.stops.values()}
    assert len(texts) == 1
    assert texts.pop().startswith(f"{by}: the study was stopped in its ")


@pytest.mark.parametrize(
    ("engine", "steps"),
    [
        ("shares", range(1, 31, 14)),
        # By default half of all leave a study on ciphertexts, below.
        pytest.param("paillier", range(9, 31, 20), marks=pytest.mark.soak),
        pytest.param("shares", range(1, 31), marks=pytest.mark.soak),
        pytest.param("paillier", range(9, 31), marks=pytest.mark.soak),
    ],
)
def test_a_peer_may_leave_before_each_of_its_actions(five: Case, engine: str, steps: range) -> None:
    case = five.changed(engine=engine, features=12 if engine == "shares" else 4)
    in_the_model = []
    for step in steps:
        began, outcome = run(case, "harbour", step=step)
        assert began.gone == {"harbour"}
        assert set(outcome.models) == {"north", "valley", "lakeside", "castle"}
        assert [attempt.number for attempt in began.attempts] == [1, 1, 1]
        check_same_model(case, outcome)
        in_the_model.append("harbour" in outcome.trained.peers)
    # Once its contribution is in the sum it stays in it, whether it stays or not.
    assert in_the_model == sorted(in_the_model)
    assert any(in_the_model)
    assert not all(in_the_model)


def test_who_leaves_before_everybody_agreed_stops_the_study_for_everybody(five: Case) -> None:
    began = started(five, Leaving({"harbour": 0}))
    with pytest.raises(
        AbsenceError, match="harbour: left, or was late, while coordinator waited for"
    ):
        began.run(SeededEntropy(7))
    check_stopped(began, by="harbour")


@pytest.mark.parametrize(
    "step", [0, 3, 4, *(pytest.param(step, marks=pytest.mark.soak) for step in (1, 2))]
)
def test_without_the_peer_that_draws_the_key_another_one_draws_it(five: Case, step: int) -> None:
    began, outcome = run(five, "north", stage="dictionary", step=step)
    stages = [(attempt.stage, attempt.number, len(attempt.peers)) for attempt in began.attempts]
    again = [("dictionary", 2, 4)] if step < 4 else []
    assert stages == [("agreement", 1, 5), ("dictionary", 1, 5), *again, ("training", 1, 4)]
    assert outcome.trained.peers == ("harbour", "valley", "lakeside", "castle")
    check_same_model(five, outcome)


@pytest.mark.parametrize(
    ("engine", "stage", "step"),
    [
        ("shares", "dictionary", 1),
        ("shares", "dictionary", 3),
        ("shares", "training", 1),
        ("paillier", "training", 1),
    ],
)
def test_half_of_all_may_leave_while_the_minimum_stays(
    six: Case, engine: str, stage: str, step: int
) -> None:
    case = six.changed(engine=engine, features=12 if engine == "shares" else 4)
    gone = ("valley", "lakeside", "castle")
    began, outcome = run(case, *gone, stage=stage, step=step)
    tried = Counter(attempt.stage for attempt in began.attempts)
    assert tried[Stage(stage)] == 2
    last = [attempt for attempt in began.attempts if attempt.stage == stage][-1]
    assert last.number == 2
    assert set(last.peers).isdisjoint(gone)
    assert len(outcome.trained.peers) == 3
    check_same_model(case, outcome)


class Noting(SeededEntropy):
    """Notes every seed that was drawn."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.seeds: list[bytes] = []

    def seed(self) -> bytes:
        self.seeds.append(super().seed())
        return self.seeds[-1]


def test_an_attempt_shares_nothing_with_the_one_before(six: Case) -> None:
    gone = dict.fromkeys(("valley", "lakeside", "castle"), 11)
    began, entropy = started(six, Leaving(gone, stage="training")), Noting(7)
    began.run(entropy)
    assert len(set(entropy.seeds)) == len(entropy.seeds)
    seeds = [message.seed for message in began.record.views["evaluator"].of(ShareSeed)]
    assert len(seeds) > 6
    assert len(set(seeds)) == len(seeds)
    first, second = (attempt for attempt in began.attempts if attempt.stage is Stage.TRAINING)
    assert first.session(six.study) != second.session(six.study)
    party = next(iter(began.courses.values())).party
    for before, after in ((first, second), (second, second.again())):
        names = six.study.roster.peers[:3]
        left, right = (party.at(each, entropy=entropy) for each in (before, after))
        assert (
            left.round("contributions", names).context
            != right.round("contributions", names).context
        )
        assert left.context(names, round=1).encode() != right.context(names, round=1).encode()


@pytest.mark.parametrize(
    ("stage", "engine", "step"),
    [
        ("dictionary", "shares", 6),
        ("training", "shares", 15),
        ("training", "paillier", 6),
    ],
)
def test_what_was_agreed_to_be_opened_is_not_opened_over_others(
    six: Case, stage: str, engine: str, step: int
) -> None:
    """Four of six stay silent when it comes to unmasking: too few to open, and no second try."""
    case = six.changed(engine=engine, features=12 if engine == "shares" else 4)
    gone = ("harbour", "valley", "lakeside", "castle")
    began = started(case, Leaving(dict.fromkeys(gone, step), stage=stage))
    with pytest.raises(AbsenceError, match="too few peers stayed to unmask") as caught:
        began.run(SeededEntropy(7))
    assert "was agreed on already, and is never opened over others" in str(caught.value.__cause__)
    assert [attempt.stage for attempt in began.attempts].count(Stage(stage)) == 1
    check_stopped(began, by="harbour")


@pytest.mark.parametrize("role", ["evaluator", "dealer"])
@pytest.mark.parametrize("stage", ["agreement", "dictionary", "training"])
def test_without_its_evaluator_or_dealer_a_study_stops_by_name(
    five: Case, role: str, stage: str
) -> None:
    if (role, stage) == ("dealer", "dictionary"):
        return  # it has nothing to do there
    began = started(five, Leaving({role: 1}, stage=stage))
    with pytest.raises(AbsenceError, match=role):
        began.run(SeededEntropy(7))
    check_stopped(began, by=role)


def test_too_few_peers_stop_a_study_between_its_stages(five: Case) -> None:
    gone = dict.fromkeys(("harbour", "valley", "lakeside"), 8)
    began = started(five, Leaving(gone, stage="dictionary"))
    with pytest.raises(AbsenceError, match="too few peers are left for the training: expected"):
        began.run(SeededEntropy(7))
    check_stopped(began, by="harbour")


def test_a_peer_whose_seed_never_came_is_not_in_the_sum(five: Case) -> None:
    line = ("harbour", "evaluator")
    slow = Holding(lambda packet: (packet.sender, packet.recipient) == line, rounds=2)
    outcome = five.run(meddler=slow)
    late = [
        message for message in outcome.views["evaluator"].received if message.sender == "harbour"
    ]
    assert [type(packet.message).__name__ for packet in late] == ["ShareSeed", "MaskedParts"]
    assert late[0].late
    assert outcome.trained.peers == ("north", "valley", "lakeside", "castle")
    assert "harbour" not in outcome.models
    check_same_model(five, outcome)


def test_a_seed_of_another_length_names_its_peer(five: Case) -> None:
    short = rewriting(
        lambda packet: is_kind(packet, ShareSeed) and packet.sender == "valley",
        ShareSeed,
        lambda message: ShareSeed(message.seed[:31]),  # type: ignore[attr-defined]
        five.study.codec(five.key.public),
    )
    with pytest.raises(ViolationError, match="valley: expected a seed of 32 bytes"):
        five.run(meddler=short)


@pytest.mark.parametrize(
    "step", [14, 24, *(pytest.param(step, marks=pytest.mark.soak) for step in (17, 20))]
)
def test_a_penalty_is_chosen_by_who_stays_while_it_is_chosen(five: Case, step: int) -> None:
    case = five.changed(alpha=(1.0, 16.0), release="sealed")
    began, outcome = run(case, "harbour", stage="training", step=step)
    assert began.gone == {"harbour"}
    assert set(outcome.models) == {"north", "valley", "lakeside", "castle"}
    assert {model.candidate.alpha for model in outcome.models.values()} == {
        outcome.trained.candidate.alpha
    }


# The words of it.


def test_an_attempt_has_peers_of_the_roster_and_enough_of_them(five: Case) -> None:
    study = five.study
    with pytest.raises(InputError, match=r"peers of the roster in its order .*found mallory"):
        Attempt(Stage.DICTIONARY, 1, ("mallory",)).check(study)
    with pytest.raises(InputError, match="in its order"):
        Attempt(Stage.DICTIONARY, 1, ("valley", "north", "harbour")).check(study)
    with pytest.raises(InputError, match="expected a number from 1, found 0"):
        Attempt(Stage.DICTIONARY, 0, study.roster.peers).check(study)
    with pytest.raises(AbsenceError, match="expected at least 3, found 2, missing valley, lake"):
        Attempt.first(study, Stage.TRAINING, peers=("north", "harbour"))
    with pytest.raises(InputError, match="expected everybody in the roster to agree"):
        Attempt.first(study, Stage.AGREEMENT, peers=study.roster.peers[:4])


def test_no_two_attempts_have_one_session(five: Case) -> None:
    first = Attempt.first(five.study, Stage.DICTIONARY)
    every = [first, first.again(), Attempt.first(five.study, Stage.TRAINING)]
    assert len({attempt.session(five.study) for attempt in every}) == 3
    assert "dealer" not in first.parties(five.study)
    assert "dealer" in every[2].parties(five.study)


def test_a_failed_attempt_is_followed_only_where_that_is_safe(five: Case) -> None:
    study = five.study
    failed = Attempt.first(study, Stage.TRAINING)
    after = following(study, failed, missing={"castle"}, opened=False)
    assert after == Attempt(Stage.TRAINING, 2, ("north", "harbour", "valley", "lakeside"))
    assert following(study, failed, missing=(), opened=False).peers == failed.peers
    with pytest.raises(AbsenceError, match=r"castle: .* cannot repeat its training"):
        following(study, failed, missing={"castle"}, opened=True)
    with pytest.raises(AbsenceError, match=r"evaluator: .* cannot continue without its evaluator"):
        following(study, failed, missing={"evaluator"}, opened=False)
    with pytest.raises(AbsenceError, match="found 2, missing valley, lakeside, castle"):
        following(study, failed, missing={"castle", "valley", "lakeside"}, opened=False)
    agreement = Attempt.first(study, Stage.AGREEMENT)
    with pytest.raises(AbsenceError, match=r"castle: .* without the consent of everybody"):
        following(study, agreement, missing={"castle"}, opened=False)


def test_what_everybody_is_told_holds_no_content(five: Case) -> None:
    attempt = Attempt(Stage.DICTIONARY, 2, five.study.roster.peers)
    stop = Stop.of(attempt, InputError("valley: found 'a patient called Jones'"), seat="valley")
    assert str(stop.error()) == (
        "valley: the study was stopped in its dictionary (attempt 2): "
        "its documents or settings cannot be used"
    )
    blamed = Stop.of(attempt, ViolationError("sent words", party="castle"), seat="north")
    assert (blamed.party, blamed.kind) == ("castle", "ViolationError")


def test_a_peer_whose_documents_cannot_be_used_stops_the_study_by_name(five: Case) -> None:
    one_class = {
        **five.documents,
        "valley": [d for d in five.documents["valley"] if d.label == "routine"],
    }
    case = Case(one_class, five.plan, five.key)
    began = started(case, Leaving({}))
    with pytest.raises(InputError, match="valley: expected documents of at least two classes"):
        began.run(SeededEntropy(7))
    check_stopped(began, by="valley")


def seated(case: Case, name: str, **more: Any) -> SeatCourse:
    party = PartyContext.open(case.study, case.identities[name], entropy=SeededEntropy(1))
    return SeatCourse(party, **more)


def test_a_course_runs_its_stages_in_order(five: Case) -> None:
    north = seated(five, "north", documents=five.documents["north"])
    training = Attempt.first(five.study, Stage.TRAINING)
    with pytest.raises(MisuseError, match="north: expected an attempt at agreement, found one at"):
        north.program(training, entropy=SeededEntropy(1))
    with pytest.raises(MisuseError, match="training is over, or has not begun"):
        north.keep(training, None)
    with pytest.raises(MisuseError, match="only the coordinator decides this"):
        north.following(training, missing=())
    assert north.next_stage is Stage.AGREEMENT
    assert seated(five, "dealer").next_stage is Stage.AGREEMENT
    with pytest.raises(InputError, match="north: only a peer has documents"):
        seated(five, "north")
    with pytest.raises(InputError, match="evaluator: only a peer has documents"):
        seated(five, "evaluator", documents=[])
    with pytest.raises(InputError, match="north: only the coordinator has the key"):
        seated(five, "north", documents=[], key=five.key)
