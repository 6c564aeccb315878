"""One thing that a role could do by deviating, what stops it, and what nothing stops."""

from dataclasses import dataclass

PEER, COORDINATOR, EVALUATOR = "a peer", "the coordinator", "the evaluator"
DEALER, ANYBODY = "the dealer", "anybody"
ROLES = (PEER, COORDINATOR, EVALUATOR, DEALER, ANYBODY)


@dataclass(frozen=True)
class Deviation:
    """One thing that a role could do.

    `stops` says what makes it impossible or loud (empty where nothing does), `tests` which tests
    play it, `remains` what nothing stops.
    """

    role: str
    does: str
    stops: str
    tests: tuple[str, ...] = ()
    remains: str = "nothing known"
