"""The messages that one party received, and the traffic between each pair of parties."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from sottovoce.protocols.messages import Message
from sottovoce.wire import Integers, Residues, ShortWords, Words

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class Received:
    """One message that a party received; a `late` one came after its gather had closed."""

    sender: str
    message: Message
    size: int
    late: bool = False


@dataclass
class View:
    """The messages that one party received, in order, as evidence for attacks and noise tests."""

    party: str
    received: list[Received] = field(default_factory=list)

    def of(self, kind: type[M]) -> list[M]:
        """Every message of one kind, in order."""
        return [item.message for item in self.received if isinstance(item.message, kind)]

    def leaves(self) -> Iterator[Any]:
        """Every number, text, byte string, array and ciphertext in the view, in order."""
        for item in self.received:
            yield from leaves(item.message)

    def words(self) -> NDArray[np.uint64]:
        """Return all received arrays of 64-bit words, flattened into one."""
        arrays = [leaf.array().reshape(-1) for leaf in self.leaves() if isinstance(leaf, Words)]
        return np.concatenate(arrays) if arrays else np.zeros(0, np.uint64)

    def short_words(self) -> NDArray[np.uint32]:
        """Return all received arrays of 32-bit words, flattened into one."""
        kind = ShortWords
        arrays = [leaf.array().reshape(-1) for leaf in self.leaves() if isinstance(leaf, kind)]
        return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)

    def residues(self, plane: int) -> NDArray[np.uint32]:
        """Return all received residues of one of the primes, flattened into one array."""
        arrays = [
            leaf.planes()[plane].reshape(-1)
            for leaf in self.leaves()
            if isinstance(leaf, Residues) and leaf.shape[0] > plane
        ]
        return np.concatenate(arrays) if arrays else np.zeros(0, np.uint32)

    def numbers(self, read: Callable[[Any], NDArray[Any] | None]) -> NDArray[Any]:
        """Return what `read` gives for each leaf (decrypted, say), flattened; None skips a leaf."""
        arrays = [
            np.asarray(made).reshape(-1) for made in map(read, self.leaves()) if made is not None
        ]
        return np.concatenate(arrays) if arrays else np.zeros(0)


def leaves(value: Any) -> Iterator[Any]:
    """Yield the parts of a value that are not themselves made of parts."""
    if isinstance(value, (Words, ShortWords, Integers, Residues)):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from leaves(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from leaves(item)
    else:
        yield value


@dataclass
class Traffic:
    """Messages, bytes and trips of a conversation, by pair of parties.

    A leg is an unbroken run of messages in one direction; question and answer
    are two legs, that is one trip.
    """

    messages: Counter[tuple[str, str]] = field(default_factory=Counter)
    bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    _legs: Counter[frozenset[str]] = field(default_factory=Counter)
    _last: dict[frozenset[str], str] = field(default_factory=dict)

    def count(self, sender: str, recipient: str, *, kind: str, size: int) -> None:
        """Count one message."""
        pair = frozenset((sender, recipient))
        self.messages[sender, recipient] += 1
        self.bytes[sender, recipient] += size
        self.kinds[kind] += 1
        if self._last.get(pair) != sender:
            self._legs[pair] += 1
            self._last[pair] = sender

    def add(self, other: "Traffic") -> None:
        """Add the counts of another conversation of the same parties."""
        self.messages.update(other.messages)
        self.bytes.update(other.bytes)
        self.kinds.update(other.kinds)
        self._legs.update(other._legs)  # noqa: SLF001 - of the same kind

    def trips(self, party: str, other: str) -> int:
        """The number of round trips between two parties."""
        return (self._legs[frozenset((party, other))] + 1) // 2

    def between(self, party: str, other: str) -> tuple[int, int]:
        """Messages and bytes between two parties, both ways."""
        ways = ((party, other), (other, party))
        return sum(self.messages[way] for way in ways), sum(self.bytes[way] for way in ways)

    @property
    def total_bytes(self) -> int:
        """Bytes of all messages."""
        return self.bytes.total()
