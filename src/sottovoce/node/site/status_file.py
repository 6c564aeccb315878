"""Writes a seat's status to a file, for commands that look while it works."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

from sottovoce.course.news import (
    QueryPriced,
    SeatWaiting,
    StageBegan,
    StudyClosed,
    StudyFinished,
    StudyStopped,
)
from sottovoce.course.phases import Phase
from sottovoce.keyfiles import storage
from sottovoce.node.events import Enrolled, Event, Moved, OnEvent, RosterKnown, SeatWithdrawn
from sottovoce.node.site.seat_status import NAME, kept_status

_PERSON = "a person at this site"
_OTHERS = "everybody else"
_ENDS: dict[type, Phase] = {
    StudyFinished: Phase.FINISHED,
    StudyClosed: Phase.CLOSED,
    SeatWithdrawn: Phase.WITHDRAWN,
}


class StatusFile:
    """Writes a seat's status whenever a stage begins or the study ends."""

    def __init__(self, folder: Path, study: str, seat: str, on_event: OnEvent) -> None:
        self._path = folder / NAME
        self._on_event = on_event
        # A query of a trained study begins no stage: the seat's phase stays.
        self._status = kept_status(self._path, study, seat)
        self._letters: dict[str, int] = {}

    def __call__(self, event: Event) -> None:
        """Pass an event on, and keep its facts."""
        self._on_event(event)
        match event:
            case Moved(_, _, stage, letters, _):
                self._letters[stage] = letters
                if self._status.waits_for:
                    self._wait()
            case QueryPriced():
                self._status = replace(self._status, labels_left=event.left - event.counted)
                self._write()
            case SeatWaiting(_, _, what, whom, until):
                self._wait(what, whom, until)
            case Enrolled():
                self._take_seat(event)
            case RosterKnown():
                self._enter(Phase.CONSENT)
                self._wait("consent", (_PERSON,), event.until)
            case StageBegan(_, _, stage, attempt, _):
                self._enter(Phase(stage), attempt)
            case StudyFinished() | StudyClosed() | SeatWithdrawn():
                self._enter(_ENDS[type(event)])
            case StudyStopped(_, _, reason, party):
                self._status = replace(self._status, reason=reason, party=party)
                self._enter(Phase.STOPPED)

    def _take_seat(self, event: Enrolled) -> None:
        """Wait for the others, unless they had joined before this process began."""
        begins = self._status.phase in {Phase.INVITED, Phase.ENROLMENT}
        self._enter(Phase.ENROLMENT)
        if begins and event.until:
            self._wait("enrolment", (_OTHERS,), event.until)

    def _enter(self, phase: Phase, attempt: int = 0) -> None:
        self._status = replace(self._status, phase=phase, attempt=attempt)
        self._wait()

    def _wait(self, what: str = "", whom: tuple[str, ...] = (), until: float = 0.0) -> None:
        """Write the status, with the current wait."""
        waits = {"waits_what": what, "waits_for": whom, "waits_until": until}
        letters = max(self._status.letters, sum(self._letters.values()))
        self._status = replace(self._status, letters=letters, process=os.getpid(), **waits)  # type: ignore[arg-type]
        self._write()

    def _write(self) -> None:
        data = json.dumps(asdict(self._status)).encode()
        storage.write_for_information(self._path, data, synced=False)
