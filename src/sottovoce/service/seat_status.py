"""How far each seat of a site is, for commands that look while another process works."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from sottovoce.errors import DamagedFileError
from sottovoce.keyfiles import storage
from sottovoce.service.api import Membership, SeatStatus
from sottovoce.service.events import (
    Enrolled,
    Event,
    Moved,
    OnEvent,
    RosterKnown,
    SeatWithdrawn,
    StageBegan,
    StudyClosed,
    StudyFinished,
    StudyStopped,
)
from sottovoce.service.phases import Phase

_NAME = "status.json"
_LARGEST = 2**16


def status(membership: Membership) -> tuple[SeatStatus, ...]:
    """How far every seat of this site is, from its own disk."""
    return tuple(_read(membership, seat) for seat in membership.seats)


def _read(membership: Membership, seat: str) -> SeatStatus:
    path = membership.folder / seat / _NAME
    found = SeatStatus(membership.study, seat, Phase.INVITED, 0, 0)
    if path.exists():
        try:
            found = SeatStatus(**json.loads(storage.read_whole(path, limit=_LARGEST).data))
            found = replace(found, phase=Phase(found.phase))
        except (ValueError, TypeError):
            raise DamagedFileError(f"{path}: not what was written") from None
    return replace(found, phase=Phase.WITHDRAWN) if is_withdrawn(membership) else found


def withdrawal_mark(membership: Membership) -> Path:
    """The file that says that this site took its consent back."""
    return membership.folder / "withdrawn"


def is_withdrawn(membership: Membership) -> bool:
    """Whether this site took its consent back."""
    return withdrawal_mark(membership).exists()


class StatusFile:
    """Writes down how far a seat is, whenever a stage begins or the study ends."""

    def __init__(self, folder: Path, study: str, seat: str, on_event: OnEvent) -> None:
        """Watch what goes to `on_event`."""
        self._path = folder / _NAME
        self._on_event = on_event
        self._status = SeatStatus(study, seat, Phase.INVITED, 0, 0)
        self._letters: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Pass an event on, and remember what it says."""
        self._on_event(event)
        match event:
            case Moved(_, _, stage, letters, _):
                self._letters[stage] = letters
            case Enrolled():
                self._enter(Phase.ENROLMENT)
            case RosterKnown():
                self._enter(Phase.CONSENT)
            case StageBegan(_, _, stage, attempt, _):
                self._enter(Phase(stage), attempt)
            case StudyFinished():
                self._enter(Phase.FINISHED)
            case StudyClosed():
                self._enter(Phase.CLOSED)
            case SeatWithdrawn():
                self._enter(Phase.WITHDRAWN)
            case StudyStopped(_, _, reason, party):
                self._status = replace(self._status, reason=reason, party=party)
                self._enter(Phase.STOPPED)

    def _enter(self, phase: Phase, attempt: int = 0) -> None:
        self._status = replace(
            self._status, phase=phase, attempt=attempt, letters=sum(self._letters.values())
        )
        data = json.dumps(asdict(self._status)).encode()
        storage.write_whole(self._path, data, mode=storage.SECRET_MODE, replace=True)
