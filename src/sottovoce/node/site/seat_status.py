"""The status of each seat of a site, for commands that look while another process works."""

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
    """The status of every seat of this site, from its own disk.

    If one seat heard of the study's end, that holds for the others too, whose process ended
    earlier.
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
    """The status in the file, or that of a seat that was only invited."""
    invited = SeatStatus(study, seat, Phase.INVITED, 0, 0)
    if not path.exists():
        return invited
    try:
        kept = SeatStatus(**json.loads(storage.read_whole(path, limit=_LARGEST).data))
        return replace(kept, phase=Phase(kept.phase), waits_for=tuple(kept.waits_for))
    except (ValueError, TypeError, KeyFileError):
        # Only commands read it; the seat itself reads its journal.
        return replace(invited, reason=f"{path} cannot be read; the next stage will write it again")


def is_running(seat: SeatStatus) -> bool:
    """Whether the last process of the seat still runs."""
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
    """The file that marks that this site withdrew."""
    return membership.folder / "withdrawn"


def is_withdrawn(membership: Membership) -> bool:
    """Whether this site withdrew."""
    return withdrawal_mark(membership).exists()
