"""The same for everybody and everywhere: hours of it, if one has them."""

import random
import signal
import time
from collections.abc import Callable

import numpy as np
import pytest

from harness.processes.machines import Village
from harness.processes.namespaces import lan, why_not

pytestmark = pytest.mark.soak
Founded = Callable[..., Village]
STAGES = ("agreement", "dictionary", "training")
EVERYBODY = ("coordinator", "north", "harbour", "valley")


@pytest.mark.parametrize("engine", ["shares", "paillier"])
@pytest.mark.parametrize("victim", EVERYBODY)
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", ["stage-began", "stage-ended"])
def test_anybody_may_be_killed_at_any_boundary(
    founded: Founded, engine: str, victim: str, stage: str, kind: str
) -> None:
    place = founded(engine=engine, features=16 if engine == "shares" else 5)
    place.start_all()
    place["coordinator"].until(kind, stage=stage)
    place.restart(victim)
    place.check_model()


QUORUM_STAGES = ("agreement", "dictionary", "contributions", "training")


@pytest.mark.parametrize("victim", ["coordinator", "north", "lakeside"])
@pytest.mark.parametrize("stage", QUORUM_STAGES)
@pytest.mark.parametrize("kind", ["stage-began", "stage-ended"])
def test_any_of_five_processes_of_a_quorum_may_be_killed_at_any_boundary(
    founded: Founded, victim: str, stage: str, kind: str
) -> None:
    place = founded(engine="quorum", sites=4, features=6)
    place.start_all()
    place["coordinator"].until(kind, stage=stage)
    place.restart(victim)
    place.check_model()


@pytest.mark.parametrize("stage", ["dictionary", "contributions", "training"])
@pytest.mark.parametrize("member", ["north", "lakeside"])
def test_a_member_may_leave_for_good_in_any_stage(
    founded: Founded, stage: str, member: str
) -> None:
    """What it brought is out before contributions are added up, and in afterwards.

    Killed when a stage begins, it may have brought its part of it by then. What was opened
    before stays of all sites: the dictionary, for who leaves the contributions.
    """
    place = founded(engine="quorum", sites=4, features=6, stage="15 seconds")
    place.start_all()
    place[member].until("stage-began", stage=stage)
    place[member].kill()
    stay = tuple(site for site in place.sites if site != member)
    weights = place.weights(*stay)
    possible = [place.scene.undisturbed()] if stage != "dictionary" else []
    if stage != "training":
        possible.append(place.scene.left_by(member, stage=stage))
    assert any(
        np.allclose(weights, each, rtol=0, atol=2e-3 * np.abs(each).max()) for each in possible
    )


@pytest.mark.parametrize("seed", range(20))
def test_anybody_may_be_killed_at_any_time(founded: Founded, seed: int) -> None:
    draw, place = random.Random(seed), founded()
    place.start_all()
    for _ in range(8):
        time.sleep(draw.expovariate(2.0))
        place.restart(draw.choice(EVERYBODY))
    place.check_model()


@pytest.mark.parametrize("stage", STAGES)
def test_a_peer_may_leave_for_good_in_any_stage(founded: Founded, stage: str) -> None:
    place = founded(sites=4, stage="3 seconds")
    place.start_all()
    place["lakeside"].until("stage-began", stage=stage)
    place["lakeside"].kill()
    place.check_left("lakeside", stage=stage)


@pytest.mark.parametrize("stage", ["dictionary", "training"])
def test_half_of_the_peers_may_leave_for_good(founded: Founded, stage: str) -> None:
    """Too many for the sum that was begun: it is begun anew without them."""
    place = founded(sites=6, documents=480, stage="5 seconds")
    place.start_all()
    gone = ("lakeside", "castle", "valley")
    for name in gone:
        place[name].until("stage-began", stage=stage)
        place[name].signal(signal.SIGSTOP)
    place["coordinator"].until("stage-began", stage=stage, attempt=2)
    place.restart("coordinator")
    place.check_left(*gone, stage=stage)


@pytest.mark.parametrize("victim", ["coordinator", "harbour"])
@pytest.mark.parametrize("pause", [0.02, 0.1, 0.3, 0.6])
def test_a_question_is_answered_though_who_answers_is_killed(
    founded: Founded, victim: str, pause: float
) -> None:
    place = founded(release="sealed")
    place.start("coordinator", "north", "valley")
    place.start("harbour", stay=True)
    assert place["valley"].result()["weights"] is None
    place["harbour"].until("model-stored")
    place.start("valley", ask=60)
    time.sleep(pause)
    place.restart(victim, stay=True)
    assert place["valley"].result()["labels"] == place.scene.labels("valley", 60)


@pytest.mark.parametrize("badness", [0.2, 0.5])
def test_any_weather_passes(founded: Founded, badness: float) -> None:
    place = founded()
    place.brew(badness=badness)
    place.start_all()
    place.check_model()


def test_machines_with_addresses_of_their_own(founded: Founded) -> None:
    """Four network namespaces on a bridge; a site's cable is out for a while."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with lan(EVERYBODY) as cables:
        place = founded(alpha=1.0)
        place.lan = cables
        place.start_all()
        place["coordinator"].until_moved("training", 20)
        cables.unplug("north")
        time.sleep(3.0)
        cables.unplug("north", back=True)
        place.check_model()
        place.end()


def test_who_leaves_the_rings_for_good_ends_the_study_by_name(founded: Founded) -> None:
    place = founded(
        engine="paillier", sites=4, features=5, more='addition = "ring"', stage="15 seconds"
    )
    place.start_all()
    place["lakeside"].until("stage-began", stage="training")
    place["lakeside"].kill()
    result = place["harbour"].until("result")
    assert (result["error"], result["party"]) == ("StoppedError", "lakeside")
