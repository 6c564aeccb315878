"""What a server asks of the service behind it."""

from typing import Protocol

from sottovoce.transport.mailbox import Mailbox


class ServerCallbacks(Protocol):
    """What the service knows and the server asks: who holds which seat, and what to tell whom.

    A refusal is an `InputError` or a `TheirError` (told as 403, with its hints) or a `Problem`;
    any other error is told as a failure of the server, without its words.
    """

    async def invitation(self, study: str, token: bytes) -> bytes:
        """What the holder of an invitation may read before it consents."""

    async def enrol(self, study: str, seat: str, key: bytes, request: bytes) -> bytes:
        """Take a seat for whoever holds `key`; the same request again gets the same answer."""

    async def describe(self, study: str, seat: str) -> bytes:
        """The study's description for one of its seats."""

    async def status(self, study: str, seat: str) -> bytes:
        """How far the study is, for one of its seats."""

    def identity_of(self, study: str, seat: str) -> bytes | None:
        """The public identity of a seat that may make requests; None when there is none."""

    def seen(self, study: str, seat: str, version: str) -> None:
        """This seat has just made a request: its signature was checked, its version is its word."""

    async def lose(self, study: str, seat: str) -> None:
        """This seat cannot go on: it lost what it needs for another letter."""

    def takes_letters(self, study: str, seat: str) -> bool:
        """Whether letters may be left for this seat."""

    def mailbox(self, study: str) -> Mailbox:
        """The mailbox of a study that is known."""
