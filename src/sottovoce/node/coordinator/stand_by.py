"""One process serves a coordinator's folder; another stands by, and takes over when it ends.

Whoever holds the lock of the folder serves it. The system lets go of a lock when its process
ends, however it ends, so a server that was killed is followed by the one that stands by. That one
goes on from the same journals, as the killed one would have done if it had been started again.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sottovoce.errors import InputError
from sottovoce.keyfiles import unix
from sottovoce.keyfiles.storage import SECRET_MODE
from sottovoce.node.events import OnEvent, StandingBy
from sottovoce.node.memberships import CoordinatorPlace

LOCK = "serving.lock"
_LOOK_SECONDS = 0.25


@asynccontextmanager
async def serving_alone(
    place: CoordinatorPlace, *, stand_by: bool, on_event: OnEvent
) -> AsyncIterator[None]:
    """Hold the folder as long as the block lasts; a process that stands by waits for it."""
    flags = os.O_RDWR | os.O_CREAT | unix.CLOEXEC
    descriptor = os.open(place.folder / LOCK, flags, SECRET_MODE)
    try:
        if not unix.lock_alone(descriptor):
            if not stand_by:
                raise InputError(
                    f"{place.folder}: another process serves it already",
                    hints=("sottovoce serve --stand-by",),
                )
            on_event(StandingBy(str(place.folder)))
            while not unix.lock_alone(descriptor):  # noqa: ASYNC110 - another process lets go
                await asyncio.sleep(_LOOK_SECONDS)
        yield
    finally:
        os.close(descriptor)
