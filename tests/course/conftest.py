"""A study of three peers and two helpers, as its deciders know it."""

from dataclasses import replace

import pytest

from harness.entropy import SeededEntropy
from harness.examples import query_courses
from harness.examples.courses import Told
from harness.examples.query_courses import PEERS, seat_of
from sottovoce.course.queries import coordinator as coordinator_service
from sottovoce.course.queries.actions import ForgetOthers
from sottovoce.course.queries.coordinator import CoordinatorService
from sottovoce.course.queries.records import EvaluationBook
from sottovoce.course.queries.seats_seen import SeatsSeen
from sottovoce.course.terms import Terms, WaitingLimits, planned
from sottovoce.course.training.inputs import Started
from sottovoce.study import InsecureToyPlan
from sottovoce.study.roster import Participant, Role, Roster, member_of
from sottovoce.study.study import Study
from sottovoce.text.labels import Labels

SEATS = [
    ("coordinator", "Institute", Role.COORDINATOR),
    ("evaluator", "Trust", Role.EVALUATOR),
    ("dealer", "Lender", Role.DEALER),
    ("north", "Northfield Hospital", Role.PEER),
    ("harbour", "Harbour Clinic", Role.PEER),
    ("valley", "Valley Practice", Role.PEER),
    ("lakeside", "Lakeside Hospital", Role.PEER),
]


@pytest.fixture(scope="session")
def study() -> Study:
    keys = SeededEntropy(1)
    plan = InsecureToyPlan("notes", Labels(("routine", "urgent")), key_bits=768)
    return Study(plan, Roster(tuple(Participant(*seat, keys.seed()) for seat in SEATS)))


@pytest.fixture(scope="session")
def terms(study: Study) -> Terms:
    limits = WaitingLimits(gather=10, receive=30, unseen=6, silent=10, enrolment=100)
    return Terms("s-1", study.plan, planned(study.roster.participants), limits)


@pytest.fixture
def quorum_training(terms: Terms) -> Told:
    """The same among peers that compute by themselves."""
    keys = SeededEntropy(2)
    peers = [seat for seat in SEATS if seat[2] is Role.PEER]
    members = [(member_of(name), organisation, Role.MEMBER) for name, organisation, _ in peers]
    seats = tuple(Participant(*seat, keys.seed()) for seat in (SEATS[0], *peers, *members))
    study = Study(terms.plan, Roster(seats))
    return Told(study, replace(terms, seats=planned(seats)))


@pytest.fixture
def training(study: Study, terms: Terms) -> Told:
    """A coordinator to which a test tells what happens."""
    return Told(study, terms)


@pytest.fixture
def coordinator(study: Study) -> query_courses.Told:
    """A coordinator of a trained study, just started."""
    state = CoordinatorService.of(
        "s-1",
        study,
        PEERS,
        records={},
        book=EvaluationBook(),
        gather=10.0,
        presence=SeatsSeen(6.0),
    )
    started = query_courses.Told(coordinator_service, state)
    assert started(Started()) == (ForgetOthers(()),)
    return started


@pytest.fixture
def north(study: Study) -> query_courses.Told:
    """A peer of a trained study."""
    return seat_of(study, "north")


@pytest.fixture
def evaluator(study: Study) -> query_courses.Told:
    """A helper of a trained study."""
    return seat_of(study, "evaluator")
