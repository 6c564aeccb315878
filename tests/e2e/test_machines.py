"""Studies between processes over TLS: undisturbed, killed, cut off, and left."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.processes.machines import Village
from sottovoce.keyfiles.models import look
from sottovoce.ledger import read_ledger

Founded = Callable[..., Village]


def until(happened: Callable[[], bool], *, seconds: float = 150.0) -> None:
    """Wait for something that a process does."""
    ends = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < ends
        time.sleep(0.01)


@pytest.mark.parametrize("engine", ["shares", "paillier"])
def test_four_processes_train_the_model_of_a_study_in_memory(founded: Founded, engine: str) -> None:
    scene = {"engine": engine, "features": 16 if engine == "shares" else 5}
    place = founded(**scene)
    place.start_all()
    place.check_model()


def test_processes_choose_the_kernel_width_that_memory_chooses(
    founded: Founded, tmp_path: Path
) -> None:
    place = founded(documents=200, more="kernel = 8\nkernel_width = [2.0, 0.5]")
    place.start_all()
    place.check_model()
    chosen = {look(part).candidate for part in tmp_path.rglob("model")}
    assert chosen == {place.scene.chosen()}


def test_processes_label_with_the_scores_of_their_own_models(founded: Founded) -> None:
    place = founded(release="sealed", more="own_weight = [0, 0.5]", documents=200)
    place.start("coordinator", "north", "valley")
    place.start("harbour", stay=True)
    assert place["valley"].result()["weights"] is None
    place.start("valley", ask=30)
    assert place["valley"].result()["labels"] == place.scene.labels("valley", 30)


STAGES = ("agreement", "dictionary", "training")


def test_whoever_is_killed_at_a_stage_boundary_goes_on(founded: Founded) -> None:
    """Somebody else at each: the coordinator, a peer that evaluates, one that deals, a third."""
    place = founded()
    place.start_all()
    victims = ("coordinator", "north", "harbour", "valley", "coordinator", "north")
    boundaries = [(kind, stage) for stage in STAGES for kind in ("stage-began", "stage-ended")]
    for (kind, stage), victim in zip(boundaries, victims, strict=True):
        place["coordinator"].until(kind, stage=stage)
        place.restart(victim)
    place.check_model()
    assert sum(place.starts.values()) == 10


QUORUM_STAGES = ("agreement", "dictionary", "contributions", "training")


def test_members_that_are_killed_at_stage_boundaries_go_on(founded: Founded) -> None:
    place = founded(engine="quorum", features=6, documents=120)
    place.start_all()
    victims = ("north", "coordinator", "harbour", "valley")
    for stage, victim in zip(QUORUM_STAGES, victims, strict=True):
        place["coordinator"].until("stage-began", stage=stage)
        place.restart(victim)
    place["coordinator"].until_moved("training", 30)
    place.restart("harbour")
    place.check_model()


def test_a_member_that_leaves_in_the_middle_of_a_solve_is_done_without(founded: Founded) -> None:
    """Its text is in the sum, and the others solve again with masks of their own."""
    middle = {"alpha": 1.0, "stage": "15 seconds"}
    place = founded(engine="quorum", features=6, documents=160, sites=4, **middle)
    place.start_all()
    place["coordinator"].until_moved("training", 40)
    place["lakeside"].kill()
    place.check_model(*place.sites[:-1], of=place.sites)


def test_whoever_restarts_in_the_middle_of_a_solve_goes_on(founded: Founded) -> None:
    # A weak penalty, for a solve that has a middle.
    place = founded(alpha=1.0)
    place.start_all()
    victims = ("coordinator", "north", "harbour", "coordinator", "north")
    # A coordinator that begins again counts its letters anew.
    for letters, name in zip((40, 30, 60, 90, 20), victims, strict=True):
        place["coordinator"].until_moved("training", letters)
        place.restart(name)
    place.check_model()
    assert sum(place.starts.values()) == 9


@pytest.mark.soak
def test_a_coordinator_that_restarts_in_the_middle_of_an_encrypted_solve_goes_on(
    founded: Founded,
) -> None:
    place = founded(engine="paillier", features=5, alpha=1.0)
    place.start_all()
    for letters in (40, 80):
        place["coordinator"].until_moved("training", letters)
        place.restart("coordinator")
    place.check_model()


def test_a_peer_that_never_returns_is_left_behind(founded: Founded) -> None:
    place = founded(sites=4, stage="6 seconds")
    place.start_all()
    place["lakeside"].until("stage-began", stage="dictionary")
    place["lakeside"].kill()
    stay = ("north", "harbour", "valley")
    place.check_model(*stay)


def test_where_too_few_stay_everybody_is_told_by_name(founded: Founded) -> None:
    place = founded(stage="6 seconds")
    place.start_all()
    place["valley"].until("stage-began", stage="dictionary")
    place["valley"].kill()
    results = [place[name].result() for name in ("north", "harbour")]
    assert {line["error"] for line in results} == {"StoppedError"}
    assert {event["party"] for event in results} == {"valley"}
    assert len({event["message"] for event in results}) == 1


def test_a_letter_that_waits_for_approval_is_asked_for_again_after_a_kill(
    founded: Founded, tmp_path: Path
) -> None:
    place = founded()
    script, asked, hold = (tmp_path / name for name in ("approve", "asked", "hold"))
    hold.touch()
    waits = f'echo $$ >> "{asked}"; while [ -e "{hold}" ]; do sleep 0.05; done'
    script.write_text(f'#!/bin/sh\ncase "$(cat)" in *masked-parts*) {waits};; esac\n')
    script.chmod(0o700)
    place.start("coordinator", "north", "harbour")
    place.start("valley", approve=script)
    until(asked.exists)
    place["valley"].kill()
    before = list(read_ledger(tmp_path / "valley-hospital/valley/ledger.jsonl"))
    assert "masked-parts" not in {line.kind for line in before}
    hold.unlink()
    place.start("valley", approve=script)
    place.check_model()
    lines = list(read_ledger(tmp_path / "valley-hospital/valley/ledger.jsonl"))
    let_go = [line.digest for line in lines if line.what == "approval"]
    assert let_go == [line.digest for line in lines if line.what == "sent"]
    masked = [line for line in lines if line.kind == "masked-parts" and line.what == "sent"]
    # The dead process had asked for the first of them already.
    assert len(asked.read_text().split()) == len(masked) + 1


def test_a_bad_line_changes_nothing_but_the_time_it_takes(founded: Founded) -> None:
    """Requests are dropped, delayed, overtaken, doubled, cut short; then nobody gets through."""
    place = founded(alpha=1.0)
    weather = place.brew(badness=0.1)
    place.start_all()
    place["coordinator"].until_moved("training", 40)
    weather.signal(signal.SIGUSR1)
    time.sleep(2.0)
    weather.signal(signal.SIGUSR1)
    place.check_model()
    weather.signal(signal.SIGTERM)
    fates = weather.result()["fates"]
    assert set(fates) == {"carried", "dropped", "unanswered", "delayed", "doubled", "truncated"}


def test_a_sealed_model_gives_its_labels_to_a_fresh_process(founded: Founded) -> None:
    """Everybody was killed between training and question; the dealer stays, and comes back."""
    place = founded(release="sealed")
    place.start("coordinator", "north", "valley")
    place.start("harbour", stay=True)
    assert place["valley"].result()["weights"] is None
    place["harbour"].until("model-stored")
    place.restart("coordinator")
    place.restart("harbour", stay=True)
    place.start("valley", ask=30)
    assert place["valley"].result()["labels"] == place.scene.labels("valley", 30)
