"""What is settled before a study begins: its plan, who may sit where, and how long all wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Protocol

from sottovoce.course.control import COORDINATOR
from sottovoce.study.plan import StudyPlan
from sottovoce.study.roster import Participant, Role, Roster, peer_of
from sottovoce.study.study import Study


@dataclass(frozen=True)
class PlannedSeat:
    """A seat of the study's text: its name, whose it is, and what it does."""

    name: str
    organisation: str
    role: Role


class SeatOfText(Protocol):
    """A seat as a study's text or a roster names it."""

    @property
    def name(self) -> str:
        """The seat: coordinator, evaluator, dealer, or a peer's name."""

    @property
    def organisation(self) -> str:
        """Whose it is."""

    @property
    def role(self) -> Role:
        """What it does."""


class Failing(Enum):
    """What follows when the program of a peer fails for a reason of its own."""

    LEAVES = auto()
    """That peer is left behind, and the others go on: sites far apart."""
    STOPS = auto()
    """All stop, and the error is raised: everybody sits in one process, in a roster that stays."""


@dataclass(frozen=True)
class WaitingLimits:
    """How many seconds who is waited for.

    `gather` for what many send, `receive` for one alone, `unseen` until a seat without a
    request counts as away, `silent` until a complaint about it is believed, `enrolment` for
    people to come.
    """

    gather: float
    receive: float
    unseen: float
    silent: float
    enrolment: float


@dataclass(frozen=True)
class Terms:
    """The text of a study as its deciders know it, and how this course is carried."""

    study: str
    plan: StudyPlan
    seats: tuple[PlannedSeat, ...]
    limits: WaitingLimits
    failing: Failing = Failing.LEAVES

    @property
    def expected(self) -> tuple[str, ...]:
        """Every seat but the coordinator's."""
        return tuple(seat.name for seat in self.seats if seat.name != COORDINATOR)

    def seated(self, publics: Mapping[str, bytes]) -> Study:
        """Who came, in the order of the text; all seats of an organisation or none."""
        away = {seat.name for seat in self.seats if seat.name not in publics}
        peers = {peer_of(name) for name in away}
        away |= {seat.name for seat in self.seats if peer_of(seat.name) in peers}
        participants = tuple(
            Participant(seat.name, seat.organisation, seat.role, publics[seat.name])
            for seat in self.seats
            if seat.name not in away
        )
        return Study(self.plan, Roster(participants))


def planned(seats: Sequence[SeatOfText]) -> tuple[PlannedSeat, ...]:
    """The seats of a text or of a roster."""
    return tuple(PlannedSeat(seat.name, seat.organisation, seat.role) for seat in seats)
