"""A study of three peers and two helpers, as its deciders know it."""

from dataclasses import replace

import pytest

from harness.entropy import SeededEntropy
from harness.examples.courses import Told
from sottovoce.course.terms import Terms, WaitingLimits, planned
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
def told_quorum(terms: Terms) -> Told:
    """The same among peers that compute by themselves."""
    keys = SeededEntropy(2)
    peers = [seat for seat in SEATS if seat[2] is Role.PEER]
    members = [(member_of(name), organisation, Role.MEMBER) for name, organisation, _ in peers]
    seats = tuple(Participant(*seat, keys.seed()) for seat in (SEATS[0], *peers, *members))
    study = Study(terms.plan, Roster(seats))
    return Told(study, replace(terms, seats=planned(seats)))


@pytest.fixture
def told(study: Study, terms: Terms) -> Told:
    """A coordinator to which a test tells what happens."""
    return Told(study, terms)
