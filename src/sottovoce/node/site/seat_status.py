"""How far each seat of a site is, for commands that look while another process works."""

import json
import os
from dataclasses import replace
from pathlib import Path

from sottovoce.course.phases import Phase
from sottovoce.errors import KeyFileError
from sottovoce.keyfiles import storage
from sottovoce.node.memberships import Membership, SeatStatus

NAME = "status.json"
_LARGEST = 2**16


def status(membership: Membership) -> tuple[SeatStatus, ...]:
    """How far every seat of this site is, from its own disk.

    What one seat heard of the study's end holds for the others, whose process ended before.
    """
    seats = tuple(_read(membership, seat) for seat in membership.seats)
    if not any(seat.phase == Phase.CLOSED for seat in seats):
        return seats
    return tuple(
        replace(seat, phase=Phase.CLOSED) if seat.phase == Phase.FINISHED else seat
        for seat in seats
    )


def _read(membership: Membership, seat: str) -> SeatStatus:
    kept = kept_status(membership.folder / seat / NAME, membership.study, seat)
    return replace(kept, phase=Phase.WITHDRAWN) if is_withdrawn(membership) else kept


def kept_status(path: Path, study: str, seat: str) -> SeatStatus:
    """What the file says, or that of a seat that was only invited."""
    invited = SeatStatus(study, seat, Phase.INVITED, 0, 0)
    if not path.exists():
        return invited
    try:
        kept = SeatStatus(**json.loads(storage.read_whole(path, limit=_LARGEST).data))
        return replace(kept, phase=Phase(kept.phase), waits_for=tuple(kept.waits_for))
    except (ValueError, TypeError, KeyFileError):
        # Only commands that look read it; the seat itself knows from its journal.
        return replace(invited, reason=f"{path} cannot be read: the next stage writes it anew")


def is_running(seat: SeatStatus) -> bool:
    """Whether the process that took part last still runs."""
    if seat.process <= 0:
        return False
    try:
        os.kill(seat.process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def withdrawal_mark(membership: Membership) -> Path:
    """The file that says that this site took its consent back."""
    return membership.folder / "withdrawn"


def is_withdrawn(membership: Membership) -> bool:
    """Whether this site took its consent back."""
    return withdrawal_mark(membership).exists()
