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
    StageBegan,
    StudyFinished,
    StudyStopped,
)

_NAME = "status.json"
_LARGEST = 2**16


def status(membership: Membership) -> tuple[SeatStatus, ...]:
    """How far every seat of this site is, from its own disk."""
    return tuple(_read(membership, seat) for seat in membership.seats)


def _read(membership: Membership, seat: str) -> SeatStatus:
    path = membership.folder / seat / _NAME
    if not path.exists():
        return SeatStatus(membership.study, seat, "not enrolled", 0, 0)
    try:
        return SeatStatus(**json.loads(storage.read_whole(path, limit=_LARGEST).data))
    except (ValueError, TypeError):
        raise DamagedFileError(f"{path}: not what was written") from None


class StatusFile:
    """Writes down how far a seat is, whenever a stage begins or the study ends."""

    def __init__(self, folder: Path, study: str, seat: str, on_event: OnEvent) -> None:
        """Watch what goes to `on_event`."""
        self._path = folder / _NAME
        self._on_event = on_event
        self._status = SeatStatus(study, seat, "joining", 0, 0)
        self._letters: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Pass an event on, and remember what it says."""
        self._on_event(event)
        match event:
            case Moved(_, _, stage, letters, _):
                self._letters[stage] = letters
            case Enrolled():
                self._enter("enrolled")
            case RosterKnown():
                self._enter("consent")
            case StageBegan(_, _, stage, attempt, _):
                self._enter(stage, attempt)
            case StudyFinished():
                self._enter("finished")
            case StudyStopped():
                self._enter("stopped")

    def _enter(self, phase: str, attempt: int = 0) -> None:
        self._status = replace(
            self._status, phase=phase, attempt=attempt, letters=sum(self._letters.values())
        )
        data = json.dumps(asdict(self._status)).encode()
        storage.write_whole(self._path, data, mode=storage.SECRET_MODE, replace=True)
