"""What a server holds of one sender: how many letters it was told of, and all of them in order.

Sender and server keep the same chain. A seat whose journal does not know the server's chain is an
older copy of itself, or a second one: it finds that out before it sends anything.
"""

from sottovoce.protocols.identities import digest
from sottovoce.wire import Value

CHAIN_BYTES = 32
_PURPOSE = "transport/past/v1"


class HeldLetters(Value, frozen=True):
    """Letters of one sender that were announced, by number and by the digest of all of them."""

    letters: int = 0
    chain: bytes = bytes(CHAIN_BYTES)

    def after(self, mark: bytes) -> "HeldLetters":
        """What is held once one more letter is announced."""
        return HeldLetters(self.letters + 1, digest(_PURPOSE, self.chain, mark))


def mark_of(session: bytes, recipient: str, number: int, body_digest: bytes) -> bytes:
    """What stands for one letter in the chain of its sender."""
    return digest(
        f"{_PURPOSE}/letter", session, recipient.encode(), number.to_bytes(8), body_digest
    )
