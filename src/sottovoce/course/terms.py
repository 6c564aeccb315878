"""The terms of a study before it begins: its plan, its seats and its deadlines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from sottovoce.course.control import COORDINATOR
from sottovoce.study.plan import StudyPlan
from sottovoce.study.roster import Participant, Role, Roster, peer_of
from sottovoce.study.study import Study


@dataclass(frozen=True)
class PlannedSeat:
    """A seat of the study's text: its name, its organisation and its role."""

    name: str
    organisation: str
    role: Role


class Failing(Enum):
    """The consequence if a peer's program fails by its own fault."""

    LEAVES = auto()
    """The others continue without that peer: for sites on different machines."""
    STOPS = auto()
    """All stop, and the error is raised: for a study in one process."""


@dataclass(frozen=True)
class WaitingLimits:
    """The seconds that parties are waited for.

    `gather` for messages of many, `receive` for one party, `unseen` until a seat without a request
    counts as away, `silent` until a complaint about it is believed, `enrolment` for people to join.
    """

    gather: float
    receive: float
    unseen: float
    silent: float
    enrolment: float


@dataclass(frozen=True)
class Terms:
    """The text of a study for its deciders, and the settings of their carrier."""

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
        """The seats that joined, in the order of the text; all seats of an organisation or none."""
        away = {seat.name for seat in self.seats if seat.name not in publics}
        peers = {peer_of(name) for name in away}
        away |= {seat.name for seat in self.seats if peer_of(seat.name) in peers}
        participants = tuple(
            Participant(seat.name, seat.organisation, seat.role, publics[seat.name])
            for seat in self.seats
            if seat.name not in away
        )
        return Study(self.plan, Roster(participants))


def planned(participants: Sequence[Participant]) -> tuple[PlannedSeat, ...]:
    """The seats of a roster, without their keys."""
    return tuple(PlannedSeat(seat.name, seat.organisation, seat.role) for seat in participants)
