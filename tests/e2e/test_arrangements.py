"""Every arrangement between processes: whoever is killed goes on, with the labels of memory.

In each run somebody is killed at every boundary of a stage, and everybody who answers while a
question is open. Run number k begins with victim number k, so that as many runs as there are
machines kill each of them at each boundary. The first run of six arrangements belongs to every
test run; rings, sampled rados, two label levels and the others are among the long tests.
"""

from collections.abc import Callable, Iterator

import pytest

from harness.examples.arrangements import BY_NAME
from harness.processes.machines import Village
from harness.processes.scenes import COORDINATOR
from sottovoce.protocols.blind_sum.rounds import TwoPeersWarning

# One arrangement has two peers only.
pytestmark = pytest.mark.filterwarnings(f"ignore::{TwoPeersWarning.__module__}.TwoPeersWarning")
Founded = Callable[..., Village]
STAGES = ("agreement", "dictionary", "training")
BOUNDARIES = [(kind, stage) for stage in STAGES for kind in ("stage-began", "stage-ended")]
ASKED = 12


def victims(place: Village, run: int) -> Iterator[str]:
    """Whom to kill at one boundary after the other: everybody in turn."""
    machines = (COORDINATOR, *place.sites)
    number = run
    while True:
        yield machines[number % len(machines)]
        number += 1


def check_killed(place: Village, run: int) -> None:
    stays, next_victim = BY_NAME[place.scene.arrangement].arrangement.stays, victims(place, run)
    place.start_all()
    for kind, stage in BOUNDARIES:
        place.boundary(kind, stage, seconds=400)
        place.restart(next(next_victim))
    for site in place.sites:
        result = place.result(site, seconds=400)
        assert "error" not in result, (result, place[site].story())
    place.start(*stays, stay=True)
    place.start("north", ask=ASKED)
    place.restart(COORDINATOR)
    for seat in stays:
        place.restart(seat, stay=True)
    labels = place.result("north", seconds=400)
    assert labels["labels"] == place.scene.labels("north", ASKED), labels


# Few, because each takes some fifteen seconds.
SHORT = {
    "features-full-shares",
    "intermediary-texts",
    "outsourced",
    "feature-lists",
    "descent-outsourced",
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in SHORT else pytest.mark.soak) for name in BY_NAME],
)
def test_labels_are_those_in_memory_whoever_is_killed(founded: Founded, name: str) -> None:
    check_killed(founded(arrangement=name), run=0)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "run"),
    [(name, run) for name, each in BY_NAME.items() for run in range(1, 1 + len(each.sites))],
)
def test_everybody_is_killed_at_every_boundary(founded: Founded, name: str, run: int) -> None:
    check_killed(founded(arrangement=name), run=run)
