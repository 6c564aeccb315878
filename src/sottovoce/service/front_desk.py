"""What the server asks the service: who may enrol, whose key is whose, where letters go."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict

from sottovoce.service.control import COORDINATOR
from sottovoce.service.hall import Hall
from sottovoce.transport.mailbox import Mailbox
from sottovoce.transport.problems import Problem


class Desk:
    """The front desk of a server with several studies."""

    def __init__(self, halls: Mapping[str, Hall]) -> None:
        """Serve these studies; the mapping may grow."""
        self._halls = halls

    async def invitation(self, study: str, token: bytes) -> bytes:
        """The study's text, for the holder of an invitation."""
        hall = self._hall(study)
        hall.registry.admitted(token, now=time.time())
        return hall.registry.text.encode()

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        """Take a seat: the request is the token, and its signature proves who holds the key."""
        hall = self._hall(study)
        ticket = hall.registry.admitted(request, now=time.time())
        await hall.enrol(seat, key, ticket)
        return hall.registry.text.encode()

    async def describe(self, study: str, seat: str) -> bytes:
        """The study's text."""
        del seat
        return self._hall(study).registry.text.encode()

    async def status(self, study: str, seat: str) -> bytes:
        """How far the study is, and the receipt of this seat's ledger, as JSON."""
        hall = self._hall(study)
        receipt = await hall.receipt(seat)
        kept = None if receipt is None else receipt.encoded().decode()
        return json.dumps(asdict(hall.status()) | {"receipt": kept}).encode()

    def identity_of(self, study: str, seat: str) -> bytes | None:
        """The public identity of a seat that enrolled."""
        hall = self._halls.get(study)
        return None if hall is None else hall.publics.get(seat)

    def seen(self, study: str, seat: str) -> None:
        """A seat made a request, and proved that it is the seat."""
        self._hall(study).seen(seat)

    def takes_letters(self, study: str, seat: str) -> bool:
        """Whether letters may be left for this seat."""
        hall = self._halls.get(study)
        return hall is not None and (seat == COORDINATOR or seat in hall.publics)

    def mailbox(self, study: str) -> Mailbox:
        """The mailbox of a study."""
        return self._hall(study).mailbox

    def _hall(self, study: str) -> Hall:
        hall = self._halls.get(study)
        if hall is None:
            raise Problem(404, "no-study", f"no study {study!r} at this server")
        return hall
