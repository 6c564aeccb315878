"""What a site says of a study that is not ready, or is over: from its own disk, with true hints."""

import os
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from sottovoce.cli.exit_states import check_goes_on, check_trained, why_stopped
from sottovoce.course.phases import STAGES, Phase
from sottovoce.errors import InputError, StoppedError
from sottovoce.node.memberships import SeatStatus


@dataclass
class Study:
    id: str = "s-1"
    membership: None = None
    invitation: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(title="urgency"))


def seat(phase: Phase, **changes: object) -> SeatStatus:
    return SeatStatus("s-1", "north", phase, 1, 0, **changes)  # type: ignore[arg-type]


def having(monkeypatch: pytest.MonkeyPatch, *seats: SeatStatus) -> Study:
    monkeypatch.setattr("sottovoce.node.site.seat_status.status", lambda _: seats)
    return Study()


@pytest.mark.parametrize("phase", [Phase.ENROLMENT, Phase.CONSENT, *STAGES])
def test_nobody_asks_before_there_is_a_model(phase: Phase, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=f"expected a finished training, found north {phase}") as e:
        check_trained(having(monkeypatch, seat(phase)))  # type: ignore[arg-type]
    assert any("sottovoce join --study s-1" in hint for hint in e.value.hints)
    with pytest.raises(InputError) as e:
        check_trained(having(monkeypatch, seat(phase, process=os.getpid())))  # type: ignore[arg-type]
    assert not any("join" in hint for hint in e.value.hints), "one takes part already"


def test_a_trained_study_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    check_trained(having(monkeypatch, seat(Phase.FINISHED)))  # type: ignore[arg-type]


def test_why_a_study_stopped_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cancelled = seat(
        Phase.STOPPED, reason="stopped the study: the coordinator cancelled it", party="coordinator"
    )
    assert why_stopped(cancelled) == "the coordinator cancelled it"
    assert why_stopped(seat(Phase.STOPPED, reason="it left", party="harbour")) == "harbour: it left"
    with pytest.raises(StoppedError, match="is over: the coordinator cancelled it") as error:
        check_goes_on(having(monkeypatch, cancelled))  # type: ignore[arg-type]
    # A command for another machine must not carry this site's --home.
    assert "sottovoce study create" not in " ".join(error.value.hints)
