"""A hash chain over the letters that a server got from one sender, in order.

Sender and server keep the same chain. If a seat's journal does not know the server's chain, the
seat is an older copy of itself or a second one, and it notices that before it sends anything.
"""

from sottovoce.protocols.identities import digest
from sottovoce.wire import Value

CHAIN_BYTES = 32
_PURPOSE = "transport/past/v1"


class HeldLetters(Value, frozen=True):
    """The announced letters of one sender: their number, and a digest of all of them."""

    letters: int = 0
    chain: bytes = bytes(CHAIN_BYTES)

    def after(self, mark: bytes) -> "HeldLetters":
        """The chain after one more letter."""
        return HeldLetters(self.letters + 1, digest(_PURPOSE, self.chain, mark))


def mark_of(session: bytes, recipient: str, number: int, body_digest: bytes) -> bytes:
    """The digest of one letter in its sender's chain."""
    return digest(
        f"{_PURPOSE}/letter", session, recipient.encode(), number.to_bytes(8), body_digest
    )
