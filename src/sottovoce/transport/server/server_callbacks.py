"""The interface between the HTTP server and the coordinator."""

from typing import Protocol

from sottovoce.transport.mailbox.mailbox import Mailbox


class ServerCallbacks(Protocol):
    """The server's questions to the coordinator: who holds which seat, and what to answer.

    A refusal is an `InputError` or a `TheirError` (answered with 403 and its hints) or a `Refusal`;
    any other error is answered as a failure of the server, without its message.
    """

    async def invitation(self, study: str, token: bytes) -> bytes:
        """The bytes that the holder of an invitation may read before it consents."""

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        """Take a seat for the holder of `key`; a repetition gets the same answer."""

    async def describe(self, study: str, seat: str) -> bytes:
        """The study's description for one of its seats."""

    async def status(self, study: str, seat: str) -> bytes:
        """The study's status for one of its seats."""

    def identity_of(self, study: str, seat: str) -> bytes | None:
        """The public identity of a seat that may make requests, or None."""

    def seen(self, study: str, seat: str, version: str) -> None:
        """Note an authenticated request of this seat; it names its version itself."""

    async def lose(self, study: str, seat: str) -> None:
        """Note that this seat cannot continue or write another letter."""

    def takes_letters(self, study: str, seat: str) -> bool:
        """Whether letters may be left for this seat."""

    def mailbox(self, study: str) -> Mailbox:
        """The mailbox of a known study."""
